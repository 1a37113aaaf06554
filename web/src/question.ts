// Questions: the text that is asked, and the form that shows OpenTSDB's texts by their parts. The
// text is what counts; a form is read out of it and written back into it.

import type { UnknownName } from "./advice";
import { inSeries } from "./influxql";
import type { Halves } from "./metric";
import type { Span } from "./time";

export type Language = "opentsdb" | "influxql" | "promql" | "sql";

/** What languages are called. */
export const LANGUAGES: Record<Language, string> = { opentsdb: "OpenTSDB", influxql: "InfluxQL", promql: "PromQL", sql: "SQL" };

/** Languages that ask tables, or measurements, for rows. */
export const hasTables = (language: Language): language is "sql" | "influxql" => language === "sql" || language === "influxql";

export interface Question {
  language: Language;
  text: string;
  /** Whether it is shown as a form. */
  isForm: boolean;
  isHidden: boolean;
}

export interface Filter {
  label: string;
  pattern: string;
  /** Whether each value of the label has a line of its own. */
  splits: boolean;
}

export interface Form {
  metric: string;
  aggregator: string;
  /** "", "$step" or a span as "5m". */
  window: string;
  /** How a window is made one value. */
  fold: string;
  /** What a window without samples is: "" for a gap. */
  fill: "" | "zero" | "nan" | "null";
  rate: "" | "rate" | "counter";
  filters: Filter[];
}

/** What stands in a text where a name is to be put: as long as it does, nothing is asked. */
export const TO_FILL_IN = "…";

export const AGGREGATORS = ["avg", "sum", "min", "max", "count", "dev", "p50", "p75", "p90", "p95", "p99", "none"];
export const FOLDS = ["avg", "sum", "min", "max", "count", "last", "first", "p50", "p95", "p99"];

export const emptyForm = (metric = ""): Form => ({
  metric, aggregator: "avg", window: "$step", fold: "avg", fill: "", rate: "", filters: [],
});

/** OpenTSDB's text of a form, as it stands behind `m=`. */
export function textOf(form: Form): string {
  const parts = [form.aggregator];
  if (form.window) parts.push(`${form.window}-${form.fold}${form.fill ? `-${form.fill}` : ""}`);
  if (form.rate) parts.push(form.rate === "counter" ? "rate{dropcounter}" : "rate");
  parts.push(metricText(form.metric) + bracesOf(form.filters));
  return parts.join(":");
}

/** Filters behind a metric's name: those that tell lines apart, and then the others. */
export function bracesOf(filters: Filter[]): string {
  const braces = (splits: boolean) =>
    filters.filter((filter) => filter.label && filter.splits === splits)
      .map((filter) => `${filter.label}=${filter.pattern || "*"}`).join(",");
  const [split, other] = [braces(true), braces(false)];
  return (split || other ? `{${split}}` : "") + (other ? `{${other}}` : "");
}

/** The filters that such a text says; nothing where it says something else. */
export const filtersOf = (braces: string): Filter[] | null => formOf(`none:${braces}`)?.filters ?? null;

/** A metric in double quotes, and braces behind it, at the end of a text. */
const QUOTED = /:"((?:\\.|[^"\\])+)"((?:\{[^{}]*\})*)$/s;

interface Parts {
  /** The aggregator, and what stands between it and the metric. */
  before: string[];
  metric: string;
  /** What stands behind the metric. */
  braces: string;
}

/** The parts of a text, whatever its metric is called. */
function partsOf(text: string): Parts {
  const found = QUOTED.exec(text);
  if (found) return { before: text.slice(0, found.index).split(":"), metric: found[1]!.replace(/\\(.)/gs, (_, letter: string) => (letter === "n" ? "\n" : letter)), braces: found[2]! };
  const parts = text.split(":");
  // Braces behind a rate hold its settings.
  const braced = parts.findIndex((part) => part.includes("{") && !/^rate\{/i.test(part));
  const at = braced < 0 ? parts.length - 1 : braced;
  const [, metric = "", braces = ""] = /^([^{]*)(.*)$/s.exec(parts.slice(at).join(":"))!;
  return { before: parts.slice(0, at), metric, braces };
}

/** The metric of a text, whatever that says besides. */
export const metricOf = (text: string): string => partsOf(text.trim()).metric;

/** The form of a text; nothing where the text says more than the form can show. */
export function formOf(text: string): Form | null {
  const { before, metric, braces } = partsOf(text.trim());
  const [aggregator, ...parts] = before;
  const lists = /^(?:\{([^{}]*)\})?(?:\{([^{}]*)\})?$/.exec(braces);
  if (!lists || !aggregator || !/^[a-z0-9]+$/i.test(aggregator)) return null;
  const form: Form = { ...emptyForm(metric), aggregator, window: "", filters: [] };
  for (const part of parts) {
    const window = /^(\$step|\d+(?:ms|s|m|h|d|w|n|y))-([a-z0-9]+)(?:-(none|zero|nan|null))?$/.exec(part);
    if (window && !form.window) {
      [form.window, form.fold] = [window[1] ?? "", window[2] ?? ""];
      form.fill = window[3] === "none" ? "" : (window[3] ?? "") as Form["fill"];
    }
    else if (part === "rate") form.rate = "rate";
    else if (part === "rate{dropcounter}") form.rate = "counter";
    else return null;
  }
  for (const [index, splits] of [[1, true], [2, false]] as const) {
    for (const pair of (lists[index] ?? "").split(",").filter(Boolean)) {
      const at = pair.indexOf("=");
      if (at < 1) return null;
      form.filters.push({ label: pair.slice(0, at), pattern: pair.slice(at + 1), splits });
    }
  }
  return form;
}

/** OpenTSDB's text with a step where a window stands: between the aggregator and the metric, whatever that is called. */
export function withStep(text: string, step: string): string {
  const before = partsOf(text).before.join(":");
  return before.split(":").map((part) => (part.startsWith("$step-") ? `${step}${part.slice("$step".length)}` : part)).join(":") + text.slice(before.length);
}

/** How parts between the aggregator and the metric begin that mean something. */
const MEANT = /^(\$step-|\d|rate|explicit_tags|percentiles|pre-agg|rollup_|show-histogram-buckets)/i;

/** Parts between the aggregator and the metric that mean nothing, and are passed over. */
export const idleParts = (text: string): string[] => partsOf(text).before.slice(1).filter((part) => !MEANT.test(part));

/** Names that OpenTSDB's text has room for as they are. */
export const isPlainName = (name: string) => name !== "" && name === name.trim() && !/[:{},=\t\n\r]/.test(name) && !name.startsWith('"');

/** A metric as a text says it. What is no plain name stands in quotes. */
export const metricText = (name: string): string => (name === "" || isPlainName(name) ? name : quoted(name));

/** What to look for in the catalogue instead of a name that is none, and the form with one of those that are found. */
export interface Instead {
  of: UnknownName["of"];
  about: Record<string, string>;
  said: string;
  isPossible: (name: string) => boolean;
  form: (name: string) => Form;
}

export function insteadOf(form: Form, { of, name: unknown }: UnknownName): Instead | null {
  const isOther = (name: string) => name !== unknown && isPlainName(name);
  if (of === "metrics") {
    const search = form.metric.split(".").filter(Boolean).at(-1) ?? "";
    if (!search) return null;
    return { of, about: { search }, said: `Others with “${search}” in their names:`, isPossible: (name) => name !== unknown, form: (metric) => ({ ...form, metric }) };
  }
  const is = of === "labels" ? ({ label }: Filter) => label === unknown : ({ pattern }: Filter) => pattern.split("|").includes(unknown);
  const wrong = form.filters.find(is);
  if (!wrong) return null;
  const replaced = (part: Partial<Filter>): Form => ({ ...form, filters: form.filters.map((filter) => (filter === wrong ? { ...filter, ...part } : filter)) });
  if (of === "labels") {
    const isFree = (label: string) => isOther(label) && !form.filters.some((filter) => filter.label === label);
    return { of, about: { metric: form.metric }, said: `Labels of ${form.metric}:`, isPossible: isFree, form: (label) => replaced({ label }) };
  }
  return { of, about: { metric: form.metric, label: wrong.label }, said: `Values of ${wrong.label}:`, isPossible: (name) => isOther(name) && !/[|*()]/.test(name), form: (pattern) => replaced({ pattern }) };
}

const quoted = (name: string) => `"${name.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`;

/** A first question about a metric. */
export function about(metric: string, isCounter = false, filters: Filter[] = [], by?: "min" | "max"): Question {
  const text = textOf({ ...emptyForm(metric), ...(by ? { aggregator: by, fold: by } : {}), rate: isCounter ? "counter" : "", filters });
  return { language: "opentsdb", text, isForm: true, isHidden: false };
}

/** How a label is compared: with values and patterns of them, with what it must not be, or with a regular expression that it fits or not. */
export type Compared = "=" | "≠" | "~" | "!~";

const CALLED: [Compared, string][] = [["≠", "not_literal_or"], ["~", "regexp"], ["!~", "not_regexp"]];

/** How a pattern of OpenTSDB compares, and with what. */
export function comparedOf(pattern: string): { by: Compared; text: string } {
  const called = CALLED.find(([, name]) => pattern.startsWith(`${name}(`) && pattern.endsWith(")"));
  return called ? { by: called[0], text: pattern.slice(called[1].length + 1, -1) } : { by: "=", text: pattern };
}

export function patternOf(by: Compared, text: string): string {
  const called = CALLED.find(([name]) => name === by);
  return called && text && text !== "*" ? `${called[1]}(${text})` : text || "*";
}

/** What InfluxQL says of labels that a form wants; those of which all will do are not said. */
function influxTests(filters: Filter[]): string {
  const wanted = filters.filter(({ pattern }) => pattern !== "*");
  return wanted.map(({ label, pattern }) => {
    const { by, text } = comparedOf(pattern);
    if (by === "~" || by === "!~") return ` AND ${quoted(label)} ${by === "~" ? "=~" : "!~"} /${text.replace(/\//g, "\\/")}/`;
    if (by === "≠") return ` AND ${quoted(label)} !~ /^(${text.replace(/[.+?^$()[\]\\/]/g, "\\$&")})$/`;
    if (!/[*|]/.test(pattern)) return ` AND ${quoted(label)} = '${pattern.replace(/\\/g, "\\\\").replace(/'/g, "\\'")}'`;
    const regex = pattern.replace(/[.+?^$()[\]\\/]/g, "\\$&").replace(/\*/g, ".*");
    return ` AND ${quoted(label)} =~ /^(${regex})$/`;
  }).join("");
}

/** InfluxQL's function for what a form shows of values. */
const shownOf = (mean: string, rate: Form["rate"]) => (rate === "counter" ? `non_negative_derivative(${mean}, 1s)` : rate ? `derivative(${mean}, 1s)` : mean);

/** The percentage of a form's percentile, "95" of "p95". */
const percentOf = (fold: string) => /^p(\d+)$/.exec(fold)?.[1] ?? null;

/** InfluxQL's function for how a form makes a window one value. */
function foldedOf(field: string, fold: string): string {
  const percent = percentOf(fold);
  return percent ? `percentile(${field}, ${percent})` : `${fold === "avg" ? "mean" : fold}(${field})`;
}

/** InfluxQL's question about a field, with what a form says beside its metric: a line for each combination of such labels, "*" for all, and what its column is called. */
export function selectText(measurement: string, field = "*", part: Partial<Form> = {}, by = ["*"], as = ""): string {
  const { filters, rate, fill, window, fold } = { ...emptyForm(), ...part };
  const selected = shownOf(window ? foldedOf(field, fold) : field, rate);
  const grouped = [...(window ? [`time(${window})`] : []), ...by].join(", ") + (window && fill === "zero" ? " fill(0)" : "");
  return `SELECT ${selected}${as && ` AS "${as}"`} FROM ${quoted(measurement)} WHERE time >= $start AND time < $end${influxTests(filters)} GROUP BY ${grouped}`;
}

/** The halves of a metric's name that a line wrote, whose field stands behind the last point. */
function lineHalves(metric: string): Halves {
  const at = metric.lastIndexOf(".");
  return at > 0 ? { measurement: metric.slice(0, at), field: metric.slice(at + 1) } : { measurement: metric, field: "" };
}

/** A metric's texts as they are stored, in InfluxQL: only lines have some. */
export function storedTexts(metric: string, { measurement, field } = lineHalves(metric), filters: Filter[] = []): Question {
  return { language: "influxql", text: selectText(measurement, quoted(field || "value"), { window: "", filters }), isForm: false, isHidden: false };
}

/** How InfluxQL combines series that a form's aggregator combines, where it can. */
const COMBINED: Record<string, string> = { avg: "mean", sum: "sum", min: "min", max: "max", count: "count", dev: "stddev" };

/** A form's question in InfluxQL, about the measurement and the field that its metric is. Windows have a line for each value of the labels that split: of all samples at once, or first of each series where that is something else. */
export function influxqlOf(form: Form, { measurement, field }: Halves): string {
  const { aggregator, fold, rate, window } = form;
  const name = field ? quoted(field) : "*";
  const combined = percentOf(aggregator) ? foldedOf(`"${COLUMN}"`, aggregator) : COMBINED[aggregator] && `${COMBINED[aggregator]}("${COLUMN}")`;
  if (!window || !combined) return selectText(measurement, name, form);
  const splits = form.filters.filter((filter) => filter.splits).map(({ label }) => quoted(label));
  const isOne = aggregator === fold && !rate && ["avg", "sum", "min", "max"].includes(fold);
  // Without the field's name its columns have names that nobody knows yet.
  if (isOne || !field) return selectText(measurement, name, form, splits);
  const each = selectText(measurement, name, form, ["*"], COLUMN);
  return `SELECT ${combined} FROM (${each}) WHERE time >= $start AND time < $end GROUP BY ${[`time(${window})`, ...splits].join(", ")}`;
}

/** What a series' windows are called where they are combined. */
const COLUMN = "v";

/** A name as PromQL says it, in a selector. */
export const selectorOf = (name: string): string => (/^[a-zA-Z_:][\w:]*$/.test(name) ? name : `{${quoted(name)}}`);

/** A selector of the series that have such labels. */
export function filteredOf(name: string, filters: Filter[]): string {
  const tests = filters.filter(({ pattern }) => pattern !== "*").map(({ label, pattern }) => {
    const name = /^[a-zA-Z_]\w*$/.test(label) ? label : quoted(label);
    const { by, text } = comparedOf(pattern);
    if (by === "~" || by === "!~") return `${name}${by === "~" ? "=~" : "!~"}${quoted(`.*(${text}).*`)}`;
    if (by === "≠") return `${name}!~${quoted(text.replace(/[.+?^$()[\]\\]/g, "\\$&"))}`;
    const isPlain = !/[*|]/.test(pattern);
    const regex = pattern.replace(/[.+?^$()[\]\\]/g, "\\$&").replace(/\*/g, ".*");
    return `${name}${isPlain ? "=" : "=~"}${quoted(isPlain ? pattern : regex)}`;
  });
  const plain = selectorOf(name);
  return tests.length ? (plain.endsWith("}") ? `${plain.slice(0, -1)}, ${tests.join(", ")}}` : `${plain}{${tests.join(", ")}}`) : plain;
}

/** A selector's windows, each made one value. */
function overTime(selector: string, { window, fold }: Form): string {
  const percent = percentOf(fold);
  return percent ? `quantile_over_time(${Number(percent) / 100}, ${selector}[${window}])` : `${fold}_over_time(${selector}[${window}])`;
}

/** A form's question in PromQL, as far as that can say it, about the metric by the name that it has there. */
export function promqlOf(form: Form, name: string): string {
  const selector = filteredOf(name, form.filters);
  // The page's own step is that of PromQL's instants already.
  const isFixed = form.window !== "" && form.window !== "$step";
  const inner = form.rate ? `${form.rate === "counter" ? "rate" : "deriv"}(${selector}[${isFixed ? form.window : "5m"}])` : isFixed ? overTime(selector, form) : selector;
  const splits = form.filters.filter((filter) => filter.splits).map(({ label }) => label);
  const by = splits.length ? ` by (${splits.join(", ")})` : "";
  return ["avg", "sum", "min", "max", "count"].includes(form.aggregator) ? `${form.aggregator}${by} (${inner})` : inner;
}

/** The same question about samples as they are stored: of OpenTSDB's, what a form can show; of PromQL's, a selector alone; of InfluxQL's, series with their labels. */
export function raw(question: Question): Question {
  if (question.language === "promql" && /^\s*[\w:]*\s*(\{[^{}]*\})?\s*$/.test(question.text)) {
    return { ...question, text: `${question.text.trim()}[$range]` };
  }
  if (question.language === "influxql" && asksStored(question)) return { ...question, text: inSeries(question.text) };
  const form = question.language === "opentsdb" ? formOf(question.text) : null;
  return form ? { ...question, text: textOf({ ...form, aggregator: "none", window: "", rate: "" }) } : question;
}

/** Whether its samples are asked as they are stored, and not what is computed of them. */
export function asksStored({ language, text }: Question): boolean {
  if (language === "sql") return false;
  if (language === "opentsdb") return formOf(text) !== null;
  if (language === "promql") return raw({ language, text, isForm: false, isHidden: false }).text !== text || /^\s*[\w:]*\s*(\{[^{}]*\})?\s*\[[^\]]*\]\s*$/.test(text);
  return !/^\s*select\b[^]*?(\(|[-+/%&|^])[^]*?\bfrom\b/i.test(text.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, "x")) && !/\bfrom\s*\(/i.test(text);
}

/** Whether the answer is one thing as a share of another, which has no unit: of PromQL's, a quotient by more than a number. */
export const isShare = ({ language, text }: Question) =>
  language === "promql" && /\/\s*[^\s\d.]/.test(text.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'|#.*/g, ""));

/** Whether the answer is a speed. */
export function isRate(question: Question): boolean {
  return question.language === "opentsdb"
    ? /(^|:)rate(\{|:)/.test(question.text)
    : /\b((non_negative_)?derivative|i?rate|deriv)\s*\(/i.test(question.text);
}

/** Whether the answer is values from histograms, in the unit that those were observed in. */
export const isQuantile = ({ language, text }: Question) => language === "promql" && /\bhistogram_(quantile|avg|stddev|sum)\s*\(/.test(text);

/** Whether the answer tells by how much something grew, from time to time. */
export const isGrowth = (question: Question) => isRate(question) || (question.language === "promql" && /\bi?(increase|delta)\s*\(/.test(question.text));

export interface Body {
  language: Language;
  text: string;
  start_ms: number;
  end_ms: number;
  step_ms: number;
  unit?: "ns";
  /** Whether whole numbers that a browser would lose digits of come as texts. */
  exact?: boolean;
  /** Whether the answer tells how the question was read. */
  explain?: boolean;
  /** Whether the answer tells who made the series. */
  makers?: boolean;
  /** Whether nobody asks it: it is for a panel of this page. */
  by_itself?: boolean;
}

export const bodyOf = (question: Question, { start, end }: Span, stepMs: number): Body => ({
  language: question.language, text: question.text, start_ms: start, end_ms: end, step_ms: stepMs, explain: true, exact: true,
  // A table tells times as they are.
  ...(question.language === "sql" ? { unit: "ns" } : {}),
});

