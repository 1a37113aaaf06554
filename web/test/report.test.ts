import { describe, expect, it } from "vitest";
import { rates } from "../src/parts/overview";
import { betterOf, type Report, compared, numberOf, reportOf, comparedPercentiles, titlesOf, verdict } from "../src/report";

const report = (rows: string[][], name = "rates"): Report => ({
  schema_version: 2, tool_version: "1", title: "t", command: "c", machine: [], right: true,
  sections: [{ heading: "h", words: [], plots: [], tables: [{ name, keys: 1, columns: ["clients", "rate", "p99"], rows: rows.map((cells) => ({ cells, source: null, void: null })) }] }],
});

describe("tables of a comparison", () => {
  it("have a head of their own each", () => {
    const all = [["Write only", "Limits"], ["Write only", "Write only"], ["Read only", "Limits"], ["Read only", "Read only"]].map(([heading, name]) => ({ heading: heading!, name: name! }));
    expect(titlesOf(all)).toEqual(["Write only: Limits", "Write only", "Read only: Limits", "Read only"]);
  });
});

describe("reports", () => {
  it("are read, or refused with words", () => {
    expect(reportOf("{")).toContain("no JSON");
    expect(reportOf("{}")).toContain("no report");
    expect(reportOf(JSON.stringify({ ...report([]), schema_version: 9 }))).toContain("version 9");
    expect(reportOf(JSON.stringify(report([])))).toMatchObject({ title: "t" });
  });
  it.each([["1.5 M/s", 1.5e6], ["12 ms", 0.012], ["2 MiB", 2 ** 21], ["1,234", 1234], ["80 %", 80], ["3 m", 3], ["–", null], ["a 3", null]])(
    "have %s in a cell", (cell, number) => expect(numberOf(cell)).toBe(number));
  it("are compared row by row, by their keys", () => {
    const found = compared(report([["1", "100 k/s", "2 ms"], ["9", "1", "1"]]), report([["1", "150 k/s", "2 ms"], ["2", "1", "1"]]));
    expect(found).toHaveLength(1);
    expect(found[0]!.rows).toEqual([{ keys: ["1"], cells: [{ before: "100 k/s", after: "150 k/s", ratio: 1.5, better: "more" }, { before: "2 ms", after: "2 ms", ratio: 1, better: "less" }] }]);
    expect(found[0]!.alone).toBe(2);
    expect(compared(report([["1", "1", "1"]]), report([["1", "1", "1"]], "other"))).toEqual([]);
  });
});

describe("rates of a day", () => {
  it("have a hole where the server began anew", () => {
    const moment = (at_ms: number, rejected: number) => ({ at_ms, rejected, samples: {}, disk_bytes: 0, series: 0, memory_bytes: 0 });
    const found = rates([moment(0, 0), moment(60_000, 60), moment(120_000, 6), moment(180_000, 6)], ({ rejected }) => rejected);
    expect(found).toEqual({ times: [60_000, 120_000, 180_000], values: [1, null, 0] });
  });
});

describe("which is better", () => {
  it("is told by what a column is called, or by the unit of its cells", () => {
    expect(["values/s", "questions/s", "achieved %", "p99 ms", "mean ms", "errors", "server CPU ms", "memory"].map((column) => betterOf(column, "1"))).toEqual(["more", "more", "more", "less", "less", "less", "less", "less"]);
    expect(["disk syncs/s", "disk writes/s", "disk reads/s"].map((column) => betterOf(column, "1"))).toEqual(["less", "less", "less"]);
    expect([betterOf("Foliot", "12.5 k/s"), betterOf("Foliot", "3.1 ms"), betterOf("Foliot", "1.2 GiB"), betterOf("values", "3"), betterOf("series", "12 k")]).toEqual(["more", "less", "less", null, null]);
  });
});

describe("latency by percentile", () => {
  const line = (name: string, points: [number, number][]) => ({ name, points, labels: [] });
  const report = (title: string, lines: ReturnType<typeof line>[], x_names: [number, string][] = [[1, "p90"]]) => (
    { sections: [{ heading: "", words: [], tables: [], plots: [{ title, x: "", y: "ms", shape: "Lines", x_names, lines }] }] } as unknown as Report
  );
  it("has the lines of both reports, where both have the picture", () => {
    const [before, after] = [report("writes", [line("a", [[1, 2]]), line("none", [])]), report("writes", [line("a", [[1, 3]])])];
    expect(comparedPercentiles(before, after).map(({ lines }) => lines.map(({ name, points }) => [name, points]))).toEqual([[["a, before", [[1, 2]]], ["a, after", [[1, 3]]]]]);
    expect(comparedPercentiles(before, report("reads", []))).toEqual([]);
    expect(comparedPercentiles(report("writes", [line("a", [[1, 2]])], []), after)).toEqual([]);
  });
});

describe("What is said of checked answers", () => {
  it("names who was at fault, and that it was not the server under test", () => {
    const of = (at_fault: string[] | undefined, subject?: string) => verdict({ right: false, ...(at_fault ? { at_fault } : {}), ...(subject ? { subject } : {}) });
    expect(of(["InfluxDB", "TickTock"], "Foliot")).toEqual({ said: "Foliot: every checked answer right; refused or answered wrongly: InfluxDB, TickTock", isBad: false });
    expect(of(["Foliot (os)", "TickTock"], "Foliot")).toEqual({ said: "refused or answered wrongly: Foliot (os), TickTock", isBad: true });
    expect(of(undefined)).toEqual({ said: "something was refused or answered wrongly", isBad: true });
    expect(verdict({ right: true, subject: "Foliot", at_fault: [] })).toBeNull();
  });
});
