// What the page knows of SQL: which words are which, what a text names, and how a form is said in it.
// The language itself is the server's; nothing here decides what is right.

import type { Word, WordClass } from "./influxql";
import type { Halves } from "./metric";
import { type Filter, type Form, TO_FILL_IN, comparedOf } from "./question";

const KEYWORDS = new Set([
  "select", "distinct", "from", "where", "group", "by", "having", "order", "limit", "offset", "as", "and", "or", "not", "in", "is", "null", "like", "ilike", "between",
  "case", "when", "then", "else", "end", "asc", "desc", "nulls", "first", "last", "interval", "timestamp", "cast", "true", "false", "show", "tables", "columns", "explain", "analyze", "with",
]);

const SHAPES: [WordClass, RegExp][] = [
  ["blank", /^\s+/],
  ["comment", /^(?:--.*|\/\*[\s\S]*?(?:\*\/|$))/],
  // A quote within quotes is written twice; a backslash is a letter.
  ["string", /^'(?:''|[^'])*'?/],
  ["name", /^"(?:""|[^"])*"?/],
  ["bound", /^\$\w+/],
  ["number", /^(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/i],
];

/** The next word of a text that is not empty. */
export function nextSqlWord(text: string): Word {
  for (const [found, shape] of SHAPES) {
    const match = shape.exec(text);
    if (match) return { class: found, text: match[0] };
  }
  const name = /^[\p{L}_][\p{L}\d_]*/u.exec(text)?.[0];
  if (!name) return { class: "mark", text: /^(?:::|<>|[<>!]=|!~\*?|~\*)/.exec(text)?.[0] ?? text.slice(0, 1) };
  const low = name.toLowerCase();
  if (!KEYWORDS.has(low) && /^\s*\(/.test(text.slice(name.length))) return { class: "function", text: name };
  return { class: KEYWORDS.has(low) ? "keyword" : "name", text: name };
}

/** A word and where it begins. */
export interface Placed extends Word {
  at: number;
}

export function sqlWords(text: string): Placed[] {
  const found: Placed[] = [];
  for (let at = 0; at < text.length;) {
    const word = nextSqlWord(text.slice(at));
    found.push({ ...word, at });
    at += word.text.length;
  }
  return found;
}

/** Whether a word is more than blanks and what somebody remarks. */
export const isSolid = ({ class: is }: Word) => is !== "blank" && is !== "comment";

/** A name without its quotes. */
export const bareSql = (text: string) => (text.startsWith('"') ? text.replace(/^"|"$/g, "").replace(/""/g, '"') : text);

/** A name as a text may say it: without quotes it is taken as it is written. */
export const quotedSql = (name: string) => (/^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name.toLowerCase()) ? name : `"${name.replace(/"/g, '""')}"`);

export const quotedSqlValue = (value: string) => `'${value.replace(/'/g, "''")}'`;

/** The statements of a text, each without what ends it, and with blanks for what stands before it: so places in it stay what they are. */
export function statementsOf(text: string): string[] {
  const ends = [...sqlWords(text).filter((word) => word.text === ";").map(({ at }) => at), text.length];
  const statements = ends.map((end, index) => {
    const from = index ? ends[index - 1]! + 1 : 0;
    return { before: text.slice(0, from), said: text.slice(from, end) };
  });
  return statements.filter(({ said }) => sqlWords(said).some(isSolid)).map(({ before, said }) => before.replace(/[^\n]/gu, " ") + said);
}

/** Statements that are given a name by WITH: their words, by it. */
export function namedStatements(words: Placed[]): Map<string, Placed[]> {
  const solid = words.filter(isSolid);
  const found = new Map<string, Placed[]>();
  solid.forEach(({ class: is, text }, at) => {
    const before = solid[at - 1]?.text.toLowerCase() ?? "";
    if (is !== "name" || !["with", ","].includes(before) || solid[at + 1]?.text.toLowerCase() !== "as" || solid[at + 2]?.text !== "(") return;
    let depth = 1;
    const from = at + 3;
    const to = solid.findIndex((word, end) => end >= from && (depth += Number(word.text === "(") - Number(word.text === ")")) === 0);
    found.set(bareSql(text), solid.slice(from, to < 0 ? undefined : to));
  });
  return found;
}

/** The tables that words name behind FROM. */
export function tablesAmong(words: Placed[]): string[] {
  const solid = words.filter(isSolid);
  const named = namedStatements(words);
  return solid.flatMap((word, index) => {
    const next = solid[index + 1];
    return word.text.toLowerCase() === "from" && next?.class === "name" && !named.has(bareSql(next.text)) ? [bareSql(next.text)] : [];
  });
}

/** The tables that a text reads, without those of the catalogue itself. */
export const tablesIn = (text: string): string[] => [...new Set(tablesAmong(sqlWords(text)))].filter((name) => name.toLowerCase() !== "information_schema");

const WINDOWS = new Set(["date_bin", "time_bucket", "date_trunc"]);

/** Whether a statement asks for lines over time: it has windows or groups, or is bound to the range of the page. Else its rows are what is wanted. */
export const asksLines = (text: string): boolean => sqlWords(text).some(({ class: is, text: word }) => {
  const low = word.toLowerCase();
  return is === "bound" || (is === "function" && WINDOWS.has(low)) || (is === "keyword" && low === "group");
});

const UNITS: Record<string, string> = { ms: "millisecond", s: "second", m: "minute", h: "hour", d: "day", w: "week" };

/** A window as SQL says it: "5m" as an interval of minutes. */
export function intervalOf(window: string): string {
  const [, count = "", unit = ""] = /^(\d+)(ms|s|m|h|d|w)$/.exec(window) ?? [];
  return unit ? `INTERVAL '${count} ${UNITS[unit]}${count === "1" ? "" : "s"}'` : window;
}

/** Where a text says its windows. */
const WINDOW = /\b((?:date_bin|time_bucket)\s*\(\s*)(\$step|(?:INTERVAL\s*)?'(\d+)\s*(millisecond|second|minute|hour|day|week)s?')/i;

/** The window that a text names, as a form has it. */
export function sqlWindow(text: string): string | null {
  const [, , all, count, unit] = WINDOW.exec(text) ?? [];
  if (!all || all.startsWith("$")) return all ? "$step" : null;
  const short = Object.keys(UNITS).find((one) => UNITS[one] === unit!.toLowerCase());
  return short ? `${Number(count)}${short}` : null;
}

/** The text with another window, where it has one. */
export const withSqlWindow = (text: string, window: string): string => text.replace(WINDOW, (_, head: string) => `${head}${intervalOf(window)}`);

/** What SQL says of labels that a form wants. */
function tests(filters: Filter[]): string[] {
  return filters.filter(({ pattern }) => pattern !== "*").map(({ label, pattern }) => {
    const name = quotedSql(label);
    const { by, text } = comparedOf(pattern);
    if (by === "~" || by === "!~") return `${name} ${by} ${quotedSqlValue(text)}`;
    if (by === "=" && text.includes("*")) return `${name} ~ ${quotedSqlValue(`^(${text.replace(/[.+?^$()[\]\\]/g, "\\$&").replace(/\*/g, ".*")})$`)}`;
    const values = text.split("|").map(quotedSqlValue);
    if (values.length > 1) return `${name} ${by === "≠" ? "NOT IN" : "IN"} (${values.join(", ")})`;
    return `${name} ${by === "≠" ? "<>" : "="} ${values[0]}`;
  });
}

/** SQL's function for how a form makes a window one value. */
function folded(field: string, fold: string): string {
  const percent = /^p(\d+)$/.exec(fold)?.[1];
  if (percent) return `approx_percentile_cont(${field}, ${Number(percent) / 100})`;
  return fold === "first" || fold === "last" ? `${fold}_value(${field} ORDER BY time)` : `${fold}(${field})`;
}

/** A form's question in SQL, about the table and the column that its metric is: a line for each value of the labels that split. Rates have no function there. */
export function sqlOf(form: Form, { measurement, field }: Halves): string {
  const column = quotedSql(field || "value");
  const splits = form.filters.filter(({ splits: is }) => is).map(({ label }) => quotedSql(label));
  const where = ["time >= $start", "time < $end", ...tests(form.filters)].join(" AND ");
  const from = `FROM ${measurement === TO_FILL_IN ? TO_FILL_IN : quotedSql(measurement)}\nWHERE ${where}`;
  if (!form.window) return `SELECT ${["time", ...splits, column].join(", ")}\n${from}\nORDER BY time`;
  const bucket = `date_bin(${intervalOf(form.window)}, time) AS time`;
  return `SELECT ${[bucket, ...splits, `${folded(column, form.fold)} AS ${column}`].join(", ")}\n${from}\nGROUP BY ${["1", ...splits].join(", ")}\nORDER BY 1`;
}
