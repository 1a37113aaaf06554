// What may stand at the cursor of a text of InfluxQL, as far as the words before it tell, and what its functions do. It
// is the editor's alone, so that the page does not carry it to its first paint.

import { bareName, words } from "./influxql";

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

/** What may stand at the end of `before`, and where the part begins that is there already. */
export interface Expected {
  of: "measurements" | "fields" | "labels" | "fields and labels" | "values" | "shown" | "windows" | "times" | "nothing" | "words";
  /** The part of the name or text that is typed. */
  typed: string;
  from: number;
  measurement: string;
  label: string;
  /** What may follow SHOW, and the words that stand behind it already. */
  shown: string[];
}

/** Words that may begin what follows. */
export const CLAUSES = [
  "SELECT", "FROM", "WHERE time >= $start AND time < $end", "WHERE", "GROUP BY time($step)", "GROUP BY", "ORDER BY time DESC", "LIMIT", "fill(none)",
  "fill(previous)", "fill(linear)", "AND", "OR", "AS", "SLIMIT", "tz('Europe/Vienna')",
  "SHOW MEASUREMENTS", "SHOW TAG KEYS FROM", "SHOW TAG VALUES FROM", "WITH KEY =", "SHOW FIELD KEYS FROM", "SHOW SERIES FROM", "SHOW DATABASES",
  "SHOW RETENTION POLICIES", "SHOW QUERIES",
];

/** What may follow words that begin with SHOW. */
export function shownBehind(said: string): string[] {
  const begin = `${said.toUpperCase()} `;
  return CLAUSES.filter((clause) => clause.startsWith(begin)).map((clause) => clause.slice(begin.length));
}

/** The measurement that a text reads, wherever the cursor is. */
export function measurementOf(text: string): string {
  const solid = words(text).filter((word) => word.class !== "blank" && word.class !== "comment");
  const at = solid.findIndex((word) => word.text.toLowerCase() === "from");
  const next = at < 0 ? undefined : solid[at + 1];
  return next?.class === "name" ? bareName(next.text) : "";
}

export function expected(text: string, cursor: number): Expected {
  const before = words(text.slice(0, cursor));
  const last = before.at(-1);
  const isOpen = last !== undefined && (last.class === "name" || last.class === "keyword" || last.class === "string" || last.class === "function");
  const typed = isOpen ? last.text.replace(/^["']/, "") : "";
  const from = isOpen ? cursor - last.text.length : cursor;
  const solid = (isOpen ? before.slice(0, -1) : before).filter((word) => word.class !== "blank" && word.class !== "comment");
  const said = (back: number) => solid.at(-back)?.text.toLowerCase() ?? "";
  const base = { typed, from, measurement: measurementOf(text), label: "", shown: [] };
  const ahead = text.slice(0, from);
  if (/\btime\s*\(\s*$/i.test(ahead)) return { ...base, of: "windows" };
  if (/\btime\s*(=|<>|!=|[<>]=?)\s*$/i.test(ahead)) return { ...base, of: "times" };
  // A regular expression, which nobody can guess.
  if (/[=!]~\s*(\/[^/]*)?$/.test(ahead)) return { ...base, of: "nothing" };
  if (/\bwith\s+key\s*(=|!=|<>|in\s*\([^)]*)\s*$/i.test(text.slice(0, from))) return { ...base, of: "labels" };
  if (["=", "~"].includes(said(1)) || (said(1) === ">" && said(2) === "<")) {
    const name = solid.filter((word) => word.class === "name").at(-1);
    if (isOpen && last.class === "string") return { ...base, of: "values", label: name ? bareName(name.text) : "" };
    return { ...base, of: said(1) === "=" && name ? "values" : "words", label: name ? bareName(name.text) : "" };
  }
  if (isOpen && last.class === "string") return { ...base, of: "words" };
  const show = solid.map((word) => word.text.toLowerCase()).lastIndexOf("show");
  const shown = show < 0 ? [] : shownBehind(solid.slice(show).map((word) => word.text).join(" "));
  if (shown.length) return { ...base, of: "shown", shown };
  if (said(1) === "from") return { ...base, of: "measurements" };
  const clause = solid.map((word) => word.text.toLowerCase()).filter((word) => ["select", "from", "where", "group", "order", "limit"].includes(word)).at(-1);
  const isAfterJoin = ["by", ",", "(", "and", "or", "where", "select", "+", "-", "*", "/"].includes(said(1));
  if (clause === "group" && isAfterJoin) return { ...base, of: "labels" };
  if (clause === "where" && isAfterJoin) return { ...base, of: "fields and labels" };
  if (clause === "select" && isAfterJoin) return { ...base, of: "fields" };
  return { ...base, of: "words" };
}
