// Files in and out, in a real browser: what is saved comes in again as what it was, and what is wrong with a file is said.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { API, becomes, context, forgive, go, now, page, write } from "./stage.mjs";

async function downloaded(kind) {
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await page.getByRole("button", { name: kind, exact: true }).click();
  return (await saving).path();
}

const choose = (name, text) => page.getByLabel("File to import").setInputFiles({ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });

async function asked(path, body) {
  const answer = await fetch(`${API}/${path}`, { method: "POST", body });
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

/** Every sample of a database that has the label trip, as it is stored. */
async function stored(db) {
  const body = { language: "promql", text: '{trip="1"}[$range]', start_ms: 1000 * (now() - 7200), end_ms: 1000 * now(), unit: "ns", exact: true, makers: true };
  const { series } = await asked(`query?db=${db}`, JSON.stringify(body));
  return series.map(({ stored: as, labels, times, values, kind, kinds = [] }) => JSON.stringify([as, Object.entries(labels).sort(), times, values, kind, kinds])).sort();
}

test("samples that are saved come in again as what they were, whatever they are called and hold", async () => {
  const at = now() - 600;
  const lines = [
    `so\\sil\\c,trip=1,time=a\\nb\\b,label_time=\\c,kind=k,name=n,\\hx=\\q\\h ph=6,n=-9223372036854775808i,u=18446744073709551615u,ok=true ${at}000000001`,
    `so\\sil\\c,trip=1 ph=-0 ${at}123456789`, `edge,trip=1 v=NaN ${at}000000000`, `edge,trip=1 v=Infinity ${at + 1}000000000`, `edge,trip=1 v=-Infinity ${at + 2}000000000`,
    `put,trip=1 value=7i ${at}000000000`, `put,trip=1 value=0.5 ${at + 1}000000000`,
  ];
  for (const db of ["origin", "csv", "jsonl", "parquet"]) assert.equal((await fetch(`${API.replace("/api/foliot/v1", "")}/query?q=CREATE+DATABASE+${db}`, { method: "POST" })).status, 200);
  assert.equal((await asked("import?format=exact&db=origin", lines.join("\n"))).refused, 0);
  const expected = await stored("origin");
  assert.equal(expected.length, 7, expected.join("\n"));
  for (const [way, db] of [["CSV", "csv"], ["JSON lines", "jsonl"], ["Parquet", "parquet"]]) {
    await go(`#/explore?${new URLSearchParams({ start: "2h-ago", view: "samples", db: "origin", p: '{trip="1"}' })}`);
    await page.getByRole("region", { name: "Samples" }).waitFor();
    const file = readFileSync(await downloaded(way));
    await go(`#/import?db=${db}`);
    await page.getByText("Drop a file here").waitFor();
    await choose(`trip.${db}`, file);
    await page.getByText("says itself what its values are").waitFor();
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Import 10 good rows" }).click();
    await page.getByText("Stored: 10 samples in 10 rows").waitFor();
    assert.deepEqual(await stored(db), expected, way);
    await page.reload();
  }
});

test("texts come in again as what they were", async () => {
  const at = now() - 60;
  const note = 'say "hi", or\nnot\\';
  await asked("import?format=exact&db=default", `diary,by=me note="say\\s\\qhi\\q\\c\\sor\\nnot\\b",digits="0123" ${at}000000005`);
  await go(`#/explore?${new URLSearchParams({ start: "15m-ago", view: "samples", i: 'SELECT note, digits FROM diary WHERE time >= $start GROUP BY *' })}`);
  await page.getByRole("gridcell", { name: "0123", exact: true }).waitFor();
  const file = readFileSync(await downloaded("CSV"));
  await go("#/import");
  await choose("diary.csv", file.toString().replaceAll("diary", "again"));
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("button", { name: "Import 2 good rows" }).click();
  await page.getByText("Stored: 2 samples in 2 rows").waitFor();
  const { series } = await asked("query", JSON.stringify({ language: "influxql", text: "SELECT note, digits FROM again GROUP BY *", start_ms: 0, end_ms: 1000 * now(), unit: "ns" }));
  assert.deepEqual(series.map(({ field, kind, labels, times, values }) => [field, kind, labels, times, values]), [
    ["note", "string", { by: "me" }, [`${at}000000005`], [note]], ["digits", "string", { by: "me" }, [`${at}000000005`], ["0123"]],
  ]);
});

test("a bad line of JSON is told by its number, and the good ones are kept", async () => {
  await go("#/import");
  const row = (of) => JSON.stringify({ time: 1000 * now(), bed: "n", ph: of });
  await choose("lines.jsonl", [row(6), '{"time": 1, "ph":', row(7), "[1, 2]", ""].join("\n"));
  await page.getByRole("button", { name: "Dry run" }).click();
  const faults = page.getByRole("region", { name: "Rows that are refused" }).locator("tbody tr");
  await becomes(() => faults.allTextContents(), ['2line is no object of JSON with plain values{"time": 1, "ph":', "4line is no object of JSON with plain values[1, 2]"]);
  await page.getByRole("heading", { name: "2 rows, 2 rows refused" }).waitFor();
  await page.getByRole("button", { name: "Import 2 good rows" }).waitFor();
});

test("points of OpenTSDB as JSON come in as put lines, and one that is none is told by its number", async () => {
  const point = (by, value, tags) => `{"metric": "jsonput.ph", "timestamp": ${now() - by}, "value": ${value}, "tags": ${JSON.stringify(tags)}}`;
  await go("#/import");
  await choose("points.json", `[\n  ${point(30, "6.5", { trip: "2" })},\n  ${point(20, "7.0", { trip: "2" })},\n  ${point(10, "7", { trip: ["a"] })}\n]\n`);
  await becomes(() => page.getByLabel("Format").inputValue(), "opentsdb");
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("cell", { name: "3", exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Import 2 good lines" }).click();
  await page.getByText("Stored: 2 samples in 2 lines").waitFor();
  const { series } = await asked("query?db=default", JSON.stringify({ language: "promql", text: '{trip="2"}[$range]', start_ms: 1000 * (now() - 600), end_ms: 1000 * now() }));
  assert.deepEqual(series.map(({ name, kind, values }) => [name, kind, values]), [["jsonput.ph", "float", [6.5, 7]]]);
});

test("a format is chosen where none is told, or another one is meant, and what was tried is tried again", async () => {
  await go("#/import");
  await choose("odd.txt", ["not yet", JSON.stringify({ time: 1000 * now(), ph: 6 }), JSON.stringify({ time: 1000 * now() + 1, ph: 7 })].join("\n"));
  await page.getByText("What this file is cannot be told").waitFor();
  await becomes(() => page.getByRole("button", { name: "Dry run" }).count(), 0);
  await page.getByLabel("Format").selectOption("json");
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("heading", { name: "2 samples in 2 rows, 1 row refused" }).waitFor();
  await page.getByLabel("Format").selectOption("influx");
  await page.getByRole("heading", { name: "0 samples in 0 lines, 3 lines refused" }).waitFor();
  await page.getByLabel("Format").selectOption("csv");
  await page.getByText("As a table, this has one column at most").waitFor();
  await page.getByLabel("Format").selectOption("json");
  await page.getByRole("button", { name: "Dry run" }).waitFor();
});

test("a broken file of Parquet is told by what is wrong, and what to do", async () => {
  await go("#/import");
  await choose("cut.parquet", "PAR1 and nothing more");
  await page.getByText("its end is missing, where such a file says what is in it; it was not written or copied to the end: copy it again from where it came, or write it anew.").waitFor();
  await choose("other.parquet", "\0\0\0\0");
  await page.getByText("This file is called Parquet, but does not begin as such a file does").waitFor();
});

test("each question tells its own step", async () => {
  await write(Array.from({ length: 30 }, (_, at) => `paced v=${at} ${now() - 300 + 10 * at}000000000`).join("\n"));
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "avg:1m-avg:paced.v"], ["m", "avg:$step-avg:paced.v"], ["m", "none:paced.v"], ["p", "rate(paced_v[5m])"], ["i", "SELECT mean(v) FROM paced WHERE time >= $start GROUP BY time(2m)"]])}`);
  const row = (at) => page.getByRole("region", { name: `Query ${at}` });
  const step = (at) => row(at).locator("label", { hasText: /^step/ }).locator("option:checked").textContent();
  await becomes(() => Promise.all([1, 2, 3].map(step)), ["1m", "auto, 5s", "as stored"]);
  await row(4).getByText("steps of 5s").waitFor();
  await row(5).getByText("steps of 2m").waitFor();
  await becomes(() => page.locator(".result-head").textContent(), /^5 series, \d+ samples from \d+ read, in \d+ ms/);
});

test("a question that failed does not say what the one before did not find, and a range is offered where there is something", async () => {
  const then = now() - 40 * 86400;
  await write(`early,bed=a v=1 ${then}000000000\nearly,bed=a v=2 ${then + 60}000000000`);
  await go("#/explore?start=1h-ago&m=avg:$step-avg:early.v");
  await page.getByText("No samples in this range").waitFor();
  await page.getByText("What it is about has samples from").waitFor();
  await context.setOffline(true);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("The server does not answer").first().waitFor();
  await becomes(() => page.getByText("there is nothing between").count(), 0);
  await context.setOffline(false);
  forgive("ERR_INTERNET_DISCONNECTED");
  await page.getByText("No samples in this range").waitFor();
  await page.getByRole("button", { name: "Show that" }).click();
  await page.locator(".legend .line", { hasText: "early.v" }).waitFor();
  // Where a wider range has no more, none is offered.
  await go("#/explore?start=60d-ago&i=" + encodeURIComponent("SELECT v FROM early WHERE time >= $start AND v > 100"));
  await page.getByText("has samples in this range, and what is asked of labels or values leaves out all of them").waitFor();
  await becomes(() => page.getByRole("button", { name: "Show that" }).count(), 0);
});

test("what was deleted is gone from the list, and told in words", async () => {
  await write(`cellar,bed=x temp=1 ${now()}000000000\ncellar,bed=y temp=2 ${now()}000000000`);
  await go("#/metrics?metric=cellar.temp");
  const names = page.getByRole("region", { name: "Metrics" });
  await names.getByRole("link", { name: "cellar.temp" }).waitFor();
  const form = page.locator(".delete form");
  await form.getByRole("button", { name: "+ label" }).click();
  await form.getByRole("combobox", { name: "Label", exact: true }).fill("bed");
  await page.keyboard.press("Enter");
  await form.getByLabel("How bed is compared").selectOption("~");
  await form.getByRole("combobox", { name: "Value of bed" }).fill("^[xy]$");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByRole("button", { name: "Delete 2 samples of 2 series" }).click();
  await names.getByRole("link", { name: "cellar.temp" }).waitFor({ state: "detached" });
  await page.getByText("Nothing of it is left").waitFor();
  await page.getByText("Deleted: 2 samples of 2 series. The audit log says so.").waitFor();
  await go("#/operations?view=audit");
  await becomes(() => page.getByRole("region", { name: "Audit log" }).locator("tbody tr").first().textContent(), /delete cellar\.temp, with bed ~ \^\[xy\]\$ in default/);
});

test("storage says where samples are, before the first flush, too", async () => {
  await write(`unflushed v=1 ${now()}000000000`);
  await go("#/operations?view=storage");
  await page.getByText(/^(nothing is flushed yet: \S+ samples? since the start, [\d.]+ \w*B, are in memory and in the log|\S+ samples? in [\d.]+ \w*B, .* each)$/).waitFor();
});

test("a report that is open is there again after the page is loaded, and its sections are listed", async () => {
  const report = { schema_version: 2, tool_version: "1", title: "kept run", command: "foliot bench", machine: [["cpu", "x"]], right: true, sections: ["Writes", "<b>Reads"].map((heading) => ({ heading, words: Array.from({ length: 60 }, () => "w"), plots: [], tables: [] })) };
  await go("#/benchmarks");
  await page.getByLabel("Reports to open").setInputFiles({ name: "a.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(report)) });
  await page.getByRole("heading", { name: "kept run" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "kept run" }).waitFor();
  await page.getByRole("navigation", { name: "Sections" }).getByRole("button", { name: "<b>Reads" }).click();
  await page.waitForFunction(() => { const { top } = [...document.querySelectorAll("h2")].at(-1).getBoundingClientRect(); return top >= 0 && top < innerHeight; });
  await page.getByRole("button", { name: "Close" }).click();
  // Who reloads sooner than the browser's store has forgotten it finds it again.
  const kept = () => page.evaluate(() => new Promise((resolve) => {
    const opened = indexedDB.open("foliot");
    opened.onsuccess = () => {
      const found = opened.result.transaction("reports").objectStore("reports").get("open");
      found.onsuccess = () => { opened.result.close(); resolve(found.result.length); };
    };
  }));
  await becomes(kept, 0);
  await page.reload();
  await page.getByText("Drop a report.json here").waitFor();
  await becomes(() => page.getByRole("heading", { name: "kept run" }).count(), 0);
});
