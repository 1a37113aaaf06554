// What the editor knows of PromQL: which words are which, what may stand at the cursor, and what a
// function does. The language itself is the server's; nothing here decides what is right.

import type { Word, WordClass } from "./influxql";

/** Functions and aggregations, with what they do. */
export const PROMQL_HELP: Record<string, string> = {
  abs: "without sign", absent: "1 where nothing is selected", avg: "mean of series", avg_over_time: "mean of the range", bottomk: "the k least series",
  ceil: "rounded up", changes: "how often the value changed", clamp: "held between two bounds", clamp_max: "no more than", clamp_min: "no less than",
  count: "number of series", count_over_time: "samples of the range", count_values: "series by value", delta: "change of a gauge over the range",
  deriv: "slope a second of a gauge", exp: "e to the power", floor: "rounded down", group: "1 for each group", histogram_quantile: "quantile of le buckets",
  idelta: "change of the last two samples", increase: "growth of a counter over the range", irate: "growth a second of the last two samples",
  label_join: "a label made of others", label_replace: "a label made by a pattern", last_over_time: "newest of the range", ln: "natural logarithm",
  max: "greatest of series", max_over_time: "greatest of the range", min: "least of series", min_over_time: "least of the range",
  predict_linear: "where the slope leads", quantile: "quantile of series", quantile_over_time: "quantile of the range", rate: "growth a second of a counter",
  resets: "how often a counter began anew", round: "rounded to", scalar: "one series as a number", sort: "least first", sort_desc: "greatest first",
  sqrt: "square root", stddev: "deviation of series", stddev_over_time: "deviation of the range", sum: "sum of series", sum_over_time: "sum of the range",
  time: "seconds since 1970", timestamp: "time of the sample", topk: "the k greatest series", vector: "a number as a series",
};

const AGGREGATIONS = new Set(["avg", "bottomk", "count", "count_values", "group", "max", "min", "quantile", "stddev", "sum", "topk"]);

const KEYWORDS = new Set(["by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset", "and", "or", "unless", "atan2", "inf", "nan"]);

const SHAPES: [WordClass, RegExp][] = [
  ["blank", /^\s+/],
  ["comment", /^#.*/],
  ["string", /^(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|`[^`]*`?)/],
  ["bound", /^\$\w+/],
  ["number", /^\d[\w.]*/],
];

/** The next word of a text that is not empty. */
export function nextPromqlWord(text: string): Word {
  for (const [found, shape] of SHAPES) {
    const match = shape.exec(text);
    if (match) return { class: found, text: match[0] };
  }
  const name = /^[A-Za-z_:][\w:.]*/.exec(text)?.[0];
  if (!name) return { class: "mark", text: text.slice(0, 1) };
  const low = name.toLowerCase();
  if (KEYWORDS.has(low)) return { class: "keyword", text: name };
  const calls = /^\s*\(/.test(text.slice(name.length)) || (AGGREGATIONS.has(low) && /^\s*(by|without)\b/i.test(text.slice(name.length)));
  return { class: calls && low in PROMQL_HELP ? "function" : "name", text: name };
}

function words(text: string): Word[] {
  const found: Word[] = [];
  for (let at = 0; at < text.length;) {
    const word = nextPromqlWord(text.slice(at));
    found.push(word);
    at += word.text.length;
  }
  return found;
}

/** What may stand at the cursor, and where the part begins that is there already. */
export interface PromqlExpected {
  of: "metrics" | "labels" | "values" | "ranges" | "nothing";
  typed: string;
  from: number;
  /** The metric whose labels are meant, if it is known. */
  metric: string;
  label: string;
}

export function promqlExpected(text: string, cursor: number): PromqlExpected {
  const before = words(text.slice(0, cursor));
  const last = before.at(-1);
  const isOpen = last !== undefined && ["name", "keyword", "string", "function", "number", "bound"].includes(last.class);
  const typed = isOpen ? last.text.replace(/^["'`]/, "") : "";
  const from = isOpen ? cursor - last.text.length : cursor;
  const solid = (isOpen ? before.slice(0, -1) : before).filter((word) => word.class !== "blank" && word.class !== "comment");
  const said = (back: number) => solid.at(-back)?.text ?? "";
  // What is open around the cursor: the innermost bracket, and what stands before it.
  const open: number[] = [];
  solid.forEach((word, index) => {
    if (word.class !== "mark") return;
    if ("({[".includes(word.text)) open.push(index);
    else if (")}]".includes(word.text)) open.pop();
  });
  const inner = open.at(-1);
  const bracket = inner === undefined ? "" : solid[inner]?.text ?? "";
  const behind = inner === undefined ? undefined : solid[inner - 1];
  const metric = bracket === "{" && behind?.class === "name" ? behind.text : "";
  const base = { typed, from, metric, label: "" };
  if (bracket === "[") return { ...base, of: "ranges" };
  if (bracket === "{") {
    const isValue = said(1) === "=" || said(1) === "~" || (isOpen && last.class === "string" && said(1) !== "," && said(1) !== "{");
    const name = solid.filter((word) => word.class === "name").at(-1);
    return isValue ? { ...base, of: "values", label: name?.text ?? "" } : { ...base, of: "labels" };
  }
  if (isOpen && last.class === "string") return { ...base, of: "nothing" };
  const joins = ["by", "without", "on", "ignoring", "group_left", "group_right"];
  if (bracket === "(" && behind?.class === "keyword" && joins.includes(behind.text.toLowerCase())) {
    const used = words(text).filter((word) => word.class === "name").map((word) => word.text);
    return { ...base, of: "labels", metric: used.find((name) => name !== typed) ?? "" };
  }
  return { ...base, of: "metrics" };
}

/** The metrics that an expression names by themselves. */
export function metricsIn(text: string): string[] {
  const bare = text
    .replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`/g, '""').replace(/#.*$/gm, "")
    .replace(/\{[^}]*\}/g, " ").replace(/\[[^\]]*\]/g, " ")
    .replace(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/gi, " ");
  const words = bare.matchAll(/(?<![\w:.$])[a-zA-Z_:][\w:]*(?!\s*\(|[\w:])/g);
  return [...new Set([...words].map(([word]) => word).filter((word) => !KEYWORDS.has(word.toLowerCase())))];
}
