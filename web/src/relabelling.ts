// Labels as they are typed to try rules on, and what a rule has changed in them.

import { pairsOf, seriesOf } from "./doomed";

/** `up{job="a"}`, `{job="a"}` or `job=a, env=b` as labels; nothing where it is none of that. */
export function typedLabels(text: string): Record<string, string> | null {
  const typed = text.trim();
  const braced = /^\{(.*)\}$/s.exec(typed);
  if (braced || /^[^{]*=|^"|^$/.test(typed)) return pairsOf(braced ? braced[1]! : typed);
  const series = seriesOf(typed);
  return series && { __name__: series.measurement, ...series.labels };
}

const BARE = /^[^\s"\\,={}]+$/;

const spelled = (text: string) => (BARE.test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`);

/** Labels as somebody would type them. */
export const shownLabels = (labels: Record<string, string>) => Object.entries(labels).map(([name, value]) => `${spelled(name)}=${spelled(value)}`).join(", ");

export interface Change {
  name: string;
  value: string;
  kind: "same" | "new" | "other" | "gone";
}

/** All labels of before and after, by name, each with what became of it. */
export function changesOf(before: Record<string, string>, after: Record<string, string>): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.map((name) => {
    const [old, now] = [before[name], after[name]];
    if (now === undefined) return { name, value: old ?? "", kind: "gone" };
    return { name, value: now, kind: old === undefined ? "new" : old === now ? "same" : "other" };
  });
}
