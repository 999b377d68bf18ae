import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

const lineOf = (page: import("@playwright/test").Page, text: string) => page.locator(".cm-line", { hasText: text }).first();

test("the prompt of the step under the cursor follows what one types, and nothing runs", async ({ page }) => {
  const run = await startRun(page, "quickstart", { visitor: "Ada" });
  const runs = async () => ((await (await page.request.get("/api/v1/runs?limit=200")).json()) as { items: unknown[] }).items.length;
  const before = await runs();
  await page.goto("/flows/quickstart?view=preview");
  const text = page.getByRole("textbox", { name: "Text of the flow" });
  const preview = page.locator(".preview");
  await expect(preview.locator(".preview-head")).toContainText(`answer chat · run ${run.slice(-8)}`);
  await expect(preview.locator(".piece", { hasText: /^Ada$/ }).first()).toHaveClass(/piece-input/);

  await lineOf(page, "You are the guide of").click();
  await expect(preview.locator(".preview-head")).toContainText("prompt context");
  await page.keyboard.press("End");
  await page.keyboard.type(" You know {{ inputs.question | upper }} by heart.");
  await expect(preview).toContainText("You know DO YOU REMEMBER");
  await expect(preview.locator(".piece", { hasText: "by heart." })).toHaveClass(/piece-flow/);
  expect(await runs()).toBe(before);

  await page.keyboard.type(" {{ broken");
  await expect(preview.getByRole("status")).toContainText("The text has 1 error");
  await expect(preview).toContainText("by heart."); // what was shown before stays
  for (let i = 0; i < " {{ broken".length; i++) await page.keyboard.press("Backspace");
  await expect(preview.getByRole("status")).toHaveText("No model was asked.");

  await preview.locator(".piece", { hasText: "Ada" }).first().click(); // it leads to the words of the text
  await expect(text).toBeFocused();
  await expect(page.locator(".cm-activeLine")).toContainText("inputs.visitor");
});

test("what no run and no test tells has a placeholder, and a test gives its values", async ({ page }) => {
  await page.goto("/flows/remember?view=preview");
  const preview = page.locator(".preview");
  await expect(preview).toBeVisible();
  await preview.getByLabel("Values from").selectOption("none");
  await expect(preview.getByRole("status")).toContainText("inputs.question, recall");
  await expect(preview.locator(".piece[data-unknown]", { hasText: "‹inputs.question›" })).toBeVisible();
  await preview.getByLabel("Values from").selectOption({ index: 1 });
  await expect(preview.locator(".piece", { hasText: "‹inputs.question›" })).toHaveCount(0);
  await page.getByRole("textbox", { name: "Text of the flow" }).press("Control+End"); // into the step that saves a snapshot
  await expect(preview).toContainText("builds no prompt");
});

test("the newest text wins", async ({ page }) => {
  await page.goto("/flows/quickstart?view=preview");
  const preview = page.locator(".preview");
  await expect(preview.locator(".piece").first()).toBeVisible();
  let isFirst = true;
  await page.route("**/api/v1/preview", async (route) => {
    if (isFirst) await new Promise((done) => setTimeout(done, 1500));
    isFirst = false;
    await route.continue().catch(() => {}); // the page has given it up
  });
  await lineOf(page, "You are the guide of").click();
  await page.keyboard.press("End");
  await page.keyboard.type(" OLD");
  await expect(page.locator(".preview[aria-busy=true]")).toHaveCount(1);
  await page.waitForTimeout(400);
  for (let i = 0; i < 3; i++) await page.keyboard.press("Backspace");
  await page.keyboard.type("NEW");
  await expect(preview).toContainText("NEW");
  await page.waitForTimeout(1500);
  await expect(preview).not.toContainText("OLD");
});

for (const look of looks) {
  test(`the preview in ${look.language}, ${look.theme}`, async ({ page }) => {
    await startRun(page, "quickstart", { visitor: "Lin" });
    await setLook(page, look);
    await page.goto("/flows/quickstart?view=preview");
    const preview = page.locator(".preview");
    await preview.locator("[data-piece]").nth(1).focus();
    await expectAccessible(page);
    await keepScreen(page, "preview", look);
    await page.goto("/flows/support?view=preview");
    await preview.locator("select").selectOption("none");
    await expect(preview.locator("[data-unknown]").first()).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "preview-placeholders", look);
    await page.setViewportSize({ width: 390, height: 860 });
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await expectAccessible(page);
    await keepScreen(page, "preview-narrow", look);
  });
}
