import { useEffect, useRef, useState } from "react";
import { errorOf, fetchInLanguage, type Schemas } from "./client.ts";

/** Message is one server-sent event. */
export interface Message {
  id: string;
  name: string;
  data: string;
}

/** StreamState is how a stream stands: paused ones are below another one, or in a hidden tab. */
export type StreamState = "connecting" | "open" | "paused" | "ended";

interface Stream {
  url: string;
  lastID: string;
  ended: boolean;
  onMessages(messages: Message[]): void;
  /** Called when it is open and does not go on after an event that is known: what came before is not told. */
  onBegin(): void;
  onState(state: StreamState, error?: Error): void;
}

// A browser has six connections for a host, over all its tabs. So a tab has one stream: the
// one that was asked for last; those below it, and all of a hidden tab, are paused, and go
// on where they were.
const stack: Stream[] = [];
let open: { stream: Stream; abort: AbortController } | null = null;

function choose() {
  const wanted = document.visibilityState === "hidden" ? undefined : stack.findLast((s) => !s.ended);
  if (open?.stream === wanted) return;
  if (open) {
    open.abort.abort();
    if (!open.stream.ended) open.stream.onState("paused");
    open = null;
  }
  if (!wanted) return;
  const abort = new AbortController();
  open = { stream: wanted, abort };
  void follow(wanted, abort.signal);
}

document.addEventListener("visibilitychange", choose);

/** Reads a stream until it ends or is paused. */
async function follow(stream: Stream, signal: AbortSignal) {
  for (let failures = 0; !signal.aborted; failures++) {
    stream.onState("connecting");
    let wait = Math.min(500 * 2 ** failures, 15_000);
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (stream.lastID) headers["Last-Event-ID"] = stream.lastID;
      const response = await fetchInLanguage(stream.url, { headers, signal });
      if (response.status === 204) return end(stream);
      if (!response.ok) {
        const error = await errorOf(response);
        if (response.status < 500 && response.status !== 429) return end(stream, error);
        throw error;
      }
      stream.onState("open");
      if (!stream.lastID) stream.onBegin();
      for await (const messages of readMessages(response.body!)) {
        if (signal.aborted) return;
        failures = -1;
        wait = 500;
        stream.lastID = messages.findLast((m) => m.id)?.id ?? stream.lastID;
        stream.onMessages(messages.filter((m) => m.data));
      }
    } catch {
      // The connection broke, or was closed here: the loop knows which.
    }
    if (!signal.aborted) await pause(wait, signal);
  }
}

function end(stream: Stream, error?: Error) {
  stream.ended = true;
  stream.onState("ended", error);
  choose();
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/** Yields the events of a stream, those of one network packet together. */
export async function* readMessages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message[]> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop()!;
    const messages = blocks.map(parseMessage).filter((m) => m !== null);
    if (messages.length) yield messages;
  }
}

/** Reads one event, or an id alone, which has no data; null for a comment. */
function parseMessage(block: string): Message | null {
  const message: Message = { id: "", name: "message", data: "" };
  let hasData = false;
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") message.id = value;
    else if (field === "event") message.name = value;
    else if (field === "data") {
      message.data += hasData ? "\n" + value : value;
      hasData = true;
    }
  }
  return hasData || message.id ? message : null;
}

/**
 * Follows a stream while the component is mounted, from the event after lastID on. The
 * newest handler gets the messages. An empty url follows nothing. A background stream is
 * paused while the component of another one is mounted. Another turn follows one again that
 * has ended. onBegin is called when the stream is open and begins with what comes then.
 */
export function useStream(
  url: string, lastID: string, onMessages: (messages: Message[]) => void, { isBackground = false, turn = 0, onBegin = () => {} } = {},
): { state: StreamState; error?: Error } {
  const [state, setState] = useState<{ state: StreamState; error?: Error }>({ state: "connecting" });
  const handlers = useRef({ onMessages, onBegin });
  useEffect(() => {
    handlers.current = { onMessages, onBegin };
  });
  const start = useRef(lastID);
  start.current = lastID;
  useEffect(() => {
    if (!url) return;
    const stream: Stream = {
      url, lastID: start.current, ended: false,
      onMessages: (messages) => handlers.current.onMessages(messages),
      onBegin: () => handlers.current.onBegin(),
      onState: (state, error) => setState({ state, error }),
    };
    if (isBackground) stack.unshift(stream);
    else stack.push(stream);
    choose();
    return () => {
      stack.splice(stack.indexOf(stream), 1);
      choose();
    };
  }, [url, isBackground, turn]);
  return state;
}

type RunItem = Schemas["RunItem"];
type FeedListener = { onRun(item: RunItem): void; onReset(): void };
const feedListeners = new Set<FeedListener>();

/** Mounted once, by the frame of the page: follows the changes of all runs. */
export function useFeedSource(): StreamState {
  const reset = () => feedListeners.forEach((l) => l.onReset());
  return useStream("/api/v1/events", "", (messages) => {
    for (const m of messages) {
      if (m.name === "reset") reset();
      if (m.name !== "run") continue;
      publishRun(JSON.parse(m.data) as RunItem);
    }
  }, { isBackground: true, onBegin: reset }).state;
}

/** Tells who follows the feed of a change that came another way: while a run is shown, its own stream is open instead. */
export function publishRun(item: RunItem) {
  feedListeners.forEach((l) => l.onRun(item));
}

/**
 * Calls onRun when the state of a run changes, and onReset when changes may be lost: also when the
 * feed opens, for a list that was fetched before lacks what changed between.
 */
export function useFeed(onRun: (item: RunItem) => void, onReset: () => void) {
  const newest = useRef({ onRun, onReset });
  useEffect(() => {
    newest.current = { onRun, onReset };
  });
  useEffect(() => {
    const entry: FeedListener = { onRun: (item) => newest.current.onRun(item), onReset: () => newest.current.onReset() };
    feedListeners.add(entry);
    return () => void feedListeners.delete(entry);
  }, []);
}

/** How long changes are gathered before a list is loaded again, in ms. */
const gatherTime = 150;

/** Calls reload soon after changes of runs that concern a list, once for many that come together. */
export function useFreshList(reload: () => void, concerns: (item: RunItem) => boolean = () => true) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const newest = useRef(reload);
  useEffect(() => {
    newest.current = reload;
  });
  const gather = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      newest.current();
    }, gatherTime);
  };
  useFeed((item) => concerns(item) && gather(), gather);
  useEffect(() => () => clearTimeout(timer.current), []);
}
