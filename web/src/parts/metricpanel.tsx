// A metric's last hour by what it is: a gauge as it is, a counter as a rate, a histogram as a map of its buckets.

import { useState } from "preact/hooks";
import { query } from "../api";
import { answered } from "../asking";
import { database } from "../database";
import { areBuckets, heat } from "../heat";
import { useAsked } from "../hooks";
import { type Question, about, bodyOf, isPlainName } from "../question";
import { type Series, isCounter, numbers, sharedLabels, title } from "../series";
import { exploring, metricAddress, unexplored, write } from "../state";
import { type Span, step } from "../time";
import { unitOf } from "../units";
import { Chart } from "./chart";
import { Heatmap } from "./heatmap";
import { Empty, Failed, Loading } from "./small";

const HOUR_MS = 3_600_000;

/** Steps of an hour: a map's are wider. */
const STEPS = 240;
const MAP_STEPS = 60;

export interface Shown {
  kind: "gauge" | "counter" | "histogram";
  span: Span;
  series: Series[];
}

/** What Prometheus' libraries call the buckets of a histogram. */
const isBucketName = (metric: string) => /^[a-zA-Z_:][\w:]*_bucket$/.test(metric);

const bucketQuestion = (metric: string): Question => ({ language: "promql", text: `sum by (le) (rate(${metric}[5m]))`, isForm: false, isHidden: false });

export async function shownOf(metric: string, signal: AbortSignal): Promise<Shown> {
  const span = { start: Date.now() - HOUR_MS, end: Date.now() };
  const ask = async (question: Question, steps = STEPS) => (await answered(database(), question, { ...bodyOf(question, span, step(HOUR_MS, steps)), by_itself: true }, signal)).series;
  if (isBucketName(metric)) {
    const series = await ask(bucketQuestion(metric), MAP_STEPS);
    if (areBuckets(series)) return { kind: "histogram", span, series };
  }
  if (!isPlainName(metric)) return { kind: "gauge", span, series: await ask(about(metric)) };
  // The samples as they are tell a counter from a gauge: their last quarter of an hour is enough, where there are some.
  const stored = async (start: number) => {
    const body = { ...bodyOf(about(metric), { start, end: span.end }, step(HOUR_MS, STEPS)), text: `none:${metric}`, by_itself: true };
    return (await query(database(), body, signal).catch(() => null))?.series ?? [];
  };
  const recent = await stored(span.end - HOUR_MS / 4);
  const counts = isCounter((recent.length ? recent : await stored(span.start)).slice(0, 20), metric);
  return { kind: counts ? "counter" : "gauge", span, series: await ask(about(metric, counts)) };
}

/** Explore with the metric as its panel shows it. */
export const exploringAs = (metric: string, kind: Shown["kind"] = "gauge") => (kind === "histogram"
  ? write({ ...unexplored(), database: database(), view: "heatmap", questions: [bucketQuestion(metric)] })
  : exploring(metric, kind === "counter"));

const SAID = { gauge: "averaged over all series", counter: "as a rate, because the values only grow", histogram: "as a map of its buckets" };

export function Drawn({ metric, shown: { kind, span, series }, height }: { metric: string; shown: Shown; height: number }) {
  const shared = sharedLabels(series);
  const label = `${metric}, the last hour`;
  return (
    <>
      <p class="note">the last hour, {SAID[kind]}</p>
      {kind === "histogram"
        ? <Heatmap heat={heat(series, true)} span={span} unit="/s" zone="local" height={height} label={label} />
        : (
          <Chart
            lines={series.map((one) => ({ title: title(one, shared), times: one.times, values: numbers(one) }))}
            span={span} unit={unitOf(metric, kind === "counter")} zone="local" height={height} label={label}
          />
        )}
    </>
  );
}

/** Panels that are drawn at first, and that come at a time. */
const PANELS = 12;

/** How often panels beside one another are asked again. */
const EVERY_MS = 30_000;

/** Several metrics beside one another. */
export function Panels({ names }: { names: string[] }) {
  const [count, setCount] = useState(PANELS);
  return (
    <div>
      <div class="panels narrow">{names.slice(0, count).map((name) => <Panel key={name} metric={name} />)}</div>
      {names.length > count && <p class="bar"><button type="button" onClick={() => setCount(count + PANELS)}>{Math.min(PANELS, names.length - count)} more</button></p>}
    </div>
  );
}

function Panel({ metric }: { metric: string }) {
  const asked = useAsked(metric, (signal) => shownOf(metric, signal), EVERY_MS);
  const shown = asked.answer;
  return (
    <article class="card panel">
      <div class="head"><h2 class="name"><a href={metricAddress(metric)}>{metric}</a></h2><a href={exploringAs(metric, shown?.kind)}>Explore</a></div>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!shown && asked.isLoading && <Loading what="Drawing the last hour…" />}
      {shown && (shown.series.length ? <Drawn metric={metric} shown={shown} height={150} /> : <Empty title="No numbers in the last hour" />)}
    </article>
  );
}
