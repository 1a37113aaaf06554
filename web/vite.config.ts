import { defineConfig } from "vite";

// The names of the files are fixed: the server has a route for each.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../crates/server/src/web/dist",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        entryFileNames: "s/page.js",
        assetFileNames: "s/page[extname]",
        // Those that are fetched later: the editor, and the pages of files.
        chunkFileNames: "s/[name].js",
      },
    },
  },
  test: { include: ["test/**/*.test.ts"] },
} as Parameters<typeof defineConfig>[0]);
