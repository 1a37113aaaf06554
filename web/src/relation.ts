// Answers that are one table, as SQL's: drawn as lines where it has times, and a table otherwise.

import type { Answer, Stated, Table } from "./api";
import type { Outcome } from "./asking";
import type { Series, Value } from "./series";
import { asksLines } from "./sql";
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

/** Rows from which on a text that is another in most of them is no name of a line. */
const TOLD_APART_FROM = 4;

/** Columns of texts that tell lines apart. One that is another in most rows, as a note is, does not, as long as no two rows of a line have the same time without it. */
function splitting(table: Table, time: number): number[] {
  const { columns, kinds = [], rows } = table;
  let texts = columns.flatMap((_, at) => (kinds[at] === "string" ? [at] : []));
  if (rows.length < TOLD_APART_FROM) return texts;
  for (const one of [...texts]) {
    const values = new Set(rows.map((row) => row[one]));
    if (values.size * 2 <= rows.length) continue;
    const others = texts.filter((at) => at !== one);
    const keys = new Set(rows.map((row) => JSON.stringify([row[time], ...others.map((at) => row[at])])));
    if (keys.size === rows.length) texts = others;
  }
  return texts;
}

/** A table as lines: one for each column of numbers and each combination of its texts. */
export function linesOf(table: Table): Series[] {
  const { name, columns, rows, kinds = [] } = table;
  const time = timeColumn(table);
  if (time < 0) return [];
  const texts = splitting(table, time).map((at) => [columns[at]!, at] as const);
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

/** A statement as a graph shows it: its tables with times are lines, if it asks for some. */
function asGraph(statement: Stated, isDrawn: boolean): Stated {
  const { text, answer } = statement;
  if (!answer || !(isDrawn || asksLines(text))) return statement;
  const told = (answer.tables ?? []).map((table) => ({ table, lines: linesOf(table) }));
  return { ...statement, answer: { ...answer, series: told.flatMap(({ lines }) => lines), tables: told.flatMap(({ table, lines }) => (lines.length ? [] : [table])) } };
}

/** An answer as a view shows it: in a graph, what asks for lines is drawn, and all else is a table. */
function shownAs(answer: Answer, { view, isDrawn }: Shown): Answer {
  if (!answer.statements || view === "table" || view === "samples") return answer;
  const statements = answer.statements.map((statement) => asGraph(statement, isDrawn));
  const series = statements.flatMap((statement) => statement.answer?.series ?? []);
  const figures = { ...answer.figures, series: series.length, samples: series.reduce((sum, { times }) => sum + times.length, 0) };
  return { ...answer, series, figures, tables: statements.flatMap((statement) => statement.answer?.tables ?? []), statements };
}

type Shown = Pick<Explored, "view" | "isDrawn">;

/** What was answered, as a view shows it. */
export const shownIn = (outcomes: Outcome[], shown: Shown): Outcome[] =>
  outcomes.map((outcome) => (outcome.answer?.statements ? { ...outcome, answer: shownAs(outcome.answer, shown) } : outcome));
