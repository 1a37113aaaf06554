import { describe, expect, it } from "vitest";
import { largestAddress, metricAddress, panelsAddress, rangeOf, rangeText, scopeOf } from "../src/scope";
import { place } from "../src/state";

const params = (text: string) => new URLSearchParams(text);

describe("a range in an address", () => {
  const over = (text: string) => rangeOf(params(text));
  it("is named, or has ends, or is that of each panel", () => {
    expect([over("name=a"), over("range=6h"), over("range=6weeks")]).toEqual([null, { start: "6h-ago", end: "now" }, null]);
    expect([over("start=now-7d"), over("end=1h-ago&range=6h"), over("start=2026/03/01&end=2026/03/02")])
      .toEqual([{ start: "now-7d", end: "now" }, { start: "1h-ago", end: "1h-ago" }, { start: "2026/03/01", end: "2026/03/02" }]);
  });
  it("is read as people say it", () => {
    expect([{ start: "1h-ago", end: "now" }, { start: "7d-ago", end: "now" }, { start: "2026/03/01", end: "2026/03/02" }, { start: "7d-ago", end: "1d-ago" }].map(rangeText))
      .toEqual(["the last hour", "the last 7d", "the time from 2026/03/01 to 2026/03/02", "the time from 7d-ago to 1d-ago"]);
  });
});

describe("a scope", () => {
  const hostile = "<img src=x onerror=1>&p=1";
  const scope = { range: { start: "2026/03/01", end: "now-1h" }, filters: [{ label: "host", pattern: "a|b", splits: true }, { label: hostile.replace(/=.*/, ""), pattern: hostile, splits: false }] };
  it("comes back from the address that says it, with what was looked for", () => {
    for (const address of [metricAddress("up", scope), panelsAddress("lat_", scope)]) {
      expect(scopeOf(place(address).params)).toEqual(scope);
    }
    expect(place(panelsAddress("lat_&view=no", scope)).params.get("search")).toBe("lat_&view=no");
  });
  it("is the last hour of all series where nothing says another", () => {
    const usual = scopeOf(params("metric=up"));
    expect(usual).toEqual({ range: { start: "1h-ago", end: "now" }, filters: [] });
    expect(metricAddress("up", usual)).toBe("#/metrics?metric=up");
    expect(scopeOf(params("labels=no{{filters"))).toEqual(usual);
  });
  it("of what most series are due to is a range, or nothing", () => {
    expect([largestAddress(null), largestAddress({ start: "1h-ago", end: "now" }), largestAddress({ start: "2026/03/01", end: "2026/03/02" })])
      .toEqual(["#/metrics", "#/metrics?range=1h", "#/metrics?start=2026%2F03%2F01&end=2026%2F03%2F02"]);
  });
  it("names ranges by their names", () => {
    expect(metricAddress("up", { range: { start: "6h-ago", end: "now" }, filters: [] })).toBe("#/metrics?metric=up&range=6h");
  });
});
