import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

test("the question stands above the form, what does not fit is told in words, and the run goes on before one's eyes", async ({ page }) => {
  const run = await startRun(page, "order");
  await page.goto("/inbox");
  await page.locator(`a[href="/inbox/${run}"]`).click();
  await expect(page.getByRole("list", { name: "What was said before" })).toContainText("I would like some.");
  await expect(page.getByText("The town that it goes to.")).toBeVisible();
  await expect(page.locator(".answer-form button:visible")).toHaveText(["Send"]);
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByText("Please fill this in").first()).toBeVisible();

  await page.getByLabel("City").fill("Hangzhou");
  await page.getByLabel("Count").fill("99");
  await page.getByLabel("Size").selectOption("large");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("alert").first()).toHaveText("The number is too large");
  await page.getByLabel("Count").fill("3");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.locator(".reply")).toHaveText("3 large to Hangzhou");
  await page.getByRole("link", { name: "Show the run" }).click();
  await expect(page).toHaveURL(`/runs/${run}`);
});

test("patterns of Go are the server's to check, and none freezes the page", async ({ page }) => {
  const run = await startRun(page, "patterns");
  await page.goto(`/inbox/${run}`);
  const text = "a".repeat(200) + "b";
  for (const [name, value] of [["Word", "x"], ["Slow", text], ["Safe", "x"]] as const) await page.getByLabel(name).fill(value);
  await expect(page.getByText("For example: A-1042")).toBeVisible();
  await expect(page.getByText("Unit: pieces")).toBeVisible();
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("alert")).toHaveText(["That does not look right"]); // the one that means the same here
  await page.getByLabel("Safe").fill("A-1042");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("alert")).toHaveText(["That does not look like a word.", "That does not look like a slow."]);
  await page.getByLabel("Word").fill("ab");
  await page.getByLabel("Slow").fill("aaa");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.locator(".progress-head")).toContainText("finished");
});

test("the inbox has the user's question beside the form, and on a phone one of them at a time", async ({ page }) => {
  const run = await startRun(page, "order", { question: "Two kilos of black tea" });
  await page.goto("/inbox");
  const item = page.locator(".inbox-item").filter({ has: page.locator(`a[href="/inbox/${run}"]`) });
  await expect(item).toContainText("Two kilos of black tea");
  await item.getByRole("link").click();
  await expect(page.getByLabel("City")).toBeVisible();
  await expect(item).toBeVisible();
  await page.setViewportSize({ width: 390, height: 860 });
  await expect(item).toBeHidden();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await expectAccessible(page);
  await keepScreen(page, "answer-phone", { language: "en", theme: "light" });
  await page.getByRole("link", { name: "All that wait" }).click();
  await expect(item).toBeVisible();
  await keepScreen(page, "inbox-phone", { language: "en", theme: "light" });
});

test("a row of the inbox goes when its question is answered elsewhere", async ({ page }) => {
  const run = await startRun(page, "order");
  await page.goto("/inbox");
  const link = page.locator(`a[href="/inbox/${run}"]`);
  await expect(link).toBeVisible();
  for (const message of ["Hangzhou", "3", "large"]) {
    await expect.poll(async () => {
      const state = (await (await page.request.get(`/api/v1/runs/${run}`)).json()) as { state: string };
      return state.state;
    }).toBe("waiting");
    const given = await page.request.post(`/api/v1/runs/${run}/answers`, { data: { message } });
    expect(given.status(), await given.text()).toBe(202);
  }
  await expect(link).toHaveCount(0);
});

test("each value of a step that waits says why it is missing, in the reader's language", async ({ page }) => {
  const run = await startRun(page, "misfit");
  const why = {
    en: { count: "the value 99 does not fit: 99 is more than the maximum 12", line: "city: it was not given" },
    zh: { count: "值 99 不符合要求：99 大于最大值 12", line: "city：没有给出" },
  };
  for (const language of ["en", "zh"] as const) {
    await setLook(page, { language, theme: "light" });
    await page.goto(`/inbox/${run}`);
    await expect(page.locator(".answer-form")).not.toContainText(/maximum|not given|没有给出|最大值/);
    await page.goto(`/runs/${run}`);
    await expect(page.locator(".waits-for")).toContainText(why[language].line);
    await page.locator(".waits-for button").click();
    await expect(page.locator(".step-panel")).toContainText(why[language].count);
    await page.goto("/inbox");
    await expect(page.locator(".inbox-item").filter({ has: page.locator(`a[href="/inbox/${run}"]`) })).toContainText("What is the city?");
  }
});

test("the waiting form is answered by the keyboard alone", async ({ page }) => {
  const run = await startRun(page, "order");
  await page.goto("/inbox");
  const link = page.locator(`a[href="/inbox/${run}"]`);
  await expect(link).toBeVisible();
  while (!(await link.evaluate((a) => a === document.activeElement))) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const city = page.getByLabel("City");
  await expect(city).toBeVisible();
  while (!(await city.evaluate((a) => a === document.activeElement))) await page.keyboard.press("Tab");
  await page.keyboard.type("Suzhou");
  await page.keyboard.press("Tab");
  await page.keyboard.type("2");
  await page.keyboard.press("Tab");
  await page.keyboard.type("small");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Send" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.locator(".reply")).toHaveText("2 small to Suzhou");
});

for (const look of looks) {
  test(`inbox in ${look.language}, ${look.theme}`, async ({ page }) => {
    const run = await startRun(page, "order");
    await setLook(page, look);
    await page.goto("/inbox");
    await expect(page.locator(".inbox-item").first()).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "inbox", look);
    await page.goto(`/inbox/${run}`);
    await page.locator(".answer-form button.primary").click();
    await expect(page.locator(".field-errors").first()).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "answer", look);
  });
}

for (const look of looks) {
  test(`a chat that waits in ${look.language}, ${look.theme}`, async ({ page }) => {
    await setLook(page, look);
    await page.goto(`/chat/order?session=waits-${look.language}-${look.theme}`);
    await page.locator(".say textarea").fill("A large one, please");
    await page.keyboard.press("Enter");
    const talk = page.locator(".talk");
    await expect(talk.locator(".asks")).toBeVisible();
    await page.locator(".say textarea").fill("Ningbo");
    await page.keyboard.press("Enter");
    await expect(talk.locator(".asks")).toContainText("count");
    await page.locator(".say textarea").fill("plenty");
    await page.keyboard.press("Enter");
    await expect(talk.locator(".asks")).toContainText("I could not find");
    await expectAccessible(page);
    await keepScreen(page, "waits", look);
  });
}
