// The page in a real browser, against a fresh server: FOLIOT=address node --test browser/page.test.mjs
// What a person does is done by mouse, keyboard and sockets; what they would see is looked at.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { API, address, becomes, context, drawn, forgive, go, hosts, keep, load, now, open, page, put, settledBox, write } from "./stage.mjs";

const HOSTILE = "<img src=x onerror=document.title=1>\"'";

test("a first point by telnet turns the instructions into a live graph", async () => {
  await go("#/home");
  await page.getByRole("heading", { name: "Send your first point" }).waitFor();
  await page.getByRole("button", { name: "Telnet put" }).click();
  await becomes(() => page.locator(".command").textContent(), new RegExp(`nc 127.0.0.1 ${new URL(address).port}`));
  await put(`put first.point ${now() - 1} 20 bed=north\nput first.point ${now()} 21 bed=north\n`);
  await page.getByText("first.point arrived").waitFor();
  await drawn();
  await page.getByRole("link", { name: "Explore it" }).click();
  await page.waitForFunction(() => document.querySelector(".legend .line")?.textContent === "first.point {bed=north}");
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
  await becomes(() => row.textContent(), /3 h until 1970.*anyonefrom 127\.0\.0\.1/, "over which time, and who asks");
  await becomes(() => row.getByRole("link", { name: /^Ask again/ }).getAttribute("href"), /start=0&end=10800000&.*db=default.*m=sum/);
  const ending = page.waitForResponse("**/queries/cancel**");
  await row.getByRole("button", { name: /^Cancel/ }).click();
  assert.equal((await ending).status(), 200);
  // Whoever waits for the reader sees that it is to end when the reader has gone.
  reader.destroy();
  await page.getByText("None right now.").waitFor();
});

test("a question that was asked elsewhere is asked again in Explore", async () => {
  await load();
  const end = now();
  const answer = await fetch(`${address}/prometheus/api/v1/query_range?query=max(load_one)&start=${end - 600}&end=${end}&step=5`);
  assert.equal(answer.status, 200);
  const long = `sum(load_one{host!="${"x".repeat(2000)}"})`;
  assert.equal((await fetch(`${address}/prometheus/api/v1/query?${new URLSearchParams({ query: long })}`)).status, 200);
  await go("#/operations?view=queries");
  const costs = page.getByRole("region", { name: "Slow, frequent and heavy questions" });
  const cut = costs.getByRole("row", { name: /host!=.x{100}/ });
  await cut.getByText("Cut: too long to be asked again").waitFor();
  await becomes(() => cut.getByRole("link").count(), 0);
  const row = costs.getByRole("row", { name: /query_range max\(load_one\)/ });
  await becomes(() => row.textContent(), /10 min until .*, every 5s.*from 127\.0\.0\.1/);
  await row.getByRole("link", { name: /^Ask again/ }).click();
  await page.locator(".legend .line").first().waitFor();
  await page.locator(".row .cm-content").filter({ hasText: "max(load_one)" }).waitFor();
  await becomes(() => page.url(), new RegExp(`start=${end - 600}000&end=${end}000&step=5s`));
});

test("questions that failed stand out, and costs are told over a time", async () => {
  await load();
  const refused = await fetch(`${API}/query`, { method: "POST", body: JSON.stringify({ language: "promql", text: "load_one / on () load_one" }) });
  assert.equal(refused.status, 422);
  await go("#/operations?view=queries");
  const costs = page.getByRole("region", { name: "Slow, frequent and heavy questions" });
  const row = costs.getByRole("row", { name: /load_one \/ on \(\) load_one/ });
  await becomes(() => row.textContent(), /It failed, the last time with: .*✕ 1/);
  for (const within of ["in the last hour", "in the last day"]) {
    const asking = page.waitForRequest(/costs\?within_ms=/);
    await page.getByLabel("Over which time").selectOption(within);
    await asking;
    await page.getByText(/^Counted from \d{4}-/).waitFor();
    await row.getByText("✕ 1").waitFor();
  }
  await page.locator("label", { hasText: /^by/ }).locator("select").selectOption("failures");
  await becomes(() => costs.locator("tbody tr").first().textContent(), /✕/);
});

test("Operations shows what was wrong with rows that were refused", async () => {
  await put("put refused.here 1 wrong<b>number bed=north\n");
  await go("#/operations");
  const rows = page.getByRole("region", { name: "Rows that were refused" });
  await rows.getByText("wrong<b>number").first().waitFor();
  await becomes(() => rows.locator("tbody tr").first().textContent(), /telnet127\.0\.0\.1/);
  // A phone has room for the line, too.
  await page.setViewportSize({ width: 390, height: 844 });
  await becomes(() => rows.locator(".bad-line").first().evaluate((line) => line.clientWidth > 250), true);
});

test("samples are deleted once they were counted, and what has gone quiet stands first", async () => {
  const old = now() - 7200;
  await write(`shed,host=quiet temp=1 ${old}000000000\nshed,host=awake temp=1 ${old}000000000\nshed,host=awake temp=2 ${now()}000000000`);
  await go("#/metrics?metric=shed.temp");
  await page.getByText("2 series have samples, 1 of them none in the last hour").waitFor();
  const last = page.getByRole("region", { name: "Last samples" }).locator("tbody tr");
  await becomes(() => last.first().textContent(), /^host=quiet/);
  await page.getByLabel("To, now if empty").fill("1h-ago");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Delete 2 samples of 2 series" }).waitFor();
  await page.getByRole("button", { name: "Count what would go" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Delete 2 samples of 2 series" }).waitFor();
  await becomes(() => page.evaluate(() => document.activeElement?.textContent), "Count what would go", "the focus stays where it was");
  const form = page.locator(".delete form");
  await form.getByRole("button", { name: "+ label" }).click();
  await form.getByRole("combobox", { name: "Label", exact: true }).fill("host");
  await page.keyboard.press("Enter");
  await form.getByLabel("How host is compared").selectOption("!~");
  await form.getByRole("combobox", { name: "Value of host" }).fill("^aw");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByRole("button", { name: "Delete 1 sample of 1 series" }).waitFor();
  await form.getByLabel("How host is compared").selectOption("=");
  await form.getByRole("combobox", { name: "Value of host" }).fill("quiet");
  await page.keyboard.press("Enter");
  await becomes(() => page.getByRole("button", { name: /^Delete/ }).count(), 0, "what was counted is no longer what is meant");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByRole("button", { name: "Delete 1 sample of 1 series" }).click();
  await page.getByText("Deleted: 1 sample of 1 series. The audit log says so.").waitFor();
  await becomes(() => page.evaluate(() => document.activeElement?.getAttribute("role")), "status", "what became of it is read next");
  await page.getByText("1 series has samples, all of them in the last hour").waitFor();
  const gone = page.getByRole("region", { name: "What was deleted of shed.temp" }).locator("tbody tr");
  await becomes(() => gone.first().textContent(), /foliot from 127\.0\.0\.1delete .*shed.*host="quiet".* in defaultthe first to .*1 sample of 1 series$/);
  await becomes(() => last.first().textContent(), /^host=awake/);
  await page.setViewportSize({ width: 390, height: 844 });
  await becomes(() => last.first().locator("td").first().evaluate((cell) => cell.clientWidth > 250), true, "a phone has room for a series");
  await page.setViewportSize({ width: 1280, height: 900 });
  // What comes after the count stays, and what came for times before it is told.
  await form.getByRole("button", { name: "Remove host" }).click();
  await page.getByLabel("To, now if empty").fill("");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByRole("button", { name: "Delete 2 samples of 1 series" }).waitFor();
  await write(`shed,host=awake temp=3 ${now() - 60}000000000\nshed,host=awake temp=4 ${now() + 2}000000000`);
  await page.getByRole("button", { name: "Delete 2 samples of 1 series" }).click();
  await page.getByText("Deleted: 3 samples of 1 series; 2 of 1 had been counted").waitFor();
  await page.getByText("1 series has samples, all of them in the last hour").waitFor();
  await becomes(() => gone.count(), 2);
  await go("#/operations?view=audit");
  await becomes(() => page.getByRole("region", { name: "Audit log" }).locator("tbody tr").first().textContent(), /delete .*shed.*3 samples of 1 series$/);
});

test("what is gone is deleted over all metrics, after a list of them and its name typed", async () => {
  const at = `${now() - 60}000000000`;
  await write(`garret,room=a|b temp=1,damp=2 ${at}\ngarret,room=a temp=3 ${at}\nloft,room=a|b,by=x temp=4 ${at}\nloft,room=a|b,by=y temp=5 ${at}`);
  await go(`#/metrics?${new URLSearchParams({ label: "room", value: "a|b" })}`);
  await page.getByRole("heading", { name: "Delete samples with room=a|b" }).waitFor();
  const form = page.locator(".delete form");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByRole("heading", { name: "3 metrics lose samples" }).waitFor();
  await becomes(() => page.locator(".delete li").first().textContent(), /^loft\.temp2 samples of 2 series, about /);
  // Narrowed further, by a comparison.
  await form.getByRole("button", { name: "+ label" }).click();
  await form.getByRole("combobox", { name: "Label", exact: true }).fill("by");
  await page.keyboard.press("Enter");
  await form.getByLabel("How by is compared").selectOption("≠");
  await form.getByRole("combobox", { name: "Value of by" }).fill("x");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByRole("heading", { name: "1 metric loses samples" }).waitFor();
  await form.getByRole("button", { name: "Remove by" }).click();
  await page.getByRole("button", { name: "Count what would go" }).click();
  const button = page.getByRole("button", { name: "Delete 4 samples of 4 series" });
  await button.click({ force: true });
  await becomes(() => button.getAttribute("aria-disabled"), "true", "nothing goes before its name is typed");
  await page.getByLabel("Type room=a|b to confirm").fill("room=a|b");
  await button.click();
  await page.getByText("Deleted: 4 samples of 4 series. The audit log says so.").waitFor();
  await page.getByText("No series has this label with this value").waitFor();
  // A label alone is no condition that would leave anything.
  await go("#/metrics?label=room");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByText("labels or filters must say which series are meant").waitFor();
  forgive("400");
  await form.getByRole("combobox", { name: "Value of room" }).fill("a");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByRole("button", { name: "Delete 1 sample of 1 series" }).waitFor();
  await go("#/operations?view=audit");
  await becomes(() => page.getByRole("region", { name: "Audit log" }).locator("tbody tr").first().textContent(), /delete all metrics, with room="a\|b".*4 samples of 4 series$/);
});

test("a metric that has too many series is limited where that is seen, and the limit taken away again", async () => {
  await write(Array.from({ length: 30 }, (_, at) => `swarm,bee=b${at} v=1 ${now()}000000000`).join("\n"));
  await go("#/metrics");
  const ranks = page.locator("section.card", { hasText: "Metrics with most series" });
  await ranks.getByRole("button", { name: "Limit the series of swarm.v" }).click();
  await becomes(() => page.getByLabel("No new series beyond").inputValue(), "30");
  await page.getByLabel("No new series beyond").fill("many");
  await page.getByRole("button", { name: "Set the limit" }).click();
  await page.getByText("is no number of series").waitFor();
  await page.getByLabel("No new series beyond").fill("30");
  await page.getByRole("button", { name: "Set the limit" }).click();
  const limits = page.locator("section.card", { has: page.getByRole("heading", { name: "Limits" }) });
  await limits.getByText("30 of 30").waitFor();
  const beyond = await fetch(`${address}/write?db=default`, { method: "POST", body: `swarm,bee=new v=1 ${now()}000000000\nswarm,bee=b1 v=2 ${now()}000000000` });
  assert.match(await beyond.text(), /no more than 30 may be, by a limit that was set for it \(line 1\) dropped=1/);
  await go(`#/metrics?${new URLSearchParams({ metric: "swarm.v" })}`);
  const card = page.locator("section.card", { has: page.getByRole("heading", { name: "Limit", exact: true }) });
  await card.getByText("30 count now").waitFor();
  await card.getByRole("button", { name: "Take it away" }).click();
  await card.getByRole("button", { name: "Set the limit" }).waitFor();
  await write(`swarm,bee=new v=1 ${now()}000000000`);
});

test("lines of JSON are brought in with all digits, and told by their rows", async () => {
  await go("#/import");
  await page.getByText("Drop a file here").waitFor();
  const rows = [{ time: now() * 1000, bed: "north", drops: 7 }, { time: now() * 1000 + 1, bed: "south", drops: 8 }, { time: "soon", bed: "south", drops: 9 }];
  const text = rows.map((row) => JSON.stringify(row)).join("\n").replace(":8}", ":9007199254740993}");
  await page.getByLabel("File to import").setInputFiles({ name: "rain.jsonl", mimeType: "application/x-ndjson", buffer: Buffer.from(text) });
  await page.getByLabel("What drops is").selectOption("integer");
  await page.getByRole("button", { name: "Dry run" }).click();
  const faults = page.getByRole("region", { name: "Rows that are refused" });
  await becomes(() => faults.locator("tbody tr").textContent(), /^3timestamp is no time as it was chosen/);
  await page.getByRole("button", { name: "Import 2 good rows" }).click();
  await page.getByText("Stored: 2 samples in 2 rows, 1 row refused").waitFor();
  const found = await (await fetch(`${address}/query?db=default&q=${encodeURIComponent("SELECT max(drops) FROM rain")}`)).text();
  assert.ok(found.includes("9007199254740993"), found);
});

test("a panel of a metric shows values or a rate, as somebody wants it, and of several series the ends", async () => {
  const lines = Array.from({ length: 30 }, (_, at) => ["a", "b"].map((host) => `wave,host=${host} v=${host === "a" ? 10 : 20 + (at % 3)} ${now() - 300 + 10 * at}000000000`)).flat();
  await write(lines.join("\n"));
  await go(`#/metrics?${new URLSearchParams({ metric: "wave.v", range: "15m" })}`);
  await page.getByText("averaged over all series, between the least and the greatest of them").waitFor();
  await page.getByRole("button", { name: "show a rate" }).click();
  await page.getByText("as a rate, averaged over all series").waitFor();
  await page.getByRole("button", { name: "show values" }).click();
  await page.getByText("between the least and the greatest").waitFor();
});

test("a file with a bad line is tried, brought in, and drawn", async () => {
  const rows = Array.from({ length: 50 }, (_, at) => `${now() - 50 + at},bed ${at % 2},${at === 17 ? "wet" : 20 + at}`);
  await go("#/import");
  await page.getByText("Drop a file here").waitFor();
  await page.getByLabel("File to import").setInputFiles({ name: "brought.csv", mimeType: "text/csv", buffer: Buffer.from(`time;bed;temp\n${rows.join("\n").replaceAll(",", ";")}\n`) });
  await page.getByLabel("What bed is").waitFor();
  await becomes(() => page.getByLabel("What bed is").inputValue(), "label");
  await becomes(() => page.getByLabel("What time is").inputValue(), "time");
  await becomes(() => page.getByLabel("What temp is").inputValue(), "value", "one of its values is no number, and is refused by its line");
  await page.getByLabel("What time is").selectOption("none");
  await page.getByText("No column is a time: choose it above.").waitFor();
  await becomes(() => page.getByRole("button", { name: "Dry run" }).isDisabled(), true, "nothing is stored as of now by mistake");
  await page.getByLabel("What time is").selectOption("time");
  await page.getByRole("button", { name: "Dry run" }).click();
  const faults = page.getByRole("region", { name: "Rows that are refused" });
  await faults.locator("tbody tr").waitFor();
  await becomes(() => faults.locator("tbody tr").textContent(), /^19temp is no number.*\d{10};bed 1;wet$/);
  const stored = async () => (await (await fetch(`${API}/catalogue?of=metrics&search=brought`)).json()).names;
  assert.deepEqual(await stored(), [], "nothing is stored by a dry run");
  await page.getByRole("button", { name: "Import 49 good rows" }).click();
  await page.getByText("Stored: 49 samples in 49 rows, 1 row refused").waitFor();
  await becomes(stored, ["brought.temp"]);
  await page.getByRole("link", { name: "Explore brought.temp" }).click();
  await page.locator(".legend .line").first().waitFor();
});

test("a file that is no text of UTF-8 is told by what it is, and a packed one is unpacked", async () => {
  const csv = `time,bed,grün\n${Array.from({ length: 20 }, (_, at) => `${now() - at},b${at % 2},${at}`).join("\n")}\n`;
  await go("#/import");
  const choose = (name, buffer) => page.getByLabel("File to import").setInputFiles({ name, mimeType: "text/csv", buffer });
  for (const [buffer, said] of [
    [Buffer.from(`\ufeff${csv}`, "utf16le"), "This file is UTF-16: save it as UTF-8"], [Buffer.from(csv, "latin1"), "by its look it is Latin-1"],
    [Buffer.from("PK\x03\x04\0\0"), "a zip archive"], [gzipSync(csv).subarray(0, 40), "damaged or cut off"], [Buffer.alloc(0), "This file is empty."],
  ]) {
    await choose("odd.csv", buffer);
    await page.getByText(said).waitFor();
    await becomes(() => page.getByRole("button", { name: "Dry run" }).count(), 0);
  }
  // As two members, which browsers unpack one at a time.
  await choose("packed.csv.gz", Buffer.concat([csv.slice(0, 40), csv.slice(40)].map((part) => gzipSync(part))));
  await page.getByText("packed.csv.gz", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("This is what would be stored: 20 samples in 20 rows").waitFor();
  await page.getByRole("cell", { name: "packed.grün" }).waitFor();
});

test("an import is cancelled on its way", async () => {
  const lines = Array.from({ length: 60_000 }, (_, at) => `cancelled,n=${at % 100} v=${at} ${now() - 60_000 + at}`).join("\n");
  await go("#/import");
  await page.route("**/api/foliot/v1/import**", async (route) => { await new Promise((done) => setTimeout(done, 400)); await route.continue().catch(() => undefined); });
  await page.getByLabel("File to import").setInputFiles({ name: "cancelled.lp", mimeType: "text/plain", buffer: Buffer.from(lines) });
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" });
  await becomes(() => page.getByRole("button", { name: /^Import/ }).isDisabled(), true);
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
  await becomes(() => page.getByRole("button", { name: /^Import/ }).isDisabled(), true);
  forgive("ERR_FAILED");
});

test("who is no operator finds Home without the server's figures, and is told whose they are", async () => {
  await load();
  await page.route("**/api/foliot/v1/status**", (route) => route.fulfill({ status: 403, json: { error: { message: "\"reader\" lacks the role operator" } } }));
  await go("#/home");
  await page.getByText("are for those with the role operator").waitFor();
  await page.getByRole("link", { name: "load.one" }).waitFor();
  await becomes(() => page.getByRole("alert").count(), 0);
  forgive("403");
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
  await becomes(() => row.textContent(), /dry run seen <b>\.lp into default/);
  await row.getByRole("button", { name: /^Cancel/ }).click();
  await row.getByText("cancelled").waitFor();
  goOn();
  await page.getByText(/job \d+ was cancelled/).waitFor();
  forgive("409");
});

test("backups are told with their age, and what to type for the next", async () => {
  const into = `${process.env.DATA}.backups`;
  await go("#/operations?view=backups");
  await page.getByText("No backup is known").waitFor();
  await becomes(() => page.locator(".command").first().textContent(), /^foliot backup --data-dir \S+ \/backups$/);
  const foliot = (words) => execFileSync(process.env.BINARY, words, { encoding: "utf8", env: {} });
  foliot(["backup", "--data-dir", process.env.DATA, into]);
  await page.getByText("Last good backup").waitFor();
  const row = page.getByRole("region", { name: "Backups of this store" }).locator("tbody tr");
  await becomes(() => row.textContent(), /good after .*\.backups\/\d{4}-\d\d-\d\dT\d{6}\.\d{6}Z/);
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
  forgive("503");
});

test("Operations tells settings, retention, storage and the log", async () => {
  await write(`kept,env=dev v=1 ${now() - 86_400 * 3}000000000`);
  await put("put logged.line 1 no-number bed=north\n");
  await go("#/operations");
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Find a setting").fill("agent.host");
  const row = page.getByRole("region", { name: "Settings" }).locator("tbody tr").first();
  await row.waitFor();
  await becomes(() => row.textContent(), /^agent\.host.*true--set/);
  await page.getByRole("link", { name: "Retention" }).click();
  await page.getByLabel("Series").fill("kept{env=dev}");
  await page.getByLabel("Rules").fill("kept*=1d");
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText("rule 1").waitFor();
  await becomes(() => page.locator(".tester .facts").textContent(), /Kept for1d.*1 sample of 1 series.*Would go1 sample,/);
  await page.getByRole("link", { name: "Storage" }).click();
  await page.getByText("names of series").waitFor();
  const greatest = page.locator("section", { has: page.getByRole("heading", { name: "What fills the disk" }) }).locator("li").first();
  await greatest.getByText(/\d B|\d [KM]iB/).waitFor();
  await becomes(() => greatest.getByRole("link").getAttribute("href"), /^#\/metrics\?metric=/);
  await page.getByRole("link", { name: "Log" }).click();
  await page.getByLabel("Least level").selectOption("warn");
  await page.getByText(/rows by telnet from .* refused/).first().waitFor();
});

test("another database is chosen once, for all pages", async () => {
  assert.equal((await fetch(`${address}/write?db=other`, { method: "POST", body: `elsewhere,host=a v=1 ${now() - 5}000000000\nelsewhere,host=a v=2 ${now()}000000000` })).status, 204);
  await keep("saved?db=other", { name: "There", panels: [{ title: "panel", address: "#/explore?m=sum:elsewhere.v" }] });
  await go("#/metrics");
  // The version stands whole beside the choice.
  await becomes(() => page.locator(".about span").first().evaluate((text) => text.scrollWidth <= text.clientWidth + 1 && text.getBoundingClientRect().right <= text.parentElement.getBoundingClientRect().right + 1), true);
  await becomes(() => page.locator("header").evaluate((header) => header.clientHeight < 60), true, "in one line");
  await page.getByLabel("Database").selectOption("other");
  await page.getByRole("link", { name: "elsewhere.v" }).first().click();
  await page.getByText("1 series has samples").waitFor();
  await becomes(() => page.url(), /metric=elsewhere\.v.*&db=other/);
  await page.getByRole("button", { name: "Count what would go" }).click();
  await page.getByRole("button", { name: "Delete 2 samples of 1 series" }).waitFor();
  await page.getByRole("link", { name: "Dashboards" }).click();
  await page.getByRole("link", { name: "There" }).click();
  await page.getByRole("img", { name: "panel" }).or(page.locator(".panel canvas")).first().waitFor();
  await page.getByRole("link", { name: "Home" }).click();
  await page.getByRole("link", { name: "elsewhere.v" }).waitFor();
  // It is remembered, and a link says which one it means.
  await go("");
  await page.getByRole("link", { name: "elsewhere.v" }).waitFor();
  await go("#/metrics?metric=elsewhere.v");
  await page.getByText("There is no such metric").waitFor();
  await becomes(() => page.getByLabel("Database").inputValue(), "default");
  await go("#/metrics?db=nosuch");
  await page.getByText("nosuch").and(page.locator(".failed p")).first().waitFor();
  // A question about what is not there is refused.
  forgive(/status of 40[04]/);
  // Where no page is, that is said; and keys are told.
  await go("#/metrisc");
  await page.getByRole("link", { name: "Metrics" }).and(page.locator("main a")).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
  hosts.delete("null");
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
  await becomes(() => late.textContent(), /50 %/);
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
  await page.getByText("100 k/s → 150 k/s ×1.5 ✓better").waitFor();
  await becomes(() => page.locator(".halves h2").allTextContents().then((heads) => heads.map((head) => head.split(":")[0])), ["Before", "After"]);
  await go("#/benchmarks");
  await page.getByText("100 k/s → 150 k/s ×1.5").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await field.setInputFiles(file("c.json", { ...report(100), right: false, subject: "Foliot", at_fault: ["TickTock"] }));
  await page.getByText("Foliot: every checked answer right; refused or answered wrongly: TickTock").waitFor();
});

test("targets are told with state, samples, error and labels, and found again", async () => {
  writeFileSync(process.env.TARGETS, JSON.stringify([{ targets: [new URL(address).host], labels: { team: "own" } }]));
  copyFileSync(process.env.MONITORED, process.env.CONFIG);
  process.kill(Number(process.env.FOLIOT_PID), "SIGHUP");
  await go("#/monitoring");
  const own = page.getByRole("region", { name: "Targets of own" }).locator("tbody tr");
  await own.filter({ hasText: "up" }).waitFor();
  await becomes(() => own.first().textContent(), /^up.*team=own.*(ago|just now).*\d/);
  const gone = page.getByRole("region", { name: "Targets of gone" }).locator("tbody tr");
  await gone.filter({ hasText: "left:1" }).waitFor();
  await gone.filter({ hasText: "127.0.0.1:1" }).locator(".failed").waitFor();
  await becomes(() => gone.first().textContent(), /^down/, "what is down stands first");
  await gone.first().locator("summary").click();
  await gone.first().getByText("__metrics_path__").waitFor();
  await page.getByLabel("Find a target by address, label or error").fill("TEAM=own");
  await gone.first().waitFor({ state: "detached" });
  await becomes(() => own.count(), 1);
  await page.getByRole("button", { name: /^down/ }).click();
  await page.getByText("No target fits").waitFor();
});

test("rules are told with health and error, open in Explore, and alerts with value and since when", async () => {
  await go("#/monitoring?view=rules");
  const rule = (name) => page.locator(".entries > li").filter({ hasText: name });
  await rule("shop:many").filter({ hasText: "fails" }).waitFor();
  await becomes(() => rule("Burning").textContent(), /good.*1 firing/);
  await page.getByLabel("only those that fail").check();
  await rule("shop:one").waitFor({ state: "detached" });
  await page.getByLabel("only those that fail").uncheck();
  await rule("shop:one").getByRole("link").focus();
  await page.keyboard.press("Enter");
  await page.locator(".legend .line").first().waitFor();
  await go("#/monitoring?view=alerts");
  const alerts = page.locator(".entries > li");
  await alerts.nth(1).waitFor();
  await becomes(() => alerts.first().textContent(), /^firing.*Burning.*for.*it is 7 <img src=x.*value 7.*severity=page/);
  await becomes(() => alerts.nth(1).textContent(), /^pending.*Slowly/);
});

test("relabelling is tried, by rules of a job and by others", async () => {
  await go("#/monitoring");
  const gone = page.getByRole("region", { name: "Targets of gone" }).locator("tbody tr").filter({ hasText: "left:1" });
  await gone.locator("summary").click();
  await gone.getByRole("link", { name: "Try the rules of gone on them" }).click();
  const made = page.getByRole("region", { name: "What the rules make of it" });
  await made.getByText("dropped here").waitFor();
  await made.getByText("This target is not scraped.").waitFor();
  await becomes(() => page.getByLabel("Labels").inputValue(), /__address__=left:1.*zone="<img src=x/);
  await becomes(() => page.getByLabel("Rules, as a configuration has them").inputValue(), /^- \{action: drop, source_labels: \["__address__"\], regex: "left\.\*"\}\n$/);
  await page.getByLabel("Rules, as a configuration has them").fill("relabel_configs:\n- {source_labels: [__address__], regex: '(.*):.*', target_label: host}\n- {regex: zone, action: labeldrop}\n- {regex: none, action: labeldrop}\n");
  await page.getByLabel("Labels").press("Enter");
  const steps = made.locator(".steps > li");
  await steps.nth(2).getByText("changes nothing").waitFor();
  await becomes(() => steps.nth(0).locator(".labels code.new").allTextContents(), ["host=left"]);
  await becomes(() => steps.nth(1).locator(".labels code.gone").textContent(), /^zone=<img src=x/);
  await becomes(() => made.locator(".facts").textContent(), /Series of this target havehost=left, instance=left:1, job=gone/);
  await page.getByLabel("Rules, as a configuration has them").fill("- regex: (\n");
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText("rules:1: [0].regex").waitFor();
  await becomes(() => made.count(), 0);
  await page.getByLabel("Take those of").selectOption("own");
  await page.getByText("The job own has no relabel_configs.").waitFor();
  forgive("400");
});

test("metrics are drawn beside one another, each by its kind, and texts are read in a table", async () => {
  await load();
  const bounds = ["0.1", "1", "+Inf"];
  const lines = Array.from({ length: 40 }, (_, at) => bounds.map((le, index) => `lat_seconds_bucket{le="${le}"} ${(at + 1) * (index + 1)} ${(now() - 600 + at * 15) * 1000}`)).flat();
  await fetch(`${address}/api/v1/import/prometheus`, { method: "POST", body: `${lines.join("\n")}\n` });
  await write(`told,bed=north text="dry" ${now()}000000000`);
  await go("#/metrics");
  await page.getByLabel("Find a metric").fill("lat_");
  await page.getByRole("link", { name: "Draw these beside one another" }).click();
  await page.locator(".panel").getByText("as a map of its buckets").waitFor();
  await page.getByLabel("Find a metric").fill("load.");
  await page.locator(".panel").getByText("averaged over all series").first().waitFor();
  await becomes(async () => await page.locator(".panel").count() >= 2, true);
  // All of them over one range, of the series that have a label, which the address keeps.
  await page.getByRole("button", { name: "+ label" }).click();
  await page.getByRole("combobox", { name: "Label", exact: true }).fill("host");
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: "Value of host" }).fill("b");
  await page.keyboard.press("Enter");
  await page.locator(".panel", { hasText: "load.one" }).getByText("the last hour, averaged by host").waitFor();
  await page.getByRole("navigation", { name: "Range" }).getByRole("link", { name: "6h" }).click();
  const one = page.locator(".panel", { hasText: "load.one" });
  await one.getByText("the last 6h, averaged by host").waitFor();
  await page.reload();
  await one.getByText("the last 6h, averaged by host").waitFor();
  await becomes(() => page.getByLabel("Find a metric").inputValue(), "load.");
  await becomes(() => page.getByRole("combobox", { name: "Value of host" }).inputValue(), "b");
  await becomes(async () => await one.getByRole("link", { name: "Explore" }).getAttribute("href"), /start=6h-ago&m=avg%3A%24step-avg%3Aload\.one%7Bhost%3Db%7D/);
  await page.getByRole("combobox", { name: "Value of host" }).fill("nobody");
  await page.keyboard.press("Enter");
  await one.getByText("No numbers in the last 6h with host=nobody").waitFor();
  forgive("400");
  await page.getByRole("button", { name: "Remove host" }).click();
  await page.getByLabel("From").fill("tomorrow?");
  await page.keyboard.press("Enter");
  await one.getByText("The range makes no sense").waitFor();
  await page.getByRole("navigation", { name: "Range" }).getByRole("link", { name: "1h" }).click();
  await one.getByText("the last hour, averaged over all series").waitFor();
  // Letters in their order find what no part does.
  await page.getByLabel("Find a metric").fill("lscbck");
  await page.locator(".names").getByRole("link", { name: "lat_seconds_bucket" }).click();
  await page.getByText("the last hour, as a map of its buckets").waitFor();
  await page.getByRole("link", { name: "Explore", exact: true }).last().click();
  await page.getByRole("img", { name: "Map of 3 buckets" }).waitFor();
  await page.getByRole("button", { name: "Graph", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".legend .line").length === 3);
  await go("#/metrics?metric=told.text");
  await page.getByText("Its values are texts, which no graph shows").waitFor();
  await page.getByRole("link", { name: "Read them in a table" }).click();
  await page.getByRole("gridcell", { name: "dry" }).waitFor();
});

test("what makes most series is counted at any time or of one, and each tells when it was last used", async () => {
  await load();
  const before = now() - 3 * 86_400;
  await write(Array.from({ length: 400 }, (_, at) => `aged,of=${at} v=1 ${before}000000000`).join("\n"));
  await go("#/metrics");
  const aged = page.locator(".ranks li", { hasText: "aged.v" });
  await becomes(() => aged.textContent(), /^aged\.v not asked sample 3 d ago 400limit$/);
  await page.getByRole("navigation", { name: "Range" }).getByRole("link", { name: "24h" }).click();
  await page.getByText("with samples in the last 24h").waitFor();
  await becomes(() => aged.count(), 0);
  await page.locator(".ranks li", { hasText: "load.one" }).waitFor();
  await page.getByLabel("Day").fill(new Date(before * 1000).toISOString().slice(0, 10));
  await becomes(() => aged.textContent(), /400limit$/);
  await page.reload();
  await becomes(() => aged.textContent(), /400limit$/);
  await becomes(() => page.locator(".ranks li", { hasText: "load.one" }).count(), 0);
  // What is deleted whole is neither listed nor counted.
  await keep("delete", { metric: "aged.v", labels: { of: "7" } });
  await go("#/metrics?metric=aged.v");
  await page.getByText("399 series", { exact: true }).waitFor();
  await keep("delete", { metric: "aged.v" });
  await page.reload();
  await page.getByText("There is no such metric").waitFor();
  // Its panel is asked for beside that.
  await page.waitForLoadState("networkidle");
  forgive("400");
});

test("the day whose series are counted stands beside the ranges", async () => {
  await load();
  await go("#/metrics");
  const ranges = page.getByRole("group", { name: "Which series are counted" }).getByRole("navigation");
  for (const width of [1280, 1250]) {
    await page.setViewportSize({ width, height: 900 });
    await becomes(async () => {
      const [nav, day] = await Promise.all([ranges.boundingBox(), page.getByLabel("Day").boundingBox()]);
      return day.y < nav.y + nav.height && nav.y < day.y + day.height;
    }, true, `at ${width}`);
  }
});

test("lists of what makes most series go on, and a metric leads to those beside it", async () => {
  await write(Array.from({ length: 30 }, (_, at) => `attic,box=b${at},face=${at % 2} f${at}=1,value=2 ${now()}000000000`).join("\n"));
  await go("#/metrics");
  const metrics = page.locator(".details > .card", { has: page.getByRole("heading", { name: "Metrics with most series" }) }).locator(".ranks > li");
  await becomes(() => metrics.count(), 20);
  await page.getByRole("button", { name: "100 more metrics" }).click();
  await becomes(async () => await metrics.count() > 40, true);
  await page.locator(".ranks a", { hasText: /^attic\.f29$/ }).waitFor();
  await page.locator(".ranks a", { hasText: /^attic\.f29$/ }).click();
  const beside = page.locator(".card", { has: page.getByRole("heading", { name: "Beside it" }) });
  await becomes(async () => (await beside.getByRole("link").allTextContents()).slice(0, 2), ["attic", "attic.f0"]);
  await beside.getByRole("link", { name: "attic.f7" }).click();
  await page.getByRole("heading", { name: "attic.f7" }).waitFor();
  await beside.getByRole("link", { name: "attic.f29" }).waitFor();
});

test("who sends it is told by protocol and address", async () => {
  await put(`put sent.here ${now()} 1 bed=north\n${`put sent.here ${now()} wrong bed=north\n`.repeat(200)}`);
  await go("#/operations?view=senders");
  const row = page.getByRole("region", { name: "Who sends it" }).locator("tbody tr").filter({ hasText: "telnet" });
  await row.waitFor();
  await becomes(() => row.textContent(), /^127\.0\.0\.1telnet/);
  await page.getByLabel("by").selectOption("refused rows");
  await page.waitForFunction(() => document.querySelector("tbody tr")?.textContent.includes("telnet"));
  await go("#/metrics");
  await page.getByRole("heading", { name: "Senders with most new series" }).waitFor();
});

test("a dashboard is made where dashboards are, with a metric, and gets another panel", async () => {
  await load();
  await go("#/dashboards");
  await page.getByRole("button", { name: "New dashboard" }).click();
  await page.keyboard.type("Made here");
  await page.getByRole("button", { name: "Make" }).click();
  await page.getByText("Choose a metric.").waitFor();
  await page.getByLabel("Metric of the first panel").fill("ad.on");
  await page.getByRole("option", { name: "load.one" }).click();
  await page.getByRole("button", { name: "Make" }).click();
  await page.getByRole("heading", { name: "Made here", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Metric of another panel").fill("ad.tw");
  await page.getByRole("option", { name: "load.two" }).click();
  await page.getByRole("button", { name: "+ panel" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".panel .key li").length === 2);
  await becomes(() => page.locator(".panel h2").allTextContents(), ["load.one", "load.two"]);
  await go("#/dashboards");
  await page.getByRole("button", { name: "New dashboard" }).click();
  await page.keyboard.type("Made here");
  await page.getByLabel("Metric of the first panel").fill("load.two");
  await page.getByRole("button", { name: "Make" }).click();
  await page.getByText("choose another name").waitFor();
  await fetch(`${API}/saved?name=Made+here`, { method: "DELETE" });
});

test("this server's own metrics are hidden until somebody wants them", async () => {
  await load();
  await go("#/metrics");
  const own = page.getByRole("link", { name: "foliot.rows_total" });
  await page.getByRole("link", { name: "load.one" }).first().waitFor();
  await becomes(() => page.locator(".names li").getByText(/^foliot\./).count(), 0);
  await page.getByLabel(/hide own metrics/).uncheck();
  await page.locator(".names li").getByText(/^foliot\./).first().waitFor();
  await page.reload();
  await page.locator(".names li").getByText(/^foliot\./).first().waitFor();
  await page.getByLabel(/hide own metrics/).check();
  await page.locator(".names li").getByText(/^foliot\./).first().waitFor({ state: "detached" });
  await page.getByLabel("Find a metric").fill("foliot.row");
  await own.first().waitFor();
});

test("a label and a pair lead to what has them", async () => {
  await load();
  await write(`walls,host=a,side=north paint=3 ${now()}000000000`);
  await go("#/metrics");
  await page.locator(".ranks").getByRole("link", { name: "host", exact: true }).click();
  await page.getByRole("heading", { name: "host", exact: true }).waitFor();
  await page.getByRole("heading", { name: "Values with most series" }).waitFor();
  await page.locator(".ranks").getByRole("link", { name: "a", exact: true }).click();
  await page.getByRole("heading", { name: "host=a", exact: true }).waitFor();
  const last = page.getByRole("region", { name: "Last samples" });
  await last.getByText("load.one {host=a}").waitFor();
  await last.getByText("walls.paint {host=a, side=north}").waitFor();
  await becomes(() => last.getByText("host=b").count(), 0);
  await page.locator(".ranks").getByRole("link", { name: "side" }).click();
  await page.getByText("1 series of 1 metric have it, with 1 value").waitFor();
  await page.locator(".ranks").getByRole("link", { name: "walls.paint" }).click();
  await page.getByRole("button", { name: "side" }).click();
  await page.locator(".values").getByRole("link", { name: "north" }).click();
  await page.getByRole("heading", { name: "side=north", exact: true }).waitFor();
  await go("#/metrics?label=nosuch&value=x");
  await page.getByText("No series has this label with this value").waitFor();
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
  // What is not yet stored is found again after another page was looked at.
  await go("#/metrics");
  await page.getByLabel("Find a metric").waitFor();
  await go("#/dashboards?name=Before");
  await page.getByText("This is as you left it").waitFor();
  await becomes(() => page.getByLabel("Title of panel 2").inputValue(), "First <b>");
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
  await becomes(() => page.locator(".panel h2").allTextContents(), ["Two", "First <b>"]);
  const kept = (await (await fetch(`${API}/saved`)).json()).saved;
  assert.deepEqual(kept.filter(({ kind }) => kind === "dashboard").map(({ name }) => name), ["After", "Taken"]);
  assert.match(kept.find(({ name }) => name === "After").panels[0].address, /start=6h-ago/);
  for (const name of ["After", "Taken"]) await fetch(`${API}/saved?name=${name}`, { method: "DELETE" });
});

test("a panel that is half typed keeps its dashboard from being stored without it", async () => {
  await load();
  await keep("saved", { name: "Half", panels: [{ title: "One", address: "#/explore?start=15m-ago&m=max:$step-max:load.two" }] });
  await go("#/dashboards?name=Half");
  await page.getByRole("button", { name: "Edit" }).click();
  const field = page.getByLabel("Metric of another panel");
  await field.fill("load.o");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("alert").getByText("“load.o” is typed for another panel").waitFor();
  await becomes(async () => (await stored("Half")).panels.length, 1);
  await field.fill("load.one");
  await page.getByRole("button", { name: "+ panel" }).click();
  await page.getByLabel("Title of panel 2").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByLabel("Name of the dashboard").waitFor({ state: "detached" });
  await becomes(async () => (await stored("Half")).panels.map(({ title }) => title), ["One", "load.one"]);
  await forgetBoard("Half");
});

/** What is stored of a dashboard. */
async function stored(name) {
  return (await (await fetch(`${API}/saved`)).json()).saved.find((one) => one.name === name);
}

const forgetBoard = (name) => fetch(`${API}/saved?${new URLSearchParams({ name })}`, { method: "DELETE" });

test("questions of a dashboard are edited in place, and a wrong one is told by its panel and not stored", async () => {
  await load();
  const address = "#/explore?start=15m-ago&m=max:$step-max:load.two&p=load_one";
  await keep("saved", { name: "Asking", panels: [{ title: "First", address: "#/explore?start=15m-ago&m=max:$step-max:load.two" }, { title: "Second <b>", address }] });
  await go("#/dashboards?name=Asking");
  await page.getByRole("button", { name: "Edit" }).click();
  const [form, promql] = [page.getByLabel("Question 1 of panel 2, in OpenTSDB"), page.getByLabel("Question 2 of panel 2, in PromQL")];
  await becomes(() => form.inputValue(), "max:$step-max:load.two", "a form is its text");
  await promql.fill("sum(rate(load_one[5m])");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const wrong = page.locator(".board-edit li").nth(1).getByRole("alert");
  await wrong.getByText("“Second <b>”: ").waitFor();
  await becomes(() => wrong.locator("pre").textContent(), /^sum\(rate\(load_one\[5m\]\)\n +\^$/);
  await page.waitForFunction(() => document.activeElement?.ariaLabel?.startsWith("Question 2 of panel 2"));
  assert.equal((await stored("Asking")).panels[1].address, address, "nothing is stored");
  // Enter stores; a question without a text is none.
  await promql.fill("sum(load_one)");
  await becomes(() => page.getByRole("alert").count(), 0);
  await form.fill("");
  await promql.press("Enter");
  await page.getByLabel("Name of the dashboard").waitFor({ state: "detached" });
  await becomes(async () => (await stored("Asking")).panels[1].address, "#/explore?start=15m-ago&p=sum%28load_one%29");
  await page.waitForFunction(() => document.querySelectorAll(".panel .key li").length === 2);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Question 1 of panel 1, in OpenTSDB").fill(" ");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("“First” asks nothing").waitFor();
  await forgetBoard("Asking");
});

test("a dashboard says which of its questions name what is not there, and stores them only then", async () => {
  await load();
  const address = "#/explore?start=15m-ago&m=max:$step-max:load.two";
  await keep("saved", { name: "Doubting", panels: [{ title: "One", address }] });
  await go("#/dashboards?name=Doubting");
  await page.getByRole("button", { name: "Edit" }).click();
  const text = page.getByLabel("Question 1 of panel 1, in OpenTSDB");
  await text.fill("max:$step-max:laod.two");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("No metric of this database is called “laod.two”.").waitFor();
  assert.equal((await stored("Doubting")).panels[0].address, address, "nothing is stored");
  await page.getByRole("button", { name: "load.two", exact: true }).click();
  await becomes(() => text.inputValue(), "max:$step-max:load.two");
  await page.getByRole("button", { name: "Save", exact: true }).waitFor();
  await text.fill("max:$step-max:later.two");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Save all the same" }).click();
  await page.getByLabel("Name of the dashboard").waitFor({ state: "detached" });
  assert.match((await stored("Doubting")).panels[0].address, /later\.two/);
  // A panel says the same once it is there.
  await page.locator(".panel").getByRole("alert").waitFor();
  forgive("400");
  await forgetBoard("Doubting");
});

test("a panel of a dashboard is a graph, a table or a number, and Explore shows the graph of a number", async () => {
  await load();
  await write([`shelf value="<i>open" ${now() - 30}000000000`, ...[60, 40, 20].flatMap((back) => [1, 2].map((le) => `waits,le=${le} v=${le * 100 - back} ${now() - back}000000000`))].join("\n"));
  const panel = (title, rest) => ({ title, address: `#/explore?start=15m-ago&${rest}` });
  await keep("saved", { name: "Kinds", panels: [panel("Graph", "m=max:load.one{host=*}"), panel("Table", "view=table&m=max:$step-max:load.two{host=*}"), panel("List", "i=SHOW+TAG+VALUES+FROM+%22load%22+WITH+KEY+%3D+host"), panel("Map", "view=heatmap&m=max:waits.v{le=*}"), panel("State", "view=number&i=SELECT+value+FROM+shelf")] });
  await go("#/dashboards?name=Kinds");
  const card = (title) => page.locator("article.panel", { has: page.getByRole("heading", { name: title, exact: true }) });
  await card("Table").getByRole("region", { name: "Table" }).locator("tbody tr").first().waitFor();
  await becomes(() => card("Table").locator("canvas").count(), 0);
  await becomes(() => card("Table").locator("tbody tr").first().textContent(), /^load\.twoa1\d{4}-/);
  await card("List").getByRole("gridcell", { name: "b", exact: true }).waitFor();
  await card("Map").locator("canvas").waitFor();
  await becomes(() => card("Map").locator(".key").count(), 0, "a map has no lines");
  await becomes(() => card("State").locator(".numbers b").textContent(), "<i>open");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("What panel 1 is").selectOption("number");
  await page.getByLabel("What panel 2 is").selectOption("graph");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await card("Table").locator("canvas").waitFor();
  await card("Graph").locator(".numbers li").first().waitFor();
  await becomes(() => card("Graph").locator(".numbers li").allTextContents(), ["1{host=a}", "101{host=b}"]);
  await becomes(async () => (await stored("Kinds")).panels.slice(0, 2).map(({ address }) => new URLSearchParams(address.split("?")[1]).get("view")), ["number", null]);
  await page.getByRole("link", { name: "Graph", exact: true }).click();
  await drawn();
  await becomes(() => page.getByRole("button", { name: "Graph", exact: true }).getAttribute("aria-pressed"), "true");
  await becomes(() => page.url(), /view=number/);
  // What Explore changes besides leaves it a number.
  await page.getByRole("button", { name: "6h", exact: true }).click();
  await page.waitForFunction(() => location.hash.includes("start=6h-ago") && location.hash.includes("view=number"));
  await forgetBoard("Kinds");
});

test("a dashboard has a free range for all of its panels, in its address", async () => {
  await load();
  await keep("saved", { name: "Ranged", panels: [{ title: "Local", address: "#/explore?start=15m-ago&m=max:$step-max:load.two" }, { title: "Zoned", address: "#/explore?start=15m-ago&zone=Asia/Tokyo&m=max:$step-max:load.one" }] });
  const asked = [];
  page.on("request", (request) => { if (request.url().includes("/query")) asked.push(JSON.parse(request.postData())); });
  await go("#/dashboards?name=Ranged");
  await page.waitForFunction(() => document.querySelectorAll(".panel .key li").length === 2);
  await page.getByLabel("From").fill("2026/03/01-08:00");
  await page.getByLabel("To", { exact: true }).fill("2026/03/01-09:00");
  asked.length = 0;
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".panel > .note").length === 2);
  await becomes(() => page.url(), /name=Ranged&start=2026%2F03%2F01-08%3A00&end=2026%2F03%2F01-09%3A00$/);
  const hour = [Date.UTC(2026, 2, 1, 8), Date.UTC(2026, 2, 1, 9)];
  await becomes(() => asked.map(({ start_ms, end_ms }) => [start_ms, end_ms]), [hour, hour], "one time for panels of all zones");
  await page.reload();
  await becomes(() => page.getByLabel("From").inputValue(), "2026/03/01-08:00");
  await page.getByLabel("From").fill("<b>soon");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("The range makes no sense").waitFor();
  await becomes(() => page.getByRole("alert").count(), 1);
  await page.getByRole("link", { name: "6h", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".panel .key li").length === 2);
  await becomes(() => page.getByLabel("From").inputValue(), "6h-ago");
  // Dragging over a panel's graph leads to Explore.
  const graph = await settledBox(page.locator(".panel .u-over").first());
  await page.mouse.move(graph.x + graph.width * 0.2, graph.y + 50);
  await page.mouse.down();
  await page.mouse.move(graph.x + graph.width * 0.8, graph.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => /^#\/explore\?start=\d{13}&end=\d{13}/.test(location.hash));
  await go("#/dashboards?name=Ranged&range=1h");
  await page.getByLabel("From").fill("");
  await page.getByLabel("To", { exact: true }).fill("");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForFunction(() => location.hash === "#/dashboards?name=Ranged");
  await forgetBoard("Ranged");
});

test("a dashboard is saved as a file, and made from one; a file that is none says why", async () => {
  const name = `Filed ${HOSTILE}`;
  const panels = [{ title: "Ones <b>", address: "#/explore?start=15m-ago&view=number&m=max:load.one" }];
  await keep("saved", { name, panels });
  await go(`#/dashboards?${new URLSearchParams({ name })}`);
  const downloading = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export" }).click();
  const file = await downloading;
  assert.match(file.suggestedFilename(), /^Filed_[^/<>"]+\.json$/);
  const text = readFileSync(await file.path(), "utf8");
  assert.deepEqual(JSON.parse(text), { foliot_dashboard: 1, name, panels });
  await go("#/dashboards");
  const choose = (content) => page.getByLabel("Dashboard to import").setInputFiles({ name: "board.json", mimeType: "application/json", buffer: Buffer.from(content) });
  for (const [content, why] of [["{", "This file is no JSON"], ["{}", "is missing"], [text.replace("#/explore", "https://evil.example/"), "Panel 1 of the file, “Ones <b>”, has no “address”"]]) {
    await choose(content);
    await page.getByRole("alert").getByText(why).waitFor();
  }
  await choose(text);
  await page.getByText("already; choose another name").waitFor();
  const field = page.getByLabel("Name of the dashboard of the file");
  await becomes(() => field.inputValue(), name);
  await field.fill("Filed anew");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Filed anew", level: 1 }).waitFor();
  await becomes(async () => (await stored("Filed anew")).panels, panels);
  for (const one of [name, "Filed anew"]) await forgetBoard(one);
  // Also where nothing is saved yet, and then at once.
  await go("#/dashboards");
  await page.reload();
  await page.getByText("Nothing is saved yet").waitFor();
  await choose(text);
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  await forgetBoard(name);
});

test("who changes a dashboard that somebody else changed meanwhile opens the stored one, and keeps the draft", async () => {
  await load();
  const name = 'Two "tabs" \\ é';
  const panel = (title) => ({ title, address: "#/explore?start=15m-ago&m=max:$step-max:load.two" });
  await keep("saved", { name, panels: [panel("Begun")] });
  const hash = `#/dashboards?${new URLSearchParams({ name })}`;
  await go(hash);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Title of panel 1").fill("Mine");
  // What was typed outlives a page that is loaded anew.
  await page.reload();
  await becomes(() => page.getByLabel("Title of panel 1").inputValue(), "Mine");
  await keep("saved", { name, panels: [panel("Theirs"), panel("Another")] });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("alert").getByText(`“${name}” was changed or deleted by somebody else`).waitFor();
  await page.getByRole("button", { name: "Open the stored one" }).click();
  await page.getByRole("heading", { name: "Theirs" }).waitFor();
  await page.getByText("What you changed is not; Edit shows it.").waitFor();
  await becomes(() => page.locator(".panel h2").allTextContents(), ["Theirs", "Another"]);
  await becomes(() => page.getByLabel("Title of panel 1").count(), 0);
  await page.getByRole("button", { name: "Edit" }).click();
  await becomes(() => page.getByLabel("Title of panel 1").inputValue(), "Mine");
  await page.getByText("Meanwhile somebody changed the dashboard").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("heading", { name: "Mine" }).waitFor();
  await becomes(async () => (await stored(name)).panels.map(({ title }) => title), ["Mine"], "who has seen the stored one may replace it");
  // What is cancelled is gone.
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Title of panel 1").fill("Discarded");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Edit" }).click();
  await becomes(() => page.getByLabel("Title of panel 1").inputValue(), "Mine");
  // A dashboard that was deleted meanwhile is made again.
  await page.getByLabel("Title of panel 1").fill("Again");
  await forgetBoard(name);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Open the stored one" }).click();
  await page.getByText("There is no dashboard").waitFor();
  await page.getByText("Meanwhile the dashboard was deleted").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("heading", { name: "Again" }).waitFor();
  await forgetBoard(name);
  forgive("409");
});

test("hostile names are text on every page", async () => {
  const name = HOSTILE.replace(/[ =,]/g, "\\$&");
  // Half a minute ago: PromQL answers at multiples of the step.
  await write(`${name},${name}=${name} value=1 ${now() - 30}000000000`);
  const question = new URLSearchParams([["start", "1h-ago"], ["i", `SELECT * FROM /onerror/ GROUP BY *`]]);
  const pages = ["#/home", "#/metrics", `#/metrics?${new URLSearchParams({ metric: HOSTILE })}`, `#/explore?${question}`, `#/explore?${question}&view=table`];
  for (const hash of pages) {
    await go(hash);
    await page.getByText("<img src=x").first().waitFor();
    await becomes(() => page.locator("img").count(), 0, hash);
    assert.match(await page.title(), /Foliot/, hash);
  }
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
    await go(hash);
    await page.getByText("<img src=x").first().waitFor().catch(() => assert.fail(`${hash} does not show the name`));
    await becomes(() => page.locator("img").count(), 0, hash);
    assert.match(await page.title(), /Foliot/, hash);
  }
  for (const view of ["queries", "log"]) {
    await go(`#/operations?view=${view}`);
    await page.locator("main .card").first().waitFor();
    await becomes(() => page.locator("img").count(), 0, view);
  }
  await go("#/import");
  const csv = `time,${HOSTILE.replace(/[",]/g, "")}\n${`${now()},1\n`.repeat(12)}${now()},<img src=y>\n`;
  await page.getByLabel("File to import").setInputFiles({ name: `${HOSTILE}.csv`, mimeType: "text/csv", buffer: Buffer.from(csv) });
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText("Rows that are refused").or(page.getByText("This is what would be stored")).first().waitFor();
  await becomes(() => page.locator("img").count(), 0);
  await go("#/operations?view=queries");
  await page.getByRole("region", { name: "Work that takes long" }).getByText(`${HOSTILE}.csv`).first().waitFor();
  await becomes(() => page.locator("img").count(), 0);
  for (const what of [HOSTILE, `board ${HOSTILE}`]) await fetch(`${API}/saved?${new URLSearchParams({ name: what })}`, { method: "DELETE" });
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
    // A graph takes a moment to become as narrow as its window.
    const fits = (where) => becomes(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${where} at ${viewport.width}`);
    for (const hash of pages) {
      await go(hash);
      await page.locator("main .card, main .empty, main .failed").first().waitFor();
      await page.waitForLoadState("networkidle");
      await fits(hash);
    }
    await go("#/explore");
    await page.getByRole("button", { name: "Saved" }).click();
    await page.getByRole("link", { name: /nnnn/ }).waitFor();
    await fits("what is saved");
    forgive("400");
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
  forgive("ERR_INTERNET_DISCONNECTED");
});

test("an answer that is an error, or a stranger's, passes by itself, or by a button", async () => {
  await load();
  await keep("saved", { name: "Passing", panels: [{ title: "Twos", address: `#/explore?start=${Date.now() - 600_000}&end=${Date.now()}&m=max:load.two` }] });
  let fault = null;
  await page.route("**/api/foliot/v1/**", (route) => (fault ? route.fulfill(fault) : route.continue()));
  const json = (status, text) => ({ status, contentType: "application/json", body: text });
  const faults = {
    "too much at once": json(503, '{"error":{"message":"too much at once"}}'), "not Foliot": json(200, "{}"), "is not Foliot, or": json(200, "[]"),
    "It says 500": json(500, '{"error":"a string"}'), "It says 502": json(502, '{"error":null}'),
  };
  const pages = ["#/home", "#/explore?start=15m-ago&m=max:load.two", "#/metrics?metric=load.one", "#/metrics?label=host", "#/dashboards?name=Passing", "#/monitoring",
    ...["overview", "settings", "log"].map((view) => `#/operations?view=${view}`)];
  for (const [said, answer] of Object.entries(faults)) {
    for (const hash of said === "too much at once" ? pages : ["#/operations?view=storage"]) {
      fault = answer;
      await go(hash);
      await page.getByText(said).first().waitFor();
      fault = null;
      const right = page.waitForFunction(() => !document.querySelector("main .failed:not(.slim)") && document.querySelector("main .card"), null, { timeout: 20_000 }).then(() => true, () => false);
      // What does not ask again by itself, as a question that may be at fault, has a button; such a fault may be drawn after the one that was waited for.
      if (/explore|name=/.test(hash)) {
        for (let over = false; !over; over = await Promise.race([right.then(() => true), page.waitForTimeout(500).then(() => false)])) await page.locator(":is(.rows, .panel) .failed").getByRole("button", { name: "Retry" }).first().click({ timeout: 500 }).catch(() => undefined);
      }
      assert.ok(await right, `${hash} stays on ${said}`);
    }
  }
  fault = json(403, '{"error":{"message":"\"reader\" lacks the role operator"}}');
  await go("#/operations?view=settings");
  // What belongs to all pages may be refused first, and asks again by itself.
  const refused = page.locator(".card .failed", { hasText: "may give that right" });
  await refused.waitFor();
  fault = null;
  await refused.getByRole("button", { name: "Retry" }).click();
  await page.getByLabel("Find a setting").waitFor();
  await page.waitForFunction(() => !document.querySelector("main .failed"));
  await fetch(`${API}/saved?name=Passing`, { method: "DELETE" });
  forgive(/50[023]|403/);
  hosts.delete("null");
});

test("a clock that differs from the server's is spoken of", async () => {
  await go("#/home");
  await page.getByText("Values a second").waitFor();
  await becomes(() => page.getByText("clock is").count(), 0);
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

/** What of a page cannot be seen whole and cannot be scrolled to, by its text. */
function cut() {
  const scrolls = (at) => at && at !== document.body && (/auto|scroll/.test(getComputedStyle(at).overflowX) || scrolls(at.parentElement));
  const isCut = (at) => {
    const { left, right, width } = at.getBoundingClientRect();
    return width > 1 && (left < -1 || right > innerWidth + 1) && !scrolls(at.parentElement);
  };
  return [...document.querySelectorAll("main :is(a, button, input, select, h1, h2, h3, p, td, label)")].filter(isCut).map((at) => `${at.tagName} ${at.textContent.slice(0, 40)}`);
}

test("every page fits a phone and wider windows, and has no serious fault that axe finds", async () => {
  await load();
  // The head is widest where there is a choice of databases.
  assert.equal((await fetch(`${address}/write?db=another`, { method: "POST", body: `load,host=a one=1 ${now()}000000000` })).status, 204);
  await keep("saved", { name: "Axe", panels: ["graph", "table", "number"].map((view) => ({ title: `Ones as ${view}`, address: `#/explore?start=15m-ago&view=${view}&m=avg:$step-avg:load.one{host=*}` })) });
  const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  const pages = ["#/home", "#/explore?start=15m-ago&m=avg:$step-avg:load.one{host=*}", `#/explore?${new URLSearchParams([["start", "15m-ago"], ["p", "rate(load_one{host=\"a\"}[5m]) # is"], ["i", "SELECT max(one) FROM load WHERE host = 'a' AND time >= $start"]])}`,
    `#/explore?${new URLSearchParams([["start", "15m-ago"], ["view", "table"], ["s", "SELECT time, host, one FROM load WHERE time >= $start ORDER BY time -- all"]])}`, "#/metrics?metric=load.one", "#/metrics", "#/dashboards", "#/dashboards?name=Axe", "#/dashboards?name=Axe Edit", "#/monitoring", "#/monitoring?view=rules", "#/monitoring?view=alerts", "#/monitoring?view=relabelling", "#/import", "#/reports",
    ...["overview", "senders", "queries", "storage", "backups", "retention", "audit", "settings", "log"].map((view) => `#/operations?view=${view}`)];
  await context.close();
  const fits = async (hash) => {
    // A graph takes a moment to become as narrow as its window.
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth, null, { timeout: 3000 }).catch(() => undefined);
    const [has, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(has <= room, `${hash} is ${has} pixels wide in a window of ${room}`);
    await becomes(() => page.evaluate(cut), [], `${hash} at ${room}`);
  };
  for (const options of [{ viewport: { width: 390, height: 844 }, colorScheme: "dark" }, { colorScheme: "light" }]) {
    await open(options);
    for (const hash of pages) {
      const [to, pressed] = hash.split(" ");
      await go(to);
      if (pressed) await page.getByRole("button", { name: pressed }).click();
      await page.locator("main .card").first().waitFor();
      await page.waitForLoadState("networkidle").catch(() => undefined);
      await fits(hash);
      await page.evaluate(axe);
      const found = await page.evaluate(() => globalThis.axe.run());
      const serious = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      const told = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
      assert.deepEqual(told, [], hash);
      for (const width of options.viewport ? [320, 360] : [768, 1000]) {
        await page.setViewportSize({ width, height: 900 });
        await fits(hash);
      }
      await page.setViewportSize(options.viewport ?? { width: 1280, height: 900 });
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
  await page.getByRole("link", { name: "load.one" }).first().focus();
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
  for (const [title, said] of [["Load", /\d in 1 min$/], ["Memory", /\d.* used$/], ["Processor", /\d.* busy or waiting$/]]) {
    await card(title).locator(".now:not(:empty)").waitFor({ timeout: 60_000 });
    await becomes(() => card(title).locator(".now").textContent(), said, title);
  }
  await page.getByText(/^over the last .*; .* since the start/).waitFor();
  await becomes(async () => await page.locator("article.card progress").count() > 0, true, "disk space");
});
