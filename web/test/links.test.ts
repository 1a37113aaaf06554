import { describe, expect, it } from "vitest";
import { place, read } from "../src/state";

const opened = (hash: string) => {
  const { page, params } = place(hash);
  const { questions, range, view, isStacked } = read(params);
  return { page, texts: questions.map(({ language, text }) => `${language} ${text}`), range, view, isStacked };
};

describe("links to other pages", () => {
  it("of Prometheus 2 and 3 open Explore in PromQL", () => {
    expect(opened("#/explore?g0.expr=rate%28a%5B5m%5D%29&g0.tab=0&g0.range_input=1h30m&g1.expr=b%2Bc&g1.range_input=5m"))
      .toEqual({ page: "explore", texts: ["promql rate(a[5m])", "promql b+c"], range: { start: "1h30m-ago", end: "now" }, view: "graph", isStacked: false });
    expect(opened("#/explore?g0.expr=up&g0.show_tree=0&g0.tab=table&g0.range_input=2d&g0.display_mode=stacked"))
      .toMatchObject({ texts: ["promql up"], range: { start: "2d-ago", end: "now" }, view: "table", isStacked: true });
  });
  it("end when they say, in UTC, as those pages write it", () => {
    const end = Date.UTC(2026, 2, 1, 10, 30);
    for (const text of ["2026-03-01 10:30:00", "2026-03-01T10:30:00", "2026-03-01T10:30:00Z", "2026-03-01 12:30:00+02:00"]) {
      expect(opened(`#/explore?g0.expr=up&g0.range_input=1h30m&g0.end_input=${encodeURIComponent(text)}`).range).toEqual({ start: String(end - 5_400_000), end: String(end) });
    }
    expect(opened("#/explore?g0.expr=up&g0.range_input=x&g0.end_input=never").range).toEqual({ start: "1h-ago", end: "now" });
  });
  it("may say a step, in seconds or with a unit", () => {
    const step = (text: string) => read(place(`#/explore?g0.expr=up&${text}`).params).step;
    expect([step("g0.step_input=15"), step("g0.step_input=5m"), step("g0.res_type=custom&g0.res_step=90")]).toEqual(["15s", "5m", "90s"]);
    expect([step("g0.res_type=auto&g0.res_step=90"), step("g0.step_input=x"), step("g0.step_input=0"), step("")]).toEqual(["", "", "", ""]);
  });
  it("of VictoriaMetrics keep their question behind the mark of fragments", () => {
    expect(opened("#/?g0.expr=up&g0.range_input=30m&g0.end_input=2026-03-01T10%3A30%3A00&g0.tab=1&g0.relative_time=none"))
      .toMatchObject({ page: "explore", texts: ["promql up"], view: "table", range: { end: String(Date.UTC(2026, 2, 1, 10, 30)) } });
  });
});
