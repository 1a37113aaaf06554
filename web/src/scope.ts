// What the panels of metrics show, as the part of an address: over which range, and of which series.

import { here } from "./database";
import { type Filter, bracesOf, filtersOf } from "./question";
import { type Range, RANGES } from "./time";

export interface Scope {
  range: Range;
  filters: Filter[];
}

const HOUR: Range = { start: "1h-ago", end: "now" };

/** The range that an address says for all panels, if it says one: by its name, or by its ends. */
export function rangeOf(params: URLSearchParams): Range | null {
  const [start, end] = [params.get("start"), params.get("end")];
  if (start || end) return { start: start || "1h-ago", end: end || "now" };
  const named = RANGES.find((name) => name === params.get("range"));
  return named ? { start: `${named}-ago`, end: "now" } : null;
}

export const scopeOf = (params: URLSearchParams): Scope => ({ range: rangeOf(params) ?? HOUR, filters: filtersOf(params.get("labels") ?? "") ?? [] });

/** The name of a range that has one. */
export const rangeName = ({ start, end }: Range): string => (end === "now" ? RANGES.find((name) => start === `${name}-ago`) ?? "" : "");

/** A range as one reads it. */
export function rangeText(range: Range): string {
  const name = rangeName(range);
  if (name) return `the last ${name === "1h" ? "hour" : name}`;
  return `the time from ${range.start} to ${range.end}`;
}

const rangeParams = (range: Range): Record<string, string> => (rangeName(range) ? { range: rangeName(range) } : { ...range });

/** Those of the parts of an address that say a scope; what is usual is left out. */
export function scopeParams({ range, filters }: Scope): Record<string, string> {
  return { ...(rangeName(range) === "1h" ? {} : rangeParams(range)), ...(filters.length ? { labels: bracesOf(filters) } : {}) };
}

/** The address of what most series are due to: of those that have samples in a range, or of all. */
export const largestAddress = (range: Range | null) => here(`#/metrics?${new URLSearchParams(range ? rangeParams(range) : {})}`.replace(/\?$/, ""));

/** The address of metrics beside one another: those that have a text in their names. */
export const panelsAddress = (search: string, scope: Scope) =>
  here(`#/metrics?${new URLSearchParams({ view: "panels", ...(search ? { search } : {}), ...scopeParams(scope) })}`);

/** The address of a metric's own page, with its panel of the same scope. */
export const metricAddress = (metric: string, scope: Scope | null = null) =>
  here(`#/metrics?${new URLSearchParams({ metric, ...(scope ? scopeParams(scope) : {}) })}`);
