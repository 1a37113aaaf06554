// Lines of the audit log: which of them are about a metric, and what they say in words.

import type { Act } from "./api";
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

const keptText = (seconds: number | null | undefined) => (seconds == null ? "for ever" : spanText(seconds * 1000));

/** What was done, and to what. */
export function whatOf(act: Act): string {
  const { subject, selector, asked, to, kept_s, keep_s } = act;
  if (act.act === "keep") return `${keptText(keep_s)}, before ${keptText(kept_s)}`;
  return [asked ?? selector ?? subject ?? "", to === undefined ? "" : `to ${to}`].filter(Boolean).join(" ");
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
