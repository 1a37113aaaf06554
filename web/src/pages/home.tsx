// Home: what is here and what comes in; without anything, how to send a first point.

import { useRef, useState } from "preact/hooks";
import { type Moment, Refusal, type Status, catalogue, pastDay, query, status } from "../api";
import { CLIENTS } from "../clients";
import { database } from "../database";
import { useAsked, useHidesOwn } from "../hooks";
import { Chart, type Line } from "../parts/chart";
import { Machine } from "../parts/machine";
import { HideOwn, isOwn } from "../parts/own";
import { Copy, Failed, Loading, Meter, Tile } from "../parts/small";
import { about, bodyOf, isRate } from "../question";
import { type Rates, lookOf, pastLook, ratesAt } from "../rates";
import { numbers, plain, sharedLabels, title } from "../series";
import { spanText } from "../time";
import { format, unitOf } from "../units";
import { exploring } from "../state";

const EVERY_MS = 2000;

/** A moment is kept each minute. */
const PAST_EVERY_MS = 60_000;

/** As long as the graph of rates goes back: it begins when the page is opened. */
const KEPT_MS = 5 * 60_000;

const SHOWN_LEAST_MS = 60_000;

const NEWEST_LISTED = 12;

/** What the server and the collector measure of themselves. */
const isOfServer = (metric: string) => isOwn(metric) || /^(process|proc|iostat|df|net)\./.test(metric);

/** Whether somebody may be here who may not see how the server fares. */
const isForOperators = (error: Error) => error instanceof Refusal && error.status === 403;

export function Home() {
  const asked = useAsked("status", () => status(), EVERY_MS);
  const newest = useAsked("newest", (signal) => catalogue("newest", { limit: 200 }, signal), EVERY_MS);
  const [hidesOwn, setHidesOwn] = useHidesOwn();
  const past = useAsked("history", () => pastDay(), PAST_EVERY_MS);
  const { lines, rates, span } = useRates(asked.answer, past.answer?.moments ?? []);
  const now = asked.answer;
  const names = newest.answer?.names ?? [];
  const foreign = names.filter((name) => !isOfServer(name));
  const listed = hidesOwn ? names.filter((name) => !isOwn(name)) : names;
  // Who has nothing yet, but for what this machine measures of itself, is shown how to begin.
  const isNew = useRef<boolean | null>(null);
  if (isNew.current === null && newest.answer) isNew.current = foreign.length === 0;
  return (
    <div class="home">
      {asked.error && (isForOperators(asked.error)
        ? <p class="caution">What comes in, memory and disk are for those with the role <b>operator</b>. <a href="#/explore">Explore</a>, <a href="#/metrics">Metrics</a> and <a href="#/dashboards">Dashboards</a> are for everybody who may read.</p>
        : <Failed error={asked.error} again={asked.again} />)}
      {!now && asked.isLoading && <Loading what="Asking the server…" />}
      {now && <Tiles now={now} rates={rates} />}
      {isNew.current && <First names={foreign} own={database() || now?.database || "default"} />}
      <div class={now ? "pair" : ""}>
        {now && (
          <section class="card">
            <div class="head"><h2>Coming in</h2><span class="now">{format(rates?.total, "/s")}</span></div>
            {lines.length
              ? <Chart lines={lines} span={span} unit="/s" zone="local" height={240} isStacked fromZero label="Samples a second by protocol" />
              : <p class="note">Two looks at the counters make a rate…</p>}
            <ul class="key">{lines.map((line, index) => <li key={line.title} class={`c${index}`}>{line.title} {format(line.values.at(-1), "/s")}</li>)}</ul>
          </section>
        )}
        <section class="card">
          <div class="head"><h2>Newest metrics</h2><a href="#/metrics">all</a></div>
          {newest.error && <Failed error={newest.error} again={newest.again} />}
          {newest.answer && !listed.length && <p class="note">None yet{names.length > 0 && " but this server's own"}.</p>}
          <ul class="newest">
            {(hidesOwn && foreign.length ? foreign : listed).slice(0, NEWEST_LISTED).map((name) => <li key={name}><a href={exploring(name)}>{plain(name)}</a></li>)}
          </ul>
          <HideOwn isHidden={hidesOwn} onChange={setHidesOwn} />
        </section>
      </div>
      {now?.collects_host && <Machine database="" host={now.host} />}
    </div>
  );
}

function Tiles({ now, rates }: { now: Status; rates: Rates | null }) {
  const { store, memory } = now;
  return (
    <div class="tiles">
      <Tile name="Values a second" value={rates ? format(rates.total) : "…"} note={`${rates ? `over the last ${spanText(rates.overMs)}; ` : ""}${format(store?.samples ?? 0)} since the start, ${spanText(now.uptime_ms)} ago`} />
      <Tile name="Series" value={format(store?.series ?? 0)} note={`${format(store?.part_samples ?? 0)} samples in parts`} />
      <Tile name="Memory" value={format(memory.resident_bytes, "bytes")} note={`resident in this process${memory.limit_bytes ? `, of ${format(memory.limit_bytes, "bytes")}` : ""}`}>
        {memory.limit_bytes && <Meter value={memory.resident_bytes} max={memory.limit_bytes} label="Memory" />}
      </Tile>
      <Tile name="On disk" value={format((store?.part_bytes ?? 0) + (store?.wal_bytes ?? 0), "bytes")} note={store?.disk_free_bytes ? `${format(store.disk_free_bytes, "bytes")} free` : "parts and log"} />
      <Tile name="Queries" value={format(now.queries.running)} note={`running; ${format(now.queries.total)} so far`} />
    </div>
  );
}

/** Moments of the last day that are looked at: those that rates of what is kept may reach back to. */
const MOMENTS_MAX = 10;

/** Rates by protocol, each of about the minute before. */
function useRates(now: Status | null, past: Moment[]): { lines: Line[]; rates: Rates | null; span: { start: number; end: number } } {
  const kept = useRef<Status[]>([]);
  const last = kept.current.at(-1);
  if (now && now.now_ms !== last?.now_ms) {
    // A server that began anew counts from zero.
    if (last && now.uptime_ms < last.uptime_ms) kept.current = [];
    kept.current = [...kept.current, now].filter((one) => now.now_ms - one.now_ms <= KEPT_MS);
  }
  const looks = kept.current.map(lookOf);
  const end = now?.now_ms ?? Date.now();
  const startMs = now ? now.now_ms - now.uptime_ms : end;
  const others = [...past.slice(-MOMENTS_MAX).map(pastLook), ...looks];
  const all = looks.map((look) => ratesAt(look, others, startMs));
  const times = looks.map(({ atMs }) => atMs);
  const lines = Object.keys(now?.ingest ?? {}).map((way) => ({ title: way, times, values: all.map((rates) => rates?.byWay[way] ?? null) }))
    .filter((line) => line.values.some((value) => value));
  const start = Math.min(looks[0]?.atMs ?? end, end - SHOWN_LEAST_MS);
  return { lines: times.length > 1 ? lines : [], rates: all.at(-1) ?? null, span: { start, end } };
}

/** The first point: how to send it, and what became of it. */
function First({ names, own }: { names: string[]; own: string }) {
  const [chosen, setChosen] = useState(CLIENTS[0]?.name ?? "");
  // Lines without HTTP name no database, and go to the server's own.
  const clients = CLIENTS.filter(({ isBare }) => !isBare || !database());
  const client = clients.find(({ name }) => name === chosen) ?? clients[0];
  const text = client?.text({ origin: location.origin, host: location.hostname, port: location.port || "4242", database: own }) ?? "";
  const metric = names[0];
  return (
    <section class="card first">
      <h2>{metric ? "Your first points are here" : "Send your first point"}</h2>
      {metric
        ? <Arrived key={metric} metric={metric} />
        : (
          <>
            <p>Foliot listens. Paste one of these into a terminal on this machine; the graph appears by itself.</p>
            <div class="segments" role="group" aria-label="Client">
              {clients.map(({ name }) => <button key={name} type="button" aria-pressed={name === client?.name} onClick={() => setChosen(name)}>{name}</button>)}
            </div>
            <pre class="command" tabIndex={0}>{text}</pre>
            <p class="bar"><Copy text={() => text}>Copy</Copy><span class="waiting" role="status"><span aria-hidden="true" />Waiting for data…</span></p>
          </>
        )}
    </section>
  );
}

function Arrived({ metric }: { metric: string }) {
  const question = about(metric);
  const asked = useAsked(metric, async (signal) => {
    const span = { start: Date.now() - KEPT_MS, end: Date.now() };
    return { span, series: (await query(database(), { ...bodyOf(question, span, 1000), by_itself: true }, signal)).series };
  }, 1000);
  const shown = asked.answer;
  const shared = sharedLabels(shown?.series ?? []);
  return (
    <>
      <p><b>{metric}</b> arrived. <a class="button" href={exploring(metric)}>Explore it</a></p>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {shown && (
        <Chart
          lines={shown.series.map((series) => ({ title: title(series, shared), times: series.times, values: numbers(series) }))}
          span={shown.span} unit={unitOf(metric, isRate(question))} zone="local" height={200} label={`${metric}, live`}
        />
      )}
    </>
  );
}
