import { api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { useText } from "../i18n.ts";
import { formatJSON } from "../format.ts";

type Run = Schemas["RunBody"];
interface Said {
  mine: boolean;
  text: string;
}

/** Context shows the talk before a question: the turns of the session, the user's question, and what the run has said. */
export function Context({ info, spoken, label }: { info: Run; spoken: string; label?: string }) {
  const t = useText();
  const earlier = useLoad((signal) => loadEarlier(info, signal), [info.run]);
  const said = [...(earlier.data ?? []), ...saidBy(info, true), ...(spoken ? [{ mine: false, text: spoken }] : [])];
  if (!said.length) return null;
  return (
    <ol className="talk before" aria-label={label ?? t("inbox.before")}>
      {said.map((one, i) => (
        <li key={i} className={one.mine ? "said mine" : "said"}>{one.mine && <span className="sr">{t("inbox.user_said")}</span>}<pre>{one.text}</pre></li>
      ))}
    </ol>
  );
}

const turnsBefore = 5;

/** Returns what was said in the runs of the session before this one. */
async function loadEarlier(info: Run, signal: AbortSignal): Promise<Said[]> {
  if (!info.session) return [];
  const list = await api.get("/api/v1/runs", { query: { flow: info.flow, session: info.session, limit: 20 }, signal });
  const before = list.items.filter((r) => r.run !== info.run && r.started_at <= info.started_at).slice(0, turnsBefore);
  const runs = await Promise.all(before.map((r) => api.get("/api/v1/runs/{id}", { path: { id: r.run }, signal })));
  return runs.reverse().flatMap((r) => saidBy(r, false));
}

/** Returns what the user asked a run, the messages before it among them, and what it replied. */
function saidBy(info: Run, whole: boolean): Said[] {
  const said: Said[] = [];
  const conversation = (info as { conversation?: unknown }).conversation;
  if (whole && Array.isArray(conversation)) {
    for (const one of conversation as { role?: unknown; content?: unknown }[]) {
      if (typeof one?.content === "string" && (one.role === "user" || one.role === "assistant")) said.push({ mine: one.role === "user", text: one.content });
    }
  }
  const { question, messages } = (info.inputs ?? {}) as { question?: unknown; messages?: { content?: unknown }[] };
  const asked = question ?? messages?.at(-1)?.content;
  if (typeof asked === "string" && asked) said.push({ mine: true, text: asked });
  const reply = info.reply ?? (info.outputs as { reply?: unknown } | undefined)?.reply;
  if (reply !== undefined && reply !== null) said.push({ mine: false, text: formatJSON(reply) });
  return said;
}
