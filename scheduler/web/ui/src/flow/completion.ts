import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";

/** Schema is the part of JSON Schema that flow.schema.json uses. */
export interface Schema {
  type?: string | string[];
  description?: string;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  if?: Schema;
  then?: Schema;
  else?: Schema;
}

/** Row is an entry of a mapping or a list in block style; one line may have several. */
interface Row {
  col: number;
  key?: string; // none for an item of a list, and for a value in brackets
  value: string;
  valueAt: number; // its offset in the text
}

/** Level is one step from the root of a text to a place in it. */
interface Level {
  key?: string; // none for a list
  values: Map<string, string>; // the entries of the mapping
}

/** Place is where a text can be completed: what is around it, and what is begun there. */
interface Place {
  levels: Level[];
  /** The entries of the mapping that a key is begun in; none where a value is begun. */
  siblings?: Map<string, string>;
}

const keyText = /^([\w-]+):(?=\s|$)\s*/;
const blockHeader = /^[|>][-+\d]*\s*(#.*)?$/;
const plain = (value: string) => value.replace(/\s+#.*$/, "").replace(/^["']|["']$/g, "").trim();

/** Reads the entries of a text. What a block scalar holds is left out. */
function rowsOf(text: string): Row[] {
  const rows: Row[] = [];
  let scalar = Infinity; // the column of the key whose text is in the lines below
  let start = 0;
  for (const line of text.split("\n")) {
    let col = line.search(/\S/);
    if (col >= 0 && col <= scalar && line[col] !== "#") {
      scalar = Infinity;
      for (let dash; (dash = /^-(?:\s+|$)/.exec(line.slice(col))); col += dash[0].length) rows.push({ col, value: "", valueAt: start + col });
      const rest = line.slice(col);
      const key = keyText.exec(rest);
      const value = rest.slice(key?.[0].length ?? 0);
      if (key || rest) rows.push({ col, key: key?.[1], value, valueAt: start + line.length - value.length });
      if (key && blockHeader.test(value)) scalar = col;
    }
    start += line.length + 1;
  }
  return rows;
}

const isItem = (row: Row) => row.key === undefined && row.value === "";

/** Returns the entries of the mapping in whose column the row stands. */
function entriesOf(rows: Row[], at: number, col: number): Map<string, string> {
  const found = new Map<string, string>();
  for (const step of [-1, 1]) {
    for (let i = step < 0 ? at : at + 1; i >= 0 && i < rows.length && rows[i]!.col >= col; i += step) {
      const { key, value, col: c } = rows[i]!;
      if (c === col && key !== undefined) found.set(key, plain(value));
    }
  }
  return found;
}

/** Returns the way from the root to what stands in a column after the row. */
function levelsTo(rows: Row[], at: number, col: number): Level[] {
  const levels: Level[] = [];
  for (let i = at; i >= 0; i--) {
    const row = rows[i]!;
    // A list may stand in the column of its key.
    const isParent = row.col < col || (row.col === col && row.key !== undefined && levels[0] !== undefined && levels[0].key === undefined);
    if (!isParent || (row.key === undefined && !isItem(row))) continue;
    levels.unshift({ key: row.key, values: isItem(row) ? new Map() : entriesOf(rows, i, row.col) });
    col = row.col;
  }
  return levels;
}

/** Reads a value in brackets up to the cursor, which is its end. */
function readBrackets(text: string): Place | undefined {
  const open: { isList: boolean; key?: string; values: Map<string, string> }[] = [];
  let token = "";
  for (const [piece] of text.matchAll(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|:(?=\s|$)|[{}[\],]|[^{}[\],"':]+|./g)) {
    const top = open.at(-1);
    if (/^[}\],]$/.test(piece)) {
      if (top?.key !== undefined) top.values.set(top.key, plain(token));
      if (piece !== ",") open.pop();
      else if (top) top.key = undefined;
      token = "";
    } else if (piece === ":") {
      if (top && !top.isList) top.key ??= plain(token);
      token = "";
    } else if (piece === "{" || piece === "[") {
      open.push({ isList: piece === "[", values: new Map() });
      token = "";
    } else token += piece;
  }
  const top = open.at(-1);
  if (!top || !/^\s*[\w.-]*$/.test(token)) return undefined;
  const isKey = !top.isList && top.key === undefined;
  const around = isKey ? open.slice(0, -1) : open;
  return { levels: around.map(({ isList, key, values }) => ({ key: isList ? undefined : key, values })), siblings: isKey ? top.values : undefined };
}

/**
 * Finds what surrounds an offset in the YAML of a flow. It knows mappings and lists by their
 * indents and in brackets on one line; anchors, and brackets over several lines, it leaves out.
 */
function placeAt(text: string, offset: number): Place | undefined {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const head = text.slice(start, offset);
  const rows = rowsOf(text);
  const above = rows.findLastIndex((row) => row.valueAt - row.col < start && row.valueAt <= start);
  const own = rows.findLastIndex((row) => row.valueAt >= start && row.valueAt <= offset && !isItem(row));
  const last = rows[above];
  if (last?.key !== undefined && blockHeader.test(last.value) && head.length > last.col) return undefined;
  const begun = /^( *(?:- +)*)([\w-]*)$/.exec(head);
  if (begun) {
    const col = begun[1]!.length;
    const at = Math.max(above, rows.findLastIndex((row) => isItem(row) && row.valueAt >= start && row.valueAt < offset));
    return { levels: levelsTo(rows, at, col), siblings: entriesOf(rows, at, col) };
  }
  const row = rows[own];
  if (!row) return undefined;
  const value = text.slice(row.valueAt, offset);
  const levels = levelsTo(rows, own - 1, row.col);
  if (row.key !== undefined) levels.push({ key: row.key, values: entriesOf(rows, own, row.col) });
  if (/^[[{]/.test(value)) {
    const inside = readBrackets(value);
    return inside && { ...inside, levels: [...levels, ...inside.levels] };
  }
  return row.key !== undefined && /^[\w.-]*$/.test(value) ? { levels } : undefined;
}

/** Returns the schema and all that it is made of where the values of an object are these. */
function expand(schema: Schema, values: Map<string, string>): Schema[] {
  const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  if (schema.if) {
    const fits = Object.entries(schema.if.properties ?? {}).every(([name, one]) => String(one.const) === values.get(name) || !!one.enum?.some((v) => String(v) === values.get(name)));
    const branch = fits ? schema.then : schema.else;
    if (branch) parts.push(branch);
  }
  return [schema, ...parts.flatMap((part) => expand(part, values))];
}

/** Returns what may stand at an offset of the text of a flow. */
export function completionsAt(root: Schema, text: string, offset: number): Completion[] {
  const place = placeAt(text, offset);
  if (!place) return [];
  const { levels, siblings } = place;
  let schemas = [root];
  for (const { key, values } of levels) {
    const all = schemas.flatMap((s) => expand(s, values));
    schemas = all.flatMap((s) => (key === undefined ? s.items : s.properties?.[key] ?? (typeof s.additionalProperties === "object" ? s.additionalProperties : undefined)) ?? []);
  }
  const found = new Map<string, Completion>();
  const add = (one: Completion) => found.has(one.label) || found.set(one.label, one);
  for (const s of schemas.flatMap((one) => expand(one, siblings ?? new Map()))) {
    if (siblings) {
      for (const [name, one] of Object.entries(s.properties ?? {})) {
        if (!siblings.has(name)) add({ label: name, type: "property", info: one.description, apply: `${name}: ` });
      }
      if (siblings.size > 0) continue; // else it may be an item that is no mapping, such as - main
    }
    const choices = [...(s.enum ?? []), ...(s.const === undefined ? [] : [s.const]), ...(s.type === "boolean" ? [true, false] : [])];
    for (const one of choices) add({ label: String(one), type: "constant", info: s.const === undefined ? undefined : s.description });
  }
  return [...found.values()];
}

/** Completes keys and values by the schema, which is loaded when it is first needed. */
export function schemaCompletion(load: () => Promise<Schema>): Extension {
  let schema: Promise<Schema> | undefined;
  const complete = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const word = context.matchBefore(/[\w.-]*/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    schema ??= load();
    const options = completionsAt(await schema.catch(() => ((schema = undefined), {})), context.state.doc.toString(), context.pos);
    return options.length ? { from: word.from, options, validFor: /^[\w.-]*$/ } : null;
  };
  return autocompletion({ override: [complete], icons: false });
}
