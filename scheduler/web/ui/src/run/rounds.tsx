import { useText } from "../i18n.ts";
import { formatJSON, formatNumber } from "../format.ts";
import "./rounds.css";

interface ToolUse {
  id: string;
  name: string;
  arguments: string;
  result: string;
  error?: string;
  not_run?: boolean;
}

/** Round is one answer of the model of an agent, and the tools that it used. */
export interface Round {
  text: string;
  tool_calls: ToolUse[] | null;
  usage?: { input_tokens: number; output_tokens: number };
}

/** Returns the rounds of the output of an agent; undefined for other outputs. */
export function roundsOf(output: unknown): Round[] | undefined {
  const rounds = (output as { rounds?: unknown } | null)?.rounds;
  if (!Array.isArray(rounds) || !rounds.length) return undefined;
  return rounds.every((one) => typeof one?.text === "string" && "tool_calls" in one) ? (rounds as Round[]) : undefined;
}

/** Rounds shows the rounds of an agent as a talk: the words of the model, the tools that it used, their results. */
export function Rounds({ rounds }: { rounds: Round[] }) {
  const t = useText();
  return (
    <ol className="rounds" aria-label={t("run.rounds")}>
      {rounds.map((round, i) => (
        <li key={i}>
          <p className="round-head hint">
            {t("run.round", { n: i + 1 })}
            {round.usage && <> · {t("run.in_and_out", { input: round.usage.input_tokens, output: round.usage.output_tokens })}</>}
          </p>
          {round.text && <div className="round-said"><span className="round-who">{t("run.model")}</span><pre>{round.text}</pre></div>}
          {(round.tool_calls ?? []).map((use) => <Use key={use.id} use={use} />)}
        </li>
      ))}
    </ol>
  );
}

// A result of more characters is folded.
const shortResult = 400;

function Use({ use }: { use: ToolUse }) {
  const t = useText();
  const isLong = use.result.length > shortResult;
  return (
    <div className="round-tool" data-failed={!!use.error || undefined}>
      <p>
        <span className="round-who">{t("run.tool")}</span> <code className="round-name">{use.name}</code>
        {use.not_run ? <span className="badge state-waiting">{t("run.tool_not_run")}</span> : use.error && <span className="badge state-failed">{use.error}</span>}
      </p>
      <Arguments text={use.arguments} />
      <span className="round-who">{t("run.result")}</span>
      {isLong ? <details><summary>{t("run.result_long", { n: formatNumber(use.result.length), begin: use.result.slice(0, 80) })}</summary><pre className="round-result long" tabIndex={0}>{readable(use.result)}</pre></details> : <pre className="round-result">{readable(use.result)}</pre>}
    </div>
  );
}

/** Arguments are the members of the object that the model wrote, a line each; else its text as it is. */
function Arguments({ text }: { text: string }) {
  const members = membersOf(text);
  if (!members) return text ? <pre className="round-result">{text}</pre> : null;
  if (!members.length) return null;
  return (
    <dl className="round-arguments">
      {members.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{formatJSON(value)}</dd></div>)}
    </dl>
  );
}

function membersOf(text: string): [string, unknown][] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns JSON with line breaks; other text as it is. */
function readable(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
