// Buckets of a classic histogram over time: how much fell into each.

import { type Series, numbers } from "./series";

export interface Heat {
  times: number[];
  /** Upper bounds of the buckets, the least first, as their labels say them. */
  bounds: string[];
  /** By bucket, at each time; nothing where nothing is known. */
  cells: (number | null)[][];
  most: number;
}

/** The label that tells a bucket's upper bound. */
const BOUND = "le";

const bound = (text: string) => (/^\+?inf$/i.test(text) ? Infinity : Number(text));

/** Fewer buckets are better drawn as lines. */
const BUCKETS_MIN = 2;

export const areBuckets = (all: Series[]): boolean =>
  new Set(all.map(({ labels }) => labels[BOUND])).size >= BUCKETS_MIN && all.every(({ labels }) => labels[BOUND] !== undefined && !Number.isNaN(bound(labels[BOUND])));

/** Columns that a gathered one holds for each that a sample takes, so that one more or less does not show. */
const GATHERED = 2;

/** How many columns make one of which all have some growth, where samples lie farther apart than columns. */
function gatheredColumns(total: number[]): number {
  const grew = total.flatMap((value, at) => (value > 0 ? [at] : []));
  const apart = grew.slice(1).map((at, index) => at - grew[index]!).sort((a, b) => a - b);
  return apart.some((gap) => gap > 1) ? (apart[Math.floor(apart.length / 2)] ?? 1) * GATHERED : 1;
}

/** Columns put together by so many; each is told at its last time. */
function gathered(sums: Map<number, number>, times: number[], columns: number): Map<number, number> {
  const made = new Map<number, number>();
  for (let from = 0; from < times.length; from += columns) {
    const some = times.slice(from, from + columns);
    const there = some.flatMap((time) => sums.get(time) ?? []);
    if (there.length) made.set(some.at(-1)!, there.reduce((sum, value) => sum + value, 0));
  }
  return made;
}

/** Counts of series by bucket and time: those of one bound are added up, less what the buckets below hold. Counters that only grow are told by how much they grew. */
export function heat(all: Series[], isRate: boolean): Heat {
  const byBound = new Map<string, Map<number, number>>();
  for (const series of all) {
    const text = series.labels[BOUND]!;
    const sums = byBound.get(text) ?? new Map<number, number>();
    byBound.set(text, sums);
    const values = numbers(series);
    let before: number | null = null;
    series.times.forEach((time, at) => {
      const value = values[at] ?? null;
      if (value === null || !Number.isFinite(value)) return;
      // A counter that begins anew has grown by all that it is.
      const grown = isRate ? value : before === null ? null : value < before ? value : value - before;
      before = value;
      if (grown !== null) sums.set(time, (sums.get(time) ?? 0) + grown);
    });
  }
  const bounds = [...byBound.keys()].sort((a, b) => bound(a) - bound(b));
  const timesOf = () => [...new Set([...byBound.values()].flatMap((sums) => [...sums.keys()]))].sort((a, b) => a - b);
  let times = timesOf();
  // The greatest bound holds all that there is.
  const total = byBound.get(bounds.at(-1) ?? "");
  const columns = isRate || !total ? 1 : gatheredColumns(times.map((time) => total.get(time) ?? 0));
  if (columns > 1) {
    for (const [text, sums] of byBound) byBound.set(text, gathered(sums, times, columns));
    times = timesOf();
  }
  let most = 0;
  const cells = bounds.map((text, at) => times.map((time) => {
    const whole = byBound.get(text)!.get(time);
    if (whole === undefined) return null;
    const below = at ? byBound.get(bounds[at - 1]!)!.get(time) ?? 0 : 0;
    const own = Math.max(0, whole - below);
    most = Math.max(most, own);
    return own;
  }));
  return { times, bounds, cells, most };
}

/** A bucket by its bounds. */
export const bucketText = (bounds: string[], at: number) => (at ? `${bounds[at - 1]} – ${bounds[at]}` : `up to ${bounds[0]}`);
