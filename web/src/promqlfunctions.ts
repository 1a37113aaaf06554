// The functions of PromQL, for who writes: what they take, and what they do.

import { words } from "./promql";

/** Functions and aggregations: what they take, and what they do. */
const FUNCTIONS: Record<string, [takes: string, does: string]> = {
  abs: ["vector", "without sign"], absent: ["vector", "1 where nothing is selected"], absent_over_time: ["range", "1 where the range has no samples"],
  acos: ["vector", "arc cosine"], acosh: ["vector", "inverse hyperbolic cosine"], asin: ["vector", "arc sine"], asinh: ["vector", "inverse hyperbolic sine"],
  atan: ["vector", "arc tangent"], atanh: ["vector", "inverse hyperbolic tangent"], avg: ["vector", "mean of series"], avg_over_time: ["range", "mean of the range"],
  bottomk: ["k, vector", "the k least series"], ceil: ["vector", "rounded up"], changes: ["range", "how often the value changed"],
  clamp: ["vector, least, greatest", "held between two bounds"], clamp_max: ["vector, greatest", "no more than"], clamp_min: ["vector, least", "no less than"],
  cos: ["vector", "cosine"], cosh: ["vector", "hyperbolic cosine"], count: ["vector", "number of series"], count_over_time: ["range", "samples of the range"],
  count_values: ["label, vector", "series by value"], day_of_month: ["vector", "1 to 31, in UTC"], day_of_week: ["vector", "0 for Sunday to 6, in UTC"], day_of_year: ["vector", "1 to 366, in UTC"],
  days_in_month: ["vector", "28 to 31"], deg: ["vector", "degrees of radians"], delta: ["range", "change of a gauge over the range"], deriv: ["range", "slope a second of a gauge"],
  exp: ["vector", "e to the power"], floor: ["vector", "rounded down"], group: ["vector", "1 for each group"],
  histogram_avg: ["vector", "mean of native histograms"], histogram_count: ["vector", "observations of native histograms"], histogram_fraction: ["least, greatest, vector", "share of observations between two bounds"],
  histogram_quantile: ["share, vector", "quantile of le buckets, or of native histograms"], histogram_stddev: ["vector", "deviation of native histograms"], histogram_stdvar: ["vector", "variance of native histograms"], histogram_sum: ["vector", "sum of native histograms"],
  hour: ["vector", "0 to 23, in UTC"], idelta: ["range", "change of the last two samples"], increase: ["range", "growth of a counter over the range"], irate: ["range", "growth a second of the last two samples"],
  label_join: ["vector, to, separator, from…", "a label made of others"], label_replace: ["vector, to, replacement, from, pattern", "a label made by a pattern"], last_over_time: ["range", "newest of the range"],
  ln: ["vector", "natural logarithm"], log10: ["vector", "decimal logarithm"], log2: ["vector", "binary logarithm"], max: ["vector", "greatest of series"], max_over_time: ["range", "greatest of the range"],
  min: ["vector", "least of series"], min_over_time: ["range", "least of the range"], minute: ["vector", "0 to 59"], month: ["vector", "1 to 12, in UTC"], pi: ["", "3.14159…"],
  predict_linear: ["range, seconds", "where the slope leads"], present_over_time: ["range", "1 where the range has samples"], quantile: ["share, vector", "quantile of series"],
  quantile_over_time: ["share, range", "quantile of the range"], rad: ["vector", "radians of degrees"], rate: ["range", "growth a second of a counter"], resets: ["range", "how often a counter began anew"],
  round: ["vector, to", "rounded to a multiple"], scalar: ["vector", "one series as a number"], sgn: ["vector", "-1, 0 or 1 by the sign"], sin: ["vector", "sine"], sinh: ["vector", "hyperbolic sine"],
  sort: ["vector", "least first"], sort_desc: ["vector", "greatest first"], sqrt: ["vector", "square root"], stddev: ["vector", "deviation of series"], stddev_over_time: ["range", "deviation of the range"],
  stdvar: ["vector", "variance of series"], stdvar_over_time: ["range", "variance of the range"], sum: ["vector", "sum of series"], sum_over_time: ["range", "sum of the range"],
  tan: ["vector", "tangent"], tanh: ["vector", "hyperbolic tangent"], time: ["", "seconds since 1970"], timestamp: ["vector", "time of the sample"], topk: ["k, vector", "the k greatest series"],
  vector: ["number", "a number as a series"], year: ["vector", "in UTC"],
};

/** What functions and aggregations do. */
export const PROMQL_HELP: Record<string, string> = Object.fromEntries(Object.entries(FUNCTIONS).map(([name, [, does]]) => [name, does]));

/** What a function takes, as it is written. */
export const promqlSignature = (name: string): string | null => (Object.hasOwn(FUNCTIONS, name) ? `${name}(${FUNCTIONS[name]![0]})` : null);

/** Functions whose number has no samples that a range could be of. */
const NUMBERS = ["pi", "scalar", "time"];

export const isOfSeries = (name: string): boolean => !NUMBERS.includes(name);

export interface Call {
  name: string;
  /** How many of what it takes stand before the cursor. */
  at: number;
  /** Where it begins in the text. */
  from: number;
}

/** The innermost call around the cursor: its function, and at which of what it takes the cursor stands. */
export function promqlCall(text: string, cursor: number): Call | null {
  const open: (Call & { outer: { name: string; from: number } | null })[] = [];
  let named = { name: "", from: 0 };
  let isOfLabels = false;
  let end = 0;
  for (const word of words(text.slice(0, cursor))) {
    const from = end;
    end += word.text.length;
    if (word.class === "blank" || word.class === "comment") continue;
    if (word.class !== "mark") {
      isOfLabels = word.class === "keyword";
      if (!isOfLabels) named = { name: word.text.toLowerCase(), from };
      continue;
    }
    const last = open.at(-1);
    if ("([{".includes(word.text)) {
      // Behind `sum by (host)` stands what sum takes.
      const outer = isOfLabels ? named : null;
      open.push({ ...(word.text === "(" && !outer ? named : { name: "", from }), at: 0, outer });
    } else if (word.text === "," && last) last.at += 1;
    named = (")]}".includes(word.text) ? open.pop()?.outer : null) ?? { name: "", from };
    isOfLabels = false;
  }
  const inner = open.filter(({ name }) => Object.hasOwn(FUNCTIONS, name)).at(-1);
  return inner ? { name: inner.name, at: inner.at, from: inner.from } : null;
}
