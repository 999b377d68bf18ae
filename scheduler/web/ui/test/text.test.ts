import { expect, test } from "@playwright/test";
import { readFileSync, readdirSync } from "node:fs";

type Texts = Record<string, Record<string, string>>;
const read = (language: string) => JSON.parse(readFileSync(`src/text/${language}.json`, "utf8")) as Texts;
const keysOf = (texts: Texts) => Object.entries(texts).flatMap(([screen, all]) => Object.keys(all).map((name) => `${screen}.${name}`));
const valuesOf = (text: string) => [...new Set([...text.matchAll(/\{(\w+)/g)].map((m) => m[1]))].sort();

test("both languages have the same texts, in the same order", () => {
  expect(keysOf(read("zh"))).toEqual(keysOf(read("en")));
});

test("both languages use the same values in a text", () => {
  const [en, zh] = [read("en"), read("zh")];
  for (const key of keysOf(en)) {
    const [screen, name] = key.split(".") as [string, string];
    expect(valuesOf(zh[screen]![name]!), key).toEqual(valuesOf(en[screen]![name]!));
  }
});

test("every text that the sources name is there, and each is named", () => {
  const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((f) => /\.tsx?$/.test(f))
    .map((f) => readFileSync(`src/${f}`, "utf8")).join("\n");
  const named = [...sources.matchAll(/\bt\("([\w.]+)"/g)].map((m) => m[1]!);
  const keys = keysOf(read("en"));
  expect(named.filter((name) => !keys.includes(name)), "unknown texts").toEqual([]);
  // A key that is put together, like state.${state}, names all that begin alike.
  const prefixes = [...sources.matchAll(/`(\w+\.\w*)\$\{/g)].map((m) => m[1]!);
  const unused = keys.filter((key) => !sources.includes(`"${key}"`) && !prefixes.some((p) => key.startsWith(p)));
  expect(unused, "texts that no source names").toEqual([]);
});
