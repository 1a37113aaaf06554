// A label, or one of its values, closely: which metrics have it, what values it has, and which series those are.

import { useState } from "preact/hooks";
import { cardinality } from "../api";
import { useAsked, useHidesOwn } from "../hooks";
import { metricAddress } from "../scope";
import { labelAddress } from "../state";
import { format } from "../units";
import { Delete } from "./delete";
import { isOwn } from "./own";
import { Reporters } from "./reporters";
import { Empty, Failed, Loading } from "./small";

/** Entries that are asked for: pairs of other labels are among them. */
const ASKED = 1000;

/** Entries of a list at first, and that come at a time. */
const LISTED = 100;

interface Ranked {
  name: string;
  href: string;
  count: number;
}

function Ranks({ title, note, ranked }: { title: string; note: string; ranked: Ranked[] }) {
  const [rows, setRows] = useState(LISTED);
  const most = Math.max(1, ...ranked.map(({ count }) => count));
  return (
    <section class="card">
      <h2>{title}</h2>
      <p class="note">{note}</p>
      <ul class="ranks">
        {ranked.slice(0, rows).map(({ name, href, count }) => (
          <li key={href}><a href={href}>{name}</a><span>{format(count)}</span><progress value={count} max={most} aria-hidden="true" /></li>
        ))}
      </ul>
      {ranked.length > rows && <p class="bar"><button type="button" class="plain" onClick={() => setRows(rows + LISTED)}>{Math.min(LISTED, ranked.length - rows)} more</button></p>}
      {rows >= ASKED && ranked.length >= ASKED && <p class="note">The first {ASKED}.</p>}
    </section>
  );
}

interface Props {
  label: string;
  value: string;
  /** Samples are gone, and with them perhaps names. */
  onGone: () => void;
}

export function Labelled({ label, value, onGone }: Props) {
  const of = { label, ...(value ? { value } : {}) };
  const asked = useAsked(JSON.stringify(of), (signal) => cardinality({ ...of, limit: ASKED }, signal));
  const found = asked.answer;
  const [hidesOwn] = useHidesOwn();
  const metrics = found?.metrics.filter(({ name }) => !hidesOwn || !isOwn(name)) ?? [];
  const [turn, setTurn] = useState(0);
  const own = found?.labels.find(({ name }) => name === label);
  const others = found?.labels.filter(({ name }) => name !== label) ?? [];
  const pairs = found?.pairs.filter(({ name }) => name === label) ?? [];
  return (
    <div class="details">
      <section class="card wide">
        <div class="head">
          <h2 class="name">{value ? <><a href={labelAddress(label)}>{label}</a>={value}</> : label}</h2>
          <a class="button" href="#/metrics">All labels</a>
        </div>
        {asked.error && <Failed error={asked.error} again={asked.again} />}
        {!found && asked.isLoading && <Loading what="Counting series…" />}
        {found && found.series > 0 && (
          <p class="note">{format(found.series)} series of {format(found.metrics_total)} {found.metrics_total === 1 ? "metric" : "metrics"} have it{!value && own && `, with ${format(own.values)} ${own.values === 1 ? "value" : "values"}`}</p>
        )}
        {found && !found.series && <Empty title={value ? "No series has this label with this value" : "No series has this label"}><p>It may have been dropped since. <a href="#/metrics">All labels and metrics</a></p></Empty>}
      </section>
      {found && found.series > 0 && (
        <>
          {!value && <Ranks title="Values with most series" note="each leads to the metrics that have it" ranked={pairs.map((pair) => ({ name: pair.value, href: labelAddress(label, pair.value), count: pair.series }))} />}
          <Ranks title="Metrics that have it" note={hidesOwn && metrics.length < found.metrics.length ? "by their series with it, without this server's own" : "by their series with it"} ranked={metrics.map(({ name, series }) => ({ name, href: metricAddress(name), count: series }))} />
          {others.length > 0 && <Ranks title="Other labels of these series" note="by their values" ranked={others.map(({ name, values }) => ({ name, href: labelAddress(name), count: values }))} />}
          <Reporters key={turn} of={of} />
        </>
      )}
      {/* It stays when everything is gone: it says so. */}
      {found && (found.series > 0 || turn > 0) && (
        <Delete
          meant={value ? { labels: { [label]: value } } : {}} begun={value ? [] : [{ label, pattern: "*", splits: false }]} name={value ? `${label}=${value}` : label}
          turn={turn} onDone={() => { setTurn(turn + 1); asked.again(); onGone(); }}
        />
      )}
    </div>
  );
}
