import { useEffect, useState } from "react";
import { Link } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Empty, ErrorBox, Loading } from "../components/common.tsx";
import { useText, type Translate } from "../i18n.ts";
import { Explained } from "../run/prompt.tsx";
import type { Place } from "../run/sources.ts";
import type { Edited } from "./source.tsx";
import "./preview.css";

type Body = Schemas["PreviewBody"];

/** Choice is whose values are shown: of the last run, of a case of a test, or placeholders alone. */
interface Choice {
  from: "run" | "test" | "none";
  test?: string;
  case?: string;
}

/** Preview shows the prompt of the step that the cursor is in, as the edited text makes it. onOpen goes to a line of the text. */
export function Preview({ flow, file, edited, onOpen }: { flow: string; file: string; edited?: Edited; onOpen?(line: number, col: number): void }) {
  const t = useText();
  const [choice, setChoice] = useState<Choice>({ from: "run" });
  const { shown, state, error, busy } = usePreview(flow, edited, choice);
  if (!edited) return <Empty title={t("preview.closed")} />;
  if (!state && !error) return <Loading />;
  const open = onOpen && ((place: Place) => place.path.endsWith(file) && onOpen(place.line ?? 1, place.col ?? 1));
  const last = shown?.prompts.at(-1);
  return (
    <div className="explorer preview" aria-busy={busy}>
      <div className="preview-head">
        {shown?.step && <><h2>{shown.step}</h2> <span className="hint">{shown.call}{shown.run && <> · <Link href={`/runs/${shown.run}`}>{t("preview.run", { run: shown.run.slice(-8) })}</Link></>}</span></>}
        <Values flow={flow} choice={choice} onChange={setChoice} />
      </div>
      <p className="hint" role="status">{state && state.errors > 0 ? t("preview.errors", { n: state.errors }) : noteOf(shown, choice, t)}</p>
      {error && <ErrorBox error={error} />}
      {shown?.no_prompt && <Empty title={shown.no_prompt}>{shown.hint && <p>{shown.hint}</p>}</Empty>}
      {shown && last && <Explained key={last.step} step={shown.step ?? ""} prompt={last} onOpen={open} />}
    </div>
  );
}

/** Says which values are shown, and which are not known. */
function noteOf(shown: Body | undefined, choice: Choice, t: Translate): string {
  if (!shown || shown.no_prompt) return "";
  const notes = [t("preview.known")];
  if (choice.from === "run" && !shown.run) notes.unshift(t("preview.no_run"));
  if (shown.unknown.length) notes.push(t("preview.unknown", { names: shown.unknown.join(", ") }));
  return notes.join(" ");
}

/** Asks for the prompt of a text; the newest text wins. shown is the last answer for a text without errors. */
function usePreview(flow: string, edited: Edited | undefined, choice: Choice) {
  const [found, setFound] = useState<{ shown?: Body; state?: Body; error?: Error; busy: boolean }>({ busy: true });
  useEffect(() => {
    if (!edited) return;
    const abort = new AbortController();
    setFound((old) => ({ ...old, busy: true }));
    api.post("/api/v1/preview", { body: { file: flow, text: edited.text, line: edited.line, ...choice }, signal: abort.signal }).then(
      (state) => !abort.signal.aborted && setFound((old) => ({ state, shown: state.errors > 0 ? old.shown : state, busy: false })),
      (error: Error) => !abort.signal.aborted && setFound((old) => ({ ...old, error, busy: false })),
    );
    return () => abort.abort();
  }, [flow, edited, choice]);
  return found;
}

/** Values chooses whose values are shown. */
function Values({ flow, choice, onChange }: { flow: string; choice: Choice; onChange(choice: Choice): void }) {
  const t = useText();
  const tests = useLoad((signal) => api.get("/api/v1/tests", { query: { limit: 200 }, signal }), [flow]);
  const cases = (tests.data?.items ?? []).flatMap((file) => file.cases.filter((one) => one.flow === flow).map((one) => ({ file: file.file, id: one.id, name: one.name })));
  const value = choice.from === "test" ? String(cases.findIndex((one) => one.file === choice.test && one.id === choice.case)) : choice.from;
  const choose = (to: string) => {
    const one = cases[Number(to)];
    onChange(one ? { from: "test", test: one.file, case: one.id } : { from: to as "run" | "none" });
  };
  return (
    <label>
      {t("preview.values")}{" "}
      <select value={value} onChange={(e) => choose(e.target.value)}>
        <option value="run">{t("preview.last_run")}</option>
        {cases.length > 0 && <optgroup label={t("preview.tests")}>{cases.map((one, i) => <option key={i} value={i}>{one.id}</option>)}</optgroup>}
        <option value="none">{t("preview.placeholders")}</option>
      </select>
    </label>
  );
}
