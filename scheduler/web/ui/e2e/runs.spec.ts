import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

test("the list has filters in the URL, and shows what is begun elsewhere", async ({ page }) => {
  await startRun(page, "quickstart");
  await page.goto("/runs");
  const rows = page.getByRole("row");
  await expect(rows.filter({ hasText: "quickstart" }).first()).toContainText("finished");
  await expect(page.getByRole("status").filter({ hasText: "live" })).toBeVisible();
  const before = await rows.filter({ hasText: "roleplay" }).count();
  await startRun(page, "roleplay");
  await expect.poll(() => rows.filter({ hasText: "roleplay" }).count()).toBe(before + 1);

  await page.getByRole("combobox", { name: "Flow" }).selectOption("roleplay");
  await expect(page).toHaveURL(/flow=roleplay/);
  await expect(rows.filter({ hasText: "quickstart" })).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("combobox", { name: "Flow" })).toHaveValue("roleplay");
  await expect(rows.filter({ hasText: "roleplay" }).first()).toBeVisible();
  await page.getByLabel("Search").fill("no such run");
  await expect(page.getByText("No run fits the filters")).toBeVisible();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(rows.filter({ hasText: "quickstart" }).first()).toBeVisible();
});

test("a run that runs fills its bar", async ({ page }) => {
  await page.goto("/runs?flow=slow");
  const answer = await page.request.post("/api/v1/runs", { data: { flow: "slow" } });
  const { run } = (await answer.json()) as { run: string };
  const row = page.getByRole("row").filter({ has: page.locator(`a[href="/runs/${run}"]`) });
  await expect(row).toContainText("running");
  await expect(row.getByRole("progressbar")).toHaveAttribute("value", /[2-6]/);
  await expect(row).toContainText("finished");
  await expect(row.getByRole("progressbar")).toHaveCount(0);
});

test("a long list loads as one scrolls, with few rows in the document", async ({ page }) => {
  for (let i = 0; i < 60; i++) expect((await page.request.post("/api/v1/runs", { data: { flow: "roleplay", labels: { many: "yes" } } })).status()).toBe(201);
  await page.goto("/runs?q=yes");
  await expect(page.getByRole("row").nth(5)).toBeVisible();
  expect(await page.getByRole("row").count()).toBeLessThan(50);
  await expect(async () => { // the next page makes the list longer
    await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
    await expect(page.locator("[aria-rowindex='61']")).toBeVisible({ timeout: 500 });
  }).toPass();
});

test("a row has the question, the reply and the cost of a run, and can be found by their words", async ({ page }) => {
  const run = await startRun(page, "order", { question: "Six boxes of green tea" });
  const failed = await startRun(page, "failing");
  await page.goto("/runs?q=GREEN+tea");
  const row = page.getByRole("row").filter({ has: page.locator(`a[href="/runs/${run}"]`) });
  await expect(row).toContainText("Six boxes of green tea");
  await expect(row).toContainText("What is the town that it goes to?");
  await expect(row).toContainText("API");
  const counts = page.locator(".hours figcaption");
  await expect(counts).toContainText(/\d+ runs? in 24 hours, 0 failed/);
  await page.goto("/runs?flow=failing");
  await expect(page.getByRole("row").filter({ has: page.locator(`a[href="/runs/${failed}"]`) }).locator(".run-error")).toContainText("127.0.0.1");
  await expect(counts).toContainText(/[1-9]\d* failed/);
});

test("a run is begun from the list: the button, the flow, its form", async ({ page }) => {
  await page.goto("/runs");
  await page.getByRole("button", { name: "Run a flow" }).first().focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.type("order");
  await page.getByRole("dialog").getByRole("link", { name: "order", exact: true }).click();
  await expect(page).toHaveURL(/\/flows\/order\?tab=run/);
});

test("on a phone runs are cards, and nothing is wider than the screen", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 860 });
  const run = await startRun(page, "order", { question: "A question of more words than a line of a phone has room for, by far" });
  await page.goto("/runs");
  const link = page.locator(`a[href="/runs/${run}"]`);
  await expect(link).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  const row = (await page.getByRole("row").filter({ has: link }).boundingBox())!;
  expect(row.x + row.width).toBeLessThanOrEqual(390);
  await expectAccessible(page);
  await keepScreen(page, "runs-phone", { language: "en", theme: "light" });
  await page.mouse.click(row.x + 40, row.y + row.height - 12); // all of the card leads to the run
  await expect(page).toHaveURL(`/runs/${run}`);
});

for (const look of looks) {
  test(`runs in ${look.language}, ${look.theme}`, async ({ page }) => {
    await startRun(page, "quickstart");
    await setLook(page, look);
    await page.goto("/runs");
    await expect(page.getByRole("row").nth(1)).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "runs", look);
  });
}
