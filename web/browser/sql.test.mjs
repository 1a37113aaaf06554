// SQL in Explore, in a real browser: FOLIOT=address node --test browser/sql.test.mjs

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { address, becomes, drawn, forgive, go, keep, legend, now, page, settledBox, write } from "./stage.mjs";

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
  await page.getByText("Only this is asked").waitFor();
  await becomes(() => page.locator(".result table").count(), 1);
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("SELECT count(*) FROM plot;\nSELECT nope FROM plot");
  await page.locator(".cm-wrong").waitFor();
  await becomes(() => page.locator(".cm-wrong").textContent(), "nope");
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByRole("alert").getByText("nope").first().waitFor();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("DELETE FROM plot");
  await page.keyboard.press("Control+Enter");
  await becomes(() => page.getByRole("alert").first().textContent(), /DELETE/i);
  forgive("status of 4");
});

test("of several statements the one at the cursor is asked by a key or its mark, and all of them by another", async () => {
  await plant();
  await explore("SELECT count(*) AS n FROM plot;\nSELECT bed FROM plot GROUP BY bed ORDER BY bed;\nSELECT max(water) AS w FROM plot");
  await becomes(() => page.locator(".stated").count(), 3);
  const editor = page.locator(".editor .cm-content");
  const captions = async () => (await page.locator(".stated .caption .code").allTextContents()).join();
  await editor.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Only this is asked").waitFor();
  await becomes(captions, "SELECT bed FROM plot GROUP BY bed ORDER BY bed");
  // The same again is asked again.
  const asking = page.waitForRequest(/\/v1\/query/);
  await page.keyboard.press("Control+Enter");
  await asking;
  await page.locator(".editor .cm-run").nth(2).click();
  await becomes(captions, "SELECT max(water) AS w FROM plot");
  await becomes(() => page.locator(".editor .cm-run-at").count(), 1);
  await page.keyboard.press("Control+Shift+Enter");
  await becomes(() => page.locator(".stated").count(), 3);
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("Control+Enter");
  await becomes(captions, "SELECT count(*) AS n FROM plot");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await becomes(() => page.locator(".stated").count(), 3);
  // What is typed and not asked yet is part of it.
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("; SELECT min(water) AS least FROM plot");
  await page.keyboard.press("Control+Enter");
  await becomes(captions, "SELECT min(water) AS least FROM plot");
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("SELECT 1");
  await becomes(() => page.locator(".editor .cm-run").count(), 0, "one statement alone has no mark");
});

test("a statement is typed in lines, and asked when it is whole", async () => {
  await plant();
  await explore("SELECT 1");
  const asked = [];
  page.on("request", (request) => { if (request.url().includes("/v1/query")) asked.push(request.postData()); });
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+A");
  for (const line of ["SELECT bed,", "count(*) AS n ", "FROM plot ", "GROUP BY bed ORDER BY bed"]) {
    await page.keyboard.type(line);
    await page.keyboard.press("Escape");
    if (!line.startsWith("GROUP")) await page.keyboard.press("Enter");
  }
  assert.deepEqual(asked.filter((body) => !body?.includes("by_itself")).filter((body) => body?.includes("bed") && !body.includes("GROUP BY")), [], "nothing half typed is asked");
  await page.keyboard.press("Control+Enter");
  await becomes(() => page.locator(".stated tbody td").first().textContent(), "north");
  await becomes(() => page.locator(".editor .cm-line").count(), 4);
});

test("where a statement over the page's range has no rows, that says when there are some", async () => {
  await plant();
  await go(`#/explore?${new URLSearchParams({ start: "2001/01/01", end: "2001/01/02", s: "SELECT date_bin($step, time) AS time, avg(ph) FROM plot WHERE time >= $start AND time < $end GROUP BY 1" })}`);
  await page.getByRole("button", { name: "Show that" }).click();
  await page.locator(".legend .line").first().waitFor();
});

test("the editor is as high as its text, and as somebody wants it", async () => {
  await plant();
  await explore("SELECT ph FROM plot");
  const editor = page.locator(".editor");
  const px = async () => Math.round((await editor.boundingBox()).height);
  await page.getByRole("complementary", { name: "Tables" }).getByRole("button", { name: "Tables", exact: true }).click();
  await becomes(async () => (await px()) < 60, true);
  const one = await px();
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+End");
  for (let line = 0; line < 5; line += 1) await page.keyboard.press("Enter");
  await becomes(async () => (await px()) > one + 80, true, "it grows with its text");
  for (let line = 0; line < 30; line += 1) await page.keyboard.press("Shift+Enter");
  await becomes(async () => (await px()) < 300, true, "to some lines");
  const grip = page.getByRole("separator", { name: "Height of the editor" });
  const { x, y, width } = await settledBox(grip);
  await page.mouse.move(x + width / 2, y + 3);
  await page.mouse.down();
  await page.mouse.move(x + width / 2, y + 203);
  await page.mouse.up();
  await becomes(async () => (await px()) > 430, true);
  const high = await px();
  await grip.focus();
  await page.keyboard.press("ArrowDown");
  await becomes(px, high + 24);
  await page.reload();
  await becomes(px, high + 24, "it is remembered");
  await grip.dblclick();
  await becomes(async () => (await px()) < 300, true);
  forgive("400");
});

test("each of several statements is explained by its number and text, with rows in and out, also one that failed", async () => {
  await plant();
  await explore("SELECT bed, max(ph + water) AS most FROM plot WHERE ph < water GROUP BY bed;\nSELECT nope FROM plot");
  await page.getByText("Explain: how it was answered").click();
  const steps = async () => (await page.locator(".cost .tree > li").allTextContents()).map((text) => text.replace(/\s+/g, " ").trim()).join("\n");
  await becomes(steps, /^statement 1 SELECT bed, max\(ph \+ water\).*\d row.*by itself$/m);
  await becomes(steps, /^group by bed.* rows? in, \d out, from \d+ samples, .* by itself$/m);
  await becomes(steps, /^read plot.*\d rows from \d+ samples, [\d.]+ ?[nµm]?s$/m);
  await becomes(steps, /^statement 2 SELECT nope FROM plot no answer.*nope/m);
  await becomes(() => page.locator(".cost > ul > li").first().textContent(), /waited.*before it was begun.*time.* planning \+ .* steps \+ .* printing = .* in the server$/s);
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
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await becomes(clipboard, /\/api\/v3\/query_sql\?/);
  const copied = await clipboard();
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
  const number = page.getByRole("gridcell", { name: "20.48666667", exact: true }).first();
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

/** Rows, each at a nanosecond of its own, a minute ago. */
async function crowd(name, count) {
  const begin = now() - 60;
  await write(Array.from({ length: count }, (_, at) => `${name} n=${at}i ${begin}${String(at).padStart(9, "0")}`).join("\n"));
}

test("all rows of a statement come from the server where the page has the first of them, which is told at both ends of the table", async () => {
  await crowd("crowd", 10_003);
  await explore("SELECT time, n FROM crowd WHERE time >= $start AND time < $end ORDER BY time", [["view", "table"]]);
  await page.locator(".stated .caption").getByText(/the first 10000 of 10003 rows/).waitFor();
  const box = page.getByRole("region", { name: "time, n" });
  await becomes(() => box.locator("tbody tr").count().then((count) => count < 120), true, "few rows are on the page");
  // The scrollbar is as long as all rows, and its end is theirs.
  const px = () => box.evaluate((one) => one.scrollHeight);
  const whole = await px();
  assert.ok(whole > 10_000 * 20, `${whole} px`);
  await box.evaluate((one) => one.scrollTo(0, one.scrollHeight / 2));
  await becomes(() => box.locator("tbody tr:not(.room)").first().getAttribute("aria-rowindex").then((at) => Number(at) > 4500 && Number(at) < 5500), true);
  await box.evaluate((one) => one.scrollTo(0, one.scrollHeight));
  await becomes(() => box.locator("tbody tr:not(.room)").last().locator("td").last().textContent(), "9999");
  await box.getByText("Here the answer is cut: 3 rows follow.").waitFor();
  assert.ok(Math.abs(await px() - whole) < whole / 50, `${await px()} px, not ${whole}`);
  await becomes(() => page.locator(".rows").getByText("left out").count(), 0, "it is not told far away");
  const saving = page.waitForEvent("download");
  await box.getByRole("button", { name: "All rows, CSV" }).click();
  assert.equal(readFileSync(await (await saving).path(), "utf8").trim().split("\n").length, 10_004);
  const again = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await page.locator(".menu-list").getByText("These have the first 10k rows.").waitFor();
  await page.locator(".menu-list").getByRole("button", { name: "All rows, JSON lines" }).click();
  const lines = await again;
  assert.equal(lines.suggestedFilename(), "foliot.jsonl");
  assert.equal(readFileSync(await lines.path(), "utf8").trim().split("\n").length, 10_003);
});

test("cells are chosen by mouse and by keys, and copied, also those that are not on the page", async () => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await crowd("queue", 500);
  await write(`sums,bed=a note="=1+1",ph=20.486666666666668 ${now()}000000000`);
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  await explore("SELECT bed, note, ph, ph * 2 AS twice FROM sums");
  await page.getByRole("gridcell", { name: "20.48666667" }).click();
  await page.keyboard.press("Control+C");
  await becomes(clipboard, "20.486666666666668", "a cell has all its digits");
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+ArrowRight");
  await page.getByText("1 row × 2 columns").waitFor();
  await page.keyboard.press("Control+C");
  await becomes(clipboard, "a\t'=1+1", "no formula");
  await page.keyboard.press("Escape");
  await becomes(() => page.locator("td.chosen").count(), 0);
  await explore("SELECT n, n % 7 AS week FROM queue ORDER BY n");
  const grid = page.getByRole("grid");
  await grid.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Control+Shift+ArrowDown");
  await becomes(() => grid.locator("td.at").textContent(), String(499 % 7), "what is chosen is in sight");
  await page.keyboard.press("Control+C");
  await becomes(clipboard, Array.from({ length: 500 }, (_, at) => at % 7).join("\n"));
  // By mouse, from one cell to another.
  await page.keyboard.press("Control+Home");
  await becomes(() => grid.locator("td.at").textContent(), "0");
  await grid.getByRole("row").nth(1).locator("td").first().hover();
  await page.mouse.down();
  await grid.getByRole("row").nth(3).locator("td").last().hover();
  await page.mouse.up();
  await page.getByText("3 rows × 2 columns").waitFor();
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await page.getByRole("button", { name: /^Chosen cells/ }).click();
  await becomes(clipboard, "0\t0\n1\t1\n2\t2");
  await page.getByRole("button", { name: "Whole table, CSV" }).click();
  await becomes(async () => (await clipboard()).split("\n").length, 501);
  assert.match(await clipboard(), /^n,week\n0,0\n1,1\n/);
});

test("a cell that keys lead to is in sight where the table is wider than its box", async () => {
  await plant();
  await page.setViewportSize({ width: 500, height: 900 });
  await explore(`SELECT ${Array.from({ length: 12 }, (_, at) => `ph * ${at} AS a_rather_long_name_${at}`).join(", ")} FROM plot`);
  await page.getByRole("grid").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  const right = async (what) => { const box = await what.boundingBox(); return Math.round(box.x + box.width); };
  await becomes(async () => (await right(page.locator("td.at"))) <= (await right(page.locator(".result .scroll"))) + 1, true);
});

test("groups whose rows all lie outside the range are a table, which says so, and a graph in their own range", async () => {
  await plantLongAgo();
  await explore("SELECT date_bin(INTERVAL '10 seconds', time) AS time, avg(ph) AS ph FROM loam GROUP BY 1 ORDER BY 1");
  await page.getByText(/^No graph: all of it lies before this range: from/).waitFor();
  await becomes(() => page.getByRole("gridcell").count().then((count) => count > 0), true);
  await becomes(() => page.locator(".result canvas").count(), 0);
  await page.getByRole("button", { name: "Show its range" }).click();
  await drawn();
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
  await page.keyboard.press("Control+Enter");
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
