// The window that a question names itself, in the words of its language: it goes along when the language changes.

import { type Language, type Question, formOf, textOf } from "./question";
import { sqlWindow, withSqlWindow } from "./sql";

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
