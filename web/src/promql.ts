// What the editor knows of PromQL: which words are which, and what an expression names. What may stand at the cursor is in promqlexpected.ts. The language itself is the server's; nothing here decides what is right.

import type { LabelTest, Word, WordClass } from "./influxql";

export const AGGREGATIONS = new Set(["avg", "bottomk", "count", "count_values", "group", "max", "min", "quantile", "stddev", "stdvar", "sum", "topk"]);

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

/** Metrics that an expression names in braces, in quotes and alone: `{"web.requests"}`. */
export const quotedMetricsIn = (text: string): string[] =>
  [...text.matchAll(/\{\s*(?:__name__\s*=\s*)?"((?:[^"\\]|\\.)*)"\s*(?=[,}])/g)].map(([, name = ""]) => name.replace(/\\(.)/g, "$1"));

/** The same expression with another name of a metric, as a selector of it alone is written. */
export function withMetric(text: string, name: string, selector: string): string {
  const literal = (part: string) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const isBare = !selector.startsWith("{");
  const before = new RegExp(`\\{\\s*(?:__name__\\s*=\\s*)?"${literal(name)}"\\s*(,\\s*|\\})|(?<![\\w:."])${literal(name)}(?![\\w:.])(\\s*\\{\\s*)?`, "g");
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

/** A text without its quotes. */
export const unquoted = (text: string) => (text.startsWith("`") ? text.slice(1, -1) : text.slice(1, -1).replace(/\\(.)/g, "$1"));

/** The conditions of selectors that labels are equal to texts, with the metric of each. */
export function testsIn(text: string): (LabelTest & { metric: string })[] {
  const solid = words(text).filter((word) => word.class !== "blank" && word.class !== "comment");
  let metric = "";
  return solid.flatMap((word, at) => {
    const [before, sign, value] = [solid[at - 1], solid[at + 1], solid[at + 2]];
    if (word.text === "{") metric = before?.class === "name" ? before.text : "";
    // A text that is compared with nothing is the metric's name.
    if (word.class === "string" && ["{", ","].includes(before?.text ?? "") && [",", "}"].includes(sign?.text ?? "")) metric = unquoted(word.text);
    const isTest = word.class === "name" && ["{", ","].includes(before?.text ?? "") && sign?.text === "=" && value?.class === "string";
    return isTest && metric ? [{ metric, label: word.text, value: unquoted(value.text) }] : [];
  });
}

/** The same expression with another name of a label. */
export const withLabel = (text: string, label: string, other: string): string =>
  words(text).map((word) => (word.class === "name" && word.text === label ? other : word.text)).join("");

/** The same expression with another value of a label. */
export const withValue = (text: string, value: string, other: string): string =>
  words(text).map((word) => (word.class === "string" && unquoted(word.text) === value ? JSON.stringify(other) : word.text)).join("");
