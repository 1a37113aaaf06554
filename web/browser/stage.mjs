// What the tests of the page share: a browser with a page of its own for each test, and a server with
// samples. Whatever a test does: nothing may be complained about, and nobody else be asked.

import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, afterEach, before, beforeEach } from "node:test";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";

export const address = process.env.FOLIOT;
export const API = `${address}/api/foliot/v1`;
const PATIENCE_MS = 20_000;

let browser;
let complaints;
export let context;
export let page;
export let hosts;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});
after(() => browser.close());
beforeEach(() => open());
afterEach(async () => {
  await context.close();
  assert.deepEqual(complaints, []);
  assert.deepEqual([...hosts].filter((origin) => origin !== address && !origin.startsWith("blob") && origin !== "null"), []);
});

/** Opens a page in a window of its own. */
export async function open(options = {}) {
  context = await browser.newContext({ viewport: { width: 1280, height: 900 }, timezoneId: "UTC", acceptDownloads: true, ...options });
  page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  complaints = [];
  hosts = new Set();
  page.on("console", (message) => message.type() === "error" && complaints.push(`${message.text()} ${message.location().url}`));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => complaints.push(`a dialog: ${dialog.message()}`));
  page.on("request", (request) => hosts.add(new URL(request.url()).origin));
}

/** What a test had the browser complain about is no fault. */
export function forgive(wanted) {
  complaints = complaints.filter((text) => (typeof wanted === "string" ? !text.includes(wanted) : !wanted.test(text)));
}

/** Opens an address afresh: in the same document, what was drawn before could be taken for what is wanted. */
export async function go(hash) {
  await page.goto("about:blank");
  await follow(hash);
}

/** Opens an address from the page that is there, as its own links and whoever edits the address do. */
export const follow = (hash) => page.goto(`${address}/${hash}`);

export const now = () => Math.floor(Date.now() / 1000);

export async function write(lines) {
  const answer = await fetch(`${address}/write?db=default`, { method: "POST", body: lines });
  assert.equal(answer.status, 204, await answer.text());
}

export function put(lines) {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(`${lines}exit\n`));
    socket.on("error", reject).on("close", resolve).resume();
  });
}

export async function keep(what, body) {
  const answer = await fetch(`${API}/${what}`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.text());
}

/** A minute of samples of two hosts. */
export async function load() {
  const lines = [];
  for (let back = 60; back > 0; back -= 1) {
    lines.push(`load,host=a one=${back},two=1 ${now() - back}000000000`, `load,host=b one=${100 + back} ${now() - back}000000000`);
  }
  await write(lines.join("\n"));
}

/** Waits until what is read is what is expected, and says how it differs where it never is. */
export async function becomes(read, expected, message) {
  const is = (found) => (expected instanceof RegExp ? expected.test(found) : isDeepStrictEqual(found, expected));
  const until = Date.now() + PATIENCE_MS;
  let found = await read();
  while (!is(found) && Date.now() < until) {
    await setTimeout(50);
    found = await read();
  }
  if (expected instanceof RegExp) assert.match(found, expected, message);
  else assert.deepEqual(found, expected, message);
}

/** Where a thing stands once nothing on its way can move it any more: the mouse goes there. */
export async function settledBox(locator) {
  await page.waitForLoadState("networkidle");
  let box = await locator.boundingBox();
  for (let before = null; !isDeepStrictEqual(box, before); box = await locator.boundingBox()) {
    before = box;
    await setTimeout(150);
  }
  return box;
}

export const legend = () => page.locator(".legend .line").allTextContents();

export const drawn = () => page.waitForFunction(() => {
  const canvas = document.querySelector(".result canvas, .first canvas");
  const pixels = canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data;
  return pixels?.some((value, index) => index % 4 === 3 && value > 0);
});
