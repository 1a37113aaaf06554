// How fast values come in: over about a minute, since senders that gather theirs come all at once.

import type { Moment, Status } from "./api";

const MINUTE_MS = 60_000;

/** Looks at the counters that lie nearer to each other make no rate. */
const LEAST_MS = 500;

/** What the counters said at a time, by protocol. */
export interface Look {
  atMs: number;
  samples: Record<string, number>;
}

export const lookOf = ({ now_ms, ingest }: Pick<Status, "now_ms" | "ingest">): Look =>
  ({ atMs: now_ms, samples: Object.fromEntries(Object.entries(ingest).map(([way, { samples = 0 }]) => [way, samples])) });

export const pastLook = ({ at_ms, samples }: Pick<Moment, "at_ms" | "samples">): Look => ({ atMs: at_ms, samples });

export interface Rates {
  byWay: Record<string, number>;
  total: number;
  /** Over how long. */
  overMs: number;
}

/** Rates up to a look: since the last of the others that is a minute older, or else since the oldest; a server that began meanwhile had counted nothing. */
export function ratesAt(now: Look, others: Look[], startMs: number): Rates | null {
  const before = [{ atMs: startMs, samples: {} }, ...others].filter(({ atMs }) => atMs >= startMs && atMs <= now.atMs - LEAST_MS).sort((a, b) => a.atMs - b.atMs);
  const from: Look | undefined = before.filter(({ atMs }) => atMs <= now.atMs - MINUTE_MS).at(-1) ?? before[0];
  if (!from) return null;
  const overMs = now.atMs - from.atMs;
  const byWay = Object.fromEntries(Object.entries(now.samples).map(([way, count]) => [way, (1000 * Math.max(0, count - (from.samples[way] ?? 0))) / overMs]));
  return { byWay, total: Object.values(byWay).reduce((sum, rate) => sum + rate, 0), overMs };
}
