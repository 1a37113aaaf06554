// Times, ranges and steps. Instants are milliseconds since 1970; what a person asks for is kept as
// text ("1h-ago", "2026/03/01-08:00") and becomes an instant only when it is asked.

/** The browser's own, UTC, or one by its IANA name, as Europe/Vienna. */
export type Zone = string;

const clocks = new Map<Zone, Intl.DateTimeFormat | null>();

/** What tells the time of a zone by its name; nothing where the browser does not know it. */
function clock(zone: Zone): Intl.DateTimeFormat | null {
  const known = clocks.get(zone);
  if (known !== undefined) return known;
  let made: Intl.DateTimeFormat | null = null;
  try {
    const two = "2-digit";
    made = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hourCycle: "h23", year: "numeric", month: two, day: two, hour: two, minute: two, second: two });
  } catch {
    // There is no such zone.
  }
  clocks.set(zone, made);
  return made;
}

export const isZone = (text: string): boolean => text === "local" || text === "utc" || (text !== "" && clock(text) !== null);

/** Zones that the browser can name. */
export const zones = (): string[] => Intl.supportedValuesOf?.("timeZone") ?? [];

/** What names of zones begin with. */
const AREAS = ["Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"];

/** The zone that a text means: one by its name, "+02:00", or the first whose name holds the text, as "berlin". */
export function zoneNamed(text: string): Zone | null {
  const said = text.trim().toLowerCase().replace(/ /g, "_");
  if (!said) return null;
  if (/^(utc|etc\/utc|gmt|z)$/.test(said)) return "utc";
  const offset = /^(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2}))?$/.exec(said);
  if (offset) {
    const [, sign, hours = "", minutes = "00"] = offset;
    const exact = `${sign}${hours.padStart(2, "0")}:${minutes}`;
    // Older browsers know whole hours only, whose names count the other way round.
    const named = `Etc/GMT${sign === "+" ? "-" : "+"}${Number(hours)}`;
    return isZone(exact) ? exact : minutes === "00" && isZone(named) ? named : null;
  }
  const all = zones();
  const city = (name: string) => name.toLowerCase().split("/").at(-1)!;
  const found = all.find((name) => name.toLowerCase() === said) ?? all.find((name) => city(name) === said)
    ?? all.find((name) => city(name).startsWith(said)) ?? all.find((name) => name.toLowerCase().includes(said));
  // Browsers list some cities by the names that they had before, and know the others all the same.
  const renamed = () => AREAS.map((area) => `${area}/${said.replace(/(^|_)[a-z]/g, (letter) => letter.toUpperCase())}`).find(isZone);
  return found ?? (isZone(text.trim()) ? text.trim() : renamed() ?? null);
}

/** The clock of a zone at an instant, as if it were that of UTC. */
function wallMs(at: number, zone: Zone): number {
  if (zone === "utc") return at;
  if (zone === "local" || !isZone(zone)) return at - new Date(at).getTimezoneOffset() * MINUTE;
  const found = Object.fromEntries(clock(zone)!.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = found;
  const millis = ((at % SECOND) + SECOND) % SECOND;
  return Date.UTC(year, month - 1, day, hour, minute, second) + millis;
}

/** The instant at which the clock of a zone shows that: the first of two where it is set back, and as if it were not yet set where it is set forward. */
function instantOf(wall: number, zone: Zone): number {
  const [before, after] = [-DAY, DAY].map((by) => wall - (wallMs(wall + by, zone) - (wall + by))) as [number, number];
  return [before, after].find((at) => wallMs(at, zone) === wall) ?? before;
}

export interface Range {
  start: string;
  end: string;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNITS: Record<string, number> = {
  ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY, n: 30 * DAY, y: 365 * DAY,
};

export const RANGES = ["5m", "15m", "1h", "6h", "24h", "7d", "30d"];

/** "90s", or "1h30m", in milliseconds. */
export function durationMs(text: string): number | null {
  const said = text.trim();
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdwny]))+$/.test(said)) return null;
  const parts = said.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdwny])/g);
  return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit!]!, 0);
}

/** 90 000 ms as "90s", in the largest unit that divides it. */
export function durationText(millis: number): string {
  for (const [unit, size] of [["d", DAY], ["h", HOUR], ["m", MINUTE], ["s", SECOND]] as const) {
    if (millis >= size && millis % size === 0) return `${millis / size}${unit}`;
  }
  return `${Math.round(millis)}ms`;
}

/** How long ago or how long, as a person says it: "3 d 4 h". */
export function spanText(millis: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, millis);
  for (const [unit, size] of [["d", DAY], ["h", HOUR], ["min", MINUTE], ["s", SECOND]] as const) {
    const count = Math.floor(rest / size);
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
    rest -= count * size;
  }
  return parts.join(" ") || `${Math.round(millis)} ms`;
}

/** How long ago an instant is. */
export function agoText(at: number): string {
  const millis = Date.now() - at;
  return millis < 1000 ? "just now" : `${spanText(millis)} ago`;
}

/** Instants of samples are nanoseconds in 64 bits: from 1678 to 2262. */
const INSTANT_MAX = 9.2e12;

/** The instant that a text means: "now", "1h-ago", "now-1h", seconds or milliseconds, or a date. */
export function instant(text: string, nowMs: number, zone: Zone): number | null {
  const at = meant(text, nowMs, zone);
  return at === null || Math.abs(at) > INSTANT_MAX ? null : at;
}

function meant(text: string, nowMs: number, zone: Zone): number | null {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed === "now") return nowMs;
  const ago = /^(.+)-ago$/.exec(trimmed);
  if (ago?.[1]) {
    const span = durationMs(ago[1]);
    return span === null ? null : nowMs - span;
  }
  // As Grafana and InfluxQL say it; a month is M there.
  const from = /^now(?:\(\))?\s*([-+])\s*(\S+)$/.exec(trimmed);
  if (from?.[2]) {
    const span = durationMs(from[2].replace(/M$/, "n"));
    return span === null ? null : nowMs + (from[1] === "-" ? -span : span);
  }
  // OpenTSDB's rule: ten digits and fewer are seconds.
  if (/^-?\d+$/.test(trimmed)) {
    const number = Number(trimmed);
    return Math.abs(number) < 1e11 ? number * SECOND : number;
  }
  return dateMs(trimmed, zone);
}

/** Whether a text means another instant from one moment to the next, as "1h-ago" does, and a date does not. */
export const moves = (text: string): boolean => instant(text, 0, "utc") !== instant(text, SECOND, "utc");

const DATE = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[-T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

/** A date as programs write it, of ISO 8601 or OpenTSDB; one that names no zone is read in this one. There is no 30 February. */
export function dateMs(text: string, zone: Zone): number | null {
  const found = DATE.exec(text.trim());
  if (!found) return null;
  const part = (index: number) => Number(found[index] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(part) as [number, number, number, number, number, number];
  // A year of two digits would be of the last century to Date.UTC.
  const at = new Date(0);
  at.setUTCFullYear(year, month - 1, day);
  const isDay = month >= 1 && month <= 12 && day >= 1 && at.getUTCMonth() === month - 1 && at.getUTCDate() === day;
  // Midnight may be said as the end of its day.
  const isClock = minute <= 59 && second <= 59 && (hour <= 23 || (hour === 24 && !minute && !second));
  const offset = found[8] ? offsetMs(found[8]) : 0;
  if (!isDay || !isClock || offset === null) return null;
  const wall = at.getTime() + hour * HOUR + minute * MINUTE + second * SECOND + Number((found[7] ?? "").padEnd(3, "0").slice(0, 3));
  return found[8] ? wall - offset : instantOf(wall, zone);
}

/** The nanoseconds of a date that are below its milliseconds, six digits; more than nine digits of a second are cut. */
export const belowMillis = (text: string): string => (DATE.exec(text.trim())?.[7] ?? "").slice(3, 9).padEnd(6, "0");

/** "+02:00", "+0200" or "+02" in milliseconds, 0 for "Z"; nothing where no zone is so far away. */
function offsetMs(text: string): number | null {
  const found = /^([+-])(\d{2}):?(\d{2})?$/.exec(text);
  if (Number(found?.[2] ?? 0) > 23 || Number(found?.[3] ?? 0) > 59) return null;
  const size = Number(found?.[2] ?? 0) * HOUR + Number(found?.[3] ?? 0) * MINUTE;
  return found?.[1] === "-" ? -size : size;
}

export interface Span {
  start: number;
  end: number;
}

/** The range as instants; nothing where it makes no sense. */
export function span(range: Range, nowMs: number, zone: Zone): Span | null {
  const start = instant(range.start, nowMs, zone);
  const end = instant(range.end, nowMs, zone);
  return start === null || end === null || start >= end ? null : { start, end };
}

/** Which end of a range is wrong, and why; "" where none is. */
export function rangeFault({ start, end }: Range, nowMs: number, zone: Zone): string {
  const shown = (text: string) => (/^\d{11,}$/.test(text) ? timeText(Number(text), zone) : text);
  const [from, to] = [instant(start, nowMs, zone), instant(end, nowMs, zone)];
  const noTime = (which: string, text: string) => `the ${which}, “${shown(text)}”, is no time from 1678 to 2262. Write now, 1h-ago or now-7d, or a date as 2026/03/01-08:00.`;
  if (from === null) return noTime("beginning", start);
  if (to === null) return noTime("end", end);
  if (from < to) return "";
  if (from > nowMs) return `the beginning, “${shown(start)}”, lies in the future, and ${moves(end) ? `the end, “${end}”, does not` : `behind the end, “${shown(end)}”`}.`;
  return `the end, “${shown(end)}”, must lie behind the beginning, “${shown(start)}”.`;
}

/** Days of the calendar that are asked again and again. */
export const CALENDAR = ["today", "yesterday", "this week", "last week", "this month", "last month"] as const;

/** Such days by the clock of a zone; a week begins with Monday. */
export function calendarSpan(name: (typeof CALENDAR)[number], nowMs: number, zone: Zone): Span {
  const now = new Date(wallMs(nowMs, zone));
  const day = (months: number, days: number) => instantOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, days), zone);
  const today = now.getUTCDate();
  const monday = today - ((now.getUTCDay() + 6) % 7);
  switch (name) {
    case "today": return { start: day(0, today), end: day(0, today + 1) };
    case "yesterday": return { start: day(0, today - 1), end: day(0, today) };
    case "this week": return { start: day(0, monday), end: day(0, monday + 7) };
    case "last week": return { start: day(0, monday - 7), end: day(0, monday) };
    case "this month": return { start: day(0, 1), end: day(1, 1) };
    default: return { start: day(-1, 1), end: day(0, 1) };
  }
}

/** The range moved by a share of itself, and never beyond now; with a positive share to later. */
export function moved({ start, end }: Span, share: number, nowMs: number): Span {
  const wanted = Math.round((end - start) * share);
  const by = share > 0 ? Math.min(wanted, Math.max(0, Math.round(nowMs - end))) : wanted;
  return { start: start + by, end: end + by };
}

/** Room beside what is shown of a range of its own, as a share of it, and at least. */
const [ROOM, ROOM_MS] = [0.02, SECOND];

/** A range in which all of a span is seen, with a little room. */
export function roomy({ start, end }: Span): Range {
  const room = Math.max(ROOM_MS, Math.round((end - start) * ROOM));
  return { start: String(start - room), end: String(end + room) };
}

/** Twice the range around the same middle, and never beyond now. */
export function widened({ start, end }: Span, nowMs: number): Span {
  const half = Math.round((end - start) / 2);
  const over = Math.max(0, end + half - Math.max(end, Math.round(nowMs)));
  return { start: start - half - over, end: end + half - over };
}

const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
  MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
  HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY,
];

/** A round step that cuts a range into at most so many. */
export function step(rangeMs: number, steps: number): number {
  const least = rangeMs / Math.max(1, steps);
  return STEPS.find((candidate) => candidate >= least) ?? 365 * DAY;
}

function parts(at: number, zone: Zone) {
  const time = new Date(wallMs(at, zone));
  const two = (number: number) => String(number).padStart(2, "0");
  return {
    year: String(time.getUTCFullYear()), month: two(time.getUTCMonth() + 1), day: two(time.getUTCDate()),
    hour: two(time.getUTCHours()), minute: two(time.getUTCMinutes()), second: two(time.getUTCSeconds()),
    millis: String(time.getUTCMilliseconds()).padStart(3, "0"),
  };
}

/** An instant as ISO 8601 has it, without milliseconds where there are none. */
export function timeText(at: number, zone: Zone): string {
  const p = parts(at, zone);
  const millis = p.millis === "000" ? "" : `.${p.millis}`;
  return `${p.year}-${p.month}-${p.day} ${p.hour}:${p.minute}:${p.second}${millis}${zone === "utc" ? "Z" : ""}`;
}

/** Nanoseconds since 1970 as ISO 8601 has them, all nine digits. */
export function nanoText(nanos: string, zone: Zone): string {
  const at = BigInt(nanos);
  const below = ((at % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const text = timeText(Number((at - below) / 1_000_000n), zone).replace(/Z$/, "");
  return `${text}.${String(below).padStart(9, "0")}${zone === "utc" ? "Z" : ""}`;
}

/** Labels of an axis: the clock, with the date where a day begins. */
export function tickTexts(ticks: number[], zone: Zone): string[] {
  const gap = ticks.length > 1 ? (ticks[1] ?? 0) - (ticks[0] ?? 0) : HOUR;
  return ticks.map((at, index) => {
    const p = parts(at, zone);
    if (gap >= DAY) return gap >= 365 * DAY ? p.year : `${p.month}-${p.day}`;
    const isNewDay = p.hour === "00" && p.minute === "00" && p.second === "00";
    if (isNewDay && (index > 0 || gap >= HOUR)) return `${p.month}-${p.day}`;
    if (gap < SECOND) return `${p.minute}:${p.second}.${p.millis}`;
    return gap < MINUTE ? `${p.hour}:${p.minute}:${p.second}` : `${p.hour}:${p.minute}`;
  });
}
