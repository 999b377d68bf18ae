import { memo, useMemo, useRef, type ReactElement, type ReactNode } from "react";
import { Virtualizer } from "virtua";
import { StateBadge, type State } from "../components/common.tsx";
import { formatDuration, formatNumber } from "../format.ts";
import { useText } from "../i18n.ts";
import { shownState, type StepState } from "./state.ts";
import { makeScale, type Scale } from "./timeline.ts";

/** Rows is a table in a box of its own height; only rows in sight are in the document. */
function Rows({ label, tracks, head, numbersFrom = Infinity, steps, children }: {
  label: string;
  /** The first column of numbers; those after it have numbers too. */
  numbersFrom?: number;
  tracks: string;
  head: ReactNode[];
  steps: StepState[];
  children(st: StepState, i: number): ReactElement;
}) {
  const box = useRef<HTMLDivElement>(null);
  return (
    <div className="rows" ref={box} tabIndex={0} role="region" aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={steps.length + 1} data-rows={steps.length}>
        <div role="rowgroup" className="rows-head">
          <div role="row" className="row" style={{ gridTemplateColumns: tracks }}>
            {head.map((title, i) => <div key={i} role="columnheader" data-align={i >= numbersFrom ? "end" : undefined}>{title}</div>)}
          </div>
        </div>
        <div role="rowgroup">
          <Virtualizer data={steps} scrollRef={box} startMargin={30}>{children}</Virtualizer>
        </div>
      </div>
    </div>
  );
}

const depthOf = (id: string) => Math.min(id.split(/[/[]/).length - 1, 4);

/** A step's name, which chooses it; what is inside a step is indented. */
export function StepButton({ id, selected, onSelect }: { id: string; selected: boolean; onSelect(id: string): void }) {
  return (
    <button className="link step-link" aria-pressed={selected} title={id} onClick={() => onSelect(id)} style={{ paddingInlineStart: `${depthOf(id) * 0.75}rem` }}>
      {id}
    </button>
  );
}

/** The table twin of the graph. */
export function StepTable({ steps, byID, selected, onSelect }: { steps: StepState[]; byID: ReadonlyMap<string, StepState>; selected?: string; onSelect(id: string): void }) {
  const t = useText();
  const tracks = "minmax(6rem, 1fr) 5.5rem 7rem 4.5rem 5rem 4.5rem";
  return (
    <Rows
      label={t("run.steps")} tracks={tracks} steps={steps} numbersFrom={3}
      head={[t("run.step"), t("run.call"), t("run.state"), t("run.attempts"), t("run.duration"), t("run.tokens")]}
    >
      {(st, i) => <StepRow key={st.id} step={st} state={shownState(st, byID)} index={i} tracks={tracks} isSelected={st.id === selected} onSelect={onSelect} />}
    </Rows>
  );
}

const StepRow = memo(function StepRow({ step, state, index, tracks, isSelected, onSelect }: {
  step: StepState;
  state: State;
  index: number;
  tracks: string;
  isSelected: boolean;
  onSelect(id: string): void;
}) {
  const tokens = step.usage.input_tokens + step.usage.output_tokens;
  return (
    <div role="row" aria-rowindex={index + 2} className="row" data-selected={isSelected || undefined} style={{ gridTemplateColumns: tracks }}>
      <div role="cell"><StepButton id={step.id} selected={isSelected} onSelect={onSelect} /></div>
      <div role="cell" className="hint">{step.call}</div>
      <div role="cell"><StateBadge state={state} /></div>
      <div role="cell" className="number">{step.attempts || ""}</div>
      <div role="cell" className="number">{step.duration_ms ? formatDuration(step.duration_ms) : ""}</div>
      <div role="cell" className="number">{tokens ? formatNumber(tokens) : ""}</div>
    </div>
  );
});

/** When each step ran and waited; long gaps in which nothing ran are folded. */
export function Timeline({ steps, start, now, selected, onSelect }: {
  steps: StepState[];
  start: number;
  now: number;
  selected?: string;
  onSelect(id: string): void;
}) {
  const t = useText();
  const scale = useMemo(() => makeScale(steps, start, now), [steps, start, now]);
  const rows = useMemo(() => steps.filter((st) => st.spans.length > 0), [steps]);
  const tracks = "minmax(5rem, 9rem) minmax(0, 1fr)";
  return (
    <Rows label={t("run.timeline")} tracks={tracks} steps={rows} head={[t("run.step"), <Axis key="axis" scale={scale} />]}>
      {(st, i) => (
        <div key={st.id} role="row" aria-rowindex={i + 2} className="row" data-selected={st.id === selected || undefined} style={{ gridTemplateColumns: tracks }}>
          <div role="cell"><StepButton id={st.id} selected={st.id === selected} onSelect={onSelect} /></div>
          <div role="cell" className="track"><Bars step={st} scale={scale} now={now} /></div>
        </div>
      )}
    </Rows>
  );
}

const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

/** The head of the timeline: how long all took, and what is folded. */
function Axis({ scale }: { scale: Scale }) {
  const t = useText();
  return (
    <div className="track axis">
      <span>0</span>
      {scale.folds.map((f) => (
        <span key={f.from} className="fold" style={{ left: percent((scale.at(f.from) + scale.at(f.to)) / 2) }} title={t("run.folded", { time: formatDuration(f.to - f.from) })}>
          ‖ {formatDuration(f.to - f.from)} ‖
        </span>
      ))}
      <span className="axis-end">{formatDuration(scale.end - scale.start)}</span>
    </div>
  );
}

function Bars({ step, scale, now }: { step: StepState; scale: Scale; now: number }) {
  const t = useText();
  const told = step.spans.map((sp) => `${sp.kind === "run" ? t("run.ran") : t("run.waited")} ${formatDuration((sp.to ?? now) - sp.from)}`).join(", ");
  return (
    <>
      <span className="sr">{told}</span>
      {scale.folds.map((f) => <span key={f.from} className="fold-band" style={{ left: percent(scale.at(f.from)), width: percent(scale.at(f.to) - scale.at(f.from)) }} />)}
      {step.spans.map((sp, i) => {
        const left = scale.at(sp.from);
        const kind = sp.kind === "wait" ? "wait" : sp.failed ? "failed" : sp.to === undefined ? "running" : "run";
        return (
          <span
            key={i} className={`bar-${kind} span-bar`} title={told} aria-hidden="true"
            style={{ left: `min(${percent(left)}, 100% - 3px)`, width: `max(3px, ${percent(scale.at(sp.to ?? now) - left)})` }}
          />
        );
      })}
    </>
  );
}
