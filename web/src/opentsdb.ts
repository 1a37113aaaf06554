// What the editor knows of OpenTSDB's texts, as they stand behind `m=`: which words are which, and
// what may stand at the cursor. The language itself is the server's.

import type { Word } from "./influxql";
import { AGGREGATORS, metricOf } from "./question";

const STARTS: [Word["class"], RegExp][] = [
  ["blank", /^\s+/],
  ["bound", /^\$\w+/],
  ["number", /^\d+(ms|[smhdwny]|all)?(?=-)/],
  ["keyword", /^rate(?=[:{])/],
  ["mark", /^[{}:,=|()*]/],
  // A metric in quotes, whatever it is called.
  ["name", /^"(?:\\.|[^"\\])*"(?=\{|$)/s],
];

/** The next word of a text that is not empty. */
export function nextOpentsdbWord(text: string): Word {
  for (const [found, shape] of STARTS) {
    const match = shape.exec(text);
    if (match) return { class: found, text: match[0] };
  }
  const name = /^[^\s{}:,=|()*$]+/.exec(text)?.[0] ?? text.slice(0, 1);
  return { class: AGGREGATORS.includes(name) && text[name.length] === ":" ? "function" : "name", text: name };
}

export interface OpentsdbExpected {
  of: "aggregators" | "parts" | "folds" | "labels" | "values" | "nothing";
  typed: string;
  from: number;
  metric: string;
  label: string;
}

/** Parts that may stand between the aggregator and the metric, with what they do. */
export const OPENTSDB_PARTS: [string, string][] = [
  ["$step-avg:", "mean of each step of the graph"], ["$step-max:", "greatest of each step"], ["$step-sum:", "sum of each step"], ["$step-count:", "samples of each step"],
  ["1m-avg:", "mean of each minute"], ["1h-avg:", "mean of each hour"], ["rate:", "change a second"], ["rate{counter}:", "change a second, over overflows"],
  ["rate{dropcounter}:", "change a second of a counter, over restarts"],
];

export const OPENTSDB_AGGREGATORS: Record<string, string> = {
  sum: "sum of series", avg: "mean of series", min: "least of series", max: "greatest of series", count: "number of series", none: "each series by itself",
  dev: "deviation of series", zimsum: "sum, gaps as 0", mimmin: "least, gaps left out", mimmax: "greatest, gaps left out", p50: "median", p95: "95th percentile", p99: "99th percentile",
};

export function opentsdbExpected(text: string, cursor: number): OpentsdbExpected {
  const before = text.slice(0, cursor);
  const typed = /[^\s{}:,=|()]*$/.exec(before)?.[0] ?? "";
  const base = { typed, from: cursor - typed.length, metric: "", label: "" };
  const quoted = /:("(?:\\.|[^"\\])*)$/s.exec(before)?.[1];
  if (quoted) return { ...base, typed: quoted.slice(1), from: cursor - quoted.length, of: "parts" };
  const open = before.lastIndexOf("{");
  // Braces behind `rate` hold its settings.
  if (open > before.lastIndexOf("}") && !/(^|:)rate$/.test(before.slice(0, open))) {
    const metric = metricOf(before.slice(0, open));
    const pair = before.slice(Math.max(open, before.lastIndexOf(",")) + 1);
    const label = /^\s*([^=]+)=/.exec(pair)?.[1] ?? "";
    return label ? { ...base, metric, label, of: "values" } : { ...base, metric, of: "labels" };
  }
  if (open > before.lastIndexOf("}")) return { ...base, of: "nothing" };
  if (!before.includes(":")) return { ...base, of: "aggregators" };
  // Behind the metric's braces nothing follows but braces.
  if (/\}[^:]*$/.test(before)) return { ...base, of: "nothing" };
  return { ...base, of: /^(\$step|\d+(ms|[smhdwny]|all))-/.test(typed) ? "folds" : "parts" };
}

/** What a step that is typed may be folded by: `5m-` as `5m-avg:`. */
export const foldsOf = (typed: string): [string, string][] => {
  const step = typed.slice(0, typed.indexOf("-") + 1);
  return Object.entries(FOLD_HELP).map(([fold, help]) => [`${step}${fold}:`, help]);
};

const FOLD_HELP: Record<string, string> = {
  avg: "mean of each step", max: "greatest of each step", min: "least of each step", sum: "sum of each step", count: "samples of each step", first: "first of each step",
  last: "last of each step", p50: "median of each step", p95: "95th percentile of each step", p99: "99th percentile of each step", dev: "deviation of each step",
};
