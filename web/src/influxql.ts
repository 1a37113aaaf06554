// What the editor knows of InfluxQL: which words are which, and what may stand at the cursor. The
// language itself is the server's; nothing here decides what is right.

export type WordClass = "keyword" | "function" | "name" | "string" | "number" | "bound" | "comment" | "mark" | "blank";

const KEYWORDS = new Set([
  "select", "from", "where", "group", "by", "order", "limit", "offset", "slimit", "soffset", "fill", "tz", "as", "and", "or", "asc", "desc", "into",
  "time", "true", "false", "null", "none", "previous", "linear", "on", "in",
  "show", "explain", "analyze", "with", "key", "keys", "tag", "values", "field", "measurement", "measurements", "series", "database", "databases",
  "retention", "policy", "policies", "queries", "query", "continuous", "user", "users", "grants", "for", "shard", "shards", "groups", "stats", "diagnostics",
]);

export const FUNCTIONS = [
  "abs", "bottom", "ceil", "count", "cumulative_sum", "derivative", "difference", "distinct", "elapsed", "first", "floor", "holt_winters", "integral",
  "last", "ln", "log", "log10", "log2", "max", "mean", "median", "min", "mode", "moving_average", "non_negative_derivative",
  "non_negative_difference", "percentile", "pow", "round", "sample", "spread", "sqrt", "stddev", "sum", "top",
];

const FUNCTION_NAMES = new Set(FUNCTIONS);

/** What functions do. */
export const INFLUXQL_HELP: Record<string, string> = {
  abs: "without sign", bottom: "the least values", ceil: "rounded up", count: "number of values", cumulative_sum: "running sum", derivative: "change a second",
  difference: "change to the value before", distinct: "each value once", elapsed: "time to the value before", first: "oldest value", floor: "rounded down",
  holt_winters: "forecast", integral: "area under the line", last: "newest value", ln: "natural logarithm", log: "logarithm to a base", log10: "logarithm to 10",
  log2: "logarithm to 2", max: "greatest value", mean: "mean", median: "middle value", min: "least value", mode: "most frequent value",
  moving_average: "mean of the last ones", non_negative_derivative: "growth a second, without restarts", non_negative_difference: "growth, without restarts",
  percentile: "value below which so many percent lie", pow: "to the power", round: "rounded", sample: "some values", spread: "greatest less least",
  sqrt: "square root", stddev: "deviation", sum: "sum", top: "the greatest values",
};

export interface Word {
  class: WordClass;
  text: string;
}

const SHAPES: [WordClass, RegExp][] = [
  ["blank", /^\s+/],
  ["comment", /^(?:--.*|\/\*[\s\S]*?(?:\*\/|$))/],
  ["string", /^'(?:\\.|[^'\\])*'?/],
  ["name", /^"(?:\\.|[^"\\])*"?/],
  ["bound", /^\$[\w]+/],
  ["number", /^\d[\w.µ]*/],
];

/** The next word of a text that is not empty. */
export function nextWord(text: string): Word {
  for (const [found, shape] of SHAPES) {
    const match = shape.exec(text);
    if (match) return { class: found, text: match[0] };
  }
  const name = /^[A-Za-z_]\w*/.exec(text)?.[0];
  if (!name) return { class: "mark", text: text.slice(0, 1) };
  const low = name.toLowerCase();
  if (FUNCTION_NAMES.has(low) && /^\s*\(/.test(text.slice(name.length))) return { class: "function", text: name };
  return { class: KEYWORDS.has(low) ? "keyword" : "name", text: name };
}

export function words(text: string): Word[] {
  const found: Word[] = [];
  for (let at = 0; at < text.length;) {
    const word = nextWord(text.slice(at));
    found.push(word);
    at += word.text.length;
  }
  return found;
}

/** A name without its quotes. */
const bare = (text: string) => (text.startsWith('"') ? text.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1") : text);

/** What may stand at the end of `before`, and where the part begins that is there already. */
export interface Expected {
  of: "measurements" | "fields" | "labels" | "fields and labels" | "values" | "words";
  /** The part of the name or text that is typed. */
  typed: string;
  from: number;
  measurement: string;
  label: string;
}

/** Words that may begin what follows. */
export const CLAUSES = [
  "SELECT", "FROM", "WHERE time >= $start AND time < $end", "WHERE", "GROUP BY time($step)", "GROUP BY", "ORDER BY time DESC", "LIMIT", "fill(none)",
  "fill(previous)", "fill(linear)", "AND", "OR", "AS", "SLIMIT", "tz('Europe/Vienna')",
  "SHOW MEASUREMENTS", "SHOW TAG KEYS FROM", "SHOW TAG VALUES FROM", "WITH KEY =", "SHOW FIELD KEYS FROM", "SHOW SERIES FROM", "SHOW DATABASES",
  "SHOW RETENTION POLICIES", "SHOW QUERIES",
];

/** The measurement that a text reads, wherever the cursor is. */
export function measurementOf(text: string): string {
  const solid = words(text).filter((word) => word.class !== "blank" && word.class !== "comment");
  const at = solid.findIndex((word) => word.text.toLowerCase() === "from");
  const next = at < 0 ? undefined : solid[at + 1];
  return next?.class === "name" ? bare(next.text) : "";
}

/** What a statement names: its measurement, and the columns that it selects, without those that functions make. */
export interface Named {
  measurement: string;
  columns: string[];
}

/** Words that stand where a column might. */
const NO_COLUMN = new Set(["time", "true", "false"]);

/** What a text of one statement over one measurement names; nothing where it is more than that, or no name at all. */
export function namedIn(text: string): Named | null {
  const solid = words(text).filter((word) => word.class !== "blank" && word.class !== "comment");
  const low = solid.map((word) => word.text.toLowerCase());
  const from = low.indexOf("from");
  const measurement = solid[from + 1];
  if (low[0] !== "select" || from < 1 || low.includes("from", from + 1) || measurement?.class !== "name" || [".", ","].includes(low[from + 2] ?? "")) return null;
  const columns = solid.slice(1, from).flatMap((word, at, all) => {
    // What follows AS is made here, and what follows :: is a kind.
    const before = all[at - 1]?.text.toLowerCase() ?? "";
    return word.class === "name" && before !== "as" && before !== ":" && !NO_COLUMN.has(word.text.toLowerCase()) ? [bare(word.text)] : [];
  });
  return { measurement: bare(measurement.text), columns: [...new Set(columns)] };
}

/** A text in which another name stands for one. */
export const renamed = (text: string, name: string, other: string): string =>
  words(text).map((word) => (word.class === "name" && bare(word.text) === name ? quotedName(other) : word.text)).join("");

export function expected(text: string, cursor: number): Expected {
  const before = words(text.slice(0, cursor));
  const last = before.at(-1);
  const isOpen = last !== undefined && (last.class === "name" || last.class === "keyword" || last.class === "string" || last.class === "function");
  const typed = isOpen ? last.text.replace(/^["']/, "") : "";
  const from = isOpen ? cursor - last.text.length : cursor;
  const solid = (isOpen ? before.slice(0, -1) : before).filter((word) => word.class !== "blank" && word.class !== "comment");
  const said = (back: number) => solid.at(-back)?.text.toLowerCase() ?? "";
  const base = { typed, from, measurement: measurementOf(text), label: "" };
  if (/\bwith\s+key\s*(=|!=|<>|in\s*\([^)]*)\s*$/i.test(text.slice(0, from))) return { ...base, of: "labels" };
  if (["=", "~"].includes(said(1)) || (said(1) === ">" && said(2) === "<")) {
    const name = solid.filter((word) => word.class === "name").at(-1);
    if (isOpen && last.class === "string") return { ...base, of: "values", label: name ? bare(name.text) : "" };
    return { ...base, of: said(1) === "=" && name ? "values" : "words", label: name ? bare(name.text) : "" };
  }
  if (isOpen && last.class === "string") return { ...base, of: "words" };
  if (said(1) === "from") return { ...base, of: "measurements" };
  const clause = solid.map((word) => word.text.toLowerCase()).filter((word) => ["select", "from", "where", "group", "order", "limit"].includes(word)).at(-1);
  const isAfterJoin = ["by", ",", "(", "and", "or", "where", "select", "+", "-", "*", "/"].includes(said(1));
  if (clause === "group" && isAfterJoin) return { ...base, of: "labels" };
  if (clause === "where" && isAfterJoin) return { ...base, of: "fields and labels" };
  if (clause === "select" && isAfterJoin) return { ...base, of: "fields" };
  return { ...base, of: "words" };
}

/** A name as a text may say it. */
export const quotedName = (name: string) =>
  /^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name.toLowerCase()) ? name : `"${name.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`;

export const quotedValue = (value: string) => `'${value.replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;
