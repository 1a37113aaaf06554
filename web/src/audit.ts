// Lines of the audit log: which of them are about a metric, and what they say in words.

import type { Act } from "./api";
import { comparedOf } from "./question";
import { plain } from "./series";
import { spanText, timeText } from "./time";
import { format, many } from "./units";

/** Names as the log has them: measurement and field, each in quotes, or * for any. */
function spellings(metric: string): string[] {
  const quoted = JSON.stringify(metric);
  const at = metric.lastIndexOf(".");
  const halves = at > 0 ? [JSON.stringify(metric.slice(0, at)), JSON.stringify(metric.slice(at + 1))] : null;
  return [`${quoted}."value"`, `${quoted}.*`, ...(halves ? [`${halves[0]}.${halves[1]}`, `${halves[0]}.*`] : [])];
}

/** Whether what was done is about a metric's samples. */
export function concerns({ selector = "" }: Pick<Act, "selector">, metric: string): boolean {
  // Labels stand behind the names.
  const names = selector.split(" {")[0]!.split(" or ");
  const at = metric.lastIndexOf(".");
  const [begin, field] = [`${JSON.stringify(metric.slice(0, at))}.`, JSON.stringify(metric.slice(at + 1))];
  const isListed = (name: string) => at > 0 && name.startsWith(begin) && name.slice(begin.length).split("|").includes(field);
  return names.includes("*") || names.some(isListed) || spellings(metric).some((spelling) => names.includes(spelling));
}

/** How labels are compared, as one reads it. */
function filterText(label: string, pattern: string): string {
  const { by, text } = comparedOf(pattern);
  return `${plain(label)} ${by} ${plain(text)}`;
}

/** What a delete by patterns asked for, in words; as it stands where it is something else. */
export function askedText(asked: string): string {
  let told: { metric?: unknown; metrics?: unknown; labels?: unknown; filters?: unknown };
  try {
    told = JSON.parse(asked) as typeof told;
  } catch {
    return plain(asked);
  }
  const pairs = (of: unknown): [string, string][] => Object.entries(of && typeof of === "object" ? of : {}).map(([name, value]) => [name, String(value)]);
  const { metric, metrics, labels, filters } = told ?? {};
  const whose = metric !== undefined ? plain(String(metric)) : metrics !== undefined ? `metrics called ${plain(String(metrics))}` : "all metrics";
  const tests = [...pairs(labels).map(([name, value]) => `${plain(name)} = ${plain(value)}`), ...pairs(filters).map(([label, pattern]) => filterText(label, pattern))];
  return tests.length ? `${whose}, with ${tests.join(" and ")}` : whose;
}

/** What was selected, in words, where it is one metric or all; as the log has it where it is something else. */
export function selectedText(selector: string): string {
  const [, names = "", labels = ""] = /^(.*?) \{(.*)\}$/s.exec(selector) ?? [];
  // A metric may be a measurement by itself, or one with a field, which stands behind it.
  const metric = /^("(?:[^"\\]|\\.)*")\."value"( or |$)/.exec(names)?.[1];
  let whose = names === "*" ? "all metrics" : "";
  try {
    const name = metric ? JSON.parse(metric) as string : "";
    if (name && names.split(" or ").every((one) => spellings(name).includes(one))) whose = plain(name);
  } catch {
    // It stays as it is.
  }
  if (!whose) return plain(selector);
  return labels ? `${whose}, with ${plain(labels)}` : whose;
}

const keptText = (seconds: number | null | undefined) => (seconds == null ? "for ever" : spanText(seconds * 1000));

/** What was done, and to what. */
export function whatOf(act: Act): string {
  const { subject, selector, asked, to, kept_s, keep_s } = act;
  if (act.act === "keep") return `${keptText(keep_s)}, before ${keptText(kept_s)}`;
  return [asked ? askedText(asked) : selector === undefined ? subject ?? "" : selectedText(selector), to === undefined ? "" : `to ${to}`].filter(Boolean).join(" ");
}

/** Of a delete: the time from which and until when. */
export function overOf({ act, first_ms, last_ms }: Act): string {
  if (act !== "delete") return "";
  const said = (at: number | null | undefined, none: string) => (at == null ? none : timeText(at, "local").slice(0, 19));
  return first_ms == null && last_ms == null ? "all of the time" : `${said(first_ms, "the first")} to ${said(last_ms, "the last")}`;
}

/** How many samples went; nothing of what took none away. */
export const tookOf = ({ samples, series }: Act): string =>
  (samples === undefined ? "" : `${many(samples, "sample")}${series === undefined ? "" : ` of ${format(series)} series`}`);

/** Who wanted it: a user, and by which door and from where. */
export const whoOf = ({ by, door, from }: Act): string => [by, `${door}${from ? ` from ${from.replace(/:\d+$/, "")}` : ""}`].filter(Boolean).join(", ");
