// What somebody wants to be taken away, as it is typed.

import type { Doomed } from "./api";
import type { Filter } from "./question";
import { instant } from "./time";

/** A name or a value, in quotes or with a backslash before what would end it, and all that stands behind it. */
function word(text: string, ends: string): { word: string; rest: string } | null {
  const begun = text.trimStart();
  const isQuoted = begun.startsWith('"');
  let said = "";
  for (let at = isQuoted ? 1 : 0; at <= begun.length; at += 1) {
    const mark = begun[at];
    if (mark === "\\" && at + 1 < begun.length) said += begun[at += 1];
    else if (isQuoted && mark === '"') return { word: said, rest: begun.slice(at + 1).trimStart() };
    else if (!isQuoted && (mark === undefined || ends.includes(mark))) return { word: said.trim(), rest: begun.slice(at) };
    else if (mark !== undefined) said += mark;
  }
  return null;
}

/** `host=a, rack="r, s"` as labels; nothing where it is none of that, or names one twice. */
export function pairsOf(text: string): Record<string, string> | null {
  const labels = new Map<string, string>();
  for (let rest = text.trim(); rest; rest = rest.replace(/^,\s*/, "")) {
    if (rest.startsWith(",")) continue;
    const name = word(rest, "=,");
    if (!name?.word || !name.rest.startsWith("=") || labels.has(name.word)) return null;
    const value = word(name.rest.slice(1), ",");
    if (!value || (value.rest && !value.rest.startsWith(","))) return null;
    labels.set(name.word, value.word);
    rest = value.rest;
  }
  return Object.fromEntries(labels);
}

/** The same, where values are exact and none looks as if it were a pattern. */
export function labelsOf(text: string): Record<string, string> | null {
  const labels = pairsOf(text);
  const isExact = ([name, value]: [string, string]) => value && !/[*|]/.test(value) && !/[!~]$/.test(name) && !/^[=~]/.test(value);
  return labels && Object.entries(labels).every(isExact) ? labels : null;
}

/** What a form wants deleted: of a metric, or of all of them. Its labels are exact, whatever letters they have. */
export interface Meant {
  metric?: string;
  labels?: Record<string, string>;
}

/** What OpenTSDB's filters look like that are called by their names. */
const CALLED = /^(not_)?(i?literal_or|i?wildcard|regexp)\(.*\)$/s;

/** What is meant, or what is wrong with it. Empty fields mean all until now: what comes later was not counted, and must not go. */
export function doomed(meant: Meant, compared: Filter[], from: string, to: string, nowMs: number): Doomed | string {
  const labels = new Map(Object.entries(meant.labels ?? {}));
  const filters = new Map<string, string>();
  for (const { label, pattern } of compared) {
    // A value that is no pattern is meant letter by letter.
    const isPattern = /[*|]/.test(pattern) || CALLED.test(pattern);
    (isPattern || labels.has(label) ? filters : labels).set(label, pattern);
  }
  const members = (name: "labels" | "filters", of: Map<string, string>) => (of.size ? { [name]: Object.fromEntries(of) } : {});
  const made: Doomed = { ...(meant.metric ? { metric: meant.metric } : {}), ...members("labels", labels), ...members("filters", filters) };
  for (const [name, text, side] of [["start_ms", from, "From"], ["end_ms", to, "To"]] as const) {
    if (!text.trim() && name === "start_ms") continue;
    const at = instant(text, nowMs, "local");
    if (at === null) return `${side} must be a time, as 30d-ago or 2026/03/01-08:00`;
    made[name] = Math.round(at);
  }
  if (made.start_ms !== undefined && made.end_ms !== undefined && made.start_ms > made.end_ms) return "From must not be after To";
  return made;
}

/** "cpu{host=a}" or "cpu,host=a" as measurement and labels; nothing where it is neither. */
export function seriesOf(text: string): { measurement: string; labels: Record<string, string> } | null {
  const name = word(text, "{, ");
  const behind = name?.rest.trim() ?? "";
  const braced = /^\{(.*)\}$/s.exec(behind);
  if (!name?.word || /[{}]/.test(name.word) || (!braced && behind && !behind.startsWith(","))) return null;
  // Of a line what stands behind a blank is its fields.
  const ofLine = /^,(?:\\.|[^\\ ])*(?= \S+=)/.exec(behind)?.[0] ?? behind;
  const labels = labelsOf(braced ? braced[1]! : ofLine.slice(1));
  return labels && { measurement: name.word, labels };
}
