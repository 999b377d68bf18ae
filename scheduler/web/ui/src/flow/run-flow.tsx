import { useState } from "react";
import { Link } from "wouter";
import { api } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Dialog, ErrorBox, Loading } from "../components/common.tsx";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";

/** RunFlow is the button that begins a run: one chooses a flow, and its form opens. */
export function RunFlow() {
  const t = useText();
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  if (!hasScope(me, "runs:write")) return null;
  return (
    <>
      <button className="primary" onClick={() => setOpen(true)}>{t("runs.run_flow")}</button>
      {isOpen && <Dialog title={t("runs.run_flow")} onClose={() => setOpen(false)}><FlowList /></Dialog>}
    </>
  );
}

function FlowList() {
  const t = useText();
  const [text, setText] = useState("");
  const flows = useLoad((signal) => api.get("/api/v1/flows", { query: { limit: 200 }, signal }), []);
  if (flows.error) return <ErrorBox error={flows.error} retry={flows.reload} />;
  if (!flows.data) return <Loading />;
  const wanted = text.trim().toLowerCase();
  const fits = flows.data.items.filter((f) => !f.errors && `${f.flow} ${f.name ?? ""} ${f.description ?? ""}`.toLowerCase().includes(wanted));
  return (
    <div className="flow-list">
      <input type="search" aria-label={t("runs.search")} placeholder={t("runs.search")} value={text} onChange={(e) => setText(e.target.value)} />
      <ul>
        {fits.map((f) => (
          <li key={f.flow}><Link href={`/flows/${f.flow}?tab=run`}>{f.name ?? f.flow.replaceAll("~", "/")}</Link> <span className="hint">{f.description}</span></li>
        ))}
      </ul>
      {!fits.length && <p className="hint">{t("runs.no_flow_fits")}</p>}
    </div>
  );
}
