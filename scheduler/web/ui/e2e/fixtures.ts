import { expect, test as base, type Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The languages and themes that every screen is shown in. */
export const looks = (["en", "zh"] as const).flatMap((language) => (["light", "dark"] as const).map((theme) => ({ language, theme })));
export type Look = (typeof looks)[number];

/**
 * page is logged in by token and fails its test when a script throws, or the server's
 * Content-Security-Policy refuses something.
 */
export const test = base.extend<{ page: Page; token: string }>({
  token: async ({}, use) => use(process.env.SCHEDULER_TOKEN!),
  baseURL: async ({}, use) => use(process.env.SCHEDULER_URL!),
  page: async ({ page, context, token }, use) => {
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.stack ?? error.message));
    page.on("console", (message) => {
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) faults.push(message.text());
    });
    const answer = await context.request.post("/api/v1/session", { data: { token } });
    expect(answer.status()).toBe(204);
    await use(page);
    expect(faults, "errors of the page, refusals of its Content-Security-Policy among them").toEqual([]);
  },
});

export { expect };

/** Chooses the language and theme of the pages that are opened from now on. */
export async function setLook(page: Page, { language, theme }: Look) {
  await page.addInitScript(([l, t]) => {
    localStorage.setItem("language", l!);
    localStorage.setItem("theme", t!);
  }, [language, theme]);
}

/** Keeps a picture of a screen in build/screens, to be looked at. */
export async function keepScreen(page: Page, name: string, { language, theme }: Look) {
  await page.screenshot({ path: `build/screens/${name}-${language}-${theme}.png`, fullPage: true });
}

/** Holds what is shown to WCAG 2.2 A and AA. */
export async function expectAccessible(page: Page) {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => {
    const axe = (window as unknown as { axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }).axe;
    const { violations } = await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
    return violations.map((v) => ({ id: v.id, nodes: v.nodes.slice(0, 5).map((n) => [n.html.slice(0, 300), n.failureSummary]) }));
  });
  expect(violations).toEqual([]);
}

/** Starts a run by the API and waits until it is over or waits for values. */
export async function startRun(page: Page, flow: string, inputs: Record<string, unknown> = {}): Promise<string> {
  const answer = await page.request.post("/api/v1/runs?wait=30s", { data: { flow, inputs } });
  expect(answer.ok(), await answer.text()).toBe(true);
  return ((await answer.json()) as { run: string }).run;
}
