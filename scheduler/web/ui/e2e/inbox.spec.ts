import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

test("an answer is checked, part of it is kept, and the run goes on before one's eyes", async ({ page }) => {
  const run = await startRun(page, "order");
  await page.goto("/inbox");
  await page.locator(`a[href="/inbox/${run}"]`).click();
  await expect(page.getByRole("heading", { name: "order needs 3 values" })).toBeVisible();
  await expect(page.getByText("Missing because: it was not given")).toHaveCount(3);
  await page.getByRole("button", { name: "Send all" }).click();
  await expect(page.getByText("This value is missing").first()).toBeVisible();

  await page.getByLabel("city").fill("Hangzhou");
  await page.getByRole("button", { name: "Check" }).click();
  await expect(page.getByText("The 1 value fits. Nothing has been sent.")).toBeVisible();
  await page.getByRole("button", { name: "Send what I have" }).click();
  await expect(page.getByRole("heading", { name: "order needs 2 values" })).toBeVisible();
  await expect(page.getByLabel("city")).toHaveCount(0);

  await page.getByLabel("count").fill("99");
  await page.getByRole("button", { name: "Check" }).click();
  await expect(page.getByRole("alert").first()).toContainText("99");
  await page.getByLabel("count").fill("3");
  await page.getByLabel("size").selectOption("large");
  await page.getByRole("button", { name: "Send all" }).click();
  await expect(page.locator(".reply")).toHaveText("3 large to Hangzhou");
  await page.getByRole("link", { name: "Show the run" }).click();
  await expect(page).toHaveURL(`/runs/${run}`);
});

test("each value of a step that waits says why it is missing, in the reader's language", async ({ page }) => {
  const run = await startRun(page, "misfit");
  const why = {
    en: { city: "Missing because: it was not given", count: "the value 99 does not fit: 99 is more than the maximum 12", size: '"tiny" was not taken: "tiny" is not one of', line: "city: it was not given" },
    zh: { city: "缺少的原因：没有给出", count: "值 99 不符合要求：99 大于最大值 12", size: '没有采用 "tiny"："tiny" 不是以下之一', line: "city：没有给出" },
  };
  for (const language of ["en", "zh"] as const) {
    await setLook(page, { language, theme: "light" });
    await page.goto(`/inbox/${run}`);
    for (const name of ["city", "count", "size"] as const) {
      await expect(page.getByLabel(name)).toHaveAccessibleDescription(new RegExp(why[language][name].replace(/[".]/g, "\\$&")));
    }
    await expect(page.locator(".reasons")).toHaveCount(0);
    await page.goto(`/runs/${run}`);
    await expect(page.locator(".waits-for")).toContainText(why[language].line);
    await page.locator(".waits-for button").click();
    await expect(page.locator(".step-panel")).toContainText(why[language].count);
    await page.goto("/inbox");
    await expect(page.getByRole("row").filter({ has: page.locator(`a[href="/inbox/${run}"]`) })).toContainText(why[language].line);
  }
});

test("the waiting form is answered by the keyboard alone", async ({ page }) => {
  const run = await startRun(page, "order");
  await page.goto("/inbox");
  const link = page.locator(`a[href="/inbox/${run}"]`);
  await expect(link).toBeVisible();
  while (!(await link.evaluate((a) => a === document.activeElement))) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const city = page.getByLabel("city");
  await expect(city).toBeVisible();
  while (!(await city.evaluate((a) => a === document.activeElement))) await page.keyboard.press("Tab");
  await page.keyboard.type("Suzhou");
  await page.keyboard.press("Tab");
  await page.keyboard.type("2");
  await page.keyboard.press("Tab");
  await page.keyboard.type("small");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Send all" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.locator(".reply")).toHaveText("2 small to Suzhou");
});

for (const look of looks) {
  test(`inbox in ${look.language}, ${look.theme}`, async ({ page }) => {
    const run = await startRun(page, "order");
    await setLook(page, look);
    await page.goto("/inbox");
    await expect(page.getByRole("row").nth(1)).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "inbox", look);
    await page.goto(`/inbox/${run}`);
    await page.locator(".answer-form button.primary").click();
    await expect(page.locator(".field-errors").first()).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "answer", look);
  });
}
