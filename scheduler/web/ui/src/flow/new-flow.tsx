import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client.ts";
import { Dialog, ErrorBox } from "../components/common.tsx";
import { useText } from "../i18n.ts";

/** NewFlow asks for the name of a flow, creates it with a text that runs, and opens it; no file is ever overwritten. */
export function NewFlow({ onClose }: { onClose(): void }) {
  const t = useText();
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const id = name.trim().replaceAll("/", "~");
  const create = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await api.put("/api/v1/flows/{flow}/source", { path: { flow: id }, headers: { "If-None-Match": "*" }, body: { text: startingText(t("flows.new_does"), t("flows.new_asks"), t("flows.new_says")) } });
      navigate(`/flows/${encodeURIComponent(id.replace(/\.ya?ml$/, ""))}`);
    } catch (err) {
      setError(err as Error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("flows.new")} onClose={onClose}>
      <form className="new-flow" onSubmit={(e) => (e.preventDefault(), id && !busy && void create())}>
        <label className="field">
          {t("flows.new_name")}
          <input value={name} required spellCheck={false} autoComplete="off" aria-invalid={!!error} onChange={(e) => (setName(e.target.value), setError(undefined))} />
          <span className="hint">{t("flows.new_hint")}</span>
        </label>
        {error && <ErrorBox error={error} />}
        <div className="actions">
          <button className="primary" disabled={busy || !id}>{t("flows.create")}</button>
          <button type="button" onClick={onClose}>{t("common.close")}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** Returns a flow of one step, which runs without a model. Its name is that of its file. */
function startingText(does: string, asks: string, says: string): string {
  return `description: ${JSON.stringify(does)}
inputs:
  type: object
  required: [question]
  properties:
    question: {type: string, description: ${JSON.stringify(asks)}}
steps:
  - id: reply
    call: template
    with:
      template: ${JSON.stringify(says)}
      values: {question: "{{ inputs.question }}"}
    to_user: true
outputs: {reply: "{{ reply.text }}"}
`;
}
