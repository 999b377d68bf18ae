import { expect, expectAccessible, keepScreen, looks, setLook, startRun, test } from "./fixtures.ts";

/** Every view with a sign that it is there. RUN is a finished run, WAITS one that waits. */
const views: [name: string, path: string, sign: string][] = [
  ["home", "/", "h1"], ["flows", "/flows", "h1"], ["flow", "/flows/quickstart", ".cm-content"], ["flow-table", "/flows/quickstart?view=table", "table.plain"],
  ["flow-preview", "/flows/quickstart?view=preview", ".preview .piece"], ["flow-run", "/flows/quickstart?tab=run", ".schema-form"],
  ["flow-history", "/flows/quickstart?tab=history", "[role=table], .card"], ["flow-triggers", "/flows/timed?tab=triggers", "table.plain"],
  ["runs", "/runs", "h1"], ["run", "/runs/RUN", ".run-head"], ["run-prompt", "/runs/RUN?step=answer&tab=prompt", ".piece"],
  ["inbox", "/inbox", "h1"], ["answer", "/inbox/WAITS", "form"], ["tests", "/tests", "h1"], ["chats", "/chat", "h1"], ["chat", "/chat/quickstart?session=walk", "textarea"],
  ["memory", "/memory?user=walker", ".memory-row"], ["schedules", "/schedules", ".schedule"], ["calls", "/calls", "h1"], ["call", "/calls/chat", ".call"],
  ["plugins", "/plugins", ".plugin"], ["help", "/help", "h1"], ["nothing", "/nowhere", "h1"],
];

for (const look of looks) {
  test(`every view is accessible and fits a phone, in ${look.language}, ${look.theme}`, async ({ page }) => {
    test.setTimeout(240_000);
    const [run, waits] = [await startRun(page, "quickstart"), await startRun(page, "order")];
    await page.request.post("/api/v1/memory", { data: { content: "A long walk along the pier, to the lighthouse and back", user: "walker", session: run, role: "user" } });
    await setLook(page, look);
    await page.setViewportSize({ width: 390, height: 860 });
    for (const [name, path, sign] of views) {
      await test.step(name, async () => {
        await page.goto(path.replace("RUN", run).replace("WAITS", waits));
        await expect(page.locator(sign).first()).toBeVisible();
        await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), `${name}: how wide it is`).toBe(390);
        await expectAccessible(page);
        await keepScreen(page, `walk-${name}`, look);
      });
    }
  });
}

test("the Tab key reaches the end of every view, and each stop can be seen", async ({ page }) => {
  test.setTimeout(240_000);
  const [run, waits] = [await startRun(page, "quickstart"), await startRun(page, "order")];
  await page.request.post("/api/v1/memory", { data: { content: "tea", user: "walker", session: run, role: "user" } });
  for (const [name, path, sign] of views) {
    await test.step(name, async () => {
      await page.goto(path.replace("RUN", run).replace("WAITS", waits));
      await expect(page.locator(sign).first()).toBeVisible();
      const seen = new Set<number>();
      let isOver = false;
      for (let i = 0; i < 400 && !isOver; i++) {
        if (await page.locator(".cm-content").evaluateAll((all) => all.some((one) => one === document.activeElement))) await page.keyboard.press("Escape"); // then Tab leaves the editor
        await page.keyboard.press("Tab");
        const stop = await page.evaluate(() => {
          const at = document.activeElement as HTMLElement | null;
          if (!at || at === document.body) return { index: -1, isSeen: true, html: "" };
          const box = at.getBoundingClientRect();
          const isSeen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
          return { index: [...document.querySelectorAll("*")].indexOf(at), isSeen, html: at.outerHTML.slice(0, 150) };
        });
        expect(stop.isSeen, `${name}: the focus is on something that cannot be seen: ${stop.html}`).toBe(true);
        isOver = stop.index < 0 || (i > 0 && seen.has(stop.index) && stop.index === [...seen][0]);
        seen.add(stop.index);
      }
      expect(isOver, `${name}: the Tab key comes round`).toBe(true);
      expect(seen.size, `${name}: stops of the Tab key`).toBeGreaterThan(5);
    });
  }
});
