import { describe, expect, it } from "vitest";
import type { Answer, Table } from "../src/api";
import type { Outcome } from "../src/asking";
import { tableColumnsOf, tablesJson, tablesJsonLines } from "../src/download";
import { linesOf, shownIn } from "../src/relation";

const table: Table = {
  name: "", labels: {}, columns: ["time", "host", "n", "ok", "mean"], kinds: ["time", "string", "integer", "boolean", "float"],
  rows: [["2000000000", "a", 1, true, 1.5], ["1000000999", "a", 2, false, null], ["2000000000", null, 3, null, "NaN"], [null, "a", 4, true, 1]],
};

const listing: Table = { name: "", labels: {}, columns: ["n"], kinds: ["integer"], rows: [[1]] };

const WINDOWS = "SELECT date_bin($step, time) AS time FROM m GROUP BY 1";

/** An answer of a statement for each of these tables. */
function outcome(text: string, ...all: Table[]): Outcome {
  const answer = (tables: Table[]) => ({ series: [], tables, notes: [], figures: {} }) as unknown as Answer;
  return { question: {}, answer: { ...answer(all), statements: all.map((one) => ({ text, answer: answer([one]), error: null, tookMs: 1 })) }, error: null } as Outcome;
}

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
    const [graph] = shownIn([outcome(WINDOWS, table, listing)], { view: "graph", isDrawn: false });
    expect([graph!.answer!.series.length, graph!.answer!.tables, graph!.answer!.statements!.map(({ answer }) => answer!.series.length)]).toEqual([6, [listing], [6, 0]]);
    for (const view of ["table", "samples"] as const) expect(shownIn([outcome(WINDOWS, table)], { view, isDrawn: false })[0]!.answer!.tables).toEqual([table]);
    const { statements: _, ...untold } = outcome(WINDOWS, table).answer!;
    const other = { ...outcome(WINDOWS, table), answer: untold };
    expect(shownIn([other], { view: "graph", isDrawn: false })).toEqual([other]);
  });
  it("is itself where its statement asks for no lines, until a graph is chosen", () => {
    const lines = (text: string, isDrawn = false) => shownIn([outcome(text, table)], { view: "graph", isDrawn })[0]!.answer!.series.length;
    expect([lines("SELECT * FROM soil LIMIT 20"), lines("SELECT * FROM soil LIMIT 20", true), lines("SELECT time, n FROM soil WHERE time >= $start")]).toEqual([0, 6, 6]);
  });
  it("has no line for each row because of a text that always differs, unless that tells rows of one time apart", () => {
    const rows = (times: string[]) => times.map((time, at) => [time, `note ${at}`, at % 2 ? "a" : "b", at]);
    const noted = (times: string[]): Table => ({ ...listing, columns: ["time", "note", "bed", "n"], kinds: ["time", "string", "string", "integer"], rows: rows(times) });
    expect(linesOf(noted(["1", "2", "3", "4", "5", "6"])).map(({ labels }) => labels)).toEqual([{ bed: "b" }, { bed: "a" }]);
    expect(linesOf(noted(["1", "1", "1", "1", "1", "1"]))).toHaveLength(6);
    expect(linesOf(noted(["1", "2"]))).toHaveLength(2);
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
