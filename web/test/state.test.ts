import { describe, expect, it } from "vitest";
import { type Explored, dashboardAddress, place, read, unexplored, write, yRangeOf, zoneOf } from "../src/state";

describe("addresses", () => {
  it("lead to pages", () => {
    expect(place("").page).toBe("home");
    expect(place("#/metrics?metric=a%20b").params.get("metric")).toBe("a b");
    expect([place("#/nosuch").page, place("#/").page, place("#").page]).toEqual(["unknown", "home", "home"]);
    expect(place("#/operations").page).toBe("operations");
    expect(place("#/metrics/").page).toBe("metrics");
    expect(place("#/metrics/?metric=a/?b").params.get("metric")).toBe("a/?b");
  });
  it("of OpenTSDB's page open Explore", () => {
    const { page, params } = place("#start=2026/03/01-08:00:00&end=1h-ago&m=sum:1m-avg:rate:sys.cpu{host=*}&o=&ylog&autoreload=15&tz=UTC");
    expect(page).toBe("explore");
    const found = read(params);
    expect(found.range).toEqual({ start: "2026/03/01-08:00:00", end: "1h-ago" });
    expect(found.questions).toEqual([{ language: "opentsdb", text: "sum:1m-avg:rate:sys.cpu{host=*}", isForm: true, isHidden: false }]);
    expect([found.isLogarithmic, found.refresh, found.zone]).toEqual([true, 15, "utc"]);
  });
  it("hold everything that Explore shows", () => {
    const explored: Explored = {
      ...unexplored(), range: { start: "1767225600000", end: "1767229200000" }, zone: "utc", refresh: 10, view: "samples", top: 5, database: "a&b",
      isStacked: true, isLogarithmic: true,
      questions: [
        { language: "influxql", text: "SELECT \"a\" FROM \"m\" -- é&=#", isForm: false, isHidden: true },
        { language: "opentsdb", text: "sum:$step-avg:m{h=*}", isForm: true, isHidden: false },
        { language: "opentsdb", text: "sum:$step-avg:m{h=*}", isForm: false, isHidden: false },
        { language: "opentsdb", text: "sum:rate{counter,100,5}:m", isForm: false, isHidden: true },
      ],
    };
    expect(read(place(write(explored)).params)).toEqual(explored);
  });
  it("keep what a panel is, also one that Explore does not show", () => {
    for (const view of ["graph", "heatmap", "table", "samples", "number"] as const) expect(read(place(write({ ...unexplored(), view })).params).view, view).toBe(view);
    expect(read(new URLSearchParams("view=pie")).view).toBe("graph");
  });
  it("of dashboards have a range by its name, or by its ends", () => {
    expect([dashboardAddress("a b"), dashboardAddress("a", { range: "1h" }), dashboardAddress("a", { start: "2026-03-01 08:00", end: "now" })])
      .toEqual(["#/dashboards?name=a+b", "#/dashboards?name=a&range=1h", "#/dashboards?name=a&start=2026-03-01+08%3A00&end=now"]);
  });
  it("name zones, and those that nobody knows are told", () => {
    const zone = (text: string) => zoneOf(new URLSearchParams(text));
    expect([zone(""), zone("tz=UTC"), zone("zone=utc"), zone("tz=Europe/Vienna"), zone("zone=Asia/Tokyo&tz=UTC"), zone("zone=Mars/Olympus")])
      .toEqual(["local", "utc", "utc", "Europe/Vienna", "Asia/Tokyo", null]);
    const explored = { ...unexplored(), zone: "Europe/Vienna" };
    expect(read(place(write(explored)).params)).toEqual(explored);
    expect(read(new URLSearchParams("zone=Mars/Olympus")).zone).toBe("local");
  });
  it("say how often it is asked with or without a unit", () => {
    const refresh = (text: string) => read(new URLSearchParams({ refresh: text })).refresh;
    expect([refresh("2"), refresh("2s"), refresh("5m"), refresh("500ms"), refresh("2h"), refresh("often")]).toEqual([2, 2, 300, 0.5, 3600, 0]);
  });
  it("lead to pages by what these are called, too", () => {
    expect([place("#/benchmarks").page, place("#/Benchmarks/").page, place("#/reports").page, place("#/nowhere").page]).toEqual(["reports", "reports", "reports", "unknown"]);
  });
  it("say nothing where nothing is said", () => {
    expect(read(new URLSearchParams())).toEqual(unexplored());
    expect(read(new URLSearchParams("refresh=-3&view=x")).refresh).toBe(0);
  });
});

describe("the ends of an axis", () => {
  it("stand in the address as OpenTSDB's links have them", () => {
    expect(["[0:100]", "[-1.5:]", "[:7]", "[7:1]", "[a:b]", ""].map(yRangeOf)).toEqual([[0, 100], [-1.5, null], [null, 7], [null, null], [null, null], [null, null]]);
    const address = write({ ...unexplored(), yRange: [0, null] });
    expect(read(place(address).params).yRange).toEqual([0, null]);
  });
});
