import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, expectAccessible, setLook, test } from "./fixtures.ts";
import { program, serveProject } from "./server.ts";

test("the login link logs in once, a token does too, and logging out ends the session", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL });
  const page = await context.newPage();
  await page.goto("/runs");
  await expect(page.getByRole("heading", { name: "Log in" })).toBeVisible();
  await page.getByLabel("Token").fill("sch_wrong_token");
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("alert")).toContainText("unknown, revoked or expired");
  await page.getByLabel("Token").fill(process.env.SCHEDULER_TOKEN!);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByRole("heading", { name: "Log in" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Log in" })).toBeVisible();
  await page.goto(process.env.SCHEDULER_LINK!);
  await expect(page.getByRole("heading", { name: "Flows" })).toBeVisible();
  expect((await context.request.get(process.env.SCHEDULER_LINK!)).status()).toBe(401);
  await context.close();
});

test("language and theme change at once and are kept", async ({ page }) => {
  await page.goto("/");
  await page.getByLabel("Language").selectOption("zh");
  await expect(page.getByRole("heading", { name: "流程", exact: true })).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
  await page.getByRole("button", { name: "配色" }).press("Enter"); // the menu is used by the keyboard alone
  await expect(page.getByRole("menuitemradio", { name: "跟随系统" })).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expectAccessible(page);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("menu")).toHaveCount(0);
  const asked = page.waitForRequest((request) => request.url().includes("/api/v1/runs"));
  await page.reload();
  expect((await asked).headers()["accept-language"]).toBe("zh"); // the server answers in it
  await expect(page.getByRole("heading", { name: "流程", exact: true })).toBeVisible();
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(await ground()).toBe("rgb(21, 23, 28)");
  await page.getByRole("button", { name: "配色" }).click();
  await page.getByRole("menuitemradio", { name: "浅色" }).click();
  expect(await ground()).toBe("rgb(247, 247, 249)");
});

test("a path that no screen has says so", async ({ page }) => {
  await page.goto("/nowhere");
  await expect(page.getByRole("heading", { name: "This page does not exist" })).toBeVisible();
});

test("assets are kept for good, the document never, and both have a strict policy", async ({ page }) => {
  const answer = await page.goto("/");
  const policy = answer!.headers()["content-security-policy"]!;
  expect(policy).toContain("script-src 'self';");
  expect(policy).not.toContain("unsafe");
  expect(answer!.headers()["cache-control"]).toBe("no-store");
  const script = await page.locator("script[src]").first().getAttribute("src");
  const asset = await page.request.get(script!);
  expect(asset.headers()["cache-control"]).toContain("immutable");
  expect(asset.headers()["content-encoding"]).toBe("gzip");
  const plain = await page.request.get(script!, { headers: { "Accept-Encoding": "identity" } });
  expect(plain.headers()["content-encoding"]).toBeUndefined();
  expect(await plain.text()).toBe(await asset.text());
});

test("on a narrow screen the links are one row, and all of them can be reached", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 860 });
  for (const language of ["en", "zh"] as const) {
    await setLook(page, { language, theme: "light" });
    await page.goto("/runs");
    const bar = page.locator(".bar");
    await expect(bar.locator("nav a").first()).toBeVisible();
    expect((await bar.boundingBox())!.height).toBeLessThan(90); // two rows
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await bar.locator("nav a").last().focus();
    await expect(bar.locator("nav a").last()).toBeInViewport({ ratio: 0.9 });
    await page.goto("/plugins"); // the link of the screen is in sight at once
    await expect(bar.locator("nav a[aria-current]")).toBeInViewport({ ratio: 0.9 });
  }
});

test("the link of the screen stays in sight when the count of the inbox comes late", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 860 });
  let answer = () => {};
  const asked = new Promise<void>((resolve) => (answer = resolve));
  await page.route("**/api/v1/waiting?*", async (route) => {
    await asked;
    await route.fulfill({ json: { items: Array.from({ length: 100 }, () => ({})), next: "more" } });
  });
  await page.goto("/plugins");
  const link = page.locator(".bar nav a[aria-current]");
  await expect(link).toBeInViewport({ ratio: 0.9 });
  answer();
  await expect(page.locator(".bar .count")).toHaveText("100+");
  await expect(link).toBeInViewport({ ratio: 0.9 });
});

test("a new project opens the form that runs hello, and the flows once something has run", async ({ browser }) => {
  const dir = mkdtempSync(join(tmpdir(), "scheduler-new-"));
  const made = spawnSync(program, ["init", "shop", "--template", "hello"], { cwd: dir, encoding: "utf8" });
  expect(made.status, made.stderr).toBe(0);
  const { link, stop } = await serveProject(join(dir, "shop"));
  const page = await browser.newPage();
  await page.goto(link);
  await expect(page).toHaveURL(/\/flows\/hello\?tab=run$/);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await page.goto(new URL("/", link).href);
  await expect(page).toHaveURL(/\/flows$/);
  await expect(page.locator(".flow-card")).toHaveCount(1);
  await page.close();
  await stop();
  rmSync(dir, { recursive: true, force: true });
});
