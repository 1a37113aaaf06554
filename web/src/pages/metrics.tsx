// Metrics: all of them by any part of their names, and one of them closely.

import { useState } from "preact/hooks";
import { type Facts, type Help, cardinality, catalogue, facts } from "../api";
import { database, here } from "../database";
import { useAsked, useHidesOwn } from "../hooks";
import { HideOwn, WITHOUT_OWN } from "../parts/own";
import { Delete } from "../parts/delete";
import { Labelled } from "../parts/labelled";
import { Largest } from "../parts/largest";
import { LimitCard } from "../parts/limit";
import { type As, Drawn, Panels, ScopeBar, everyMs, exploringAs, noneIn, shownOf } from "../parts/metricpanel";
import { Choices } from "../parts/nearest";
import { Reporters } from "../parts/reporters";
import { Siblings } from "../parts/siblings";
import { Empty, Failed, Loading, Tile } from "../parts/small";
import { type Scope, metricAddress, panelsAddress, rangeOf, scopeOf } from "../scope";
import { plain } from "../series";
import { labelAddress, textsAddress } from "../state";
import { agoText, spanText, timeText } from "../time";
import { format, many } from "../units";
import { unknownAs } from "../unknown";

const NAMES_LISTED = 200;
const VALUES_LISTED = 50;

export function Metrics({ params }: { params: URLSearchParams }) {
  const [metric, label, value] = ["metric", "label", "value"].map((name) => params.get(name) ?? "") as [string, string, string];
  const scope = scopeOf(params);
  const [search, setSearch] = useState(params.get("search") ?? "");
  const [hidesOwn, setHidesOwn] = useHidesOwn();
  // Who looks for them sees them.
  const without = hidesOwn && !search.toLowerCase().includes("foliot") ? WITHOUT_OWN : "";
  const asked = useAsked(`metrics ${search} ${without}`, (signal) => catalogue("metrics", { search, without, limit: NAMES_LISTED }, signal));
  const found = asked.answer;
  const arePanels = params.get("view") === "panels";
  return (
    <div class={`columns ${metric || label ? "chosen" : ""}`}>
      <section class="card names" aria-label="Metrics">
        <input type="search" placeholder="Find a metric by any part of its name" aria-label="Find a metric" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        <HideOwn isHidden={hidesOwn} onChange={setHidesOwn} />
        {found && found.names.length > 0 && !metric && !label && (
          <p class="bar">{arePanels ? <a href={here("#/metrics")}>What makes most series</a> : <a href={panelsAddress(search, scope)}>Draw these beside one another</a>}</p>
        )}
        {asked.error && <Failed error={asked.error} again={asked.again} />}
        {!found && asked.isLoading && <Loading what="Looking…" />}
        {found && !found.names.length && (
          search
            ? <Empty title={`No metric has “${search}” in its name`} />
            : without ? <Empty title="Nothing but this server's own metrics"><p>They are hidden. See <a href="#/home">Home</a> for how to send others.</p></Empty>
            : <Empty title="Nothing is stored yet"><p>See <a href="#/home">Home</a> for how to send a first point.</p></Empty>
        )}
        <ul>
          {found?.names.map((name) => (
            <li key={name}><a href={metricAddress(name)} aria-current={name === metric ? "true" : undefined}>{plain(name)}</a></li>
          ))}
        </ul>
        {found && !found.is_whole && <p class="note">The first {found.names.length}; type more of the name to see others.</p>}
      </section>
      {metric ? <Metric key={metric} metric={metric} scope={scope} onGone={asked.again} /> : label ? <Labelled key={`${label}\0${value}`} label={label} value={value} onGone={asked.again} /> : arePanels ? <Panels key={search} names={found?.names ?? []} search={search} scope={scope} /> : <Largest range={rangeOf(params)} />}
    </div>
  );
}

/** Of more series than these, what must look at each is counted when somebody asks for it. */
const COUNTED_MAX = 100_000;

function Metric({ metric, scope, onGone }: { metric: string; scope: Scope; onGone: () => void }) {
  const counted = useAsked(metric, (signal) => cardinality({ metric, limit: 100 }, signal));
  const [as, setAs] = useState<As>(null);
  const [label, setLabel] = useState("");
  const [turn, setTurn] = useState(0);
  const [went, setWent] = useState("");
  // After a delete nothing may be left that could be asked about.
  const isLeft = async (signal: AbortSignal) => !turn || (await cardinality({ metric, limit: 1 }, signal)).series > 0;
  const drawn = useAsked(`${metric} ${JSON.stringify(scope)} ${as} ${turn}`, async (signal) => ((await isLeft(signal)) ? shownOf(metric, scope, signal, as) : null), everyMs(scope, 10_000));
  const [isWanted, setIsWanted] = useState(false);
  const isDear = (counted.answer?.series ?? 0) > COUNTED_MAX;
  const mayCount = counted.answer !== null && (!isDear || isWanted);
  const told = useAsked(`facts ${metric} ${turn} ${mayCount}`, (signal) => (mayCount ? facts({ metric }, signal) : Promise.resolve(null)));
  const found = counted.answer;
  const shown = drawn.answer;
  const kinds = told.answer?.kinds ?? [];
  const areTexts = kinds.length > 0 && kinds.every((kind) => kind === "string");
  if (found && !found.series) {
    return (
      <div class="details">
        <section class="card wide">
          <h2 class="name">{plain(metric)}</h2>
          {went
            ? <Empty title="Nothing of it is left"><p role="status">{went}</p><p><a href="#/metrics">All metrics</a></p></Empty>
            : <NoMetric metric={metric} scope={scope} />}
        </section>
      </div>
    );
  }
  return (
    <div class="details">
      <section class="card wide">
        <div class="head">
          <h2 class="name">{plain(metric)}</h2>
          <a class="button" href={areTexts ? textsAddress(metric) : exploringAs(metric, scope, shown)}>Explore</a>
        </div>
        {told.answer?.help && <Described of={told.answer.help} />}
        {!areTexts && <ScopeBar scope={scope} of={{ db: database(), metric }} address={(next) => metricAddress(metric, next)} />}
        {drawn.error && <Failed error={drawn.error} again={drawn.again} />}
        {!shown && drawn.isLoading && <Loading what="Drawing…" />}
        {shown && shown.series.length > 0 && <Drawn metric={metric} scope={scope} shown={shown} height={220} as={as} onAs={setAs} />}
        {shown && !shown.series.length && (areTexts
          ? <Empty title="Its values are texts, which no graph shows"><p><a href={textsAddress(metric)}>Read them in a table</a></p></Empty>
          : <Empty title={noneIn(scope)}><p>A wider range may have some.</p></Empty>)}
      </section>
      {told.error && <Failed error={told.error} again={told.again} />}
      {isDear && !isWanted && <p class="bar wide"><button type="button" onClick={() => setIsWanted(true)}>Count its samples and bytes</button></p>}
      {told.answer && <Stored told={told.answer} />}
      <section class="card wide">
        <h2>Labels</h2>
        {counted.error && <Failed error={counted.error} again={counted.again} />}
        {!found && counted.isLoading && <Loading what="Counting series…" />}
        {found && <p class="note">{format(found.series)} series</p>}
        <ul class="ranks">
          {found?.labels.map(({ name, values, series }) => (
            <li key={name}>
              <button type="button" class="plain" aria-expanded={label === name} onClick={() => setLabel(label === name ? "" : name)}>{plain(name)}</button>
              <span>{format(values)} {values === 1 ? "value" : "values"} in {format(series)} series</span>
              {label === name && <Values metric={metric} label={name} />}
            </li>
          ))}
        </ul>
        {found && !found.labels.length && <p class="note">Its series have no labels.</p>}
      </section>
      <Siblings metric={metric} />
      <Reporters key={turn} of={{ metric }} />
      {found && <LimitCard key={turn} metric={metric} series={found.series} />}
      <Delete meant={{ metric }} name={metric} turn={turn} onDone={(said) => { setWent(said); setTurn(turn + 1); counted.again(); onGone(); }} />
    </div>
  );
}

/** A name that is none, with those that may be meant. */
function NoMetric({ metric, scope }: { metric: string; scope: Scope }) {
  const { answer } = useAsked(`near ${metric}`, (signal) => unknownAs(metric, database(), signal));
  return (
    <Empty title="There is no such metric">
      <p>Nothing of that name is stored in this database; it may have been dropped. <a href="#/metrics">All metrics</a></p>
      {answer && answer.others.length > 0 && <Choices unknown={{ ...answer, said: "" }} onChoose={(name) => { location.hash = metricAddress(name, scope); }} />}
    </Empty>
  );
}

/** What its targets say of it. */
const Described = ({ of: { kind, help, unit } }: { of: Help }) => (
  <p class="described">{help}{kind && <span class="level">{kind}{unit && unit !== "1" && ` in ${unit}`}</span>}</p>
);

/** What is stored of it, in figures. */
function Stored({ told }: { told: Facts }) {
  const { series, samples, bytes, plain_bytes, first_ms, last_ms, kinds, kept, arrived, asked } = told;
  const when = (at: number | null) => (at === null ? "–" : timeText(at, "local").slice(0, 16));
  return (
    <div class="tiles wide">
      <Tile name="Samples" value={format(samples)} note={`${kinds.join(", ") || "none"} of ${format(series)} series`} />
      <Tile name="Size" value={format(bytes, "bytes")} note={samples ? `${format(bytes / samples, "bytes")} each, 1 : ${format(plain_bytes / Math.max(1, bytes))}` : "nothing is stored"} />
      <Tile name="Last sample" value={last_ms === null ? "–" : last_ms > Date.now() ? "ahead" : `${spanText(Date.now() - last_ms)} ago`} note={`the first ${when(first_ms)}`} />
      <Tile name="Late" value={arrived.samples ? format((100 * arrived.late) / arrived.samples, "percent") : "–"} note={arrived.samples ? `${format(arrived.late)} of ${format(arrived.samples)} since the start came after a newer one` : "none came since the start"} />
      <Tile name="Asked for" value={asked ? agoText(asked.last_ms) : "never"} note={asked ? `${many(asked.count, "time")} since the start, by its name` : "by its name, since the start"} />
      <Tile name="Kept" value={kept.map(({ keeps }) => keeps).join(", ") || "–"} note={kept.find(({ rule }) => rule)?.rule ?? "as its database says"} />
    </div>
  );
}

function Values({ metric, label }: { metric: string; label: string }) {
  const asked = useAsked(label, (signal) => catalogue("values", { metric, label, limit: VALUES_LISTED }, signal));
  if (asked.error) return <Failed error={asked.error} again={asked.again} />;
  if (!asked.answer) return <Loading what="Listing…" />;
  return (
    <p class="values">
      {asked.answer.names.map((name) => <a key={name} class="code" href={labelAddress(label, name)}>{plain(name)}</a>)}
      {!asked.answer.is_whole && <a href={labelAddress(label)}>…</a>}
    </p>
  );
}
