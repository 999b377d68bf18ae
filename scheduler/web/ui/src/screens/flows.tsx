import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { api, type Schemas } from "../api/client.ts";
import { useLoad, usePages } from "../api/load.ts";
import { useFreshList } from "../api/stream.ts";
import { Ago, Empty, ErrorBox, Loading, ScreenHead, stateSigns, type State } from "../components/common.tsx";
import { NewFlow } from "../flow/new-flow.tsx";
import { formatAgo } from "../format.ts";
import { useText, type Key } from "../i18n.ts";
import { hasScope, useMe } from "../me.ts";
import "./flows.css";

type Flow = Schemas["FlowItem"];
type Run = Schemas["RunItem"];

/** FlowFacts is what is known of a flow beyond its file. */
interface FlowFacts {
  runs: Run[];
  tests?: TestFacts;
  next?: string;
}

/** TestFacts counts the cases of a flow by what they gave when they last ran; at is the last time. */
interface TestFacts {
  passed: number;
  failed: number;
  notRun: number;
  at?: string;
}

// From so many flows on there is a field to search them.
const manyFlows = 9;

/** Flows is the home screen: each flow with its description, how it fares, and buttons that run it and chat with it. */
export default function Flows() {
  const t = useText();
  const me = useMe();
  const [isNew, setNew] = useState(false);
  const [text, setText] = useState("");
  const list = usePages<Flow>((cursor, signal) => api.get("/api/v1/flows", { query: { cursor, limit: 200 }, signal }), []);
  const factsOf = useFacts();
  const canCreate = me.edit && hasScope(me, "flows:write");
  const create = <button className="primary" onClick={() => setNew(true)}>{t("flows.new")}</button>;
  const wanted = text.trim().toLowerCase();
  const fits = list.items.filter((f) => `${f.flow} ${f.name ?? ""} ${f.description ?? ""}`.toLowerCase().includes(wanted));
  return (
    <section className="screen">
      <ScreenHead title={t("flows.title")}>
        {list.items.length >= manyFlows && <input type="search" aria-label={t("runs.search")} placeholder={t("runs.search")} value={text} onChange={(e) => setText(e.target.value)} />}
        {canCreate && create}
      </ScreenHead>
      {isNew && <NewFlow onClose={() => setNew(false)} />}
      {list.error && <ErrorBox error={list.error} retry={list.reload} />}
      {list.loading && !list.items.length && <Loading />}
      {!list.loading && !list.error && !list.items.length && <Empty title={t("flows.empty")}><p>{t("flows.begin")} <code>scheduler init</code></p>{canCreate && create}</Empty>}
      {list.items.length > 0 && !fits.length && <Empty title={t("flows.none_fit")}><button onClick={() => setText("")}>{t("runs.clear")}</button></Empty>}
      <ul className="flow-cards" aria-label={t("flows.title")}>
        {fits.map((f) => <FlowCard key={f.flow} flow={f} facts={factsOf(f)} />)}
      </ul>
      {list.hasMore && <button onClick={list.loadMore}>{t("plugins.more")}</button>}
    </section>
  );
}

const dots = 10;

/** Loads the last runs, the tests and the schedules, and returns the function that finds those of a flow. */
function useFacts(): (flow: Flow) => FlowFacts {
  const me = useMe();
  const runs = useLoad(async (signal) => (hasScope(me, "runs:read") ? (await api.get("/api/v1/runs", { query: { limit: 200 }, signal })).items : []), []);
  useFreshList(runs.reload);
  const tests = useLoad((signal) => api.get("/api/v1/tests", { query: { limit: 200 }, signal }), []);
  const schedules = useLoad((signal) => api.get("/api/v1/schedules", { query: { limit: 200 }, signal }), []);
  return (flow) => ({
    runs: runs.data?.filter((r) => r.flow === (flow.name ?? flow.flow)).slice(0, dots) ?? [],
    tests: countTests(flow.flow, tests.data?.items ?? []),
    next: schedules.data?.items.filter((s) => s.flow === flow.flow && s.active).flatMap((s) => s.next).sort((a, b) => Date.parse(a) - Date.parse(b))[0],
  });
}

function countTests(flow: string, files: Schemas["TestFile"][]): TestFacts | undefined {
  const cases = files.flatMap((f) => f.cases).filter((c) => c.flow === flow && !c.skip);
  if (!cases.length) return undefined;
  const found: TestFacts = { passed: 0, failed: 0, notRun: 0 };
  for (const { last } of cases) {
    if (!last) found.notRun++;
    else if (last.outcome === "pass") found.passed++;
    else if (last.outcome !== "skip") found.failed++;
    if (last?.at && (!found.at || last.at > found.at)) found.at = last.at;
  }
  return found;
}

function FlowCard({ flow: f, facts }: { flow: Flow; facts: FlowFacts }) {
  const t = useText();
  const me = useMe();
  const name = f.name ?? f.flow.replaceAll("~", "/");
  const canRun = hasScope(me, "runs:write") && !f.errors;
  return (
    <li className="card flow-card">
      <div className="flow-card-head">
        <h2><Link href={`/flows/${f.flow}`}>{name}</Link></h2>
        {f.name && f.flow.includes("~") && <code className="hint">{f.flow.replaceAll("~", "/")}</code>}
        {(f.errors > 0 || f.warnings > 0) && <ProblemCount flow={f} />}
      </div>
      <p className="flow-about">{f.description || <span className="hint">{t("flows.no_description")}</span>}</p>
      <dl className="facts">
        <Fact title={t("flows.last_runs")}>{facts.runs.length ? <Dots name={name} runs={facts.runs} /> : <span className="hint">{t("flows.never_ran")}</span>}</Fact>
        {facts.tests && <Fact title={t("nav.tests")}><Tests found={facts.tests} /></Fact>}
        {facts.next && <Fact title={t("flows.next")}><Link href="/schedules"><Ago time={facts.next} /></Link></Fact>}
        {!!f.llm?.length && <Fact title={t("flows.models")}>{f.llm.join(", ")}</Fact>}
      </dl>
      <div className="actions">
        {canRun && <Link className="button" href={`/flows/${f.flow}?tab=run`} aria-label={t("flows.run_named", { flow: name })}>{t("flow.run")}</Link>}
        {canRun && f.model && <Link className="button plain" href={`/chat/${f.flow}`} aria-label={t("flows.chat_named", { flow: name })}>{t("flow.chat")}</Link>}
        {f.errors > 0 && <Link className="button plain" href={`/flows/${f.flow}`} aria-label={t("flows.mend_named", { flow: name })}>{t("flows.mend")}</Link>}
      </div>
    </li>
  );
}

function Fact({ title, children }: { title: string; children: ReactNode }) {
  return <div><dt>{title}</dt><dd>{children}</dd></div>;
}

/** Dots are the last runs as signs of their states, the newest last. */
function Dots({ name, runs }: { name: string; runs: Run[] }) {
  const t = useText();
  const stateOf = (r: Run): State => (r.queued ? "queued" : r.state);
  const failed = runs.filter((r) => r.state === "failed").length;
  return (
    <Link href={`/runs?flow=${encodeURIComponent(runs[0]!.flow)}`} className="dots" aria-label={t("flows.runs_of", { flow: name, n: runs.length, failed })}>
      {runs.toReversed().map((r) => (
        <span key={r.run} className={`dot state-${stateOf(r)}`} aria-hidden="true" title={`${t(`state.${stateOf(r)}` as Key)}, ${formatAgo(r.started_at)}`}>{stateSigns[stateOf(r)]}</span>
      ))}
    </Link>
  );
}

function Tests({ found }: { found: TestFacts }) {
  const t = useText();
  const state = found.failed ? "failed" : found.passed ? "finished" : "none";
  const text = found.failed ? t("tests.count_fail", { n: found.failed }) : found.passed ? t("tests.count_pass", { n: found.passed }) : t("tests.count_none", { n: found.notRun });
  return (
    <>
      <Link href="/tests" className={`badge state-${state}`}><span aria-hidden="true">{found.failed ? "✗" : found.passed ? "✓" : "○"}</span> {text}</Link>
      {found.at && <span className="hint"> <Ago time={found.at} /></span>}
    </>
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
