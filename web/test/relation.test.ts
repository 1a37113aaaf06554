import { describe, expect, it } from "vitest";
import type { Answer, Table } from "../src/api";
import type { Outcome } from "../src/asking";
import { tableColumnsOf, tablesJson, tablesJsonLines } from "../src/download";
import { linesOf, shownIn } from "../src/relation";

const table: Table = {
  name: "", labels: {}, columns: ["time", "host", "n", "ok", "mean"], kinds: ["time", "string", "integer", "boolean", "float"],
  rows: [["2000000000", "a", 1, true, 1.5], ["1000000999", "a", 2, false, null], ["2000000000", null, 3, null, "NaN"], [null, "a", 4, true, 1]],
};

describe("a table with times", () => {
  it("is a line for each column of numbers and each combination of texts, in the order of time", () => {
    const lines = linesOf(table);
    expect(lines.map(({ field, labels }) => `${field} ${JSON.stringify(labels)}`)).toEqual(['n {"host":"a"}', 'ok {"host":"a"}', 'mean {"host":"a"}', "n {}", "ok {}", "mean {}"]);
    expect(lines[0]).toMatchObject({ times: [1000, 2000], values: [2, 1], kind: "integer" });
    expect(lines[2]).toMatchObject({ times: [1000, 2000], values: [null, 1.5] });
    expect(lines[5]).toMatchObject({ times: [2000], values: ["NaN"] });
  });
  it("has none without times, or without numbers", () => {
    expect(linesOf({ ...table, columns: ["host", "n"], kinds: ["string", "integer"], rows: [["a", 1]] })).toEqual([]);
    expect(linesOf({ ...table, columns: ["time", "host"], kinds: ["time", "string"], rows: [["1", "a"]] })).toEqual([]);
    const { kinds: _, ...untyped } = table;
    expect(linesOf(untyped)).toEqual([]);
  });
  it("is lines in a graph, and itself in a table", () => {
    const listing: Table = { name: "", labels: {}, columns: ["n"], kinds: ["integer"], rows: [[1]] };
    const outcome = (tables: Table[]) => ({ question: {}, answer: { series: [], tables, notes: [], figures: {} } as unknown as Answer, error: null }) as Outcome;
    const [graph] = shownIn([outcome([table, listing])], "graph");
    expect([graph!.answer!.series.length, graph!.answer!.tables]).toEqual([6, [listing]]);
    for (const view of ["table", "samples"] as const) expect(shownIn([outcome([table])], view)[0]!.answer!.tables).toEqual([table]);
    const untyped = outcome([{ name: "", labels: {}, columns: ["time"], rows: [["1"]] }]);
    expect(shownIn([untyped], "graph")).toEqual([untyped]);
  });
});

describe("a typed table as a file", () => {
  const all: Table[] = [{ name: "", labels: {}, columns: ["time", "n", "t"], kinds: ["time", "integer", "string"], rows: [["1000000001", "9007199254740993", "12345678901234567"], [null, 7, null]] }];
  it("keeps digits, times and texts", () => {
    expect(tablesJsonLines(all)).toBe('{"time":"1000000001","n":9007199254740993,"t":"12345678901234567"}\n{"time":null,"n":7,"t":null}\n');
    expect(tablesJson(all)).toContain('"rows":[["1000000001",9007199254740993,"12345678901234567"],[null,7,null]]}]');
    const listed: Table = { name: "m", labels: { host: "a" }, columns: ["key"], rows: [["x"]] };
    expect(tableColumnsOf([listed]).map(({ name, kind, values }) => [name, kind, ...values])).toEqual([["name", "text", "m"], ["host", "text", "a"], ["key", "text", "x"]]);
    expect(tablesJsonLines([listed])).toBe('{"name":"m","host":"a","key":"x"}\n');
    expect(JSON.parse(tablesJson(all))).toHaveLength(1);
    expect(tableColumnsOf(all)).toEqual([
      { name: "time", kind: "time", values: [1000000001n, null] }, { name: "n", kind: "integer", values: [9007199254740993n, 7n] }, { name: "t", kind: "text", values: ["12345678901234567", null] },
    ]);
  });
});
