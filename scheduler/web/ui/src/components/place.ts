import dagre from "@dagrejs/dagre";
import type { LayoutAnswer, LayoutRequest } from "./graph.tsx";

type Point = { x: number; y: number };
type Box = LayoutRequest["nodes"][number];

const gapX = 18;
const gapY = 34;
// A chain that is longer goes on in a further column.
const shortestColumn = 24;

/** Chain is steps that follow each other alone. It is placed as one box, whose columns its steps fill. */
interface Chain {
  boxes: Box[];
  rows: number;
  width: number;
  height: number;
}

/** Places the nodes and edges of a graph. Chains are taken together: that is faster, and shows long ones in columns. */
export function placeGraph({ id, nodes, edges }: LayoutRequest): LayoutAnswer {
  const chains = findChains(nodes, edges);
  const chainOf = new Map(chains.flatMap((c, i) => c.boxes.map((b) => [b.id, i] as const)));
  const outer = edges.filter((e) => chainOf.get(e.from) !== chainOf.get(e.to));
  const placed = placeChains(chains, outer.map((e) => ({ from: chainOf.get(e.from)!, to: chainOf.get(e.to)! })));
  const places = new Map<string, Point>();
  chains.forEach((chain, i) => fillChain(chain, placed.places[i]!, places));
  const sizes = new Map(nodes.map((n) => [n.id, n]));
  const lineOf = (from: string, to: string): Point[] => {
    const a = bottomOf(places.get(from)!, sizes.get(from)!);
    const b = topOf(places.get(to)!, sizes.get(to)!);
    if (a.y < b.y) return [a, b];
    const x = (a.x + b.x) / 2; // to the next column
    return [a, { x: a.x, y: a.y + gapY / 2 }, { x, y: a.y + gapY / 2 }, { x, y: b.y - gapY / 2 }, { x: b.x, y: b.y - gapY / 2 }, b];
  };
  const lines = new Map(outer.map((e, i) => [e, joinEnds(placed.lines[i]!, bottomOf(places.get(e.from)!, sizes.get(e.from)!), topOf(places.get(e.to)!, sizes.get(e.to)!))]));
  return {
    id, width: placed.width, height: placed.height,
    places: nodes.map((n) => places.get(n.id)!),
    lines: edges.map((e) => lines.get(e) ?? lineOf(e.from, e.to)),
  };
}

const topOf = (p: Point, box: Box): Point => ({ x: p.x + box.width / 2, y: p.y });
const bottomOf = (p: Point, box: Box): Point => ({ x: p.x + box.width / 2, y: p.y + box.height });

/** A line between chains ends at the nodes, not at the boxes of their chains. */
function joinEnds(points: Point[], from: Point, to: Point): Point[] {
  return [from, ...points.slice(1, -1), to];
}

/** Finds the chains: runs of nodes of which each has one successor, which has no other predecessor. */
export function findChains(nodes: Box[], edges: { from: string; to: string }[]): Chain[] {
  const next = new Map<string, string[]>();
  const before = new Map<string, string[]>();
  for (const e of edges) {
    next.set(e.from, [...(next.get(e.from) ?? []), e.to]);
    before.set(e.to, [...(before.get(e.to) ?? []), e.from]);
  }
  const onlyNext = (id: string) => {
    const [to, ...others] = next.get(id) ?? [];
    return to !== undefined && !others.length && before.get(to)!.length === 1 ? to : undefined;
  };
  const inside = new Set(nodes.map((n) => onlyNext(n.id)));
  const byID = new Map(nodes.map((n) => [n.id, n]));
  return nodes.filter((n) => !inside.has(n.id)).map((head) => {
    const boxes = [head];
    for (let id = onlyNext(head.id); id !== undefined; id = onlyNext(id)) boxes.push(byID.get(id)!);
    const rows = Math.max(shortestColumn, Math.ceil(Math.sqrt(boxes.length) * 1.4));
    const columns = Math.ceil(boxes.length / rows);
    const width = Math.max(...boxes.map((b) => b.width));
    let height = 0;
    for (let i = 0; i < columns; i++) {
      height = Math.max(height, boxes.slice(i * rows, (i + 1) * rows).reduce((sum, b) => sum + b.height + gapY, -gapY));
    }
    return { boxes, rows, width: columns * (width + gapX) - gapX, height };
  });
}

/** Places the steps of a chain in its box, column by column. */
function fillChain(chain: Chain, at: Point, places: Map<string, Point>) {
  const columns = Math.ceil(chain.boxes.length / chain.rows);
  const step = (chain.width + gapX) / columns;
  let y = 0;
  chain.boxes.forEach((box, i) => {
    if (i % chain.rows === 0) y = 0;
    places.set(box.id, { x: at.x + Math.floor(i / chain.rows) * step, y: at.y + y });
    y += box.height + gapY;
  });
}

interface Placed {
  places: Point[];
  lines: Point[][];
  width: number;
  height: number;
}

/** Places the boxes of chains by dagre; where a graph is too deep for it, rank by rank. */
function placeChains(chains: Chain[], edges: { from: number; to: number }[]): Placed {
  try {
    return placeByDagre(chains, edges);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return placeByRank(chains, edges);
  }
}

function placeByDagre(chains: Chain[], edges: { from: number; to: number }[]): Placed {
  const g = new dagre.graphlib.Graph({ multigraph: true });
  g.setGraph({ rankdir: "TB", nodesep: gapX, ranksep: gapY, marginx: 8, marginy: 8, ranker: chains.length > 200 ? "longest-path" : "network-simplex" });
  chains.forEach((c, i) => g.setNode(String(i), { width: c.width, height: c.height }));
  edges.forEach((e, i) => g.setEdge(String(e.from), String(e.to), {}, String(i)));
  dagre.layout(g);
  const graph = g.graph() as { width?: number; height?: number };
  return {
    places: chains.map((c, i) => {
      const at = g.node(String(i)) as Point;
      return { x: at.x - c.width / 2, y: at.y - c.height / 2 };
    }),
    lines: edges.map((e, i) => (g.edge(String(e.from), String(e.to), String(i)) as { points: Point[] }).points),
    width: graph.width ?? 0, height: graph.height ?? 0,
  };
}

/** Each box stands below all that lead to it, in the order of the flow. */
export function placeByRank(chains: Chain[], edges: { from: number; to: number }[]): Placed {
  const ranks = chains.map(() => 0);
  // The boxes are in the order of the flow, but a step may need one that stands below it.
  for (let changed = true, turns = 0; changed && turns <= chains.length; turns++) {
    changed = false;
    for (const e of edges) {
      if (ranks[e.to]! > ranks[e.from]!) continue;
      ranks[e.to] = ranks[e.from]! + 1;
      changed = true;
    }
  }
  const rows: { y: number; x: number; height: number }[] = [];
  chains.forEach((c, i) => {
    const row = (rows[ranks[i]!] ??= { x: 8, y: 0, height: 0 });
    row.height = Math.max(row.height, c.height);
  });
  let y = 8;
  for (const row of rows) {
    row.y = y;
    y += row.height + gapY;
  }
  const places = chains.map((c, i) => {
    const row = rows[ranks[i]!]!;
    const at = { x: row.x, y: row.y };
    row.x += c.width + gapX;
    return at;
  });
  return { places, lines: edges.map(() => [{ x: 0, y: 0 }, { x: 0, y: 0 }]), width: Math.max(...rows.map((r) => r.x)), height: y };
}
