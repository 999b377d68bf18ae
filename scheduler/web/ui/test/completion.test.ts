import { expect, test } from "@playwright/test";
import { readFileSync } from "node:fs";
import { completionsAt, type Schema } from "../src/flow/completion.ts";

const schema = JSON.parse(readFileSync("../../../configs/flow.schema.json", "utf8")) as Schema;

/** Returns what is offered at the sign | of a text. */
const offered = (text: string) => completionsAt(schema, text.replace("|", ""), text.indexOf("|")).map((one) => one.label);

test("keys of a flow, but for those that it has", () => {
  expect(offered("name: x\nde|\nsteps:\n  - id: a\n")).toEqual(expect.arrayContaining(["description", "defaults", "triggers"]));
  expect(offered("name: x\nde|\nsteps:\n  - id: a\n")).not.toContain("steps");
  expect(offered("name: x\n|")).toContain("steps");
  expect(offered("memory:\n  |")).toEqual(["user", "session", "sessions"]);
});

test("keys of a step, in each style", () => {
  for (const text of ["steps:\n  - id: a\n    ca|", "steps:\n- id: a\n  ca|", "steps:\n  - id: a\n    |\n    when: x\n", "steps:\n  - {id: a, ca|", "steps: [{id: a, ca|", "steps:\n  - ca|"]) {
    expect(offered(text), text).toEqual(expect.arrayContaining(["call", "needs", "retry"]));
  }
  expect(offered("steps:\n  - id: a\n    |\n    when: x\n")).not.toContain("when");
  expect(offered("steps:\n  - id: a\n    retry:\n      |")).toContain("max_attempts");
  expect(offered("steps:\n  - {id: a, retry: {|")).toContain("max_attempts");
});

test("parameters of the call that the step names, above or below", () => {
  for (const text of ["steps:\n  - id: a\n    call: chat\n    with:\n      |", "steps:\n  - id: a\n    with:\n      |\n    call: chat\n", "steps:\n  - {id: a, call: chat, with: {mo|"]) {
    expect(offered(text), text).toEqual(expect.arrayContaining(["messages", "temperature"]));
    expect(offered(text), text).not.toContain("current_schema");
  }
});

test("values that are few", () => {
  expect(offered("steps:\n  - id: a\n    call: ch|")).toEqual(expect.arrayContaining(["chat", "choice", "slot"]));
  expect(offered("steps:\n  - {id: a, call: ch|")).toContain("chat");
  expect(offered("steps:\n  - id: a\n    to_user: |")).toEqual(["true", "false"]);
  expect(offered("steps:\n  - id: a\n    on_missing: |")).toEqual(expect.arrayContaining(["ask", "fail", "return"]));
});

test("model providers, one or a list of them", () => {
  const names = { enum: ["main", "backup"] };
  const llm = { anyOf: [names, { type: "string" }, { type: "array", items: { anyOf: [names, { type: "string" }] } }] };
  const root: Schema = { properties: { llm, steps: { items: { properties: { llm } } } } };
  for (const text of ["llm: ma|", "llm: [ma|", "llm: [main, |]", "llm:\n  - |", "steps:\n  - llm: |", "steps:\n  - {llm: [main, b|"]) {
    expect(completionsAt(root, text.replace("|", ""), text.indexOf("|")).map((one) => one.label), text).toEqual(["main", "backup"]);
  }
});

test("nothing within texts", () => {
  for (const text of ["description: |\n  some te\u0000", "description: \"na\u0000", "description: >-\n  na\u0000", "# na\u0000", "name: x # na\u0000", "steps:\n  - {id: a, when: \"ca\u0000"]) {
    const at = text.indexOf("\u0000");
    expect(completionsAt(schema, text.replace("\u0000", ""), at), text).toEqual([]);
  }
});
