import { useEffect, useMemo, useRef, useState } from "react";
import { VList } from "virtua";
import { Link } from "wouter";
import { api } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { Empty, ErrorBox, Loading, RunError, StateBadge, Tabs, stateSigns } from "../components/common.tsx";
import { formatClock, formatDuration, formatJSON, formatNumber } from "../format.ts";
import { Approvals, Decided } from "../forms/approval.tsx";
import { WaitsFor } from "../forms/why.tsx";
import { useText, type Key } from "../i18n.ts";
import type { FollowedRun } from "./follow.ts";
import { textOf } from "./log.tsx";
import { PromptExplorer } from "./prompt.tsx";
import { Rounds, roundsOf } from "./rounds.tsx";
import { outerOf, shownState, stepOf, type RunEvent, type StepState, type WaitingFor } from "./state.ts";

export const panelTabs = ["output", "prompt", "input", "events"] as const;
export type PanelTab = (typeof panelTabs)[number];

/** StepPanel shows a step: what it made, what it asked the model, what it got, and what happened. */
export function StepPanel({ run: followed, step, waiting, byID, onSelect, tab, onTab, events, wide, onWide }: {
  run: FollowedRun;
  step: StepState;
  /** All that the run waits for. */
  waiting: WaitingFor[];
  byID: ReadonlyMap<string, StepState>;
  onSelect(id: string): void;
  tab: PanelTab;
  onTab(tab: PanelTab): void;
  events: RunEvent[];
  wide: boolean;
  onWide(): void;
}) {
  const t = useText();
  const run = followed.info!.run;
  // What is loaded of the step is loaded again when one of these changes.
  const version = `${step.state} ${step.attempts}`;
  const waits = waiting.filter((w) => w.step === step.id || w.step.startsWith(`${step.id}/`) || w.step.startsWith(`${step.id}[`));
  const tokens = step.usage.input_tokens + step.usage.output_tokens;
  const pane = useRef<HTMLElement>(null);
  useEffect(() => {
    if (matchMedia("(max-width: 62rem)").matches) pane.current!.scrollIntoView(); // it is below the graph there
  }, [step.id]);
  return (
    <section className="pane step-panel" ref={pane} aria-label={t("run.step_named", { step: step.id })}>
      <div className="pane-head">
        <h2 className="step-title" title={step.id}>{step.id}</h2>
        <StateBadge state={shownState(step, byID)} />
        <button className="quiet" onClick={onWide} aria-pressed={wide}>{wide ? t("run.narrow") : t("run.wide")}</button>
      </div>
      <dl className="facts">
        <div><dt>{t("run.call")}</dt><dd>{step.call}</dd></div>
        {step.attempts > 0 && <div><dt>{t("run.attempts")}</dt><dd>{step.attempts}</dd></div>}
        {step.duration_ms > 0 && <div><dt>{t("run.duration")}</dt><dd>{formatDuration(step.duration_ms)}</dd></div>}
        {tokens > 0 && <div><dt>{t("run.tokens")}</dt><dd>{formatNumber(step.usage.input_tokens)} + {formatNumber(step.usage.output_tokens)}</dd></div>}
        {!!step.usage.cached_tokens && <div><dt>{t("run.cached")}</dt><dd>{formatNumber(step.usage.cached_tokens)}</dd></div>}
      </dl>
      {step.error && <RunError error={step.error} />}
      <Approvals run={followed} waiting={waits} onSent={followed.reload} />
      <WaitsFor waiting={waits} />
      {step.decision && <p><Decided step={step} /></p>}
      {step.reason && <p className="hint">{step.reason}</p>}
      {step.child && <p><Link href={`/runs/${step.child}`}>{t("run.child")}</Link> <code className="hint" title={step.child}>{step.child.slice(-6)}</code></p>}
      {step.items.length > 0 && <Items step={step} byID={byID} onSelect={onSelect} />}
      {step.id.endsWith("]") && <p><button className="link" onClick={() => onSelect(outerOf(step.id))}>{t("run.item_of", { step: outerOf(step.id) })}</button></p>}
      <Tabs tabs={panelTabs.map((id) => ({ id, title: t(`run.tab_${id}`) }))} value={tab} onChange={onTab} label={t("run.step_named", { step: step.id })}>
        {tab === "output" && <Output key={step.id} run={run} step={step} version={version} />}
        {tab === "prompt" && <PromptExplorer key={step.id} run={run} step={step.id} version={version} />}
        {tab === "input" && <Input key={step.id} run={run} step={step.id} version={version} />}
        {tab === "events" && <Events key={step.id} step={step.id} events={events} />}
      </Tabs>
    </section>
  );
}

// More items are shown when they are asked for.
const itemsAtOnce = 300;

/** The items of a for_each step as a grid; those that failed or wait come first. */
function Items({ step, byID, onSelect }: { step: StepState; byID: ReadonlyMap<string, StepState>; onSelect(id: string): void }) {
  const t = useText();
  const [limit, setLimit] = useState(itemsAtOnce);
  const stateOf = (id: string) => (byID.has(id) ? shownState(byID.get(id)!, byID) : "pending");
  const weight = (id: string) => ["failed", "survived", "waiting", "running"].indexOf(stateOf(id)) >>> 0;
  const items = [...step.items].sort((a, b) => weight(a) - weight(b));
  const done = items.filter((id) => ["finished", "survived", "skipped", "failed"].includes(stateOf(id))).length;
  return (
    <details className="items">
      <summary>{t("run.items", { done, n: items.length })}</summary>
      <div className="item-grid">
        {items.slice(0, limit).map((id) => {
          const state = stateOf(id);
          return (
            <button key={id} className={`state-${state}`} onClick={() => onSelect(id)}>
              {id.slice(step.id.length)} <span aria-hidden="true">{stateSigns[state]}</span><span className="sr">{t(`state.${state}` as Key)}</span>
            </button>
          );
        })}
        {items.length > limit && <button onClick={() => setLimit(limit + itemsAtOnce)}>{t("run.more_items", { n: items.length - limit })}</button>}
      </div>
    </details>
  );
}

const useStep = (run: string, step: string, version: string) =>
  useLoad((signal) => api.get("/api/v1/runs/{id}/steps/{step}", { path: { id: run, step }, signal }), [run, step, version]);

function Output({ run, step, version }: { run: string; step: StepState; version: string }) {
  const t = useText();
  const detail = useStep(run, step.id, version);
  if (step.state === "running" && step.text) return <pre className="block" aria-live="polite">{step.text}<span className="cursor" aria-hidden="true">▍</span></pre>;
  if (!detail.data && detail.error) return <ErrorBox error={detail.error} retry={detail.reload} />;
  if (!detail.data) return <Loading />;
  const output = detail.data.output;
  if (output === undefined || output === null) return <Empty title={t(step.state === "waiting" ? "run.output_waiting" : step.state === "failed" ? "run.output_failed" : "run.output_none")} />;
  const { text, rest } = splitText(output);
  const rounds = roundsOf(output);
  if (rounds) {
    return (
      <>
        {text && <pre className="block">{text}</pre>}
        <h3>{t("run.rounds")}</h3>
        <Rounds rounds={rounds} />
        <details><summary>{t("run.output_whole")}</summary><pre className="block json" tabIndex={0}>{formatJSON(rest)}</pre></details>
      </>
    );
  }
  return (
    <>
      {text !== undefined && <pre className="block">{text}</pre>}
      {rest !== undefined && <pre className="block json">{formatJSON(rest)}</pre>}
    </>
  );
}

/** An output that has a text shows it as people read it, before the rest. */
function splitText(output: unknown): { text?: string; rest?: unknown } {
  if (typeof output === "string") return { text: output };
  if (typeof output !== "object" || !output || Array.isArray(output)) return { rest: output };
  const { text, ...rest } = output as Record<string, unknown>;
  if (typeof text !== "string") return { rest: output };
  return { text, rest: Object.keys(rest).length ? rest : undefined };
}

function Input({ run, step, version }: { run: string; step: string; version: string }) {
  const t = useText();
  const detail = useStep(run, step, version);
  if (!detail.data && detail.error) return <ErrorBox error={detail.error} retry={detail.reload} />;
  if (!detail.data) return <Loading />;
  const { params, input, answers } = detail.data;
  const parts: [string, unknown][] = [[t("run.params"), params], [t("run.input"), input], [t("run.answers"), answers]];
  const shown = parts.filter(([, v]) => v !== undefined && v !== null);
  if (!shown.length) return <Empty title={t("run.input_none")} />;
  return <>{shown.map(([title, v]) => <section key={title}><h3>{title}</h3><pre className="block json">{formatJSON(v)}</pre></section>)}</>;
}

function Events({ step, events }: { step: string; events: RunEvent[] }) {
  const t = useText();
  const own = useMemo(() => events.filter((e) => stepOf(e) === step), [events, step, events.length]);
  if (!own.length) return <Empty title={t("run.events_none")} />;
  return (
    <div className="log-box step-events" tabIndex={0} role="region" aria-label={t("run.tab_events")}>
      <VList data={own}>
        {(e) => (
          <div key={e.seq} className="log-line short">
            <span className="log-seq">{e.seq}</span>
            <time dateTime={e.time}>{formatClock(e.time)}</time>
            <span className="log-type">{e.type}</span>
            <span className="log-text">{textOf(e, t)}</span>
          </div>
        )}
      </VList>
    </div>
  );
}
