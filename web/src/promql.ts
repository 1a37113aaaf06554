// What the editor knows of PromQL: which words are which, and what may stand at the cursor. The language itself is the server's; nothing here decides what is right.

import type { Word, WordClass } from "./influxql";

const AGGREGATIONS = new Set(["avg", "bottomk", "count", "count_values", "group", "max", "min", "quantile", "stddev", "stdvar", "sum", "topk"]);

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
  return { class: calls ? "function" : "name", text: name };
}

export function words(text: string): Word[] {
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
  of: "metrics" | "quoted names" | "labels" | "values" | "ranges" | "nothing";
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
    if (isValue) return { ...base, of: "values", label: name?.text ?? "" };
    return { ...base, of: isOpen && last.class === "string" && !metric ? "quoted names" : "labels" };
  }
  if (isOpen && last.class === "string") return { ...base, of: "nothing" };
  const joins = ["by", "without", "on", "ignoring", "group_left", "group_right"];
  if (bracket === "(" && behind?.class === "keyword" && joins.includes(behind.text.toLowerCase())) {
    const used = words(text).filter((word) => word.class === "name").map((word) => word.text);
    return { ...base, of: "labels", metric: used.find((name) => name !== typed) ?? "" };
  }
  return { ...base, of: "metrics" };
}

/** Metrics that an expression names in braces, in quotes and alone: `{"web.requests"}`. */
export const quotedMetricsIn = (text: string): string[] =>
  [...text.matchAll(/\{\s*"((?:[^"\\]|\\.)*)"\s*(?=[,}])/g)].map(([, name = ""]) => name.replace(/\\(.)/g, "$1"));

/** The same expression with another name of a metric, as a selector of it alone is written. */
export function withMetric(text: string, name: string, selector: string): string {
  const literal = (part: string) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const isBare = !selector.startsWith("{");
  const before = new RegExp(`\\{\\s*"${literal(name)}"\\s*(,\\s*|\\})|(?<![\\w:."])${literal(name)}(?![\\w:.])(\\s*\\{\\s*)?`, "g");
  return text.replace(before, (_, end: string | undefined, brace: string | undefined) => {
    if (end !== undefined) return isBare ? selector + (end === "}" ? "" : "{") : `${selector.slice(0, -1)}${end}`;
    return isBare ? selector + (brace ?? "") : brace ? `${selector.slice(0, -1)}, ` : selector;
  });
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
