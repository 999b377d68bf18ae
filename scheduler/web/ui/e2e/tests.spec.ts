import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectAccessible, keepScreen, looks, setLook, test } from "./fixtures.ts";

const file = "flows/tale.test.yaml";

test("a test file is run, its failed case tells what and where, and is run again once it is mended", async ({ page }) => {
  await page.goto("/tests");
  const card = page.getByRole("article", { name: file });
  await expect(card).toContainText("4 not run");
  await card.getByRole("button", { name: `Run all cases of ${file}` }).click();
  for (const count of ["1 passed", "1 failed", "1 not decided", "1 skipped"]) await expect(card).toContainText(count);
  await expect(page.getByRole("status").filter({ hasText: "1 passed, 1 failed, 1 not decided" })).toBeVisible();
  const failed = card.getByRole("listitem").filter({ hasText: "the tale has a dragon" });
  await expect(failed).toContainText("1 check not passed");
  await expect(failed).toContainText('not "Once upon a time there was a dragon."');
  await expect(card.getByRole("listitem").filter({ hasText: "no answer is recorded" })).toContainText("scheduler test --record");
  await expect(card.getByRole("listitem").filter({ hasText: "the tale ends well" })).toContainText("no model tells such tales");

  await failed.getByRole("button", { name: `${file}:8:9` }).click();
  const dialog = page.getByRole("dialog", { name: `${file}:8` });
  await expect(dialog.locator("[aria-current=location]")).toContainText("there was a dragon");
  await page.keyboard.press("Escape");
  await failed.getByRole("button", { name: "Prompt" }).click();
  await expect(page.getByRole("dialog", { name: "Prompt of the case the tale has a dragon" })).toContainText("A tale, please");
  await page.keyboard.press("Escape");

  const path = join(process.env.SCHEDULER_DIR!, file);
  const before = readFileSync(path, "utf8");
  writeFileSync(path, before.replace("a dragon.", "a lighthouse."));
  const again = failed.getByRole("button", { name: "Run the case the tale has a dragon" });
  await again.focus();
  await page.keyboard.press("Enter");
  await expect(card).toContainText("2 passed");
  await page.reload();
  await expect(card).toContainText("2 passed");
  await expect(card).not.toContainText("not run");
  writeFileSync(path, before);
});

test("a test file with errors shows them, and does not run", async ({ page }) => {
  const path = join(process.env.SCHEDULER_DIR!, "flows", "slow.test.yaml");
  writeFileSync(path, "cases:\n  - {name: a, expcet: []}\n");
  await page.goto("/tests");
  const card = page.getByRole("article", { name: "flows/slow.test.yaml" });
  await expect(card.getByRole("list", { name: "Problems" })).toContainText("expcet");
  await expect(card.getByRole("button", { name: /^Run/ })).toHaveCount(0);
  await card.getByRole("button", { name: /slow\.test\.yaml:2:/ }).first().click();
  await expect(page.getByRole("dialog").locator("[aria-current=location]")).toContainText("expcet");
  await page.keyboard.press("Escape");
  const flow = join(process.env.SCHEDULER_DIR!, "flows", "inner.yaml");
  const before = readFileSync(flow, "utf8");
  writeFileSync(flow, before.replace("call: template, with: {template: \"{{ text }}", "call: tmplate, with: {template: \"{{ text }}"));
  writeFileSync(path, "flow: inner.yaml\ncases:\n  - {name: a, expect: [{run: finished}]}\n");
  await page.reload();
  await card.getByRole("link", { name: /inner\.yaml:4:/ }).first().click();
  await expect(page.getByRole("textbox", { name: "Text of the flow" })).toBeFocused();
  await expect(page.locator(".cm-activeLine")).toContainText("call: tmplate");
  writeFileSync(flow, before);
  writeFileSync(path, "cases:\n  - {name: a, skip: later, expect: [{run: finished}]}\n");
});

test("a case that takes long is shown as running, and can be stopped", async ({ page }) => {
  const path = join(process.env.SCHEDULER_DIR!, "flows", "timed.test.yaml");
  writeFileSync(path, "cases:\n  - {name: waits, mocks: {greet: {delay: 1m}}, expect: [{run: finished}]}\n  - {name: goes on, expect: [{run: finished}]}\n");
  await page.goto("/tests");
  const card = page.getByRole("article", { name: "flows/timed.test.yaml" });
  const waits = card.getByRole("listitem").filter({ hasText: "waits" });
  await waits.getByRole("button", { name: "Run the case waits" }).click();
  await expect(waits).toContainText("running");
  await expect(card.getByRole("button", { name: "Run the case goes on" })).toBeDisabled();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(waits).toContainText("not run");
  await expect(async () => {
    await card.getByRole("button", { name: "Run the case goes on" }).click(); // the server may still end the other
    await expect(card).toContainText("1 passed", { timeout: 500 });
  }).toPass();
  rmSync(path);
});

test("without the scope, tests are read, and not run", async ({ page }) => {
  const made = await page.request.post("/api/v1/tokens", { data: { name: "reader", scopes: ["flows:read", "runs:read"] } });
  const { text: token } = (await made.json()) as { text: string };
  expect((await page.request.post("/api/v1/session", { data: { token } })).status()).toBe(204);
  await page.goto("/tests");
  await expect(page.getByRole("article", { name: file })).toBeVisible();
  await expect(page.getByText("Running tests needs a token with the scope runs:write.")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Run/ })).toHaveCount(0);
});

for (const look of looks) {
  test(`tests in ${look.language}, ${look.theme}`, async ({ page }) => {
    await setLook(page, look);
    await page.goto("/tests");
    const card = page.getByRole("article", { name: file });
    await card.getByRole("button", { name: look.language === "zh" ? /全部|所有/ : /^Run all cases/ }).click();
    await expect(card.locator("[data-outcome=skip]").first()).toBeVisible();
    await expect(card.locator("[data-outcome=fail]").first()).toBeVisible();
    await card.locator("button.end").click();
    await expect(page.locator("dialog [data-outcome=fail]").first()).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "tests-results", look);
    await page.keyboard.press("Escape");
    await page.evaluate(() => window.scrollTo(0, 0)); // else the bar covers a part of a button
    await expectAccessible(page);
    await keepScreen(page, "tests", look);
    await card.locator("[data-outcome=fail] .failure button").first().click();
    await expect(page.locator("[aria-current=location]")).toBeVisible();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await card.locator("[data-outcome=fail] .failures p > button:not(.link)").click();
    await expect(page.locator("dialog .message-text")).toContainText("A tale, please");
    await expectAccessible(page);
    await keepScreen(page, "tests-prompt", look);
    await page.route("**/api/v1/tests?*", (route) => route.fulfill({ json: { items: [], next: null } }));
    await page.route("**/api/v1/tests", (route) => route.fulfill({ json: { items: [], next: null } }));
    await page.reload();
    await expect(page.locator(".empty")).toContainText("NAME.test.yaml");
    await expectAccessible(page);
    await keepScreen(page, "tests-empty", look);
  });
}
