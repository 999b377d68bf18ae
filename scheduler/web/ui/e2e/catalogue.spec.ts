import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, expectAccessible, keepScreen, looks, setLook, test } from "./fixtures.ts";

test("a chat answers, asks what is missing, and keeps what was said", async ({ page }) => {
  await page.goto("/chat/order?session=talk-1");
  await page.getByLabel("Your question").fill("A large one, please");
  await page.keyboard.press("Enter");
  await page.getByLabel("City").fill("Ningbo");
  await page.getByLabel("Count").fill("1");
  await page.getByLabel("Size").selectOption("large");
  await page.getByRole("list", { name: "Conversation" }).getByRole("button", { name: "Send" }).click();
  await expect(page.getByText("1 large to Ningbo")).toBeVisible();
  await page.reload();
  await expect(page.locator(".talk").getByText("A large one, please")).toBeVisible();
  await expect(page.getByText("1 large to Ningbo")).toBeVisible();
});

test("a flow to talk with is chosen among cards, and the composer stands at the bottom", async ({ page }) => {
  await page.goto("/chat");
  const card = page.locator(".talk-card").filter({ hasText: "An order that lacks" });
  await expect(card).toBeVisible();
  await expectAccessible(page);
  await keepScreen(page, "chat-cards", { language: "en", theme: "light" });
  await card.getByRole("link").click();
  await expect(page).toHaveURL(/\/chat\/order/);
  for (const width of [1360, 390]) {
    await page.setViewportSize({ width, height: 860 });
    const composer = (await page.locator(".say").boundingBox())!;
    expect(composer.y + composer.height).toBeGreaterThan(800);
    expect(composer.y + composer.height).toBeLessThanOrEqual(860);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
  await expectAccessible(page);
  await keepScreen(page, "chat-phone", { language: "en", theme: "light" });
});

test("what is typed while a run waits is its answer, and cancel ends it", async ({ page }) => {
  await page.goto("/chat/order?session=talk-2");
  const talk = page.getByRole("list", { name: "Conversation" });
  const say = async (label: string, text: string) => {
    await page.getByLabel(label).fill(text);
    await page.keyboard.press("Enter");
  };
  await say("Your question", "A large one, please");
  await expect(talk.locator(".asks")).toHaveText("What is the town that it goes to?");
  await say("Your answer", "Ningbo");
  await expect(talk.locator(".asks")).toHaveText("What is the count (from 1 to 12)?");
  await say("Your answer", "plenty");
  await expect(talk.locator(".asks")).toContainText("I could not find");
  await say("Your answer", "2");
  await expect(talk.locator(".asks")).toHaveText("Which size is it: small or large?");
  await say("Your answer", "Large");
  await expect(page.getByText("2 large to Ningbo")).toBeVisible();
  const said = ["A large one, please", "What is the town that it goes to?", "Ningbo", "What is the count (from 1 to 12)?", "plenty"];
  await expect(talk.locator("li").first().locator("pre")).toContainText(said);
  await say("Your question", "One more");
  await expect(talk.locator(".asks")).toHaveText("What is the town that it goes to?");
  await say("Your answer", "cancel");
  await expect(talk.getByText("I have stopped")).toBeVisible();
  await expect(talk.locator(".answer-form")).toHaveCount(0);
  await expect(page.getByLabel("Your question")).toBeVisible();
});

test("an answer is shown while the model still writes it", async ({ page, playwright }) => {
  await page.goto("/chat/tale?session=tale-1");
  await page.getByLabel("Your question").fill("A tale, please");
  await page.keyboard.press("Enter");
  const answer = page.getByRole("list", { name: "Conversation" }).getByRole("listitem").last();
  await expect(answer.getByText("Once upon", { exact: true })).toBeVisible();
  await expect(answer).toContainText("running");
  const other = await playwright.request.newContext();
  await other.get(`${process.env.SLOW_SERVER}/tell`);
  await other.dispose();
  await expect(answer.getByText("Once upon a time", { exact: true })).toBeVisible();
  await expect(answer).not.toContainText("running");
});

test("a schedule is paused, resumed, and fired", async ({ page }) => {
  await page.goto("/schedules");
  const card = page.getByRole("article", { name: /new_year/ });
  await expect(card).toContainText("0 0 1 1 *");
  await expect(card.locator(".plan")).toHaveText(/^on January 1 of each year at 00:00, next in \d+d$/);
  await card.getByRole("button", { name: "Pause" }).click();
  await expect(card).toContainText("paused");
  await page.reload();
  await card.getByRole("button", { name: "Resume" }).click();
  await expect(card.getByRole("button", { name: "Pause" })).toBeVisible();
  await expect(card).not.toContainText("paused");
  await card.getByRole("button", { name: "Run now" }).click();
  await card.getByRole("table").getByRole("link").first().click();
  await expect(page.locator(".run-head")).toContainText("timed");
  await expect(page.locator(".run-head")).toContainText("finished");
});

test.describe("far away", () => {
  test.use({ timezoneId: "America/New_York" });
  test("the next times of a schedule are in its zone, and in the reader's", async ({ page }) => {
    await page.goto("/schedules");
    const next = page.getByRole("article", { name: /new_year/ }).locator("time").first();
    await expect(next).toHaveText(/^Jan 1, \d{4}, 12:00:00.AM Asia\/Shanghai \(here Dec 31, \d{4}, 11:00:00.AM\)$/);
  });
});

test("a flow with errors says that its schedules start nothing", async ({ page }) => {
  const file = join(process.env.SCHEDULER_DIR!, "flows", "unread.yaml");
  writeFileSync(file, `triggers: {schedules: [{id: daily, cron: "0 7 * * *"}]}\nsteps: [{id: a, call: chta}]\n`);
  try {
    await page.goto("/schedules");
    await page.getByRole("status").getByRole("link", { name: "unread" }).click();
    await page.getByRole("tab", { name: "Triggers" }).click();
    await expect(page.getByText("is started by no schedule and no webhook")).toBeVisible();
  } finally {
    rmSync(file);
  }
});

test("plugins are listed with what they have", async ({ page }) => {
  await page.goto("/plugins");
  const card = page.getByRole("article").filter({ has: page.getByRole("heading", { name: "stamp" }) });
  await expect(card).toContainText("not trusted");
  await expect(card).toContainText("scheduler plugins trust stamp");
  await card.getByText("Details").click();
  await expect(card).toContainText("plugins.d/stamp");
  await page.route("**/api/v1/plugins*", (route) => route.fulfill({ json: { next: null, items: [{
    name: "units", version: "1.2.0", description: "Units of measure", state: "trusted", dir: "/p/units", services: ["llm"], env: ["UNITS_KEY"],
    functions: [{ name: "units.convert", kind: "call", summary: "Convert a number" }, { name: "units.near", kind: "importance", summary: "" }],
  }] } }));
  await page.reload();
  const units = page.getByRole("article", { name: "units" });
  await expect(units.locator(".badge").first()).toHaveText("✓ trusted");
  await expect(units.getByRole("listitem")).toHaveText(["units.convert call Convert a number", "units.near importance function"]);
  await expect(units).toContainText("May use: llm UNITS_KEY");
  await expectAccessible(page);
  await units.getByRole("link", { name: "units.convert" }).click();
  await expect(page).toHaveURL(/\/calls\/units\.convert$/);
});

test("a call is found, and made", async ({ page }) => {
  await page.goto("/calls");
  await page.getByLabel("Search calls").fill("template");
  await page.getByRole("link", { name: /^template/ }).click();
  await expect(page.getByRole("region", { name: "Parameters" })).toContainText("template");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect(page.locator(".result")).toContainText('"text"');
  await page.getByLabel("Request").fill('{"with": {"template": "six times {{ n }}", "values": {"n": 7}}}');
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect(page.locator(".result")).toContainText("six times 7");
  await page.getByLabel("Request").fill('{"with": {}}');
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("template");
  await page.getByRole("button", { name: "Back to the example" }).click();
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect(page.locator(".result")).toContainText('"text"');
});

test("the example of a call that asks a model runs without one", async ({ page }) => {
  await page.goto("/calls/slot");
  await expect(page.getByLabel("Request")).toHaveValue(/"llm"/);
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect(page.locator(".result")).toContainText("slot_data");
});

test("a memory is searched, and deleted once that is confirmed", async ({ page }) => {
  await page.request.post("/api/v1/memory", { data: { content: "I moved to Hangzhou", user: "lin" } });
  await page.goto("/memory?user=lin");
  await page.getByLabel("Search").fill("Hangzhou");
  await page.getByRole("button", { name: "Find" }).click();
  const found = page.getByRole("list", { name: "Found memories" }).getByRole("listitem").filter({ hasText: "I moved to Hangzhou" });
  expect((await found.boundingBox())!.height).toBeLessThanOrEqual(41);
  await found.getByRole("button", { name: "I moved to Hangzhou" }).first().press("Enter");
  await expect(found).toContainText("matches");
  await found.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.getByText("Nothing was found")).toBeVisible();
});

test("what a memory was before is among its details", async ({ page }) => {
  const { id } = (await (await page.request.post("/api/v1/memory", { data: { content: "I drink tea", user: "ada" } })).json()) as { id: string };
  const memory = (await (await page.request.get(`/api/v1/memory/${id}?user=ada`)).json()) as object;
  await page.request.post("/api/v1/memory/import", { data: JSON.stringify({ ...memory, content: "I drink coffee" }) + "\n", headers: { "Content-Type": "application/x-ndjson" } });
  await page.goto("/memory?user=ada");
  const found = page.getByRole("listitem").filter({ hasText: "I drink coffee" });
  await expect(found).not.toContainText("I drink tea");
  await found.getByRole("button", { name: "I drink coffee" }).first().click();
  await expect(found).toContainText("I drink tea");
});

test("a memory leads to its run, or to the runs of its session", async ({ page }) => {
  const run = (await (await page.request.post("/api/v1/runs?wait=30s", { data: { flow: "quickstart", inputs: {} } })).json() as { run: string }).run;
  for (const session of [run, "monday"]) await page.request.post("/api/v1/memory", { data: { content: `Said in ${session}`, user: "zoe", session, role: "user" } });
  await page.goto("/memory?user=zoe");
  const row = page.getByRole("listitem").filter({ hasText: `Said in ${run}` });
  await expect(row.locator(".badge")).toHaveText("user");
  await expect(page.getByRole("link", { name: "session monday" })).toHaveAttribute("href", /\/runs\?q=monday$/);
  await row.getByRole("link").click();
  await expect(page.locator(".run-head")).toContainText("quickstart");
});

for (const look of looks) {
  test(`chat, calls, memory, plugins and schedules in ${look.language}, ${look.theme}`, async ({ page }) => {
    await page.request.post("/api/v1/memory", { data: { content: "The lighthouse opens on Sunday", user: "mei" } });
    await page.request.post("/api/v1/runs?wait=30s", { data: { flow: "quickstart", session: "looks", inputs: {} } });
    await setLook(page, look);
    const screens = [
      ["chat", "/chat/quickstart?session=looks", ".turn-foot"], ["call", "/calls/in-chat", ".try"], ["memory", "/memory?user=mei", ".memory-text"],
      ["plugins", "/plugins", ".plugin"], ["schedules", "/schedules", ".schedule"],
    ] as const;
    for (const [name, path, sign] of screens) {
      await page.goto(path);
      await expect(page.locator(sign).first()).toBeVisible();
      await expectAccessible(page);
      await keepScreen(page, name, look);
    }
    await page.setViewportSize({ width: 390, height: 860 });
    for (const [name, path, sign] of screens) {
      await page.goto(path);
      await expect(page.locator(sign).first()).toBeVisible();
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), name).toBe(390);
      await keepScreen(page, `${name}-narrow`, look);
    }
  });
}

for (const { language, look, next } of [
  { language: "en", look: "light", next: { schedules: "Show the flows", plugins: "Read the guide", calls: "Show all calls", memory: "Go to the chat" } },
  { language: "zh", look: "dark", next: { schedules: "查看流程", plugins: "阅读指南", calls: "显示全部调用", memory: "去聊天" } },
] as const) {
  test(`a list without anything says the next step, in ${language}`, async ({ page }) => {
    await setLook(page, { language, theme: look });
    for (const list of ["schedules", "plugins", "memory"]) {
      await page.route(new RegExp(`/api/v1/${list}(\\?|$)`), (route) => route.fulfill({ json: { items: [] } }));
    }
    await page.goto("/schedules");
    await expect(page.locator(".empty")).toContainText("triggers:");
    await expect(page.locator(".empty").getByRole("link", { name: next.schedules })).toHaveAttribute("href", "/flows");
    await page.goto("/plugins");
    await expect(page.locator(".empty").getByRole("link", { name: next.plugins })).toHaveAttribute("href", "/help/plugins");
    await page.goto("/memory?user=empty");
    await expect(page.locator(".empty").getByRole("link", { name: next.memory })).toHaveAttribute("href", "/chat");
    await page.goto("/calls");
    await page.getByRole("searchbox").fill("no such call");
    await page.getByRole("button", { name: next.calls }).click();
    await expect(page.getByRole("link", { name: /^context/ })).toBeVisible();
  });
}
