// How fast the page is where there is much: node browser/speed.mjs ADDRESS
// Loads 100 000 points in 25 lines, 1 000 lines, 10 000 series as a graph, a table and as they are
// stored, and a link of 200 questions; moves the crosshair over what is drawn, and prints the times
// of frames and the longest task. To be run on a quiet machine; nothing is asserted.
import { chromium } from "playwright-core";

const [address] = process.argv.slice(2);
const now = Math.floor(Date.now() / 1000);

async function write(lines) {
  for (let at = 0; at < lines.length; at += 20_000) {
    const answer = await fetch(`${address}/write?db=default&precision=s`, { method: "POST", body: lines.slice(at, at + 20_000).join("\n") });
    if (!answer.ok) throw new Error(await answer.text());
  }
}

const points = [];
for (let back = 4000; back > 0; back -= 1) {
  for (let line = 0; line < 25; line += 1) points.push(`speedpoints,line=l${line} v=${(line * 10 + Math.sin(back / 50 + line) * 4).toFixed(2)} ${now - back}`);
}
await write(points);
const lines = [];
for (let line = 0; line < 1000; line += 1) {
  for (let back = 3600; back > 0; back -= 60) lines.push(`speedlines,line=l${line} v=${(line + Math.sin(back / 300)).toFixed(2)} ${now - back}`);
}
await write(lines);
const series = [];
for (let line = 0; line < 10_000; line += 1) {
  for (let back = 600; back > 0; back -= 60) series.push(`speedseries,line=l${line},rack=r${line % 100} v=${((line % 97) + back / 60).toFixed(1)} ${now - back}`);
}
await write(series);

const CASES = {
  "100 000 points": "#/explore?start=4000s-ago&m=none:speedpoints.v{line=*}",
  "1 000 lines": "#/explore?start=1h-ago&m=avg:1m-avg:speedlines.v{line=*}",
  "10 000 series": "#/explore?start=1h-ago&m=avg:1m-avg:speedseries.v{line=*}",
  "10 000 series as a table": "#/explore?start=1h-ago&view=table&m=avg:1m-avg:speedseries.v{line=*}",
  "10 000 series as they are stored": "#/explore?start=1h-ago&view=samples&m=avg:1m-avg:speedseries.v{line=*}",
  "200 questions": `#/explore?start=1h-ago&${Array.from({ length: 200 }, (_, line) => `m=sum:speedlines.v{line=l${line}}`).join("&")}`,
};

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [name, hash] of Object.entries(CASES)) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(() => {
    globalThis.tasks = [];
    new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask", buffered: true });
  });
  await page.goto(`${address}/${hash}`);
  await page.locator(".result tbody tr").first().waitFor({ timeout: 60_000 });
  await page.waitForTimeout(2000);
  const loading = await page.evaluate(() => Math.max(0, ...globalThis.tasks.splice(0)));
  const box = await page.locator(".u-over, .result .scroll").first().boundingBox();
  await page.evaluate(() => {
    globalThis.frames = [];
    let last = performance.now();
    const frame = (at) => { globalThis.frames.push(at - last); last = at; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  });
  for (let at = 0; at < 120; at += 1) await page.mouse.move(box.x + (box.width * (at % 60)) / 60, box.y + 60 + at);
  const [frames, moving] = await page.evaluate(() => [globalThis.frames.sort((a, b) => a - b), Math.max(0, ...globalThis.tasks)]);
  const p95 = frames[Math.floor(frames.length * 0.95)] ?? 0;
  console.log(`${name}: frames p95 ${p95.toFixed(1)} ms of ${frames.length}, longest task ${loading.toFixed(0)} ms while loading, ${moving.toFixed(0)} ms while moving`);
  await page.close();
}
await browser.close();
