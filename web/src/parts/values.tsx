// What each line came to at the end of the range: a row for each, with a column for each label.

import { useMemo } from "preact/hooks";
import type { Drawn } from "../asking";
import { useGrowing } from "../hooks";
import { type Series, type Value, isExact, labelsOf, nameOf } from "../series";
import { type Zone, timeText } from "../time";
import { inShort } from "../units";
import { useOrder } from "./order";

/** Labels that have columns of their own. */
const LABELS_MAX = 12;

/** Rows that fill what is seen of the table. */
const ROWS_FIRST = 50;

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
  const { shown, head } = useOrder(rows, (row, column) => {
    if (column === "letter") return letterIn(row.series);
    if (column === "name") return named(row);
    if (column === "value") return row.number ?? (typeof row.value === "string" ? row.value : null);
    return column === "time" ? row.atMs : labelOf(row.series, column.slice(1));
  });
  const [listed, onScroll] = useGrowing(ROWS_FIRST, rows.length);
  const hasLetters = all.some((series) => letterIn(series));
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label={label} onScroll={onScroll}>
      <table>
        <thead>
          <tr>
            {hasLetters && head("letter", <span class="unseen">Query</span>)}
            {head("name", "Series")}
            {labels.map((name) => head(`=${name}`, name))}
            {head("value", "Value", true)}{head("time", "Time", true)}
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, listed).map((row, at) => (
            <tr key={at}>
              {hasLetters && <td>{letterIn(row.series)}</td>}
              <td>{named(row)}</td>
              {labels.map((name) => <td key={name}>{labelOf(row.series, name)}</td>)}
              <td class="number" title={row.value === null ? undefined : String(row.value)}>{row.value === null ? "–" : inShort(row.value)}</td>
              <td class="number nowrap">{row.atMs === null ? "–" : timeText(row.atMs, zone)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
