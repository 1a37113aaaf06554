// What somebody wants to be taken away, as it is typed.

import type { Doomed } from "./api";
import { instant } from "./time";

/** "host=a, rack=r" as labels; nothing where it is none of that. */
export function labelsOf(text: string): Record<string, string> | null {
  const labels: Record<string, string> = {};
  for (const part of text.split(",").map((piece) => piece.trim()).filter(Boolean)) {
    const at = part.indexOf("=");
    const [name, value] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    if (at < 1 || !name || !value || /[*|]/.test(value)) return null;
    labels[name] = value;
  }
  return labels;
}

/** What is meant, or what is wrong with it. Empty fields mean all until now: what comes later was not counted, and must not go. */
export function doomed(metric: string, labels: string, from: string, to: string, nowMs: number): Doomed | string {
  const wanted = labelsOf(labels);
  if (!wanted) return "Labels are names and exact values: host=web1, rack=r2";
  const made: Doomed = { metric, ...(Object.keys(wanted).length ? { labels: wanted } : {}) };
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
  const found = /^\s*([^{},\s]+)\s*(?:\{([^{}]*)\}|,(.*))?\s*$/.exec(text);
  const bare = (found?.[2] ?? found?.[3] ?? "").replace(/="([^"]*)"/g, "=$1");
  const labels = found ? labelsOf(bare) : null;
  return found?.[1] && labels ? { measurement: found[1], labels } : null;
}
