// Answers that are one table, as SQL's: drawn as lines where it has times, and a table otherwise.

import type { Answer, Table } from "./api";
import type { Outcome } from "./asking";
import type { Series, Value } from "./series";
import type { Explored } from "./state";

/** Kinds of columns that are lines. */
const NUMBERS = new Set(["float", "integer", "unsigned", "boolean"]);

/** The column of times of a table, the first one; -1 where there is none. */
export const timeColumn = ({ kinds }: Table): number => kinds?.indexOf("time") ?? -1;

/** A time, which is a text of nanoseconds, in milliseconds. */
const millis = (value: Value): number => Math.floor(Number(String(value).slice(0, -3)) / 1000);

interface Group {
  labels: Record<string, string>;
  rows: Value[][];
}

/** A table as lines: one for each column of numbers and each combination of its texts. */
export function linesOf(table: Table): Series[] {
  const { name, columns, rows, kinds = [] } = table;
  const time = timeColumn(table);
  if (time < 0) return [];
  const texts = columns.flatMap((column, at) => (kinds[at] === "string" ? [[column, at] as const] : []));
  const groups = new Map<string, Group>();
  for (const row of rows) {
    if (row[time] === null) continue;
    const key = JSON.stringify(texts.map(([, at]) => row[at]));
    const group = groups.get(key) ?? { labels: Object.fromEntries(texts.flatMap(([column, at]) => (row[at] === null ? [] : [[column, String(row[at])]]))), rows: [] };
    groups.set(key, group);
    group.rows.push(row);
  }
  const values = columns.flatMap((column, at) => (NUMBERS.has(kinds[at]!) ? [[column, at] as const] : []));
  return [...groups.values()].flatMap((group) => {
    // Rows come in any order, and lines go on in time.
    const placed = group.rows.map((row) => ({ row, at: millis(row[time]!) })).sort((a, b) => a.at - b.at);
    return values.map(([column, at]): Series => ({
      name, field: column, labels: group.labels, varying: [], kind: kinds[at]!, times: placed.map((one) => one.at), values: placed.map(({ row }) => row[at] ?? null),
    }));
  });
}

/** An answer as a view shows it: a table with times is lines in a graph, and itself in a table. */
function shownAs(answer: Answer, view: Explored["view"]): Answer {
  if (!answer.tables || view === "table" || view === "samples") return answer;
  const tables = answer.tables.map((table) => ({ table, lines: linesOf(table) }));
  const series = [...answer.series, ...tables.flatMap(({ lines }) => lines)];
  const figures = { ...answer.figures, series: series.length, samples: series.reduce((sum, { times }) => sum + times.length, 0) };
  return { ...answer, series, figures, tables: tables.flatMap(({ table, lines }) => (lines.length ? [] : [table])) };
}

/** What was answered, as a view shows it. */
export const shownIn = (outcomes: Outcome[], view: Explored["view"]): Outcome[] =>
  outcomes.map((outcome) => (outcome.answer?.tables?.some(({ kinds }) => kinds) ? { ...outcome, answer: shownAs(outcome.answer, view) } : outcome));
