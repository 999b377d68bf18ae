import { memo, useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { Schemas } from "../api/client.ts";
import { useText, type Key, type Translate } from "../i18n.ts";
import { stateSigns, type State } from "./common.tsx";
import "./graph.css";
import { flowInside, stepOfItem } from "./inside.ts";

type Node = Schemas["Node"];
type GraphData = Schemas["Graph"];
type Point = { x: number; y: number };

export interface LayoutRequest {
  id: number;
  nodes: { id: string; width: number; height: number }[];
  edges: { from: string; to: string }[];
}
export interface LayoutAnswer {
  id: number;
  width: number;
  height: number;
  places: Point[];
  lines: Point[][];
}

/** What is shown of a step in its node: its state, and those of its items. */
export interface NodeState {
  state: State;
  items?: State[];
  total?: number;
}

const nodeWidth = 168;
const nodeHeight = 44;
const gridHeight = 22;
const maxSquares = 60;
const leastZoom = 0.1;

let worker: Worker | undefined;
let requests = 0;

/** Asks the worker for the places of nodes and edges. */
function useLayout(nodes: Node[], edges: Schemas["Edge"][]): LayoutAnswer | undefined {
  const [answer, setAnswer] = useState<LayoutAnswer>();
  useEffect(() => {
    worker ??= new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    const id = ++requests;
    const known = new Set(nodes.map((n) => n.id));
    const request: LayoutRequest = {
      id,
      nodes: nodes.map((n) => ({ id: n.id, width: nodeWidth, height: n.for_each ? nodeHeight + gridHeight : nodeHeight })),
      edges: edges.filter((e) => known.has(e.from) && known.has(e.to)),
    };
    const take = (message: MessageEvent<LayoutAnswer>) => message.data.id === id && setAnswer(message.data);
    worker.addEventListener("message", take);
    worker.postMessage(request);
    return () => worker!.removeEventListener("message", take);
  }, [nodes, edges]);
  return answer?.places.length === nodes.length ? answer : undefined;
}

/** A node with its path in the whole run as its id, and the id that its own flow has for it. */
type PlacedNode = Node & { label: string };

function placeInside(graph: GraphData, inside: string): { nodes: PlacedNode[]; edges: Schemas["Edge"][] } {
  const place = (id: string) => (inside ? `${inside}/${id}` : id);
  return {
    nodes: (graph.nodes ?? []).map((n) => ({ ...n, id: place(n.id), label: n.id })),
    edges: (graph.edges ?? []).map((e) => ({ ...e, from: place(e.from), to: place(e.to) })),
  };
}

const noStates: ReadonlyMap<string, NodeState> = new Map();

/**
 * Graph draws the steps of a flow, or those of the flow that the step inside runs. One node
 * can have the focus; the arrow keys go to the next one in their direction, Enter chooses it.
 * A node whose step runs a flow opens it by a double click, or by the button below.
 */
export function Graph({ graph, inside, onInside, itemsOf, states = noStates, selected, onSelect, label }: {
  graph: GraphData;
  /** The path of a step: outer, each[2], outer/inner; "" for the flow itself. */
  inside: string;
  onInside(path: string): void;
  /** Returns the items that a step has, as a run knows them. */
  itemsOf?(path: string): string[];
  states?: ReadonlyMap<string, NodeState>;
  selected?: string;
  onSelect(id: string): void;
  label: string;
}) {
  const t = useText();
  const { nodes, edges } = useMemo(() => placeInside(flowInside(graph, inside) ?? graph, inside), [graph, inside]);
  const layout = useLayout(nodes, edges);
  const [zoom, setZoom] = useState(1);
  const [focused, setFocused] = useState<string>();
  const box = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const current = [focused, selected].find((id) => nodes.some((n) => n.id === id)) ?? nodes[0]?.id;
  const newest = useRef(onSelect);
  newest.current = onSelect;
  const choose = useMemo(() => (id: string) => {
    setFocused(id);
    newest.current(id);
  }, []);
  const fit = useCallback(() => {
    if (!layout || !box.current) return;
    const room = Math.min((box.current.clientWidth - 4) / layout.width, (box.current.clientHeight - 4) / layout.height);
    setZoom(Math.min(1, Math.max(leastZoom, room)));
  }, [layout]);
  useEffect(fit, [fit]);

  const move = (e: KeyboardEvent) => {
    const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[e.key];
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      if (current) choose(current);
    }
    if (!step || !layout) return;
    e.preventDefault();
    const at = nodes.findIndex((n) => n.id === current);
    const next = nearest(layout.places, at, step[0]!, step[1]!);
    if (next === undefined) return;
    setFocused(nodes[next]!.id);
    const g = svg.current!.querySelector<SVGGElement>(`[data-node="${CSS.escape(nodes[next]!.id)}"]`);
    g?.focus();
    g?.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const openable = nodes.find((n) => n.id === current && n.sub);
  const open = useCallback((id: string) => {
    onInside(itemsOf?.(id)[0] ?? id);
    box.current?.focus(); // the button that was pressed may be gone
  }, [onInside, itemsOf]);

  return (
    <div className="graph">
      {inside && <Trail graph={graph} inside={inside} onInside={onInside} itemsOf={itemsOf} />}
      <div className="graph-tools">
        {openable && <button className="quiet" onClick={() => open(openable.id)}>{t("graph.open", { flow: openable.sub!.flow })}</button>}
        <button className="quiet" onClick={() => setZoom((z) => Math.min(2, z * 1.25))} aria-label={t("graph.larger")}>＋</button>
        <button className="quiet" onClick={() => setZoom((z) => Math.max(leastZoom, z / 1.25))} aria-label={t("graph.smaller")}>－</button>
        <button className="quiet" onClick={fit} aria-label={t("graph.fit")} title={t("graph.fit")}>⤢</button>
      </div>
      <div className="graph-box" ref={box} tabIndex={-1}>
        {layout ? (
          <svg
            ref={svg} role="group" aria-label={label} onKeyDown={move} data-nodes={nodes.length}
            width={layout.width * zoom} height={layout.height * zoom} viewBox={`0 0 ${layout.width} ${layout.height}`}
          >
            <Lines lines={layout.lines} />
            {nodes.map((n, i) => (
              <NodeBox
                key={n.id} node={n} place={layout.places[i]!} state={states.get(n.id)} isSelected={n.id === selected}
                isCurrent={n.id === current} onSelect={choose} onOpen={open} t={t}
              />
            ))}
          </svg>
        ) : <p className="loading" role="status">{t("common.loading")}</p>}
      </div>
    </div>
  );
}

/** Returns the node that is nearest in a direction. */
function nearest(places: Point[], at: number, dx: number, dy: number): number | undefined {
  const from = places[at];
  if (!from) return undefined;
  let best: number | undefined;
  let least = Infinity;
  places.forEach((p, i) => {
    const along = (p.x - from.x) * dx + (p.y - from.y) * dy;
    const aside = Math.abs((p.x - from.x) * dy) + Math.abs((p.y - from.y) * dx);
    if (i === at || along <= 1) return;
    const cost = along + 2 * aside;
    if (cost < least) [best, least] = [i, cost];
  });
  return best;
}

const Lines = memo(function Lines({ lines }: { lines: Point[][] }) {
  const d = useMemo(() => lines.map(pathOf).join(""), [lines]);
  return (
    <g aria-hidden="true">
      <path className="graph-lines" d={d} />
      <path className="graph-heads" d={lines.map(headOf).join("")} />
    </g>
  );
});

/** A smooth line through the points. */
function pathOf(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let d = `M${first.x} ${first.y}`;
  rest.forEach((p, i) => {
    const next = rest[i + 1];
    d += next ? `Q${p.x} ${p.y} ${(p.x + next.x) / 2} ${(p.y + next.y) / 2}` : `L${p.x} ${p.y}`;
  });
  return d;
}

function headOf(points: Point[]): string {
  const end = points.at(-1);
  return end ? `M${end.x - 4} ${end.y - 6}L${end.x} ${end.y}L${end.x + 4} ${end.y - 6}Z` : "";
}

/** Trail tells which flow is shown, and leads back to those around it. */
function Trail({ graph, inside, onInside, itemsOf }: { graph: GraphData; inside: string; onInside(path: string): void; itemsOf?(path: string): string[] }) {
  const t = useText();
  const paths = inside.split("/").map((_, i, all) => all.slice(0, i + 1).join("/"));
  return (
    <nav className="graph-trail" aria-label={t("graph.trail")}>
      <button className="link" onClick={() => onInside("")}>{graph.flow}</button>
      {paths.map((path) => {
        const name = path.slice(path.lastIndexOf("/") + 1);
        const items = itemsOf?.(stepOfItem(path)) ?? [];
        return (
          <span key={path}>
            {" › "}
            {items.length > 1
              ? <select aria-label={t("graph.item", { step: stepOfItem(name) })} value={path} onChange={(e) => onInside(e.target.value)}>{items.map((id) => <option key={id} value={id}>{id.slice(id.lastIndexOf("/") + 1)}</option>)}</select>
              : <button className="link" aria-current={path === inside ? "true" : undefined} onClick={() => onInside(path)}>{name}</button>}
            {path === inside && <span className="hint"> {flowInside(graph, path)?.flow}</span>}
          </span>
        );
      })}
    </nav>
  );
}

const NodeBox = memo(function NodeBox({ node, place, state, isSelected, isCurrent, onSelect, onOpen, t }: {
  node: PlacedNode;
  place: Point;
  state?: NodeState;
  isSelected: boolean;
  isCurrent: boolean;
  onSelect(id: string): void;
  onOpen(id: string): void;
  t: Translate;
}) {
  const name = state ? t(`state.${state.state}` as Key) : "";
  const height = node.for_each ? nodeHeight + gridHeight : nodeHeight;
  const done = state?.items?.filter((one) => isOver(one)).length ?? 0;
  const count = state?.items?.length ? `${done}/${Math.max(state.total ?? 0, state.items.length)}` : "";
  return (
    <g
      className={`graph-node state-${state?.state ?? "none"}`} data-node={node.id} data-selected={isSelected || undefined}
      transform={`translate(${place.x} ${place.y})`} role="button" tabIndex={isCurrent ? 0 : -1} aria-pressed={isSelected}
      onClick={() => onSelect(node.id)} onDoubleClick={node.sub ? () => onOpen(node.id) : undefined}
    >
      {node.sub && <rect className="graph-below" x="4" y="4" width={nodeWidth} height={height} rx="6" />}
      <rect width={nodeWidth} height={height} rx="6" />
      <text x="10" y="18" className="graph-id">{shorten(node.label, 19)}</text>{" "}
      <text x="10" y="34" className="graph-call">{shorten(node.sub ? `${node.call}: ${node.sub.flow}` : node.call, 24)}</text>{" "}
      {state && (
        <text x={nodeWidth - 10} y="19" textAnchor="end" className="graph-sign">
          <tspan aria-hidden="true">{stateSigns[state.state]}</tspan><tspan className="graph-word"> {name} </tspan>
        </text>
      )}
      {node.for_each && (
        <>
          <Squares items={state?.items ?? []} />
          <text x={nodeWidth - 10} y="36" textAnchor="end" className="graph-call">{count || "▦"}</text>
        </>
      )}
    </g>
  );
});

/** Reports whether a step in a state does no more. */
const isOver = (state: State) => state === "finished" || state === "survived" || state === "skipped" || state === "failed";

/** The items of a step: a square each, or, of many, one for as many as stand side by side. */
function Squares({ items }: { items: State[] }) {
  const n = Math.min(items.length, maxSquares);
  const width = (nodeWidth - 20) / Math.max(n, 12);
  const squares = Array.from({ length: n }, (_, i) => {
    const some = items.slice(Math.floor((i * items.length) / n), Math.floor(((i + 1) * items.length) / n));
    return (["failed", "survived", "waiting", "running", "pending"] as const).find((one) => some.includes(one)) ?? some[0]!;
  });
  return (
    <g transform={`translate(10 ${nodeHeight})`}>
      {squares.map((state, i) => <rect key={i} className={`graph-item item-${state}`} x={i * width} width={Math.max(width - 1.5, 1)} height="12" rx="1.5" />)}
    </g>
  );
}

const shorten = (text: string, limit: number) => (text.length > limit ? text.slice(0, limit - 1) + "…" : text);
