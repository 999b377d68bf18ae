import { api } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Dialog, ErrorBox, Loading } from "../components/common.tsx";
import { SourceLines } from "../components/source-lines.tsx";
import { useText } from "../i18n.ts";
import { holdsPlace, shortPath, type Place } from "./sources.ts";

/**
 * FileViewer shows a file of a run at a line: as the run kept it, else as it is now. No line of a text
 * that the run has not read is marked.
 */
export function FileViewer({ run, place, onClose }: { run: string; place: Place; onClose(): void }) {
  const t = useText();
  const file = useLoad((signal) => loadFile(run, place, signal), [run, place]);
  const text = file.data?.encoding === "base64" ? undefined : file.data?.content ?? (file.data && "");
  const isChanged = !!file.data?.changed;
  const isThere = text !== undefined && holdsPlace(text, place, isChanged);
  const state = file.data && (file.data.current ? "prompt.file_current" : file.data.until ? "prompt.file_edited" : "prompt.file_kept");
  return (
    <Dialog title={[shortPath(place.path), place.line].filter(Boolean).join(":")} onClose={onClose} wide>
      <p className="hint">{place.path}{state && ` · ${t(state)}`}</p>
      {isChanged && <p className="file-changed" role="status">{t(isThere ? "prompt.file_changed_elsewhere" : "prompt.file_changed")}</p>}
      {file.error && <ErrorBox error={file.error} />}
      {file.loading && <Loading />}
      {file.data && text === undefined && <p>{t("prompt.file_binary")}</p>}
      {text !== undefined && <SourceLines text={text} line={isThere ? place.line : undefined} />}
    </Dialog>
  );
}

/** A source may name a file relative to its flow, where the run kept it by its whole path. */
async function loadFile(id: string, { path, seq }: Place, signal: AbortSignal) {
  const list = await api.get("/api/v1/runs/{id}/files", { path: { id }, query: { seq }, signal });
  const items = list.items ?? [];
  const fits = items.filter((f) => f.path === path || f.path.endsWith("/" + path));
  const found = fits.find((f) => !f.current) ?? fits[0];
  const page = await api.get("/api/v1/runs/{id}/files", { path: { id }, query: { path: found?.path ?? path, seq }, signal });
  return page.items[0];
}
