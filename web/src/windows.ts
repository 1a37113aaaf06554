// The window that a question names itself, in the words of its language: it goes along when the language changes.

import { type Language, type Question, formOf, textOf } from "./question";
import { sqlWindow, withSqlWindow } from "./sql";
import { durationText } from "./time";

/** Where InfluxQL's text says its windows. */
const INFLUX_WINDOW = /\btime\(\s*(\$step|\d+(?:ms|s|m|h|d|w))(?=\s*[,)])/i;

/** The window that a text names, "$step" for the page's; nothing where it has none, or PromQL says it in another way. */
export function windowOf({ language, text }: Pick<Question, "language" | "text">): string | null {
  switch (language) {
    case "opentsdb": return formOf(text)?.window || null;
    case "influxql": return INFLUX_WINDOW.exec(text)?.[1] ?? null;
    case "sql": return sqlWindow(text);
    default: return null;
  }
}

/** What an answer's points are apart, by its question: its own windows or, where those are the page's, so many milliseconds; nothing where it has none. */
export function stepOf(question: Pick<Question, "language" | "text">, stepMs: number): string | null {
  // PromQL is asked at instants, whatever ranges its text names.
  if (question.language === "promql") return durationText(stepMs);
  const window = windowOf(question) ?? (question.text.includes("$step") ? "$step" : null);
  return window === "$step" ? durationText(stepMs) : window;
}

/** The text with another window, where it has one. */
export function withWindow(language: Language, text: string, window: string): string {
  if (language === "influxql") {
    // A statement within another has the same window.
    const before = INFLUX_WINDOW.exec(text)?.[1];
    return text.replace(new RegExp(INFLUX_WINDOW, "gi"), (all, one) => (one === before ? `time(${window}` : all));
  }
  if (language === "sql") return withSqlWindow(text, window);
  const form = language === "opentsdb" ? formOf(text) : null;
  return form?.window ? textOf({ ...form, window }) : text;
}
