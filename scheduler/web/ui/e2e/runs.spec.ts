import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

test("the list has filters in the URL, and shows what is begun elsewhere", async ({ page }) => {
  await startRun(page, "quickstart");
  await page.goto("/runs");
  const rows = page.getByRole("row");
  await expect(rows.filter({ hasText: "quickstart" }).first()).toContainText("4/4");
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
  await expect(row).toContainText("8/8");
});

test("a long list loads as one scrolls, with few rows in the document", async ({ page }) => {
  for (let i = 0; i < 60; i++) expect((await page.request.post("/api/v1/runs", { data: { flow: "roleplay", labels: { many: "yes" } } })).status()).toBe(201);
  await page.goto("/runs?q=yes");
  await expect(page.getByRole("row").nth(5)).toBeVisible();
  expect(await page.getByRole("row").count()).toBeLessThan(50);
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await expect(page.locator("[aria-rowindex='61']")).toBeVisible();
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
