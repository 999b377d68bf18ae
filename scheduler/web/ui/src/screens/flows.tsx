import { useState } from "react";
import { Link } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { usePages } from "../api/load.ts";
import { Empty, ErrorBox, Loading, ScreenHead } from "../components/common.tsx";
import { Table, type Column } from "../components/table.tsx";
import { NewFlow } from "../flow/new-flow.tsx";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import "./flow.css";

type Flow = Schemas["FlowItem"];

/** Flows lists the flows with the number of their problems. */
export default function Flows() {
  const t = useText();
  const me = useMe();
  const [isNew, setNew] = useState(false);
  const list = usePages<Flow>((cursor, signal) => api.get("/api/v1/flows", { query: { cursor, limit: 200 }, signal }), []);
  const columns: Column<Flow>[] = [
    { id: "flow", title: t("flows.flow"), width: "minmax(8rem, 1fr)", cell: (f) => <Link href={`/flows/${f.flow}`}>{f.flow.replaceAll("~", "/")}</Link> },
    { id: "description", title: t("flows.description"), width: "minmax(10rem, 3fr)", cell: (f) => <span title={f.description}>{f.description}</span> },
    { id: "problems", title: t("flows.problems"), width: "minmax(10rem, 1fr)", cell: (f) => <ProblemCount flow={f} /> },
  ];
  return (
    <section className="screen">
      <ScreenHead title={t("flows.title")}>
        {me.edit && hasScope(me, "flows:write") && <button className="primary" onClick={() => setNew(true)}>{t("flows.new")}</button>}
      </ScreenHead>
      {isNew && <NewFlow onClose={() => setNew(false)} />}
      {list.error && <ErrorBox error={list.error} retry={list.reload} />}
      {list.loading && !list.items.length && <Loading />}
      {!list.loading && !list.error && !list.items.length && <Empty title={t("flows.empty")}><p>{t("flows.begin")} <code>scheduler init</code></p></Empty>}
      {list.items.length > 0 && <Table label={t("flows.title")} columns={columns} rows={list.items} keyOf={(f) => f.flow} hasMore={list.hasMore} onEnd={list.loadMore} />}
    </section>
  );
}

/** ProblemCount tells how many problems a flow has. */
export function ProblemCount({ flow }: { flow: { errors: number; warnings: number } }) {
  const t = useText();
  if (!flow.errors && !flow.warnings) return <span className="badge state-finished"><span aria-hidden="true">✓</span> {t("flows.fine")}</span>;
  return (
    <>
      {flow.errors > 0 && <span className="badge state-failed"><span aria-hidden="true">✗</span> {t("flows.errors", { n: flow.errors })}</span>}{" "}
      {flow.warnings > 0 && <span className="badge state-waiting"><span aria-hidden="true">!</span> {t("flows.warnings", { n: flow.warnings })}</span>}
    </>
  );
}
