// Pictures of every page for docs/images: node browser/pictures.mjs ADDRESS FOLDER
// The server is one that collects its host and holds the demonstration of browser/demo.mjs.
import { chromium } from "playwright-core";

const [address, folder] = process.argv.slice(2);

const PAGES = {
  home: "#/home",
  explore: "#/explore?start=1h-ago&m=avg:$step-avg:greenhouse.temp{bed=*}",
  influxql: `#/explore?${new URLSearchParams([["start", "1h-ago"], ["i", 'SELECT mean(moisture) AS moisture FROM "soil" WHERE time >= $start AND time < $end GROUP BY time($step), bed'], ["m", "sum:$step-avg:rate{dropcounter}:shop.requests{status=*}"]])}`,
  metrics: "#/metrics?metric=shop.requests",
  cardinality: "#/metrics",
  operations: "#/operations",
};

const LOOKS = {
  light: { viewport: { width: 1280, height: 860 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 860 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light", deviceScaleFactor: 1, isMobile: true, hasTouch: true },
};

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [look, options] of Object.entries(LOOKS)) {
  const context = await browser.newContext({ ...options, timezoneId: "Europe/Vienna", locale: "en-GB" });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(`${look}: ${message.text()}`));
  page.on("pageerror", (error) => console.log(`${look}: ${error.stack}`));
  for (const [name, hash] of Object.entries(PAGES)) {
    await page.goto(`${address}/${hash}`);
    await page.waitForTimeout(name === "home" ? 20_000 : 1500);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) console.log(`${look} ${name} is wider than its window`);
    await page.screenshot({ path: `${folder}/${name}-${look}.png` });
  }
  await context.close();
}
await browser.close();
