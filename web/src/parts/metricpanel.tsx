// A metric over a range by what it is: a gauge as it is, a counter as a rate, a histogram as a map of its buckets.

import { useState } from "preact/hooks";
import { type Panel, catalogue, facts, query } from "../api";
import { answered, wantedOf } from "../asking";
import { unknownName } from "../advice";
import { NAME_CHARS_MAX } from "../board";
import { database } from "../database";
import { describedKind } from "../described";
import { areBuckets, heat } from "../heat";
import { useAsked } from "../hooks";
import { type Filter, type Question, about, bodyOf, filteredOf, metricText } from "../question";
import { type Scope, metricAddress, panelsAddress, rangeName, rangeText } from "../scope";
import { type Series, isCounter, numbers, plain, sharedLabels, title } from "../series";
import { exploring, textsAddress, unexplored, write } from "../state";
import { RANGES, type Span, moves, step } from "../time";
import { unitOf } from "../units";
import { Chart } from "./chart";
import { Ends } from "./ends";
import { Filters } from "./filters";
import { Heatmap } from "./heatmap";
import { Empty, Failed, Loading } from "./small";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Metrics that hold another one's name and are looked at for it. */
const SEARCHED = 100;

/** Steps of a range: a map's are wider. */
const STEPS = 240;
const MAP_STEPS = 60;

/** What a map's buckets are rated over, where its columns are no wider. */
const RATED_MS = 5 * MINUTE_MS;

export interface Shown {
  kind: "gauge" | "counter" | "histogram";
  /** Whether whoever describes it says so. */
  isCalled?: boolean;
  span: Span;
  series: Series[];
  /** Of several series that are drawn as their mean: the least and the greatest of them. */
  ends: { min: Series; max: Series } | null;
}

/** What a metric is shown as, where somebody knows better than its samples tell. */
export type As = "gauge" | "counter" | null;

/** What Prometheus' libraries call the buckets of a histogram. */
const isBucketName = (metric: string) => /^[a-zA-Z_:][\w:]*_bucket$/.test(metric);

/** What a metric is by those who describe it. */
async function kindOf(metric: string, signal: AbortSignal): Promise<string | undefined> {
  const of = database();
  const known = describedKind(of, metric);
  if (known !== undefined) return known;
  await catalogue("metrics", { search: metric, limit: SEARCHED, help: "true" }, signal).catch(() => undefined);
  return describedKind(of, metric);
}

function bucketQuestion(metric: string, { start, end }: Span, filters: Filter[]): Question {
  const window = step(end - start, MAP_STEPS) > RATED_MS ? "$step" : "5m";
  return { language: "promql", text: `sum by (le) (rate(${filteredOf(metric, filters)}[${window}]))`, isForm: false, isHidden: false };
}

export async function shownOf(metric: string, scope: Scope, signal: AbortSignal, as: As = null): Promise<Shown> {
  const { range, filters } = scope;
  const { span } = wantedOf({ ...unexplored(), range });
  const ask = async (question: Question, steps = STEPS) => {
    const body = { ...bodyOf(question, span, step(span.end - span.start, steps)), by_itself: true };
    // A label that no series has, or not with such a value, is no fault of any metric.
    return (await answered(database(), question, body, signal).catch((error) => {
      if (filters.length && unknownName(error)) return null;
      throw error;
    }))?.series ?? [];
  };
  if (isBucketName(metric)) {
    const series = await ask(bucketQuestion(metric, span, filters), MAP_STEPS);
    if (areBuckets(series)) return { kind: "histogram", span, series, ends: null };
  }
  // The samples as they are tell a counter from a gauge: the last quarter of an hour is enough, where there are some.
  const stored = async (backMs: number) => {
    const start = Math.max(span.start, span.end - backMs);
    const body = { ...bodyOf(about(metric), { start, end: span.end }, step(HOUR_MS, STEPS)), text: `none:${metricText(metric)}`, by_itself: true };
    return (await query(database(), body, signal).catch(() => null))?.series ?? [];
  };
  const [recent, kind] = await Promise.all([stored(HOUR_MS / 4), kindOf(metric, signal)]);
  const looked = recent.length ? recent : await stored(HOUR_MS);
  const isCalled = kind === "counter" || kind === "gauge";
  const counts = as ? as === "counter" : isCalled ? kind === "counter" : isCounter(looked.slice(0, 20), metric);
  const isFolded = !counts && !filters.some(({ splits }) => splits);
  const [series, [min], [max]] = await Promise.all([
    ask(about(metric, counts, filters)), ...(["min", "max"] as const).map((by) => (isFolded && looked.length > 1 ? ask(about(metric, false, filters, by)) : [])),
  ] as Promise<Series[]>[]) as [Series[], Series[], Series[]];
  return { kind: counts ? "counter" : "gauge", isCalled, span, series, ends: series.length === 1 && min && max ? { min, max } : null };
}

/** Explore with the metric as its panel shows it. */
export const exploringAs = (metric: string, scope: Scope, shown: Shown | null) => (shown?.kind === "histogram"
  ? write({ ...unexplored(), database: database(), range: scope.range, view: "heatmap", questions: [bucketQuestion(metric, shown.span, scope.filters)] })
  : exploring(metric, shown?.kind === "counter", scope));

/** How long a dashboard's panel may take to find out what its metric is. */
const PANEL_MS = 10_000;

/** A panel of a dashboard that shows a metric as its page does, and texts as a table. */
export async function panelOf(metric: string): Promise<Panel> {
  const [scope, signal] = [{ range: unexplored().range, filters: [] }, AbortSignal.timeout(PANEL_MS)];
  const shown = await shownOf(metric, scope, signal).catch(() => null);
  const known = shown && !shown.series.length ? await facts({ metric }, signal).catch(() => null) : null;
  const areTexts = known !== null && known.kinds.length > 0 && known.kinds.every((kind) => kind === "string");
  return { title: metric.slice(0, NAME_CHARS_MAX), address: areTexts ? textsAddress(metric) : exploringAs(metric, scope, shown) };
}

const said = ({ kind, isCalled, ends }: Shown, as: As, { filters }: Scope) => {
  const splits = filters.filter((filter) => filter.splits).map(({ label }) => label);
  const averaged = splits.length ? `averaged by ${splits.join(", ")}` : filters.length ? "averaged over all such series" : "averaged over all series";
  switch (kind) {
    case "counter": return `as a rate${as ? "" : isCalled ? ", because it is a counter" : ", because the values only grow"}, ${averaged}`;
    case "histogram": return "as a map of its buckets";
    default: return ends ? `${averaged}, between the least and the greatest of them` : averaged;
  }
};

interface DrawnProps {
  metric: string;
  scope: Scope;
  shown: Shown;
  height: number;
  as: As;
  onAs: (as: As) => void;
}

export function Drawn({ metric, scope, shown, height, as, onAs }: DrawnProps) {
  const { kind, span, series, ends } = shown;
  const shared = sharedLabels(series);
  const over = rangeText(scope.range);
  const label = `${metric}, ${over}`;
  return (
    <>
      <p class="note">{over}, {said(shown, as, scope)}
        {kind !== "histogram" && <button type="button" class="plain" onClick={() => onAs(kind === "counter" ? "gauge" : "counter")}>{kind === "counter" ? "show values" : "show a rate"}</button>}
      </p>
      {kind === "histogram"
        ? <Heatmap heat={heat(series, true)} span={span} unit="/s" zone="local" height={height} label={label} />
        : (
          <Chart
            lines={ends
              ? ([["average", series[0]!], ["greatest", ends.max], ["least", ends.min]] as const).map(([name, one]) => ({ title: name, times: one.times, values: numbers(one) }))
              : series.map((one) => ({ title: title(one, shared), times: one.times, values: numbers(one) }))}
            span={span} unit={unitOf(metric, kind === "counter")} zone="local" height={height} label={label}
          />
        )}
    </>
  );
}

/** The range of panels, and the labels that their series have. */
export function ScopeBar({ scope, of, address }: { scope: Scope; of: Record<string, string>; address: (scope: Scope) => string }) {
  const go = (next: Scope) => { location.hash = address(next); };
  const name = rangeName(scope.range);
  return (
    <div class="bar scope" role="group" aria-label="What is drawn">
      <nav class="segments" aria-label="Range">
        {RANGES.map((one) => <a key={one} href={address({ ...scope, range: { start: `${one}-ago`, end: "now" } })} aria-current={one === name ? "true" : undefined}>{one}</a>)}
      </nav>
      <Ends key={JSON.stringify(scope.range)} range={name ? null : scope.range} onChange={(range) => go({ ...scope, range: range ?? { start: "1h-ago", end: "now" } })} />
      <Filters filters={scope.filters} of={of} onChange={(filters) => go({ ...scope, filters })} />
    </div>
  );
}

/** Panels that are drawn at first, and that come at a time. */
const PANELS = 12;

/** How often panels beside one another are asked again, where their range moves. */
const EVERY_MS = 30_000;

/** Several metrics beside one another: those that have a text in their names. */
export function Panels({ names, search, scope }: { names: string[]; search: string; scope: Scope }) {
  const [count, setCount] = useState(PANELS);
  return (
    <div>
      <ScopeBar scope={scope} of={{ db: database() }} address={(next) => panelsAddress(search, next)} />
      <div class="panels narrow">{names.slice(0, count).map((name) => <Panel key={name} metric={name} scope={scope} />)}</div>
      {names.length > count && <p class="bar"><button type="button" onClick={() => setCount(count + PANELS)}>{Math.min(PANELS, names.length - count)} more</button></p>}
    </div>
  );
}

/** How often a panel is asked again. */
export const everyMs = ({ range }: Scope, ms: number) => (moves(range.end) ? ms : 0);

function Panel({ metric, scope }: { metric: string; scope: Scope }) {
  const [as, setAs] = useState<As>(null);
  const asked = useAsked(`${metric} ${JSON.stringify(scope)} ${as}`, (signal) => shownOf(metric, scope, signal, as), everyMs(scope, EVERY_MS));
  const shown = asked.answer;
  return (
    <article class="card panel">
      <div class="head"><h2 class="name"><a href={metricAddress(metric, scope)}>{plain(metric)}</a></h2><a href={exploringAs(metric, scope, shown)}>Explore</a></div>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!shown && asked.isLoading && <Loading what={`Drawing ${rangeText(scope.range)}…`} />}
      {shown && (shown.series.length ? <Drawn metric={metric} scope={scope} shown={shown} height={150} as={as} onAs={setAs} /> : <Empty title={noneIn(scope)} />)}
    </article>
  );
}

/** Why nothing is drawn. */
export const noneIn = ({ range, filters }: Scope) => `No numbers in ${rangeText(range)}${filters.length ? ` with ${filters.map(({ label, pattern }) => `${label}=${pattern}`).join(", ")}` : ""}`;
