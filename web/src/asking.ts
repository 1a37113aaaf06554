// Asking: the questions of Explore, or of a panel, over one range.

import { type Answer, Refusal, type Stated } from "./api";
import { type Body, type Question, TO_FILL_IN, bodyOf, formOf, isQuantile, isRate, isShare, raw } from "./question";
import { type Series, greatest, numbers, plain, sharedLabels, title } from "./series";
import type { Explored } from "./state";
import { answerOf } from "./statements";
import { type Span, durationMs, durationText, rangeFault, span, step } from "./time";
import { type Until, endOf, finished, wholeUntil } from "./unfinished";
import { type Unit, unitOf } from "./units";
import { LINES_MAX, type Line } from "./parts/chart";
import { mapped, pause, pooled } from "./slices";
import { windowOf } from "./windows";

/** Steps that a range is cut into: about one for each three pixels of a wide graph. */
export const STEPS_MAX = 400;

/** Steps that somebody may choose to cut a range into, as many as Prometheus takes. */
const STEPS_CHOSEN_MAX = 11_000;

/** Questions that are asked at a time; browsers have no more connections to one server. */
const ASKED_AT_ONCE = 6;

export const isAsked = (question: Question) =>
  !question.isHidden && question.text.trim() !== "" && !question.text.includes(TO_FILL_IN) && (question.language !== "opentsdb" || formOf(question.text)?.metric !== "");

/** A part of a question's text that is asked in its place, as long as the text is this. */
export interface Part {
  index: number;
  of: string;
  text: string;
}

/** The questions as they are asked. */
export const asPart = (questions: Question[], part: Part | null): Question[] =>
  questions.map((question, index) => (part?.index === index && part.of === question.text ? { ...question, text: part.text, isForm: false } : question));

export interface Outcome {
  question: Question;
  answer: Answer | null;
  error: Error | null;
  /** How it was asked, where that was in steps. */
  until?: Until;
}

/** Why a question, or one of its statements, has no answer. */
export const firstError = ({ error, answer }: Outcome): Error | null => error ?? answer?.statements?.find((one) => one.error)?.error ?? null;

export interface Outcomes {
  span: Span;
  stepMs: number;
  outcomes: Outcome[];
  tookMs: number;
}

/** Whether its answer may be shown as rows, whose times are told as they are: InfluxQL's without windows. */
const mayBeRows = (question: Question) => question.language === "influxql" && windowOf(question) === null;

/** What is asked for a view: samples are asked as they are stored. */
export function asBody(question: Question, view: Explored["view"], wanted: Span, stepMs: number): Body {
  if (view === "samples") return { ...bodyOf(raw(question), wanted, stepMs), unit: "ns", makers: true };
  return { ...bodyOf(question, wanted, stepMs), ...(mayBeRows(question) ? { unit: "ns" } : {}) };
}

/** Times in nanoseconds come as texts; beside them, milliseconds are kept as everywhere. */
function toMillis(one: Series): Series {
  if (typeof one.times[0] !== "string") return one;
  const nanos = one.times as unknown as string[];
  return { ...one, nanos, times: nanos.map((text) => Math.floor(Number(text.slice(0, -3)) / 1000)) };
}

/** Samples that a step should hold where it is compared with the one before: of fewer, now one more falls into it and now one less, and a counter that grows steadily looks ragged. */
const RATED_SAMPLES_MIN = 4;

/** Steps that are left of a range, however far its samples lie apart. */
const RATED_STEPS_MIN = 12;

/** The step that a question's answer should have had, by how far its samples lie apart: what was asked, or more for a rate. */
export function ratedStep(question: Question, { series, figures }: Pick<Answer, "series" | "figures">, body: Body): number {
  if (question.language !== "opentsdb" || !isRate(question) || !question.text.includes("$step-")) return body.step_ms;
  let [first, last] = [Infinity, -Infinity];
  for (const { times } of series) {
    first = Math.min(first, times[0] ?? Infinity);
    last = Math.max(last, times.at(-1) ?? -Infinity);
  }
  if (first > last || !figures.samples_read) return body.step_ms;
  const covered = last - first + body.step_ms;
  const apart = (covered * figures.series_read) / figures.samples_read;
  const range = body.end_ms - body.start_ms;
  const wanted = Math.min(RATED_SAMPLES_MIN * apart, range / RATED_STEPS_MIN);
  // Times a little apart are no reason to ask again.
  return wanted > body.step_ms * 1.1 ? step(range, range / (wanted * 0.95)) : body.step_ms;
}

/** The answer to a text with something else made of its series, or of those of each of its statements. */
async function remade(answer: Answer, text: string, make: (all: Series[], text: string) => Promise<Series[]>): Promise<Answer> {
  if (!answer.statements) return { ...answer, series: await make(answer.series, text) };
  const statements: Stated[] = [];
  for (const one of answer.statements) statements.push(one.answer ? { ...one, answer: await remade(one.answer, one.text, make) } : one);
  return { ...answer, statements, series: statements.flatMap((one) => one.answer?.series ?? []) };
}

/** The samples of a question as they are stored. */
async function stored(database: string, question: Question, body: Body, signal: AbortSignal): Promise<Answer> {
  const answer = await answerOf(database, body, signal);
  // The table of samples is in the same file. Where that does not come, all of it is asked again.
  const { completed } = await import("./pages/files").catch(() => { throw new Refusal(0, "The server does not answer, and a part of the page is to be fetched from it.", null); });
  await pause();
  return remade(answer, question.text, async (all, text) => completed(await mapped(all, toMillis, signal), { ...question, text }, database, signal));
}

/** The answer to a question; one about rates is asked again where a step that nobody chose is finer than its samples. */
export async function answered(database: string, question: Question, body: Body, signal: AbortSignal, isChosen = false): Promise<Answer & { until: Until }> {
  const nowMs = Date.now();
  const ask = (step_ms: number) => answerOf(database, { ...body, step_ms, end_ms: endOf(question, { stepMs: step_ms, endMs: body.end_ms, nowMs }) }, signal);
  let answer = await ask(body.step_ms);
  const stepMs = isChosen ? body.step_ms : ratedStep(question, answer, body);
  if (stepMs > body.step_ms) {
    answer = await ask(stepMs);
    answer = { ...answer, notes: [...answer.notes, `Samples lie too far apart for rates of ${durationText(body.step_ms)}; these are of ${durationText(stepMs)}.`] };
  }
  // What is made of it follows in tasks of its own.
  await pause();
  const until = { stepMs: Math.max(stepMs, body.step_ms), endMs: body.end_ms, nowMs };
  const made = await remade(answer, question.text, async (all) => (await mapped(all, (one) => finished(toMillis(one), question, until), signal)).filter(({ times }, at) => times.length || !all[at]!.times.length));
  return { ...made, until };
}

/** The step of a range: what was chosen, as far as its lines are not too long, or a round one that cuts it into so many. */
export function stepMsOf(chosen: string, { start, end }: Span, steps: number): number {
  if (!chosen) return step(end - start, steps);
  const ms = durationMs(chosen);
  if (ms === null || ms < 1) throw new Error(`The step “${chosen}” is no duration: write 10s, 5m or 1h, or choose auto.`);
  const count = Math.ceil((end - start) / ms);
  if (count <= STEPS_CHOSEN_MAX) return ms;
  throw new Error(`Steps of ${chosen} make ${count} points of each line over this range, and ${STEPS_CHOSEN_MAX} are the most: choose ${durationText(step(end - start, STEPS_CHOSEN_MAX))} or more, or auto.`);
}

/** What Explore asks about now: the range, and the step that it is cut into. What makes no sense is an error that says so. */
export function wantedOf({ range, zone, step: chosen }: Explored, steps = STEPS_MAX): { span: Span; stepMs: number } {
  const wanted = span(range, Date.now(), zone);
  if (!wanted) throw new Error(`The range makes no sense: ${rangeFault(range, Date.now(), zone)}`);
  return { span: wanted, stepMs: stepMsOf(chosen, wanted, steps) };
}

export async function askAll(explored: Explored, signal: AbortSignal, steps = STEPS_MAX): Promise<Outcomes> {
  const { span: wanted, stepMs } = wantedOf(explored, steps);
  const began = performance.now();
  const outcomes = await pooled(explored.questions, ASKED_AT_ONCE, async (question): Promise<Outcome> => {
    if (!isAsked(question)) return { question, answer: null, error: null };
    try {
      const body = asBody(question, explored.view, wanted, stepMs);
      // Samples as they are stored are all there, and have no steps.
      const isStored = explored.view === "samples";
      if (isStored) return { question, answer: await stored(explored.database, question, body, signal), error: null };
      const { until, ...answer } = await answered(explored.database, question, body, signal, explored.step !== "");
      return { question, answer, error: null, until };
    } catch (error) {
      // Where nobody answers it is not this question's fault.
      if (signal.aborted || (error instanceof Refusal && error.isSilence)) throw error;
      return { question, answer: null, error: error as Error };
    }
  });
  return { span: wanted, stepMs, outcomes, tookMs: performance.now() - began };
}

export interface Drawn {
  lines: Line[];
  unit: Unit;
  series: Series[];
  /** The unit of one of them, also where they have no axis in common. */
  unitIn: (series: Series) => Unit;
  /** The question that one of them answers, and its letter, if there are several questions. */
  questionIn: (series: Series) => Question;
  letterIn: (series: Series) => string;
  /** What one of them is called, behind its letter. */
  titleIn: (series: Series) => string;
  /** Labels that all of them have with the same value, which no title repeats. */
  shared: [string, string][];
}

/** The letter that a question has in front of its row. */
export const letterOf = (at: number) => String.fromCharCode(65 + (at % 26));

/** What a line without name and labels is called: by its column, or by what computes it. */
const unnamed = ({ field }: Series, { language, text }: Question) => (language === "sql" && field ? plain(field) : text);

/** What answers come to as lines: the greatest, each with a name of its own, behind its question's letter if those are wanted, and the unit of the first; those of a second one say so. Three units and more have no axis in common, and each line is told in its own. */
export function drawn(outcomes: Outcome[], top: number, hasLetters = false): Drawn {
  const rates = new Map(outcomes.flatMap(({ answer, question }) => (answer?.series ?? []).map((series) => [series, question] as const)));
  const letters = new Map(outcomes.map(({ question }, at) => [question, letterOf(at)]));
  const all = greatest([...rates.keys()], top);
  const unitIn = unitsOf(rates);
  const units = [...new Set(all.map(unitIn))];
  const [unit = "plain", other] = units.length > 2 ? [] : units;
  const shared = sharedLabels(all);
  const questionIn = (series: Series) => rates.get(series)!;
  const wholes = new Map(outcomes.flatMap(wholesOf));
  const letterIn = (series: Series) => (hasLetters ? letters.get(questionIn(series))! : "");
  const titleIn = (series: Series) => {
    const told = title(series, shared);
    return `${letterIn(series)} ${told === "{}" ? unnamed(series, questionIn(series)) : told}`.trimStart();
  };
  const seen = new Map<string, number>();
  const lines = all.slice(0, LINES_MAX).map((series): Line => {
    const name = titleIn(series);
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    const until = wholes.get(series) ?? Infinity;
    const isCut = series.times.at(-1)! > until && series.times[0]! <= until;
    return { title: count > 1 ? `${name} (${count})` : name, times: series.times, values: numbers(series), ...(isCut ? { wholeUntil: until } : {}), ...(unitIn(series) === unit ? {} : { unit: unitIn(series), isRight: unitIn(series) === other }) };
  });
  const pairs = Object.entries(all[0]?.labels ?? {}).filter(([name, value]) => shared.has(`${name}\0${value}`));
  return { lines, unit, series: all, unitIn, questionIn, letterIn, titleIn, shared: pairs };
}

/** Up to when the windows of each series are over, where that is told by the text of its question or statement. */
function wholesOf({ question: { language, text }, answer, until }: Outcome): [Series, number][] {
  if (!until || !answer) return [];
  const parts: { text: string; series: Series[] }[] = answer.statements?.map((one) => ({ text: one.text, series: one.answer?.series ?? [] })) ?? [{ text, series: answer.series }];
  return parts.flatMap((part) => {
    const last = wholeUntil({ language, text: part.text }, until);
    return last === Infinity ? [] : part.series.map((series): [Series, number] => [series, last]);
  });
}

/** What tells the unit of a series; many of them have one question and one name. */
function unitsOf(questions: Map<Series, Question>): (series: Series) => Unit {
  const known = new Map<Question, Map<string, Unit>>();
  return (series) => {
    const question = questions.get(series)!;
    const byName = known.get(question) ?? new Map<string, Unit>();
    known.set(question, byName);
    // What PromQL computes has no name, but its text has one.
    const name = series.name ? `${series.name} ${series.field}` : question.text;
    const unit = byName.get(name) ?? (isShare(question) ? "plain" : isQuantile(question) ? unitOf(name.replace(/_bucket\b/g, ""), false) : unitOf(name, isRate(question)));
    byName.set(name, unit);
    return unit;
  };
}
