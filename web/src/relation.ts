// Answers that are rows: SQL's are a table, drawn as lines where it has times; InfluxQL's are lines, and a table where no
// graph has a place for them.

import type { Answer, Stated, Table } from "./api";
import type { Outcome, Outcomes } from "./asking";
import { type Series, type Value, beyond, labelsOf } from "./series";
import { asksLines } from "./sql";
import type { Explored } from "./state";
import type { Span } from "./time";

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

/** The time of a sample in nanoseconds, as a table has it. */
const nanosOf = ({ times, nanos }: Series, index: number): string => nanos?.[index] ?? `${times[index]!}000000`;

/** What tells the row of a sample: its number where that is told, and else its time. */
const rowOf = (series: Series, index: number): string => (series.rows ? `row ${series.rows[index]}` : nanosOf(series, index));

/** Rows that more than one sample of the same line has: which values of other columns stood beside each is not known. */
function twice(rows: string[]): string[] {
  const seen = new Set<string>();
  return rows.filter((row) => seen.size === seen.add(row).size);
}

/** Lines of rows as one table, with a column for each field, a row for each time of each measurement and labels. What computes one value of all times has none. */
export function rowsOf(all: Series[]): Table {
  const isTimed = all.some(({ times }) => times.some((time) => time !== 0));
  const isNamed = new Set(all.map(({ name }) => name)).size > 1;
  const labels = labelsOf(all);
  const fields = [...new Set(all.map(({ field }) => field))];
  const groups = new Map<string, Series[]>();
  for (const one of all) {
    const key = JSON.stringify([one.name, ...labels.map((label) => one.labels[label] ?? null)]);
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  const rows = [...groups.values()].flatMap((group) => {
    const [first] = group;
    const own: Value[] = [...(isNamed ? [first!.name] : []), ...labels.map((label) => (Object.hasOwn(first!.labels, label) ? first!.labels[label]! : null))];
    const unclear = new Set(group.flatMap((series) => twice(series.times.map((_, index) => rowOf(series, index)))));
    const found: { at: bigint; number: number; row: Value[] }[] = [];
    const known = new Map<string, Value[]>();
    for (const series of group) {
      const column = own.length + Number(isTimed) + fields.indexOf(series.field);
      series.values.forEach((value, index) => {
        const time = nanosOf(series, index);
        const number = rowOf(series, index);
        let row = unclear.has(number) ? undefined : known.get(number);
        if (!row) {
          row = [...(isTimed ? [time] : []), ...own, ...fields.map(() => null)];
          known.set(number, row);
          found.push({ at: BigInt(time), number: series.rows?.[index] ?? 0, row });
        }
        row[column] = value;
      });
    }
    return found.sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)) || a.number - b.number).map(({ row }) => row);
  });
  const kindOf = (field: string) => {
    const kinds = new Set(all.filter((series) => series.field === field).map(({ kind }) => kind));
    return kinds.size === 1 ? [...kinds][0]! : "";
  };
  const texts = [...(isNamed ? ["measurement"] : []), ...labels];
  return { name: isNamed ? "" : all[0]?.name ?? "", labels: {}, columns: [...(isTimed ? ["time"] : []), ...texts, ...fields], kinds: [...(isTimed ? ["time"] : []), ...texts.map(() => "string"), ...fields.map(kindOf)], rows };
}

/** Samples of which rows are made: of more that would hold up the page, and a table tells less than a graph. */
const ROWS_MAX = 100_000;

/** A statement of InfluxQL with its lines as a table, and where they lie if that is what keeps them from a graph. */
function asRows(statement: Stated, outside: Span | null = null): Stated {
  const { answer } = statement;
  if (!answer?.series.length || answer.series.reduce((sum, { times }) => sum + times.length, 0) > ROWS_MAX) return statement;
  const table = rowsOf(answer.series);
  return { ...statement, answer: { ...answer, series: [], tables: [table] }, ...(outside && timeColumn(table) >= 0 ? { outside } : {}) };
}

/** Whether no line tells what a statement answers: texts have none, and none has the texts beside it where several rows have one time. */
function hasNoLines({ answer }: Stated): boolean {
  const texts = answer?.series.filter(({ kind }) => kind === "string") ?? [];
  return texts.length > 0 && (texts.length === answer?.series.length || texts.some(({ rows }) => rows));
}

/** The statements of a text of InfluxQL as a view shows them: a table shows rows of several, and so does a graph that has no place for any of them. */
function influxqlIn(statements: Stated[], { view, isDrawn }: Shown, span: Span): Stated[] {
  const isRows = (statement: Stated) => statement.answer?.series.some(({ rows }) => rows) ?? false;
  if (view === "table") return statements.map((statement) => (statements.length > 1 || isRows(statement) ? asRows(statement) : statement));
  if (view !== "graph" || isDrawn) return statements;
  return statements.map((statement) => {
    if (hasNoLines(statement)) return asRows(statement);
    const outside = beyond(statement.answer?.series ?? [], span);
    return outside ? asRows(statement, outside) : statement;
  });
}

/** A statement of SQL as a graph shows it: its tables with times are lines, if it asks for some. */
function asGraph(statement: Stated, isDrawn: boolean, span: Span): Stated {
  const { text, answer } = statement;
  if (!answer || !(isDrawn || asksLines(text))) return statement;
  const told = (answer.tables ?? []).map((table) => ({ table, lines: linesOf(table) }));
  // Rows were asked for: a graph that has no place for any of them is drawn for who wants it.
  const outside = isDrawn ? null : beyond(told.flatMap(({ lines }) => lines), span);
  if (outside) return { ...statement, outside };
  return { ...statement, answer: { ...answer, series: told.flatMap(({ lines }) => lines), tables: told.flatMap(({ table, lines }) => (lines.length ? [] : [table])) } };
}

/** Statements of SQL as a view shows them: in a graph, what asks for lines is drawn, and all else is a table. */
const sqlIn = (statements: Stated[], { view, isDrawn }: Shown, span: Span): Stated[] =>
  (view === "table" || view === "samples" ? statements : statements.map((statement) => asGraph(statement, isDrawn, span)));

type Shown = Pick<Explored, "view" | "isDrawn">;

/** What is answered to statements together, once a view has made something else of them. */
function answerIn(answer: Answer, statements: Stated[]): Answer {
  const series = statements.flatMap((statement) => statement.answer?.series ?? []);
  const figures = { ...answer.figures, series: series.length, samples: series.reduce((sum, { times }) => sum + times.length, 0) };
  return { ...answer, series, figures, tables: statements.flatMap((statement) => statement.answer?.tables ?? []), statements };
}

/** An outcome as a view shows it. */
function shownAs(outcome: Outcome, shown: Shown, span: Span): Outcome {
  const { question, answer } = outcome;
  if (!answer) return outcome;
  if (question.language === "influxql") {
    // One statement alone is none of several, until its rows are a table.
    const statements = answer.statements ?? [{ text: question.text, answer, error: null, tookMs: answer.figures.took_ms }];
    const next = influxqlIn(statements, shown, span);
    return next.every((one, at) => one === statements[at]) ? outcome : { ...outcome, answer: answerIn(answer, next) };
  }
  if (!answer.statements) return outcome;
  const next = sqlIn(answer.statements, shown, span);
  return next === answer.statements ? outcome : { ...outcome, answer: answerIn(answer, next) };
}

/** What was answered over a range, as a view shows it. */
export const shownIn = ({ outcomes, span }: Pick<Outcomes, "outcomes" | "span">, shown: Shown): Outcome[] => outcomes.map((outcome) => shownAs(outcome, shown, span));
