// Questions that the server tells of, as addresses of Explore that ask them again.

import type { Told } from "./api";
import { formOf } from "./question";
import { unexplored, write } from "./state";
import { durationText, spanText, timeText } from "./time";

/** So much is shown before the one instant that a question was about. */
const BEFORE_MS = 3_600_000;

/** Steps of a range that Explore takes. */
const STEPS_MAX = 11_000;

/** The address that asks it again, in its database, over its range; nothing where no address can. */
export function askingAgain({ question, database }: Pick<Told, "question" | "database">): string | null {
  if (!question?.texts.length) return null;
  const { language, texts, start_ms: start, end_ms: end, step_ms: step } = question;
  const explored = { ...unexplored(), database };
  if (start !== null && end !== null) {
    explored.range = { start: String(start < end ? start : end - BEFORE_MS), end: String(end) };
    if (step !== null && (end - start) / step <= STEPS_MAX) explored.step = durationText(step);
  }
  const questions = texts.map((text) => ({ language, text, isForm: language === "opentsdb" && formOf(text) !== null, isHidden: false }));
  return write({ ...explored, questions });
}

/** Over which time it was asked, for a person; "" where that is not known, or stands in the text. */
export function askedOver({ question }: Pick<Told, "question">): string {
  if (!question || question.start_ms === null || question.end_ms === null) return "";
  const { start_ms: start, end_ms: end, step_ms: step } = question;
  const until = timeText(end, "local").slice(0, 19);
  return `${start < end ? `${spanText(end - start)} until ${until}` : `at ${until}`}${step === null ? "" : `, every ${durationText(step)}`}`;
}
