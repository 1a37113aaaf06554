// Dashboards that are made, and metrics by what is known of them, in a real browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { API, address, becomes, forgive, go, keep, load, now, page, write } from "./stage.mjs";

/** Whoever is told of by the text of targets: a counter and a gauge. */
async function expose(text) {
  const answer = await fetch(`${address}/api/v1/import/prometheus`, { method: "POST", body: text });
  assert.ok(answer.ok, await answer.text());
}

/** What was made under these names before is not there any more. */
const without = (...names) => Promise.all(names.map((name) => fetch(`${API}/saved?${new URLSearchParams({ name })}`, { method: "DELETE" })));

const nearest = (within = page) => within.locator(".nearest");

test("a new dashboard is not made about a metric that is not there before somebody has read that", async () => {
  await load();
  await without("Misspelt", "To come");
  await go("#/dashboards");
  await page.getByRole("button", { name: "New dashboard" }).click();
  await page.getByLabel("Name of the new dashboard").fill("Misspelt");
  await page.getByLabel("Metric of the first panel").fill("load.onee");
  await page.getByRole("button", { name: "Make", exact: true }).focus();
  await page.getByRole("button", { name: "Make", exact: true }).click();
  await nearest().getByText("No metric of this database is called “load.onee”").waitFor();
  await nearest().getByRole("button", { name: "load.one" }).click();
  await becomes(() => page.getByLabel("Metric of the first panel").inputValue(), "load.one");
  await page.getByRole("button", { name: "Make", exact: true }).click();
  await page.locator(".panel canvas").waitFor();
  // Who has read it makes it all the same.
  await go("#/dashboards");
  await page.getByRole("button", { name: "New dashboard" }).click();
  await page.getByLabel("Name of the new dashboard").fill("To come");
  await page.getByLabel("Metric of the first panel").fill("load.tree");
  await page.getByRole("button", { name: "Make", exact: true }).focus();
  await page.getByRole("button", { name: "Make", exact: true }).click();
  await page.getByText("makes it all the same").waitFor();
  await page.getByRole("button", { name: "Make", exact: true }).click();
  // Its panel says what is near, and leads there.
  await page.locator(".panel .nearest, .panel .failed").first().waitFor();
  await page.getByRole("alert").getByText("load.tree").first().waitFor();
  forgive("400");
});

test("panels about what is not there name what is near, in other languages too", async () => {
  await load();
  await keep("saved", { name: "Near", panels: [
    { title: "Metric", address: `#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", "max(load_onee)"]])}` },
    { title: "Value", address: `#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", 'load_one{host="aa"}']])}` },
  ] });
  await go("#/dashboards?name=Near");
  await nearest().getByText("No metric of this database is called “load_onee”").waitFor();
  await nearest().getByText("No series of load.one has host “aa”").waitFor();
  await nearest().getByRole("button", { name: "load_one" }).first().click();
  await becomes(() => page.locator(".editor .cm-content").textContent(), "max(load_one)");
  await page.locator(".legend .line").first().waitFor();
});

test("dashboards that are ready can be added where their metrics are stored", async () => {
  await without("This machine");
  await go("#/dashboards");
  const ready = page.locator("section", { has: page.getByRole("heading", { name: "Ready to add" }) });
  await ready.getByText("needs cpu.usage_user").waitFor();
  await ready.getByRole("button", { name: "Add This machine" }).click();
  await becomes(() => page.locator(".panel h2").allTextContents(), ["Processors, jiffies a second", "Load", "Memory", "Network, bytes a second", "Disks in use", "Disk requests a second"]);
  await page.locator(".panel canvas").first().waitFor();
  await go("#/dashboards");
  await ready.getByRole("link", { name: "open" }).waitFor();
});

test("a metric is drawn as what its sender calls it, and not as what its name looks like", async () => {
  const at = (back) => (now() - back) * 1000;
  const samples = (name) => [60, 45, 30, 15, 0].map((back) => `${name}{job="x"} ${200 - back} ${at(back)}`).join("\n");
  await expose(`# TYPE jobs_done counter\n${samples("jobs_done")}\n# TYPE seats_total gauge\n${samples("seats_total")}\n`);
  await go("#/metrics?metric=jobs_done");
  await page.getByText("as a rate, because it is a counter").waitFor();
  await go("#/metrics?metric=seats_total");
  await page.getByRole("button", { name: "show a rate" }).waitFor();
  await go("#/explore");
  await page.getByLabel("Metric").fill("jobs_don");
  await page.getByRole("option", { name: "jobs_done" }).click();
  await becomes(() => page.evaluate(() => decodeURIComponent(location.hash).includes("rate{dropcounter}:jobs_done")), true, "the form knows it, too");
});

test("who asked for a metric last, by its name, is told where its series are counted", async () => {
  // So many series that it is among those that are listed.
  await write(Array.from({ length: 300 }, (_, at) => `wanted,of=${at} v=${at} ${now()}000000000`).join("\n"));
  await go("#/explore?start=15m-ago&m=max:$step-max:wanted.v");
  await page.locator(".legend .line").first().waitFor();
  await go("#/metrics?metric=wanted.v");
  await page.getByText("since the start, by its name").waitFor();
  await go("#/metrics");
  await page.locator(".ranks li", { hasText: "wanted.v" }).getByText(/^asked /).waitFor();
  await page.getByLabel(/only those that nobody asked for/).check();
  await becomes(() => page.locator(".ranks").first().locator("a", { hasText: /^wanted\.v$/ }).count(), 0);
});

test("a metric that is not there names those that are near", async () => {
  await load();
  await go("#/metrics?metric=load.onn");
  await nearest().getByRole("button", { name: "load.one" }).click();
  await page.waitForFunction(() => location.hash.includes("load.one"));
  await page.locator(".details canvas").first().waitFor();
  await page.waitForLoadState("networkidle").catch(() => undefined);
  forgive("400");
});

test("names with points and marks are asked by the halves that are stored", async () => {
  await fetch(`${address}/write?db=default`, { method: "POST", body: `pct{x} p99.9=4 ${now() - 30}000000000\npct{x} p99.9=5 ${now()}000000000` });
  await go(`#/metrics?${new URLSearchParams({ metric: "pct{x}.p99.9" })}`);
  await page.locator(".details canvas").first().waitFor();
  await page.locator(".details").getByRole("link", { name: "Explore" }).click();
  await page.locator(".legend .line").first().waitFor();
});
