import { formatJSON } from "../format.ts";

/** Row is a parameter in the table of an approval. */
export interface Row {
  pointer: string;
  value: unknown;
  canChange: boolean;
}

/** Drafts are the texts of the fields, by the pointers of their parameters. */
export type Drafts = Record<string, string>;

export const textOfValue = (value: unknown): string => formatJSON(value);

const escapeToken = (token: string) => token.replaceAll("~", "~0").replaceAll("/", "~1");

/**
 * Returns the rows for parameters: a row for each value that may be changed, and for each other value that holds no further ones. For
 * example, {body: {amount: 20, tags: [1, 2]}} has the rows /body/amount and /body/tags.
 */
export function rowsOf(params: unknown, edit: string[]): Row[] {
  const rows: Row[] = [];
  const isAbove = (pointer: string) => edit.some((one) => one.startsWith(`${pointer}/`));
  const add = (pointer: string, value: unknown) => {
    const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
    const isPlainList = Array.isArray(value) && !isAbove(pointer) && value.every((one) => typeof one !== "object");
    if (edit.includes(pointer) || !members.length || isPlainList) {
      rows.push({ pointer, value, canChange: edit.includes(pointer) });
      return;
    }
    for (const [name, inner] of members) add(`${pointer}/${escapeToken(name)}`, inner);
  };
  add("", params);
  for (const pointer of edit) {
    if (!rows.some((row) => row.pointer === pointer)) rows.push({ pointer, value: undefined, canChange: true });
  }
  return rows.filter((row) => row.pointer || row.value !== undefined);
}

/** Returns the values that fields have changed, and the fields whose text is no value of the same kind. */
export function changedValues(rows: Row[], drafts: Drafts): { edits: Record<string, unknown>; faults: Record<string, "number" | "json"> } {
  const edits: Record<string, unknown> = {};
  const faults: Record<string, "number" | "json"> = {};
  for (const { pointer, value, canChange } of rows) {
    const text = drafts[pointer];
    if (!canChange || text === undefined || text === textOfValue(value)) continue;
    if (typeof value === "string") {
      edits[pointer] = text;
      continue;
    }
    const read = readJSON(text);
    const isNumber = typeof value === "number";
    if (value === undefined || value === null) edits[pointer] = read === undefined ? text : read;
    else if (read === undefined || (isNumber && typeof read !== "number")) faults[pointer] = isNumber ? "number" : "json";
    else edits[pointer] = read;
  }
  return { edits, faults };
}

function readJSON(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
