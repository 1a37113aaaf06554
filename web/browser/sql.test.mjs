// SQL in Explore, in a real browser: FOLIOT=address node --test browser/sql.test.mjs

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { address, becomes, drawn, forgive, go, keep, legend, now, page, write } from "./stage.mjs";

/** A minute of samples of two beds, and what they are like. */
async function plant() {
  const lines = [];
  for (let back = 60; back > 0; back -= 10) {
    lines.push(`plot,bed=north,side=a ph=6.5,water=${back}i ${now() - back}000000000`, `plot,bed=south ph=${7 + back / 100},water=9007199254740993i ${now() - back}000000000`);
  }
  await write(lines.join("\n"));
}

const explore = (texts, more = []) => go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ...[texts].flat().map((text) => ["s", text]), ...more])}`);

const PER_BED = "SELECT date_bin(INTERVAL '10 seconds', time) AS time, bed, avg(ph) AS ph FROM plot WHERE time >= $start AND time < $end GROUP BY 1, bed ORDER BY 1";

const cells = (row) => page.locator(".result tbody tr").nth(row).locator("td").allTextContents();

async function downloaded(kind) {
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await page.getByRole("button", { name: kind, exact: true }).click();
  return readFileSync(await (await saving).path(), "utf8");
}

test("an answer with times is drawn, a line for each combination of texts and each number, and is a table, too", async () => {
  await plant();
  await explore(PER_BED);
  await page.locator(".legend .line").first().waitFor();
  await drawn();
  await becomes(legend, ["ph {bed=north}", "ph {bed=south}"]);
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await becomes(() => page.locator(".result thead th").allTextContents(), ["time", "bed", "ph"]);
  await becomes(async () => (await cells(0)).join(","), /^\d{4}-.*\.000000000,(north|south),\d/);
  await page.getByRole("button", { name: "ph", exact: true }).click();
  await becomes(async () => (await cells(0))[1], "south", "the greatest first");
  await page.getByRole("button", { name: "bed", exact: true }).click();
  await becomes(async () => (await cells(0))[1], "north");
  assert.match(await downloaded("CSV"), /^time,bed,ph\n\d{19},(north|south),/);
  // The view stands in the address.
  await page.reload();
  await becomes(() => page.locator(".result thead th").count(), 3);
});

test("an answer without times is a table, with all digits and NULL as nothing", async () => {
  await plant();
  await explore("SELECT bed, side, max(water) AS most, min(ph) AS least FROM plot WHERE time >= $start GROUP BY bed, side ORDER BY bed");
  await becomes(() => cells(0), ["north", "a", "60", "6.5"]);
  await becomes(() => cells(1), ["south", "–", "9007199254740993", "7.1"]);
  await becomes(() => page.locator(".result canvas").count(), 0);
  assert.match(await downloaded("JSON lines"), /"bed":"south"/);
  await page.getByText("Explain: how it was answered").click();
  await becomes(() => page.locator(".cost > ul > li").first().textContent(), /^A SELECT bed.*in the server$/s);
});

test("several statements are asked one after another, what is selected alone, and a wrong one is told at its place", async () => {
  await plant();
  await explore("SELECT count(*) AS n FROM plot;\nSELECT bed FROM plot GROUP BY bed ORDER BY bed");
  await becomes(() => page.locator(".result table").count(), 2);
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Only what was selected is asked").waitFor();
  await becomes(() => page.locator(".result table").count(), 1);
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("SELECT count(*) FROM plot;\nSELECT nope FROM plot");
  await page.locator(".cm-wrong").waitFor();
  await becomes(() => page.locator(".cm-wrong").textContent(), "nope");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("nope").first().waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("DELETE FROM plot");
  await page.keyboard.press("Enter");
  await becomes(() => page.getByRole("alert").first().textContent(), /DELETE/i);
  forgive("status of 4");
});

test("tables, columns, values and functions are completed, also before a table is named", async () => {
  await plant();
  await explore("SELECT ");
  const editor = page.locator(".editor .cm-content");
  await becomes(() => page.getByLabel("Text in sql").count(), 1);
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("wat");
  await page.getByRole("option", { name: /^water/ }).waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("SELECT bed, med");
  await page.getByRole("option", { name: /^median\(\).*middle value/ }).waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("SELECT ph FROM plo");
  await page.getByRole("option", { name: /^plot/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type(" WHERE bed = 'so");
  await page.getByRole("option", { name: /^'south'/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await becomes(() => editor.textContent(), "SELECT ph FROM plot WHERE bed = 'south'");
  forgive("400");
});

test("a form becomes SQL with its step, and SQL is copied, saved and put on a dashboard", async () => {
  await plant();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "avg:10s-max:plot.ph{bed=*}"]])}`);
  await page.locator(".legend .line").first().waitFor();
  await page.getByLabel("Language").selectOption("sql");
  await page.locator(".row .cm-content").filter({ hasText: "max(ph) AS ph" }).waitFor();
  await becomes(legend, ["ph {bed=north}", "ph {bed=south}"]);
  await becomes(() => new URLSearchParams(page.url().split("?")[1]).get("s"), "SELECT date_bin(INTERVAL '10 seconds', time) AS time, bed, max(ph) AS ph\nFROM plot\nWHERE time >= $start AND time < $end\nGROUP BY 1, bed\nORDER BY 1");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy as" }).click();
  await page.getByRole("button", { name: "address", exact: true }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /\/api\/v3\/query_sql\?/);
  const rows = await (await fetch(copied.includes("db=") ? copied : `${copied}&db=default`)).json();
  assert.deepEqual([...new Set(rows.map(({ bed }) => bed))].sort(), ["north", "south"]);
  await keep("saved", { name: "Plots", panels: [{ title: "By bed", address: page.url().slice(page.url().indexOf("#")) }] });
  await go("#/dashboards?name=Plots");
  await page.waitForFunction(() => document.querySelectorAll(".panel .key li").length === 2);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Question 1 of panel 1, in SQL").waitFor();
  await fetch(`${address}/api/foliot/v1/saved?name=Plots`, { method: "DELETE" });
});

/** Two hours ago: some samples of a bed, each with a note of its own. */
async function plantLongAgo() {
  const at = (back) => `${now() - 7200 - back}000000000`;
  await write([10, 20, 30, 40, 50, 60].map((back) => `loam,bed=${back % 20 ? "a" : "b"},note=n${back} ph=20.486666666666668,n=${back}i ${at(back)}`).join("\n"));
}

test("rows are a table, though they have times, unless a graph is chosen, which tells where they lie", async () => {
  await plantLongAgo();
  await explore("SELECT * FROM loam LIMIT 20");
  await page.locator(".stated .caption").getByText(/^6 rows, (less than )?\d+ ms$/).waitFor();
  await becomes(() => page.locator(".result canvas").count(), 0);
  await becomes(() => page.getByRole("button", { name: "Table", exact: true }).getAttribute("aria-pressed"), "true");
  // A number has no more digits than one reads, and all where they are wanted.
  const number = page.getByRole("cell", { name: "20.48666667", exact: true }).first();
  assert.equal(await number.getAttribute("title"), "20.486666666666668");
  await page.getByRole("button", { name: "Graph", exact: true }).click();
  await page.getByText(/^All of it lies before this range: from/).waitFor();
  await becomes(legend, ["n {bed=b}", "ph {bed=b}", "n {bed=a}", "ph {bed=a}"], "a note is no line");
  await page.getByRole("button", { name: "Show its range" }).click();
  await drawn();
  await becomes(() => page.getByText("All of it lies").count(), 0);
  await page.reload();
  await page.locator(".result canvas").first().waitFor();
});

test("each statement has its answer with its text, rows and time, or its error in its place", async () => {
  await plant();
  await explore(`SELECT count(*) AS n FROM plot;\nSELECT nope FROM plot;\n${PER_BED};\nSELECT bed FROM plot GROUP BY bed`);
  const stated = page.locator(".stated");
  await becomes(() => stated.count(), 4);
  const captions = () => page.locator(".stated .caption").allTextContents();
  await becomes(async () => (await captions()).map((text) => text.trim().replace(/(less than )?\d+ ms$/, "ms")), ["SELECT count(*) AS n FROM plot 1 row, ms", "SELECT nope FROM plot", "SELECT date_bin(INTERVAL '10 seconds', time) AS time, bed, avg(ph) AS ph FROM plot WHERE … 2 lines in the graph, ms", "SELECT bed FROM plot GROUP BY bed 2 rows, ms"]);
  await stated.nth(1).getByRole("alert").getByText("nope").first().waitFor();
  await becomes(() => page.locator(".rows .failed").count(), 0);
  await becomes(legend, ["ph {bed=north}", "ph {bed=south}"]);
  forgive("status of 4");
});

test("what is no statement leaves no empty card", async () => {
  await plant();
  await explore("SELEC 1");
  await page.locator(".rows .failed").waitFor();
  await becomes(() => page.locator(".result").count(), 0);
  forgive("status of 4");
});

test("several answers are several files, or one of them, and no file has two headers", async () => {
  await plant();
  await explore("SELECT count(*) AS n FROM plot; SELECT bed FROM plot GROUP BY bed ORDER BY bed");
  await becomes(() => page.locator(".stated").count(), 2);
  const names = [];
  const files = [];
  const onDownload = async (download) => { names.push(download.suggestedFilename()); files.push(readFileSync(await download.path(), "utf8")); };
  page.on("download", onDownload);
  await page.getByRole("button", { name: "Download" }).click();
  await page.getByRole("button", { name: "CSV", exact: true }).click();
  await becomes(() => files.length, 2);
  page.off("download", onDownload);
  assert.deepEqual([names.sort(), files.sort()], [["foliot-1.csv", "foliot-2.csv"], ["bed\nnorth\nsouth\n", files.sort()[1]]]);
  assert.match(files.sort()[1], /^n\n\d+\n$/);
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await page.getByLabel("Answer", { exact: true }).selectOption("1");
  await page.getByRole("button", { name: "CSV", exact: true }).click();
  assert.equal(readFileSync(await (await saving).path(), "utf8"), "bed\nnorth\nsouth\n");
});

test("all rows of a statement come from the server where the page has the first of them", async () => {
  const begin = now() - 60;
  await write(Array.from({ length: 10_003 }, (_, at) => `crowd n=${at}i ${begin}${String(at).padStart(9, "0")}`).join("\n"));
  await explore("SELECT time, n FROM crowd WHERE time >= $start AND time < $end", [["view", "table"]]);
  await page.locator(".stated .caption").getByText(/^10000 rows/).waitFor();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await page.getByRole("button", { name: "All rows, CSV" }).click();
  assert.equal(readFileSync(await (await saving).path(), "utf8").trim().split("\n").length, 10_004);
});

test("tables and their columns stand beside the editor, are found, and put into the text; Format puts that in lines", async () => {
  await plant();
  await write(`"odd name",bed=a ph=1 ${now()}000000000`.replace('"odd name"', "odd\\ name"));
  await explore("SELECT ");
  const editor = page.locator(".editor .cm-content");
  const tables = page.getByRole("complementary", { name: "Tables" });
  await tables.getByRole("button", { name: "plot", exact: true }).waitFor();
  await tables.getByRole("button", { name: "Columns of plot" }).click();
  await becomes(() => tables.locator("ul ul button").allTextContents(), ["time time", "bed label", "side label", "ph float", "water integer"]);
  await editor.click();
  await page.keyboard.press("Control+End");
  await tables.getByRole("button", { name: "ph float" }).click();
  await page.keyboard.type(" FROM");
  await tables.getByLabel("Find a table").fill("odd");
  await becomes(() => tables.locator("ul > li > .name").allTextContents(), ["odd name"]);
  await tables.getByRole("button", { name: "odd name", exact: true }).click();
  await becomes(() => editor.textContent(), 'SELECT ph FROM "odd name"');
  await page.keyboard.type(" WHERE time >= $start AND ph > 0");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Format" }).click();
  await becomes(() => new URLSearchParams(page.url().split("?")[1]).get("s"), 'SELECT ph\nFROM "odd name"\nWHERE time >= $start AND ph > 0');
  await tables.getByRole("button", { name: "Tables" }).click();
  await becomes(() => tables.getByLabel("Find a table").count(), 0);
  await page.reload();
  await page.locator(".editor .cm-content").waitFor();
  await becomes(() => tables.getByLabel("Find a table").count(), 0, "it is remembered");
  await page.setViewportSize({ width: 700, height: 900 });
  await becomes(() => tables.isVisible(), false);
  forgive("400");
});
