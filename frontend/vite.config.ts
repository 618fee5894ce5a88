import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.LUMIHOST_URL ?? "http://127.0.0.1:8000";

export default defineConfig(({ command }) => ({
  plugins: [react()],
  base: command === "build" ? "/static/app/" : "/",
  build: {
    outDir: "../platform/lumihost/web/static/app",
    emptyOutDir: true,
    manifest: true,
    // Licences of what is in the bundle go with it, as they ask.
    license: true,
    // Inlined files would be data: URLs, which the page's content policy refuses for styles and scripts.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
    rolldownOptions: { input: "src/console/main.tsx" },
  },
  server: {
    proxy: { "/api": server, "/ws": { target: server, ws: true } },
  },
  test: {
    environment: "jsdom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["tests/setup.ts"],
    testTimeout: 20_000,
    // One page world for all files: starting it anew for each costs more than the tests.
    isolate: false,
    maxWorkers: 1,
  },
}));
