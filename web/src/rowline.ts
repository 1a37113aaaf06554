// What a row of a table is as a line that is brought in: an Influx line, or where kinds are told one of Foliot's own, which hold
// any name and number.

import { type Sheet, cellMs, cellOf, cells, pointed, yearFirst } from "./csv";
import { KINDS } from "./saved";
import { belowMillis } from "./time";
import { unreadLine } from "./typed";

/** As lines of Influx have it: only what would divide them has a backslash, and other backslashes are themselves. */
const escaped = (text: string) => text.replace(/\s/g, " ").replace(/[,= ]/g, "\\$&");

/** What letters behind a backslash stand for in lines of Foliot's own (docs/api.md). */
const LETTERS: Record<string, string> = { "\\": "b", ",": "c", "=": "e", "#": "h", "\n": "n", '"': "q", "\r": "r", " ": "s", "\t": "t", "\0": "z" };

const lettered = (text: string) => text.replace(/[\\,=#\n"\r \t\0]/g, (letter) => `\\${LETTERS[letter]}`);

/** A text between quotes, within which blanks and commas divide nothing. */
const quoted = (text: string) => `"${text.replace(/[\\\n"\r\0]/g, (letter) => `\\${LETTERS[letter]}`)}"`;

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

const VALUE_OF: Record<"value" | "integer" | "unsigned" | "text", (cell: string, sheet: Sheet) => string> = {
  value: (cell, { decimal }) => escaped(pointed(cell, decimal)),
  integer: (cell, { decimal }) => `${whole(cell, decimal)}i`,
  unsigned: (cell, { decimal }) => `${whole(cell, decimal)}u`,
  text: (cell, { isExact }) => (isExact ? quoted(cell) : `"${cell.replace(/\s/g, " ").replace(/[\\"]/g, "\\$&")}"`),
};

const NUMBER = /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

/** What values of a kind look like, and how a line has them. */
const OF_KIND = new Map<string, [shape: RegExp, write: (cell: string) => string]>([
  ["float", [new RegExp(`${NUMBER.source}|^(NaN|-?Infinity)$`, "i"), (cell) => cell]],
  ["integer", [/^-?\d+$/, (cell) => `${cell}i`]],
  ["unsigned", [/^\d+$/, (cell) => `${cell}u`]],
  ["boolean", [/^(true|false)$/i, (cell) => cell]],
  ["string", [/^/, quoted]],
]);

/** What a row is: a line, nothing where it has no value, or what is wrong with it that the line would not show. */
export interface Made {
  line: string;
  wrong: { field: string; message: string; text?: string } | null;
}

/** A value of the kind that its row says. */
function kept(cell: string, kind: string): { value: string } | { message: string } {
  if (kind === "histogram") return { message: "is a histogram, which files of answers do not hold" };
  const known = OF_KIND.get(kind);
  if (!known) return { message: kind ? `is said to be “${kind}”, which is none of ${[...KINDS].join(", ")}` : "has no kind, and the others have" };
  const [shape, write] = known;
  return shape.test(cell) ? { value: write(cell) } : { message: `is no value of the kind “${kind}”, as its row says` };
}

/** A row as a line. What is wrong with a value stays, so that the server says so by its line. */
export function madeOf(row: string, sheet: Sheet, measurement: string): Made {
  const wrong = (field: string, message: string, text?: string): Made => ({ line: "", wrong: { field, message, ...(text === undefined ? {} : { text }) } });
  if (!row.trim()) return { line: "", wrong: null };
  const unread = sheet.isMade ? unreadLine(row) : null;
  if (unread !== null) return wrong("line", "is no object of JSON with plain values", unread);
  const found = cells(row, sheet.separator);
  if (found.slice(sheet.columns.length).some((cell) => cell.trim())) return wrong("row", `has ${found.length} cells, and the header ${sheet.columns.length}; a cell that holds “${sheet.separator}” is written in quotes`);
  const name = sheet.isExact ? lettered : escaped;
  const cellAt = (at: number) => cellOf(found[at] ?? "", sheet);
  const [fieldAt, kindAt] = (["field", "kind"] as const).map((role) => sheet.columns.findIndex((column) => column.role === role)) as [number, number];
  const called = cellAt(fieldAt);
  const kind = cellAt(kindAt);
  let named = measurement;
  let labels = "";
  const fields: string[] = [];
  let time = "";
  let timed = "";
  for (const [at, { name: column, role }] of sheet.columns.entries()) {
    if (role === "time") timed = column;
    const cell = cellAt(at);
    const isThere = sheet.isMade ? found[at] !== "" && found[at] !== undefined : cell !== "";
    // An empty text is a value where its kind says so.
    if (!isThere && !(role === "value" && (kind === "string" || kind === "histogram"))) continue;
    // What is no time stays one word, so that the server says that it is none.
    if (role === "time") time = ` ${escaped(nanos(cell, sheet))}`;
    else if (role === "measurement") named = cell || named;
    else if (role === "label") labels += cell && `,${name(column)}=${name(cell)}`;
    else if (role === "value" && kindAt >= 0) {
      const value = kept(cell, kind);
      if ("message" in value) return wrong(called || column, value.message);
      fields.push(`${name(called || column)}=${value.value}`);
    } else if (role !== "none" && role !== "field" && role !== "kind") fields.push(`${name(called || column)}=${VALUE_OF[role](cell, sheet)}`);
  }
  // Who chose a column of times does not mean now.
  if (timed && !time) return wrong(timed, "has no time");
  if (fields.length) return { line: `${name(named)}${labels} ${fields.join(",")}${time}`, wrong: null };
  // A row without any value is no point; the server would ask for one.
  return time && !/^ -?\d+$/.test(time) ? wrong(timed, "bad timestamp") : { line: "", wrong: null };
}

/** The line of a row that nothing is wrong with. */
export const lineOf = (row: string, sheet: Sheet, measurement: string): string => madeOf(row, sheet, measurement).line;
