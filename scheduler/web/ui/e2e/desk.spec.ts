import type { Page } from "@playwright/test";
import { startDesk, type Desk } from "./desk.ts";
import { expect, expectAccessible, keepScreen, looks, setLook, test as base } from "./fixtures.ts";

type Language = "en" | "zh";

/** A turn is the customer's message and a pattern of the words that come back. */
type Turn = [says: string, reads: RegExp];

/** desks are the servers of both languages; language chooses the one that page is logged in to. */
const test = base.extend<{ language: Language }, { desks: Record<Language, Desk> }>({
  desks: [async ({}, use) => {
    const desks = { en: await startDesk("en"), zh: await startDesk("zh") };
    await use(desks);
    for (const one of Object.values(desks)) await one.stop();
  }, { scope: "worker" }],
  language: ["en", { option: true }],
  baseURL: async ({ desks, language }, use) => use(desks[language].url),
  token: async ({ desks, language }, use) => use(desks[language].token),
});

const talks: Record<Language, Record<string, Turn[]>> = {
  en: {
    "all in one message": [["The mug of order A-1042 came broken.", /found order A-1042 \(mug, bowl\).* broken/]],
    "an answer as a sentence": [
      ["My order is late.", /order number.*A-1042/],
      ["It is A-1042, I think.", /found order A-1042 .* late/],
    ],
    "two values in one message": [
      ["I have a question about an order.", /order number/],
      ["A-1042, and it came broken.", /found order A-1042 .* broken/],
    ],
    "a wrong value, then the right one": [
      ["My order is late.", /order number/],
      ["the blue one", /could not find.*order number.*A-1042/],
      ["A-1042", /found order A-1042 .* late/],
    ],
    "a change of subject": [
      ["My order is late.", /order number/],
      ["When are you open?", /order number/],
      ["A-1042", /found order A-1042 .* late/],
    ],
    cancel: [
      ["My order is late.", /order number/],
      ["cancel", /stopped/],
      ["When are you open?", /open from nine to five/],
    ],
    "an order that does not exist": [["Order Z-9999 is late.", /I find no order Z-9999/]],
    "a refund": [["The mug of order A-1042 came broken. Please refund it.", /refunded 48 EUR/]],
    "the talk goes on": [["Hello!", /written 1 times/], ["When are you open?", /written 2 times/]],
  },
  zh: {
    "一句话里的回答": [["我的订单坏了。", /订单号/], ["是 A-1042。", /已找到订单 A-1042。问题：坏了/]],
    "一句话里的两个值": [["我想问一个订单。", /订单号/], ["A-1042，收到时坏了。", /已找到订单 A-1042。问题：坏了/]],
    "先答错，再答对": [["我的订单迟到了。", /订单号/], ["蓝色的那个", /没.*订单号.*A-1042/], ["A-1042", /已找到订单 A-1042。问题：迟到/]],
    "换话题": [["我的订单迟到了。", /订单号/], ["你们几点开门？", /订单号/], ["A-1042", /已找到订单 A-1042。问题：迟到/]],
    "取消": [["我的订单坏了。", /订单号/], ["取消", /取消/], ["你们几点开门？", /第 \d 句话/]],
  },
};

/** forbidden are shapes that no customer may read: patterns, keys, pointers, paths, JSON and errors of Go. */
const forbidden = /\^|\\d|\{[\d,]+\}|\["|\{"|order_number|\/problem|\/order|\/slot|schema|pattern|JSON|provider|\.ya?ml|127\.0\.0\.1|https?:|dial |%!|<nil>|panic|undefined|\[object/;

/** Says something on the page and waits for the words that come back. */
async function say(page: Page, words: string, reads: RegExp) {
  const bubbles = page.locator(".talk .said");
  const box = page.locator(".say textarea");
  await box.fill(words);
  await page.keyboard.press("Enter");
  await expect(page.locator(".talk .mine pre").last()).toHaveText(words);
  await expect(bubbles.last().locator("pre, .asks").first()).toHaveText(reads);
  await expect(box).toHaveValue("");
  await expectPlain(page);
}

/** Checks all that stands in the chat, the labels and hints of its fields too. */
async function expectPlain(page: Page) {
  const shown = await page.locator(".talk, .say").evaluateAll((parts) =>
    parts.flatMap((part) => [(part as HTMLElement).innerText, ...[...part.querySelectorAll("[placeholder], [aria-label], [title]")].flatMap((one) =>
      ["placeholder", "aria-label", "title"].map((name) => one.getAttribute(name) ?? ""))]).join("\n"));
  expect(shown).not.toMatch(forbidden);
}

for (const language of ["en", "zh"] as const) {
  test.describe(language, () => {
    test.use({ language });
    for (const [name, turns] of Object.entries(talks[language])) {
      test(name, async ({ page, desks }) => {
        await setLook(page, { language, theme: "light" });
        await page.goto(`/chat/support?session=${encodeURIComponent(name)}`);
        for (const [words, reads] of turns) await say(page, words, reads);
        await expect(page.locator(".talk .error-box")).toHaveCount(0);
        expect(desks[language].refused(), "requests to the model that is dead").toBeGreaterThan(0);
      });
    }
  });
}

for (const look of looks) {
  test.describe(() => {
    test.use({ language: look.language });
    test(`the desk asks in ${look.language}, ${look.theme}`, async ({ page }) => {
      const words = look.language === "en" ? ["My order is late.", "the blue one"] as const : ["我的订单迟到了。", "蓝色的那个"] as const;
      const asks = look.language === "en" ? /order number/ : /订单号/;
      await setLook(page, look);
      await page.goto(`/chat/support?session=asks-${look.theme}`);
      await say(page, words[0], asks);
      await keepScreen(page, "desk-asks", look);
      await say(page, words[1], asks);
      await expectAccessible(page);
      await keepScreen(page, "desk-asks-again", look);
      await say(page, "A-1042", /A-1042/);
      await expect(page.locator(".answer-form")).toHaveCount(0);
      await keepScreen(page, "desk", look);
    });
  });
}

test("the rounds of an agent are a talk: the model, the tool, its result", async ({ page }) => {
  const answer = await page.request.post("/api/v1/runs?wait=30s", { data: { flow: "support", inputs: { question: "The mug of order A-1042 came broken. Please refund it.", photo: "" } } });
  const { run } = (await answer.json()) as { run: string };
  for (const look of looks) {
    await setLook(page, look);
    await page.goto(`/runs/${run}?step=reply`);
    const rounds = page.locator(".rounds");
    await expect(rounds.locator(".round-name")).toHaveText("refund");
    await expect(rounds.locator(".round-arguments, .round-result").first()).toBeVisible();
    await expect(rounds).not.toContainText('"tool_calls"');
    await expectAccessible(page);
    await keepScreen(page, "rounds", look);
  }
});
