// An answer as a file: a row for each sample, with a column for each label, or the rows of its tables.

import type { Table } from "./api";
import type { Outcome } from "./asking";
import { type Series, type Value, isExact as isWhole, labelsOf as labelNames } from "./series";
import { mapped } from "./slices";

/** A cell of a file: quoted where it must be, and never a formula to a spreadsheet. */
function cell(value: Value | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const line = (cells: (Value | undefined)[]) => `${cells.map(cell).join(",")}\n`;

/** A label's value; `toString` and the like are names as others are. */
const valueOf = ({ labels }: Series, label: string) => (Object.hasOwn(labels, label) ? labels[label]! : null);

/** Kinds of whole numbers: those that a browser would lose digits of are texts. */
const WHOLE = new Set(["integer", "unsigned"]);

const isExact = (all: Series[]) => all.some((series) => series.nanos);

/** A value in JSON: a whole number that came as a text is one again, with all its digits. */
const valueText = (series: Series, index: number): string =>
  (isWhole(series, index) ? String(series.values[index]) : JSON.stringify(series.values[index] ?? null));

const OWN = new Set(["time", "time_ms", "time_ns", "name", "measurement", "field", "value"]);

/** Labels of all series, each with the name of its column: no label takes the name of another column. */
function labelsOf(all: Series[]): [string, string][] {
  return labelNames(all).map((label) => [label, OWN.has(label) ? `label_${label}` : label]);
}

/** Series as CSV: the header, and the lines of each series. */
export async function csv(all: Series[]): Promise<string[]> {
  const labels = labelsOf(all);
  const header = line([isExact(all) ? "time_ns" : "time_ms", "name", "field", ...labels.map(([, name]) => name), "value"]);
  const pieces = await mapped(all, (series) => {
    const head = [series.name, series.field, ...labels.map(([label]) => valueOf(series, label))].map(cell).join(",");
    return series.times.map((time, index) => `${isExact(all) ? series.nanos?.[index] ?? "" : time},${head},${cell(series.values[index])}\n`).join("");
  });
  return [header, ...pieces];
}

/** What a table says of all its rows. */
const ownOf = ({ name, labels }: Table): [string, string][] => [...(name ? [["name", name] as [string, string]] : []), ...Object.entries(labels)];

/** Tables as CSV with one header: of several, a row has the columns of its own table, and what that is called. */
export function tablesCsv(all: Table[]): string {
  const [first] = all;
  if (first && all.length === 1) return [first.columns, ...first.rows].map(line).join("");
  const rows = all.flatMap((table) => table.rows.map((row) => new Map<string, Value>([...ownOf(table), ...table.columns.map((column, at): [string, Value] => [column, row[at] ?? null])])));
  const names = [...new Set(all.flatMap((table) => [...ownOf(table).map(([name]) => name), ...table.columns]))];
  return [names, ...rows.map((row) => names.map((name) => row.get(name)))].map(line).join("");
}

/** A series in JSON. */
function seriesText(series: Series): string {
  const { values, ...others } = series;
  return `${JSON.stringify(others).slice(0, -1)},"values":[${values.map((_, index) => valueText(series, index)).join(",")}]}`;
}

/** Series as JSON, an array. */
export const json = async (all: Series[]): Promise<string[]> =>
  ["[", ...await mapped(all, (series) => (series === all[0] ? "" : ",\n") + seriesText(series)), "]\n"];

/** Series as lines of JSON, an object for each sample. Times to the nanosecond are texts, as everywhere. */
export async function jsonLines(all: Series[]): Promise<string[]> {
  const labels = labelsOf(all);
  return mapped(all, (series) => {
    const own = labels.flatMap(([label, name]) => (Object.hasOwn(series.labels, label) ? [[name, series.labels[label]]] : []));
    const head = JSON.stringify(Object.fromEntries([["name", series.name], ["field", series.field], ...own])).slice(1, -1);
    return series.times.map((time, index) => `{${isExact(all) ? `"time_ns":${JSON.stringify(series.nanos?.[index] ?? null)}` : `"time_ms":${time}`},${head},"value":${valueText(series, index)}}\n`).join("");
  });
}

/** A cell of a table in JSON. */
function cellText({ kinds }: Pick<Table, "kinds">, value: Value | undefined, at: number): string {
  const isNumber = typeof value === "string" && WHOLE.has(kinds?.[at] ?? "");
  return isNumber ? value : JSON.stringify(value ?? null);
}

/** Tables as JSON, an array. */
export const tablesJson = (all: Table[]): string => `[${all.map((table) => {
  const { rows, ...others } = table;
  return `${JSON.stringify(others).slice(0, -1)},"rows":[${rows.map((row) => `[${row.map((value, at) => cellText(table, value, at)).join(",")}]`).join(",")}]}`;
}).join(",\n")}]\n`;

/** Tables as lines of JSON, an object for each row. */
export const tablesJsonLines = (all: Table[]): string => all.map((table) => {
  const { columns, rows } = table;
  const own = ownOf(table).map(([label, value]) => `${JSON.stringify(label)}:${JSON.stringify(value)}`);
  return rows.map((row) => `{${[...own, ...columns.map((column, at) => `${JSON.stringify(column)}:${cellText(table, row[at], at)}`)].join(",")}}\n`).join("");
}).join("");

/** A column of a file of columns. Times are in nanoseconds of UTC. */
export interface FileColumn {
  name: string;
  kind: "time" | "float" | "integer" | "boolean" | "text";
  values: (bigint | number | string | boolean | null)[];
}

/** Whether a column of 64 bits with a sign has room for it. */
const isInteger = (value: Value | bigint) => (typeof value === "bigint" ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value));

/** What JSON has no number for is a text there. */
const LOST: Record<string, number> = { NaN: Number.NaN, Infinity, "-Infinity": -Infinity };

/** A column of values of one kind; where they are of several it has texts, unless all are numbers. */
function columnOf(name: string, values: (Value | bigint)[], areWhole: boolean): FileColumn {
  const solid = values.filter((value) => value !== null);
  if (areWhole && solid.every(isInteger)) return { name, kind: "integer", values: values.map((value) => (value === null ? null : BigInt(value))) };
  if (solid.length && solid.every((value) => typeof value === "boolean")) return { name, kind: "boolean", values };
  const numbers = values.map((value) => (typeof value === "string" ? LOST[value] ?? value : value));
  if (numbers.every((value) => value === null || typeof value === "number")) return { name, kind: "float", values: numbers };
  return { name, kind: "text", values: values.map((value) => (value === null ? null : String(value))) };
}

/** Series as columns, named as `foliot import parquet` names them. */
export function columnsOf(all: Series[]): FileColumn[] {
  const repeated = (of: (series: Series) => string | null) => all.flatMap((series) => new Array<string | null>(series.times.length).fill(of(series)));
  const times = all.flatMap(({ times, nanos }) => times.map((time, index) => (nanos?.[index] === undefined ? BigInt(Math.round(time)) * 1_000_000n : BigInt(nanos[index]))));
  const text = (name: string, values: (string | null)[]): FileColumn => ({ name, kind: "text", values });
  return [
    { name: "time", kind: "time", values: times },
    text("measurement", repeated(({ name }) => name)),
    text("field", repeated(({ field }) => field)),
    ...labelsOf(all).map(([label, name]) => text(name, repeated((series) => valueOf(series, label)))),
    columnOf("value", all.flatMap((series) => series.values.map((value, index) => (isWhole(series, index) ? BigInt(value!) : value))), all.every(({ kind }) => kind === "integer" || kind === "unsigned")),
  ];
}

/** Tables as columns: a row has those of its own table. */
export function tableColumnsOf(all: Table[]): FileColumn[] {
  const rows = all.flatMap((table) => table.rows.map((row) => {
    const { columns, kinds } = table;
    const cells = columns.map((column, at) => [column, typeof row[at] === "string" && WHOLE.has(kinds?.[at] ?? "") ? BigInt(row[at]) : row[at] ?? null] as const);
    return new Map<string, Value | bigint>([...ownOf(table), ...cells]);
  }));
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  // Those that are times in all tables that have them.
  const isTime = (name: string) => {
    const having = all.filter(({ columns }) => columns.includes(name));
    return having.length > 0 && having.every(({ columns, kinds }) => kinds?.[columns.indexOf(name)] === "time");
  };
  return names.map((name) => {
    const values = rows.map((row) => row.get(name) ?? null);
    return isTime(name) ? { name, kind: "time", values: values.map((value) => (value === null ? null : BigInt(value))) } : columnOf(name, values, true);
  });
}

/** What goes into one file: the series of all questions, or the tables of one statement. */
export interface Filed {
  title: string;
  /** The statement of SQL that it answers. */
  statement: string | null;
  series: Series[];
  tables: Table[];
}

/** Answers, each for a file of its own. */
export function filed(outcomes: Outcome[]): Filed[] {
  const series = outcomes.flatMap(({ answer }) => answer?.series ?? []);
  const tables = outcomes.flatMap(({ question, answer }): Filed[] => (
    answer?.statements
      ? answer.statements.flatMap((one) => (one.answer ? [{ title: one.text.trim(), statement: one.text, series: [], tables: one.answer.tables ?? [] }] : []))
      : [{ title: question.text, statement: null, series: [], tables: answer?.tables ?? [] }]
  ));
  return [...(series.length ? [{ title: "All series", statement: null, series, tables: [] }] : []), ...tables.filter((one) => one.tables.length)];
}
