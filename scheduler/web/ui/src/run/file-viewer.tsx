import { api } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Dialog, ErrorBox, Loading } from "../components/common.tsx";
import { SourceLines } from "../components/source-lines.tsx";
import { useText } from "../i18n.ts";
import { shortPath, type Place } from "./sources.ts";

/** FileViewer shows a file of a run at a line: as the run kept it, else as it is now. */
export function FileViewer({ run, place, onClose }: { run: string; place: Place; onClose(): void }) {
  const t = useText();
  const file = useLoad((signal) => loadFile(run, place.path, signal), [run, place.path]);
  const text = file.data?.encoding === "base64" ? undefined : file.data?.content;
  return (
    <Dialog title={[shortPath(place.path), place.line].filter(Boolean).join(":")} onClose={onClose} wide>
      <p className="hint">{place.path}{file.data && ` · ${file.data.current ? t("prompt.file_current") : t("prompt.file_kept")}`}</p>
      {file.error && <ErrorBox error={file.error} />}
      {file.loading && <Loading />}
      {file.data && text === undefined && <p>{t("prompt.file_binary")}</p>}
      {text !== undefined && <SourceLines text={text} line={place.line} />}
    </Dialog>
  );
}

/** A source may name a file relative to its flow, where the run kept it by its whole path. */
async function loadFile(id: string, path: string, signal: AbortSignal) {
  const list = await api.get("/api/v1/runs/{id}/files", { path: { id }, signal });
  const items = list.items ?? [];
  const fits = items.filter((f) => f.path === path || f.path.endsWith("/" + path));
  const found = fits.find((f) => !f.current) ?? fits[0];
  const page = await api.get("/api/v1/runs/{id}/files", { path: { id }, query: { path: found?.path ?? path }, signal });
  return page.items[0];
}
