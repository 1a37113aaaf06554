import { describe, expect, it } from "vitest";
import type { Answer, Table } from "../src/api";
import type { Outcome } from "../src/asking";
import { tableColumnsOf, tablesJson, tablesJsonLines } from "../src/download";
import { linesOf, rowsOf, shownIn } from "../src/relation";
import type { Series } from "../src/series";

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

/** Answers over a range that holds the samples. */
const of = (...outcomes: Outcome[]) => ({ outcomes, span: { start: 0, end: 10_000 } });

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
    const [graph] = shownIn(of(outcome(WINDOWS, table, listing)), { view: "graph", isDrawn: false });
    expect([graph!.answer!.series.length, graph!.answer!.tables, graph!.answer!.statements!.map(({ answer }) => answer!.series.length)]).toEqual([6, [listing], [6, 0]]);
    for (const view of ["table", "samples"] as const) expect(shownIn(of(outcome(WINDOWS, table)), { view, isDrawn: false })[0]!.answer!.tables).toEqual([table]);
    const { statements: _, ...untold } = outcome(WINDOWS, table).answer!;
    const other = { ...outcome(WINDOWS, table), answer: untold };
    expect(shownIn(of(other), { view: "graph", isDrawn: false })).toEqual([other]);
  });
  it("is itself where its statement asks for no lines, until a graph is chosen", () => {
    const lines = (text: string, isDrawn = false) => shownIn(of(outcome(text, table)), { view: "graph", isDrawn })[0]!.answer!.series.length;
    expect([lines("SELECT * FROM soil LIMIT 20"), lines("SELECT * FROM soil LIMIT 20", true), lines("SELECT time, n FROM soil WHERE time >= $start")]).toEqual([0, 6, 6]);
  });
  it("is itself where none of its rows lies in the range, and says where they lie, until a graph is chosen", () => {
    const shown = (isDrawn: boolean) => shownIn({ outcomes: [outcome(WINDOWS, table, listing)], span: { start: 5000, end: 9000 } }, { view: "graph", isDrawn })[0]!.answer!;
    expect([shown(false).series, shown(false).tables, shown(false).statements!.map(({ outside }) => outside)]).toEqual([[], [table, listing], [{ start: 1000, end: 2000 }, undefined]]);
    expect([shown(true).series.length, shown(true).statements!.map(({ outside }) => outside)]).toEqual([6, [undefined, undefined]]);
  });
  it("has no line for each row because of a text that always differs, unless that tells rows of one time apart", () => {
    const rows = (times: string[]) => times.map((time, at) => [time, `note ${at}`, at % 2 ? "a" : "b", at]);
    const noted = (times: string[]): Table => ({ ...listing, columns: ["time", "note", "bed", "n"], kinds: ["time", "string", "string", "integer"], rows: rows(times) });
    expect(linesOf(noted(["1", "2", "3", "4", "5", "6"])).map(({ labels }) => labels)).toEqual([{ bed: "b" }, { bed: "a" }]);
    expect(linesOf(noted(["1", "1", "1", "1", "1", "1"]))).toHaveLength(6);
    expect(linesOf(noted(["1", "2"]))).toHaveLength(2);
  });
});

describe("rows of InfluxQL", () => {
  const line = (field: string, part: Partial<Series> = {}): Series => ({ name: "soil", field, labels: {}, varying: [], kind: "float", times: [1000, 2000], values: [1, 2], ...part });
  const outcome = (...all: Series[][]): Outcome => {
    const answer = (series: Series[]) => ({ series, notes: [], figures: {} }) as unknown as Answer;
    const statements = all.length > 1 ? { statements: all.map((series) => ({ text: "SELECT", answer: answer(series), error: null, tookMs: 1 })) } : {};
    return { question: { language: "influxql", text: "SELECT", isForm: false, isHidden: false }, answer: { ...answer(all.flat()), ...statements }, error: null };
  };
  const shown = (one: Outcome, view: "graph" | "table" | "samples" | "number", isDrawn = false) => shownIn({ outcomes: [one], span: { start: 900, end: 10_000 } }, { view, isDrawn })[0]!.answer!;
  it("are a row for each time, with a column for each field, label and, of several, the measurement", () => {
    const bed = (name: string) => ({ labels: { bed: name } });
    expect(rowsOf([line("ph", bed("a")), line("wet", { ...bed("a"), kind: "boolean", times: [2000], nanos: ["2000000001"], values: [true] }), line("ph", { ...bed("b"), times: [500], values: [7] })])).toEqual({
      name: "soil", labels: {}, columns: ["time", "bed", "ph", "wet"], kinds: ["time", "string", "float", "boolean"],
      rows: [["1000000000", "a", 1, null], ["2000000000", "a", 2, null], ["2000000001", "a", null, true], ["500000000", "b", 7, null]],
    });
    expect(rowsOf([line("v"), line("v", { name: "air", kind: "integer", times: [1000], values: [3] })])).toMatchObject({
      name: "", columns: ["time", "measurement", "v"], kinds: ["time", "string", ""], rows: [["1000000000", "soil", 1], ["2000000000", "soil", 2], ["1000000000", "air", 3]],
    });
    expect(rowsOf([line("a"), line("b", { values: [8, 9] })]).rows).toEqual([["1000000000", 1, 8], ["2000000000", 2, 9]]);
  });
  it("of one time are not put together, where it is not known which belong to each other", () => {
    expect(rowsOf([line("a", { times: [1000, 1000, 2000], values: [1, 2, 3] }), line("b", { values: [8, 9] })]).rows).toEqual([
      ["1000000000", 1, null], ["1000000000", 2, null], ["1000000000", null, 8], ["2000000000", 3, 9],
    ]);
  });
  it("of one time are put together by their numbers, where these are told, and are a table in a graph if texts tell them apart", () => {
    const of = (field: string, rows: number[], values: (string | number)[], kind = "float") => line(field, { kind, times: rows.map((row) => (row < 3 ? 1000 : 2000)), values, rows });
    const all = [of("ph", [1, 3], [1, 2]), of("room", [0, 1, 2, 3], ["a", "b", "c", "a"], "string"), of("wet", [0, 2], [7, 8])];
    const rows = [["1000000000", null, "a", 7], ["1000000000", 1, "b", null], ["1000000000", null, "c", 8], ["2000000000", 2, "a", null]];
    expect(rowsOf(all).rows).toEqual(rows);
    expect(shown(outcome(all), "graph").tables![0]!.rows).toEqual(rows);
    expect(shown(outcome(all), "table").tables![0]!.rows).toEqual(rows);
    // Numbers alone are a line, as ever.
    expect(shown(outcome([all[0]!, all[2]!]), "graph").tables).toBeUndefined();
    const text = [line("note", { kind: "string", values: ["x", "y"] })];
    expect([shown(outcome(text), "graph").tables!.length, shown(outcome(text), "graph", true).tables]).toEqual([1, undefined]);
  });
  it("have no time, where one value is computed of all", () => {
    expect(rowsOf([line("mean", { times: [0], values: [7] }), line("max", { times: [0], values: [9] })])).toMatchObject({ columns: ["mean", "max"], kinds: ["float", "float"], rows: [[7, 9]] });
  });
  it("are a table where a graph has no place for any, and say where they lie", () => {
    const early = [line("ph", { times: [100, 200] })];
    expect(shown(outcome(early), "graph")).toMatchObject({ series: [], tables: [{ rows: [["100000000", 1], ["200000000", 2]] }], statements: [{ outside: { start: 100, end: 200 } }] });
    expect(shown(outcome(early), "graph", true)).toEqual(outcome(early).answer);
    expect(shown(outcome(early), "number")).toEqual(outcome(early).answer);
    expect(shown(outcome([line("ph")]), "graph")).toEqual(outcome([line("ph")]).answer);
    const [computed] = shown(outcome([line("mean", { times: [0], values: [7] })]), "graph").statements!;
    expect([computed!.answer!.tables![0]!.rows, computed!.outside]).toEqual([[[7]], undefined]);
  });
  it("stay lines where there are very many", () => {
    const many = (count: number) => outcome([line("ph", { times: Array.from({ length: count }, (_, at) => at % 900), values: new Array(count).fill(1) })]);
    expect([shown(many(100_001), "graph").series.length, shown(many(100), "graph").series.length]).toEqual([1, 0]);
  });
  it("of several statements are a table each, where tables are wanted", () => {
    const two = outcome([line("ph")], [line("wet")]);
    expect(shown(two, "table").statements!.map(({ answer }) => [answer!.series.length, answer!.tables![0]!.columns])).toEqual([[0, ["time", "ph"]], [0, ["time", "wet"]]]);
    expect(shown(two, "samples")).toEqual(two.answer);
    expect(shown(outcome([line("ph")]), "table")).toEqual(outcome([line("ph")]).answer);
    const mixed = shown(outcome([line("ph")], [line("old", { times: [1, 2] })]), "graph");
    expect([mixed.series.map(({ field }) => field), mixed.tables!.length]).toEqual([["ph"], 1]);
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
