// Numbers as people read them, with a unit guessed from the name of what they measure.

export type Unit = "plain" | "bytes" | "bytes/s" | "seconds" | "percent" | "/s";

/** What is said of lines in a unit. */
const SAID: Record<Unit, string> = { plain: "plain numbers", bytes: "bytes", "bytes/s": "bytes a second", seconds: "seconds", percent: "percent", "/s": "numbers a second" };

/** Units as a sentence names them: "bytes, percent and seconds". */
export const unitsText = (units: Unit[]): string => units.map((unit) => SAID[unit]).join(", ").replace(/, ([^,]*)$/, " and $1");

const DECIMAL = ["", "k", "M", "G", "T", "P"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

function scaled(value: number, base: number, prefixes: string[]): [number, string] {
  let size = value;
  let index = 0;
  while (Math.abs(size) >= base && index + 1 < prefixes.length) {
    size /= base;
    index += 1;
  }
  return [size, prefixes[index] ?? ""];
}

/** Significant digits that people read. */
const DIGITS = 3;

/** Digits that tell neighbours on an axis apart, at most. */
const DIGITS_MAX = 9;

/** Some significant digits, without zeros that say nothing. */
function digits(value: number, count: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(count - 1).replace(/\.?0+e/, "e");
  const text = size >= 10 ** (count - 1) || size === 0 ? value.toFixed(0) : value.toPrecision(count);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function seconds(value: number, count: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${digits(value * 1e6, count)} µs`;
  if (size < 1) return `${digits(value * 1e3, count)} ms`;
  if (size < 120) return `${digits(value, count)} s`;
  if (size < 7200) return `${digits(value / 60, count)} min`;
  return size < 172800 ? `${digits(value / 3600, count)} h` : `${digits(value / 86400, count)} d`;
}

export function format(value: number | null | undefined, unit: Unit = "plain", count = DIGITS): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return String(value);
  if (unit === "seconds") return seconds(value, count);
  if (unit === "percent") return `${digits(value, count)} %`;
  const isBytes = unit === "bytes" || unit === "bytes/s";
  const [size, prefix] = scaled(value, isBytes ? 1024 : 1000, isBytes ? BINARY : DECIMAL);
  const name = unit === "bytes" ? "B" : unit === "bytes/s" ? "B/s" : unit === "/s" ? "/s" : "";
  const gap = isBytes || (name && prefix) ? " " : "";
  return `${digits(size, count)}${gap}${prefix}${name}`;
}

/** Significant digits of a number in a table: more are what sums of fractions leave behind. */
const TABLE_DIGITS = 10;

/** A value of a table as people read it; whole numbers keep all their digits. */
export function inShort(value: unknown): string {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(TABLE_DIGITS)));
}

/** So many things of a kind: "1 sample", "2 samples". */
export const many = (count: number, one: string, several = `${one}s`): string => `${format(count)} ${count === 1 ? one : several}`;

/** Whether numbers that stand in texts of one unit are as far apart as each other: a step of 0.025 needs its last digit. */
function isEven(texts: string[]): boolean {
  const parts = texts.map((text) => /^([-−]?[\d.]+)(.*)$/.exec(text));
  if (texts.length < 3 || parts.some((part) => part?.[2] !== parts[0]?.[2])) return true;
  const values = parts.map((part) => Number(part![1]!.replace("−", "-")));
  const step = (values.at(-1)! - values[0]!) / (values.length - 1);
  return values.every((value, at) => Math.abs(value - (values[0]! + at * step)) <= Math.abs(step) / 20);
}

/** Ticks of an axis, with as many digits as tell them apart. */
export function ticksOf(ticks: number[], unit: Unit): string[] {
  for (let count = DIGITS; ; count += 1) {
    const texts = ticks.map((tick) => format(tick, unit, count));
    if (count === DIGITS_MAX || (new Set(texts).size === texts.length && isEven(texts))) return texts;
  }
}

/** What a metric of this name most likely counts. */
export function unitOf(metric: string, isRate: boolean): Unit {
  const words = metric.toLowerCase().split(/[^a-z0-9]+/);
  const has = (...wanted: string[]) => wanted.some((word) => words.includes(word));
  // Of a histogram they say how many there were of what its name tells the unit of.
  if (has("bucket") || words.at(-1) === "count") return isRate ? "/s" : "plain";
  if (words.some((word) => /^(percent|pct)|(percent|pct)$/.test(word)) && !isRate) return "percent";
  if (has("bytes", "byte", "octets") || (words.includes("meminfo") && !isRate)) return isRate ? "bytes/s" : "bytes";
  if (has("seconds", "secs", "duration") && !isRate) return "seconds";
  return isRate ? "/s" : "plain";
}

/** Steps between the ticks of an axis: round in the unit's own base. */
export function tickSteps(unit: Unit): number[] {
  const steps: number[] = [];
  if (unit === "bytes" || unit === "bytes/s") {
    // Means of few bytes lie between whole ones.
    for (const part of [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]) steps.push(part);
    for (let power = 1; power <= 2 ** 60; power *= 1024) {
      for (const factor of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]) steps.push(power * factor);
    }
    return steps;
  }
  for (let power = -9; power <= 18; power += 1) {
    for (const factor of [1, 2, 2.5, 5]) steps.push(Number(`${factor}e${power}`));
  }
  return steps;
}
