import { defineConfig } from "@playwright/test";

// The tests run against the program itself: e2e/server.ts builds a project and starts
// scheduler serve in it. The browser is Debian's, or the one of CHROMIUM.
export default defineConfig({
  projects: [
    { name: "unit", testDir: "test" },
    { name: "e2e", testDir: "e2e" },
  ],
  outputDir: "build/results",
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  forbidOnly: true,
  reporter: [["list"]],
  globalSetup: "./e2e/server.ts",
  use: {
    viewport: { width: 1360, height: 860 },
    reducedMotion: "reduce",
    actionTimeout: 15_000,
    screenshot: "only-on-failure",
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell" },
  },
});
