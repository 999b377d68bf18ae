import { expect, expectAccessible, keepScreen, looks, setLook, test } from "./fixtures.ts";

test("a reader goes from guide to guide by keyboard, in both languages", async ({ page }) => {
  await page.goto("/help");
  await expect(page.getByRole("heading", { name: "Tutorial" })).toBeVisible();
  await page.getByRole("navigation", { name: "Guides" }).getByRole("link", { name: "Memory" }).focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/help\/memory$/);
  await expect(page.getByRole("heading", { name: "Memory", exact: true })).toBeVisible();
  await page.getByRole("article").getByRole("link", { name: "Lorebooks" }).click();
  await expect(page.getByRole("heading", { name: "Lorebooks" })).toBeVisible();
  await page.getByLabel("Language").selectOption("zh");
  await expect(page.getByRole("navigation", { name: "指南" })).toContainText("教程");
  await page.goto("/help/nothing");
  await expect(page.getByRole("alert")).toContainText("404");
});

for (const look of looks) {
  test(`the guides, ${look.language} ${look.theme}`, async ({ page }) => {
    await setLook(page, look);
    for (const topic of ["tutorial", "tests"]) {
      await page.goto(`/help/${topic}`);
      await expect(page.locator(".markdown pre").first()).toBeVisible();
      await expectAccessible(page);
      await keepScreen(page, `help-${topic}`, look);
    }
  });
}
