import { Suspense, lazy, useRef, useState } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import { ApiError, api, type Schemas } from "../api/client.ts";
import { useLoad, usePages } from "../api/load.ts";
import { useFreshList } from "../api/stream.ts";
import { Ago, Empty, ErrorBox, Loading, ScreenHead, StateBadge, Tabs } from "../components/common.tsx";
import { Graph } from "../components/graph.tsx";
import { Table, type Column } from "../components/table.tsx";
import { SchemaForm, useFormName, type Faults, type Values } from "../forms/schema-form.tsx";
import { cronInWords } from "../flow/cron.ts";
import { SourceTab, type Checked, type Edited } from "../flow/source.tsx";
import type { EditorHandle } from "../flow/editor.tsx";
import { formatDuration } from "../format.ts";
import { AsUser, useAsUser } from "../forms/as-user.tsx";
import { useText } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import { Said } from "../run/said.tsx";
import { ProblemCount } from "./flows.tsx";
import { TriggersExample } from "./schedules.tsx";
import "./flow.css";

const Preview = lazy(() => import("../flow/preview.tsx").then((m) => ({ default: m.Preview })));

type FlowBody = Schemas["FlowBody"];
const views = ["graph", "table", "preview"] as const;
type View = (typeof views)[number];
const tabs = ["source", "run", "history", "triggers"] as const;
type Tab = (typeof tabs)[number];

/** Flow shows a flow: its steps as a graph or a table, its text, a form that runs it, its runs, its triggers. */
export default function Flow() {
  const { flow: id = "" } = useParams<{ flow: string }>();
  const flow = useLoad((signal) => api.get("/api/v1/flows/{flow}", { path: { flow: id }, signal }), [id]);
  if (!flow.data && flow.error) return <ErrorBox error={flow.error} retry={flow.reload} />;
  if (!flow.data) return <Loading />;
  return <FlowScreen key={id} flow={flow.data} onSaved={flow.reload} />;
}

function FlowScreen({ flow, onSaved }: { flow: FlowBody; onSaved(): void }) {
  const t = useText();
  const [query, setQuery] = useSearchParams();
  const [view, setView] = useState<View>(views.find((one) => one === query.get("view")) ?? "graph");
  const [edited, setEdited] = useState<Edited>();
  const [selected, setSelected] = useState<string>();
  const [inside, setInside] = useState("");
  const editor = useRef<EditorHandle>(null);
  const graph = useLoad((signal) => loadGraph(flow.flow, signal), [flow.flow, flow.hash]);
  const tab = tabs.find((one) => one === query.get("tab")) ?? "source";
  const [draft, setDraft] = useState<Checked>(); // the problems of a text that is not saved
  const setTab = (one: Tab) => setQuery({ tab: one }, { replace: true });
  const choose = (step: string) => {
    setSelected(step);
    const found = flow.steps.find((st) => st.id === step);
    if (found && tab === "source") editor.current?.goTo(found.line, found.col);
  };
  return (
    <section className="screen flow-screen">
      <ScreenHead title={flow.name ?? flow.flow.replaceAll("~", "/")}>
        <ProblemCount flow={(tab === "source" && draft) || flow} />
        {flow.model && <Link href={`/chat/${flow.flow}`}>{t("flow.chat")}</Link>}
      </ScreenHead>
      {flow.description && <p>{flow.description}</p>}
      <div className="flow-panes">
        <div className="pane">
          <Tabs tabs={views.map((id) => ({ id, title: t(`flow.${id}`) }))} value={view} onChange={(one) => setView(one)} label={t("flow.steps")}>
            {view === "graph" && graph.data && <Graph graph={graph.data} inside={inside} onInside={setInside} selected={selected} onSelect={choose} label={t("flow.graph")} />}
            {view === "graph" && graph.data === null && <Empty title={t("flow.no_graph")}><Link href={`/flows/${flow.flow}?tab=source`}>{t("flows.mend")}</Link></Empty>}
            {view === "graph" && graph.error && <ErrorBox error={graph.error} retry={graph.reload} />}
            {view === "table" && <Steps steps={flow.steps} onSelect={choose} />}
            {view === "preview" && (
              <Suspense fallback={<Loading />}>
                <Preview flow={flow.flow} file={flow.file} edited={edited} onOpen={tab === "source" ? (line, col) => editor.current?.goTo(line, col) : undefined} />
              </Suspense>
            )}
          </Tabs>
        </div>
        <div className="pane">
          <Tabs tabs={tabs.map((id) => ({ id, title: t(`flow.tab_${id}`) }))} value={tab} onChange={setTab} label={flow.flow}>
            {tab === "source" && <SourceTab flow={flow.flow} start={Number(query.get("line")) || undefined} onSaved={onSaved} onChecked={setDraft} onEdited={setEdited} editor={editor} />}
            {tab === "run" && <RunTab flow={flow} />}
            {tab === "history" && <History flow={flow} />}
            {tab === "triggers" && <Triggers flow={flow} />}
          </Tabs>
        </div>
      </div>
    </section>
  );
}

/** Loads the graph of a flow; null for one that is broken. */
async function loadGraph(flow: string, signal: AbortSignal): Promise<Schemas["Graph"] | null> {
  try {
    return await api.get("/api/v1/flows/{flow}/graph", { path: { flow }, signal });
  } catch (error) {
    if (error instanceof ApiError && error.problem.status === 422) return null;
    throw error;
  }
}

function Steps({ steps, onSelect }: { steps: FlowBody["steps"]; onSelect(step: string): void }) {
  const t = useText();
  return (
    <table className="plain">
      <thead><tr><th>{t("flow.step")}</th><th>{t("flow.call")}</th><th>{t("flow.after")}</th><th>{t("flow.does")}</th></tr></thead>
      <tbody>
        {steps.map((st) => (
          <tr key={st.id}>
            <td><button className="link" onClick={() => onSelect(st.id)}>{st.id}</button></td>
            <td><Link href={`/calls/${st.call}`}>{st.call}</Link></td>
            <td>{st.needs.join(", ")}</td>
            <td>{st.description ?? st.name ?? ""}{st.to_user && <span className="hint"> {t("flow.to_user")}</span>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** RunTab starts a run with inputs from a form; ?from= fills it with those of an earlier run. */
function RunTab({ flow }: { flow: FlowBody }) {
  const [query] = useSearchParams();
  const id = query.get("from");
  const from = useLoad(async (signal) => (id ? api.get("/api/v1/runs/{id}", { path: { id }, signal }) : undefined), [id]);
  if (id && !from.data && !from.error) return <Loading />;
  return (
    <>
      {from.error && <ErrorBox error={from.error} retry={from.reload} />}
      <RunForm key={from.data?.run ?? ""} flow={flow} from={from.data} />
    </>
  );
}

function RunForm({ flow, from }: { flow: FlowBody; from?: Schemas["RunBody"] }) {
  const t = useText();
  const me = useMe();
  const name = useFormName();
  const [, navigate] = useLocation();
  const [values, setValues] = useState<Values>((from?.inputs ?? {}) as Values);
  const [session, setSession] = useState(from?.session ?? "");
  const [user, setUser] = useAsUser();
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const start = async (inputs: Values) => {
    setBusy(true);
    setError(undefined);
    try {
      const started = await api.post("/api/v1/runs", { body: { flow: flow.flow, inputs, session: session || undefined, user: user.trim() || undefined } });
      navigate(`/runs/${(started as Schemas["StartedRun"]).run}`);
    } catch (err) {
      setError(err as Error);
      setBusy(false);
    }
  };
  if (!hasScope(me, "runs:write")) return <p>{t("flow.no_run_scope")}</p>;
  if (flow.errors > 0) return <Empty title={t("flow.broken")}><Link href={`/flows/${flow.flow}?tab=source`}>{t("flows.mend")}</Link></Empty>;
  return (
    <SchemaForm
      name={name} schema={flow.inputs ?? { type: "object", properties: {} }} values={values} faults={faultsOf(error)} disabled={busy}
      onChange={(next) => (setValues(next), setError(undefined))} onSubmit={(inputs) => void start(inputs)}
    >
      <label className="field">{t("flow.session")}<input value={session} onChange={(e) => setSession(e.target.value)} /><span className="hint">{t("flow.session_hint")}</span></label>
      <AsUser user={user} onChange={setUser} />
      {error && <ErrorBox error={error} />}
      <div className="actions"><button className="primary" disabled={busy}>{t("flow.run")}</button></div>
    </SchemaForm>
  );
}

/** Returns the server's faults at the inputs that they name. */
function faultsOf(error?: Error): Faults {
  const found: Record<string, { __errors: string[] }> = {};
  for (const fault of (error instanceof ApiError && error.problem.errors) || []) {
    const name = /^\/inputs\/([^/]+)/.exec(fault.pointer ?? "")?.[1];
    if (name) (found[name.replaceAll("~1", "/").replaceAll("~0", "~")] ??= { __errors: [] }).__errors.push(fault.message);
  }
  return found as Faults;
}

function History({ flow }: { flow: FlowBody }) {
  const t = useText();
  const runs = usePages<Schemas["RunItem"]>((cursor, signal) => api.get("/api/v1/runs", { query: { flow: flow.name ?? flow.flow, view: "live", cursor }, signal }), [flow.flow]);
  useFreshList(runs.reload, (item) => item.flow === (flow.name ?? flow.flow));
  const columns: Column<Schemas["RunItem"]>[] = [
    { id: "state", title: t("runs.state"), width: "8rem", cell: (r) => <StateBadge state={r.queued ? "queued" : r.state} /> },
    { id: "flow", title: t("flow.run_id"), width: "4.5rem", cell: (r) => <Link href={`/runs/${r.run}`} className="row-link">{r.run.slice(-6)}</Link> },
    { id: "said", title: t("runs.said"), width: "minmax(6rem, 1fr)", cell: (r) => <Said run={r} /> },
    { id: "started", title: t("runs.started"), width: "7rem", cell: (r) => <Ago time={r.started_at} /> },
    { id: "time", title: t("runs.duration"), width: "5.5rem", align: "end", cell: (r) => (r.last_seq ? formatDuration(Date.parse(r.updated_at) - Date.parse(r.started_at)) : "") },
  ];
  if (runs.error) return <ErrorBox error={runs.error} retry={runs.reload} />;
  if (!runs.items.length) return runs.loading ? <Loading /> : <Empty title={t("flow.no_runs")}><Link href={`/flows/${flow.flow}?tab=run`}>{t("flow.run_it")}</Link></Empty>;
  return <Table cards label={t("flow.tab_history")} columns={columns} rows={runs.items} keyOf={(r) => r.run} hasMore={runs.hasMore} onEnd={runs.loadMore} />;
}

function Triggers({ flow }: { flow: FlowBody }) {
  const t = useText();
  if (flow.errors > 0 && !flow.triggers.length) return <Empty title={t("flow.broken_triggers")}><Link href={`/flows/${flow.flow}?tab=source`}>{t("flows.mend")}</Link></Empty>;
  if (!flow.triggers.length) return <Empty title={t("flow.no_triggers")}><TriggersExample /><Link href={`/flows/${flow.flow}?tab=source`}>{t("flow.to_source")}</Link></Empty>;
  return (
    <table className="plain">
      <thead><tr><th>{t("flow.trigger")}</th><th>{t("flow.kind")}</th><th>{t("flow.when")}</th></tr></thead>
      <tbody>
        {flow.triggers.map((one) => (
          <tr key={`${one.kind} ${one.id}`}>
            <td>{one.id}</td>
            <td>{t(one.kind === "schedule" ? "flow.schedule" : "flow.webhook")}</td>
            <td>{one.kind === "schedule" ? <>{cronInWords(one.cron ?? "", t)} <code>{one.cron}</code> {one.timezone}</> : <><code>POST {one.path}</code> {one.verify}</>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
