import type { Span, StepState } from "./state.ts";

/** Fold is a stretch of time in which nothing ran, drawn as a mark. */
export interface Fold {
  from: number;
  to: number;
}

/** Scale places times of a run between 0 and 1, with long idle gaps folded. */
export interface Scale {
  at(time: number): number;
  folds: Fold[];
  start: number;
  end: number;
}

// A fold is as wide as this share of the whole line.
const foldShare = 0.04;
const shortestGap = 1000;

/** Returns the scale of a run: gaps without a running step that are long beside the work are folded. */
export function makeScale(steps: Iterable<StepState>, start: number, now: number): Scale {
  const busy = mergeSpans([...steps].flatMap((st) => st.spans).filter((sp) => sp.kind === "run"), now);
  const work = busy.reduce((n, sp) => n + sp.to - sp.from, 0);
  const limit = Math.max(shortestGap, work / 5);
  const folds: Fold[] = [];
  let before = start;
  for (const sp of [...busy, { from: now, to: now }]) {
    if (sp.from - before > limit) folds.push({ from: before, to: sp.from });
    before = Math.max(before, sp.to);
  }
  const end = Math.max(now, start + 1);
  const folded = folds.reduce((n, f) => n + f.to - f.from, 0);
  const open = Math.max(end - start - folded, 1);
  const forFolds = Math.min(folds.length * foldShare, 0.6);
  const each = folds.length ? forFolds / folds.length : 0;
  const at = (time: number) => {
    let plain = Math.min(Math.max(time, start), end) - start;
    let share = 0;
    for (const f of folds) {
      if (time <= f.from) break;
      const inside = Math.min(time, f.to) - f.from;
      plain -= inside;
      share += (each * inside) / (f.to - f.from);
    }
    return share + ((1 - forFolds) * plain) / open;
  };
  return { at, folds, start, end };
}

/** Returns the stretches in which any of the spans was. */
export function mergeSpans(spans: Span[], now: number): { from: number; to: number }[] {
  const merged: { from: number; to: number }[] = [];
  for (const sp of [...spans].sort((a, b) => a.from - b.from)) {
    const to = sp.to ?? Math.max(now, sp.from);
    const last = merged.at(-1);
    if (last && sp.from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from: sp.from, to });
  }
  return merged;
}
