import { useEffect, useId, useRef, useState, type FormEvent } from "react";
import { Link } from "wouter";
import { ApiError, api, type Schemas } from "../api/client.ts";
import { Ago, ErrorBox } from "../components/common.tsx";
import { flowInside } from "../components/inside.ts";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import type { FollowedRun } from "../run/follow.ts";
import { outerOf, type StepState, type WaitingFor } from "../run/state.ts";
import { changedValues, rowsOf, textOfValue, type Drafts, type Row } from "./edits.ts";
import { nameOf } from "./why.tsx";
import "./approval.css";

type Approval = Schemas["Approval"];

/** Approvals shows all uses of calls that wait for a decision, each with its own buttons. */
export function Approvals({ run, waiting, onSent }: { run: FollowedRun; waiting: WaitingFor[]; onSent(): void }) {
  return waiting.map((w) => w.approval && <ApprovalCard key={w.step + w.approval.digest} run={run} step={w.step} approval={w.approval} onSent={onSent} />);
}

/** ApprovalCard asks for one decision: the message, the parameters as a table, and the buttons. */
function ApprovalCard({ run, step, approval, onSent }: { run: FollowedRun; step: string; approval: Approval; onSent(): void }) {
  const t = useText();
  const me = useMe();
  const title = useId();
  const [drafts, setDrafts] = useState<Drafts>({});
  const [denies, setDenies] = useState(false);
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const rows = rowsOf(approval.params, approval.edit ?? []);
  const { edits, faults } = changedValues(rows, drafts);
  const isChanged = Object.keys(edits).length > 0;
  const mayDecide = hasScope(me, "runs:write") && (me.bound ? approval.by === "user" : hasScope(me, "runs:approve"));
  const decide = async (approved: boolean, beside: { pointer: string; value: unknown }[]) => {
    setBusy(true);
    setError(undefined);
    try {
      const answers = [{ pointer: "/approved", value: approved as unknown }, ...beside].map((one) => ({ step, ...one }));
      await api.post("/api/v1/runs/{id}/answers", { path: { id: run.info!.run }, body: { answers } });
      onSent();
    } catch (err) {
      setError(err as Error);
      if (err instanceof ApiError && err.problem.status === 409) run.reload(); // another person was first: the run tells who
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="approval" aria-labelledby={title}>
      <p className="asks" id={title}>{approval.message}</p>
      <p className="hint approval-about">
        <code>{step}</code>
        <PromptLink run={run} step={step} approval={approval} />
        {approval.until && <span>{t("approval.until")} <Ago time={approval.until} /></span>}
      </p>
      <Params call={approval.tool || approval.call} rows={rows} drafts={drafts} faults={faults} disabled={busy || !mayDecide}
        onChange={(pointer, text) => setDrafts((old) => ({ ...old, [pointer]: text }))} />
      {error && <ErrorBox error={error} />}
      {!mayDecide && <p>{t(approval.by === "user" ? "approval.no_scope_user" : "approval.no_scope")}</p>}
      {mayDecide && denies && <DenyForm busy={busy} onBack={() => setDenies(false)} onDeny={(reason) => void decide(false, reason ? [{ pointer: "/reason", value: reason }] : [])} />}
      {mayDecide && !denies && (
        <div className="actions">
          <button className="primary" disabled={busy || Object.keys(faults).length > 0} onClick={() => void decide(true, isChanged ? [{ pointer: "/edits", value: edits }] : [])}>
            {t(isChanged ? "approval.approve_changed" : "approval.approve")}
          </button>
          <button className="danger" disabled={busy} onClick={() => setDenies(true)}>{t("approval.deny")}</button>
        </div>
      )}
    </section>
  );
}

/** Params is the table of the parameters; those that may be changed are fields. */
function Params({ call, rows, drafts, faults, disabled, onChange }: {
  call: string;
  rows: Row[];
  drafts: Drafts;
  faults: Record<string, "number" | "json">;
  disabled: boolean;
  onChange(pointer: string, text: string): void;
}) {
  const t = useText();
  return (
    <table className="params">
      <caption>{t("approval.params", { call })}</caption>
      <tbody>
        {rows.map((row) => {
          const old = textOfValue(row.value);
          const text = drafts[row.pointer] ?? old;
          const fault = faults[row.pointer];
          return (
            <tr key={row.pointer} data-changed={(row.canChange && text !== old) || undefined}>
              <th scope="row">{nameOf(row.pointer) || "·"}</th>
              <td>
                {row.canChange
                  ? <Field name={nameOf(row.pointer)} value={row.value} text={text} disabled={disabled} isWrong={!!fault} onChange={(next) => onChange(row.pointer, next)} />
                  : <pre tabIndex={old.length > 600 ? 0 : undefined}>{old || '""'}</pre>}
                {row.canChange && text !== old && <p className="hint">{t("approval.was", { value: old })}</p>}
                {fault && <p className="field-errors" role="alert">{t(`approval.bad_${fault}`)}</p>}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Field edits one parameter in the control that fits its value. */
function Field({ name, value, text, disabled, isWrong, onChange }: { name: string; value: unknown; text: string; disabled: boolean; isWrong: boolean; onChange(text: string): void }) {
  const common = { "aria-label": name, "aria-invalid": isWrong || undefined, value: text, disabled };
  if (typeof value === "boolean") {
    return <select {...common} onChange={(e) => onChange(e.target.value)}><option>true</option><option>false</option></select>;
  }
  const isLong = (typeof value === "object" && value !== null) || text.length > 60 || text.includes("\n");
  if (isLong) return <textarea {...common} rows={Math.min(12, text.split("\n").length + 1)} onChange={(e) => onChange(e.target.value)} />;
  return <input {...common} inputMode={typeof value === "number" ? "decimal" : undefined} onChange={(e) => onChange(e.target.value)} />;
}

/** DenyForm asks for the reason of a denial, which may be empty. */
function DenyForm({ busy, onDeny, onBack }: { busy: boolean; onDeny(reason: string): void; onBack(): void }) {
  const t = useText();
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    onDeny(reason.trim());
  };
  return (
    <form className="deny" onSubmit={submit}>
      <label>{t("approval.reason")}<input ref={field} value={reason} disabled={busy} onChange={(e) => setReason(e.target.value)} /></label>
      <div className="actions">
        <button className="danger" disabled={busy}>{t("approval.deny")}</button>
        <button type="button" disabled={busy} onClick={onBack}>{t("approval.back")}</button>
      </div>
    </form>
  );
}

/** PromptLink leads to the prompt behind a use of a call; if no model was asked before, to the values that the step got. */
function PromptLink({ run, step, approval }: { run: FollowedRun; step: string; approval: Approval }) {
  const t = useText();
  const asked = approval.tool ? outerOf(step) : askedBefore(run, step);
  const to = `/runs/${run.info!.run}?step=${encodeURIComponent(asked ?? step)}&tab=${asked ? "prompt" : "input"}`;
  return <Link href={to}>{t(asked ? "approval.prompt" : "approval.step")}</Link>;
}

/** Returns the nearest step before another one that asked a model. */
function askedBefore(run: FollowedRun, step: string): string | undefined {
  const whole = step.replace(/\[\d+\]$/, "");
  const outer = outerOf(whole);
  const prefix = outer && `${outer}/`;
  const edges = (run.graph && flowInside(run.graph, outer)?.edges) ?? [];
  const seen = new Set([whole.slice(prefix.length)]);
  for (const id of seen) { // a set is walked in order, with those that are added meanwhile
    if (run.byID.get(prefix + id)?.usage.input_tokens) return prefix + id;
    for (const edge of edges) if (edge.to === id) seen.add(edge.from);
  }
  return undefined;
}

/** Decisions lists who decided about the approvals of a run, oldest first. */
export function Decisions({ run }: { run: FollowedRun }) {
  const t = useText();
  const decided = [...run.byID.values()].filter((st) => st.decision).sort((a, b) => a.decision!.at.localeCompare(b.decision!.at));
  if (!decided.length) return null;
  return (
    <section>
      <h3>{t("approval.decisions")}</h3>
      <ul className="decisions">{decided.map((st) => <li key={st.id}><code>{st.id}</code> <Decided step={st} /></li>)}</ul>
    </section>
  );
}

/** Decided tells who decided about the approval of a step, when, and with which changes. */
export function Decided({ step }: { step: StepState }) {
  const t = useText();
  const { decision, approval } = step;
  if (!decision) return null;
  const changes = Object.entries((decision.edits ?? {}) as Record<string, unknown>);
  const old = new Map(rowsOf(approval?.params, changes.map(([pointer]) => pointer)).map((row) => [row.pointer, row.value]));
  const by = decision.by === "operator" ? t("approval.operator") : decision.by;
  const kind = !decision.approved ? (decision.by === "clock" ? "denied_clock" : "denied_by") : changes.length ? "changed_by" : "approved_by";
  return (
    <span className="decided" data-approved={decision.approved || undefined}>
      {t(`approval.${kind}`, { by })}{decision.reason && `${t("approval.colon")}${decision.reason}`} <span className="hint"><Ago time={decision.at} /></span>
      {changes.map(([pointer, value]) => <span key={pointer} className="change">{nameOf(pointer)}: {textOfValue(old.get(pointer))} → {textOfValue(value)}</span>)}
    </span>
  );
}
