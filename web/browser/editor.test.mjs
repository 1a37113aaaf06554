// The editor of texts in Explore, in a real browser: FOLIOT=address node --test browser/editor.test.mjs

import { test } from "node:test";
import { becomes, forgive, go, load, now, page, write } from "./stage.mjs";

const asks = (...questions) => go(`#/explore?${new URLSearchParams([["start", "15m-ago"], ...questions])}`);

const editor = () => page.locator(".editor .cm-content");

const text = async () => (await page.locator(".editor .cm-line").allTextContents()).join("\n");

/** What is asked, as the address tells it. */
const asked = (letter) => page.evaluate((name) => new URLSearchParams(location.hash.split("?")[1]).get(name), letter);

const offered = () => page.locator(".cm-completionLabel").allTextContents();

test("who chooses a language types in the place of its template", async () => {
  await load();
  for (const language of ["sql", "influxql"]) {
    await go("#/explore");
    await page.getByLabel("Language").selectOption(language);
    await becomes(text, /…/);
    await page.waitForFunction(() => document.activeElement?.className === "editor");
    await page.keyboard.type("SHOW");
    await becomes(text, "SHOW");
    // So does who comes back to it with a click; a second one places the cursor.
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText("SELECT one FROM …");
    await page.getByLabel("From").focus();
    await editor().click();
    await page.keyboard.type("x");
    await becomes(text, "x");
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText("SELECT one FROM …");
    await page.getByLabel("From").focus();
    await editor().click();
    await editor().click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("y");
    await becomes(text, "SELECT one FROM …y");
  }
  // A question that became a text is gone on with at its end.
  await asks(["m", "sum:load.one"]);
  await page.locator(".legend .line").first().waitFor();
  await page.getByLabel("Language").selectOption("promql");
  await becomes(text, /load_one/);
  await page.waitForFunction(() => document.activeElement?.className === "editor");
  const begun = await text();
  await page.keyboard.type(" ");
  await becomes(text, `${begun} `);
  // Keys that go through the list keep it.
  await go("#/explore");
  await page.getByLabel("Language").focus();
  await page.keyboard.press("ArrowDown");
  await becomes(text, /avg:/);
  await page.keyboard.press("ArrowDown");
  await becomes(text, /…/);
  await becomes(() => page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Language");
  forgive("400");
});

test("a key makes lines comments by the sign of their language, and takes it off", async () => {
  await load();
  for (const [letter, question, commented] of [["s", "SELECT one\nFROM load", "SELECT one\n-- FROM load"], ["i", "SELECT one FROM load", "-- SELECT one FROM load"], ["p", "sum(load_one)\n+ 1", "sum(load_one)\n# + 1"]]) {
    await asks([letter, question]);
    await editor().click();
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Control+/");
    await becomes(text, commented);
    await page.keyboard.press("Control+/");
    await becomes(text, question);
  }
});

test("keys find and replace in a text, which is not asked for that", async () => {
  await load();
  await asks(["s", "SELECT one AS a, one + 1 AS b\nFROM load"]);
  await editor().click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText(" ");
  await page.keyboard.press("Control+F");
  const find = page.getByLabel("Find", { exact: true });
  await page.waitForFunction(() => document.querySelector(".editor").shadowRoot.activeElement?.getAttribute("name") === "search");
  await page.keyboard.type("one");
  await becomes(() => page.locator(".cm-searchMatch").count(), 2);
  await becomes(() => asked("s"), "SELECT one AS a, one + 1 AS b\nFROM load", "what is typed is not asked when the fields get the cursor");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await becomes(() => find.count(), 0);
  await page.keyboard.type("two");
  await becomes(text, " SELECT two AS a, one + 1 AS b\nFROM load");
  await page.keyboard.press("Control+H");
  await page.waitForFunction(() => document.querySelector(".editor").shadowRoot.activeElement?.getAttribute("name") === "replace");
  await page.keyboard.type("three");
  await page.getByRole("button", { name: "replace all" }).click();
  await becomes(text, " SELECT two AS a, three + 1 AS b\nFROM load");
  await becomes(() => asked("s"), "SELECT one AS a, one + 1 AS b\nFROM load");
  await page.getByLabel("From").focus();
  await becomes(() => asked("s"), " SELECT two AS a, three + 1 AS b\nFROM load", "it is asked once the editor is left");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  await page.getByText("find and replace; F3 goes on").waitFor();
  forgive("400");
});

test("behind ORDER BY the names of the select list are offered first, and functions where an expression may begin", async () => {
  await write(`plot,bed=north ph=6.5 ${now()}000000000`);
  await asks(["s", "SELECT bed, max(ph) AS zenith FROM plot GROUP BY bed "]);
  await editor().click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("O");
  await becomes(async () => (await offered()).some((name) => name.endsWith("()")), false);
  await page.keyboard.type("RDER BY ");
  await becomes(async () => (await offered()).slice(0, 2), ["zenith", "time"]);
  await becomes(async () => (await offered()).includes("lower()"), true);
  await page.keyboard.press("Tab");
  await becomes(text, "SELECT bed, max(ph) AS zenith FROM plot GROUP BY bed ORDER BY zenith");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("gridcell", { name: "6.5", exact: true }).waitFor();
  forgive("400");
});

test("behind a vector of PromQL stands what may follow it, and no metric", async () => {
  await write(`back\\\\slash value=1 ${now()}000000000\nbytes,job=a value=1 ${now()}000000000`);
  await load();
  await asks(["p", ""]);
  await editor().click();
  const types = async (typed, taken) => {
    await page.keyboard.press("Control+A");
    await page.keyboard.type(typed);
    await page.locator(".cm-tooltip-autocomplete").waitFor();
    await page.keyboard.press("Tab");
    await becomes(text, taken, typed);
  };
  await types("sum(up) b", "sum(up) by");
  await types("up > bo", "up > bool");
  await types("up @ st", "up @ start()");
  await types("up offset 5", "up offset 5m");
  await types("up / on(job) group_l", "up / on(job) group_left");
  // What the editor has closed itself stands there once.
  await types("up[5", "up[5m]");
  await types("load_one{ho", "load_one{host}");
  await types("load_on", "load_one");
  await types("rate(load_on", "rate(load_one)");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("up o");
  await becomes(async () => (await offered()).slice(0, 2).sort(), ["offset", "or"]);
  await becomes(async () => (await offered()).some((name) => /load|bytes|\(\)/.test(name)), false);
  forgive("400");
});

test("what is typed behind a new query is typed into it", async () => {
  await load();
  await asks(["p", "max(load_one)"]);
  await becomes(text, "max(load_one)");
  await page.getByRole("button", { name: "+ query" }).click();
  await page.getByRole("region", { name: "Query 2" }).waitFor();
  await page.waitForFunction(() => ["editor", "code"].includes(document.activeElement?.className));
  await page.keyboard.type("2 * 3");
  await becomes(() => page.locator(".editor .cm-content").nth(1).textContent(), "2 * 3");
  await page.keyboard.press("Enter");
  await becomes(() => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).getAll("p").join("; ")), "max(load_one); 2 * 3");
  // A form has its metric for it, and its names do not lie on the button that adds another.
  await asks(["m", "max:load.one"]);
  await page.getByRole("button", { name: "+ query" }).click();
  await page.getByRole("button", { name: "+ query" }).click();
  const metric = page.getByRole("region", { name: "Query 3" }).getByLabel("Metric");
  await metric.waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Metric");
  await page.keyboard.type("1load");
  await becomes(() => metric.inputValue(), "1load");
  await becomes(() => page.evaluate(() => location.hash.split("?")[0]), "#/explore");
  forgive("400");
});

test("what a call takes is told as long as the cursor is in it, and no list comes to who has left the editor", async () => {
  await load();
  await asks(["p", "rate(load_one[5m])"]);
  const told = () => page.locator(".cm-signature").allTextContents();
  await editor().click();
  await page.keyboard.press("Control+End");
  await page.keyboard.press("ArrowLeft");
  await becomes(told, ["rate(range)"]);
  await page.keyboard.press("ArrowRight");
  await becomes(told, []);
  await page.keyboard.press("ArrowLeft");
  await becomes(told, ["rate(range)"]);
  await page.getByLabel("From").focus();
  await becomes(told, []);
  await editor().focus();
  await becomes(told, ["rate(range)"]);
  // Names that come late find the editor left.
  let answer;
  const held = new Promise((resolve) => { answer = resolve; });
  await page.route(/catalogue/, async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press("Control+A");
  const coming = page.waitForRequest(/catalogue/);
  await page.keyboard.type("lo");
  await coming;
  await page.getByLabel("From").focus();
  answer();
  await page.waitForLoadState("networkidle");
  await becomes(offered, []);
  forgive("400");
});

test("a name that is missing is said to be no longer than until it is typed", async () => {
  await load();
  for (const [language, missing] of [["sql", /^A table is missing/], ["influxql", /^A measurement is missing/]]) {
    await go("#/explore");
    await page.getByLabel("Language").selectOption(language);
    const hint = page.getByRole("status").getByText(missing);
    await hint.waitFor();
    await page.waitForFunction(() => document.activeElement?.className === "editor");
    await page.keyboard.type("SELECT one FROM lo");
    await hint.waitFor({ state: "hidden" });
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText("SELECT one FROM …");
    await hint.waitFor();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("S");
    await hint.waitFor({ state: "hidden" });
  }
  forgive("400");
});

test("of a text that is another than what came back nothing is said", async () => {
  await load();
  await asks(["p", "max(load_one)"]);
  await editor().click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" * 2");
  await page.keyboard.press("Escape");
  const said = page.getByText("not asked yet");
  await page.reload();
  await said.waitFor();
  await editor().click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("0");
  await becomes(text, "max(load_one) * 20");
  await becomes(() => said.count(), 0);
  // Nor of what is asked.
  await page.reload();
  await said.waitFor();
  await page.getByRole("button", { name: "Ask it" }).click();
  await becomes(() => asked("p"), "max(load_one) * 20");
  await becomes(() => said.count(), 0);
});
