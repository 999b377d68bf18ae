import type { Schemas } from "../api/client.ts";

// The state of a run, as the server folds its events: each event has the part that it has changed. The page adds
// the streamed text and the times at which steps ran. Objects of steps are replaced, never changed, so that only
// those that changed are drawn again.

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
  change?: Change;
}

/** Change is the part of a run that an event has changed; see view=state of GET /runs/{id}/events. */
interface Change {
  state: RunStatus;
  /** Steps and items as they are now, items as steps of their own. */
  steps?: Schemas["StepState"][];
  /** Without a list, it is as before. */
  waiting?: WaitingFor[];
  warnings?: RunState["warnings"];
  usage?: Usage;
  outputs?: unknown;
  error?: ErrorInfo;
  reply?: string;
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
  /** The use of a call that a person decides about, and the decision once there is one. */
  approval?: Schemas["Approval"];
  decision?: Schemas["Decision"];
  items: string[];
  spans: Span[];
  /** What the step has streamed since its attempt began. */
  text: string;
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

export function newRunState(): RunState {
  return { state: "running", steps: new Map(), order: [], waiting: [], warnings: [], usage: noUsage(), lastSeq: 0, lastTime: 0, startTime: 0 };
}

function newStep(id: string): StepState {
  return { id, call: "", state: "pending", attempts: 0, duration_ms: 0, usage: noUsage(), items: [], spans: [], text: "" };
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
  if (e.type === "step.delta") changeStep(s, stepOf(e)).text += e.data?.text ?? "";
  const change = e.change;
  if (!change) return;
  for (const told of change.steps ?? []) applyStep(s, told, e.data?.delay_ms ?? 0);
  s.state = change.state;
  s.waiting = change.waiting ?? s.waiting;
  s.warnings = change.warnings ?? s.warnings;
  s.usage = change.usage ?? s.usage;
  s.outputs = change.outputs;
  s.error = change.error;
  s.reply = change.reply;
}

/** Lays a step as it is now over the one before. delay is how long it waits until its next try. */
function applyStep(s: RunState, told: Schemas["StepState"], delay: number) {
  const st = changeStep(s, told.id);
  const before = { state: st.state, attempts: st.attempts };
  st.error = st.reason = st.child = st.approval = st.decision = undefined; // those that are told are set again
  Object.assign(st, told, { items: st.items });
  const beginsAgain = st.state === "running" && (before.state !== "running" || st.attempts > before.attempts);
  if (beginsAgain) {
    st.text = "";
    closeSpans(st, s.lastTime, before.state === "running");
    openSpan(st, "run", s.lastTime + delay);
  } else if (st.state === "waiting") {
    if (before.state !== "waiting") openSpan(st, "wait", s.lastTime);
  } else if (st.state !== "running") {
    closeSpans(st, s.lastTime, !!st.error);
  }
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

function closeSpans(st: StepState, time: number, failed = false) {
  const last = st.spans.at(-1);
  if (last && last.to === undefined) st.spans = [...st.spans.slice(0, -1), { ...last, to: Math.max(time, last.from), failed: failed && last.kind === "run" }];
}

function openSpan(st: StepState, kind: Span["kind"], time: number) {
  closeSpans(st, time);
  st.spans = [...st.spans, { from: time, kind }];
}

/** The state in which a step is shown: one that failed never looks done, though the run went on. */
export function shownState(st: StepState, byID: ReadonlyMap<string, StepState>): StepStatus | "survived" {
  const hasFailed = !!st.error || st.items.some((item) => byID.get(item)?.error);
  return st.state === "finished" && hasFailed ? "survived" : st.state;
}

/** A step as GET /runs/{id} has it, without the text and the times, which its events tell. */
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
