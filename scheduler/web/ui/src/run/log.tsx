import { memo, useEffect, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { formatClock } from "../format.ts";
import { useText } from "../i18n.ts";
import { stepOf, type RunEvent } from "./state.ts";

type Filter = "steps" | "all" | "failed" | "step";

/** The events of a run as lines. While it follows, the newest line stays in sight. */
export function Log({ events, version, selected, onSelect }: { events: RunEvent[]; version: number; selected?: string; onSelect(id: string): void }) {
  const t = useText();
  const [filter, setFilter] = useState<Filter>("steps");
  const [follow, setFollow] = useState(true);
  const list = useRef<VListHandle>(null);
  const shown = useMemo(
    () => (filter === "steps" ? stepLines(events) : events.filter((e) => isShown(e, filter, selected))),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [events, version, filter, selected],
  );
  useEffect(() => {
    if (follow && shown.length) list.current?.scrollToIndex(shown.length - 1, { align: "end" });
  }, [shown, follow]);
  return (
    <section className="log pane" aria-label={t("run.log")}>
      <div className="pane-head">
        <h2>{t("run.log")}</h2>
        <select aria-label={t("run.filter")} value={filter} onChange={(e) => setFilter(e.target.value as Filter)}>
          <option value="steps">{t("run.filter_steps")}</option>
          <option value="all">{t("run.filter_all")}</option>
          <option value="failed">{t("run.filter_failed")}</option>
          <option value="step" disabled={!selected}>{selected ? t("run.filter_of", { step: selected }) : t("run.filter_step")}</option>
        </select>
        <label className="check"><input type="checkbox" checked={follow} onChange={(e) => setFollow(e.target.checked)} /> {t("run.follow")}</label>
        <span className="hint">{t("run.events", { n: events.length })}</span>
      </div>
      <div className="log-box" role="log" aria-live="off" aria-label={t("run.log")} tabIndex={0} onWheel={(e) => e.deltaY < 0 && setFollow(false)}>
        <VList ref={list} data={shown}>{(e) => <Line key={e.seq} event={e} onSelect={onSelect} />}</VList>
      </div>
    </section>
  );
}

const lineTypes = /^(flow\.|step\.(waiting|answered|skipped|failed|finished|warning|child))/;

/** Returns the events that tell how the run and its steps ended, and the start of each step that goes on. */
function stepLines(events: RunEvent[]): RunEvent[] {
  const told = new Set<string>();
  const lines: RunEvent[] = [];
  for (const e of events.toReversed()) {
    const isStart = e.type === "step.started" && !told.has(stepOf(e));
    if (!isStart && !lineTypes.test(e.type)) continue;
    told.add(stepOf(e));
    lines.push(e);
  }
  return lines.reverse();
}

function isShown(e: RunEvent, filter: Filter, selected?: string): boolean {
  if (filter === "failed") return /failed|retrying|warning|cancelled/.test(e.type) || !!e.data?.error;
  if (filter !== "step" || !selected) return true;
  const id = stepOf(e);
  return id === selected || id.startsWith(selected + "/") || id.startsWith(selected + "[");
}

const Line = memo(function Line({ event: e, onSelect }: { event: RunEvent; onSelect(id: string): void }) {
  const t = useText();
  const step = stepOf(e);
  return (
    <div className="log-line" data-type={e.type} data-failed={!!e.data?.error || undefined}>
      <span className="log-seq">{e.seq}</span>
      <time dateTime={e.time}>{formatClock(e.time)}</time>
      <span className="log-type">{e.type}</span>
      {step ? <button className="link" tabIndex={-1} onClick={() => onSelect(step)}>{step}</button> : <span />}
      <span className="log-text">{textOf(e, t)}</span>
    </div>
  );
});

/** What an event says, in one line. */
export function textOf(e: RunEvent, t: ReturnType<typeof useText>): string {
  const d = e.data;
  if (!d) return "";
  const parts: string[] = [];
  if (d.error) parts.push(d.error.message, d.error.hint ?? "");
  else if (d.text !== undefined) parts.push(JSON.stringify(d.text));
  if (d.reason) parts.push(d.reason);
  if (d.delay_ms) parts.push(`+${d.delay_ms} ms`);
  if (d.duration_ms !== undefined) parts.push(`${Math.round(d.duration_ms * 10) / 10} ms`);
  if (d.usage) parts.push(t("run.in_and_out", { input: d.usage.input_tokens, output: d.usage.output_tokens }));
  if (d.llm?.model) parts.push(d.llm.model);
  if (d.answers) parts.push(JSON.stringify(d.answers));
  if (d.inputs) parts.push(JSON.stringify(d.inputs));
  if (d.waiting) parts.push(d.waiting.map((w) => w.step).join(", "));
  return parts.filter(Boolean).join(" · ").slice(0, 600);
}
