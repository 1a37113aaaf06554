// What is stored of what questions are about, where a range has no samples of it: from when until when there are some,
// and whether they are texts, for which some languages have no answer.

import { type Facts, facts } from "./api";
import { namedIn } from "./influxql";
import { halvesOf, storedFields } from "./metric";
import { metricsIn, quotedMetricsIn } from "./promql";
import { type Question, formOf, metricOf, storedTexts } from "./question";
import { tablesIn } from "./sql";
import type { Span } from "./time";
import { bare, resembling } from "./unknown";

/** Questions that are looked into, and metrics or measurements of each. */
const ASKED_MAX = 8;

type About = { metric: string } | { measurement: string };

/** What a question is about, as the store names it. */
async function aboutOf({ language, text }: Question, database: string, signal: AbortSignal): Promise<About[]> {
  if (language === "opentsdb") return [{ metric: metricOf(text) }];
  if (language === "sql") return tablesIn(text).map((measurement) => ({ measurement }));
  if (language === "influxql") return [namedIn(text)?.measurement ?? ""].map((measurement) => ({ measurement }));
  const named = [...new Set([...metricsIn(text), ...quotedMetricsIn(text)])].slice(0, ASKED_MAX);
  const found = await Promise.all(named.map(async (name) => (await resembling(name, database, signal)).filter((metric) => bare(metric) === bare(name))));
  return found.flat().map((metric) => ({ metric }));
}

/** The span of all of these; nothing where none has a sample. */
export function spanOf(all: Pick<Facts, "first_ms" | "last_ms">[]): Span | null {
  const known = all.flatMap(({ first_ms: start, last_ms: end }) => (start === null || end === null ? [] : [{ start, end }]));
  return known.length ? { start: Math.min(...known.map(({ start }) => start)), end: Math.max(...known.map(({ end }) => end)) } : null;
}

/** A metric of texts that a question is about, and what shows them. */
export interface Texts {
  metric: string;
  question: Question;
  instead: Question;
  /** From the first to the last of them. */
  span: Span;
}

export interface Known {
  /** From the first to the last sample of all that may be answered. */
  span: Span | null;
  texts: Texts[];
}

/** Whether all values are texts. */
const areTexts = ({ kinds }: Pick<Facts, "kinds">) => kinds.length > 0 && kinds.every((kind) => kind === "string");

/** The texts that a question is about, if these are all of it and its language has no answer of texts. */
async function textsOf(question: Question, about: About[], found: Facts[], database: string): Promise<Texts | null> {
  const [first] = about;
  const span = spanOf(found);
  if (!first || !("metric" in first) || !span || !found.every(areTexts)) return null;
  const { metric } = first;
  const filters = question.language === "opentsdb" ? formOf(question.text)?.filters ?? [] : [];
  return { metric, question, instead: storedTexts(metric, await halvesOf(metric, storedFields(database)), filters), span };
}

export async function knownOf(questions: Question[], database: string, signal: AbortSignal): Promise<Known> {
  const all = await Promise.all(questions.slice(0, ASKED_MAX).map(async (question) => {
    const about = (await aboutOf(question, database, signal)).filter((one) => Object.values(one)[0] !== "").slice(0, ASKED_MAX);
    const found = await Promise.all(about.map((one) => facts({ db: database, ...one }, signal)));
    return { found, texts: await textsOf(question, about, found, database) };
  }));
  return { span: spanOf(all.flatMap(({ found, texts }) => (texts ? [] : found))), texts: all.flatMap(({ texts }) => texts ?? []) };
}
