import { Fragment, useCallback, useEffect, useRef, useState, type KeyboardEvent } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import { ApiError, api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Empty, ErrorBox, Loading, ScreenHead, StateBadge } from "../components/common.tsx";
import { AnswerForm } from "../forms/answers.tsx";
import { AsUser, useAsUser } from "../forms/as-user.tsx";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import { isWaiting, useRun, type FollowedRun } from "../run/follow.ts";
import { replyOf } from "./answer.tsx";
import "./chat.css";
import "./flows.css";

type Flow = Schemas["FlowBody"];
type Message = { role: "user" | "assistant"; content: string };

/** Turn is a question and the run that answers it. */
interface Turn {
  run: string;
  question: string;
}

/** Exchange is a question of a run and the answer that was typed. */
interface Exchange {
  asked: string;
  mine: string;
}

/** Wait is what a run asks, and the event at which it did; failed is set if it failed while it read an answer. */
interface Wait {
  question: string;
  seen: number;
  failed: boolean;
  reload(): void;
}

/** Chat talks with a flow: each question is a run of the session, which the server keeps. */
export default function Chat() {
  const t = useText();
  const { flow: id } = useParams<{ flow?: string }>();
  const [query] = useSearchParams();
  const session = query.get("session") ?? "";
  const [user, setUser] = useAsUser();
  const flow = useLoad(async (signal) => (id ? api.get("/api/v1/flows/{flow}", { path: { flow: id }, signal }) : undefined), [id]);
  return (
    <section className="screen narrow chat-screen">
      <ScreenHead title={t("chat.title")}>
        {id && <FlowChoice flow={id} />}
        {id && <SessionChoice flow={id} session={session} name={flow.data?.name ?? id} user={user} />}
        {id && <AsUser inline user={user} onChange={setUser} />}
      </ScreenHead>
      {flow.error && <ErrorBox error={flow.error} retry={flow.reload} />}
      {!id && <FlowCards />}
      {id && flow.data && !flow.data.model && <Empty title={t("chat.no_model")}><p>{t("chat.choose_text")}</p><Link href={`/flows/${id}?tab=run`}>{t("runs.run_flow")}</Link></Empty>}
      {id && flow.data?.model && session && <Talk key={`${id} ${session}`} flow={flow.data} session={session} user={user} />}
    </section>
  );
}

function FlowChoice({ flow }: { flow: string }) {
  const t = useText();
  const [, navigate] = useLocation();
  const models = useLoad(loadModels, []);
  return (
    <label>
      {t("chat.flow")}{" "}
      <select value={flow} onChange={(e) => navigate(`/chat/${e.target.value}`)}>
        {[...new Set([...(models.data ?? []).map((f) => f.flow), flow])].sort().map((one) => <option key={one} value={one}>{one.replaceAll("~", "/")}</option>)}
      </select>
    </label>
  );
}

/** FlowCards are the flows that one can talk with; where there is only one, its chat opens. */
function FlowCards() {
  const t = useText();
  const [, navigate] = useLocation();
  const models = useLoad(loadModels, []);
  const only = models.data?.length === 1 ? models.data[0]!.flow : undefined;
  useEffect(() => {
    if (only) navigate(`/chat/${only}`, { replace: true });
  }, [only, navigate]);
  if (models.error) return <ErrorBox error={models.error} retry={models.reload} />;
  if (!models.data) return <Loading />;
  if (!models.data.length) return <Empty title={t("chat.none")}><p>{t("chat.choose_text")}</p><Link href="/flows">{t("nav.toFlows")}</Link></Empty>;
  return (
    <>
      <h2>{t("chat.choose")}</h2>
      <p className="hint">{t("chat.choose_text")}</p>
      <ul className="flow-cards">
        {models.data.map((f) => (
          <li key={f.flow} className="card talk-card">
            <h3><Link href={`/chat/${f.flow}`} className="row-link">{f.name ?? f.flow.replaceAll("~", "/")}</Link></h3>
            <p>{f.description}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Returns the flows that answer a question. */
async function loadModels(signal: AbortSignal): Promise<Schemas["FlowItem"][]> {
  const list = await api.get("/api/v1/flows", { query: { limit: 200 }, signal });
  return list.items.filter((f) => f.model && !f.errors);
}

const newSession = () => crypto.getRandomValues(new Uint32Array(2)).reduce((text, n) => text + n.toString(36), "chat-");

/** The sessions of a flow, newest first, and a new one; without one in the URL, the newest is shown. */
function SessionChoice({ flow, name, session, user }: { flow: string; name: string; session: string; user: string }) {
  const t = useText();
  const [, setQuery] = useSearchParams();
  const runs = useLoad((signal) => api.get("/api/v1/runs", { query: { flow: name, user: user || undefined, limit: 200 }, signal }), [name, session, user]);
  // The first question of a session is its name: the oldest run that is listed comes last.
  const questions = new Map((runs.data?.items ?? []).flatMap((r) => (r.session && r.summary?.question ? [[r.session, r.summary.question] as const] : [])));
  const sessions = [...new Set([...(session ? [session] : []), ...(runs.data?.items ?? []).flatMap((r) => r.session ?? [])])];
  const show = useCallback((one: string) => setQuery({ session: one }, { replace: true }), [setQuery]);
  useEffect(() => {
    if (!session && !runs.loading) show(sessions[0] ?? newSession());
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [flow, session, runs.loading]);
  return (
    <>
      <label>
        {t("chat.session")}{" "}
        <select value={session} onChange={(e) => show(e.target.value)}>{sessions.map((one) => <option key={one} value={one}>{shorten(questions.get(one) ?? (one.startsWith("chat-") ? t("chat.new_session") : one))}</option>)}</select>
      </label>
      <button onClick={() => show(newSession())}>{t("chat.new_session")}</button>
    </>
  );
}

const shorten = (text: string) => (text.length > 40 ? text.slice(0, 39) + "…" : text);

function Talk({ flow, session, user }: { flow: Flow; session: string; user: string }) {
  const t = useText();
  const me = useMe();
  const name = flow.name ?? flow.flow;
  const old = useLoad((signal) => loadTurns(name, session, user, signal), [name, session, user]);
  const [added, setAdded] = useState<(Turn & { user: string })[]>([]);
  const [error, setError] = useState<Error>();
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const replies = useRef(new Map<string, string>());
  const waits = useRef(new Map<string, Wait>());
  const [waitsFor, setWaitsFor] = useState<string>();
  const [exchanges, setExchanges] = useState<Record<string, Exchange[]>>({});
  const [told, setTold] = useState<Record<string, string>>({});
  const end = useRef<HTMLDivElement>(null);
  const speakers = flow.steps.filter((st) => st.to_user).map((st) => st.id);
  const listed = old.loading ? [] : (old.data ?? []); // while those of another user are read, nobody's are shown
  const turns = [...listed, ...added.filter((a) => a.user === user && !listed.some((o) => o.run === a.run))];
  const scroll = useCallback(() => end.current?.scrollIntoView({ block: "end" }), []);
  const last = turns.at(-1)?.run;
  const isAsked = !!last && waitsFor === last;
  const onWait = useCallback((run: string, wait?: Wait) => {
    if (wait) waits.current.set(run, wait);
    else waits.current.delete(run);
    setWaitsFor((old) => (wait ? run : old === run ? undefined : old));
  }, []);
  /** Gives the run that waits what was typed; reports whether it still waited. */
  const answer = async (run: string, message: string): Promise<boolean> => {
    const wait = waits.current.get(run)!;
    try {
      const given = (await api.post("/api/v1/runs/{id}/answers", { path: { id: run }, body: { message, seen: wait.seen } })) as Schemas["Accepted"];
      setExchanges((all) => ({ ...all, [run]: [...(all[run] ?? []), { asked: told[run] || wait.question, mine: message }] }));
      setTold((all) => ({ ...all, [run]: given.text ?? "" }));
      if (given.state === "cancelled") onWait(run); // the next message is a new question
      wait.reload();
      return true;
    } catch (err) {
      wait.reload();
      if (err instanceof ApiError && err.problem.status === 409) return false;
      throw err;
    }
  };
  const say = async () => {
    const question = text.trim();
    if (!question || busy) return;
    setBusy(true);
    setError(undefined);
    try {
      if (isAsked) {
        const { failed } = waits.current.get(last)!;
        if (await answer(last, question)) {
          setText("");
          return;
        }
        if (!failed) {
          setError(new Error(t("chat.answered_elsewhere")));
          return;
        } // a failed run that takes no answer: the message is a new question
      }
      const before = turns.flatMap((one): Message[] => {
        const reply = replies.current.get(one.run);
        return [{ role: "user", content: one.question }, ...(reply ? [{ role: "assistant" as const, content: reply }] : [])];
      });
      const started = (await api.post("/api/v1/runs", { body: { flow: flow.flow, session, user: user || undefined, inputs: inputsOf(flow, question, before), ...(before.length && flow.reads_conversation ? { conversation: before } : {}) } })) as Schemas["StartedRun"];
      setAdded((all) => [...all, { run: started.run, question, user }]);
      setText("");
    } catch (err) {
      setError(err as Error);
    } finally {
      setBusy(false);
    }
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key !== "Enter" || e.shiftKey || e.nativeEvent.isComposing) return;
    e.preventDefault();
    void say();
  };
  return (
    <>
      {old.loading && <Loading />}
      {old.error && <ErrorBox error={old.error} retry={old.reload} />}
      <ol className="talk" aria-label={t("chat.talk")}>
        {turns.map((one) => <TurnItem key={one.run} turn={one} speakers={speakers} exchanges={exchanges[one.run]} told={told[one.run]} onWait={onWait} onReply={(reply) => replies.current.set(one.run, reply)} onGrow={scroll} />)}
      </ol>
      {!turns.length && !old.loading && <Empty title={t("chat.empty")}>{flow.description && <p>{flow.description}</p>}<p>{t("chat.empty_text")}</p></Empty>}
      {!flow.reads_conversation && <p className="hint">{t("chat.last_only")}</p>}
      {error && <ErrorBox error={error} />}
      {hasScope(me, "runs:write") ? (
        <form className="say" onSubmit={(e) => (e.preventDefault(), void say())}>
          <textarea aria-label={t(isAsked ? "chat.answer" : "chat.question")} placeholder={t(isAsked ? "chat.answer_hint" : "chat.question")} rows={2} value={text} onChange={(e) => setText(e.target.value)} onKeyDown={onKey} />
          <button className="primary" disabled={busy || !text.trim()}>{t("chat.send")}</button>
        </form>
      ) : <p>{t("flow.no_run_scope")}</p>}
      <div ref={end} />
    </>
  );
}

/** Returns the inputs of a question: what was said before goes to the input that takes it. */
function inputsOf(flow: Flow, question: string, before: Message[]): Record<string, unknown> {
  const known = (flow.inputs as { properties?: object } | undefined)?.properties ?? {};
  const inputs: Record<string, unknown> = { question };
  if ("history" in known) inputs.history = before;
  if ("messages" in known) inputs.messages = [...before, { role: "user", content: question }];
  if (!("question" in known) && ("history" in known || "messages" in known)) delete inputs.question;
  return inputs;
}

/** Returns the newest turns of a session, of one user where one is named, the oldest of them first. */
async function loadTurns(flow: string, session: string, user: string, signal: AbortSignal): Promise<Turn[]> {
  const list = await api.get("/api/v1/runs", { query: { flow, session, user: user || undefined, limit: 20 }, signal });
  const runs = await Promise.all(list.items.map((r) => api.get("/api/v1/runs/{id}", { path: { id: r.run }, signal })));
  return runs.reverse().map((r) => ({ run: r.run, question: questionOf(r.inputs) }));
}

function questionOf(inputs: unknown): string {
  const { question, messages } = (inputs ?? {}) as { question?: unknown; messages?: { content?: unknown }[] };
  const found = question ?? messages?.at(-1)?.content;
  return typeof found === "string" ? found : "";
}

function TurnItem({ turn, speakers, exchanges = [], told, onReply, onWait, onGrow }: {
  turn: Turn;
  speakers: string[];
  exchanges?: Exchange[];
  told?: string;
  onReply(reply: string): void;
  onWait(run: string, wait?: Wait): void;
  onGrow(): void;
}) {
  const t = useText();
  const run = useRun(turn.run);
  const reply = run.info && (replyOf(run) ?? spokenText(run, speakers));
  useEffect(() => {
    if (reply) onReply(reply);
    onGrow();
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [reply]);
  const failed = run.info?.state === "failed" && !!run.info.waiting?.length;
  const waiting = !!run.info && (isWaiting(run) || failed);
  const question = run.info?.waiting?.[0]?.question ?? "";
  const seen = run.info?.last_seq ?? 0;
  const { reload } = run;
  useEffect(() => {
    onWait(turn.run, waiting ? { question, seen, failed, reload } : undefined);
    onGrow();
    return () => onWait(turn.run);
  }, [turn.run, waiting, question, seen, failed, reload, onWait, onGrow]);
  return (
    <li className="turn">
      <div className="said mine"><span className="sr">{t("chat.me")}</span><pre>{turn.question}</pre></div>
      {exchanges.map((one, i) => (
        <Fragment key={i}>
          {one.asked && <div className="said"><pre>{one.asked}</pre></div>}
          <div className="said mine"><span className="sr">{t("chat.me")}</span><pre>{one.mine}</pre></div>
        </Fragment>
      ))}
      <div className="said" aria-live="polite">
        {!run.info && run.error && <ErrorBox error={run.error} retry={run.reload} />}
        {run.info && <Reply run={run} reply={reply} told={told} />}
      </div>
    </li>
  );
}

function Reply({ run, reply, told }: { run: FollowedRun; reply?: string; told?: string }) {
  const t = useText();
  const info = run.info!;
  const error = run.state.error ?? info.error;
  const state = run.state.lastSeq >= info.last_seq && run.state.lastSeq ? run.state.state : info.state;
  const asked = run.steps.findLast((st) => st.usage.input_tokens > 0);
  return (
    <>
      {reply && <pre>{reply}</pre>}
      {state === "finished" && !reply && <p className="hint">{t("chat.no_reply")}</p>}
      {/* Who chats reads words alone; the error, with its addresses and places, stands on the page of the run. */}
      {error && !reply && <p className="error-box">{t("chat.failed", { run: info.run })}</p>}
      {state === "cancelled" && told && <pre>{told}</pre>}
      {isWaiting(run) && <AnswerForm key={info.last_seq} chat told={told} run={run} onSent={run.reload} />}
      <p className="turn-foot hint">
        {state !== "finished" && <StateBadge state={state} />} <Link href={`/runs/${info.run}`}>{t("chat.run")}</Link>
        {asked && <> · <Link href={`/runs/${info.run}?step=${encodeURIComponent(asked.id)}&tab=prompt`}>{t("chat.prompt", { n: asked.usage.input_tokens })}</Link></>}
      </p>
    </>
  );
}

/** Returns what the steps for the user have streamed so far. */
function spokenText(run: FollowedRun, speakers: string[]): string {
  return speakers.map((id) => run.byID.get(id)?.text ?? "").filter(Boolean).join("\n");
}
