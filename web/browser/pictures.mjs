// Pictures of every page for docs/images: node browser/pictures.mjs ADDRESS FOLDER [REPORT.json [PAGE,…]]
// The server is one that collects its host, obeys a prometheus.config with rules and a target that is
// down, and holds the demonstration of browser/demo.mjs.
import { chromium } from "playwright-core";

const [address, folder, report, only] = process.argv.slice(2);

const PAGES = {
  home: "#/home",
  explore: "#/explore?start=1h-ago&m=avg:$step-avg:greenhouse.temp{bed=*}",
  influxql: `#/explore?${new URLSearchParams([["start", "1h-ago"], ["i", 'SELECT mean(moisture) AS moisture FROM "soil" WHERE time >= $start AND time < $end GROUP BY time($step), bed'], ["m", "sum:$step-avg:rate{dropcounter}:shop.requests{status=*}"]])}`,
  sql: `#/explore?${new URLSearchParams([["start", "1h-ago"], ["s", "SELECT bed, count(*) AS samples, round(avg(temp), 2) AS mean, max(humidity) AS wettest\nFROM greenhouse GROUP BY bed ORDER BY mean DESC;\nSELECT time, bed, temp FROM greenhouse WHERE temp > 25 ORDER BY temp DESC LIMIT 5"]])}`,
  promql: `#/explore?${new URLSearchParams([["start", "1h-ago"], ["stacked", "1"], ["p", "sum by (code) (rate(http_requests_total[5m]))"]])}`,
  explain: `#/explore?${new URLSearchParams([["start", "1h-ago"], ["p", "sum by (code) (rate(http_requests_total[5m])) / ignoring (code) group_left sum(rate(http_requests_total[5m]))"]])}`,
  samples: "#/explore?start=1h-ago&view=samples&m=avg:$step-avg:greenhouse.temp{bed=*}",
  metrics: "#/metrics?metric=shop.requests",
  cardinality: "#/metrics",
  dashboard: "#/dashboards?name=Greenhouse",
  dashboards: "#/dashboards",
  "dashboard-edit": "#/dashboards?name=Greenhouse",
  targets: "#/monitoring",
  rules: "#/monitoring?view=rules",
  alerts: "#/monitoring?view=alerts",
  relabelling: "#/monitoring?view=relabelling",
  import: "#/import",
  operations: "#/operations",
  senders: "#/operations?view=senders",
  queries: "#/operations?view=queries",
  storage: "#/operations?view=storage",
  backups: "#/operations?view=backups",
  retention: "#/operations?view=retention",
  settings: "#/operations?view=settings",
  log: "#/operations?view=log",
  reports: "#/reports",
};

/** An import that goes on from picture to picture. */
let job;

/** What somebody does before a picture is taken. */
const DOES = {
  promql: (page) => page.getByText("Explain: how it was answered").click(),
  explain: async (page) => {
    await page.getByText("Explain: how it was answered").click();
    await page.locator(".cost").scrollIntoViewIfNeeded();
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  },
  "dashboard-edit": (page) => page.getByRole("button", { name: "Edit" }).click(),
  import: async (page) => {
    const rows = Array.from({ length: 400 }, (_, at) => `2026-03-01T${String(8 + Math.floor(at / 60)).padStart(2, "0")}:${String(at % 60).padStart(2, "0")}:00Z,bed ${at % 3},${(20 + at % 7).toFixed(1)},${at === 211 ? "dry" : 40 + at % 9}`);
    const buffer = Buffer.from(`time,bed,temp,humidity\n${rows.join("\n")}\n`);
    await page.getByLabel("File to import").setInputFiles({ name: "beds.csv", mimeType: "text/csv", buffer });
    await page.getByRole("button", { name: "Dry run" }).click();
    await page.getByText("Rows that are refused").waitFor();
  },
  queries: async (page) => {
    const params = new URLSearchParams({ format: "influx", file: "greenhouse-2024.lp", total_bytes: 184_549_376, done_bytes: 77_594_624 });
    if (job) params.set("job", job);
    job = (await (await fetch(`${address}/api/foliot/v1/import?${params}`, { method: "POST", body: "import,part=first v=1" })).json()).job;
    await page.getByLabel("Done so far").first().waitFor();
  },
  retention: async (page) => {
    await page.getByLabel("Series").fill("greenhouse,bed=west");
    await page.getByRole("button", { name: "Try", exact: true }).click();
  },
  relabelling: async (page) => {
    await page.getByLabel("Labels").fill("__address__=10.0.0.7:9100, __meta_role=node, env=live");
    await page.getByLabel("Rules, as a configuration has them").fill('- source_labels: [__address__]\n  regex: "(.*):.*"\n  target_label: host\n- source_labels: [env]\n  regex: live|test\n  action: keep\n- regex: env\n  action: labeldrop\n');
    await page.getByRole("button", { name: "Try", exact: true }).click();
  },
  reports: async (page) => { if (report) await page.getByLabel("Reports to open").setInputFiles(report); },
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
    if (only && !only.split(",").includes(name)) continue;
    await page.goto("about:blank");
    await page.goto(`${address}/${hash}`);
    await DOES[name]?.(page);
    await page.waitForTimeout(name === "home" ? 20_000 : 1500);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) console.log(`${look} ${name} is wider than its window`);
    await page.screenshot({ path: `${folder}/${name}-${look}.png` });
  }
  await context.close();
}
await browser.close();
