// Explore in a real browser: FOLIOT=address node --test browser/explore.test.mjs

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { API, address, becomes, context, drawn, follow, forgive, go, hosts, keep, legend, load, now, open, page, put, settledBox, write } from "./stage.mjs";

/** Where a download of what is shown lies. */
async function downloaded(kind) {
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await page.getByRole("button", { name: kind, exact: true }).click();
  return (await saving).path();
}

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
  await becomes(legend, ["load.one"]);
  await page.getByRole("button", { name: "+ label" }).click();
  await page.getByRole("combobox", { name: "Label", exact: true }).fill("host");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  await becomes(legend, ["load.one {host=a}", "load.one {host=b}"]);
  await drawn();
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  await becomes(() => page.getByLabel("Metric").inputValue(), "load.one");
  hosts.delete("null");
});

test("InfluxQL says where it is wrong, and stands beside a form in one graph", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["i", "SELECT one FORM load"], ["m", "sum:load.two"]])}`);
  const failed = page.getByRole("alert");
  await failed.waitFor();
  await becomes(() => failed.textContent(), /found FORM, expected FROM at line 1, char 12/);
  await becomes(() => failed.locator("pre").textContent(), /\n {11}\^$/);
  await page.getByRole("button", { name: "Saved" }).click();
  await page.getByText("A is refused as it stands").waitFor();
  await page.keyboard.press("Escape");
  forgive("400");
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("SELECT max(one) FROM load WHERE time >= $start GROUP BY time($step), host");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 3);
  await becomes(legend, ["A load max {host=a}", "A load max {host=b}", "B load.two {host=a}"]);
});

test("another language begins with the text that is asked", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "sum:load.one{host=a}"]])}`);
  await page.locator(".legend .line").first().waitFor();
  const shown = (wanted) => page.locator(".row .cm-content").filter({ hasText: wanted }).waitFor();
  await page.getByLabel("Language").selectOption("text");
  await shown("sum:load.one{host=a}");
  await page.getByLabel("Language").selectOption("promql");
  await shown("load_one");
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "sum:load.one{host=a}"]])}`);
  await page.getByLabel("Language").selectOption("influxql");
  await shown('SELECT "one" FROM "load" WHERE time >= $start AND time < $end AND "host" = \'a\' GROUP BY *');
  await page.locator(".legend .line").first().waitFor();
  await becomes(legend, ["load one {host=a}"]);
  // By way of another language it is the same question.
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "sum:load.one{host=a}"]])}`);
  await page.getByLabel("Language").selectOption("promql");
  await shown("load_one");
  await page.getByLabel("Language").selectOption("influxql");
  await shown('SELECT "one" FROM "load" WHERE time >= $start AND time < $end AND "host" = \'a\' GROUP BY *');
  await page.locator(".legend .line").first().waitFor();
  // What was asked in the language before comes back with it, and what was typed since stays where it was.
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("SHOW FIELD KEYS FROM load");
  await page.keyboard.press("Enter");
  await page.getByRole("gridcell", { name: "fieldType" }).or(page.getByRole("columnheader", { name: "fieldType" })).waitFor();
  await becomes(() => page.locator(".result tbody td:first-child").allTextContents(), ["one", "two"]);
  await page.getByLabel("Language").selectOption("form");
  await becomes(() => page.getByLabel("Metric").inputValue(), "load.one");
  await page.getByLabel("Language").selectOption("influxql");
  await shown("SHOW FIELD KEYS FROM load");
});

test("a row keeps its step when its language changes", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "sum:10s-max:load.one{host=a}"]])}`);
  const shown = (wanted) => page.locator(".row .cm-content").filter({ hasText: wanted }).waitFor();
  await page.getByLabel("Language").selectOption("influxql");
  await shown("SELECT sum(\"v\") FROM (SELECT max(\"one\") AS \"v\" FROM \"load\" WHERE time >= $start AND time < $end AND \"host\" = 'a' GROUP BY time(10s), *)");
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText("SELECT min(one) FROM load WHERE time >= $start GROUP BY time(30s)");
  await page.keyboard.press("Enter");
  await page.getByLabel("Language").selectOption("promql");
  await shown('max_over_time(load_one{host="a"}[30s])');
  await page.getByLabel("Language").selectOption("influxql");
  await shown("SELECT min(one) FROM load WHERE time >= $start GROUP BY time(30s)");
  await page.getByLabel("Language").selectOption("form");
  await becomes(() => page.locator(".form label", { hasText: /^step/ }).locator("select").inputValue(), "30s");
});

test("Enter takes what the arrows have chosen, and asks where nothing is", async () => {
  await write(`cellar,shelf=a wine=3,water=4 ${now()}000000000`);
  const begun = "SELECT wine FROM cel";
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["i", "SELECT wine FROM "]])}`);
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("cel");
  await page.getByRole("option", { name: /^cellar/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".row .cm-content").filter({ hasText: "SELECT wine FROM cellar" }).waitFor();
  assert.equal(new URLSearchParams(page.url().split("?")[1]).get("i"), "SELECT wine FROM ", "nothing was asked yet");
  await page.keyboard.press("Enter");
  await page.locator(".legend .line").first().waitFor();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["i", "SELECT wine FROM  "]])}`);
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.type(begun);
  await page.getByRole("option", { name: /^cellar/ }).waitFor();
  await page.keyboard.press("Enter");
  await becomes(() => new URLSearchParams(page.url().split("?")[1]).get("i"), begun, "what stands there is asked");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  await page.getByText("take the offer that the arrows have chosen").waitFor();
  forgive("400");
});

test("whole numbers keep their digits in tables and files", async () => {
  await write(`vault n=9007199254740993i ${now() - 2}000000000\nvault n=7i ${now() - 60}000000000`);
  await go("#/explore?start=15m-ago&m=none:vault.n&view=samples");
  await page.getByRole("gridcell", { name: "9007199254740993", exact: true }).waitFor();
  assert.match(readFileSync(await downloaded("CSV"), "utf8"), /,9007199254740993,integer\n/);
  await page.getByRole("button", { name: "Table", exact: true }).click();
  await page.getByRole("gridcell", { name: "9007199254740993", exact: true }).waitFor();
  assert.match(readFileSync(await downloaded("JSON"), "utf8"), /"values":\[7,9007199254740993\]/);
  await page.getByRole("button", { name: "Graph", exact: true }).click();
  await drawn();
  await becomes(() => page.getByText("These values are").count(), 0);
});

test("a question that failed is explained as far as it came", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", "load_one * on () load_one"], ["i", "SELECT FORM"]])}`);
  await page.getByRole("alert").first().waitFor();
  await page.getByText("Explain: how it was answered").click();
  const told = page.locator(".cost > ul > li");
  await becomes(() => told.first().textContent(), /^A load_one \* on \(\) load_one.*no answer.*\* of two sides.*read load_one\s*\d+ series from \d+ samples.*at most.*in the server$/s);
  await becomes(() => told.nth(1).textContent(), /^B was not begun: .*expected FROM/);
  forgive("status of 4");
});

test("values stand beside the crosshair, two units have two axes, and steps and days are chosen", async () => {
  const at = now() - 60;
  await write(`store,host=a used_bytes=1048576,busy_percent=75 ${at}000000000\nstore,host=a used_bytes=2097152,busy_percent=50 ${at + 30}000000000`);
  await go("#/explore?start=5m-ago&m=sum:$step-max:store.used_bytes{host=*}&m=sum:$step-max:store.busy_percent{host=*}&step=10s");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  const step = () => page.getByRole("region", { name: "Query 1" }).locator("label", { hasText: /^step/ }).locator("option:checked").textContent();
  await becomes(step, "auto, 10s");
  await becomes(() => page.getByText("right axis").count(), 1);
  const box = await settledBox(page.locator(".u-over"));
  const tip = page.locator(".tip");
  await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
  await page.mouse.move(box.x + box.width * 0.8, box.y + 40, { steps: 3 });
  await tip.waitFor();
  await becomes(() => tip.textContent(), /store\.used_bytes.*(1|2) MiB/);
  await becomes(() => tip.textContent(), /store\.busy_percent.*(75|50) %/);
  // The sum of both is no axis for one, and the box still tells each by itself.
  await page.getByLabel("stacked").check();
  await page.waitForFunction(() => !document.body.textContent.includes("right axis"));
  await page.mouse.move(box.x + box.width * 0.79, box.y + 60, { steps: 3 });
  await tip.waitFor();
  await becomes(() => tip.textContent(), /(75|50) %/);
  await page.mouse.move(5, 5);
  await tip.waitFor({ state: "hidden" });
  await page.getByLabel("Step", { exact: true }).selectOption("1s");
  await becomes(step, "auto, 1s");
  await page.getByRole("button", { name: "30d", exact: true }).click();
  await becomes(() => page.getByRole("alert").textContent(), /Steps of 1s make 2592000 points of each line.*choose 5m or more, or auto/);
  await page.getByLabel("Step", { exact: true }).selectOption("auto step");
  await becomes(step, "auto, 2h");
  await page.getByLabel("Zone").selectOption("utc");
  await page.getByRole("button", { name: "Dates" }).click();
  await page.getByRole("button", { name: "last month" }).click();
  const today = new Date();
  const [first, next] = [-1, 0].map((by) => Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + by, 1));
  await page.waitForFunction((wanted) => location.hash.includes(wanted), `start=${first}&end=${next}`);
  await page.getByRole("button", { name: "Dates" }).click();
  await page.locator(".dates input").first().fill("2026-03-01T08:00:00");
  await page.getByRole("button", { name: "Show these" }).click();
  await page.waitForFunction(() => location.hash.includes("start=2026-03-01+08%3A00"));
});

test("a question is shown alone, values of labels are those of the others chosen, and a logarithmic axis says what it hides", async () => {
  await write(["a,region=us", "b,region=eu"].map((host) => `net,host=${host} up=0 ${now() - 5}000000000\nnet,host=${host} up=8 ${now()}000000000`).join("\n"));
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["log", "1"], ["m", "none:net.up{host=*}{region=us}"], ["m", "none:net.up{host=b}"]])}`);
  await page.getByText("2 values of 0 or less are not shown").waitFor();
  await page.getByLabel("Value of host").first().fill("");
  await page.getByRole("option", { name: "a", exact: true }).waitFor();
  assert.equal(await page.getByRole("option", { name: "b", exact: true }).count(), 0);
  await page.keyboard.press("Escape");
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "none:net.up{host=a}"], ["m", "none:net.up{host=b}"], ["m", "sum:net.up"]])}`);
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 3);
  const letters = () => page.locator(".letter").evaluateAll((all) => all.map((letter) => letter.getAttribute("aria-pressed")));
  await page.locator(".letter").nth(1).click({ modifiers: ["Control"] });
  await becomes(letters, ["false", "true", "false"]);
  await page.locator(".letter").nth(1).click({ modifiers: ["Control"] });
  await becomes(letters, ["true", "true", "true"]);
  // What was hidden before stays hidden.
  await page.locator(".letter").nth(2).click();
  await becomes(letters, ["true", "true", "false"]);
  await page.locator(".letter").nth(0).click({ modifiers: ["Control"] });
  await becomes(letters, ["true", "false", "false"]);
  await page.locator(".letter").nth(0).click({ modifiers: ["Control"] });
  await becomes(letters, ["true", "true", "false"]);
});

test("lines of three units say that they share an axis, and a window that is not over is dashed", async () => {
  // The last window is open for as long as the minute of the last sample lasts.
  while (now() % 60 < 6 || now() % 60 > 35) await new Promise((later) => setTimeout(later, 500));
  const at = now() - 600;
  const second = (back) => `${now() - back}000000000`;
  const lines = Array.from({ length: 180 }, (_, index) => `open,host=a used_bytes=${1e6 + index},busy_percent=75,took_seconds=2 ${second(900 - 5 * index)}`);
  await write(lines.join("\n"));
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ...["used_bytes", "busy_percent", "took_seconds"].map((field) => ["m", `avg:1m-avg:open.${field}`])])}`);
  await page.getByText("Lines in bytes, percent and seconds share an axis without a unit: a graph has axes for two units.").waitFor();
  await becomes(() => page.getByText(/^Dashed/).count(), 0, "a mean is none the less for a window that is not over");
  // A minute counts twelve samples, and the last one as many as there are.
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "avg:1m-count:open.busy_percent"]])}`);
  await page.getByText(/^Dashed: the last window is not over/).waitFor();
  await becomes(() => page.getByText("share an axis").count(), 0);
  const last = () => page.locator(".legend tbody .number").nth(0).textContent();
  await becomes(last, "12 %", "the last value is of a window that is over");
  // Where the range ends with a window nothing is dashed.
  const end = Math.floor(at / 60) * 60;
  await go(`#/explore?${new URLSearchParams([["start", String(end - 240)], ["end", `${end - 1}`], ["i", "SELECT count(busy_percent) FROM open WHERE time >= $start AND time < $end GROUP BY time(1m)"]])}`);
  await page.getByText(/^Dashed/).waitFor();
  await go(`#/explore?${new URLSearchParams([["start", String(end - 240)], ["end", String(end)], ["i", "SELECT count(busy_percent) FROM open WHERE time >= $start AND time < $end GROUP BY time(1m)"]])}`);
  await becomes(legend, ["open count"]);
  await becomes(() => page.getByText(/^Dashed/).count(), 0);
});

test("a line is shown alone, and then those that were shown before", async () => {
  await write(["a", "b", "c", "d"].map((host) => `alone,host=${host} up=1 ${now() - 5}000000000`).join("\n"));
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "none:alone.up{host=*}"]])}`);
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 4);
  const lines = () => page.locator(".legend .line").evaluateAll((all) => all.map((line) => line.getAttribute("aria-pressed")));
  const click = (at, ...modifiers) => page.locator(".legend .line").nth(at).click({ modifiers });
  await click(1);
  await becomes(lines, ["true", "false", "true", "true"]);
  await click(2, "Control");
  await becomes(lines, ["false", "false", "true", "false"]);
  await click(3, "Control");
  await becomes(lines, ["false", "false", "false", "true"]);
  await click(3, "Control");
  await becomes(lines, ["true", "false", "true", "true"]);
});

test("what each question cost is told", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "none:load.one{host=b}"], ["i", "SELECT count(one) FROM load"]])}`);
  await page.locator(".legend .line").first().waitFor();
  await page.getByText("Explain: how it was answered").click();
  const first = page.locator(".cost > ul > li").first();
  await first.getByText("1 stored series").waitFor();
  await becomes(() => first.textContent(), /^A none:load\.one\{host=b\}.*samples of 1 series.*read load\.one\{host=b\}.*blocks.*at most.*in the server$/s);
  await becomes(() => page.locator(".cost > ul > li").count(), 2);
  const tree = async (at) => (await page.locator(".cost > ul > li").nth(at).locator(".tree > li").allTextContents()).map((text) => text.replace(/\s/g, "")).join("\n");
  await becomes(() => tree(0), /^readload\.one\{host=b\}1seriesfrom\d+samples,[\d.]+[nµm]?s$/m);
  await becomes(() => tree(1), /^countofload\.one1series,1rowfrom\d+samples,[\d.]+[nµm]?s$/m);
  const saving = page.waitForEvent("download");
  await page.getByLabel("Save how B was answered as JSON").click();
  const saved = readFileSync(await (await saving).path());
  await page.getByLabel("Saved explanation").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from("{}") });
  await page.getByText("This file does not tell how a question was answered").waitFor();
  await page.getByLabel("Saved explanation").setInputFiles({ name: "b.json", mimeType: "application/json", buffer: saved });
  await becomes(() => page.locator(".cost > ul > li").nth(2).textContent(), /^opened SELECT count\(one\) FROM load/);
  await becomes(async () => await tree(2) === await tree(1), true);
});

test("InfluxQL is completed from the catalogue, by keyboard", async () => {
  await write(["a", "b"].map((tree) => `orchard,tree=${tree} pears=3,plums=4 ${now()}000000000`).join("\n"));
  await go("#/explore?start=15m-ago&i=SELECT+");
  const editor = page.locator(".editor .cm-content");
  await editor.waitFor();
  await becomes(() => page.getByLabel("Text in influxql").count(), 1);
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
  forgive("400");
  await becomes(legend, ["orchard max {tree=a}", "orchard max {tree=b}"]);
  await becomes(() => new URLSearchParams(page.url().split("?")[1]).get("i"), "SELECT max(pears) FROM orchard WHERE time >= $start GROUP BY tree, time($step)");
});

test("PromQL's completion offers what begins so first, and the server's own metrics last", async () => {
  await put(["http.hits", "a_http_b", "ahttpb", "foliot.http_seen"].map((name) => `put ${name} ${now()} 1 host=a\n`).join(""));
  await go("#/explore?start=15m-ago&p=rate%28");
  const editor = page.locator(".editor .cm-content");
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("http");
  const ours = ['{"http.hits"}', "a_http_b", "ahttpb", '{"foliot.http_seen"}'];
  const names = async () => (await page.locator(".cm-completionLabel").allTextContents()).filter((name) => ours.includes(name));
  await becomes(names, ours);
  await becomes(() => page.locator(".cm-completionLabel").first().textContent(), /^\{?"?http/);
  // What stood in the address was no expression yet.
  forgive("status of 400");
});

test("InfluxQL's fields are completed before a measurement is named", async () => {
  await write(`orchard,tree=a pears=3,plums=4 ${now()}000000000\nmarket,tree=a pears=3i ${now()}000000000`);
  await go("#/explore?start=15m-ago&i=SELECT+");
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("max(pea");
  await page.getByRole("option", { name: /^pears(float of orchard|integer of market), (orchard|market)$/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type(") FROM orchard");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.locator(".legend .line").first().waitFor();
  await becomes(legend, ["orchard max"]);
  forgive("400");
});

test("a name that is none leads to one that is", async () => {
  await load();
  await go("#/explore?start=15m-ago&m=avg:one{host=a}");
  await page.getByText("No such name for 'metrics': 'one'").waitFor();
  forgive("400");
  await page.getByRole("button", { name: "load.one" }).click();
  await page.locator(".legend .line").first().waitFor();
  await becomes(legend, ["load.one {host=a}"]);
  // So do a label and a value that are none, and what is said names them.
  await go("#/explore?start=15m-ago&m=sum:load.one{hast=*}");
  await page.getByText("No series of this database has a label “hast”.").waitFor();
  await page.getByRole("button", { name: "host", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  await go("#/explore?start=15m-ago&m=sum:load.one{host=web9}");
  await page.getByText("“web9” is the value of no label.").waitFor();
  await page.getByRole("button", { name: "b", exact: true }).click();
  await page.waitForURL(/host%3Db/);
  await page.locator(".legend .line").first().waitFor();
  // InfluxQL answers with nothing there, which is no error.
  await go("#/explore?start=15m-ago&i=SELECT max(onn) FROM load");
  await page.getByText("load has no field “onn”").waitFor();
  await page.locator(".nearest").getByRole("button", { name: "one", exact: true }).click();
  await page.locator(".legend .line").first().waitFor();
  await go("#/explore?start=15m-ago&i=SELECT max(one) FROM lod");
  await page.locator(".nearest").getByRole("button", { name: "load", exact: true }).click();
  await page.locator(".legend .line").first().waitFor();
  // So does PromQL, however many metrics there are.
  const lines = [`load,host=a one=1 ${now() - 5}000000000`, ...Array.from({ length: 1100 }, (_, at) => `many${at} value=1 ${now()}000000000`)];
  assert.equal((await fetch(`${address}/write?db=many`, { method: "POST", body: lines.join("\n") })).status, 204);
  await go("#/explore?start=15m-ago&db=many&p=sum(laod_one)");
  await page.getByText("No metric of this database is called “laod_one”.").waitFor();
  await page.getByRole("button", { name: "load_one", exact: true }).click();
  await page.locator(".legend .line").first().waitFor();
  // A function that is none leads to those that are called like it.
  await go("#/explore?start=15m-ago&db=many&p=rat(load_one[5m])");
  await page.getByText(/^Did you mean .*rate/).waitFor();
  forgive("400");
});

test("a link of many questions asks all of them, six at a time, and shows fields of the first", async () => {
  await load();
  let [running, most, all] = [0, 0, 0];
  await page.route("**/api/foliot/v1/query**", async (route) => {
    all += 1;
    running += 1;
    most = Math.max(most, running);
    await new Promise((done) => setTimeout(done, 20));
    running -= 1;
    await route.continue();
  });
  await go(`#/explore?start=15m-ago&${Array.from({ length: 45 }, (_, at) => `m=sum:load.one{host=${at % 2 ? "a" : "b"}}`).join("&")}`);
  await page.getByPlaceholder("Find among 45 lines").waitFor();
  assert.equal(all, 45);
  assert.ok(most > 1 && most <= 6, `${most} at a time`);
  await becomes(() => page.locator(".row").count(), 10);
  await page.getByText("35 more queries are asked and drawn, too.").waitFor();
  await page.getByRole("button", { name: "Show 20 of them" }).click();
  await page.getByRole("button", { name: "Show 15 of them" }).click();
  await becomes(() => page.locator(".row").count(), 45);
});

test("a long legend and a long table have the rows in sight on the page, and scroll to their ends", async () => {
  await write(Array.from({ length: 150 }, (_, at) => `many,n=n${String(at).padStart(3, "0")} v=${at} ${now() - 5}000000000`).join("\n"));
  await go("#/explore?start=15m-ago&m=sum:many.v{n=*}");
  const lines = page.locator(".legend .line");
  await lines.first().waitFor();
  await becomes(() => lines.count().then((count) => count < 60), true);
  await page.locator(".legend .scroll").evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await becomes(() => lines.last().textContent(), "many.v {n=n149}");
  await becomes(() => lines.filter({ hasText: "n000" }).count(), 0);
  await page.getByRole("button", { name: "Samples" }).click();
  const box = page.getByRole("region", { name: "Samples" });
  await box.evaluate((one) => one.scrollTo(0, one.scrollHeight));
  await becomes(() => box.locator("tbody tr").last().getAttribute("aria-rowindex"), "151");
});

test("a part of the graph that is dragged over becomes the range", async () => {
  await load();
  await go("#/explore?start=1h-ago&m=avg:$step-avg:load.one");
  await drawn();
  const box = await settledBox(page.locator(".u-over"));
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
    await go(link);
    await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
    await becomes(() => page.getByLabel("From").inputValue(), "10m-ago");
  }
});

test("a half-typed name does not stand in the way of another address", async () => {
  await load();
  await go("#/explore");
  await page.getByLabel("Metric").fill("half");
  await page.evaluate(() => { location.hash = "#/explore?start=10m-ago&i=SELECT+one+FROM+load"; });
  await page.getByLabel("Text in influxql").waitFor();
  await page.locator(".legend .line").first().waitFor();
  await becomes(legend, ["load one"]);
});

test("samples are shown to the nanosecond, with their kinds", async () => {
  const second = now() - 5;
  await write(`exact,a=b n=7i ${second}123456789\nexact,a=b n=8i ${second}123456790`);
  await go("#/explore?start=15m-ago&zone=utc&m=sum:1h-sum:exact.n");
  await page.getByRole("button", { name: "Samples" }).click();
  const rows = page.locator("tbody tr");
  await rows.nth(1).waitFor();
  await becomes(() => rows.first().textContent(), /\.123456790Zexact\.n \{a=b\}integer8127\.0\.0\.1, influx_http$/);
  await becomes(() => rows.nth(1).textContent(), /\.123456789Zexact\.n \{a=b\}integer7127\.0\.0\.1, influx_http$/);
  assert.ok(readFileSync(await downloaded("CSV"), "utf8").includes(`\n${second}123456790,exact,n,b,8,integer\n`));
});

test("the range moves by buttons and by dragging with Shift, and the greatest lines are picked", async () => {
  await load();
  const end = Date.now() - 10_000;
  const start = end - 600_000;
  await go(`#/explore?start=${start}&end=${end}&m=avg:$step-avg:load.one{host=*}`);
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
  await page.getByLabel("Lines").selectOption("5");
  await page.waitForFunction(() => location.hash.includes("top=5"));
  await becomes(legend, ["load.one {host=b}", "load.one {host=a}"]);
  const range = () => page.evaluate(() => ["start", "end"].map((name) => Number(new URLSearchParams(location.hash.split("?")[1]).get(name))));
  await page.getByRole("button", { name: "Earlier" }).click();
  await page.waitForFunction((before) => !location.hash.includes(before), String(start));
  await becomes(range, [start - 300_000, end - 300_000]);
  await page.getByRole("button", { name: "Later" }).click();
  await page.waitForFunction((before) => location.hash.includes(before), String(start));
  const box = await settledBox(page.locator(".u-over"));
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
  await becomes(() => page.url(), /start=20m-ago/);
});

/** Waits until the browser remembers an address as the last one that was asked, in which this is asked. */
const isRemembered = (text) => page.waitForFunction((text) => [...new URLSearchParams(JSON.parse(localStorage["foliot.history"] ?? "[]")[0]?.split("?")[1]).values()].includes(text), text);

test("keys lead a form through what it asked before, and leave the other rows", async () => {
  await load();
  for (const text of ["max:load.two", "min:load.two", "sum:load.two"]) {
    await go(`#/explore?${new URLSearchParams([["start", "20m-ago"], ["p", "count(load_one)"], ["m", text]])}`);
    await page.locator(".legend .line").nth(1).waitFor();
    await isRemembered(text);
  }
  const metric = page.getByRole("region", { name: "Query 2" }).getByLabel("Metric");
  const asks = () => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).getAll("m").concat(new URLSearchParams(location.hash.split("?")[1]).getAll("p")).join());
  await page.keyboard.press("Control+ArrowUp");
  await becomes(asks, "sum:load.two,count(load_one)", "no row has the cursor");
  // Half a name is typed, and there again on the way back.
  await metric.click();
  await page.keyboard.press("End");
  await page.keyboard.type("x");
  for (const [key, text] of [["Up", "min"], ["Up", "max"], ["Up", "max"], ["Down", "min"], ["Down", "sum"], ["Down", "sum"]]) {
    await page.keyboard.press(`Control+Arrow${key}`);
    await becomes(asks, `${text}:load.two,count(load_one)`);
    // The address is told a moment before the row is drawn.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  await becomes(() => metric.inputValue(), "load.twox");
  await page.keyboard.press("Escape");
  await go("#/explore");
  await becomes(() => page.locator(".row").count(), 1);
  await page.keyboard.press("h");
  await page.locator(".menu-list").waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("load") && !document.querySelector(".menu-list"));
});

test("keys lead a text through what its row asked before, in its language, back to what is typed", async () => {
  await load();
  const asked = (...questions) => `#/explore?${new URLSearchParams([["start", "20m-ago"], ...questions])}`;
  for (const [one, two] of [["max(load_one)", "min(load_two)"], ["min(load_one)", "min(load_two)"], ["avg(load_one)", "count(load_two)"]]) {
    await go(asked(["p", one], ["p", two]));
    await page.locator(".legend .line").nth(1).waitFor();
    await isRemembered(one);
  }
  const editors = page.locator(".editor .cm-content");
  const first = () => editors.first().textContent();
  await editors.first().click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" + 1");
  await page.keyboard.press("Escape");
  for (const [key, text] of [["Up", "avg(load_one)"], ["Up", "min(load_one)"], ["Up", "max(load_one)"], ["Up", "max(load_one)"], ["Down", "min(load_one)"]]) {
    await page.keyboard.press(`Control+Arrow${key}`);
    await becomes(first, text);
  }
  await becomes(() => editors.nth(1).textContent(), "count(load_two)", "the other row stays");
  assert.ok(page.url().includes("avg"), "nothing is asked on the way");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("p=min%28load_one") && location.hash.includes("count"));
  // The way goes on from what was asked, and the draft is at its end.
  for (const text of ["avg(load_one)", "avg(load_one) + 1", "avg(load_one) + 1"]) {
    await page.keyboard.press("Control+ArrowDown");
    await becomes(first, text);
  }
  // A row that is taken away leaves the history of the other one to it.
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("load_one%29+%2B+1"));
  await isRemembered("avg(load_one) + 1");
  await page.getByRole("button", { name: "Remove query 1" }).click();
  await becomes(() => editors.count(), 1);
  await page.waitForFunction(() => JSON.parse(localStorage["foliot.history"])[0].includes("start=20m-ago&p=count"));
  await editors.first().click();
  await page.keyboard.press("Control+ArrowUp");
  await becomes(first, "min(load_two)");
});

test("what is typed and not asked yet is there when the page is loaded anew, and asked when it is wanted", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "20m-ago"], ["p", "max(load_one)"], ["s", "SELECT one FROM load"]])}`);
  const editors = page.locator(".editor .cm-content");
  await editors.nth(1).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" LIMIT 2");
  await page.keyboard.press("Escape");
  await page.reload();
  await becomes(() => editors.nth(1).textContent(), "SELECT one FROM load LIMIT 2");
  await becomes(() => editors.first().textContent(), "max(load_one)");
  await page.getByText("not asked yet").waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForFunction(() => location.hash.includes("LIMIT+2"));
  await becomes(() => page.getByText("not asked yet").count(), 0);
  await editors.first().click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" * 2");
  await page.reload();
  await becomes(() => editors.first().textContent(), "max(load_one) * 2");
  await page.getByRole("button", { name: "Drop it" }).click();
  await becomes(() => editors.first().textContent(), "max(load_one)");
  await page.reload();
  await becomes(() => editors.first().textContent(), "max(load_one)");
  await becomes(() => page.getByText("not asked yet").count(), 0);
  // A name of a form that is half typed is no less typed.
  await go(`#/explore?${new URLSearchParams([["start", "20m-ago"], ["m", "max:load.one"]])}`);
  await page.getByLabel("Metric").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.type("load.tw");
  await page.reload();
  await becomes(() => page.getByLabel("Metric").inputValue(), "load.tw");
  assert.match(page.url(), /load\.one/);
  await page.getByLabel("Metric").click();
  await page.keyboard.press("End");
  await page.keyboard.type("o");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("load.two"));
  await page.reload();
  await becomes(() => page.getByLabel("Metric").inputValue(), "load.two");
});

test("a link that is opened has nothing in its rows that was typed before", async () => {
  await load();
  const link = (text) => `#/explore?${new URLSearchParams([["start", "20m-ago"], ["m", text], ["p", "max(load_one)"]])}`;
  const metric = page.getByRole("combobox", { name: "Metric" });
  const editor = page.locator(".editor .cm-content");
  /** Types without the field losing the cursor, which would ask it. */
  const halve = async () => {
    await editor.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" * 2");
    await page.keyboard.press("Escape");
    await metric.click();
    await page.keyboard.press("End");
    await page.keyboard.type("x");
    await becomes(() => metric.inputValue(), "load.onex");
  };
  const isOpened = async () => {
    await becomes(() => metric.inputValue(), "load.one");
    await becomes(() => editor.textContent(), "max(load_one)");
    await becomes(() => page.getByText("not asked yet").count(), 0);
  };
  await go(link("max:load.one"));
  await becomes(() => metric.inputValue(), "load.one");
  await metric.click();
  await page.keyboard.press("End");
  await page.keyboard.type("x");
  // The same link once more, and another one and back.
  await follow(link("max:load.one"));
  await isOpened();
  await metric.click();
  await page.keyboard.press("End");
  await page.keyboard.type("x");
  await follow(link("max:load.two"));
  await becomes(() => metric.inputValue(), "load.two");
  await follow(link("max:load.one"));
  await isOpened();
  // What the page itself leads to keeps what is typed, and so does the way back.
  await halve();
  await becomes(() => page.evaluate(() => location.hash.includes("load_one%29+*+2")), true);
  await page.getByRole("button", { name: "Remove query 2" }).dispatchEvent("click");
  await becomes(() => editor.count(), 0);
  await becomes(() => metric.inputValue(), "load.onex");
  await page.goBack();
  await becomes(() => editor.count(), 1);
  await becomes(() => metric.inputValue(), "load.onex");
  await page.reload();
  await becomes(() => metric.inputValue(), "load.onex");
});

test("Explain stays open when the language changes", async () => {
  await load();
  await go("#/explore?start=15m-ago&m=max:$step-max:load.two");
  await page.getByText("Explain: how it was answered").click();
  await page.locator(".tree").first().waitFor();
  await page.getByLabel("Language").selectOption("promql");
  await page.waitForFunction(() => location.hash.includes("p="));
  await page.locator(".tree", { hasText: "max" }).first().waitFor();
  await becomes(() => page.locator("details.cost").getAttribute("open").then((open) => open !== null), true);
});

test("measurements with their fields and labels stand beside InfluxQL, those that the text reads first", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["i", "SELECT  FROM load"]])}`);
  const beside = page.getByRole("complementary", { name: "Measurements" });
  await becomes(() => beside.locator("ul ul button").allTextContents(), ["one float", "two float", "host label"]);
  await page.locator(".editor .cm-content").click();
  await page.keyboard.press("Home");
  for (let at = 0; at < "SELECT ".length; at += 1) await page.keyboard.press("ArrowRight");
  await beside.getByRole("button", { name: "two float" }).click();
  await becomes(() => page.locator(".editor .cm-content").textContent(), "SELECT two FROM load");
  await page.keyboard.press("Enter");
  await becomes(legend, ["load two"]);
  // Of several rows one has them.
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", "load_one"], ["i", "SELECT one FROM load"], ["i", "SELECT two FROM load"]])}`);
  const folds = page.getByRole("button", { name: "Measurements", exact: true });
  const open = () => folds.evaluateAll((all) => all.map((one) => one.getAttribute("aria-expanded")).join());
  await becomes(open, "true,false");
  await folds.nth(1).click();
  await becomes(open, "false,true");
  forgive("400");
});

test("times are of any zone, and ranges may be said as Grafana does", async () => {
  const at = Date.UTC(2026, 0, 1, 12) / 1000;
  await write(`zoned v=1 ${at}000000000`);
  await go("#/explore?start=2026-01-01+12:59&end=2026-01-01+13:01&tz=Europe/Vienna&view=samples&m=sum:zoned.v");
  await page.getByRole("gridcell", { name: "2026-01-01 13:00:00.000000000" }).waitFor();
  await page.getByLabel("Zone").selectOption("another…");
  await page.getByLabel("Zone").fill("Asia/Nowhere");
  await page.getByText("no zone yet").waitFor();
  await page.getByLabel("Zone").fill("tokyo");
  await page.getByText("Enter takes Asia/Tokyo").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/zone=Asia%2FTokyo/);
  await page.getByLabel("From").fill("2026-01-01 20:59");
  await page.getByRole("textbox", { name: "To", exact: true }).fill("2026-01-01 21:01");
  await page.keyboard.press("Enter");
  await page.getByRole("gridcell", { name: "2026-01-01 21:00:00.000000000" }).waitFor();
  await go("#/explore?zone=Mars/Olympus&start=now-15m&m=sum:zoned.v");
  await page.getByText("which this browser does not know").waitFor();
  await page.getByText("No samples in this range").waitFor();
  await load();
  await page.getByLabel("Metric").fill("load.two");
  await page.keyboard.press("Enter");
  await page.locator(".legend .line").first().waitFor();
  await becomes(() => page.getByLabel("From").inputValue(), "now-15m");
});

test("a name that holds $step is asked as it is, and links of Prometheus' page open", async () => {
  await write(`of$step,host=a x=7 ${now() - 1}000000000\nof$step,host=a x=8 ${now()}000000000`);
  await go("#/explore?start=15m-ago&m=max:$step-max:of$step.x");
  await page.locator(".legend .line").first().waitFor();
  await becomes(legend, ["of$step.x {host=a}"]);
  await load();
  // Of Prometheus 2 and 3, and of VictoriaMetrics.
  for (const path of ["graph?", "query?", "vmui/#/?"]) {
    await go(`${path}g0.expr=max(load_one)&g0.tab=0&g0.range_input=1h30m`);
    await page.locator(".legend .line").first().waitFor();
    await becomes(() => page.getByLabel("From").inputValue(), "1h30m-ago", path);
  }
  hosts.delete("null");
});

test("samples are listed and saved as they are", async () => {
  await load();
  await go("#/explore?start=15m-ago&view=table&m=none:load.one{host=b}");
  await page.getByLabel("each value, not only the last").check();
  await page.getByRole("gridcell", { name: "101", exact: true }).waitFor();
  const text = readFileSync(await downloaded("CSV"), "utf8");
  assert.match(text, /^time_ms,name,field,host,value,kind\n\d{13},load.one,,b,\d+,float\n/);
  assert.ok(text.trim().split("\n").length >= 60, text);
});

test("an answer is saved as lines of JSON and as Parquet, which is brought in again as what it was", async () => {
  const second = now() - 60;
  await write(`saved,bed=a\\ b,name=x ph=6.5 ${second}123456789\nsaved,bed=a\\ b,name=x ph=7 ${second + 1}000000000`);
  await go(`#/explore?start=15m-ago&view=samples&m=${encodeURIComponent("none:saved.ph")}`);
  await page.getByRole("gridcell", { name: "6.5", exact: true }).waitFor();
  const lines = readFileSync(await downloaded("JSON lines"), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines[0], { time_ns: `${second}123456789`, name: "saved", field: "ph", bed: "a b", label_name: "x", value: 6.5, kind: "float" });
  const file = await downloaded("Parquet");
  const { stderr } = spawnSync(process.env.BINARY, ["import", "parquet", file, "--dry-run"], { encoding: "utf8", env: {} });
  assert.match(stderr, /2 rows found, 0 refused/, "as another reader of Parquet finds it");
  await go("#/import");
  await page.getByText("Drop a file here").waitFor();
  await page.getByLabel("File to import").setInputFiles({ name: "again.parquet", mimeType: "application/octet-stream", buffer: readFileSync(file) });
  await page.getByLabel("What bed is").waitFor();
  const roles = async () => Promise.all(["time", "measurement", "field", "bed", "value_float"].map((name) => page.getByLabel(`What ${name} is`).inputValue()));
  await becomes(roles, ["time", "measurement", "field", "label", "value"]);
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("This is what would be stored: 2 samples in 2 rows").waitFor();
  await becomes(() => page.getByRole("region", { name: "Metrics of the file" }).locator("tbody").textContent(), "saved.phfloat2");
});

test("a table has a row for each series, in the order that its heads are clicked for, and labels that all have are told", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["view", "table"], ["p", "sum(load_one)"], ["p", "count(load_one)"], ["p", "load_one"]])}`);
  const table = page.getByRole("region", { name: "Values" });
  const column = async (at) => (await table.locator(`tbody td:nth-child(${at})`).allTextContents()).join();
  await becomes(() => column(1), "A,B,C,C");
  await becomes(() => column(2), "sum(load_one),count(load_one),load_one,load_one");
  await table.getByRole("button", { name: "Value" }).click();
  const falling = async () => (await table.locator("tbody td.number:nth-last-child(2)").allTextContents()).map(Number);
  await becomes(async () => { const found = await falling(); return found.length === 4 && found.every((value, at) => !at || found[at - 1] >= value); }, true);
  await becomes(() => table.locator("th[aria-sort=descending]").textContent(), /^Value/);
  await table.getByRole("button", { name: "host" }).click();
  await becomes(async () => (await column(3)).slice(0, 3), "a,b");
  await write(`alike,host=a,dc=ams v=1 ${now() - 60}000000000\nalike,host=b,dc=ams v=2 ${now() - 60}000000000`);
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", "alike_v"]])}`);
  await page.getByText("All of them have dc=ams.").waitFor();
  await page.locator(".legend").getByRole("button", { name: "max" }).click();
  await becomes(legend, ["alike_v {host=b}", "alike_v {host=a}"]);
});

test("a tap on a button counts where it takes the focus from a text that is asked then", async () => {
  await load();
  await context.close();
  await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await go("#/explore?start=15m-ago&p=load_one");
  await page.locator(".legend .line").first().waitFor();
  await page.getByLabel("Text in promql").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("sum(load_one)");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "+ query" }).tap();
  await page.getByRole("region", { name: "Query 2" }).waitFor();
  await becomes(() => new URLSearchParams(new URL(page.url()).hash.split("?")[1]).getAll("p").join(), "sum(load_one),");
});

test("a form fills gaps, and compares labels otherwise; an axis has the ends that are wanted", async () => {
  await load();
  await go("#/explore?start=15m-ago&m=max:$step-max:load.one{host=*}");
  await becomes(legend, ["load.one {host=a}", "load.one {host=b}"]);
  await page.getByLabel("How host is compared").selectOption("≠");
  await page.getByLabel("Value of host").fill("a");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  await becomes(() => page.evaluate(() => decodeURIComponent(location.hash)), /m=max:\$step-max:load\.one\{host=not_literal_or\(a\)\}/);
  await becomes(legend, ["load.one {host=b}"]);
  await page.getByLabel("gaps").selectOption("zero");
  await becomes(() => page.evaluate(() => decodeURIComponent(location.hash)), /m=max:\$step-max-zero:load\.one\{host=not_literal_or\(a\)\}/);
  await becomes(() => page.getByLabel("Value of host").inputValue(), "a");
  await page.getByLabel("Greatest value that is shown").fill("1000");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("yrange"));
  await becomes(() => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("yrange")), "[:1000]");
  await becomes(() => page.getByLabel("Greatest value that is shown").inputValue(), "1000");
  // What is no end of it stays, and is told.
  await page.getByLabel("Least value that is shown").fill("2k");
  await page.keyboard.press("Enter");
  await page.getByText("the least is not below the greatest").waitFor();
  await page.getByLabel("Least value that is shown").fill("0.5k");
  await page.keyboard.press("Enter");
  await becomes(() => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("yrange")), "[500:1000]");
});

test("an expression is put into lines", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", "sum by(host)(rate(load_one{host=~\"a|b\"}[5m]))/on(host)sum by(host)(rate(load_one{host=~\"a|b|c\"}[5m]))"]])}`);
  await page.getByRole("button", { name: "Format" }).click();
  const lines = () => page.locator(".editor .cm-line").allTextContents();
  await becomes(async () => (await lines()).map((line) => line.trim()).join("\n"), 'sum by (host) (rate(load_one{host=~"a|b"}[5m]))\n/ on (host)\nsum by (host) (rate(load_one{host=~"a|b|c"}[5m]))');
});

test("what is selected of a text is asked alone, and the text stays", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["i", "SELECT max(one) FROM load; SELECT broken("]])}`);
  await page.locator(".failed").waitFor();
  const text = page.getByLabel("Text in influxql");
  await text.click();
  await page.keyboard.press("Home");
  for (let at = 0; at < "SELECT max(one) FROM load".length; at += 1) await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Only this is asked").waitFor();
  await page.getByText("load max", { exact: true }).first().waitFor();
  await becomes(() => text.textContent(), "SELECT max(one) FROM load; SELECT broken(");
  await page.getByRole("button", { name: "Ask all of it" }).click();
  await page.locator(".failed").waitFor();
  await becomes(() => page.getByText("Only this is asked").count(), 0);
  forgive("status of 400");
});

test("lines of several questions begin with their letters, and a name that PromQL spells another way is offered", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", "max by (host) (load_one)"], ["p", "min by (host) (load_one)"]])}`);
  await page.waitForFunction(() => [...document.querySelectorAll(".legend .line")].map(({ textContent }) => textContent).join() === "A {host=a},A {host=b},B {host=a},B {host=b}");
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", 'max by (host) ({"load.one", host="a"})']])}`);
  await page.getByText("PromQL has another name for “load.one”:").waitFor();
  await page.getByRole("button", { name: "load_one" }).click();
  await page.waitForFunction(() => document.querySelector(".legend .line")?.textContent === "load_one {host=a}" || document.querySelectorAll(".legend .line").length === 1);
  const editor = page.locator(".editor .cm-content");
  await becomes(() => editor.textContent(), 'max by (host) (load_one{host="a"})');
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type("clamp(load_one, 1");
  await page.waitForFunction(() => document.querySelector(".editor")?.shadowRoot?.querySelector(".cm-signature b")?.textContent === "least");
  await page.keyboard.press("Escape");
});

test("PromQL is completed, answered, explained and said where it is wrong", async () => {
  await write([60, 45, 30, 15, 0].map((back) => `jobs_total,queue=a value=${600 - back} ${now() - back}000000000\njobs_total,queue=b value=${60 - back} ${now() - back}000000000`).join("\n"));
  await go("#/explore?start=15m-ago&m=avg:$step-avg:jobs_total{queue=*}");
  await page.getByLabel("Language").selectOption("promql");
  const editor = page.locator(".editor .cm-content");
  await editor.waitFor();
  await becomes(() => editor.textContent(), "avg by (queue) (jobs_total)", "the form is said in PromQL");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 2);
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
  await page.keyboard.press("Tab");
  await becomes(() => editor.textContent(), 'rate(jobs_total{queue="b"}', "the quote that the editor has closed is there once");
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("sum(rate(jobs_total[5m])) > bool 0");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 1);
  await page.getByText("Explain: how it was answered").click();
  await becomes(() => page.locator(".tree > li > b").allTextContents(), ["answer", ">", "sum", "rate", "read", "number"]);
  await becomes(() => page.locator(".tree > li", { hasText: "rate" }).textContent(), /\d series from \d+ samples, [\d.]+ [nµm]?s, [\d.]+ [nµm]?s by itself$/);
  await becomes(() => page.locator(".tree > li", { hasText: "read" }).textContent(), /2 series from (8|10) samples, [\d.]+ [µm]?s$/);
  const explaining = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save how A was answered as JSON" }).click();
  const explained = JSON.parse(readFileSync(await (await explaining).path(), "utf8"));
  assert.deepEqual([explained.language, explained.text, explained.tree.type], ["promql", "sum(rate(jobs_total[5m])) > bool 0", "binaryExpr"]);
  assert.ok(explained.figures.samples_read > 0 && explained.tree.lhs.took.ms > 0);
  await editor.click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("rate(jobs_total[5m]");
  await page.keyboard.press("Enter");
  const failed = page.getByRole("alert");
  await failed.waitFor();
  await becomes(() => failed.locator("pre").textContent(), /\n +\^$/);
  forgive("400");
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

test("of more notes than are drawn the last ones are, and that is said", async () => {
  await load();
  const { annotations } = await (await fetch(`${API}/annotations`)).json();
  for (const { start_ms } of annotations) await fetch(`${API}/annotations?start_ms=${start_ms}`, { method: "DELETE" });
  const first = Date.now() - 600_000;
  for (let at = 0; at < 203; at += 1) await keep("annotations", { start_ms: first + 1000 * at, text: `n${at}` });
  await go("#/explore?start=15m-ago&m=max:load.two");
  await page.getByText("The last 200 of more notes in this range:").waitFor();
  await becomes(() => page.locator(".pill").count(), 200);
  await becomes(() => page.locator(".pill").first().textContent(), /n3×$/);
  for (let at = 0; at < 203; at += 1) await fetch(`${API}/annotations?start_ms=${first + 1000 * at}`, { method: "DELETE" });
});

test("OpenTSDB's link opens Explore; its text, labels and menus are where one types and looks", async () => {
  await load();
  await page.goto(`${address}/q#start=10m-ago&m=avg:10s-avg:load.one{host=*}`);
  await page.locator(".legend .line").nth(1).waitFor();
  await page.getByLabel("Language").selectOption("text");
  await page.getByRole("textbox", { name: "OpenTSDB" }).or(page.locator(".row textarea, .row .cm-content")).first().waitFor();
  await becomes(() => page.url(), /text=0/);
  await page.reload();
  await becomes(() => page.getByLabel("Language").inputValue(), "text", "an address keeps it");
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

test("a question that takes long is ended where it was asked", async () => {
  await load();
  let isHeld = true;
  let ended = 0;
  page.on("requestfailed", (request) => { ended += request.url().includes("/v1/query") ? 1 : 0; });
  await page.route("**/api/foliot/v1/query**", (route) => (isHeld ? undefined : route.continue()));
  await go("#/explore?start=15m-ago&m=avg:$step-avg:load.one");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Ended before it was answered").waitFor();
  await becomes(() => ended, 1, "the request is given up");
  isHeld = false;
  await page.getByRole("button", { name: "Run" }).click();
  await page.locator(".legend .line").first().waitFor();
  await becomes(() => page.getByText("Ended before it was answered").count(), 0);
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

test("what is wrong in OpenTSDB's text is marked at its place", async () => {
  await load();
  await go("#/explore?start=15m-ago&m=");
  await page.getByLabel(/Language/).first().selectOption("text");
  await page.getByRole("textbox", { name: "Text in opentsdb" }).click();
  for (const [text, wrong, said] of [["sum:load.one{host=}", "host", /a value is missing behind '='/], ["sum:load.one{host=b}x", "x", /Missing '}' at the end/], ["sun:load.one", "sun:load.one", /No such aggregation function/]]) {
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(text);
    await becomes(() => page.locator(".cm-wrong").allTextContents(), [wrong]);
    await becomes(() => page.locator(".cm-wrong").getAttribute("title"), said);
  }
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
  forgive("400");
});

test("a form that becomes InfluxQL keeps its one line; what is to be filled in is said, and what means nothing", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "avg:10s-avg:load.one"]])}`);
  await page.locator(".legend .line").first().waitFor();
  await page.getByLabel("Language").selectOption("influxql");
  await page.locator(".row .cm-content").filter({ hasText: "GROUP BY time(10s)" }).waitFor();
  await becomes(legend, ["load mean"]);
  await go("#/explore");
  await page.getByLabel("Language").selectOption("influxql");
  await page.getByRole("status").getByText(/^A measurement is missing/).waitFor();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "sum:rat:load.one"]])}`);
  await page.getByText(/^“rat” between the aggregator and the metric means nothing/).waitFor();
});

test("a label that is taken has one =, also where that is typed", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ["m", "sum:load.one"], ["text", "0"]])}`);
  const editor = page.locator(".editor .cm-content");
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("{ho");
  await page.getByRole("option", { name: /^host=/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("=a");
  await becomes(() => editor.textContent(), "sum:load.one{host=a}");
});

test("a range that makes no sense says which end is wrong, and nothing to try again", async () => {
  await load();
  await go(`#/explore?${new URLSearchParams([["start", "2999/01/01"], ["m", "sum:load.one"]])}`);
  await page.getByText("the beginning, “2999/01/01”, is no time").waitFor();
  await page.getByLabel("From").fill("2100/01/01");
  await page.keyboard.press("Enter");
  await page.getByText("the beginning, “2100/01/01”, lies in the future").waitFor();
  await becomes(() => page.getByRole("button", { name: "Retry" }).count(), 0);
});
