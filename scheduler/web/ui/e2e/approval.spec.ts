import type { Page } from "@playwright/test";
import { expect, expectAccessible, keepScreen, setLook, startRun, test } from "./fixtures.ts";

const words = {
  en: { approve: "Approve", changed: "Approve with the changes", deny: "Deny", reason: "Reason (optional)", prompt: "Show the prompt before it", approvedBy: "Approved with changes by e2e", deniedBy: "Denied by e2e: the cup was not ours", first: "Denied by e2e: too late", number: "Write a number" },
  zh: { approve: "批准", changed: "按修改批准", deny: "拒绝", reason: "理由（可不填）", prompt: "查看此前的提示词", approvedBy: "e2e修改后批准", deniedBy: "e2e已拒绝：the cup was not ours", first: "e2e已拒绝：too late", number: "请填写数字" },
};

/** Moves the focus by the Tab key until an element with a name has it. */
async function tabTo(page: Page, name: string) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const isThere = await page.evaluate((n) => document.activeElement?.getAttribute("aria-label") === n || document.activeElement?.textContent === n, name);
    if (isThere) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}

for (const language of ["en", "zh"] as const) {
  const w = words[language];

  test(`an approval is changed and given by the keyboard alone, and the run tells who decided, in ${language}`, async ({ page }) => {
    await setLook(page, { language, theme: "light" });
    const run = await startRun(page, "refund");
    await page.goto("/inbox");
    await expect(page.locator(".inbox-item").filter({ has: page.locator(`a[href="/inbox/${run}"]`) })).toContainText("Refund 150 € for order A-1042?");
    await page.goto(`/inbox/${run}`);
    const card = page.locator(".approval");
    await expect(card.locator(".asks")).toHaveText("Refund 150 € for order A-1042?");
    await expect(card.getByRole("row", { name: "body › order" })).toContainText("A-1042");
    await expect(card.getByRole("textbox")).toHaveCount(2); // only those that the flow lists
    await expectAccessible(page);
    await keepScreen(page, "approval", { language, theme: "light" });

    await tabTo(page, "body › amount");
    await page.keyboard.type("much");
    await expect(card.getByRole("alert")).toHaveText(w.number);
    await expect(card.getByRole("button", { name: w.approve, exact: true })).toBeDisabled();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("20");
    await expect(card.locator("tr[data-changed]")).toContainText("150");
    await expectAccessible(page);
    await tabTo(page, w.changed);
    await page.keyboard.press("Enter");
    await expect(page.locator(".reply")).toHaveText("refunded: True");
    await expect(page.locator(".decisions")).toContainText(w.approvedBy);

    await page.goto(`/runs/${run}`);
    await expect(page.locator(".decisions")).toContainText(w.approvedBy);
    await expect(page.locator(".decisions")).toContainText("body › amount: 150 → 20");
    await expectAccessible(page);
    await page.goto(`/runs/${run}?step=refund&tab=input`);
    await expect(page.locator(".step-panel .decided")).toContainText(w.approvedBy);
    await expect(page.locator(".step-panel")).toContainText('"amount": 20');
  });

  test(`a tool of an agent is denied with a reason beside its prompt, in ${language}`, async ({ page }) => {
    await setLook(page, { language, theme: "dark" });
    const run = await startRun(page, "clerk");
    await page.goto(`/inbox/${run}`);
    await page.getByRole("link", { name: w.prompt }).click();
    await expect(page).toHaveURL(new RegExp(`/runs/${run}\\?step=clerk&tab=prompt`));
    await expect(page.locator(".step-panel")).toContainText("My cup is broken.");
    const card = page.locator(".step-panel .approval");
    await expect(card.getByRole("row")).toContainText(["amount"]);
    await expectAccessible(page);
    await keepScreen(page, "approval-tool", { language, theme: "dark" });
    await card.getByRole("button", { name: w.deny }).click();
    await expect(card.getByLabel(w.reason)).toBeFocused();
    await page.keyboard.type("the cup was not ours");
    await page.keyboard.press("Enter");
    await page.goto(`/runs/${run}`);
    await expect(page.locator(".decisions")).toContainText(w.deniedBy);
    await expect(page.locator(".run-head")).toContainText(language === "en" ? "finished" : "已完成");
  });

  test(`of two people the second reads who decided, in ${language}`, async ({ page }) => {
    await setLook(page, { language, theme: "light" });
    const run = await startRun(page, "refund");
    await page.setViewportSize({ width: 390, height: 860 });
    await page.goto(`/inbox/${run}`);
    const approve = page.getByRole("button", { name: w.approve, exact: true });
    await expect(approve).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await keepScreen(page, "approval-phone", { language, theme: "light" });
    // The other person's decision arrives after the click and before the page's own.
    await page.route("**/answers", async (route) => {
      const given = await page.request.post(`/api/v1/runs/${run}/answers`, { data: { answers: [
        { step: "refund", pointer: "/approved", value: false }, { step: "refund", pointer: "/reason", value: "too late" },
      ] } });
      expect(given.status(), await given.text()).toBe(202);
      await route.continue();
    });
    const answered = page.waitForResponse("**/answers");
    await approve.click();
    expect((await answered).status()).toBe(409);
    await expect(page.locator(".decisions")).toContainText(w.first);
    await expect(approve).toHaveCount(0);
  });
}
