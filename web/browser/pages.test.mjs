// Pages of other sites in a real browser, against a fresh server: they try whatever such pages can,
// and the server is asked afterwards what became of it. The same tries from a page that is let in
// show that each of them would work.
//
//   FOLIOT=address GRAPHITE=address TICKTOCK=address UDP=port AUDIT=file FRIEND=port node --test browser/pages.test.mjs
//
// FRIEND is the port of the page that `http.cors_domains` lets in; without it nobody is.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { ROWS, SECRET, WAYS, attack, listen, peep, read } from "./hostile.mjs";

const address = process.env.FOLIOT;
const { GRAPHITE: graphite, TICKTOCK: ticktock, AUDIT: audit, UDP: udp } = process.env;
const friend = Number(process.env.FRIEND ?? 0);
const places = { foliot: address, ticktock };
const port = new URL(address).port;
// The mapping is what a turned name looks like once it is turned. What browsers do by themselves
// against pages that ask the local network is switched off: the server stands alone.
const ARGS = [
  "--no-sandbox",
  "--host-resolver-rules=MAP *.example 127.0.0.1",
  "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights",
];

const PATIENCE = { timeout: 180_000 };

let browser;
let hostile;
const servers = [];

/** Serves an empty page at every path. */
async function site(number) {
  const server = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<!doctype html><title>lure</title><body>"));
  servers.push(server);
  await new Promise((resolve) => server.listen(number, "127.0.0.1", resolve));
  return server.address().port;
}

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGS });
  hostile = await site(0);
  if (friend) await site(friend);
  await influx(`CREATE DATABASE ${SECRET}`);
  await lines("default", `kept,who=${SECRET} v=1 1700000000000000000`);
});
after(async () => {
  await browser.close();
  for (const server of servers) server.close();
});

// The server is asked without the browser.

async function ask(path, options) {
  const answer = await fetch(address + path, options);
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${answer.status} ${text}`);
  return text;
}

const influx = (q) => ask("/query?db=default", { method: "POST", body: new URLSearchParams({ q }) });
const lines = (db, body) => ask(`/write?db=${db}`, { method: "POST", body });

/** The names that have a number, also those without samples. */
async function numbers() {
  const found = [];
  for (let number = 1, missed = 0; missed < 50; number += 1) {
    const answer = await fetch(`${address}/api/uid/uidmeta?type=metric&uid=${number.toString(16).padStart(6, "0")}`);
    missed = answer.ok ? 0 : missed + 1;
    found.push(await answer.text());
  }
  return found.join();
}

/** All that a page could have changed, by place. */
async function state() {
  return {
    samples: await influx("SELECT * FROM /.*/"),
    names: await ask("/api/suggest?type=metrics&max=100000"),
    numbers: await numbers(),
    databases: await influx("SHOW DATABASES"),
    policies: await influx("SHOW RETENTION POLICIES"),
    users: await influx("SHOW USERS"),
    queries: await influx("SHOW CONTINUOUS QUERIES"),
    tokens: await ask("/api/v2/authorizations"),
    notes: await ask("/api/foliot/v1/annotations?start_ms=0&end_ms=4000000000000"),
    trees: await ask("/api/tree"),
    saved: await ask("/api/foliot/v1/saved"),
    rows: (await ask("/metrics")).split("\n").filter((line) => line.startsWith("foliot_rows_total")).join("\n"),
    audit: existsSync(audit) ? readFileSync(audit, "utf8") : "",
  };
}

/** Nothing became of it; where something did, the beginning of that is told. */
function assertSame(now, earlier) {
  for (const place of Object.keys(earlier)) {
    const at = [...now[place]].findIndex((letter, at) => letter !== earlier[place][at]);
    assert.ok(now[place] === earlier[place], `${place} changed: …${now[place].slice(Math.max(at - 20, 0), at + 200)}…`);
  }
}

/** What rows take away is there first. */
async function seed(run) {
  for (const [number, row] of ROWS.entries()) {
    for (const way of WAYS) {
      const mark = markOf(run, number, way);
      if (row.takes === "samples") await lines("default", `${mark} v=1 1700000000000000000`);
      if (row.takes === "databases") await influx(`CREATE DATABASE ${mark}`);
      if (row.takes === "saved") {
        await ask("/api/foliot/v1/saved", { method: "POST", body: JSON.stringify({ name: mark, address: "#/explore?m=kept.v" }) });
      }
    }
  }
}

const markOf = (run, number, way) => `m_${run}_${number}_${WAYS.indexOf(way)}_e`;

/** All rows in all ways, as a page is told them. */
function tries(run, ways = WAYS) {
  return ROWS.flatMap((row, number) => ways.map((way) => {
    const mark = markOf(run, number, way);
    const at = 1_600_000_000 + number * 100 + WAYS.indexOf(way);
    const { method = "POST", path, type = "application/json", body = () => "" } = row;
    return { way, method, type, url: places[row.at ?? "foliot"] + path(mark, at), body: body(mark, at) };
  }));
}

/** What a row did, in which ways. */
function took(run, now) {
  return ROWS.map((row, number) => WAYS.filter((way) => {
    const is = now[row.takes ?? row.adds].includes(markOf(run, number, way));
    return row.takes ? !is : is;
  }));
}

async function open(url, html) {
  const context = await browser.newContext();
  const page = await context.newPage();
  // Only the lure comes from the foreign server: from then on the name leads to this one.
  if (html) await page.route(url, (route) => route.fulfill({ contentType: "text/html", body: html }));
  await page.goto(url);
  return page;
}

/** A page whose own origin is none: a frame without rights. */
async function nobody(url) {
  const page = await open(url);
  await page.evaluate(() => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts allow-forms";
    frame.srcdoc = "<!doctype html><body>";
    frame.onload = resolve;
    document.body.append(frame);
  }));
  return page;
}

const strangers = {
  "another name": () => open(`http://evil.example:${hostile}/`),
  "another port of this address": () => open(`http://127.0.0.1:${hostile}/`),
  "another port of localhost": () => open(`http://localhost:${hostile}/`),
  "a name that was turned to this server": () => open(`http://turned.example:${port}/lure`, "<!doctype html><body>"),
  "a name below localhost": () => open(`http://evil.localhost:${port}/lure`, "<!doctype html><body>"),
  "a frame without an origin": () => nobody(`http://evil.example:${hostile}/`),
};

/** A page and what runs in it. */
async function visit(who) {
  const page = await strangers[who]();
  const frame = page.frames().at(-1);
  const origin = new URL(page.url()).origin;
  // A turned name asks itself, which is this server.
  return { page, frame, foliot: origin.endsWith(`:${port}`) ? origin : address };
}

// Where one page is let in, others are told by another way: two of them are enough to try that.
for (const [run, who] of Object.keys(strangers).entries()) {
  if (friend && run > 1) break;
  test(`${who}: nothing is written, changed or taken away`, PATIENCE, async () => {
    await seed(`a${run}`);
    const { page, frame, foliot } = await visit(who);
    const earlier = await state();
    const all = tries(`a${run}`).map((one) => ({ ...one, url: one.url.replace(address, foliot) }));
    assert.equal(await frame.evaluate(attack, all), all.length);
    await frame.evaluate(listen, { foliot, kept: "kept", mark: `g${run}` });
    await frame.evaluate(attack, ["no-cors", "form text"].flatMap((way) => [graphite, ticktock, address].map((at) => ({
      way, method: "POST", url: `${at}/`, body: `\nsmuggled.${run} 1 1700000000\nput smuggled.${run} 1700000000 1 a=b\nsmuggled${run},a=b v=1 1700000000000000000\n#`, wait_ms: 3000,
    }))));
    assertSame(await state(), earlier);
    await page.context().close();
  });

  test(`${who}: nothing is read`, PATIENCE, async () => {
    const { page, frame, foliot } = await visit(who);
    const learned = await frame.evaluate(read, { foliot, secret: SECRET });
    assert.ok(learned.length > 20, `${learned.length} ways were tried`);
    for (const { way, text } of learned) assert.ok(!text.includes(SECRET), `${way}: ${text}`);
    // What is there and what is not look alike.
    const known = await frame.evaluate(peep, { foliot, metric: "kept.v", database: SECRET });
    const unknown = await frame.evaluate(peep, { foliot, metric: "gone.v", database: "gone" });
    assert.ok(known.length > 8);
    assert.deepEqual(known, unknown);
    assert.deepEqual(page.frames().filter((one) => one.url().startsWith(address)), []);
    await page.context().close();
  });
}

test("no frame of a foreign page shows this server", PATIENCE, async () => {
  const page = await open(`http://evil.example:${hostile}/`);
  for (const path of ["/", "/q", "/api/version", "/nowhere", "/query?q=SHOW+DATABASES"]) {
    const answered = page.waitForEvent("requestfinished", (request) => request.url() === address + path).catch(() => null);
    await page.evaluate((url) => {
      document.body.replaceChildren(Object.assign(document.createElement("iframe"), { src: url }));
    }, address + path);
    await Promise.race([answered, page.waitForEvent("requestfailed", (request) => request.url() === address + path)]);
    await page.waitForFunction(() => frames.length === 1);
    const [, frame] = page.frames();
    await frame.waitForURL(/^chrome-error:/);
  }
  await page.context().close();
});

test("a link into the page asks and changes nothing", PATIENCE, async () => {
  const earlier = await state();
  const page = await open(`http://evil.example:${hostile}/`);
  const texts = ["DROP MEASUREMENT kept", "DROP DATABASE " + SECRET, "SELECT v INTO stolen FROM kept", "DELETE FROM kept", "SELECT v FROM kept; DROP MEASUREMENT kept"];
  for (const text of texts) {
    for (const hash of [`#/explore?${new URLSearchParams({ start: "1h-ago", i: text })}`, `#/metrics?${new URLSearchParams({ metric: "kept.v", delete: "1" })}`]) {
      const popup = page.waitForEvent("popup");
      await page.evaluate((url) => void open(url), `${address}/${hash}`);
      const opened = await popup;
      await opened.waitForLoadState("networkidle");
      assert.equal(new URL(opened.url()).origin, address);
      await opened.close();
    }
  }
  assertSame(await state(), earlier);
  await page.context().close();
});

test("datagrams of a page's calls are no points", PATIENCE, async () => {
  const earlier = await state();
  const page = await open(`http://evil.example:${hostile}/`);
  const tried = await page.evaluate(async (port) => {
    const username = "a\nput called 1700000000 1 a=b\n";
    const relay = (transport) => ({ urls: `turn:127.0.0.1:${port}?transport=${transport}`, username, credential: username });
    const here = new RTCPeerConnection({ iceServers: [relay("udp"), relay("tcp")] });
    here.createDataChannel("x");
    await here.setLocalDescription(await here.createOffer());
    const there = here.localDescription.sdp.replace(/a=setup:actpass/g, "a=setup:active").replace(/a=candidate.*\r\n/g, "")
      .replace(/a=ice-ufrag:.*/g, "a=ice-ufrag:put+called+1700000000+1+a+b");
    await here.setRemoteDescription({ type: "answer", sdp: there });
    await here.addIceCandidate({ candidate: `candidate:1 1 udp 2113937151 127.0.0.1 ${port} typ host`, sdpMLineIndex: 0 });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    here.close();
    return true;
  }, udp);
  assert.ok(tried);
  assertSame(await state(), earlier);
  await page.context().close();
});

test("what every row tries works where the page is let in", { ...PATIENCE, skip: !friend }, async () => {
  await seed("friend");
  const page = await open(`http://127.0.0.1:${friend}/`);
  await page.evaluate(attack, tries("friend"));
  const now = took("friend", await state());
  for (const [number, row] of ROWS.entries()) {
    console.log(`# ${row.path("…", 0)} ${row.takes ?? row.adds}: ${now[number].join(", ") || "NEVER"}`);
  }
  const dead = ROWS.filter((_, number) => now[number].length === 0);
  assert.deepEqual(dead.map((row) => row.path("mark", 0)), []);
  // Each way carries something.
  assert.deepEqual(WAYS.filter((way) => !now.some((ways) => ways.includes(way))), []);
  const learned = await page.evaluate(read, { foliot: address, secret: SECRET });
  const readers = learned.filter(({ text }) => text.includes(SECRET)).map(({ way }) => way);
  console.log(`# read by: ${readers.join(", ")}`);
  assert.ok(readers.includes("fetch /query?db=default&q=SELECT+*+FROM+kept"), readers.join());
  await page.context().close();
});

test("the server's own page writes and reads", PATIENCE, async () => {
  const page = await open(`${address}/`);
  const own = ROWS.findIndex((row) => row.path("", 0).startsWith("/write"));
  const one = tries("own").filter((one) => one.way === "no-cors" && one.url.includes("/write?"));
  await page.evaluate(attack, one);
  assert.deepEqual(took("own", await state())[own], ["no-cors"]);
  const text = await page.evaluate(async (url) => (await fetch(url)).text(), `${address}/query?db=default&q=SELECT+*+FROM+kept`);
  assert.ok(text.includes(SECRET), text);
  await page.context().close();
});
