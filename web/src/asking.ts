// Asking: the questions of Explore, or of a panel, over one range.

import { type Answer, Refusal, query } from "./api";
import { type Body, type Question, bodyOf, formOf, isRate, isShare, raw } from "./question";
import { type Series, greatest, numbers, sharedLabels, title } from "./series";
import type { Explored } from "./state";
import { type Span, span, step } from "./time";
import { type Unit, unitOf } from "./units";
import { LINES_MAX, type Line } from "./parts/chart";

/** Steps that a range is cut into: about one for each three pixels of a wide graph. */
export const STEPS_MAX = 400;

export const isAsked = (question: Question) =>
  !question.isHidden && question.text.trim() !== "" && (question.language !== "opentsdb" || formOf(question.text)?.metric !== "");

export interface Outcome {
  question: Question;
  answer: Answer | null;
  error: Error | null;
}

export interface Outcomes {
  span: Span;
  stepMs: number;
  outcomes: Outcome[];
  tookMs: number;
}

/** What is asked for a view: samples are asked as they are stored. */
export const asBody = (question: Question, view: Explored["view"], wanted: Span, stepMs: number): Body =>
  (view === "samples" ? { ...bodyOf(raw(question), wanted, stepMs), unit: "ns", makers: true } : bodyOf(question, wanted, stepMs));

/** Times in nanoseconds come as texts; beside them, milliseconds are kept as everywhere. */
function toMillis(answer: Answer): Answer {
  const series = answer.series.map((one) => {
    if (typeof one.times[0] !== "string") return one;
    const nanos = one.times as unknown as string[];
    return { ...one, nanos, times: nanos.map((text) => Math.floor(Number(text.slice(0, -3)) / 1000)) };
  });
  return { ...answer, series };
}

export async function askAll(explored: Explored, signal: AbortSignal, steps = STEPS_MAX): Promise<Outcomes> {
  const wanted = span(explored.range, Date.now(), explored.zone);
  if (!wanted) throw new Error("The range makes no sense: the beginning must be a time before the end, as 1h-ago or 2026/03/01-08:00, and neither before 1678 nor after 2262.");
  const stepMs = step(wanted.end - wanted.start, steps);
  const began = performance.now();
  const outcomes = await Promise.all(explored.questions.map(async (question): Promise<Outcome> => {
    if (!isAsked(question)) return { question, answer: null, error: null };
    try {
      const body = asBody(question, explored.view, wanted, stepMs);
      return { question, answer: toMillis(await query(explored.database, body, signal)), error: null };
    } catch (error) {
      // Where nobody answers it is not this question's fault.
      if (signal.aborted || (error instanceof Refusal && error.isSilence)) throw error;
      return { question, answer: null, error: error as Error };
    }
  }));
  return { span: wanted, stepMs, outcomes, tookMs: performance.now() - began };
}


export interface Drawn {
  lines: Line[];
  unit: Unit;
  series: Series[];
}

/** What answers come to as lines: the greatest, each with a name of its own, and a unit that fits them all. */
export function drawn(outcomes: Outcome[], top: number): Drawn {
  const rates = new Map(outcomes.flatMap(({ answer, question }) => (answer?.series ?? []).map((series) => [series, question] as const)));
  const all = greatest([...rates.keys()], top);
  const units = new Set(all.map((series) => {
    const question = rates.get(series)!;
    // What PromQL computes has no name, but its text has one.
    return isShare(question) ? "plain" : unitOf(series.name ? `${series.name} ${series.field}` : question.text, isRate(question));
  }));
  const shared = sharedLabels(all);
  const seen = new Map<string, number>();
  const lines = all.slice(0, LINES_MAX).map((series): Line => {
    const told = title(series, shared);
    const name = told === "{}" ? rates.get(series)!.text : told;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return { title: count > 1 ? `${name} (${count})` : name, times: series.times, values: numbers(series) };
  });
  return { lines, unit: units.size === 1 ? [...units][0]! : "plain", series: all };
}
