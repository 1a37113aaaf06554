// The page at `/`: this machine's figures, asked for like any client would, drawn as SVG.
// Names and values only ever become text nodes and attributes of known shapes, never markup.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const SPANS = [["15 min", 900], ["1 h", 3600], ["6 h", 21600], ["24 h", 86400]];
const REFRESH_MS = 10000;
const WIDTH = 480, HEIGHT = 176, LEFT = 60, RIGHT = 8, TOP = 10, BOTTOM = 20;
const COLORS = 6;

let host = "";
let span = 900;
let drawing = 0;

// ---- numbers as people read them ----

function scaled(value, base, units, unit) {
  let index = 0;
  let size = Math.abs(value);
  while (size >= base && index + 1 < units.length) { size /= base; index += 1; }
  const digits = size >= 100 || (index === 0 && Number.isInteger(size)) ? 0 : size >= 10 ? 1 : 2;
  return (value < 0 ? "-" : "") + size.toFixed(digits) + " " + units[index] + unit;
}
const bytes = (v) => scaled(v, 1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"], "B");
const bytesPerSecond = (v) => bytes(v) + "/s";
const percent = (v) => v.toFixed(v < 10 ? 1 : 0) + " %";
const plain = (v) => (Math.abs(v) >= 1000 ? scaled(v, 1000, ["", "k", "M", "G", "T"], "") : v.toFixed(2));
const perSecond = (v) => scaled(v, 1000, ["", "k", "M", "G"], "/s");

// ---- what is drawn ----

const of = (metric, more = {}) => ({ metric, ...more });
const tags = (result, name) => result.tags[name] ?? "";

const CHARTS = [
  {
    title: "Processor", unit: percent, stacked: true, top: 100,
    queries: [of("proc.stat.cpu", { rate: true, by: ["type"] })],
    lines(results) {
      const total = sum(results.map((result) => result.points));
      const share = (type) => {
        const found = results.find((result) => tags(result, "type") === type);
        return found ? ratio(found.points, total, 100) : [];
      };
      const other = ["irq", "softirq", "steal", "nice"].map(share);
      return [
        { name: "user", points: share("user") }, { name: "system", points: share("system") },
        { name: "waiting for disks", points: share("iowait") }, { name: "nice and other", points: sum(other) },
      ];
    },
    now: (lines) => percent(lines.reduce((all, line) => all + last(line.points), 0)),
  },
  {
    title: "Memory", unit: bytes, stacked: true,
    queries: ["memtotal", "memavailable", "memfree"].map((name) => of("proc.meminfo." + name)),
    lines([total, available, free]) {
      if (!total || !available) return [];
      this.top = last(total.points);
      const used = combine(total.points, available.points, (a, b) => a - b);
      const cache = free ? combine(available.points, free.points, (a, b) => Math.max(0, a - b)) : [];
      return [{ name: "used", points: used }, { name: "cache", points: cache }];
    },
    now: (lines) => bytes(last(lines[0].points)),
  },
  {
    title: "Load", unit: plain,
    queries: ["1min", "5min", "15min"].map((name) => of("proc.loadavg." + name)),
    lines: (results) => results.map((result, index) => (
      { name: ["1 min", "5 min", "15 min"][index], points: result ? result.points : [] })),
    now: (lines) => plain(last(lines[0].points)),
  },
  {
    title: "Network", unit: bytesPerSecond,
    queries: [of("proc.net.bytes", { rate: true, by: ["direction"], not: { iface: "lo" } })],
    lines: (results) => ["in", "out"].map((direction) => {
      const found = results.find((result) => tags(result, "direction") === direction);
      return { name: direction === "in" ? "received" : "sent", points: found ? found.points : [] };
    }),
    now: (lines) => bytesPerSecond(last(lines[0].points) + last(lines[1].points)),
  },
  {
    title: "Disks", unit: bytesPerSecond,
    queries: ["read", "write"].map((way) => of(`iostat.disk.${way}_sectors`, { rate: true })),
    lines: (results) => results.map((result, index) => ({
      name: ["read", "written"][index],
      points: result ? result.points.map(([at, sectors]) => [at, sectors * 512]) : [],
    })),
    now: (lines) => bytesPerSecond(last(lines[0].points) + last(lines[1].points)),
  },
  {
    title: "Disk space", bars: true,
    queries: [of("df.bytes.used", { by: ["mount"] }), of("df.bytes.total", { by: ["mount"] })],
  },
  {
    title: "Foliot: samples stored", unit: perSecond,
    queries: [of("foliot.store_samples_total", { rate: true })],
    lines: ([result]) => [{ name: "samples", points: result ? result.points : [] }],
    now: (lines) => perSecond(last(lines[0].points)),
  },
  {
    title: "Foliot: memory", unit: bytes,
    queries: [of("process.resident_memory_bytes"), of("foliot.head_bytes")],
    lines: (results) => results.map((result, index) => (
      { name: ["resident", "recent samples"][index], points: result ? result.points : [] })),
    now: (lines) => bytes(last(lines[0].points)),
  },
];

// ---- arithmetic on lines of [time, value] ----

const last = (points) => (points.length ? points[points.length - 1][1] : 0);

function combine(a, b, fold) {
  const at = new Map(b);
  return a.filter(([time]) => at.has(time)).map(([time, value]) => [time, fold(value, at.get(time))]);
}
const ratio = (points, total, factor) =>
  combine(points, total, (part, whole) => (whole > 0 ? (part / whole) * factor : 0));

function sum(lists) {
  const all = new Map();
  for (const points of lists) {
    for (const [time, value] of points) all.set(time, (all.get(time) ?? 0) + value);
  }
  return [...all].sort((a, b) => a[0] - b[0]);
}

// ---- asking ----

async function ask(query, start, step) {
  const filters = (query.by ?? []).map((tagk) => ({ type: "wildcard", tagk, filter: "*", groupBy: true }));
  if (host) filters.push({ type: "literal_or", tagk: "host", filter: host, groupBy: false });
  for (const [tagk, filter] of Object.entries(query.not ?? {})) {
    filters.push({ type: "not_literal_or", tagk, filter, groupBy: false });
  }
  const body = {
    start,
    queries: [{
      metric: query.metric, aggregator: "sum", downsample: step + "s-avg", filters,
      ...(query.rate ? { rate: true, rateOptions: { counter: true, dropResets: true } } : {}),
    }],
  };
  const answer = await fetch("/api/query?arrays", { method: "POST", body: JSON.stringify(body) });
  if (!answer.ok) return [];
  const results = await answer.json();
  return results.map((result) => ({
    tags: result.tags,
    points: result.dps.filter(([, value]) => typeof value === "number" && Number.isFinite(value)),
  }));
}

async function results(chart, start, step) {
  const answers = await Promise.all(chart.queries.map((query) => ask(query, start, step)));
  return chart.queries.length === 1 ? answers[0] : answers.map((answer) => answer[0]);
}

// ---- drawing ----

function node(name, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== null) made.textContent = text;
  return made;
}

function element(name, className, text = null) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== null) made.textContent = text;
  return made;
}

function niceTop(value, unit) {
  if (!(value > 0)) return 1;
  const base = unit === bytes || unit === bytesPerSecond ? 1024 : 10;
  let power = Math.pow(base, Math.floor(Math.log(value) / Math.log(base)));
  for (let factor = 1; ; factor = factor < 2 ? 2 : factor < 4 ? 4 : factor * 2) {
    if (factor * power >= value) return factor * power;
  }
}

function clock(seconds) {
  const text = new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return text;
}

/// Lines as they are drawn: each on top of those before when stacked.
function layered(lines, stacked) {
  if (!stacked) return lines.map((line) => ({ ...line, low: null, high: line.points }));
  let below = [];
  return lines.map((line) => {
    const high = below.length ? sum([below, line.points]) : line.points;
    const layer = { ...line, low: below, high };
    below = high;
    return layer;
  });
}

function draw(card, chart, lines, start, end) {
  const shown = lines.filter((line) => line.points.length);
  const layers = layered(shown, chart.stacked);
  const peak = Math.max(0, ...layers.flatMap((layer) => layer.high.map(([, value]) => value)));
  const top = chart.top ?? niceTop(peak, chart.unit);
  const x = (time) => LEFT + ((time - start) / (end - start)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (Math.min(value, top) / top) * (HEIGHT - TOP - BOTTOM);
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": chart.title });
  for (const share of [0, 0.5, 1]) {
    const at = y(top * share);
    svg.append(node("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }));
    const label = chart.unit(top * share).replace(/\.0+ /, " ");
    svg.append(node("text", { class: "tick", x: LEFT - 5, y: at + 4, "text-anchor": "end" }, label));
  }
  for (let index = 0; index <= 4; index += 1) {
    const time = start + ((end - start) * index) / 4;
    const anchor = index === 0 ? "start" : index === 4 ? "end" : "middle";
    svg.append(node("text", { class: "tick", x: x(time), y: HEIGHT - 4, "text-anchor": anchor }, clock(time)));
  }
  layers.forEach((layer, index) => {
    const color = "c" + (index % COLORS);
    const path = layer.high.map(([time, value]) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    const low = new Map(layer.low ?? []);
    const floor = layer.high.map(([time]) => `${x(time).toFixed(1)},${y(low.get(time) ?? 0).toFixed(1)}`);
    const area = path + " " + floor.reverse().join(" ");
    const stacked = chart.stacked ? " stacked" : "";
    svg.append(node("polygon", { class: `area ${color}${stacked}`, points: area }));
    if (!chart.stacked) svg.append(node("polyline", { class: `line ${color}`, points: path }));
  });
  if (!shown.length) {
    svg.append(node("text", { class: "empty", x: WIDTH / 2, y: HEIGHT / 2 }, "no data yet"));
  }
  const cursor = node("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  svg.append(cursor);
  const plot = element("div", "plot");
  plot.append(svg);
  const legend = element("ul", "legend");
  const items = shown.map((line, index) => {
    const item = element("li", "c" + (index % COLORS), line.name);
    legend.append(item);
    return item;
  });
  const show = (time) => shown.forEach((line, index) => {
    const point = time === null ? line.points[line.points.length - 1] : nearest(line.points, time);
    items[index].textContent = line.name + " " + chart.unit(point[1]);
  });
  show(null);
  plot.addEventListener("pointermove", (event) => {
    if (!shown.length) return;
    const box = svg.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    const time = start + ((at - LEFT) / (WIDTH - LEFT - RIGHT)) * (end - start);
    const point = nearest(shown[0].points, time);
    cursor.setAttribute("x1", x(point[0]));
    cursor.setAttribute("x2", x(point[0]));
    cursor.setAttribute("visibility", "visible");
    now.textContent = new Date(point[0] * 1000).toLocaleTimeString();
    show(point[0]);
  });
  plot.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    now.textContent = current;
    show(null);
  });
  const current = shown.length ? chart.now(lines) : "";
  const now = element("span", "now", current);
  card.replaceChildren(heading(chart.title, now), plot, legend);
  return shown.length > 0;
}

function nearest(points, time) {
  return points.reduce((best, point) => (
    Math.abs(point[0] - time) < Math.abs(best[0] - time) ? point : best));
}

function heading(title, now) {
  const head = element("div", "head");
  head.append(element("h2", "", title), now);
  return head;
}

async function drawBars(card, chart, start, step) {
  const [used, total] = await Promise.all(chart.queries.map((query) => ask(query, start, step)));
  const bars = element("div", "bars");
  for (const result of used.sort((a, b) => tags(a, "mount").localeCompare(tags(b, "mount")))) {
    const mount = tags(result, "mount");
    const whole = total.find((other) => tags(other, "mount") === mount);
    if (!whole || !result.points.length) continue;
    const share = (100 * last(result.points)) / Math.max(1, last(whole.points));
    const bar = element("div", share > 90 ? "bar full" : "bar");
    const meter = element("progress");
    meter.max = 100;
    meter.value = share;
    const text = `${bytes(last(result.points))} of ${bytes(last(whole.points))}`;
    bar.append(element("span", "", mount), element("span", "", text), meter);
    bars.append(bar);
  }
  card.replaceChildren(heading(chart.title, element("span", "now")), bars);
}

// ---- the page ----

const cards = CHARTS.map((chart) => {
  const card = element("article", "card");
  document.getElementById("charts").append(card);
  if (!chart.bars) draw(card, chart, [], Date.now() / 1000 - span, Date.now() / 1000);
  return card;
});

async function refresh() {
  const turn = ++drawing;
  const end = Math.floor(Date.now() / 1000);
  const start = end - span;
  const step = Math.max(10, Math.round(span / 150 / 10) * 10);
  const state = document.getElementById("state");
  try {
    const drawn = await Promise.all(CHARTS.map(async (chart, index) => {
      if (chart.bars) return drawBars(cards[index], chart, start, step);
      const found = await results(chart, start, step);
      return turn === drawing && draw(cards[index], chart, chart.lines(found), start, end);
    }));
    if (turn !== drawing) return;
    state.textContent = "at " + new Date().toLocaleTimeString();
    const hint = document.getElementById("hint");
    hint.hidden = drawn.some((any) => any === true);
    hint.textContent = "No figures of this machine yet. Start Foliot with --agent-host "
      + "(make run does) and wait for two rounds of ten seconds.";
  } catch (error) {
    state.textContent = "no answer";
  }
}

function choose(seconds) {
  span = seconds;
  for (const button of document.querySelectorAll("nav button")) {
    button.setAttribute("aria-pressed", String(Number(button.value) === span));
  }
  refresh();
}

async function begin() {
  for (const [name, seconds] of SPANS) {
    const button = element("button", "", name);
    button.type = "button";
    button.value = String(seconds);
    button.addEventListener("click", () => choose(seconds));
    document.getElementById("spans").append(button);
  }
  const at = location.origin;
  document.getElementById("write").textContent =
    `curl -d 'demo,room=kitchen temperature=21.5' '${at}/write?db=default'`;
  document.getElementById("query").textContent =
    `curl -g '${at}/api/query?start=1h-ago&m=avg:demo.temperature'`;
  try {
    const version = await (await fetch("/api/version")).json();
    host = version.host;
    document.getElementById("about").textContent = `${version.version} on ${host}`;
    document.title = `Foliot on ${host}`;
  } catch (error) {
    document.getElementById("about").textContent = "";
  }
  choose(span);
  setInterval(() => { if (!document.hidden) refresh(); }, REFRESH_MS);
}

begin();
