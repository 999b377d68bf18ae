import type { Schemas } from "../api/client.ts";
import { useText } from "../i18n.ts";
import "./said.css";

type Run = Schemas["RunItem"];

/** Said is the question of a run, and below it the reply, the error, or how far the run has come. */
export function Said({ run }: { run: Run }) {
  const { question, reply, error } = run.summary ?? {};
  return (
    <div className="said-lines">
      {question && <div title={question}>{question}</div>}
      <div className="hint" title={reply ?? error}>
        {run.progress ? <ProgressLine run={run} /> : reply ?? (error && <span className="run-error">{error}</span>)}
      </div>
    </div>
  );
}

function ProgressLine({ run }: { run: Run }) {
  const t = useText();
  const p = run.progress!;
  const needs = p.needs ?? [];
  if (run.state === "waiting" && needs.length) return <span title={needs.join(", ")}>{p.asks || t("runs.needs", { names: needs.join(", ") })}</span>;
  return (
    <span className="progress">
      <progress max={p.total || 1} value={p.done} aria-label={t("runs.progress_of", { done: p.done, total: p.total })} data-state={run.state} />
      <span>{p.done}/{p.total}</span>
    </span>
  );
}
