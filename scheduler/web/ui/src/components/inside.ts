import type { Schemas } from "../api/client.ts";

type GraphData = Schemas["Graph"];

/** Returns a step without the number of its item. */
export const stepOfItem = (path: string) => path.replace(/\[\d+\]$/, "");

/** Returns the flow that a step runs, by its path; undefined where it is not known before the run. */
export function flowInside(graph: GraphData, inside: string): GraphData | undefined {
  let found: GraphData | undefined = graph;
  for (const name of inside ? inside.split("/") : []) found = found?.nodes?.find((n) => n.id === stepOfItem(name))?.sub;
  return found;
}

/** Returns the innermost flow that is known and has a step: its path as Graph takes it. */
export function flowAround(graph: GraphData, step: string): string {
  const names = step.split("/").slice(0, -1);
  while (names.length && !flowInside(graph, names.join("/"))) names.pop();
  return names.join("/");
}
