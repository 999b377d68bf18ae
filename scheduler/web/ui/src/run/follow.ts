import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiError, api, type Schemas } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { publishRun, useFeed, useStream, type Message, type StreamState } from "../api/stream.ts";
import { addEvent, newRunState, orderedSteps, stepFromServer, type RunEvent, type RunState, type StepState } from "./state.ts";

/** FollowedRun is a run as far as it is known now. */
export interface FollowedRun {
  info?: Schemas["RunBody"];
  graph?: Schemas["Graph"];
  /** The state after the events that have come; it grows in place, version counts its changes. */
  state: RunState;
  version: number;
  events: RunEvent[];
  /** The steps of the flow in its order, and after each what ran inside it. */
  steps: StepState[];
  byID: ReadonlyMap<string, StepState>;
  stream: StreamState;
  error?: Error;
  /** Asks for the run again, and follows it again where it was over. */
  reload(): void;
}

/**
 * Follows a run. Its state is first shown as the server has it; meanwhile all its events
 * come, without their payloads and with the server's state of the run, and once they have caught up, the state that they tell is shown. So a
 * connection that broke, or a page that is loaded again, loses nothing.
 */
export function useRun(id: string): FollowedRun {
  const [version, setVersion] = useState(0);
  const [turn, setTurn] = useState(0);
  const run = useLoad((signal) => api.get("/api/v1/runs/{id}", { path: { id }, signal }), [id]);
  const graph = useLoad((signal) => loadGraph(id, signal), [id]);
  const fold = useRef({ id, state: newRunState(), events: [] as RunEvent[] });
  if (fold.current.id !== id) fold.current = { id, state: newRunState(), events: [] };
  const frame = useRef(0);
  const { reload } = run;
  const reloadGraph = graph.reload;
  const latest = useRef(run.data);
  latest.current = run.data;

  const take = useCallback((messages: Message[]) => {
    const { state, events } = fold.current;
    const seen = latest.current?.last_seq ?? 0;
    let changed = false;
    for (const m of messages) {
      if (m.name === "bye") continue;
      const e = JSON.parse(m.data) as RunEvent;
      if (e.seq <= state.lastSeq) continue;
      addEvent(state, e);
      events.push(e);
      changed ||= e.seq > seen && e.type.startsWith("flow.");
      // It may have another flow from here on, and the run may have been loaded after this event, its graph before.
      if (e.type === "flow.resumed") reloadGraph();
    }
    if (changed) {
      reload();
      if (latest.current) publishRun({ ...latest.current, state: state.state, last_seq: state.lastSeq });
    }
    frame.current ||= requestAnimationFrame(() => {
      frame.current = 0;
      setVersion((n) => n + 1);
    });
  }, [reload, reloadGraph]);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  const stream = useStream(run.data ? `/api/v1/runs/${id}/events?view=state` : "", String(fold.current.state.lastSeq || ""), take, { turn });
  // A run that was over may go on again, here or elsewhere; its stream has ended then.
  const restart = useCallback(() => {
    setTurn((n) => n + 1);
    reload();
  }, [reload]);
  useFeed((item) => item.run === id && item.last_seq > fold.current.state.lastSeq && stream.state === "ended" && restart(), () => {});

  const { state, events } = fold.current;
  const info = run.data;
  const steps = useMemo(() => {
    if (!info) return [];
    return state.lastSeq >= info.last_seq ? orderedSteps(state, info.steps ?? []) : (info.steps ?? []).map(stepFromServer);
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [info, state, version]);
  const byID = useMemo(() => new Map([...state.steps, ...steps.map((st) => [st.id, st] as const)]), [steps, state]);
  return { info, graph: graph.data ?? undefined, state, version, events, steps, byID, stream: stream.state, error: run.error ?? stream.error, reload: restart };
}

/** Loads the graph of a run; null where its flow cannot be read any more. */
async function loadGraph(id: string, signal: AbortSignal): Promise<Schemas["Graph"] | null> {
  try {
    return await api.get("/api/v1/runs/{id}/graph", { path: { id }, signal });
  } catch (error) {
    if (error instanceof ApiError && error.problem.status === 404) return null;
    throw error;
  }
}

/** Reports whether the run waits as far as is known; between an answer and the first event it does not. */
export function isWaiting(run: FollowedRun): boolean {
  return run.info!.state === "waiting" && (run.state.lastSeq <= run.info!.last_seq || run.state.state === "waiting");
}
