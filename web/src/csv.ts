// Files of commas, and of other marks: which column is what, and what each row is as an Influx line.

import { type Zone, belowMillis, dateMs } from "./time";

/** What a column holds that has a kind: labels are texts that are said to be labels. */
export type Kind = "time" | "value" | "integer" | "unsigned" | "text" | "label";

/** A table that was made of a file of other rows, and the kinds of its columns. */
export interface Typed {
  /** CSV. */
  file: File;
  kinds: Kind[];
  /** The column of times, if the kinds tell which. */
  time: number;
  /** Columns that are left out: lists, and what is no plain value. */
  left: string[];
}

/** A value is a number with decimals, or true or false; whole numbers and texts are values of other kinds. A measurement names that of its row, and a field what its values are called. */
export type Role = "time" | "measurement" | "field" | "value" | "integer" | "unsigned" | "text" | "label" | "none";

export const isValue = (role: Role) => role === "value" || role === "integer" || role === "unsigned" || role === "text";

export interface Column {
  name: string;
  role: Role;
}

export interface Sheet {
  columns: Column[];
  /** The line of the header: the second one where the first says what divides cells. */
  header: number;
  /** Unit of numbers in the column of times. */
  precision: "s" | "ms" | "us" | "ns" | "date";
  separator: string;
  /** What stands before the decimals of numbers. */
  decimal: "." | ",";
  /** Of dates with slashes and the year last: what stands first. */
  slashed: Slashed;
  /** The zone of dates that name none. */
  zone: Zone;
}

export type Slashed = "day" | "month";

/** The cells of a row. */
export const cells = (row: string, separator: string): string[] => divided(row, separator).found;

/** The cells of a row, and whether the last one is in quotes that are not closed. */
function divided(line: string, separator: string): { found: string[]; isOpen: boolean } {
  const found: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at]!;
    if (isQuoted) {
      if (letter === '"' && line[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else if (letter === '"') {
        isQuoted = false;
      } else {
        cell += letter;
      }
    } else if (letter === '"' && cell === "") {
      isQuoted = true;
    } else if (letter === separator) {
      found.push(cell);
      cell = "";
    } else {
      cell += letter;
    }
  }
  found.push(cell.replace(/\r$/, ""));
  return { found, isOpen: isQuoted };
}

/** Lines that one row may have. */
const ROW_LINES_MAX = 1000;

/**
 * The rows of a text, each where its first line stands: a line break in quotes does not end one, and lines that go on with a row are null. `rest` is what
 * stands behind the last whole row. `firstLine` is the number of the first line.
 */
export function rowsOf(text: string, separator: string, firstLine: number): { rows: (string | null)[]; rest: string } {
  const lines = text.split("\n");
  const rows: (string | null)[] = [];
  for (let at = 0; at < lines.length;) {
    let [row, end] = [lines[at]!, at + 1];
    // Most rows have no quote at all.
    while (row.includes('"') && divided(row, separator).isOpen) {
      if (end === lines.length) return { rows, rest: row };
      if (end - at === ROW_LINES_MAX) throw unclosed(firstLine + at);
      row += `\n${lines[end]}`;
      end += 1;
    }
    rows.push(row, ...new Array<null>(end - at - 1).fill(null));
    at = end;
  }
  return { rows, rest: "" };
}

export const unclosed = (line: number) => new Error(`Line ${line} opens a quote that nothing closes: a cell that holds a quote is written in quotes, and its own quotes twice.`);

/** A number with a comma before its decimals, and points, if any, between its thousands. */
const COMMA = /^\s*[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?(e[-+]?\d+)?\s*$/i;

/** A number with a point before its decimals, and commas between its thousands. */
const GROUPED = /^\s*[-+]?\d{1,3}(,\d{3})+(\.\d+)?\s*$/;

/** A number as programs write it. */
function pointed(text: string, decimal: Sheet["decimal"]): string {
  if (decimal === ",") return COMMA.test(text) ? text.replaceAll(".", "").replace(",", ".") : text;
  return GROUPED.test(text) ? text.replaceAll(",", "") : text;
}

const isNumber = (text: string) => text.trim() !== "" && Number.isFinite(Number(text));

/** Dates of RFC 2822; `Date.parse` makes one of "web-1", too. */
const MAIL = /^(?:[a-z]{3}, )?\d{1,2} [a-z]{3} \d{4} \d{2}:\d{2}/i;

/** A date with slashes and the year last. */
const SLASHED = /^\s*(\d{1,2})\/(\d{1,2})\/(\d{4})(?!\d)/;

/** What stands first in such dates: a number above 12 is no month. Where all of them could be both, it is the day, as in most of the world. */
const slashedOf = (cells: string[]): Slashed => (cells.some((cell) => Number(SLASHED.exec(cell)?.[2] ?? 0) > 12) ? "month" : "day");

/** A date as programs write it, with the year first. With points the day stands first, and the year last. */
const yearFirst = (cell: string, slashed: Slashed) =>
  cell.trim().replace(/^(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)/, "$3-$2-$1").replace(SLASHED, slashed === "day" ? "$3-$2-$1" : "$3-$1-$2");

/** The instant of a date; one that names no zone is of the browser's, as what the page shows of it, or of the one that was chosen. */
export function cellMs(cell: string, slashed: Slashed = "day", zone: Zone = "local"): number | null {
  const text = yearFirst(cell, slashed);
  const ms = dateMs(text, zone) ?? (MAIL.test(text) ? Date.parse(text) : Number.NaN);
  return Number.isNaN(ms) ? null : ms;
}

const isDate = (cell: string) => cellMs(cell) !== null || cellMs(cell, "month") !== null;

const isTruth = (text: string) => /^\s*(true|false)\s*$/i.test(text);

/** What spreadsheets write into a first line, to say what divides cells. */
const SAID = /^"?sep=([^"\r])"?\r?$/i;

const TIMES = /^(time|timestamp|ts|date|datetime|when|at|time_?(ms|ns|us|s)|_time)$/i;

const MEASUREMENTS = /^(_?measurement|metric|metric_?name|__name__)$/i;

/** What a column of texts is, by its name among others: an answer that was saved here says measurement and field of each value. */
function textRole(name: string, names: string[]): Role {
  const measurement = names.find((other) => other === "measurement" || other === "name");
  const isAnswer = measurement && names.includes("field") && names.some((other) => /^value(_|$)/.test(other));
  if (isAnswer) return name === "field" ? "field" : name === measurement ? "measurement" : "label";
  return name === names.find((other) => MEASUREMENTS.test(other)) ? "measurement" : "label";
}

/** Whether so many of the cells of a column are of a kind that the column is: bad ones are named with their lines later. */
const areMost = (count: number, all: number) => count > all / 2;

/** Which column is what, guessed from the header and the first rows. */
export function sheetOf(lines: string[], wanted?: Sheet["decimal"]): Sheet | null {
  const said = SAID.exec(lines[0] ?? "")?.[1];
  const header = said === undefined ? 0 : 1;
  const first = lines[header];
  if (!first) return null;
  const separator = said ?? [",", ";", "\t", "|"].map((mark) => [mark, cells(first, mark).length] as const).sort((a, b) => b[1] - a[1])[0]![0];
  const names = cells(first, separator).map((name) => name.trim());
  const rows = lines.slice(header + 1).filter(Boolean).map((line) => cells(line, separator));
  if (names.length < 2 || !rows.length || names.every(isNumber)) return null;
  const stands = (at: number) => rows.map((row) => row[at] ?? "").filter((cell) => cell !== "");
  const hasCommas = (at: number) => stands(at).some((cell) => cell.includes(",")) && areMost(stands(at).filter((cell) => COMMA.test(cell)).length, stands(at).length);
  // Where commas divide cells, those within cells may all stand between thousands.
  const isGrouped = (at: number) => separator === "," && stands(at).every((cell) => !cell.includes(",") || GROUPED.test(cell));
  const decimal = wanted ?? (names.some((_, at) => hasCommas(at) && !isGrouped(at)) ? "," : ".");
  const column = (at: number) => stands(at).map((cell) => pointed(cell, decimal));
  const areMostly = (at: number, is: (cell: string) => boolean) => {
    const all = column(at);
    return areMost(all.filter(is).length, all.length);
  };
  const isTime = (at: number) => areMostly(at, (cell) => (isNumber(cell) ? Number(cell) > 1e8 : isDate(cell)));
  const named = names.findIndex((name, at) => TIMES.test(name) && isTime(at));
  const time = named >= 0 ? named : names.findIndex((_, at) => isTime(at));
  const columns = names.map((name, at): Column => {
    if (at === time) return { name, role: "time" };
    if (!name) return { name, role: "none" };
    if (areMostly(at, isNumber) || areMostly(at, isTruth)) return { name, role: "value" };
    return { name, role: textRole(name, names) };
  });
  return { columns, header: header + 1, separator, decimal, slashed: time < 0 ? "day" : slashedOf(stands(time)), zone: "local", precision: time < 0 ? "ns" : precisionOf(column(time).find((cell) => isNumber(cell) || isDate(cell)) ?? "") };
}

/** The same with what the columns are by their kinds, where a file tells these. */
export function typedBy(sheet: Sheet, { kinds, time }: Pick<Typed, "kinds" | "time">, lines: string[]): Sheet {
  const at = time >= 0 ? time : sheet.columns.findIndex(({ role }) => role === "time");
  const names = sheet.columns.map(({ name }) => name).filter((_, index) => kinds[index] !== "label");
  // Where labels are said to be labels, other texts are none.
  const other = kinds.includes("label") ? "text" : "label";
  const roleOf = (name: string, kind: Kind | undefined): Role => {
    if (kind === "text") return textRole(name, names) === "label" ? other : textRole(name, names);
    return kind === "time" || !kind ? "none" : kind;
  };
  const columns = sheet.columns.map(({ name }, index): Column => ({ name, role: index === at ? "time" : roleOf(name, kinds[index]) }));
  const typed = { ...sheet, columns, decimal: "." as const };
  return time >= 0 ? { ...timedBy(typed, time, lines), precision: "ns" } : typed;
}

/** The same with another column as the time, whose cells tell in which unit. */
export function timedBy(sheet: Sheet, at: number, lines: string[]): Sheet {
  const stands = lines.slice(sheet.header).filter(Boolean).map((line) => (cells(line, sheet.separator)[at] ?? "").trim());
  const known = stands.find((cell) => isDate(cell) || isNumber(cell));
  const columns = sheet.columns.map((column, index): Column => (index === at ? { ...column, role: "time" } : column.role === "time" ? { ...column, role: "none" } : column));
  return { ...sheet, columns, slashed: slashedOf(stands), precision: known === undefined ? sheet.precision : precisionOf(isDate(known) ? "" : known) };
}

/** The same with another mark before decimals, by which other columns may be numbers; what was chosen by hand stays. */
export function markedBy(sheet: Sheet, decimal: Sheet["decimal"], lines: string[]): Sheet {
  const [before, after] = [sheetOf(lines, sheet.decimal), sheetOf(lines, decimal)];
  const columns = sheet.columns.map((column, at) => (column.role === before?.columns[at]?.role ? after?.columns[at] ?? column : column));
  const isTwice = columns.filter(({ role }) => role === "time").length > 1;
  return { ...sheet, decimal, columns: isTwice ? sheet.columns : columns, precision: sheet.precision === before?.precision ? after?.precision ?? sheet.precision : sheet.precision };
}

/** The unit of a time, by its size: none of these units comes near another for a hundred years. */
export function precisionOf(text: string): Sheet["precision"] {
  if (!isNumber(text)) return "date";
  const size = Math.abs(Number(text));
  return size < 1e11 ? "s" : size < 1e14 ? "ms" : size < 1e17 ? "us" : "ns";
}

/** As lines of Influx have it: only what would divide them has a backslash, and other backslashes are themselves. */
const escaped = (text: string) => text.replace(/\s/g, " ").replace(/[,= ]/g, "\\$&");

const NANOS = { s: 9, ms: 6, us: 3, ns: 0 } as const;

/** A time in nanoseconds, as text: numbers have not so many digits. What is no time stays as it is. */
function nanos(cell: string, { precision, slashed, zone, decimal }: Sheet): string {
  const text = precision === "date" ? cell : pointed(cell, decimal);
  if (precision === "date") {
    const at = cellMs(text, slashed, zone);
    return at === null ? text : String(BigInt(Math.round(at)) * 1_000_000n + BigInt(belowMillis(yearFirst(text, slashed))));
  }
  const number = /^(-?\d+)(?:\.(\d*))?$/.exec(text.trim());
  if (!number) return text;
  const [, whole, part = ""] = number;
  const places = NANOS[precision];
  return `${whole}${part.padEnd(places, "0").slice(0, places)}`;
}

const whole = (cell: string, decimal: Sheet["decimal"]) => escaped(pointed(cell, decimal).replace(/^\+/, ""));

const kindOf: Record<"value" | "integer" | "unsigned" | "text", (cell: string, decimal: Sheet["decimal"]) => string> = {
  value: (cell, decimal) => escaped(pointed(cell, decimal)),
  integer: (cell, decimal) => `${whole(cell, decimal)}i`,
  unsigned: (cell, decimal) => `${whole(cell, decimal)}u`,
  text: (cell) => `"${cell.replace(/\s/g, " ").replace(/[\\"]/g, "\\$&")}"`,
};

/** What a row is: an Influx line, nothing where it has no value, or what is wrong with it that the line would not show. */
export interface Made {
  line: string;
  wrong: { field: string; message: string } | null;
}

/** A row as an Influx line. What is wrong with a value stays, so that the server says so by its line. */
export function madeOf(row: string, sheet: Sheet, measurement: string): Made {
  const wrong = (field: string, message: string): Made => ({ line: "", wrong: { field, message } });
  if (!row.trim()) return { line: "", wrong: null };
  const found = cells(row, sheet.separator);
  if (found.slice(sheet.columns.length).some((cell) => cell.trim())) return wrong("row", `has ${found.length} cells, and the header ${sheet.columns.length}; a cell that holds “${sheet.separator}” is written in quotes`);
  let named = measurement;
  let labels = "";
  const fields: string[] = [];
  const called = (found[sheet.columns.findIndex(({ role }) => role === "field")] ?? "").trim();
  let time = "";
  let timed = "";
  sheet.columns.forEach(({ name, role }, at) => {
    const cell = (found[at] ?? "").trim();
    if (role === "time") timed = name;
    if (cell === "") return;
    // What is no time stays one word, so that the server says that it is none.
    if (role === "time") time = ` ${escaped(nanos(cell, sheet))}`;
    else if (role === "measurement") named = cell;
    else if (role === "label") labels += `,${escaped(name)}=${escaped(cell)}`;
    else if (role !== "none" && role !== "field") fields.push(`${escaped(called || name)}=${kindOf[role](cell, sheet.decimal)}`);
  });
  // Who chose a column of times does not mean now.
  if (timed && !time) return wrong(timed, "has no time");
  if (fields.length) return { line: `${escaped(named)}${labels} ${fields.join(",")}${time}`, wrong: null };
  // A row without any value is no point; the server would ask for one.
  return time && !/^ -?\d+$/.test(time) ? wrong(timed, "bad timestamp") : { line: "", wrong: null };
}

/** The line of a row that nothing is wrong with. */
export const lineOf = (row: string, sheet: Sheet, measurement: string): string => madeOf(row, sheet, measurement).line;
