import type { Schemas } from "../api/client.ts";

// The state of a run, rebuilt from its events: the same fold as the server's
// (scheduler/journal/run_state.go), to which the tests hold it. Objects of steps are
// replaced, never changed, so that only what changed is drawn again.

export type Usage = Schemas["Usage"];
export type ErrorInfo = Schemas["ErrorInfo"];
export type StepStatus = "pending" | "running" | "waiting" | "skipped" | "failed" | "cancelled" | "finished";
export type RunStatus = "running" | "waiting" | "failed" | "cancelled" | "finished";
export type WaitingFor = Schemas["WaitingFor"];

export interface RunEvent {
  seq: number;
  time: string;
  run: string;
  type: string;
  step?: string;
  index?: number;
  data?: Partial<Schemas["Data"]>;
}

/** Span is a stretch of a step's time: it ran, or waited for values. */
export interface Span {
  from: number;
  to?: number;
  kind: "run" | "wait";
  failed?: boolean;
}

export interface StepState {
  id: string;
  call: string;
  state: StepStatus;
  attempts: number;
  duration_ms: number;
  usage: Usage;
  error?: ErrorInfo;
  reason?: string;
  /** The run of its own that the step waits for. */
  child?: string;
  items: string[];
  spans: Span[];
  /** What the step has streamed since its attempt began. */
  text: string;
  // What decides whether a start counts as an attempt, and what is charged twice.
  waited: boolean;
  asked: boolean;
  hasNewAnswers: boolean;
  inside: Usage;
}

export interface RunState {
  state: RunStatus;
  steps: Map<string, StepState>;
  /** The ids of steps in the order in which they came up, items not among them. */
  order: string[];
  waiting: WaitingFor[];
  outputs?: unknown;
  error?: ErrorInfo;
  reply?: string;
  warnings: { step: string; code: string; text: string; source?: string }[];
  usage: Usage;
  lastSeq: number;
  lastTime: number;
  startTime: number;
}

const noUsage = (): Usage => ({ input_tokens: 0, output_tokens: 0 });
const usageKeys = ["input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "cost"] as const;

export function newRunState(): RunState {
  return { state: "running", steps: new Map(), order: [], waiting: [], warnings: [], usage: noUsage(), lastSeq: 0, lastTime: 0, startTime: 0 };
}

function newStep(id: string): StepState {
  return { id, call: "", state: "pending", attempts: 0, duration_ms: 0, usage: noUsage(), items: [], spans: [], text: "", waited: false, asked: false, hasNewAnswers: false, inside: noUsage() };
}

function addUsage(a: Usage, b: Usage): Usage {
  const sum = { ...a };
  for (const key of usageKeys) {
    const n = (a[key] ?? 0) + (b[key] ?? 0);
    if (n || key in a) sum[key] = n;
  }
  return sum;
}

function minusUsage(a: Usage, b: Usage): Usage {
  const rest = noUsage();
  for (const key of usageKeys) {
    const n = Math.max((a[key] ?? 0) - (b[key] ?? 0), 0);
    if (n) rest[key] = n;
  }
  return rest;
}

/** Returns the id of what a step or item runs in: outer/inner is in outer, each[2] in each; "" for none. */
export function outerOf(id: string): string {
  const at = id.endsWith("]") ? id.lastIndexOf("[") : id.lastIndexOf("/");
  return at < 0 ? "" : id.slice(0, at);
}

export const stepOf = (e: RunEvent): string => (e.index === undefined ? e.step ?? "" : `${e.step}[${e.index}]`);

/** Takes the next event of the run. The state is changed, its steps are replaced. */
export function addEvent(s: RunState, e: RunEvent): void {
  if (e.seq <= s.lastSeq) return;
  s.lastSeq = e.seq;
  s.lastTime = Date.parse(e.time);
  s.startTime ||= s.lastTime;
  s.state = stateAfter(s.state, e.type);
  const data = e.data ?? {};
  if (!e.step) {
    addFlowEvent(s, e.type, data);
    return;
  }
  const st = changeStep(s, stepOf(e));
  addStepEvent(s, st, e.type, data);
  addWarning(s, st.id, e.type, data);
  charge(s, st, data.usage);
  if (e.type === "step.waiting") {
    stopWaiting(s, st.id);
    s.waiting = [...s.waiting, { step: st.id, remaining_schema: data.remaining_schema }];
  } else if (st.state !== "waiting") {
    stopWaiting(s, st.id);
  }
}

function stateAfter(state: RunStatus, type: string): RunStatus {
  switch (type) {
    case "flow.waiting": return "waiting";
    case "flow.failed": return "failed";
    case "flow.cancelled": return "cancelled";
    case "flow.finished": return "finished";
    case "step.answered": return state;
  }
  return "running";
}

/** Returns a fresh copy of a step, in its place; the step is made where it is new. */
function changeStep(s: RunState, id: string): StepState {
  const old = s.steps.get(id);
  const st = old ? { ...old } : newStep(id);
  s.steps.set(id, st);
  if (old) return st;
  if (!id.endsWith("]")) {
    s.order.push(id);
    return st;
  }
  const whole = changeStep(s, outerOf(id));
  whole.items = [...whole.items, id];
  return st;
}

function changeAll(s: RunState, fits: (st: StepState) => boolean, change: (st: StepState) => void) {
  for (const st of [...s.steps.values()]) {
    if (fits(st)) change(changeStep(s, st.id));
  }
}

function addFlowEvent(s: RunState, type: string, data: Partial<Schemas["Data"]>) {
  switch (type) {
    case "flow.resumed":
      s.error = undefined;
      s.reply = undefined;
      // What waits of itself still does; a step around it goes on.
      changeAll(s, (st) => st.state === "running" || (st.state === "waiting" && !st.asked), (st) => {
        st.state = "pending";
        closeSpans(st, s.lastTime);
      });
      break;
    case "flow.waiting": {
      changeAll(s, () => true, (st) => {
        if (st.state === "running") {
          st.state = "waiting";
          openSpan(st, "wait", s.lastTime);
        }
        st.waited = st.state === "waiting";
      });
      const told = data.waiting ?? [];
      if (told.length) {
        s.waiting = s.waiting.filter((w) => told.some((one) => one.step === w.step)).map((w) => ({ ...w, ...told.find((one) => one.step === w.step) }));
      }
      break;
    }
    case "flow.failed":
      s.error = data.error;
      s.reply = data.text;
      cancelRunning(s);
      break;
    case "flow.cancelled":
      cancelRunning(s);
      break;
    case "flow.finished":
      s.waiting = [];
      s.outputs = data.outputs;
      break;
  }
  if (data.usage) s.usage = data.usage;
}

function cancelRunning(s: RunState) {
  changeAll(s, (st) => st.state === "running", (st) => {
    st.state = "cancelled";
    closeSpans(st, s.lastTime);
  });
}

function addStepEvent(s: RunState, st: StepState, type: string, data: Partial<Schemas["Data"]>) {
  switch (type) {
    case "step.ready":
      st.state = "pending";
      break;
    case "step.started":
      st.state = "running";
      st.call = data.call ?? "";
      st.error = undefined;
      st.inside = noUsage();
      st.text = "";
      if (!st.waited || st.hasNewAnswers) st.attempts++;
      st.waited = false;
      openSpan(st, "run", s.lastTime);
      break;
    case "step.child":
      st.child = data.child?.run;
      break;
    case "step.delta":
      st.text += data.text ?? "";
      break;
    case "step.retrying":
      st.attempts++;
      st.text = "";
      closeSpans(st, s.lastTime, true);
      openSpan(st, "run", s.lastTime + (data.delay_ms ?? 0));
      break;
    case "step.waiting":
      st.state = "waiting";
      st.hasNewAnswers = false;
      st.waited = true;
      st.asked = true;
      tookTime(st, data);
      openSpan(st, "wait", s.lastTime);
      break;
    case "step.answered":
      if (data.message) st.hasNewAnswers = true;
      if (Object.keys((data.answers as object | undefined) ?? {}).some((pointer) => !isMasked(pointer, data.masked ?? []))) st.hasNewAnswers = true;
      break;
    case "step.skipped":
      st.state = "skipped";
      st.reason = data.reason;
      break;
    case "step.failed":
      st.error = data.error;
      st.state = data.error?.kind === "canceled" ? "cancelled" : "failed";
      tookTime(st, data);
      closeSpans(st, s.lastTime, true);
      break;
    case "step.finished":
      st.state = "finished";
      st.error = data.error;
      tookTime(st, data);
      closeSpans(st, s.lastTime, !!data.error);
      break;
  }
}

/** Reports whether a secret was taken out of an answer. */
function isMasked(pointer: string, masked: string[]): boolean {
  const at = "/" + pointer.replaceAll("~", "~0").replaceAll("/", "~1");
  return masked.some((m) => m === "" || m === at || m.startsWith(at + "/"));
}

function tookTime(st: StepState, data: Partial<Schemas["Data"]>) {
  if (data.duration_ms !== undefined) st.duration_ms = data.duration_ms;
}

function closeSpans(st: StepState, time: number, failed = false) {
  const last = st.spans.at(-1);
  if (last && last.to === undefined) st.spans = [...st.spans.slice(0, -1), { ...last, to: Math.max(time, last.from), failed: failed && last.kind === "run" }];
}

function openSpan(st: StepState, kind: Span["kind"], time: number) {
  closeSpans(st, time);
  st.spans = [...st.spans, { from: time, kind }];
}

function stopWaiting(s: RunState, id: string) {
  if (s.waiting.some((w) => w.step === id)) s.waiting = s.waiting.filter((w) => w.step !== id);
}

/** Keeps the warnings of a step until it begins again. */
function addWarning(s: RunState, step: string, type: string, data: Partial<Schemas["Data"]>) {
  if (type === "step.warning") {
    s.warnings = [...s.warnings, { step, code: data.code ?? "", text: data.text ?? "", ...(data.source ? { source: data.source } : {}) }];
  } else if (type === "step.finished" && data.error) { // on_error: continue
    s.warnings = [...s.warnings, { step, code: "failed", text: data.error.message, ...(data.error.position ? { source: data.error.position } : {}) }];
  } else if ((type === "step.started" || type === "step.retrying") && s.warnings.some((w) => w.step === step)) {
    s.warnings = s.warnings.filter((w) => w.step !== step);
  }
}

/** Counts what a step says it has spent, for the step and all around it. */
function charge(s: RunState, st: StepState, told: Usage | undefined) {
  if (!told) return;
  const fresh = minusUsage(told, st.inside);
  st.inside = noUsage();
  st.usage = addUsage(st.usage, fresh);
  s.usage = addUsage(s.usage, fresh);
  for (let id = outerOf(st.id); id !== ""; id = outerOf(id)) {
    if (!s.steps.has(id)) continue;
    const outer = changeStep(s, id);
    outer.usage = addUsage(outer.usage, fresh);
    outer.inside = addUsage(outer.inside, fresh);
  }
}

/** The state in which a step is shown: one that failed never looks done, though the run went on. */
export function shownState(st: StepState, byID: ReadonlyMap<string, StepState>): StepStatus | "survived" {
  const hasFailed = !!st.error || st.items.some((item) => byID.get(item)?.error);
  return st.state === "finished" && hasFailed ? "survived" : st.state;
}

/** A step as GET /runs/{id} has it, with what only the fold knows left empty. */
export function stepFromServer(st: Schemas["StepState"]): StepState {
  return { ...newStep(st.id), ...st, state: st.state as StepStatus, items: (st.items ?? []).map((item) => item.id) };
}

/**
 * The steps in the order of the flow: declared ones first come, those inside another step
 * after it. Steps that the events have not reached are as the server has them.
 */
export function orderedSteps(s: RunState, declared: Schemas["StepState"][]): StepState[] {
  const all: StepState[] = [];
  const inside = new Map<string, string[]>();
  for (const id of s.order) {
    let outer = outerOf(id);
    while (outer && !s.steps.has(outer)) outer = outerOf(outer);
    const list = inside.get(outer);
    if (list) list.push(id);
    else inside.set(outer, [id]);
  }
  const calls = new Map(declared.map((d) => [d.id, d.call]));
  const add = (id: string) => {
    let st = s.steps.get(id)!;
    if (!st.call && calls.get(id)) s.steps.set(id, (st = { ...st, call: calls.get(id)! })); // one that was skipped
    all.push(st);
    inside.get(id)?.forEach(add);
    st.items.forEach((item) => inside.get(item)?.forEach(add));
  };
  const top = declared.filter((d) => !/[/[]/.test(d.id));
  for (const d of top) {
    if (s.steps.has(d.id)) add(d.id);
    else all.push(stepFromServer({ ...d, state: "pending" }));
  }
  if (!top.length) inside.get("")?.forEach(add);
  return all;
}
