import type { RJSFSchema } from "@rjsf/utils";

// Patterns are Go's (RE2). Checked here are those alone that mean the same in JavaScript, and whose time is bounded: a row of
// single characters and classes, of which at most two repeat without a bound, between ^ and $. The server checks all others.

const character = String.raw`[A-Za-z0-9 _@#%&=:;,<>!~"'` + "`-]";
const escaped = String.raw`\\[dDwW.^$*+?()[\]{}|\\/]`;
const classOf = String.raw`\[\^?(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 _.@#%+*,:;=]|\\[dw\-\]\\.])+-?\]`;
const times = String.raw`(?:[?*+]|\{\d{1,3}(?:,\d{0,3})?\})?`;
const simple = new RegExp(`^\\^?(?:(?:${character}|${escaped}|${classOf})${times})*\\$?$`);
const unbounded = /(?<!\\)[*+]|\{\d+,\}/g;
const longest = 200;

/** Reports whether a pattern is checked in the browser. */
export function isSafePattern(pattern: string): boolean {
  if (pattern.length > longest || !simple.test(pattern)) return false;
  const outside = pattern.replace(/\[(?:\\.|[^\]\\])*\]/g, "x");
  if ((outside.match(unbounded) ?? []).length > 2) return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** Returns a schema without what the server alone checks: the other patterns, and formats, which it reads in more ways. */
export function checkedHere<T extends RJSFSchema | boolean>(schema: T): T {
  return withoutUnsafe(schema) as T;
}

function withoutUnsafe(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutUnsafe);
  if (typeof node !== "object" || !node) return node;
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    const isText = typeof value === "string";
    if (isText && key === "format") continue;
    if (isText && key === "pattern" && !isSafePattern(value)) continue;
    if (key === "patternProperties" && Object.keys(value as object).some((one) => !isSafePattern(one))) continue;
    kept[key] = key === "enum" || key === "const" || key === "default" || key === "examples" ? value : withoutUnsafe(value);
  }
  return kept;
}
