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

/** Growth that comes every few columns, because samples lie farther apart, gathered into columns that all have some. */
function gathered(sums: Map<number, number>): Map<number, number> {
  const entries = [...sums].sort(([a], [b]) => a - b);
  const grew = entries.flatMap(([, value], at) => (value > 0 ? [at] : []));
  const apart = grew.slice(1).map((at, index) => at - grew[index]!).sort((a, b) => a - b);
  const usual = apart[Math.floor(apart.length / 2)] ?? 1;
  const width = usual > 1 || apart.some((gap) => gap > 1) ? usual * GATHERED : 1;
  if (width === 1) return sums;
  const made = new Map<number, number>();
  for (let from = 0; from < entries.length; from += width) {
    const some = entries.slice(from, from + width);
    made.set(some.at(-1)![0], some.reduce((sum, [, value]) => sum + value, 0));
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
  if (!isRate) for (const [text, sums] of byBound) byBound.set(text, gathered(sums));
  const bounds = [...byBound.keys()].sort((a, b) => bound(a) - bound(b));
  const times = [...new Set([...byBound.values()].flatMap((sums) => [...sums.keys()]))].sort((a, b) => a - b);
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
