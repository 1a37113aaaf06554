// Windows that go on behind the end of what was asked: what is counted or added up in them until then is less than it
// will be, and how fast it grew is less, too. It would look like an outage.

import { type Question, formOf, isRate } from "./question";
import type { Series } from "./series";
import { durationMs } from "./time";
import { windowOf } from "./windows";

type Asked = Pick<Question, "language" | "text">;

/** How long the windows of a question are; nothing where it has none. PromQL's reach back, and are always over. */
export function windowMs(question: Asked, stepMs: number): number | null {
  const window = windowOf(question);
  return window === "$step" ? stepMs : durationMs(window ?? "");
}

/** Whether a form compares its windows with those before them: these are shown once they are over. */
const isFormRate = ({ language, text }: Asked): boolean => language === "opentsdb" && Boolean(formOf(text)?.rate);

/** Whether a window has less in it as long as it is not over: a mean has not, and a sum of series misses those that come later. */
function isLess({ language, text }: Asked): boolean {
  if (language === "opentsdb") {
    const form = formOf(text);
    return form !== null && !form.rate && (/^(sum|count)$/.test(form.fold) || /sum$|^count$/i.test(form.aggregator));
  }
  const code = text.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, "");
  return /\b(sum|count|(non_negative_)?difference)\s*\(/i.test(code) || isRate({ language, text: code, isForm: false, isHidden: false });
}

/** How a question was asked: in which steps, up to when, and when. */
export interface Until {
  stepMs: number;
  endMs: number;
  nowMs: number;
}

/** Up to when a form's rate is asked: its last window goes on behind the end of a range, and has all of its samples where that is past. */
export function endOf(question: Asked, { stepMs, endMs, nowMs }: Until): number {
  const window = isFormRate(question) ? windowMs(question, stepMs) : null;
  return window === null ? endMs : Math.max(endMs, Math.min(nowMs, endMs + window));
}

/** A series of a form's rate without windows that begin behind the range, or are not over, unless these are all of it. */
export function finished(one: Series, question: Asked, until: Until): Series {
  const window = isFormRate(question) ? windowMs(question, until.stepMs) : null;
  if (window === null) return one;
  const within = before(one, until.endMs);
  const whole = before(within, Math.min(endOf(question, until), until.nowMs) - window);
  return whole.times.length ? whole : within;
}

/** A series without what stands behind an instant. */
function before(one: Series, last: number): Series {
  let end = one.times.length;
  while (end && one.times[end - 1]! > last) end -= 1;
  if (end === one.times.length) return one;
  return { ...one, times: one.times.slice(0, end), values: one.values.slice(0, end), ...(one.kinds ? { kinds: one.kinds.slice(0, end) } : {}) };
}

/** The last time at which a window may begin that is over, where one that is not has less in it. A text that does not name the page's range ends by itself, now at the latest. */
export function wholeUntil(question: Asked, { stepMs, endMs, nowMs }: Until): number {
  const window = windowMs(question, stepMs);
  if (window === null || !isLess(question)) return Infinity;
  const isBound = question.language === "opentsdb" || /\$end\b/.test(question.text);
  return (isBound ? Math.min(endMs, nowMs) : nowMs) - window;
}
