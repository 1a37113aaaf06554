// What most series are due to: metrics, labels, and labels with one of their values.

import { useState } from "preact/hooks";
import { cardinality } from "../api";
import { useAsked, useHidesOwn } from "../hooks";
import { largestAddress, metricAddress, rangeName, rangeText } from "../scope";
import { plain } from "../series";
import { labelAddress } from "../state";
import { RANGES, type Range, agoText, span, timeText } from "../time";
import { format, many } from "../units";
import { LimitForm, LimitsCard, useLimits } from "./limit";
import { isOwn } from "./own";
import { SeriesMakers } from "./senders";
import { Failed, Loading } from "./small";

/** Of more series than these, what must look at each is counted when somebody asks for it. */
const COUNTED_MAX = 100_000;

const DAY_MS = 86_400_000;

/** How many series of each metric have samples since yesterday, and in the day before. */
async function growth(signal: AbortSignal) {
  const now = Date.now();
  const [today, before] = await Promise.all([
    cardinality({ limit: 1000, start_ms: now - DAY_MS }, signal), cardinality({ limit: 1000, start_ms: now - 2 * DAY_MS, end_ms: now - DAY_MS }, signal),
  ]);
  const was = new Map(before.metrics.map(({ name, series }) => [name, series]));
  // Where nothing is as old as that, everything would be growth.
  if (!before.series) return null;
  return { total: today.series - before.series, of: new Map(today.metrics.map(({ name, series }) => [name, series - (was.get(name) ?? 0)])) };
}

const signed = (count: number) => (count > 0 ? `+${format(count)}` : count < 0 ? `−${format(-count)}` : "±0");

/** Metrics, labels and pairs that are listed at first, and that come at a time. */
const LISTED = 20;
const LISTED_MORE = 100;

/** How many are asked for where this server's own are left out, and where somebody wants more; the server tells no more than these. */
const ASKED_WITH_OWN = 400;
const ASKED_MAX = 1000;

/** Lists of what most series are due to, with how many entries of each are shown. */
interface Rows {
  metrics: number;
  pairs: number;
  labels: number;
}

/** What is behind the end of a list: a way to more of it, or how others are found. */
function More({ name, shown, known, isCut, onMore }: { name: string; shown: number; known: number; isCut: boolean; onMore: () => void }) {
  if (shown < known || (isCut && known < ASKED_MAX)) return <p class="bar"><button type="button" class="plain" onClick={onMore}>{LISTED_MORE} more {name}</button></p>;
  return isCut ? <p class="note">The first {known}; the list beside finds others by their names.</p> : null;
}

/** The times between which series are to have samples; both are left out where any will do. */
function within(range: Range | null): Record<string, number> {
  const found = range && span(range, Date.now(), "local");
  if (range && !found) throw new Error(`“${range.start}” to “${range.end}” is no time that anything could have samples in.`);
  // Both ends belong to a range, and the next midnight to no day.
  return found ? { start_ms: found.start, end_ms: dayOf(range) ? found.end - 1 : found.end } : {};
}

/** The day that a range is: its year, month and date. */
const dayOf = (range: Range | null) => /^(\d{4})\/(\d\d)\/(\d\d)$/.exec(range?.start ?? "");

/** Of which time series are counted: all that are stored, or those that have samples in a range, or on a day. */
function Counted({ range }: { range: Range | null }) {
  const name = range ? rangeName(range) : "";
  const day = dayOf(range);
  const address = (next: Range | null) => largestAddress(next);
  const ofDay = (text: string) => {
    const [year = 0, month = 1, date = 1] = text.split("-").map(Number);
    const slashed = (at: Date) => `${at.getFullYear()}/${String(at.getMonth() + 1).padStart(2, "0")}/${String(at.getDate()).padStart(2, "0")}`;
    return { start: slashed(new Date(year, month - 1, date)), end: slashed(new Date(year, month - 1, date + 1)) };
  };
  return (
    <div class="bar scope wide" role="group" aria-label="Which series are counted">
      <span class="note">series with samples in</span>
      <nav class="segments" aria-label="Range">
        <a href={address(null)} aria-current={range ? undefined : "true"}>any time</a>
        {RANGES.map((one) => <a key={one} href={address({ start: `${one}-ago`, end: "now" })} aria-current={one === name ? "true" : undefined}>{one}</a>)}
      </nav>
      <label class="check">or on&nbsp;<input type="date" aria-label="Day" value={day ? day.slice(1).join("-") : ""} onChange={(event) => { location.hash = address(event.currentTarget.value ? ofDay(event.currentTarget.value) : null); }} /></label>
    </div>
  );
}

/** Without a metric: what most series are due to. */
export function Largest({ range }: { range: Range | null }) {
  const [hidesOwn] = useHidesOwn();
  const [rows, setRows] = useState<Rows>({ metrics: LISTED, pairs: LISTED, labels: LISTED });
  const limit = Object.values(rows).some((count) => count > LISTED) ? ASKED_MAX : hidesOwn ? ASKED_WITH_OWN : LISTED;
  const key = `largest ${limit} ${JSON.stringify(range)}`;
  const asked = useAsked(key, async (signal) => cardinality({ limit, ...within(range) }, signal));
  // When each was last used is looked up behind the counts.
  const used = useAsked(`last ${key} ${asked.answer !== null}`, async (signal) => (asked.answer ? cardinality({ limit, last: "true" }, signal) : null));
  const lastOf = new Map((used.answer?.metrics ?? []).map(({ name, last_ms: last }) => [name, last]));
  const found = asked.answer;
  const [isIdle, setIsIdle] = useState(false);
  const metrics = (found?.metrics ?? []).filter(({ name, asked: demand }) => (!hidesOwn || !isOwn(name)) && !(isIdle && demand));
  const listed = metrics.slice(0, rows.metrics);
  const more = (of: keyof Rows, name: string, known: number) => (
    <More name={name} shown={rows[of]} known={known} isCut={(found?.[of].length ?? 0) >= limit} onMore={() => setRows({ ...rows, [of]: rows[of] + LISTED_MORE })} />
  );
  const [isWanted, setIsWanted] = useState(false);
  const isDear = found !== null && found.series > COUNTED_MAX;
  const mayGrow = found !== null && !range && (!isDear || isWanted);
  const grown = useAsked(`growth ${mayGrow}`, (signal) => (mayGrow ? growth(signal) : Promise.resolve(null)));
  const grew = grown.answer;
  const most = listed[0]?.series ?? 1;
  const widest = found?.labels[0]?.values ?? 1;
  const limited = useLimits();
  const [limiting, setLimiting] = useState("");
  return (
    <div class="details">
      <Counted range={range} />
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!found && asked.isLoading && <section class="card"><Loading what="Counting series…" /></section>}
      {found && (
        <>
          <section class="card">
            <h2>Metrics with most series</h2>
            <p class="note">{format(found.series)} series of {many(found.metrics_total, "metric")}{range && ` with samples in ${rangeText(range)}`}{grew && `; ${signed(grew.total)} report since yesterday`}
              {isDear && !range && !isWanted && <> <button type="button" class="plain" onClick={() => setIsWanted(true)}>count growth since yesterday</button></>}
            </p>
            {grown.error && <Failed error={grown.error} again={grown.again} />}
            <label class="check"><input type="checkbox" checked={isIdle} onChange={(event) => setIsIdle(event.currentTarget.checked)} />only those that nobody asked for by name since the start</label>
            {isIdle && !listed.length && <p class="note">All of them were asked for.</p>}
            <ul class="ranks">
              {listed.map(({ name, series, asked: demand }) => (
                <li key={name}><a href={metricAddress(name)}>{plain(name)}</a><span>{Boolean(grew?.of.get(name)) && <small title="How many more series report since yesterday than the day before">{signed(grew!.of.get(name)!)} a day</small>} <small title={demand ? `Asked for ${many(demand.count, "time")} since the start, last at ${timeText(demand.last_ms, "local")}` : "Nobody asked for it by its name since the start"}>{demand ? `asked ${agoText(demand.last_ms)}` : "not asked"}</small> {Boolean(lastOf.get(name)) && <small title={`Its last sample: ${timeText(lastOf.get(name)!, "local")}`}>sample {agoText(lastOf.get(name)!)}</small>} {format(series)}
                  {limited.of && <button type="button" class="plain" aria-label={`Limit the series of ${plain(name)}`} aria-expanded={limiting === name} onClick={() => setLimiting(limiting === name ? "" : name)}>limit</button>}</span><progress value={series} max={most} aria-hidden="true" />
                  {limiting === name && <LimitForm metric={name} series={series} limit={limited.of?.get(name)} onDone={() => { setLimiting(""); limited.again(); }} />}
                </li>
              ))}
            </ul>
            {more("metrics", "metrics", metrics.length)}
          </section>
          <section class="card">
            <h2>Pairs with most series</h2>
            <p class="note">a label with one of its values</p>
            <ul class="ranks">
              {found.pairs.slice(0, rows.pairs).map(({ name, value, series }) => (
                <li key={`${name}\0${value}`}><a href={labelAddress(name, value)}>{plain(name)}={plain(value)}</a><span>{format(series)}</span><progress value={series} max={found.pairs[0]?.series ?? 1} aria-hidden="true" /></li>
              ))}
            </ul>
            {more("pairs", "pairs", found.pairs.length)}
          </section>
          <section class="card">
            <h2>Labels with most values</h2>
            <p class="note">{many(found.labels_total, "label")} in all</p>
            <ul class="ranks">
              {found.labels.slice(0, rows.labels).map(({ name, values }) => (
                <li key={name}><a href={labelAddress(name)}>{plain(name)}</a><span>{format(values)}</span><progress value={values} max={widest} aria-hidden="true" /></li>
              ))}
            </ul>
            {more("labels", "labels", found.labels.length)}
          </section>
          <SeriesMakers />
          <LimitsCard limits={limited} />
        </>
      )}
    </div>
  );
}
