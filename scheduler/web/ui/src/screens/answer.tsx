import { Link } from "wouter";
import { Ago, ErrorBox, Loading, RunError, StateBadge } from "../components/common.tsx";
import { AnswerForm } from "../forms/answers.tsx";
import { Decisions } from "../forms/approval.tsx";
import { Context } from "../forms/context.tsx";
import { formatJSON } from "../format.ts";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import { isWaiting, useRun, type FollowedRun } from "../run/follow.ts";
import { outerOf, shownState } from "../run/state.ts";
import "./chat.css";
import "./inbox.css";

/** Answer is the form for all that a run waits for, below the talk so far, and then the run, which goes on there. */
export function Answer({ run: id }: { run: string }) {
  const run = useRun(id);
  if (!run.info && run.error) return <ErrorBox error={run.error} retry={run.reload} />;
  if (!run.info) return <Loading />;
  return <AnswerForRun key={id} run={run} />;
}

function AnswerForRun({ run }: { run: FollowedRun }) {
  const t = useText();
  const me = useMe();
  const info = run.info!;
  return (
    <>
      <div className="inbox-answer-head">
        <h2>{t("inbox.title_of", { flow: info.flow })}</h2>
        <Link href={`/runs/${info.run}`}>{t("inbox.show_run")}</Link>
      </div>
      {isWaiting(run) && (
        <div className="card">
          <Context info={info} spoken={spokenBy(run)} />
          {hasScope(me, "runs:write")
            ? <AnswerForm key={info.last_seq} run={run} onSent={() => (run.reload(), document.getElementById("main")?.focus())} />
            : <p>{t("inbox.no_scope")}</p>}
        </div>
      )}
      <Progress run={run} />
    </>
  );
}

/** Returns what the steps for the user have said so far. */
function spokenBy(run: FollowedRun): string {
  const speakers = new Set(run.events.filter((e) => e.type === "step.started" && e.data?.to_user).map((e) => e.step ?? ""));
  return [...speakers].map((id) => run.byID.get(id)?.text ?? "").filter(Boolean).join("\n");
}

/** Returns what the run has said: the words of its steps for the user, else its output reply. */
export function replyOf(run: FollowedRun): string | undefined {
  const output = (run.info!.outputs as { reply?: unknown } | undefined)?.reply;
  return run.info!.reply ?? run.state.reply ?? (output === undefined ? undefined : formatJSON(output));
}

/** Progress shows how a run goes on: its steps, and what it replies. */
export function Progress({ run }: { run: FollowedRun }) {
  const t = useText();
  const info = run.info!;
  const state = run.state.lastSeq >= info.last_seq && run.state.lastSeq ? run.state.state : info.state;
  const error = run.state.error ?? info.error;
  const reply = replyOf(run);
  return (
    <div className="card run-progress">
      <p className="progress-head" role="status"><StateBadge state={state} /> <Ago time={info.started_at} /></p>
      <ol className="step-states">
        {run.steps.filter((st) => !outerOf(st.id)).map((st) => (
          <li key={st.id}><StateBadge state={shownState(st, run.byID)} /> <code>{st.id}</code> <span className="hint">{st.call}</span></li>
        ))}
      </ol>
      <Decisions run={run} />
      {error && <RunError error={error} />}
      {reply && <><h2>{t("inbox.reply")}</h2><pre className="reply">{reply}</pre></>}
    </div>
  );
}
