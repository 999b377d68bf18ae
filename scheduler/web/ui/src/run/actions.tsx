import { useState } from "react";
import { Link, useLocation } from "wouter";
import { ApiError, api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Dialog, ErrorBox, Loading } from "../components/common.tsx";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import type { FollowedRun } from "./follow.ts";

/** What can be done with a run: answer, cancel, resume, resume with an edited flow, run again, delete. */
export function RunActions({ run }: { run: FollowedRun }) {
  const t = useText();
  const me = useMe();
  const [, navigate] = useLocation();
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const [dialog, setDialog] = useState<"edit" | "delete">();
  const info = run.info!;
  const id = info.run;
  const state = run.state.lastSeq >= info.last_seq ? run.state.state : info.state;
  const act = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
      setDialog(undefined);
      run.reload();
    } catch (err) {
      setError(err as Error);
    } finally {
      setBusy(false);
    }
  };
  const resume = (flow?: string) => act(() => api.post("/api/v1/runs/{id}/resume", { path: { id }, body: flow === undefined ? {} : { flow: { text: flow } } }));
  const isOver = state === "finished" || state === "cancelled";
  const canWrite = hasScope(me, "runs:write");
  return (
    <>
      <div className="actions">
        {canWrite && state === "waiting" && <Link className="button primary" href={`/inbox/${id}`}>{t("run.answer")}</Link>}
        {canWrite && (state === "running" || state === "waiting") && (
          <button disabled={busy} onClick={() => void act(() => api.post("/api/v1/runs/{id}/cancel", { path: { id } }))}>{t("run.cancel")}</button>
        )}
        {canWrite && (state === "failed" || state === "cancelled" || info.stuck) && <button disabled={busy} onClick={() => void resume()}>{t("run.resume")}</button>}
        {canWrite && hasScope(me, "flows:write") && state !== "running" && state !== "finished" && (
          <button disabled={busy} onClick={() => setDialog("edit")}>{t("run.resume_edited")}</button>
        )}
        {canWrite && (isOver || state === "failed") && (
          <button disabled={busy} onClick={() => void act(async () => navigate(`/flows/${await flowOf(info.flow, t("run.no_flow"))}?tab=run&from=${id}`))}>{t("run.again")}</button>
        )}
        {hasScope(me, "admin") && (isOver || state === "failed") && <button className="quiet" disabled={busy} onClick={() => setDialog("delete")}>{t("run.delete")}</button>}
      </div>
      {error && !dialog && <ErrorBox error={error} />}
      {dialog === "edit" && <EditDialog id={id} error={error} busy={busy} onResume={(text) => void resume(text)} onClose={() => (setDialog(undefined), setError(undefined))} />}
      {dialog === "delete" && (
        <Dialog title={t("run.delete_title")} onClose={() => setDialog(undefined)}>
          <p>{t("run.delete_text")}</p>
          {error && <ErrorBox error={error} />}
          <div className="actions">
            <button className="danger" disabled={busy} onClick={() => void act(async () => (await api.delete("/api/v1/runs/{id}", { path: { id } }), navigate("/runs")))}>{t("run.delete")}</button>
            <button onClick={() => setDialog(undefined)}>{t("common.close")}</button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Returns the id of the flow with a name; a run knows only the name. */
async function flowOf(name: string, missing: string): Promise<string> {
  const list = await api.get("/api/v1/flows", { query: { limit: 200 } });
  const found = list.items.find((one) => one.name === name) ?? list.items.find((one) => one.flow === name);
  if (!found) throw new Error(missing);
  return found.flow;
}

/** The flow as the run has it, to be changed before the run goes on. */
function EditDialog({ id, error, busy, onResume, onClose }: { id: string; error?: Error; busy: boolean; onResume(text: string): void; onClose(): void }) {
  const t = useText();
  const file = useLoad((signal) => loadFlow(id, signal), [id]);
  const [text, setText] = useState<string>();
  const shown = text ?? file.data?.content ?? "";
  const line = error instanceof ApiError ? error.problem.errors?.[0]?.line : undefined;
  return (
    <Dialog title={t("run.resume_edited")} onClose={onClose} wide>
      <p className="hint">{t("run.edit_text")} <code>{file.data?.path}</code></p>
      {file.error && <ErrorBox error={file.error} />}
      {!file.data && !file.error && <Loading />}
      {file.data && (
        <>
          <textarea className="edit mono" aria-label={t("run.edit_label")} spellCheck={false} value={shown} onChange={(e) => setText(e.target.value)} rows={22} />
          {error && <ErrorBox error={error} />}
          {line && <p className="hint"><code>{line}: {shown.split("\n")[line - 1]}</code></p>}
          <div className="actions">
            <button className="primary" disabled={busy || !shown.trim()} onClick={() => onResume(shown)}>{t("run.resume")}</button>
            <button onClick={onClose}>{t("common.close")}</button>
          </div>
        </>
      )}
    </Dialog>
  );
}

/** The first file of a run is its flow. */
async function loadFlow(id: string, signal: AbortSignal): Promise<Schemas["FileBody"]> {
  const list = await api.get("/api/v1/runs/{id}/files", { path: { id }, signal });
  const path = list.items[0]!.path;
  return (await api.get("/api/v1/runs/{id}/files", { path: { id }, query: { path }, signal })).items[0]!;
}
