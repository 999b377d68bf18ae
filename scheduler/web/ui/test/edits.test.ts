import { expect, test } from "@playwright/test";
import { changedValues, rowsOf } from "../src/forms/edits.ts";

const params = { method: "POST", body: { amount: 150, "a/b": "x", tags: [1, 2], items: [{ id: 1 }], none: {} } };

test("each value of the parameters has a row, and the places that may be changed are marked", () => {
  const shown = (edit: string[]) => rowsOf(params, edit).map((row) => row.pointer + (row.canChange ? " *" : ""));
  const cases: { edit: string[]; rows: string[] }[] = [
    { edit: [], rows: ["/method", "/body/amount", "/body/a~1b", "/body/tags", "/body/items/0/id", "/body/none"] },
    { edit: ["/body/amount"], rows: ["/method", "/body/amount *", "/body/a~1b", "/body/tags", "/body/items/0/id", "/body/none"] },
    { edit: ["/body"], rows: ["/method", "/body *"] },
    { edit: ["/body/tags/1"], rows: ["/method", "/body/amount", "/body/a~1b", "/body/tags/0", "/body/tags/1 *", "/body/items/0/id", "/body/none"] },
    { edit: ["/body/new"], rows: ["/method", "/body/amount", "/body/a~1b", "/body/tags", "/body/items/0/id", "/body/none", "/body/new *"] },
  ];
  for (const { edit, rows } of cases) expect(shown(edit), edit.join()).toEqual(rows);
  expect(rowsOf({}, [])).toEqual([{ pointer: "", value: {}, canChange: false }]);
});

test("a field gives a value of the kind that it had", () => {
  const rows = rowsOf(params, ["/method", "/body/amount", "/body/tags", "/body/new"]);
  const cases: { drafts: Record<string, string>; edits?: object; faults?: object }[] = [
    { drafts: {} },
    { drafts: { "/body/amount": "150", "/method": "POST" } },
    { drafts: { "/body/amount": "20", "/method": "1" }, edits: { "/body/amount": 20, "/method": "1" } },
    { drafts: { "/body/amount": "much" }, faults: { "/body/amount": "number" } },
    { drafts: { "/body/amount": "true" }, faults: { "/body/amount": "number" } },
    { drafts: { "/body/tags": "[1]" }, edits: { "/body/tags": [1] } },
    { drafts: { "/body/tags": "[1" }, faults: { "/body/tags": "json" } },
    { drafts: { "/body/new": "7" }, edits: { "/body/new": 7 } },
    { drafts: { "/body/new": "seven" }, edits: { "/body/new": "seven" } },
    { drafts: { "/body/a~1b": "y" } }, // no field has it
  ];
  for (const { drafts, edits = {}, faults = {} } of cases) expect(changedValues(rows, drafts), JSON.stringify(drafts)).toEqual({ edits, faults });
});
