// The page in a real browser, against a fresh server: FOLIOT=address node --test browser/
// What a person does is done by mouse, keyboard and sockets; what they would see is looked at.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium } from "playwright-core";

const address = process.env.FOLIOT;
const PATIENCE = { timeout: 20_000 };
const HOSTILE = "<img src=x onerror=document.title=1>\"'";

let browser;
let context;
let page;
let complaints;
let hosts;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(() => browser.close());

async function open(options = {}) {
  context = await browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: "UTC", acceptDownloads: true, ...options });
  page = await context.newPage();
  page.setDefaultTimeout(PATIENCE.timeout);
  complaints = [];
  hosts = new Set();
  page.on("console", (message) => message.type() === "error" && complaints.push(`${message.text()} ${message.location().url}`));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => complaints.push(`a dialog: ${dialog.message()}`));
  page.on("request", (request) => hosts.add(new URL(request.url()).origin));
}
beforeEach(() => open());

// Whatever a test did: nothing was complained about, and nobody else was asked.
afterEach(async () => {
  await context.close();
  assert.deepEqual(complaints, []);
  assert.deepEqual([...hosts].filter((origin) => origin !== address && !origin.startsWith("blob") && origin !== "null"), []);
});

const go = (hash) => page.goto(`${address}/${hash}`);

async function write(lines) {
  const answer = await fetch(`${address}/write?db=default`, { method: "POST", body: lines });
  assert.equal(answer.status, 204, await answer.text());
}

function put(lines) {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(`${lines}exit\n`));
    socket.on("error", reject).on("close", resolve).resume();
  });
}

const API = `${address}/api/foliot/v1`;

async function keep(what, body) {
  const answer = await fetch(`${API}/${what}`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.text());
}

const now = () => Math.floor(Date.now() / 1000);

/** A minute of samples of two hosts. */
async function load() {
  const lines = [];
  for (let back = 60; back > 0; back -= 1) {
    lines.push(`load,host=a one=${back},two=1 ${now() - back}000000000`, `load,host=b one=${100 + back} ${now() - back}000000000`);
  }
  await write(lines.join("\n"));
}

const legend = () => page.locator(".legend .line").allTextContents();

const drawn = () => page.waitForFunction(() => {
  const canvas = document.querySelector(".result canvas, .first canvas");
  const pixels = canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data;
  return pixels?.some((value, index) => index % 4 === 3 && value > 0);
});

test("a first point by telnet turns the instructions into a live graph", async () => {
  await go("#/home");
  await page.getByRole("heading", { name: "Send your first point" }).waitFor();
  await page.getByRole("button", { name: "Telnet put" }).click();
  assert.match(await page.locator(".command").textContent(), new RegExp(`nc 127.0.0.1 ${new URL(address).port}`));
  await put(`put first.point ${now() - 1} 20 bed=north\nput first.point ${now()} 21 bed=north\n`);
  await page.getByText("first.point arrived").waitFor();
  await drawn();
  await page.getByRole("link", { name: "Explore it" }).click();
  await page.waitForFunction(() => document.querySelector(".legend .line")?.textContent === "first.point {bed=north}");
});

test("a question is put together by keyboard, and its link shows the same", async () => {
  await load();
  await go("#/explore");
  await page.getByText("Nothing is asked yet").waitFor();
  await page.getByLabel("Metric").focus();
  await page.keyboard.type("AD.ON");
  await page.getByRole("option", { name: "load.one" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".legend .line").first().waitFor();
  assert.deepEqual(await legend(), ["load.one"]);
  await page.getByRole("button", { name: "+ label" }).click();
  await page.getByRole("combobox", { name: "Label", exact: true }).fill("host");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  assert.deepEqual(await legend(), ["load.one {host=a}", "load.one {host=b}"]);
  await drawn();
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  assert.equal(await page.getByLabel("Metric").inputValue(), "load.one");
  hosts.delete("null");
});

test("InfluxQL says where it is wrong, and stands beside a form in one graph", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["i", "SELECT one FORM load"], ["m", "sum:load.two"]])}`);
  const failed = page.getByRole("alert");
  await failed.waitFor();
  assert.match(await failed.textContent(), /found FORM, expected FROM at line 1, char 12/);
  assert.match(await failed.locator("pre").textContent(), /\n {11}\^$/);
  complaints = complaints.filter((text) => !text.includes("400"));
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("SELECT max(one) FROM load WHERE time >= $start GROUP BY time($step), host");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 3);
  assert.deepEqual(await legend(), ["load max {host=a}", "load max {host=b}", "load.two {host=a}"]);
});

test("what each question cost is told", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "none:load.one{host=b}"], ["i", "SELECT count(one) FROM load"]])}`);
  await page.locator(".legend .line").first().waitFor();
  await page.getByText("Explain: how it was answered").click();
  const first = page.locator(".cost > ul > li").first();
  await first.getByText("1 stored series").waitFor();
  assert.match(await first.textContent(), /^A none:load\.one\{host=b\}.*samples of 1 series.*read load\.one\{host=b\}.*blocks.*at most.*in the server$/s);
  assert.equal(await page.locator(".cost > ul > li").count(), 2);
  const tree = (at) => page.locator(".cost > ul > li").nth(at).locator(".tree > li").allTextContents();
  const told = async (at, step) => (await tree(at)).some((text) => step.test(text.replace(/\s/g, "")));
  assert.ok(await told(0, /^readload\.one\{host=b\}1seriesfrom\d+samples,[\d.]+[nµm]?s$/), String(await tree(0)));
  assert.ok(await told(1, /^countofload\.one1seriesfrom\d+samples,[\d.]+[nµm]?s$/), String(await tree(1)));
});

test("InfluxQL is completed from the catalogue, by keyboard", async () => {
  await write(["a", "b"].map((tree) => `orchard,tree=${tree} pears=3,plums=4 ${now()}000000000`).join("\n"));
  await go("#/explore?start=15m-ago&i=SELECT+");
  const editor = page.locator(".editor .cm-content");
  await editor.waitFor();
  assert.equal(await page.getByLabel("Text in influxql").count(), 1);
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("max(pears) FROM chard");
  await page.getByRole("option", { name: /^orchard/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type(" WHERE time >= $start GROUP BY tr");
  await page.getByRole("option", { name: /^tree/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type(", time($step");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  complaints = complaints.filter((text) => !text.includes("400"));
  assert.deepEqual(await legend(), ["orchard max {tree=a}", "orchard max {tree=b}"]);
  assert.equal(new URLSearchParams(page.url().split("?")[1]).get("i"), "SELECT max(pears) FROM orchard WHERE time >= $start GROUP BY tree, time($step)");
});

test("a name that is none leads to one that is", async () => {
  await load();
  await go("#/explore?start=15m-ago&m=avg:one{host=a}");
  await page.getByText("No such name for 'metrics': 'one'").waitFor();
  complaints = complaints.filter((text) => !text.includes("400"));
  await page.getByRole("button", { name: "load.one" }).click();
  await page.locator(".legend .line").first().waitFor();
  assert.deepEqual(await legend(), ["load.one {host=a}"]);
});

test("a part of the graph that is dragged over becomes the range", async () => {
  await load();
  await go("#/explore?start=1h-ago&m=avg:$step-avg:load.one");
  await drawn();
  const box = await page.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.98, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.waitForFunction(() => /start=\d{13}&end=\d{13}/.test(location.hash));
  const [, start, end] = /start=(\d+)&end=(\d+)/.exec(page.url());
  const share = (Number(end) - Number(start)) / 3_600_000;
  assert.ok(share > 0.15 && share < 0.21, `${share} of the hour`);
  await page.goBack();
  await page.waitForFunction(() => location.hash.includes("1h-ago"));
});

test("OpenTSDB's links open Explore", async () => {
  await load();
  for (const link of ["#start=10m-ago&m=sum:load.one{host=*}", "q?start=10m-ago&m=sum:load.one%7Bhost=*%7D"]) {
    await page.goto("about:blank");
    await go(link);
    await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
    assert.equal(await page.getByLabel("From").inputValue(), "10m-ago");
  }
});

test("a half-typed name does not stand in the way of another address", async () => {
  await load();
  await go("#/explore");
  await page.getByLabel("Metric").fill("half");
  await page.evaluate(() => { location.hash = "#/explore?start=10m-ago&i=SELECT+one+FROM+load"; });
  await page.getByLabel("Text in influxql").waitFor();
  await page.locator(".legend .line").first().waitFor();
  assert.deepEqual(await legend(), ["load one"]);
});

test("samples are shown to the nanosecond, with their kinds", async () => {
  const second = now() - 5;
  await write(`exact,a=b n=7i ${second}123456789\nexact,a=b n=8i ${second}123456790`);
  await go("#/explore?start=15m-ago&zone=utc&m=sum:1h-sum:exact.n");
  await page.getByRole("button", { name: "Samples" }).click();
  const rows = page.locator("tbody tr");
  await rows.nth(1).waitFor();
  assert.match(await rows.first().textContent(), /\.123456790Zexact\.n \{a=b\}integer8127\.0\.0\.1, influx_http$/);
  assert.match(await rows.nth(1).textContent(), /\.123456789Zexact\.n \{a=b\}integer7127\.0\.0\.1, influx_http$/);
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  assert.ok(readFileSync(await (await saving).path(), "utf8").includes(`\n${second}123456790,exact.n,,b,8`));
});

test("the range moves by buttons and by dragging with Shift, and the greatest lines are picked", async () => {
  await load();
  const end = Date.now() - 10_000;
  const start = end - 600_000;
  await go(`#/explore?start=${start}&end=${end}&m=avg:$step-avg:load.one{host=*}`);
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  await page.getByLabel("Lines").selectOption("5");
  await page.waitForFunction(() => location.hash.includes("top=5"));
  assert.deepEqual(await legend(), ["load.one {host=b}", "load.one {host=a}"]);
  const range = () => page.evaluate(() => ["start", "end"].map((name) => Number(new URLSearchParams(location.hash.split("?")[1]).get(name))));
  await page.getByRole("button", { name: "Earlier" }).click();
  await page.waitForFunction((before) => !location.hash.includes(before), String(start));
  assert.deepEqual(await range(), [start - 300_000, end - 300_000]);
  await page.getByRole("button", { name: "Later" }).click();
  await page.waitForFunction((before) => location.hash.includes(before), String(start));
  const box = await page.locator(".u-over").boundingBox();
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + box.width * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 5 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await page.waitForFunction((before) => !location.hash.includes(before), String(start));
  const [moved, until] = await range();
  assert.equal(until - moved, 600_000);
  assert.ok(Math.abs(start - moved - 150_000) < 5_000, `${start - moved} ms`);
});

test("what was asked before is found again, and goes elsewhere as code", async () => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await load();
  await go("#/explore?start=20m-ago&m=max:load.two");
  await page.locator(".legend .line").first().waitFor();
  await page.getByRole("button", { name: "Copy as" }).click();
  await page.getByRole("button", { name: "address" }).click();
  await page.getByText("Copied").waitFor();
  const asked = await fetch(await page.evaluate(() => navigator.clipboard.readText()));
  assert.equal((await asked.json())[0].metric, "load.two");
  await go("#/explore");
  await page.getByText("Nothing is asked yet").waitFor();
  await page.getByRole("button", { name: "History" }).click();
  await page.getByRole("link", { name: /max:load\.two/ }).click();
  await page.locator(".legend .line").first().waitFor();
  assert.match(page.url(), /start=20m-ago/);
});

test("samples are listed and saved as they are", async () => {
  await load();
  await go("#/explore?start=15m-ago&view=table&m=none:load.one{host=b}");
  await page.getByRole("cell", { name: "101", exact: true }).waitFor();
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const text = readFileSync(await (await saving).path(), "utf8");
  assert.match(text, /^time_ms,name,field,host,value\n\d{13},load.one,,b,\d+/);
  assert.ok(text.trim().split("\n").length >= 60, text);
});

test("a query that runs is ended from Operations", async () => {
  await write(Array.from({ length: 400 }, (_, host) => `slow,h=h${host} v=1 3600000000000`).join("\n"));
  const { hostname, port } = new URL(address);
  const body = JSON.stringify({ language: "opentsdb", text: "sum:1s-avg-zero:slow.v{h=*}", start_ms: 0, end_ms: 10_800_000 });
  const reader = connect(Number(port), hostname);
  // The answer is not read, so that the query goes on.
  reader.pause();
  reader.write(`POST /api/foliot/v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await go("#/operations?view=queries");
  const row = page.getByRole("row", { name: /sum:1s-avg-zero:slow\.v/ });
  const ending = page.waitForResponse("**/queries/cancel**");
  await row.getByRole("button", { name: /^Cancel/ }).click();
  assert.equal((await ending).status(), 200);
  // Whoever waits for the reader sees that it is to end when the reader has gone.
  reader.destroy();
  await page.getByText("None right now.").waitFor();
});

test("Operations shows what was wrong with rows that were refused", async () => {
  await put("put refused.here 1 wrong<b>number bed=north\n");
  await go("#/operations");
  const rows = page.getByRole("region", { name: "Rows that were refused" });
  await rows.getByText("wrong<b>number").first().waitFor();
  assert.match(await rows.locator("tbody tr").first().textContent(), /telnet/);
});

test("samples are deleted once they were counted, and what has gone quiet stands first", async () => {
  const old = now() - 7200;
  await write(`shed,host=quiet temp=1 ${old}000000000\nshed,host=awake temp=1 ${old}000000000\nshed,host=awake temp=2 ${now()}000000000`);
  await go("#/metrics?metric=shed.temp");
  await page.getByText("2 series have samples, 1 of them none in the last hour").waitFor();
  const last = page.getByRole("region", { name: "Last samples" }).locator("tbody tr");
  assert.match(await last.first().textContent(), /^host=quiet/);
  await page.getByLabel("Labels, all if empty").fill("host=*");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByText("Labels are names and exact values").waitFor();
  await page.getByLabel("Labels, all if empty").fill("");
  await page.getByLabel("To, the last if empty").fill("1h-ago");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Delete 2 samples of 2 series" }).waitFor();
  await page.getByLabel("Labels, all if empty").fill("host=quiet");
  assert.equal(await page.getByRole("button", { name: /^Delete/ }).count(), 0, "what was counted is no longer what is meant");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Delete 1 samples of 1 series" }).click();
  await page.getByText("1 samples of 1 series are deleted; the audit log says so.").waitFor();
  await page.getByText("1 series have samples, all of them in the last hour").waitFor();
  assert.match(await last.first().textContent(), /^host=awake/);
});

test("PromQL is completed, answered, explained and said where it is wrong", async () => {
  await write([60, 45, 30, 15, 0].map((back) => `jobs_total,queue=a value=${600 - back} ${now() - back}000000000\njobs_total,queue=b value=${60 - back} ${now() - back}000000000`).join("\n"));
  await go("#/explore?start=15m-ago&m=avg:$step-avg:jobs_total{queue=*}");
  await page.getByLabel("Language").selectOption("promql");
  const editor = page.locator(".editor .cm-content");
  await editor.waitFor();
  assert.equal(await editor.textContent(), "avg by (queue) (jobs_total)", "the form is said in PromQL");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  await page.goto("about:blank");
  await load();
  await go("#/explore?start=15m-ago&m=max:$step-avg:load.one{host=*}");
  await page.locator(".legend .line").first().waitFor();
  await page.getByLabel("Language").selectOption("promql");
  await page.waitForFunction(() => location.hash.includes("p=max+by"));
  await page.waitForFunction(() => [...document.querySelectorAll(".legend .line")].some(({ textContent }) => textContent === "{host=a}"));
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type("rat");
  await page.getByRole("option", { name: /^rate\(\)growth a second/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.type("bs_tot");
  await page.getByRole("option", { name: /^jobs_total/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("{que");
  await page.getByRole("option", { name: /^queue/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("=\"b");
  await page.getByRole("option", { name: /^"b"/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("sum(rate(jobs_total[5m])) > bool 0");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 1);
  await page.getByText("Explain: how it was answered").click();
  assert.deepEqual(await page.locator(".tree > li > b").allTextContents(), ["answer", ">", "sum", "rate", "read", "number"]);
  assert.match(await page.locator(".tree > li", { hasText: "rate" }).textContent(), /\d series from \d+ samples, [\d.]+ [µm]?s$/);
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("rate(jobs_total[5m]");
  await page.keyboard.press("Enter");
  const failed = page.getByRole("alert");
  await failed.waitFor();
  assert.match(await failed.locator("pre").textContent(), /\n +\^$/);
  complaints = complaints.filter((text) => !text.includes("400"));
});

test("a question is saved, put on a dashboard, and found there", async () => {
  await load();
  await go("#/explore?start=15m-ago&m=max:$step-max:load.two");
  await page.locator(".legend .line").first().waitFor();
  await page.getByRole("button", { name: "Saved" }).click();
  await page.getByLabel("Name to save it under").fill("Twos");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved as “Twos”.").waitFor();
  await page.getByLabel("Name to save it under").fill("Board");
  await page.getByLabel("Save to").selectOption("on a new dashboard");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("is on the dashboard “Board”").waitFor();
  await page.keyboard.press("Escape");
  await go("#/dashboards");
  await page.getByRole("link", { name: "Board", exact: true }).click();
  await page.getByRole("heading", { name: "Board", level: 1 }).waitFor();
  await page.locator(".panel .key li").first().waitFor();
  await page.getByRole("link", { name: "6h" }).click();
  await page.getByRole("article").getByRole("link", { name: "Board" }).click();
  await page.waitForFunction(() => location.hash.includes("start=6h-ago") && location.hash.includes("load.two"));
  await go("#/dashboards");
  for (const name of ["Board", "Twos"]) {
    await page.getByRole("button", { name: `Delete ${name}` }).click();
    await page.getByRole("button", { name: `Delete ${name}` }).click();
  }
  await page.getByText("Nothing is saved yet").waitFor();
});

test("a note is made, drawn beside the lines, and deleted", async () => {
  await load();
  await go("#/explore?start=15m-ago&m=max:$step-max:load.two");
  await page.locator(".legend .line").first().waitFor();
  await page.getByRole("button", { name: "+ note" }).click();
  await page.getByLabel("Note", { exact: true }).fill("deploy 7");
  await page.getByLabel("When").fill("2m-ago");
  await page.keyboard.press("Enter");
  await page.locator(".pill", { hasText: "deploy 7" }).waitFor();
  await page.getByRole("button", { name: "Delete the note deploy 7" }).click();
  await page.locator(".pill", { hasText: "deploy 7" }).waitFor({ state: "detached" });
});

test("OpenTSDB's link opens Explore; its text, labels and menus are where one types and looks", async () => {
  await load();
  await page.goto(`${address}/q#start=10m-ago&m=avg:10s-avg:load.one{host=*}`);
  await page.locator(".legend .line").nth(1).waitFor();
  await page.getByLabel("Language").selectOption("text");
  await page.getByRole("textbox", { name: "OpenTSDB" }).or(page.locator(".row textarea, .row .cm-content")).first().waitFor();
  assert.match(page.url(), /text=0/);
  await page.reload();
  assert.equal(await page.getByLabel("Language").inputValue(), "text", "an address keeps it");
  await page.getByLabel("Language").selectOption("form");
  await page.getByRole("button", { name: "Remove host" }).click();
  const isTypedInto = (label) => page.waitForFunction((wanted) => document.activeElement?.getAttribute("aria-label") === wanted, label);
  await page.getByRole("button", { name: "+ label" }).click();
  await isTypedInto("Label");
  await page.keyboard.type("host");
  await page.keyboard.press("Enter");
  await isTypedInto("Value of host");
  await page.keyboard.type("b");
  await page.keyboard.press("Enter");
  await page.waitForURL(/host%3Db/);
  for (const name of ["History", "Saved", "Copy as"]) {
    await page.getByRole("button", { name, exact: true }).click();
    const { x, width } = await page.locator(".menu-list").boundingBox();
    assert.ok(x >= 0 && x + width <= 1280, `${name} is from ${x} to ${x + width}`);
    await page.keyboard.press("Escape");
  }
});

test("a file with a bad line is tried, brought in, and drawn", async () => {
  const rows = Array.from({ length: 50 }, (_, at) => `${now() - 50 + at},bed ${at % 2},${at === 17 ? "wet" : 20 + at}`);
  await go("#/import");
  await page.getByText("Drop a file here").waitFor();
  await page.getByLabel("File to import").setInputFiles({ name: "brought.csv", mimeType: "text/csv", buffer: Buffer.from(`time;bed;temp\n${rows.join("\n").replaceAll(",", ";")}\n`) });
  await page.getByLabel("What bed is").waitFor();
  assert.equal(await page.getByLabel("What bed is").inputValue(), "label");
  assert.equal(await page.getByLabel("What time is").inputValue(), "time");
  assert.equal(await page.getByLabel("What temp is").inputValue(), "value", "one of its values is no number, and is refused by its line");
  await page.getByLabel("What time is").selectOption("none");
  await page.getByText("No column is a time: choose it above.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Dry run" }).isDisabled(), true, "nothing is stored as of now by mistake");
  await page.getByLabel("What time is").selectOption("time");
  await page.getByRole("button", { name: "Dry run" }).click();
  const faults = page.getByRole("region", { name: "Lines that are refused" });
  await faults.locator("tbody tr").waitFor();
  assert.match(await faults.locator("tbody tr").textContent(), /^19temp .*brought,bed=bed\\ 1 temp=wet/);
  const stored = async () => (await (await fetch(`${API}/catalogue?of=metrics&search=brought`)).json()).names;
  assert.deepEqual(await stored(), [], "nothing is stored by a dry run");
  await page.getByRole("button", { name: "Import 49 good lines" }).click();
  await page.getByText("Stored: 49 samples in 49 lines, 1 refused").waitFor();
  assert.deepEqual(await stored(), ["brought.temp"]);
  await page.getByRole("link", { name: "Explore brought.temp" }).click();
  await page.locator(".legend .line").first().waitFor();
});

test("an import is cancelled on its way", async () => {
  const lines = Array.from({ length: 60_000 }, (_, at) => `cancelled,n=${at % 100} v=${at} ${now() - 60_000 + at}`).join("\n");
  await go("#/import");
  await page.route("**/api/foliot/v1/import**", async (route) => { await new Promise((done) => setTimeout(done, 400)); await route.continue().catch(() => undefined); });
  await page.getByLabel("File to import").setInputFiles({ name: "cancelled.lp", mimeType: "text/plain", buffer: Buffer.from(lines) });
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" });
  assert.equal(await page.getByRole("button", { name: /^Import/ }).isDisabled(), true);
});

test("a file that was not read to its end is no file that was tried", async () => {
  const lines = Array.from({ length: 60_000 }, (_, at) => `broken,n=${at % 100} v=${at} ${now() - 60_000 + at}`).join("\n");
  await go("#/import");
  let pieces = 0;
  await page.route("**/api/foliot/v1/import**", (route) => {
    pieces += 1;
    return pieces % 2 ? route.continue() : route.abort();
  });
  await page.getByLabel("File to import").setInputFiles({ name: "broken.lp", mimeType: "text/plain", buffer: Buffer.from(lines) });
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("The server does not answer").waitFor();
  await page.getByRole("heading", { name: /^Stopped before the end of the file: \d/ }).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Import/ }).isDisabled(), true);
  complaints = complaints.filter((text) => !text.includes("ERR_FAILED"));
});

test("who is no operator finds Home without the server's figures, and is told whose they are", async () => {
  await load();
  await page.route("**/api/foliot/v1/status**", (route) => route.fulfill({ status: 403, json: { error: { message: "\"reader\" lacks the role operator" } } }));
  await go("#/home");
  await page.getByText("are for those with the role operator").waitFor();
  await page.getByRole("link", { name: "load.one" }).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  complaints = complaints.filter((text) => !text.includes("403"));
});

test("an import is seen by others while it lasts, and ended by them", async () => {
  const lines = Array.from({ length: 60_000 }, (_, at) => `seen,n=${at % 100} v=${at} ${now() - 60_000 + at}`).join("\n");
  await go("#/import");
  // The second piece waits until somebody has ended the whole.
  let pieces = 0;
  let goOn;
  const ended = new Promise((done) => { goOn = done; });
  await page.route("**/api/foliot/v1/import**", async (route) => {
    pieces += 1;
    if (pieces === 2) await ended;
    await route.continue().catch(() => undefined);
  });
  await page.getByLabel("File to import").setInputFiles({ name: "seen <b>.lp", mimeType: "text/plain", buffer: Buffer.from(lines) });
  await page.getByRole("button", { name: "Dry run" }).click();
  const other = await context.newPage();
  await other.goto(`${address}/#/operations?view=queries`);
  const row = other.getByRole("row", { name: /seen <b>\.lp/ });
  await row.getByText(/\d KiB of 1\.\d+ MiB, \d+ rows/).waitFor();
  assert.match(await row.textContent(), /dry run seen <b>\.lp into default/);
  await row.getByRole("button", { name: /^Cancel/ }).click();
  await row.getByText("cancelled").waitFor();
  goOn();
  await page.getByText(/job \d+ was cancelled/).waitFor();
  complaints = complaints.filter((text) => !text.includes("409"));
});

test("a question that takes long is ended where it was asked", async () => {
  await load();
  let isHeld = true;
  let ended = 0;
  page.on("requestfailed", (request) => { ended += request.url().includes("/v1/query") ? 1 : 0; });
  await page.route("**/api/foliot/v1/query**", (route) => (isHeld ? undefined : route.continue()));
  await go("#/explore?start=15m-ago&m=avg:$step-avg:load.one");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Ended before it was answered").waitFor();
  assert.equal(ended, 1, "the request is given up");
  isHeld = false;
  await page.getByRole("button", { name: "Run" }).click();
  await page.locator(".legend .line").first().waitFor();
  assert.equal(await page.getByText("Ended before it was answered").count(), 0);
});

test("backups are told with their age, and what to type for the next", async () => {
  const into = `${process.env.DATA}.backups`;
  await go("#/operations?view=backups");
  await page.getByText("No backup is known").waitFor();
  assert.match(await page.locator(".command").first().textContent(), /^foliot backup --data-dir \S+ \/backups$/);
  const foliot = (words) => execFileSync(process.env.BINARY, words, { encoding: "utf8", env: {} });
  foliot(["backup", "--data-dir", process.env.DATA, into]);
  await page.getByText("Last good backup").waitFor();
  const row = page.getByRole("region", { name: "Backups of this store" }).locator("tbody tr");
  assert.match(await row.textContent(), /good after .*\.backups\/\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z/);
  const commands = await page.locator(".command").allTextContents();
  assert.equal(commands[0], `foliot backup --data-dir ${process.env.DATA} ${into}`);
  assert.match(commands[1], /^foliot check --data-dir \S+Z$/);
  // What is told to be typed is right.
  assert.match(foliot(commands[1].split(" ").slice(1)), /nothing is wrong/);
});

test("a store that is being opened shows how far it is, and then the page that was asked for", async () => {
  await load();
  let read = 0;
  const opening = () => ({ for_ms: 3000, read_bytes: read, total_bytes: 4 << 20 });
  await page.route("**/api/foliot/v1/status**", async (route) => {
    if (read >= 3 << 20) return route.continue();
    const body = await (await fetch(`${API}/status`)).json();
    delete body.store;
    await route.fulfill({ json: { ...body, is_ready: false, opening: opening() } });
  });
  await go("#/explore?start=15m-ago&m=avg:$step-avg:load.one{host=*}");
  await page.getByRole("heading", { name: "The store is being opened" }).waitFor();
  read = 2 << 20;
  await page.getByText("2 MiB of 4 MiB of the log are read").waitFor();
  assert.equal(await page.getByLabel("Read of the log").evaluate((bar) => bar.value / bar.max), 0.5);
  read = 4 << 20;
  await page.locator(".legend .line").first().waitFor();
  assert.equal(await page.getByRole("heading", { name: "The store is being opened" }).count(), 0);
  // Where somebody must log in, the refusal tells it.
  await page.unroute("**/api/foliot/v1/status**");
  read = 1 << 20;
  await page.route("**/api/foliot/v1/status**", (route) => (
    read >= 3 << 20 ? route.continue() : route.fulfill({ status: 503, json: { error: { message: "opening the store" }, opening: opening() } })
  ));
  await page.reload();
  await page.getByText("1 MiB of 4 MiB of the log are read").waitFor();
  read = 4 << 20;
  await page.locator(".legend .line").first().waitFor();
  complaints = complaints.filter((text) => !text.includes("503"));
});

test("Operations tells settings, retention, storage and the log", async () => {
  await write(`kept,env=dev v=1 ${now() - 86_400 * 3}000000000`);
  await put("put logged.line 1 no-number bed=north\n");
  await go("#/operations");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Find a setting").fill("agent.host");
  const row = page.getByRole("region", { name: "Settings" }).locator("tbody tr").first();
  await row.waitFor();
  assert.match(await row.textContent(), /^agent\.host.*true--set/);
  await page.getByRole("link", { name: "Retention" }).click();
  await page.getByLabel("Series").fill("kept{env=dev}");
  await page.getByLabel("Rules").fill("kept*=1d");
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText("rule 1").waitFor();
  assert.match(await page.locator(".tester .facts").textContent(), /Kept for1d.*1 samples of 1 series.*Would go1 samples/);
  await page.getByRole("link", { name: "Storage" }).click();
  await page.getByText("names of series").waitFor();
  await page.getByRole("link", { name: "Log" }).click();
  await page.getByLabel("Least level").selectOption("warn");
  await page.getByText(/rows by telnet from .* refused/).first().waitFor();
});

test("what a metric takes is told, and pairs that make most series", async () => {
  await load();
  await go("#/metrics?metric=load.one");
  const size = page.locator(".tile", { hasText: "Size" });
  await size.getByText(/each, 1 :/).waitFor();
  await write(`tardy,host=a v=1 ${now()}000000000\ntardy,host=a v=1 ${now() - 60}000000000`);
  await go("#/metrics?metric=tardy.v");
  const late = page.locator(".tile", { hasText: "Late" });
  await late.getByText("1 of 2 since the start came after a newer one").waitFor();
  assert.match(await late.textContent(), /50 %/);
  await go("#/metrics");
  await page.getByRole("heading", { name: "Pairs with most series" }).waitFor();
});

test("two reports of foliot bench are compared", async () => {
  const report = (rate) => ({
    schema_version: 2, tool_version: "1", title: `run ${rate}`, command: "foliot bench suite", machine: [["cpu", "x"]], right: true,
    sections: [{ heading: "Writes", words: ["w"], plots: [{ title: "Rate", x: "clients", y: "values/s", shape: "Bars", lines: [{ name: "foliot", points: [[0, rate]], labels: ["one"] }] }],
      tables: [{ name: "rates", keys: 1, columns: ["clients", "rate"], rows: [{ cells: ["1", `${rate} k/s`], source: null, void: null }] }] }],
  });
  const file = (name, what) => ({ name, mimeType: "application/json", buffer: Buffer.from(typeof what === "string" ? what : JSON.stringify(what)) });
  await go("#/reports");
  const field = page.getByLabel("Reports to open");
  await field.setInputFiles(file("x.json", "{}"));
  await page.getByText("This is no report of foliot bench").waitFor();
  await field.setInputFiles(file("a.json", report(100)));
  await page.getByRole("img", { name: "Rate" }).waitFor();
  await field.setInputFiles(file("b.json", report(150)));
  await page.getByText("100 k/s → 150 k/s ×1.5").waitFor();
});

test("targets are told with state, samples, error and labels, and found again", async () => {
  writeFileSync(process.env.TARGETS, JSON.stringify([{ targets: [new URL(address).host], labels: { team: "own" } }]));
  copyFileSync(process.env.MONITORED, process.env.CONFIG);
  process.kill(Number(process.env.FOLIOT_PID), "SIGHUP");
  await go("#/monitoring");
  const own = page.getByRole("region", { name: "Targets of own" }).locator("tbody tr");
  await own.filter({ hasText: "up" }).waitFor();
  assert.match(await own.first().textContent(), /^up.*team=own.*(ago|just now).*\d/);
  const gone = page.getByRole("region", { name: "Targets of gone" }).locator("tbody tr");
  await gone.filter({ hasText: "left:1" }).waitFor();
  await gone.filter({ hasText: "127.0.0.1:1" }).locator(".failed").waitFor();
  assert.match(await gone.first().textContent(), /^down/, "what is down stands first");
  await gone.first().locator("summary").click();
  await gone.first().getByText("__metrics_path__").waitFor();
  await page.getByLabel("Find a target by address, label or error").fill("TEAM=own");
  await gone.first().waitFor({ state: "detached" });
  assert.equal(await own.count(), 1);
  await page.getByRole("button", { name: /^down/ }).click();
  await page.getByText("No target fits").waitFor();
});

test("rules are told with health and error, open in Explore, and alerts with value and since when", async () => {
  await go("#/monitoring?view=rules");
  const rule = (name) => page.locator(".entries > li").filter({ hasText: name });
  await rule("shop:many").filter({ hasText: "fails" }).waitFor();
  assert.match(await rule("Burning").textContent(), /good.*1 firing/);
  await page.getByLabel("only those that fail").check();
  await rule("shop:one").waitFor({ state: "detached" });
  await page.getByLabel("only those that fail").uncheck();
  await rule("shop:one").getByRole("link").focus();
  await page.keyboard.press("Enter");
  await page.locator(".legend .line").first().waitFor();
  await go("#/monitoring?view=alerts");
  const alerts = page.locator(".entries > li");
  await alerts.nth(1).waitFor();
  assert.match(await alerts.first().textContent(), /^firing.*Burning.*for.*it is 7 <img src=x.*value 7.*severity=page/);
  assert.match(await alerts.nth(1).textContent(), /^pending.*Slowly/);
});

test("who sends it is told by protocol and address", async () => {
  await put(`put sent.here ${now()} 1 bed=north\nput sent.here ${now()} wrong bed=north\n`);
  await go("#/operations?view=senders");
  const row = page.getByRole("region", { name: "Who sends it" }).locator("tbody tr").filter({ hasText: "telnet" });
  await row.waitFor();
  assert.match(await row.textContent(), /^127\.0\.0\.1telnet/);
  await page.getByLabel("by").selectOption("refused rows");
  await page.waitForFunction(() => document.querySelector("tbody tr")?.textContent.includes("telnet"));
  await go("#/metrics");
  await page.getByRole("heading", { name: "Senders with most new series" }).waitFor();
});

test("a dashboard is renamed, its panels are moved, ranged and taken off", async () => {
  await load();
  const panel = (title) => ({ title, address: "#/explore?start=15m-ago&m=max:$step-max:load.two" });
  await keep("saved", { name: "Before", panels: [panel("One"), panel("Two"), panel("Three")] });
  await keep("saved", { name: "Taken", panels: [panel("One")] });
  await go("#/dashboards?name=Before");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Title of panel 1").fill("First <b>");
  await page.getByRole("button", { name: "Move panel 1 down" }).click();
  await page.getByRole("button", { name: "Take panel 3 off" }).click();
  await page.getByLabel("Begin of panel 1").fill("soon");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("is no time").waitFor();
  await page.getByLabel("Begin of panel 1").fill("6h-ago");
  await page.getByLabel("Name of the dashboard").fill("Taken");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("choose another name").waitFor();
  await page.getByLabel("Name of the dashboard").fill("After");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "After", level: 1 }).waitFor();
  assert.deepEqual(await page.locator(".panel h2").allTextContents(), ["Two", "First <b>"]);
  const kept = (await (await fetch(`${API}/saved`)).json()).saved;
  assert.deepEqual(kept.filter(({ kind }) => kind === "dashboard").map(({ name }) => name), ["After", "Taken"]);
  assert.match(kept.find(({ name }) => name === "After").panels[0].address, /start=6h-ago/);
  for (const name of ["After", "Taken"]) await fetch(`${API}/saved?name=${name}`, { method: "DELETE" });
});

test("what targets say of a metric stands in completion and on its page, and OpenTSDB's texts are completed", async () => {
  await go("#/explore?start=15m-ago&p=");
  await page.getByRole("textbox", { name: "Text in promql" }).click();
  await page.keyboard.type("foliot_build_in");
  await page.getByRole("option", { name: /foliot_build_info/ }).first().waitFor();
  await page.keyboard.press("ArrowDown");
  await page.locator(".cm-completionInfo").waitFor();
  await page.keyboard.press("Escape");
  const about = await (await fetch(`${API}/catalogue?of=metrics&search=foliot_build_info&help=true`)).json();
  const [name] = about.names.filter((one) => about.help[one]);
  await go(`#/metrics?metric=${name}`);
  await page.locator(".described", { hasText: about.help[name].help }).waitFor();
  await load();
  await go("#/explore?start=15m-ago&m=");
  await page.getByLabel(/Language/).first().selectOption("text");
  await page.getByRole("textbox", { name: "Text in opentsdb" }).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type("ma");
  await page.getByRole("option", { name: /^max:/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("load.on");
  await page.getByRole("option", { name: /^load\.one/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("{ho");
  await page.getByRole("option", { name: /^host=/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("*");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
});

test("hostile names are text on every page", async () => {
  const name = HOSTILE.replace(/[ =,]/g, "\\$&");
  // Half a minute ago: PromQL answers at multiples of the step.
  await write(`${name},${name}=${name} value=1 ${now() - 30}000000000`);
  const question = new URLSearchParams([["start", "1h-ago"], ["i", `SELECT * FROM /onerror/ GROUP BY *`]]);
  const pages = ["#/home", "#/metrics", `#/metrics?${new URLSearchParams({ metric: HOSTILE })}`, `#/explore?${question}`, `#/explore?${question}&view=table`];
  for (const hash of pages) {
    await page.goto("about:blank");
    await go(hash);
    await page.getByText("<img src=x").first().waitFor();
    assert.equal(await page.locator("img").count(), 0, hash);
    assert.match(await page.title(), /Foliot/, hash);
  }
  await page.goto("about:blank");
  await go("#/explore");
  await page.getByLabel("Metric").fill("onerr");
  await page.getByRole("option", { name: /<img src=x/ }).waitFor();
  // What is saved, noted, refused, logged and asked has hostile texts, too.
  const address = `#/explore?${new URLSearchParams([["start", "1h-ago"], ["p", `{"${HOSTILE.replace(/"/g, '\\"')}"}`]])}`;
  await keep("saved", { name: HOSTILE, address });
  await keep("saved", { name: `board ${HOSTILE}`, panels: [{ title: HOSTILE, address }] });
  await keep("annotations", { start_ms: Date.now() - 60_000, text: HOSTILE });
  await put(`put ${HOSTILE} now 1 bed=north\n`);
  const others = [address, "#/monitoring", "#/monitoring?view=alerts", "#/dashboards", `#/dashboards?${new URLSearchParams({ name: `board ${HOSTILE}` })}`, "#/operations"];
  for (const hash of others) {
    await page.goto("about:blank");
    await go(hash);
    await page.getByText("<img src=x").first().waitFor().catch(() => assert.fail(`${hash} does not show the name`));
    assert.equal(await page.locator("img").count(), 0, hash);
    assert.match(await page.title(), /Foliot/, hash);
  }
  for (const view of ["queries", "log"]) {
    await go(`#/operations?view=${view}`);
    await page.locator("main .card").first().waitFor();
    assert.equal(await page.locator("img").count(), 0, view);
  }
  await go("#/import");
  const csv = `time,${HOSTILE.replace(/[",]/g, "")}\n${`${now()},1\n`.repeat(12)}${now()},<img src=y>\n`;
  await page.getByLabel("File to import").setInputFiles({ name: `${HOSTILE}.csv`, mimeType: "text/csv", buffer: Buffer.from(csv) });
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("Lines that are refused").or(page.getByText("This is what would be stored")).first().waitFor();
  assert.equal(await page.locator("img").count(), 0);
  await go("#/operations?view=queries");
  await page.getByRole("region", { name: "Work that takes long" }).getByText(`${HOSTILE}.csv`).first().waitFor();
  assert.equal(await page.locator("img").count(), 0);
  for (const what of [HOSTILE, `board ${HOSTILE}`]) await fetch(`${API}/saved?${new URLSearchParams({ name: what })}`, { method: "DELETE" });
});

test("digits and slashes that are typed in an editor are no keys of the page", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["i", "SELECT one FROM load"]])}`);
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" WHERE host =~ /b/ LIMIT 30");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => new URLSearchParams(location.hash.split("?")[1]).get("i") === "SELECT one FROM load WHERE host =~ /b/ LIMIT 30");
  complaints = complaints.filter((text) => !text.includes("400"));
});

test("names, notes and titles of any length make no page wider than its window", async () => {
  const [metric, label, value] = ["m", "l", "v"].map((letter) => letter.repeat(300));
  await write(`${metric},${label}=${value} value=1 ${now() - 30}000000000`);
  const address = `#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", `avg:${metric}{${label}=*}`]])}`;
  await keep("saved", { name: "n".repeat(100), address });
  await keep("saved", { name: "b".repeat(100), panels: [{ title: "t".repeat(100), address }] });
  const start_ms = Date.now() - 60_000;
  await keep("annotations", { start_ms, text: "w".repeat(2000) });
  const pages = [`#/metrics?metric=${metric}`, address, "#/explore?m=avg:mmm", `#/dashboards?name=${"b".repeat(100)}`, `#/dashboards?name=${"x".repeat(300)}`];
  await context.close();
  for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }]) {
    await open({ viewport });
    const fits = async (where) => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${where} at ${viewport.width}`);
    for (const hash of pages) {
      await page.goto("about:blank");
      await go(hash);
      await page.locator("main .card, main .empty, main .failed").first().waitFor();
      await page.waitForLoadState("networkidle");
      await fits(hash);
    }
    await go("#/explore");
    await page.getByRole("button", { name: "Saved" }).click();
    await page.getByRole("link", { name: /nnnn/ }).waitFor();
    await fits("what is saved");
    complaints = complaints.filter((text) => !text.includes("400"));
    if (viewport.width > 390) await context.close();
  }
  for (const name of ["n", "b"]) await fetch(`${API}/saved?name=${name.repeat(100)}`, { method: "DELETE" });
  await fetch(`${API}/annotations?start_ms=${start_ms}`, { method: "DELETE" });
});

test("a server that was away is asked again by the page itself", async () => {
  await load();
  await go("#/operations?view=settings");
  await page.getByLabel("Find a setting").waitFor();
  await context.setOffline(true);
  for (const hash of ["#/explore?start=15m-ago&m=max:load.one", "#/operations?view=retention"]) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.getByText("The server does not answer").first().waitFor();
    await context.setOffline(false);
    await page.getByRole("alert").first().waitFor({ state: "detached" });
    await page.waitForFunction(() => document.querySelector("main .card") && !document.querySelector("main .failed"));
    await context.setOffline(true);
  }
  complaints = complaints.filter((text) => !text.includes("ERR_INTERNET_DISCONNECTED"));
});

test("a clock that differs from the server's is spoken of", async () => {
  await go("#/home");
  await page.getByText("Values a second").waitFor();
  assert.equal(await page.getByText("clock is").count(), 0);
  await page.addInitScript(() => {
    const [Before, ahead] = [Date, 2 * 3_600_000];
    globalThis.Date = class extends Before {
      constructor(...given) { super(...(given.length ? given : [Before.now() + ahead])); }
      static now() { return Before.now() + ahead; }
    };
  });
  await page.reload();
  await page.getByText(/This browser's clock is 2 h.* ahead of the server's|This browser's clock is 1 h 59 min ahead of the server's/).waitFor();
});

test("every page fits a phone, and has no serious fault that axe finds", async () => {
  await load();
  await keep("saved", { name: "Axe", panels: [{ title: "Ones", address: "#/explore?start=15m-ago&m=avg:$step-avg:load.one" }] });
  const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  const pages = ["#/home", "#/explore?start=15m-ago&m=avg:$step-avg:load.one{host=*}", "#/metrics?metric=load.one", "#/metrics", "#/dashboards", "#/dashboards?name=Axe", "#/monitoring", "#/monitoring?view=rules", "#/monitoring?view=alerts", "#/import", "#/reports",
    ...["overview", "senders", "queries", "storage", "backups", "retention", "settings", "log"].map((view) => `#/operations?view=${view}`)];
  await context.close();
  for (const options of [{ viewport: { width: 390, height: 844 }, colorScheme: "dark" }, { colorScheme: "light" }]) {
    await open(options);
    for (const hash of pages) {
      await page.goto("about:blank");
      await go(hash);
      await page.locator("main .card").first().waitFor();
      await page.waitForLoadState("networkidle").catch(() => undefined);
      const [has, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(has <= room, `${hash} is ${has} pixels wide in a window of ${room}`);
      await page.evaluate(axe);
      const found = await page.evaluate(() => globalThis.axe.run());
      const serious = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
      assert.deepEqual(told, [], hash);
    }
    if (options.viewport) await context.close();
  }
  await fetch(`${API}/saved?name=Axe`, { method: "DELETE" });
});

test("the keyboard alone reaches every page", async () => {
  await load();
  await go("#/home");
  await page.getByText("Values a second").waitFor();
  for (const [key, heading] of [["3", "Find a metric"], ["4", "Nothing is saved yet"], ["5", "Find a target by address, label or error"], ["6", "Drop a file here"], ["7", "Up for"], ["8", "Drop a report.json here"], ["2", "Nothing is asked yet"]]) {
    await page.keyboard.press(key);
    await (key === "3" || key === "5" ? page.getByLabel(heading) : page.getByText(heading)).first().waitFor();
  }
  await page.keyboard.press("3");
  await page.getByLabel("Find a metric").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("load.o");
  await page.getByRole("link", { name: "load.one" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "load.one" }).waitFor();
});

test("the first paint takes less than 100 KB, and comes again for nothing", async () => {
  let bytes = 0;
  const tool = await context.newCDPSession(page);
  await tool.send("Network.enable");
  tool.on("Network.loadingFinished", (event) => { bytes += event.encodedDataLength; });
  await go("#/operations");
  await page.getByText("Up for").waitFor();
  assert.ok(bytes > 10_000 && bytes < 100_000, `${bytes} bytes`);
  bytes = 0;
  await page.reload();
  await page.getByText("Up for").waitFor();
  assert.ok(bytes < 10_000, `${bytes} bytes the second time`);
});

test("this machine's own figures are drawn", async () => {
  await go("#/home");
  const card = (title) => page.locator("article.card", { has: page.getByRole("heading", { name: title, exact: true }) });
  // Means of ten seconds: two of them make a line.
  for (const title of ["Load", "Memory", "Processor"]) {
    await card(title).locator(".now:not(:empty)").waitFor({ timeout: 60_000 });
    assert.match(await card(title).locator(".now").textContent(), /\d/, title);
  }
  assert.ok(await page.locator("article.card progress").count() > 0, "disk space");
});
