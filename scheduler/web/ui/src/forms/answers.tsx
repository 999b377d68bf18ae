import { useRef, useState } from "react";
import { ApiError, api, type Schemas } from "../api/client.ts";
import { ErrorBox } from "../components/common.tsx";
import { useText } from "../i18n.ts";
import type { FollowedRun } from "../run/follow.ts";
import { Approvals } from "./approval.tsx";
import { SchemaForm, useFormName, type Faults, type FormHandle, type Values } from "./schema-form.tsx";

type Waiting = Schemas["WaitingFor"];
type Answer = { step: string; pointer: string; value: unknown };

/**
 * AnswerForm asks for all that a run waits for: first its approvals, each decided by itself, then one form for each step, sent together. In a chat, where the next message is the
 * answer, it says what is asked first, or told, what the user was told last.
 */
export function AnswerForm({ run, onSent, chat, told }: { run: FollowedRun; onSent(): void; chat?: boolean; told?: string }) {
  const all = run.info!.waiting ?? [];
  const values = all.filter((w) => !w.approval);
  return (
    <>
      <Approvals run={run} waiting={all} onSent={onSent} />
      {values.length > 0 && <ValuesForm run={run.info!.run} waiting={values} onSent={onSent} chat={chat} told={told} />}
    </>
  );
}

function ValuesForm({ run, waiting, onSent, chat, told }: { run: string; waiting: Waiting[]; onSent(): void; chat?: boolean; told?: string }) {
  const t = useText();
  const [values, setValues] = useState<Record<string, Values>>({});
  const [faults, setFaults] = useState<Record<string, Faults>>({});
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const forms = useRef(new Map<string, FormHandle>());
  const change = (step: string, next: Values) => {
    setFaults({});
    setValues((old) => ({ ...old, [step]: next }));
  };
  const send = async () => {
    setError(undefined);
    setFaults({});
    if (!waiting.map((w) => forms.current.get(w.step)!.validateForm()).every(Boolean)) return;
    const answers = answersOf(waiting, values);
    setBusy(true);
    try {
      await api.post("/api/v1/runs/{id}/answers", { path: { id: run }, body: { answers } });
      onSent();
    } catch (err) {
      const found = faultsOf(err as Error, answers);
      setFaults(found);
      if (!Object.keys(found).length) setError(err as Error);
    } finally {
      setBusy(false);
    }
  };
  const questionOf = (w: Waiting, i: number) => {
    if (chat) return i === 0 ? told || w.question : "";
    return Object.keys(propertiesOf(w)).length === 1 ? w.question : ""; // else the fields say it
  };
  return (
    <div className="answer-form">
      {waiting.map((w, i) => (
        <section key={w.step} aria-label={t("inbox.question_n", { n: i + 1 })}>
          {questionOf(w, i) && <p className="asks">{questionOf(w, i)}</p>}
          <StepForm waiting={w} values={values[w.step] ?? {}} faults={faults[w.step]} disabled={busy}
            onChange={(next) => change(w.step, next)} onSubmit={() => void send()}
            onForm={(form) => void (form ? forms.current.set(w.step, form) : forms.current.delete(w.step))} />
        </section>
      ))}
      {error && <ErrorBox error={error} />}
      <div className="actions">
        <button className="primary" disabled={busy} onClick={() => void send()}>{t("inbox.send")}</button>
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
  const name = useFormName();
  return (
    <SchemaForm ref={onForm} name={name} schema={waiting.remaining_schema} values={values} faults={faults} disabled={disabled} explained onChange={onChange} onSubmit={onSubmit}>
      <button type="submit" hidden />
    </SchemaForm>
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

/** Returns the server's faults by their steps and fields, in words. */
function faultsOf(error: Error, answers: Answer[]): Record<string, Faults> {
  const found: Record<string, Record<string, { __errors: string[] }>> = {};
  for (const fault of (error instanceof ApiError && error.problem.errors) || []) {
    const answer = answers[Number(/^\/answers\/(\d+)/.exec(fault.pointer ?? "")?.[1])];
    if (!answer) continue;
    const step = (found[answer.step] ??= {});
    (step[answer.pointer] ??= { __errors: [] }).__errors.push(fault.words || fault.message);
  }
  return found as Record<string, Faults>;
}
