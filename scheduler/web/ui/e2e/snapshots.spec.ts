import { expect, expectAccessible, keepScreen, setLook, test } from "./fixtures.ts";

for (const { language, make, again, none, made, nothing } of [
  { language: "en", make: "Make snapshots now", again: "Try again", none: "No snapshot was made yet", made: "Made 2 snapshots.", nothing: "Nothing is new" },
  { language: "zh", make: "立即生成快照", again: "重试", none: "还没有快照", made: "已生成 2 个快照。", nothing: "没有新的记忆" },
] as const) {
  test(`a snapshot that failed is tried again on the page, in ${language}`, async ({ page }) => {
    await setLook(page, { language, theme: "light" });
    const user = `snap-${language}`;
    await page.request.post("/api/v1/memory", { data: { content: "I drink jasmine tea.", user, session: "monday" } });
    let isAsleep = true;
    await page.route("**/api/v1/memory/snapshots?*", (route) => {
      if (route.request().method() !== "POST" || !isAsleep) return route.continue();
      return route.fulfill({ status: 502, contentType: "application/problem+json", body: JSON.stringify({ type: "urn:scheduler:provider", kind: "provider", title: "Bad Gateway", status: 502, detail: "summer: the model is asleep" }) });
    });
    await page.goto(`/memory?user=${user}&tab=snapshots`);
    await expect(page.getByText(none)).toBeVisible();
    await page.getByRole("button", { name: make }).click();
    await expect(page.getByRole("alert")).toContainText("the model is asleep");
    await expectAccessible(page);
    await keepScreen(page, "snapshot-failed", { language, theme: "light" });
    isAsleep = false;
    await page.getByRole("button", { name: again }).click();
    await expect(page.locator(".make-snapshots")).toContainText(made); // one of the session, one of its category
    await expect(page.locator(".snapshots > li")).toHaveCount(2);
    await expect(page.locator(".snapshots")).toContainText("I drink jasmine tea.");
    await expect(page.getByText(none)).toHaveCount(0);
    await expect(page.getByText(/2 snapshots,|2 个快照，/)).toBeVisible();
    await page.getByRole("button", { name: make }).click();
    await expect(page.locator(".make-snapshots")).toContainText(nothing);
    await expectAccessible(page);
  });
}
