// What the page knows of InfluxQL: which words are which, and what a text names. The language itself is
// the server's; nothing here decides what is right.

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
export const bareName = (text: string) => (text.startsWith('"') ? text.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1") : text);

/** The measurements that a text of several statements reads, by their names alone. */
export function measurementsIn(text: string): string[] {
  const solid = words(text).filter((word) => word.class !== "blank" && word.class !== "comment");
  return [...new Set(solid.flatMap((word, at) => {
    const next = solid[at + 1];
    // What a point follows is a database or a policy.
    return word.text.toLowerCase() === "from" && next?.class === "name" && solid[at + 2]?.text !== "." ? [bareName(next.text)] : [];
  }))];
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
    return word.class === "name" && before !== "as" && before !== ":" && !NO_COLUMN.has(word.text.toLowerCase()) ? [bareName(word.text)] : [];
  });
  return { measurement: bareName(measurement.text), columns: [...new Set(columns)] };
}

/** A condition that one label has one value. */
export interface LabelTest {
  label: string;
  value: string;
}

const unquoted = (text: string) => text.replace(/^'|'$/g, "").replace(/\\(.)/g, "$1");

/** The conditions of a statement that names are equal to texts. */
export function testsIn(text: string): LabelTest[] {
  const solid = words(text).filter((word) => word.class !== "blank" && word.class !== "comment");
  const from = solid.findIndex((word) => word.text.toLowerCase() === "where");
  return from < 0 ? [] : solid.slice(from).flatMap((word, at, all) => {
    const [sign, value] = [all[at + 1], all[at + 2]];
    return word.class === "name" && sign?.text === "=" && value?.class === "string" && value.text.startsWith("'") ? [{ label: bareName(word.text), value: unquoted(value.text) }] : [];
  });
}

/** Names in double quotes that other names are compared with: mostly texts are meant, which stand in single ones. */
export function comparedNames(text: string): LabelTest[] {
  const solid = words(text).filter((word) => word.class !== "blank" && word.class !== "comment");
  const from = solid.findIndex((word) => word.text.toLowerCase() === "where");
  return from < 0 ? [] : solid.slice(from).flatMap((word, at, all) => {
    const [sign, value] = [all[at + 1], all[at + 2]];
    return word.class === "name" && sign?.text === "=" && value?.class === "name" && value.text.startsWith('"') ? [{ label: bareName(word.text), value: bareName(value.text) }] : [];
  });
}

/** A text in which a name in double quotes is a text. */
export const asText = (text: string, name: string): string =>
  words(text).map((word) => (word.class === "name" && word.text.startsWith('"') && bareName(word.text) === name ? quotedValue(name) : word.text)).join("");

/** A text in which another value stands for one. */
export const withValue = (text: string, value: string, other: string): string =>
  words(text).map((word) => (word.class === "string" && unquoted(word.text) === value ? quotedValue(other) : word.text)).join("");

/** A text in which another name stands for one. */
export const renamed = (text: string, name: string, other: string): string =>
  words(text).map((word) => (word.class === "name" && bareName(word.text) === name ? quotedName(other) : word.text)).join("");

/** A name as a text may say it. */
export const quotedName = (name: string) =>
  /^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name.toLowerCase()) ? name : `"${name.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`;

export const quotedValue = (value: string) => `'${value.replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;

/** Clauses behind which no groups may stand. */
const BEHIND_GROUPS = new Set(["order", "limit", "offset", "slimit", "soffset"]);

/** A statement with a series for each combination of labels, where it groups by none: labels that are columns lose their rows. One that has an end, or is several, stays. */
export function inSeries(text: string): string {
  const all = words(text);
  const low = all.map((word) => word.text.toLowerCase());
  const first = all.findIndex((word) => word.class !== "blank" && word.class !== "comment");
  if (low[first] !== "select" || low.includes("group") || low.includes("into") || low.includes(";") || ["limit", "offset", "slimit", "soffset"].some((clause) => low.includes(clause))) return text;
  const behind = all.findIndex((word, at) => (word.class === "keyword" && BEHIND_GROUPS.has(low[at]!)) || (low[at] === "tz" && all.slice(at + 1).find(({ class: is }) => is !== "blank")?.text === "("));
  const at = behind < 0 ? text.trimEnd().length : all.slice(0, behind).reduce((length, word) => length + word.text.length, 0);
  return `${text.slice(0, at).trimEnd()} GROUP BY *${behind < 0 ? "" : ` ${text.slice(at)}`}`;
}
