// This machine, as the collector sees it.

import { query } from "../api";
import { useAsked } from "../hooks";
import type { Body } from "../question";
import { type Series, figures, numbers } from "../series";
import { type Span, step } from "../time";
import { type Unit, format } from "../units";
import { Chart, type Line } from "./chart";
import { Failed, Meter } from "./small";

interface Panel {
  title: string;
  unit: Unit;
  isStacked?: boolean;
  /** What the figure beside the title is: that of the first line, or all of them together. */
  headline: { of: "first" | "all"; said: string };
  /** OpenTSDB's texts, without `$step`'s aggregator in front of the host. */
  texts: (host: string) => string[];
  lines: (answers: Series[][]) => Line[];
}

const line = (title: string, series: Series | undefined, factor = 1): Line =>
  ({ title, times: series?.times ?? [], values: series ? numbers(series).map((value) => value === null ? null : value * factor) : [] });

const by = (series: Series[] | undefined, label: string, value: string) => series?.find((one) => one.labels[label] === value);

/** One line out of two that have the same times. */
function combined(title: string, a: Series | undefined, b: Series | undefined, fold: (a: number, b: number) => number): Line {
  const other = new Map(b?.times.map((time, index) => [time, numbers(b)[index] ?? null]));
  const times: number[] = [];
  const values: number[] = [];
  (a ? numbers(a) : []).forEach((value, index) => {
    const time = a?.times[index] ?? 0;
    const second = other.get(time);
    if (value === null || second === null || second === undefined) return;
    times.push(time);
    values.push(fold(value, second));
  });
  return { title, times, values };
}

export const PANELS: Panel[] = [
  {
    title: "Processor", unit: "percent", isStacked: true, headline: { of: "all", said: "busy or waiting" },
    texts: (host) => [`sum:$step-avg:rate{dropcounter}:proc.stat.cpu{type=*}{host=${host}}`, `sum:$step-avg:rate{dropcounter}:proc.stat.cpu{host=${host}}`],
    lines: ([parts, all]) => [["user", "user"], ["system", "system"], ["iowait", "waiting for disks"], ["nice", "nice"]]
      .map(([type = "", title = ""]) => combined(title, by(parts, "type", type), all?.[0], (part, whole) => (whole > 0 ? 100 * part / whole : 0))),
  },
  {
    title: "Memory", unit: "bytes", isStacked: true, headline: { of: "first", said: "used" },
    texts: (host) => ["memtotal", "memavailable", "memfree"].map((name) => `sum:$step-avg:proc.meminfo.${name}{host=${host}}`),
    lines: ([total, available, free]) => [
      combined("used", total?.[0], available?.[0], (a, b) => a - b),
      combined("cache", available?.[0], free?.[0], (a, b) => Math.max(0, a - b)),
    ],
  },
  {
    title: "Load", unit: "plain", headline: { of: "first", said: "in 1 min" },
    texts: (host) => ["1min", "5min", "15min"].map((name) => `avg:$step-avg:proc.loadavg.${name}{host=${host}}`),
    lines: (found) => ["1 min", "5 min", "15 min"].map((title, index) => line(title, found[index]?.[0])),
  },
  {
    title: "Network", unit: "bytes/s", headline: { of: "all", said: "received and sent" },
    texts: (host) => [`sum:$step-avg:rate{dropcounter}:proc.net.bytes{direction=*}{host=${host},iface=not_literal_or(lo)}`],
    lines: ([found]) => [line("received", by(found, "direction", "in")), line("sent", by(found, "direction", "out"))],
  },
  {
    title: "Disks", unit: "bytes/s", headline: { of: "all", said: "read and written" },
    texts: (host) => ["read", "write"].map((way) => `sum:$step-avg:rate{dropcounter}:iostat.disk.${way}_sectors{host=${host}}`),
    lines: (found) => ["read", "written"].map((title, index) => line(title, found[index]?.[0], 512)),
  },
  {
    title: "Foliot's memory", unit: "bytes", headline: { of: "first", said: "resident" },
    texts: (host) => [`sum:$step-avg:process.resident_memory_bytes{host=${host}}`, `sum:$step-avg:foliot.head_bytes{host=${host}}`],
    lines: (found) => ["resident", "recent samples"].map((title, index) => line(title, found[index]?.[0])),
  },
];

const SPAN_MS = 15 * 60_000;

/** A collector that began a moment ago has a graph of its own few samples. */
const SPAN_LEAST_MS = 2 * 60_000;

function body(text: string, { start, end }: Span): Body {
  return { language: "opentsdb", text, start_ms: start, end_ms: end, step_ms: Math.max(10_000, step(end - start, 150)), by_itself: true };
}

export function Machine({ database, host }: { database: string; host: string }) {
  return (
    <section aria-label="This machine">
      <h2 class="title">This machine</h2>
      <div class="cards">
        {PANELS.map((panel) => <PanelCard key={panel.title} panel={panel} database={database} host={host} />)}
        <Space database={database} host={host} />
      </div>
    </section>
  );
}

/** What stands beside a panel's title: a figure, and of what it is. */
export function headlineOf({ headline: { of, said }, unit }: Pick<Panel, "headline" | "unit">, lasts: number[]): string {
  const now = of === "all" ? lasts.reduce((all, last) => all + last, 0) : lasts[0];
  return `${format(now, unit)} ${said}`;
}

function PanelCard({ panel, database, host }: { panel: Panel; database: string; host: string }) {
  const asked = useAsked(panel.title, async (signal) => {
    const span = { start: Date.now() - SPAN_MS, end: Date.now() };
    // A figure that this kernel does not have is no reason to show none.
    const asking = panel.texts(host).map((text) => query(database, body(text, span), signal).then((answer) => answer.series, () => []));
    const lines = panel.lines(await Promise.all(asking));
    const first = Math.min(span.end - SPAN_LEAST_MS, ...lines.flatMap((one) => one.times.slice(0, 1)));
    return { span: { ...span, start: Math.max(span.start, first) }, lines };
  }, 10_000);
  const shown = asked.answer;
  const lasts = shown?.lines.map((one) => figures(one.values).last ?? 0) ?? [];
  const has = shown?.lines.some((one) => one.values.length > 1);
  return (
    <article class="card">
      <div class="head"><h3>{panel.title}</h3><span class="now">{has ? headlineOf(panel, lasts) : ""}</span></div>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {shown && <Chart lines={shown.lines} span={shown.span} unit={panel.unit} zone="local" height={150} isStacked={Boolean(panel.isStacked)} label={panel.title} />}
      <ul class="key">{shown?.lines.map((one, index) => <li key={one.title} class={`c${index}`}>{one.title} {format(lasts[index], panel.unit)}</li>)}</ul>
      {shown && !has && <p class="note">Two rounds of the collector make a line.</p>}
    </article>
  );
}

function Space({ database, host }: { database: string; host: string }) {
  const asked = useAsked("space", async (signal) => {
    const span = { start: Date.now() - SPAN_MS, end: Date.now() };
    const ask = (name: string) => query(database, body(`max:$step-max:df.bytes.${name}{mount=*}{host=${host}}`, span), signal);
    const [used, total] = await Promise.all([ask("used"), ask("total")]);
    return used.series.map((series) => {
      const mount = series.labels["mount"] ?? "";
      const whole = by(total.series, "mount", mount);
      return { mount, used: figures(numbers(series)).last ?? 0, total: whole ? figures(numbers(whole)).last ?? 0 : 0 };
    }).sort((a, b) => a.mount.localeCompare(b.mount));
  }, 30_000);
  return (
    <article class="card">
      <h3>Disk space</h3>
      <ul class="ranks">
        {asked.answer?.map(({ mount, used, total }) => (
          <li key={mount}><b>{mount}</b><span>{format(used, "bytes")} of {format(total, "bytes")}</span><Meter value={used} max={total} label={mount} /></li>
        ))}
      </ul>
    </article>
  );
}
