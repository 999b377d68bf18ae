import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useParams, useSearchParams } from "wouter";
import { Ago, Empty, ErrorBox, Loading, RunError, StateBadge, Tabs, useTitle, type State } from "../components/common.tsx";
import { Graph, type NodeState } from "../components/graph.tsx";
import { flowAround, flowInside } from "../components/inside.ts";
import { Approvals, Decisions } from "../forms/approval.tsx";
import { Context } from "../forms/context.tsx";
import { WaitsFor } from "../forms/why.tsx";
import { formatCost, formatDuration, formatJSON } from "../format.ts";
import { useText } from "../i18n.ts";
import { useMe } from "../me.ts";
import { RunActions } from "../run/actions.tsx";
import { isWaiting, useRun, type FollowedRun } from "../run/follow.ts";
import { Log } from "../run/log.tsx";
import { StepTable, Timeline } from "../run/step-list.tsx";
import { StepPanel, panelTabs, type PanelTab } from "../run/step-panel.tsx";
import { shownState, type StepState } from "../run/state.ts";
import "./chat.css";
import "./run.css";

type View = "graph" | "table" | "timeline";

/** Run shows a run and follows it: its steps as a graph, a table and a timeline, its log, and one step in full. */
export default function Run() {
  const { run: id = "" } = useParams<{ run: string }>();
  const run = useRun(id);
  if (!run.info && run.error) return <ErrorBox error={run.error} retry={run.reload} />;
  if (!run.info) return <Loading />;
  return <RunScreen key={id} run={run} />;
}

function RunScreen({ run }: { run: FollowedRun }) {
  const t = useText();
  const info = run.info!;
  useTitle(`${info.flow} ${info.run.slice(-8)}`);
  const [query, setQuery] = useSearchParams();
  const [wide, setWide] = useState(false);
  const view = (query.get("view") ?? "graph") as View;
  const tab = panelTabs.find((one) => one === query.get("tab")) ?? "output";
  const selected = query.get("step") ?? undefined;
  const change = (name: string, value: string) =>
    setQuery((old) => {
      const next = new URLSearchParams(old);
      next.set(name, value);
      return next;
    }, { replace: true });
  const select = (step: string) => change("step", step);
  const step = selected ? run.byID.get(selected) : undefined;
  const inside = useInside(run, selected);
  const states = useNodeStates(run, inside.path);
  const now = useNow(run);
  return (
    <div className="run" data-wide={(wide && !!step) || undefined}>
      <Head run={run} now={now} />
      <section className="pane overview">
        <Tabs
          tabs={(["graph", "table", "timeline"] as const).map((one) => ({ id: one, title: t(`run.view_${one}`) }))}
          value={view} onChange={(one) => change("view", one)} label={t("run.steps")}
        >
          {view === "graph" && (run.graph ? <Graph graph={run.graph} inside={inside.path} onInside={inside.open} itemsOf={inside.itemsOf} states={states} selected={selected} onSelect={select} label={t("run.view_graph")} /> : <Empty title={t("run.no_graph")} />)}
          {view === "table" && <StepTable steps={run.steps} byID={run.byID} selected={selected} onSelect={select} />}
          {view === "timeline" && <Timeline steps={run.steps} start={run.state.startTime} now={now} selected={selected} onSelect={select} />}
        </Tabs>
      </section>
      <Log events={run.events} version={run.version} selected={selected} onSelect={select} />
      {step
        ? <StepPanel run={run} step={step} waiting={isWaiting(run) ? info.waiting ?? [] : []} byID={run.byID} onSelect={select} tab={tab} onTab={(one: PanelTab) => change("tab", one)} events={run.events} wide={wide} onWide={() => setWide(!wide)} />
        : <WholeRun run={run} unknown={selected} onSelect={select} />}
    </div>
  );
}

/** Which flow of a run is drawn: the one that has the step that was chosen last, or one that was opened since. */
function useInside(run: FollowedRun, selected: string | undefined) {
  const { graph, byID } = run;
  const [opened, setOpened] = useState<{ path: string; selected?: string }>();
  const chosen = graph && selected ? flowAround(graph, selected) : "";
  const newest = useRef(byID);
  newest.current = byID;
  const itemsOf = useCallback((path: string) => newest.current.get(path)?.items ?? [], []);
  const open = useCallback((path: string) => setOpened({ path, selected }), [selected]);
  return { path: opened && opened.selected === selected ? opened.path : chosen, open, itemsOf };
}

/** The states of the nodes; one that has not changed stays the same object, so that its node is not drawn again. */
function useNodeStates(run: FollowedRun, inside: string): ReadonlyMap<string, NodeState> {
  const { byID, graph, version } = run;
  const [known] = useState(() => new Map<string, NodeState>());
  return useMemo(() => {
    const states = new Map<string, NodeState>();
    const stateOf = (st?: StepState) => (st ? shownState(st, byID) : "pending");
    for (const node of (graph && flowInside(graph, inside)?.nodes) ?? []) {
      const id = inside ? `${inside}/${node.id}` : node.id;
      const st = byID.get(id);
      if (!st) continue;
      const old = known.get(id);
      const items = st.items.length ? st.items.map((item) => stateOf(byID.get(item))) : undefined;
      const shown = stateOf(st);
      const isSame = old && old.state === shown && old.items?.length === items?.length && (items ?? []).every((one, i) => one === old.items![i]);
      const state: NodeState = isSame ? old : { state: shown, items };
      known.set(id, state);
      states.set(id, state);
    }
    return states;
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [byID, graph, inside, version, known]);
}

/** The end of the time that is shown: of a run that goes on, or waits, now. */
function useNow(run: FollowedRun): number {
  const isRunning = (run.state.state === "running" || run.state.state === "waiting") && run.state.lastSeq > 0;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  if (isRunning) return Math.max(now, run.state.lastTime);
  return run.state.lastTime || Date.parse(run.info!.updated_at);
}

function Head({ run, now }: { run: FollowedRun; now: number }) {
  const t = useText();
  const { currency } = useMe();
  const info = run.info!;
  const caughtUp = run.state.lastSeq >= info.last_seq && run.state.lastSeq > 0;
  const state: State = info.queued && run.state.lastSeq === 0 ? "queued" : caughtUp ? run.state.state : info.state;
  const usage = caughtUp ? run.state.usage : info.usage;
  const tokens = usage.input_tokens + usage.output_tokens;
  return (
    <header className="run-head">
      <h1>{info.flow}</h1>
      <StateBadge state={state} />
      {info.waits_because && run.state.lastSeq <= info.last_seq && <span className="hint">{info.waits_because.text}</span>}
      <code className="hint" title={info.run}>{info.run.slice(-12)}</code>
      <span className="hint"><Ago time={info.started_at} /></span>
      {run.state.startTime > 0 && <span>{formatDuration(now - run.state.startTime)}</span>}
      {tokens > 0 && <span>{t("run.n_tokens", { n: tokens })}</span>}
      {!!usage.cost && <span>{formatCost(usage.cost, currency)}</span>}
      {info.owner && <span className="hint">{t("run.owner", { user: info.owner })}</span>}
      {info.session && <span className="hint">{t("run.session", { session: info.session })}</span>}
      <RunActions run={run} />
    </header>
  );
}

/** What the run as a whole got and made, while no step is chosen. */
function WholeRun({ run, unknown, onSelect }: { run: FollowedRun; unknown?: string; onSelect(step: string): void }) {
  const t = useText();
  const info = run.info!;
  const error = run.state.error ?? info.error;
  return (
    <section className="pane step-panel" aria-label={t("run.whole")}>
      <div className="pane-head"><h2>{t("run.whole")}</h2></div>
      <p className="hint">{t("run.choose")}</p>
      {unknown && <p className="hint">{t("run.unknown_step", { step: unknown })}</p>}
      {error && <RunError error={error} />}
      {isWaiting(run) && <Approvals run={run} waiting={info.waiting ?? []} onSent={run.reload} />}
      {isWaiting(run) && <WaitsFor waiting={info.waiting ?? []} onSelect={onSelect} />}
      <Decisions run={run} />
      <Context info={info} spoken="" label={t("chat.talk")} />
      {run.state.warnings.length > 0 && (
        <section><h3>{t("run.warnings")}</h3><ul className="warnings">{run.state.warnings.map((w, i) => <li key={i}><code>{w.step}</code> {w.text}</li>)}</ul></section>
      )}
      {info.outputs !== undefined && <section><h3>{t("run.outputs")}</h3><pre className="block json">{formatJSON(info.outputs)}</pre></section>}
      {info.conversation !== undefined && <section><h3>{t("run.conversation")}</h3><pre className="block json">{formatJSON(info.conversation)}</pre></section>}
      {info.inputs !== undefined && <section><h3>{t("run.inputs")}</h3><pre className="block json">{formatJSON(info.inputs)}</pre></section>}
      {info.labels && <section><h3>{t("run.labels")}</h3><p>{Object.entries(info.labels).map(([name, label]) => <code key={name}>{name}={label} </code>)}</p></section>}
    </section>
  );
}
