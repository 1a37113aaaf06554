// Series of an answer: their names, figures, and the shapes that a graph, a table and a file want.

import type { Span } from "./time";

export type Value = number | string | boolean | null;

/** Who made a series: sent its first sample, as far as that is known. */
export interface Maker {
  protocol: string;
  from: "address" | "itself" | "others";
  address: string | null;
  at_ms: number;
}

export interface Series {
  name: string;
  field: string;
  labels: Record<string, string>;
  varying: string[];
  /** Of InfluxQL, where several rows have one time: the row of each sample. */
  rows?: number[];
  kind: string;
  /** Of each sample, where they differ. */
  kinds?: string[];
  times: number[];
  /** The times to the nanosecond, where that was asked. */
  nanos?: string[];
  values: Value[];
  made_by?: Maker;
  /** What it is stored as, where that was asked: it may be called otherwise. */
  stored?: { measurement: string; field: string };
}

/** A text with the letters that nobody sees, or that turn the direction of writing, said by their numbers. */
export const plain = (text: string) => text.replace(/[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu, (letter) => (letter === "\n" ? "\\n" : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`));

/** The name of a series, without its labels. */
export const nameOf = (series: Series): string => plain(series.field && series.field !== "value" ? `${series.name} ${series.field}` : series.name);

/** Names of the labels that some of the series have, in order. */
export const labelsOf = (all: Series[]): string[] => [...new Set(all.flatMap(({ labels }) => Object.keys(labels)))].sort();

/** What a series is called, without what all series of the answer have in common. */
export function title(series: Series, shared: Set<string>): string {
  const labels = Object.entries(series.labels).filter(([name, value]) => !shared.has(`${name}\0${value}`));
  const name = nameOf(series);
  const told = labels.map(([label, value]) => `${plain(label)}=${plain(value)}`).join(", ");
  // What PromQL computes has no name.
  if (!name) return `{${told}}`;
  return labels.length ? `${name} {${told}}` : name;
}

/** Labels that every series has with the same value, if there are several series. */
export function sharedLabels(all: Series[]): Set<string> {
  const [first, ...rest] = all;
  if (!first || !rest.length) return new Set();
  const pairs = Object.entries(first.labels);
  return new Set(pairs.filter(([name, value]) => rest.every((series) => series.labels[name] === value))
    .map(([name, value]) => `${name}\0${value}`));
}

/** Whether a value is a whole number that came as a text, because numbers of a browser would lose its last digits. */
export const isExact = ({ kind, kinds, values }: Pick<Series, "kind" | "kinds" | "values">, index: number): boolean =>
  typeof values[index] === "string" && ["integer", "unsigned"].includes(kinds?.[index] ?? kind);

/** The values as numbers; what is none has no place in a graph. */
export const numbers = (series: Series): (number | null)[] =>
  series.values.map((value, index) => (typeof value === "number" ? value : typeof value === "boolean" || isExact(series, index) ? Number(value) : null));

export interface Figures {
  last: number | null;
  min: number | null;
  mean: number | null;
  max: number | null;
}

export function figures(values: (number | null)[]): Figures {
  const found: Figures = { last: null, min: null, mean: null, max: null };
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (value === null) continue;
    found.last = value;
    found.min = found.min === null || value < found.min ? value : found.min;
    found.max = found.max === null || value > found.max ? value : found.max;
    sum += value;
    count += 1;
  }
  found.mean = count ? sum / count : null;
  return found;
}

/** Gaps this many times wider than usual are shown as gaps. */
const GAP_FACTOR = 3.5;

/** Puts a hole where samples are missing, so that no line is drawn across. */
export function withHoles(times: number[], values: (number | null)[]): [number[], (number | null)[]] {
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  const usual = [...gaps].sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
  if (!gaps.some((gap) => gap > usual * GAP_FACTOR)) return [times, values];
  const outTimes: number[] = [];
  const outValues: (number | null)[] = [];
  times.forEach((time, index) => {
    const before = times[index - 1];
    if (before !== undefined && time - before > usual * GAP_FACTOR) {
      outTimes.push(before + usual);
      outValues.push(null);
    }
    outTimes.push(time);
    outValues.push(values[index] ?? null);
  });
  return [outTimes, outValues];
}

/** Each line on top of those before; what is missing counts as nothing. */
export function stacked(lines: (number | null | undefined)[][]): number[][] {
  let below: number[] = [];
  return lines.map((line) => {
    below = line.map((value, index) => (below[index] ?? 0) + (value ?? 0));
    return below;
  });
}

/** From the first to the last sample, where none of them lies in a range. */
export function beyond(all: Series[], range: Span): Span | null {
  let [start, end] = [Infinity, -Infinity];
  for (const { times } of all) {
    for (const time of times) {
      if (time >= range.start && time <= range.end) return null;
      start = Math.min(start, time);
      end = Math.max(end, time);
    }
  }
  return start <= end ? { start, end } : null;
}

/** The greatest by their means, greatest first; all of them, as they are, for 0. */
export function greatest(all: Series[], count: number): Series[] {
  if (!count) return all;
  const ranked = all.map((series) => ({ series, mean: figures(numbers(series)).mean ?? -Infinity }));
  return ranked.sort((a, b) => b.mean - a.mean).slice(0, count).map(({ series }) => series);
}

export interface Sample {
  series: Series;
  index: number;
}

/** The samples of a series from the newest on; its times rise or fall. */
class Backwards {
  private left: number;
  private readonly step: 1 | -1;
  private time = 0;
  /** What is below the second, of times to the nanosecond. */
  private below = 0;
  index: number;

  constructor(readonly series: Series, private readonly place: number) {
    const { times } = series;
    this.left = times.length;
    this.step = (times[0] ?? 0) > (times.at(-1) ?? 0) ? 1 : -1;
    this.index = this.step === 1 ? 0 : times.length - 1;
    this.look();
  }

  get isDone(): boolean {
    return this.left === 0;
  }

  move() {
    this.left -= 1;
    this.index += this.step;
    this.look();
  }

  /** Of equal times, the one whose series stands before. */
  isBefore(other: Backwards): boolean {
    const apart = this.time - other.time || this.below - other.below || other.place - this.place;
    return apart > 0;
  }

  private look() {
    this.time = this.series.times[this.index] ?? 0;
    this.below = Number(this.series.nanos?.[this.index]?.slice(-9) ?? 0);
  }
}

/** The newest samples of all series, newest first. Of many series few have any, so a heap finds them. */
export function newest(all: Series[], count: number): Sample[] {
  const heap = all.map((series, place) => new Backwards(series, place)).filter(({ isDone }) => !isDone);
  const sink = (from: number) => {
    const moved = heap[from]!;
    let at = from;
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      if (left >= heap.length) break;
      const child = right < heap.length && heap[right]!.isBefore(heap[left]!) ? right : left;
      if (!heap[child]!.isBefore(moved)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = moved;
  };
  for (let at = (heap.length >> 1) - 1; at >= 0; at -= 1) sink(at);
  const found: Sample[] = [];
  while (heap.length && found.length < count) {
    const top = heap[0]!;
    found.push({ series: top.series, index: top.index });
    top.move();
    if (top.isDone) {
      const last = heap.pop()!;
      if (heap.length) heap[0] = last;
    }
    if (heap.length) sink(0);
  }
  return found;
}

/** Whether a metric is called as Prometheus' counters are. A `…total` behind a point may as well be the size of a disk. */
export const isCounterName = (metric: string): boolean => /_total$/.test(metric);

/** A counter that begins again falls to so little of what it was. */
const RESTARTED = 0.2;

/** Steps of floats from which on they tell that something is counted. */
const FLOAT_STEPS_MIN = 20;

/** Whether the samples only grow, but for a few restarts: then their speed says more. */
export function isCounter(series: Series[], metric: string): boolean {
  let [steps, falls, rises, restarts] = [0, 0, 0, 0];
  for (const one of series) {
    const values = numbers(one).filter((value) => value !== null);
    for (let index = 1; index < values.length; index += 1) {
      const change = (values[index] ?? 0) - (values[index - 1] ?? 0);
      steps += 1;
      if (change < 0 && (values[index] ?? 0) <= RESTARTED * (values[index - 1] ?? 0)) restarts += 1;
      else if (change < 0) falls += 1;
      if (change > 0) rises += 1;
    }
  }
  // What begins again so often counts nothing: it goes up and down.
  if (restarts * 5 > steps || restarts * 4 > rises) return false;
  // Prometheus' counters are called so, and are floats.
  if (isCounterName(metric)) return falls * 50 <= steps;
  // So are the parts of its histograms and summaries, and others.
  if (/_(bucket|count|sum)$/.test(metric)) return rises > 0 && falls * 50 <= steps;
  if (series.every(({ kind }) => kind === "integer")) return steps >= 4 && rises > 0 && falls * 50 <= steps;
  // Floats that somebody counts in are whole, and grow with each of many samples.
  const areWhole = series.every((one) => numbers(one).every((value) => value === null || Number.isInteger(value)));
  return areWhole && steps >= FLOAT_STEPS_MIN && rises + restarts === steps;
}

/** A number as text: zero keeps its sign. */
export const spelled = (value: unknown): string => (Object.is(value, -0) ? "-0" : String(value));

const ENDS: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\\0" };

/** A text on one line, with what ends one behind a backslash. */
export const lineOfText = (text: string): string => text.replace(/[\\\n\r\0]/g, (letter) => ENDS[letter]!);

/** A value as a cell between commas, on one line. None is empty, and an empty text is not. */
export function madeCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value === "") return "\\e";
  const text = lineOfText(spelled(value));
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
