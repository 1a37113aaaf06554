// Files of commas, and of other marks: their rows, and which column is what.

import { labelOfColumn, saidBy, unguarded } from "./saved";
import { type Zone, dateMs } from "./time";
import { type Kind, type Typed, cellText, unreadLine } from "./typed";

/** A value is a number with decimals, or true or false; whole numbers and texts are values of other kinds. A measurement names that of its row, a field what its values are called, and a kind of which kind they are. */
export type Role = "time" | "measurement" | "field" | "kind" | "value" | "integer" | "unsigned" | "text" | "label" | "none";

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
  /** Whether it was made of a file of other rows. */
  isMade: boolean;
  /** Whether the kinds are told, and texts are what they are, blanks at their ends and all. */
  isExact: boolean;
}

export type Slashed = "day" | "month";

/** The cells of a row. */
export const cells = (row: string, separator: string): string[] => divided(row, separator).found;

/** What a cell says. */
export function cellOf(cell: string, { isMade, isExact }: Pick<Sheet, "isMade" | "isExact">): string {
  const text = isMade ? cellText(cell) : isExact ? unguarded(cell) : cell;
  return isExact ? text : text.trim();
}

/** The cells of a row, and whether the last one is in quotes that are not closed. */
function divided(line: string, separator: string): { found: string[]; isOpen: boolean } {
  const found: string[] = [];
  let cell = "";
  let isQuoted = false;
  let wasQuoted = false;
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
      wasQuoted = true;
    } else if (letter === separator) {
      found.push(cell);
      cell = "";
      wasQuoted = false;
    } else {
      cell += letter;
    }
  }
  // A carriage return in quotes is the cell's own; behind them it ends the line.
  found.push(cell.endsWith("\r") && !(wasQuoted && line.endsWith('"')) ? cell.slice(0, -1) : cell);
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
export function pointed(text: string, decimal: Sheet["decimal"]): string {
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
export const yearFirst = (cell: string, slashed: Slashed) =>
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

/** What a column of numbers is: floats, unless it has whole numbers that a float would change. */
function numberRole(stands: string[]): Role {
  const areWhole = stands.every((cell) => /^\s*-?\d{1,20}\s*$/.test(cell));
  if (!areWhole || stands.every((cell) => Number.isSafeInteger(Number(cell)))) return "value";
  return stands.some((cell) => BigInt(cell.trim()) > INTEGER_MAX) ? "unsigned" : "integer";
}

/** The largest whole number of 64 bits with a sign. */
const INTEGER_MAX = 2n ** 63n - 1n;

/** Letters from which on a text is no name of something that comes again. */
const LONG_TEXT = 33;

/** Whether texts are what somebody wrote, and not names that come again: a label would make a series of each. */
function areProse(stands: string[]): boolean {
  const isOwn = areMost(new Set(stands).size, stands.length);
  return isOwn && stands.length > 3 && areMost(stands.filter((cell) => /\S\s+\S/.test(cell) || cell.length >= LONG_TEXT).length, stands.length);
}

/** Whether so many of the cells of a column are of a kind that the column is: bad ones are named with their lines later. */
const areMost = (count: number, all: number) => count > all / 2;

/** The columns of an answer that was saved here, as it says itself; nothing where it is another file. */
function savedColumns(header: string[], rows: string[][], isMade: boolean): { columns: Column[]; precision: Sheet["precision"] } | null {
  const textOf = (cell: string) => cellOf(cell, { isMade, isExact: true });
  const names = header.map(textOf);
  const said = saidBy(names, rows.map((row) => row.map(textOf)));
  if (!said) return null;
  const own = new Map<string, Role>([["name", "measurement"], ["measurement", "measurement"], ["field", "field"], ["value", "value"], ["kind", "kind"]]);
  const columns = names.map((name, at): Column => (at === said.time ? { name, role: "time" } : { name: labelOfColumn(name), role: own.get(name) ?? "label" }));
  return { columns, precision: said.unit };
}

/** Which column is what: as the file says, or else guessed from the header and the first rows. */
export function sheetOf(lines: string[], wanted?: Sheet["decimal"], isMade = false): Sheet | null {
  const said = SAID.exec(lines[0] ?? "")?.[1];
  const begin = said === undefined ? 0 : 1;
  const first = lines[begin];
  if (!first) return null;
  const separator = said ?? [",", ";", "\t", "|"].map((mark) => [mark, cells(first, mark).length] as const).sort((a, b) => b[1] - a[1])[0]![0];
  const [head, ...below] = rowsOf(lines.slice(begin).join("\n"), separator, begin + 1).rows;
  if (!head) return null;
  // A name may have several lines, too.
  const after = below.findIndex((row) => row !== null);
  const header = begin + 1 + (after < 0 ? below.length : after);
  const names = cells(head, separator).map((name) => cellOf(name, { isMade, isExact: false }));
  const rows = below.filter((row): row is string => Boolean(row) && unreadLine(row!) === null).map((row) => cells(row, separator));
  if (names.length < 2 || !rows.length || names.every(isNumber)) return null;
  const saved = separator === "," ? savedColumns(cells(head, separator), rows, isMade) : null;
  if (saved) return { ...saved, header, separator, decimal: ".", slashed: "day", zone: "local", isMade, isExact: true };
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
    if (areMostly(at, isNumber) || areMostly(at, isTruth)) return { name, role: numberRole(column(at)) };
    const role = textRole(name, names);
    return { name, role: role === "label" && areProse(stands(at)) ? "text" : role };
  });
  return { columns, header, separator, decimal, slashed: time < 0 ? "day" : slashedOf(stands(time)), zone: time >= 0 && areMost(stands(time).filter(isMachines).length, stands(time).length) ? "utc" : "local", isMade, isExact: false, precision: time < 0 ? "ns" : precisionOf(column(time).find((cell) => isNumber(cell) || isDate(cell)) ?? "") };
}

/** The same with what the columns are by their kinds, where a file tells these. */
export function typedBy(sheet: Sheet, { kinds, time, isExact }: Pick<Typed, "kinds" | "time" | "isExact">, lines: string[]): Sheet {
  // What was saved here has said so itself.
  if (sheet.isExact) return sheet;
  const at = time >= 0 ? time : sheet.columns.findIndex(({ role }) => role === "time");
  const names = sheet.columns.map(({ name }) => name).filter((_, index) => kinds[index] !== "label");
  // Where labels are said to be labels, other texts are none.
  const other = isExact || kinds.includes("label") ? "text" : "label";
  const roleOf = (name: string, kind: Kind | undefined): Role => {
    if (kind === "text") return textRole(name, names) === "label" ? other : textRole(name, names);
    return kind === "time" || !kind ? "none" : kind;
  };
  // Blanks at the ends of names are theirs.
  const exact = isExact ? cells(lines[0] ?? "", sheet.separator).map(cellText) : [];
  const columns = sheet.columns.map(({ name }, index): Column => ({ name: exact[index] ?? name, role: index === at ? "time" : roleOf(name, kinds[index]) }));
  const typed = { ...sheet, columns, decimal: "." as const, isExact };
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

/** Whether a date is one that a program wrote, finer than milliseconds and without a zone: that of Foliot's SQL, InfluxDB 3, Arrow and the like is UTC. */
const isMachines = (cell: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{4,9}$/.test(cell.trim());

/** The unit of a time, by its size: none of these units comes near another for a hundred years. */
export function precisionOf(text: string): Sheet["precision"] {
  if (!isNumber(text)) return "date";
  const size = Math.abs(Number(text));
  return size < 1e11 ? "s" : size < 1e14 ? "ms" : size < 1e17 ? "us" : "ns";
}
