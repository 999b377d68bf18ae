import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

const file = (name: string) => join(process.env.SCHEDULER_DIR!, "flows", name);

test("a new flow is made on the page, opens in the editor without problems, and overwrites nothing", async ({ page }) => {
  await page.goto("/flows");
  await page.getByRole("button", { name: "New flow" }).click();
  await expectAccessible(page);
  await page.keyboard.type("order");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toContainText("the file order.yaml exists");
  await page.getByLabel("Name").fill("a b");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toContainText('"a b" cannot be the name of a flow');
  await page.getByLabel("Name").fill("mine/first");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/flows\/mine~first$/);
  await expect(page.getByLabel("Text of the flow")).toContainText("You asked");
  await expect(page.getByText("fine")).toBeVisible();
  await expect(page.locator(".badge.state-failed, .badge.state-waiting")).toHaveCount(0);
  const run = await startRun(page, "mine~first", { question: "why" });
  await page.goto(`/runs/${run}`);
  await expect(page.locator(".step-panel")).toContainText("You asked: why");
});

test("the text is linted while one types, and saved unless the file has changed", async ({ page }) => {
  await page.goto("/flows");
  await page.getByRole("link", { name: "order", exact: true }).click();
  const text = page.getByRole("textbox", { name: "Text of the flow" });
  await expect(text).toContainText("current_schema");
  await expect(page.getByText("0 problems")).toBeVisible();
  const before = readFileSync(file("order.yaml"), "utf8");

  await text.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("descripton: typed\n");
  const problems = page.getByRole("list", { name: "Problems" });
  await expect(problems).toContainText("descripton");
  await expect(page.locator(".screen-head")).not.toContainText("fine"); // the badge is about the text that is shown
  await expect(page.locator(".cm-lint-marker-error").first()).toBeVisible();
  await problems.getByRole("button").first().click();
  await expect(text).toBeFocused();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("button", { name: "Save despite the errors" })).toBeVisible();
  expect(readFileSync(file("order.yaml"), "utf8")).toBe(before);

  await page.keyboard.press("Escape");
  await text.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(before + "# the end\n");
  await expect(page.getByText("0 problems")).toBeVisible();
  await page.keyboard.press("Control+s");
  await expect.poll(() => readFileSync(file("order.yaml"), "utf8")).toBe(before + "# the end\n");
  await expect(page.getByText("not saved")).toHaveCount(0);

  writeFileSync(file("order.yaml"), before + "# elsewhere\n");
  await page.keyboard.insertText("# here");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "The file has changed" });
  await expect(dialog).toContainText("# elsewhere");
  expect(readFileSync(file("order.yaml"), "utf8")).toBe(before + "# elsewhere\n");
  await dialog.getByRole("button", { name: "Drop mine" }).click();
  await expect(text).toContainText("# elsewhere");
  writeFileSync(file("order.yaml"), before);
});

test("keys, calls and their parameters are completed by the schema", async ({ page }) => {
  await page.goto("/flows/order");
  const text = page.getByRole("textbox", { name: "Text of the flow" });
  await expect(text).toContainText("current_schema");
  await text.fill("name: x\nsteps:\n");
  const offered = page.getByRole("listbox");
  const choose = async (typed: string, whole: string) => {
    await page.keyboard.type(typed);
    await expect(offered.getByRole("option", { selected: true })).toHaveText(whole);
    await page.waitForTimeout(100); // the list takes no key in its first moment: it may be meant for the text
    await page.keyboard.press("Enter");
    await expect(offered).toHaveCount(0);
  };
  await page.keyboard.press("Control+End");
  await page.keyboard.type("  - id: a\n");
  await choose("ca", "call");
  await choose("cha", "chat");
  await page.keyboard.type("\n");
  await choose("wit", "with");
  await page.keyboard.type("{");
  await choose("tempera", "temperature");
  await expect(text).toContainText("with: {temperature: ");
  await page.reload();
});

test("without the scope, a text is read, and not changed", async ({ page }) => {
  const made = await page.request.post("/api/v1/tokens", { data: { name: "reader", scopes: ["flows:read", "runs:read"] } });
  const { text: token } = (await made.json()) as { text: string };
  expect((await page.request.post("/api/v1/session", { data: { token } })).status()).toBe(204);
  await page.goto("/flows/support");
  const text = page.getByRole("textbox", { name: "Text of the flow" });
  await expect(text).toContainText("support");
  await expect(page.getByText("Editing needs a token with the scope flows:write.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Save", exact: true })).toHaveCount(0);
  await text.click();
  await page.keyboard.type("typed");
  await expect(text).not.toContainText("typed");
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await expect(text).toContainText("support");
  await page.getByRole("tab", { name: "Run" }).click();
  await expect(page.getByText("Starting a run needs a token")).toBeVisible();
});

test("a run is started from its form by the keyboard alone", async ({ page }) => {
  await page.goto("/flows/order?tab=run");
  const note = page.getByLabel("note");
  await expect(note).toBeVisible();
  while (!(await note.evaluate((a) => a === document.activeElement))) await page.keyboard.press("Tab");
  await page.keyboard.type("no onions");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByText("no onions").first()).toBeVisible();
  await page.goto("/flows/order?tab=history");
  await expect(page.getByRole("row").nth(1)).toContainText("waiting");
});

test("a card tells how a flow fares, and leads to its form, its chat and its runs", async ({ page }) => {
  await startRun(page, "failing");
  await page.goto("/flows");
  const card = (name: string) => page.locator(".flow-card").filter({ has: page.getByRole("heading", { name, exact: true }) });
  await expect(card("failing").locator(".dot.state-failed").first()).toBeVisible();
  await expect(card("failing").getByRole("link", { name: /last runs? of failing, [1-9]/ })).toHaveAttribute("href", "/runs?flow=failing");
  await expect(card("tale")).toContainText("teller");
  await expect(card("tale").locator("a[href='/tests']")).toBeVisible();
  await expect(card("timed")).toContainText("Next schedule");
  await card("tale").getByRole("link", { name: "Run tale" }).click();
  await expect(page).toHaveURL(/\/flows\/tale\?tab=run/);
  await page.goto("/flows");
  await page.getByLabel("Search").fill("order that lacks");
  await expect(page.locator(".flow-card")).toHaveCount(1);
  await card("order").getByRole("link", { name: "Chat with order" }).click();
  await expect(page).toHaveURL(/\/chat\/order/);
});

test("flows on a phone", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 860 });
  await page.goto("/flows");
  await expect(page.locator(".flow-card").first()).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await expectAccessible(page);
  await keepScreen(page, "flows-phone", { language: "en", theme: "light" });
});

for (const look of looks) {
  test(`flows in ${look.language}, ${look.theme}`, async ({ page }) => {
    await setLook(page, look);
    await startRun(page, "quickstart");
    await startRun(page, "failing");
    await page.goto("/flows");
    await expect(page.locator(".flow-card .dots").first()).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "flows", look);
    await page.goto("/flows/support");
    await expect(page.locator(".cm-content")).toContainText("support");
    await expect(page.locator(".graph-node").first()).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "flow", look);
    await page.goto("/flows/quickstart?tab=run");
    await expect(page.locator(".schema-form")).toBeVisible();
    await expectAccessible(page);
    await keepScreen(page, "flow-run", look);
  });
}
