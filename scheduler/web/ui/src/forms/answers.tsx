import { useRef, useState } from "react";
import { ApiError, api, type Schemas } from "../api/client.ts";
import { ErrorBox } from "../components/common.tsx";
import { useLanguage, useText } from "../i18n.ts";
import { SchemaForm, useFormName, type Faults, type FormHandle, type Values } from "./schema-form.tsx";
import { commonReasons, whyByPointer } from "./why.tsx";

type Waiting = Schemas["WaitingFor"];
type Answer = { step: string; pointer: string; value: unknown };

/** AnswerForm asks for all that a run waits for: one form for each step, sent together. */
export function AnswerForm({ run, waiting, onSent, brief }: { run: string; waiting: Waiting[]; onSent(): void; brief?: boolean }) {
  const t = useText();
  const [values, setValues] = useState<Record<string, Values>>({});
  const [faults, setFaults] = useState<Record<string, Faults>>({});
  const [error, setError] = useState<Error>();
  const [checked, setChecked] = useState(false);
  const [busy, setBusy] = useState(false);
  const forms = useRef(new Map<string, FormHandle>());
  const change = (step: string, next: Values) => {
    setChecked(false);
    setFaults({});
    setValues((old) => ({ ...old, [step]: next }));
  };
  const answers = answersOf(waiting, values);
  const send = async (check: boolean, whole: boolean) => {
    setError(undefined);
    setChecked(false);
    setFaults({});
    if (whole && !waiting.map((w) => forms.current.get(w.step)!.validateForm()).every(Boolean)) return;
    setBusy(true);
    try {
      await api.post("/api/v1/runs/{id}/answers", { path: { id: run }, query: { check: check || undefined }, body: { answers } });
      if (check) setChecked(true);
      else onSent();
    } catch (err) {
      setError(err as Error);
      setFaults(faultsOf(err as Error, answers));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="answer-form">
      {waiting.map((w) => (
        <section key={w.step} aria-label={t("inbox.step_waits", { step: w.step })}>
          {!brief && <h2>{t("inbox.needs", { step: w.step, n: Object.keys(propertiesOf(w)).length })}</h2>}
          <Reasons reasons={commonReasons(w)} />
          <StepForm waiting={w} values={values[w.step] ?? {}} faults={faults[w.step]} disabled={busy}
            onChange={(next) => change(w.step, next)} onSubmit={() => void send(false, true)}
            onForm={(form) => void (form ? forms.current.set(w.step, form) : forms.current.delete(w.step))} />
        </section>
      ))}
      {error && <ErrorBox error={error} />}
      <p role="status">{checked && t("inbox.fits", { n: answers.length })}</p>
      <div className="actions">
        <button className="primary" disabled={busy} onClick={() => void send(false, true)}>{t("inbox.send_all")}</button>
        <button disabled={busy || !answers.length} onClick={() => void send(false, false)}>{t("inbox.send_some")}</button>
        <button disabled={busy || !answers.length} onClick={() => void send(true, false)}>{t("inbox.check")}</button>
      </div>
    </div>
  );
}

function StepForm({ waiting, values, faults, disabled, onChange, onSubmit, onForm }: {
  waiting: Waiting;
  values: Values;
  faults?: Faults;
  disabled: boolean;
  onChange(values: Values): void;
  onSubmit(): void;
  onForm(form: FormHandle | null): void;
}) {
  const t = useText();
  const language = useLanguage();
  const name = useFormName();
  const notes = Object.fromEntries(Object.entries(whyByPointer(waiting, language)).map(([pointer, why]) => [pointer, t("inbox.why_missing", { why })]));
  return (
    <SchemaForm ref={onForm} name={name} notes={notes} schema={waiting.remaining_schema} values={values} faults={faults} disabled={disabled} onChange={onChange} onSubmit={onSubmit}>
      <button type="submit" hidden />
    </SchemaForm>
  );
}

/** Why the step waits, beside what is said at each value; what is long is folded. */
function Reasons({ reasons }: { reasons: string[] }) {
  const t = useText();
  if (!reasons.length) return null;
  return (
    <div>
      <h3>{t("inbox.why")}</h3>
      <ul className="reasons">
        {reasons.map((reason, i) => {
          const [first, ...rest] = reason.split("\n");
          if (!rest.length) return <li key={i}>{first}</li>;
          return <li key={i}><details><summary>{first}</summary><pre className="reason" tabIndex={0}>{rest.join("\n")}</pre></details></li>;
        })}
      </ul>
    </div>
  );
}

const propertiesOf = (w: Waiting) => (w.remaining_schema as { properties?: Record<string, unknown> }).properties ?? {};

/** Returns what has been filled in. */
function answersOf(waiting: Waiting[], values: Record<string, Values>): Answer[] {
  return waiting.flatMap((w) =>
    Object.keys(propertiesOf(w)).flatMap((pointer) => {
      const value = values[w.step]?.[pointer];
      return value === undefined || value === "" ? [] : [{ step: w.step, pointer, value }];
    }));
}

/** Returns the server's faults by their steps and fields. */
function faultsOf(error: Error, answers: Answer[]): Record<string, Faults> {
  const found: Record<string, Record<string, { __errors: string[] }>> = {};
  for (const fault of (error instanceof ApiError && error.problem.errors) || []) {
    const answer = answers[Number(/^\/answers\/(\d+)/.exec(fault.pointer ?? "")?.[1])];
    if (!answer) continue;
    const step = (found[answer.step] ??= {});
    (step[answer.pointer] ??= { __errors: [] }).__errors.push([fault.message, fault.hint].filter(Boolean).join(" · "));
  }
  return found as Record<string, Faults>;
}
