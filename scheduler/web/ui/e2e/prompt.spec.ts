import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

test("every piece tells its way, and opens its file at the line", async ({ page }) => {
  const run = await startRun(page, "quickstart", { visitor: "Ada" });
  await page.goto(`/runs/${run}?step=answer&tab=prompt`);
  const piece = page.locator(".piece", { hasText: /^Ada$/ }).first();
  await expect(piece).toHaveClass(/piece-input/);
  await piece.hover();
  const way = page.getByRole("region", { name: "Where this piece came from" });
  await expect(way).toContainText("inputs.visitor");
  await expect(way).toContainText("quickstart.yaml:31:68");
  await expect(way).toContainText("prompt: identity");
  await expect(way).toContainText("scene");
  await piece.click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.locator("[aria-current]")).toContainText("inputs.visitor");
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  const rule = page.locator(".piece", { hasText: "Never promise" });
  await expect(rule).toHaveClass(/piece-file/);
  await rule.click();
  await expect(dialog.locator("[aria-current]")).toContainText("# House rules");
});

test("a file that was written after the run is shown as it is now, without a line marked as the source", async ({ page }) => {
  const run = await startRun(page, "quickstart");
  const file = join(process.env.SCHEDULER_DIR!, "flows/quickstart/workspace/AGENTS.md");
  const text = readFileSync(file, "utf8");
  await page.goto(`/runs/${run}?step=answer&tab=prompt`);
  const rule = page.locator(".piece", { hasText: "Never promise" });
  const dialog = page.getByRole("dialog");
  try {
    writeFileSync(file, "# Something else\n\n" + text);
    await rule.click();
    await expect(dialog).toContainText("has changed since the run read it, and the run has not kept");
    await expect(dialog.locator("[aria-current]")).toHaveCount(0);
    await page.keyboard.press("Escape");
    writeFileSync(file, text + "- One rule more.\n");
    await rule.click();
    await expect(dialog).toContainText("The marked line is still as the run read it");
    await expect(dialog.locator("[aria-current]")).toContainText("# House rules");
  } finally {
    writeFileSync(file, text);
  }
});

test("what is shown is all of the prompt, and its tokens add up", async ({ page }) => {
  const run = await startRun(page, "quickstart");
  const { prompts } = (await (await page.request.get(`/api/v1/runs/${run}/prompts?step=answer`)).json()) as { prompts: { tokens: number; messages: { pieces: { text: string }[] }[] }[] };
  await page.goto(`/runs/${run}?step=answer&tab=prompt`);
  await expect(page.locator(".message").first()).toBeVisible();
  expect(await page.locator(".piece").evaluateAll((all) => all.map((one) => one.textContent))).toEqual(prompts[0]!.messages.flatMap((m) => m.pieces.map((p) => p.text)));
  const told = await page.locator(".explorer-top .bar-of-tokens").getAttribute("aria-label");
  const sum = [...told!.matchAll(/ (\d+)/g)].reduce((n, m) => n + Number(m[1]), 0);
  expect(sum).toBe(prompts[0]!.tokens);
});

test("what changed since the prompt before, and how much of it can come from the cache", async ({ page }) => {
  await startRun(page, "quickstart", { visitor: "Mei" });
  const run = await startRun(page, "quickstart", { visitor: "Zoe" });
  await page.goto(`/runs/${run}?step=answer&tab=prompt`);
  await expect(page.locator(".cache")).toContainText("are as before");
  await expect(page.locator(".cache-end")).toHaveCount(1);
  await page.getByRole("button", { name: "What changed" }).click();
  await expect(page.locator("del").first()).toHaveText("Mei");
  await expect(page.locator("ins").first()).toHaveText("Zoe");
  await expect(page.locator(".message").filter({ hasText: "unchanged" }).first()).toBeVisible();
});

test("by the keyboard alone: from the list to the reason of an entry that was left out", async ({ page }) => {
  await startRun(page, "quickstart");
  await page.goto("/runs?flow=quickstart");
  const link = page.getByRole("link", { name: "quickstart" }).first();
  await expect(link).toBeVisible();
  const tabTo = async (isThere: () => Promise<boolean>) => {
    for (let i = 0; i < 80; i++) {
      if (await isThere()) return;
      await page.keyboard.press("Tab");
    }
    throw new Error("the Tab key does not come there");
  };
  const hasFocus = (selector: string) => () => page.evaluate((s) => !!document.activeElement?.matches(s), selector);
  await tabTo(hasFocus('[role="cell"] a'));
  await page.keyboard.press("Enter");
  await expect(page.locator("[data-node]").first()).toBeVisible();
  await tabTo(hasFocus("[data-node]"));
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: "Step answer" })).toBeVisible();
  await tabTo(hasFocus('.step-panel [role="tab"]'));
  await page.keyboard.press("ArrowRight");
  await expect(page.locator(".piece").first()).toBeVisible();
  await tabTo(hasFocus("[data-piece]"));
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("region", { name: "Where this piece came from" })).toContainText("inputs.visitor");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  const leftOut = page.locator(".left-out li").first();
  await expect(leftOut.getByText("getvar('season') == 'winter'", { exact: false })).toBeVisible();
  await tabTo(hasFocus(".left-out summary"));
  await page.keyboard.press("Enter");
  await expect(leftOut.getByText("by scene")).toBeVisible();
});

for (const look of looks) {
  test(`the prompt explorer in ${look.language}, ${look.theme}`, async ({ page }) => {
    await startRun(page, "quickstart", { visitor: "Lin" });
    const run = await startRun(page, "quickstart");
    await setLook(page, look);
    await page.goto(`/runs/${run}?step=answer&tab=prompt`);
    await page.locator("[data-piece]").nth(1).focus();
    await expect(page.locator(".way ol")).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "prompt", look);
    await page.locator(".pane-head button").click();
    await keepScreen(page, "prompt-wide", look);
  });
}
