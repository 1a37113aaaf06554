// InfluxQL in Explore, and samples as they are stored, in a real browser: FOLIOT=address node --test browser/influxql.test.mjs

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { API, address, becomes, drawn, forgive, go, legend, load, now, page, write } from "./stage.mjs";

const asks = (...questions) => go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ...questions])}`);

const rows = () => page.locator(".result table[role=grid] tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));

const heads = () => page.locator(".result table[role=grid] thead th").allTextContents();

/** What is stored of a measurement, sample by sample, as InfluxDB's own door tells it. */
async function storedOf(database, measurement) {
  const answer = await fetch(`${address}/query?${new URLSearchParams({ db: database, epoch: "ns", q: `SELECT * FROM ${measurement}` })}`);
  return (await answer.json()).results[0].series?.[0].values;
}

test("a form's samples have their kinds, and the file of them comes in again", async () => {
  await write(`gate,door=a open=true,cars=7u ${now() - 30}000000001\ngate,door=a open=false,cars=8u ${now() - 20}000000002`);
  const stored = await storedOf("default", "gate");
  await asks(["view", "samples"], ["m", "sum:gate.open{door=*}"], ["m", "sum:gate.cars"]);
  await becomes(async () => (await rows()).map(([, series, kind, value]) => `${series} ${kind} ${value}`).sort(), ["A gate.open boolean false", "A gate.open boolean true", "B gate.cars unsigned 7", "B gate.cars unsigned 8"]);
  for (const [kind, ending] of [["CSV", "csv"], ["JSON lines", "jsonl"]]) {
    await asks(["view", "samples"], ["m", "sum:gate.open{door=*}"], ["m", "sum:gate.cars"]);
    await page.getByRole("gridcell", { name: "boolean" }).first().waitFor();
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    await page.getByRole("button", { name: kind, exact: true }).click();
    const buffer = readFileSync(await (await saving).path());
    await fetch(`${address}/query?${new URLSearchParams({ q: `CREATE DATABASE again_${ending}` })}`, { method: "POST" });
    await go(`#/import?db=again_${ending}`);
    await page.getByLabel("File to import").setInputFiles({ name: `gate.${ending}`, mimeType: "text/plain", buffer });
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByRole("button", { name: "Import 4 good rows" }).click();
    await becomes(() => storedOf(`again_${ending}`, "gate"), stored);
  }
});

test("a form of texts says that they are texts, and leads to them, also beside another question", async () => {
  await write(`guest,door=a note="hello" ${now() - 30}000000000\nguest,door=b note="bye" ${now() - 20}000000000`);
  await load();
  await asks(["m", "avg:$step-avg:guest.note{door=a}"]);
  await page.getByText("Texts have no graph").waitFor();
  await becomes(() => page.getByRole("button", { name: "Show that" }).count(), 0);
  await page.getByRole("button", { name: "Show them as samples" }).click();
  await page.getByRole("gridcell", { name: "hello" }).waitFor();
  await becomes(async () => (await rows()).map(([, series, kind, value]) => `${series} ${kind} ${value}`), ["guest note {door=a} string hello"]);
  // Where they lie outside of the range, it is theirs that is shown.
  await go(`#/explore?${new URLSearchParams([["start", "2001/01/01"], ["end", "2001/01/02"], ["m", "sum:guest.note"]])}`);
  await page.getByRole("button", { name: "Show them as samples" }).click();
  await page.getByRole("gridcell", { name: "bye" }).waitFor();
  await asks(["m", "avg:load.one"], ["m", "avg:guest.note"]);
  await page.getByText("The values of guest.note are texts").waitFor();
  await becomes(legend, ["A load.one"]);
});

test("samples of InfluxQL tell who made their series", async () => {
  await write(`made,door=a n=1 ${now() - 30}000000000`);
  await asks(["view", "samples"], ["i", "SELECT n FROM made WHERE time >= $start"]);
  await page.getByRole("columnheader", { name: "Series made by" }).waitFor();
  await becomes(async () => (await rows()).map((row) => row.at(-1)), ["127.0.0.1, influx_http"]);
});

test("each of several statements has its own answer, and one that is wrong leaves the others theirs", async () => {
  await load();
  await asks(["i", "SELECT max(one) FROM load WHERE time >= $start GROUP BY time($step), host;\nSELECT one FORM load;\nSHOW FIELD KEYS FROM load"]);
  await becomes(() => page.locator(".stated").count(), 3);
  await becomes(legend, ["load max {host=a}", "load max {host=b}"]);
  await becomes(() => page.locator(".stated").nth(1).getByRole("alert").textContent(), /found FORM, expected FROM/);
  await becomes(rows, [["one", "float"], ["two", "float"]]);
  await becomes(() => page.locator(".rows .failed").count(), 0);
  // As a table, each has its rows.
  await asks(["view", "table"], ["i", "SELECT one, two FROM load WHERE time >= $start AND host = 'a';\nSELECT count(one) FROM load GROUP BY host"]);
  await becomes(() => page.locator(".stated").count(), 2);
  await becomes(heads, ["time", "one", "two", "host", "count"]);
  await becomes(async () => (await rows()).at(-1).length, 2);
  assert.match((await rows())[0].join(), /^\d{4}-.*\.000000000,\d+,1$/);
  forgive("status of 4");
});

test("rows that a graph of the range has no place for are a table, which says where they lie", async () => {
  await load();
  await write(["a", "b"].map((bed) => `sand,bed=${bed} ph=6.5,wet=true ${now() - 7200}000000007`).join("\n"));
  await asks(["i", "SELECT mean(one) AS mean, count(one) AS n FROM load WHERE host = 'a'"]);
  await becomes(heads, ["mean", "n"]);
  await becomes(() => page.locator(".result canvas").count(), 0);
  await becomes(() => page.getByText("1970").count(), 0);
  await asks(["i", "SELECT * FROM sand GROUP BY *"]);
  await page.getByText(/^No graph: all of it lies before this range: at/).waitFor();
  await becomes(heads, ["time", "bed", "ph", "wet"]);
  await becomes(async () => (await rows()).map(([time, ...cells]) => [time.endsWith(".000000007"), ...cells]), [[true, "a", "6.5", "true"], [true, "b", "6.5", "true"]]);
  await page.getByRole("button", { name: "Graph", exact: true }).click();
  await page.getByText(/^All of it lies before this range/).waitFor();
  await page.getByRole("button", { name: "Show its range" }).click();
  await drawn();
  await becomes(legend, ["sand ph {bed=a}", "sand wet {bed=a}", "sand ph {bed=b}", "sand wet {bed=b}"]);
});

test("what is listed of each measurement is one table", async () => {
  await load();
  await write(`listed,bed=a ph=6.5,wet=true ${now()}000000000`);
  await asks(["i", "SHOW FIELD KEYS"]);
  await becomes(heads, ["measurement", "fieldKey", "fieldType"]);
  await page.getByRole("button", { name: "measurement", exact: true }).click();
  await becomes(() => page.locator(".result table").count(), 1);
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await page.getByRole("button", { name: "CSV", exact: true }).click();
  const lines = readFileSync(await (await saving).path(), "utf8").split("\n");
  for (const line of ["measurement,fieldKey,fieldType", "listed,ph,float", "listed,wet,boolean", "load,one,float"]) assert.ok(lines.includes(line), line);
});

test("measurements beside the editor are no higher than that, and scroll", async () => {
  await load();
  await asks(["i", "SELECT one FROM load"]);
  const pane = page.getByRole("complementary", { name: "Measurements" });
  await pane.locator("ul ul button").first().waitFor();
  const height = async (what) => Math.round((await what.boundingBox()).height);
  await becomes(async () => Math.abs(await height(page.locator(".editor")) - await height(pane)) < 2, true);
  await becomes(async () => await height(page.locator(".row")) < 150, true);
  await becomes(() => pane.evaluate((box) => box.scrollHeight > box.clientHeight), true);
});
