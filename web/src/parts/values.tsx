// What each line came to at the end of the range: a row for each, with a column for each label.

import { useMemo } from "preact/hooks";
import type { Drawn } from "../asking";
import { type Series, type Value, isExact, labelsOf, nameOf } from "../series";
import { type Zone, timeText } from "../time";
import { inShort } from "../units";
import { type Column, LongTable } from "./longtable";

/** Labels that have columns of their own. */
const LABELS_MAX = 12;

const labelOf = ({ labels }: Series, name: string) => (Object.hasOwn(labels, name) ? labels[name]! : null);

interface Row {
  series: Series;
  value: Value;
  /** The value as a number, if it is one. */
  number: number | null;
  atMs: number | null;
}

/** The last value of a series, if it has one. */
function lastOf(series: Series): Row {
  const { times, values } = series;
  let at = values.length - 1;
  while (at >= 0 && values[at] === null) at -= 1;
  const value = values[at] ?? null;
  return { series, value, number: isExact(series, at) || typeof value === "boolean" || typeof value === "number" ? Number(value) : null, atMs: times[at] ?? null };
}

export function Values({ of, zone, label }: { of: Drawn; zone: Zone; label: string }) {
  const { series: all, letterIn, questionIn } = of;
  const rows = useMemo(() => all.map(lastOf), [all]);
  const labels = useMemo(() => labelsOf(all).slice(0, LABELS_MAX), [all]);
  // What PromQL computes has no name, but its text is one.
  const named = ({ series }: Row) => nameOf(series) || questionIn(series).text;
  const columns = useMemo((): Column<Row>[] => [
    ...(all.some((series) => letterIn(series)) ? [{ name: "query", title: <span class="unseen">Query</span>, ...textual(({ series }: Row) => letterIn(series)) }] : []),
    { name: "series", title: "Series", ...textual(named) },
    ...labels.map((name) => ({ name, ...textual(({ series }: Row) => labelOf(series, name)), shown: ({ series }: Row) => labelOf(series, name) })),
    {
      name: "value", title: "Value", isNumber: true, value: (row) => row.value, order: (row) => row.number ?? (typeof row.value === "string" ? row.value : null),
      shown: ({ value }) => (value === null ? "–" : inShort(value)), hint: ({ value }) => (value === null ? undefined : String(value)),
    },
    { name: "time", title: "Time", isNumber: true, isLine: true, value: ({ atMs }) => (atMs === null ? null : timeText(atMs, zone)), order: ({ atMs }) => atMs },
  ], [of, zone]);
  return <LongTable rows={rows} columns={columns} label={label} />;
}

/** A column of texts, which are what it is ordered by, too. */
const textual = <T extends string | null>(text: (row: Row) => T) => ({ value: text, order: text });
