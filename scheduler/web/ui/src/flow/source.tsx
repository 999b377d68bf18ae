import { Suspense, lazy, useCallback, useEffect, useRef, useState, type Ref } from "react";
import { ApiError, api, send, urlOf, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Dialog, ErrorBox, Loading } from "../components/common.tsx";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import type { EditorHandle } from "./editor.tsx";

const Editor = lazy(() => import("./editor.tsx").then((m) => ({ default: m.Editor })));

type Problem = Schemas["ProblemBody"];

/** Source is the text of a flow as it was read: its ETag tells whether the file has changed since. */
interface Source {
  file: string;
  text: string;
  tag: string;
}

async function loadSource(flow: string, signal?: AbortSignal): Promise<Source> {
  const response = await send("GET", urlOf("/api/v1/flows/{flow}/source", { flow }), { signal });
  const body = (await response.json()) as Schemas["SourceBody"];
  return { file: body.file ?? "", text: body.text, tag: response.headers.get("ETag") ?? "" };
}

/** How many problems a text has. */
export interface Checked {
  errors: number;
  warnings: number;
}

/** Edited is a text as it stands in the editor, and the line of the cursor, from 1. */
export interface Edited {
  text: string;
  line: number;
}

/**
 * SourceTab shows the text of a flow, checks it while one types, and saves it. onChecked gets the problems of a text that is
 * not saved, undefined if it is saved; onEdited gets the text and the cursor, soon after the last key.
 */
export function SourceTab({ flow, start, onSaved, onChecked, onEdited, editor }: { flow: string; start?: number; onSaved(): void; onChecked(found?: Checked): void; onEdited(edited: Edited): void; editor: Ref<EditorHandle> & { current: EditorHandle | null } }) {
  const t = useText();
  const me = useMe();
  const source = useLoad((signal) => loadSource(flow, signal), [flow]);
  const [draft, setDraft] = useState<string>();
  const text = draft ?? source.data?.text ?? "";
  const canEdit = me.edit && hasScope(me, "flows:write");
  const isChanged = draft !== undefined && draft !== source.data?.text;
  const [line, setLine] = useState(start ?? 0);
  const isLoaded = !!source.data;
  useEffect(() => {
    if (!isLoaded) return;
    const timer = setTimeout(() => onEdited({ text, line }), 250);
    return () => clearTimeout(timer);
  }, [isLoaded, text, line, onEdited]);
  const lint = useLint(flow, source.data && text);
  const saving = useSaving(flow, source.data, text, (saved) => {
    source.setData(() => saved);
    setDraft(undefined);
    onSaved();
  });
  useLeaveGuard(isChanged);
  const errors = lint.problems.filter((p) => p.severity === "error").length;
  const warnings = lint.problems.length - errors;
  useEffect(() => onChecked(isChanged ? { errors, warnings } : undefined), [isChanged, errors, warnings, onChecked]);
  const reload = useCallback(() => {
    setDraft(undefined);
    source.reload();
  }, [source.reload]);
  if (source.error) return <ErrorBox error={source.error} retry={source.reload} />;
  if (!source.data) return <Loading />;
  return (
    <div className="source-tab">
      <div className="source-head">
        <code className="hint" title={source.data.file}>{source.data.file.split("/").slice(-2).join("/")}</code>
        <span role="status" className="hint">{lint.busy ? t("flow.checking") : t("flow.checked", { n: lint.problems.length })}</span>
        {canEdit && isChanged && <span className="hint">{t("flow.changed")}</span>}
        {canEdit
          ? <button className="primary" disabled={!isChanged || saving.busy} onClick={() => void saving.save()}>{t("flow.save")}</button>
          : <span className="hint">{t(me.edit ? "flow.no_scope" : "flow.read_only")}</span>}
      </div>
      {saving.error && !saving.conflict && <ErrorBox error={saving.error} />}
      {saving.error && errors > 0 && !saving.conflict && <p><button className="danger" onClick={() => void saving.save({ force: true })}>{t("flow.save_anyway")}</button></p>}
      {saving.conflict && <Conflict flow={flow} mine={text} onClose={saving.clear} onTake={() => (saving.clear(), reload())} onKeep={() => void saving.save({ overwrite: true })} />}
      <Suspense fallback={<Loading />}>
        <Editor ref={editor} label={t("flow.text")} text={text} start={start} readOnly={!canEdit} problems={lint.problems} onChange={setDraft} onLine={setLine} onSave={() => void (isChanged && saving.save())} />
      </Suspense>
      {lint.error && <ErrorBox error={lint.error} />}
      {lint.problems.length > 0 && (
        <ul className="problems" aria-label={t("flow.problems")}>
          {lint.problems.map((p, i) => (
            <li key={i} data-severity={p.severity}>
              <button className="link" onClick={() => editor.current?.goTo(p.line, p.col)}>{p.line}:{p.col}</button>{" "}
              <span className="severity">{t(p.severity === "error" ? "flow.error" : "flow.warning")}</span> {p.message}
              {p.hint && <span className="hint"> {p.hint}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Asks for the problems of a text soon after the last key. */
function useLint(flow: string, text: string | undefined) {
  const [state, setState] = useState<{ problems: Problem[]; error?: Error; busy: boolean }>({ problems: [], busy: true });
  const isFirst = useRef(true);
  useEffect(() => {
    if (text === undefined) return;
    const abort = new AbortController();
    const ask = () => {
      setState((old) => ({ ...old, busy: true }));
      api.post("/api/v1/lint", { body: { file: flow, text }, signal: abort.signal }).then(
        (found) => !abort.signal.aborted && setState({ problems: found.problems, busy: false }),
        (error: Error) => !abort.signal.aborted && setState((old) => ({ ...old, error, busy: false })),
      );
    };
    const timer = setTimeout(ask, isFirst.current ? 0 : 300);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [flow, text]);
  return state;
}

/** Saves a text in place of the one that was read. */
function useSaving(flow: string, source: Source | undefined, text: string, onSaved: (saved: Source) => void) {
  const [state, setState] = useState<{ busy: boolean; error?: Error }>({ busy: false });
  const save = async ({ force = false, overwrite = false } = {}) => {
    setState({ busy: true });
    try {
      const tag = overwrite ? (await loadSource(flow)).tag : source!.tag;
      const response = await send("PUT", urlOf("/api/v1/flows/{flow}/source", { flow }, { force: force || undefined }), { body: { text }, headers: { "If-Match": tag } });
      const body = (await response.json()) as Schemas["SourceBody"];
      setState({ busy: false });
      onSaved({ file: body.file ?? "", text: body.text, tag: response.headers.get("ETag") ?? "" });
    } catch (error) {
      setState({ busy: false, error: error as Error });
    }
  };
  const conflict = state.error instanceof ApiError && state.error.problem.status === 412;
  return { ...state, conflict, save, clear: () => setState({ busy: false }) };
}

/** Keeps a closed tab from losing a text that is not saved. */
function useLeaveGuard(isChanged: boolean) {
  useEffect(() => {
    if (!isChanged) return;
    const ask = (e: BeforeUnloadEvent) => e.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isChanged]);
}

/** Conflict tells that the file has changed since it was read, and shows both texts. */
function Conflict({ flow, mine, onClose, onTake, onKeep }: { flow: string; mine: string; onClose(): void; onTake(): void; onKeep(): void }) {
  const t = useText();
  const theirs = useLoad((signal) => loadSource(flow, signal), [flow]);
  return (
    <Dialog title={t("flow.conflict")} onClose={onClose} wide>
      <p>{t("flow.conflict_text")}</p>
      {theirs.error && <ErrorBox error={theirs.error} />}
      <div className="both">
        <section><h3>{t("flow.theirs")}</h3><pre className="block json" tabIndex={0}>{theirs.data?.text}</pre></section>
        <section><h3>{t("flow.mine")}</h3><pre className="block json" tabIndex={0}>{mine}</pre></section>
      </div>
      <div className="actions">
        <button onClick={onTake}>{t("flow.take_theirs")}</button>
        <button className="danger" onClick={onKeep}>{t("flow.keep_mine")}</button>
        <button onClick={onClose}>{t("flow.edit_on")}</button>
      </div>
    </Dialog>
  );
}
