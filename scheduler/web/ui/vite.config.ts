import { defineConfig } from "vite";

// The page is built for browsers of the last two years, without inline scripts or styles:
// the server's Content-Security-Policy refuses them.
export default defineConfig({
  build: {
    target: "es2023",
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // the first with light-dark(), which is kept as it is
    outDir: "build/dist",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    // "use client" is for servers that render; this page has none.
    rolldownOptions: { onLog: (level, log, handle) => log.code !== "MODULE_LEVEL_DIRECTIVE" && handle(level, log) },
  },
  worker: { format: "es" },
  server: { proxy: { "/api": process.env.SCHEDULER_URL ?? "http://127.0.0.1:8050" } },
});
