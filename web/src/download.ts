// An answer as a file: a row for each sample, with a column for each label and the kind of its value, or the rows of its tables.

import type { Table } from "./api";
import type { Outcome } from "./asking";
import { cell } from "./cells";
import { columnOfLabel } from "./saved";
import { type Series, type Value, isExact as isWhole, labelsOf } from "./series";
import { mapped } from "./slices";

const line = (cells: (Value | undefined)[]) => `${cells.map((value) => cell(value)).join(",")}\n`;

/** A label's value; `toString` and the like are names as others are. */
const valueOf = ({ labels }: Series, label: string) => (Object.hasOwn(labels, label) ? labels[label]! : null);

/** Kinds of whole numbers: those that a browser would lose digits of are texts. */
const WHOLE = new Set(["integer", "unsigned"]);

const isExact = (all: Series[]) => all.some((series) => series.nanos);

/** The time of a sample to the nanosecond, as far as that is known. */
const nanosAt = ({ times, nanos }: Series, index: number): string => nanos?.[index] ?? String(BigInt(Math.round(times[index]!)) * 1_000_000n);

/** A number or another value in JSON, which has a zero without its sign where a browser writes it. */
const jsonText = (value: Value | undefined): string => (Object.is(value, -0) ? "-0" : JSON.stringify(value ?? null));

/** A value in JSON: a whole number that came as a text is one again, with all its digits. */
const valueText = (series: Series, index: number): string => (isWhole(series, index) ? String(series.values[index]) : jsonText(series.values[index]));

/** What a series is stored as, where that is told; elsewhere it is what it is called. */
const storedAs = ({ name, field, stored }: Series) => stored ?? { measurement: name, field };

/** The kind of a sample; none of a gap. */
function kindAt(series: Series, index: number): string {
  const kind = series.kinds?.[index] ?? series.kind;
  return series.values[index] === null && kind !== "histogram" ? "" : kind;
}

/** Series as CSV: the header, and the lines of each series. */
export async function csv(all: Series[]): Promise<string[]> {
  const labels = labelsOf(all);
  const isNanos = isExact(all);
  const header = line([isNanos ? "time_ns" : "time_ms", "name", "field", ...labels.map(columnOfLabel), "value", "kind"]);
  const pieces = await mapped(all, (series) => {
    const { measurement, field } = storedAs(series);
    const head = [measurement, field, ...labels.map((label) => valueOf(series, label))].map((value) => cell(value)).join(",");
    return series.times.map((time, index) => `${isNanos ? nanosAt(series, index) : time},${head},${cell(series.values[index])},${kindAt(series, index)}\n`).join("");
  });
  return [header, ...pieces];
}

/** What a table says of all its rows. */
const ownOf = ({ name, labels }: Table): [string, string][] => [...(name ? [["name", name] as [string, string]] : []), ...Object.entries(labels)];

/** The kind of a column in all tables that have it; what a table is called and its labels are texts. */
function kindIn(all: Table[], name: string): string {
  const kinds = new Set(all.flatMap((table) => {
    const at = table.columns.indexOf(name);
    if (at >= 0) return [table.kinds?.[at] ?? ""];
    return ownOf(table).some(([own]) => own === name) ? ["string"] : [];
  }));
  return kinds.size === 1 ? [...kinds][0]! : "";
}

/** Rows under one header. */
const rowsCsv = (names: string[], rows: (Value | undefined)[][]): string => [names, ...rows].map(line).join("");

/** Tables as CSV with one header: of several, a row has the columns of its own table, and what that is called. */
export function tablesCsv(all: Table[]): string {
  const [first] = all;
  if (first && all.length === 1) return rowsCsv(first.columns, first.rows);
  const rows = all.flatMap((table) => table.rows.map((row) => new Map<string, Value>([...ownOf(table), ...table.columns.map((column, at): [string, Value] => [column, row[at] ?? null])])));
  const names = namesOf(all);
  return rowsCsv(names, rows.map((row) => names.map((name) => row.get(name))));
}

/** The columns of several tables, and of what they are called. */
const namesOf = (all: Table[]): string[] => [...new Set(all.flatMap((table) => [...ownOf(table).map(([name]) => name), ...table.columns]))];

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
  const isNanos = isExact(all);
  return mapped(all, (series) => {
    const { measurement, field } = storedAs(series);
    const own = labels.flatMap((label) => (Object.hasOwn(series.labels, label) ? [[columnOfLabel(label), series.labels[label]]] : []));
    const head = JSON.stringify(Object.fromEntries([["name", measurement], ["field", field], ...own])).slice(1, -1);
    return series.times.map((time, index) => `{${isNanos ? `"time_ns":${JSON.stringify(nanosAt(series, index))}` : `"time_ms":${time}`},${head},"value":${valueText(series, index)},"kind":"${kindAt(series, index)}"}\n`).join("");
  });
}

/** A cell of a table in JSON. */
function cellText({ kinds }: Pick<Table, "kinds">, value: Value | undefined, at: number): string {
  const isNumber = typeof value === "string" && WHOLE.has(kinds?.[at] ?? "");
  return isNumber ? value : jsonText(value);
}

/** Tables as JSON, an array. */
export const tablesJson = (all: Table[]): string => `[${all.map((table) => {
  const { rows, ...others } = table;
  return `${JSON.stringify(others).slice(0, -1)},"rows":[${rows.map((row) => `[${row.map((value, at) => cellText(table, value, at)).join(",")}]`).join(",")}]}`;
}).join(",\n")}]\n`;

/** Tables as lines of JSON, an object for each row. */
export const tablesJsonLines = (all: Table[]): string => all.flatMap((table) => {
  const member = (name: string, text: string) => `${JSON.stringify(name)}:${text}`;
  const own = ownOf(table).map(([label, value]) => member(label, JSON.stringify(value)));
  return table.rows.map((row) => `{${[...own, ...table.columns.map((column, at) => member(column, cellText(table, row[at], at)))].join(",")}}\n`);
}).join("");

type FileValue = bigint | number | string | boolean | null;

/** A column of a file of columns. Times are in nanoseconds of UTC. */
export type FileColumn =
  | { name: string; kind: "time" | "float" | "integer" | "unsigned" | "boolean" | "text"; values: FileValue[] }
  /** Texts that stand together under one name. */
  | { name: string; kind: "group"; within: string[]; values: Record<string, string | null>[] };

/** Whether a column of 64 bits with a sign has room for it. */
const isInteger = (value: Value | bigint) => (typeof value === "bigint" ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value));

/** Whether a column of 64 bits without one has. */
const isCount = (value: Value | bigint) => (typeof value === "bigint" ? BigInt.asUintN(64, value) === value : Number.isSafeInteger(value) && Number(value) >= 0);

/** What JSON has no number for is a text there. */
const LOST: Record<string, number> = { NaN: Number.NaN, Infinity, "-Infinity": -Infinity };

/** A column of values of one kind; where they are of several it has texts, unless all are numbers. */
function columnOf(name: string, values: (Value | bigint)[], kind: string): FileColumn {
  const isUnsigned = kind === "unsigned";
  const areWhole = kind !== "float";
  const solid = values.filter((value) => value !== null);
  if (isUnsigned && solid.every(isCount)) return { name, kind: "unsigned", values: values.map((value) => (value === null ? null : BigInt(value))) };
  if (areWhole && solid.every(isInteger)) return { name, kind: "integer", values: values.map((value) => (value === null ? null : BigInt(value))) };
  if (solid.length && solid.every((value) => typeof value === "boolean")) return { name, kind: "boolean", values };
  const numbers = values.map((value) => (typeof value === "string" ? LOST[value] ?? value : value));
  if (numbers.every((value) => value === null || typeof value === "number")) return { name, kind: "float", values: numbers };
  return { name, kind: "text", values: values.map((value) => (value === null ? null : String(value))) };
}

/** The columns that values of a kind stand in, as `foliot export` has them. */
const VALUES: [column: string, kind: "float" | "integer" | "unsigned" | "boolean" | "text", of: string][] = [
  ["value_float", "float", "float"], ["value_integer", "integer", "integer"], ["value_unsigned", "unsigned", "unsigned"], ["value_boolean", "boolean", "boolean"], ["value_text", "text", "string"],
];

/** A value as the column of its kind holds it. */
function fileValue(value: Value, kind: string): FileValue {
  if (kind === "integer" || kind === "unsigned") return BigInt(value as number | string);
  return kind === "float" && typeof value === "string" ? LOST[value] ?? null : value;
}

/** Series as columns, as `foliot export` has them: of the columns of values those that are needed. */
export function columnsOf(all: Series[]): FileColumn[] {
  const repeated = <T>(of: (series: Series) => T) => all.flatMap((series) => new Array<T>(series.times.length).fill(of(series)));
  const times = all.flatMap((series) => series.times.map((_, index) => BigInt(nanosAt(series, index))));
  const text = (name: string, of: (series: Series) => string): FileColumn => ({ name, kind: "text", values: repeated(of) });
  const labels = labelsOf(all);
  const group: FileColumn = { name: "labels", kind: "group", within: labels, values: repeated((series) => Object.fromEntries(labels.map((label) => [label, valueOf(series, label)]))) };
  const kinds = all.flatMap((series) => series.values.map((_, index) => kindAt(series, index)));
  const values = all.flatMap((series) => series.values);
  const told = VALUES.filter(([, , kind]) => kinds.includes(kind));
  return [
    { name: "time", kind: "time", values: times }, text("measurement", (series) => storedAs(series).measurement), text("field", (series) => storedAs(series).field || "value"),
    ...(labels.length ? [group] : []),
    ...(told.length ? told : VALUES.slice(0, 1)).map(([name, kind, of]): FileColumn => ({ name, kind, values: values.map((value, index) => (kinds[index] === of ? fileValue(value, of) : null)) })),
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
    return isTime(name) ? { name, kind: "time", values: values.map((value) => (value === null ? null : BigInt(value))) } : columnOf(name, values, kindIn(all, name));
  });
}

/** What goes into one file: the series of all questions, or the tables of one statement. */
export interface Filed {
  title: string;
  /** The statement of SQL that it answers. */
  statement: string | null;
  /** Whether it has more rows than came. */
  isCut: boolean;
  series: Series[];
  tables: Table[];
}

/** Answers, each for a file of its own. */
export function filed(outcomes: Outcome[]): Filed[] {
  const series = outcomes.flatMap(({ answer }) => answer?.series ?? []);
  const tables = outcomes.flatMap(({ question, answer }): Filed[] => (
    answer?.statements
      ? answer.statements.flatMap((one) => (one.answer ? [{ title: one.text.trim(), statement: one.text, isCut: Boolean(one.answer.rows_left_out), series: [], tables: one.answer.tables ?? [] }] : []))
      : [{ title: question.text, statement: null, isCut: false, series: [], tables: answer?.tables ?? [] }]
  ));
  return [...(series.length ? [{ title: "All series", statement: null, isCut: false, series, tables: [] }] : []), ...tables.filter((one) => one.tables.length)];
}
