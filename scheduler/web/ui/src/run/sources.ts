import type { Schemas } from "../api/client.ts";
import type { Translate } from "../i18n.ts";

export type Source = Schemas["Source"];
export type Piece = Schemas["Piece"];

/** The kinds of sources that pieces are coloured and patterned by. */
export const kinds = ["flow", "input", "conversation", "computed", "file", "history", "lore", "memory", "skill", "model", "tool", "user", "frame"] as const;
export type Kind = (typeof kinds)[number];

const kindOfPart: Record<string, Kind> = {
  file: "file", history: "history", preset: "lore", world_book: "lore", memory: "memory", skill: "skill", skill_entry: "skill",
};
const kindOfOrigin: Record<string, Kind> = {
  flow: "flow", input: "input", name: "input", conversation: "conversation", computed: "computed", file: "file", model: "model", tool: "tool", memory: "memory",
  user: "user", clock: "computed", params: "flow", text: "frame", step: "frame",
};

/**
 * Returns the kind of a piece: that of its origin. What flow and files hold is told apart by
 * the part that it became: history, lore, memory or skill.
 */
export function kindOf(piece: Piece): Kind {
  const sources = piece.sources ?? [];
  const origin = sources[0];
  if (!origin) return "frame";
  const part = sources.find((s) => s.kind === "part");
  const ofPart = kindOfPart[part?.part ?? ""];
  if (origin.kind === "part") return origin.path || origin.part !== "file" ? ofPart ?? "frame" : "frame";
  if (ofPart && ofPart !== "file" && (origin.kind === "file" || origin.kind === "flow")) return ofPart;
  return kindOfOrigin[origin.kind] ?? "frame";
}

/** The tokens of pieces by their kind, the largest first. */
export function tokensByKind(pieces: Piece[]): { kind: Kind; tokens: number }[] {
  const sums = new Map<Kind, number>();
  for (const p of pieces) sums.set(kindOf(p), (sums.get(kindOf(p)) ?? 0) + p.tokens);
  return [...sums].map(([kind, tokens]) => ({ kind, tokens })).sort((a, b) => b.tokens - a.tokens);
}

/** A place in a file that a source names. */
export interface Place {
  path: string;
  line?: number;
  col?: number;
  /** The event whose text of the file is meant, where the flow was edited later. */
  seq?: number;
  /** What stands in the file from the byte start on, where the piece is a copy of it. */
  copy?: { start: number; text: string };
}

/** Returns the places of a source of a piece. */
export function placesOf(s: Source, piece: Piece): Place[] {
  const places: Place[] = [];
  const copy = s.start === undefined ? undefined : { start: s.start, text: piece.text };
  if (s.path) places.push({ path: s.path, line: s.path_line, col: s.path_col, seq: s.seq, copy });
  else if (s.kind === "file" && s.name) places.push({ path: s.name, seq: s.seq });
  if (s.file) places.push({ path: s.file, line: s.line, col: s.col, seq: s.seq });
  return places;
}

/** Returns the first place that a piece came from. */
export const placeOf = (piece: Piece): Place | undefined => (piece.sources ?? []).flatMap((s) => placesOf(s, piece))[0];

/** Reports whether a text of a file still has a place: of one that has changed, only a copy tells. */
export function holdsPlace(text: string, place: Place, isChanged: boolean): boolean {
  if (!place.copy || !isChanged) return !isChanged;
  const encoder = new TextEncoder();
  const copy = encoder.encode(place.copy.text);
  const there = encoder.encode(text).subarray(place.copy.start, place.copy.start + copy.length);
  return there.length === copy.length && there.every((byte, i) => byte === copy[i]);
}

export const shortPath = (path: string) => path.split("/").slice(-2).join("/");
export const placeText = (p: Place) => [shortPath(p.path), p.line, p.col].filter(Boolean).join(":");

/** Says what a source is, without its place. */
export function sourceText(s: Source, t: Translate): string {
  const maker = s.call ? `${s.step} (${s.call})` : s.step ?? "";
  switch (s.kind) {
    case "flow": return t("prompt.source_flow");
    case "computed": return t("prompt.source_computed", { name: s.name ? `{{ ${s.name} }}` : (s.from ?? []).join(", ") });
    case "file": return t("prompt.source_file");
    case "step": return maker;
    case "part": return `${maker}: ${s.part}${s.name && s.name !== s.part ? ` ${s.name}` : ""}`;
    case "model": return t("prompt.source_model");
    case "tool": return t("prompt.source_tool", { name: s.name ?? "" });
    case "memory": return t("prompt.source_memory", { name: s.name ?? "" });
    case "user": return t("prompt.source_user");
    case "text": return t("prompt.source_text", { name: s.name ?? "" });
    case "clock": return t("prompt.source_clock");
    case "params": return t("prompt.source_params", { name: s.name ?? "" });
  }
  return s.name ?? s.kind;
}

/** Names a piece by the place that its text began at: an input by its path, words of the flow and of files by file and line. */
export function nameOf(piece: Piece, t: Translate): string {
  const origin = piece.sources?.[0];
  if (!origin) return t("prompt.kind_frame");
  const place = placesOf(origin, piece)[0];
  const isQuoted = origin.kind === "flow" || origin.kind === "file" || (origin.kind === "part" && origin.path);
  return isQuoted && place ? placeText(place) : sourceText(origin, t);
}
