import { describe, expect, it } from "vitest";
import { partAt, statementAt, statementsIn } from "../src/cursor";

const TEXT = "-- first\nSELECT 1;\n\nSELECT ';' AS x -- a;b\nFROM t; SELECT 3\n";

describe("statements of a text", () => {
  it("have places, without blanks and comments around them", () => {
    expect(statementsIn("sql", TEXT).map(({ text }) => text)).toEqual(["SELECT 1", "SELECT ';' AS x -- a;b\nFROM t", "SELECT 3"]);
    expect(statementsIn("sql", TEXT).map(({ from, to }) => TEXT.slice(from, to))).toEqual(["SELECT 1;", "SELECT ';' AS x -- a;b\nFROM t;", "SELECT 3"]);
    expect(statementsIn("sql", " ; -- nothing\n;")).toEqual([]);
    expect(statementsIn("influxql", "SELECT a FROM b WHERE c =~ /x;y\\/;/; SHOW SERIES").map(({ text }) => text)).toEqual(["SELECT a FROM b WHERE c =~ /x;y\\/;/", "SHOW SERIES"]);
    expect(statementsIn("promql", "a; b").map(({ text }) => text)).toEqual(["a; b"]);
  });
  it("are at the cursor where it stands in them, or behind them on their line", () => {
    const all = statementsIn("sql", TEXT);
    const at = (place: number) => all.indexOf(statementAt(all, TEXT, place)!);
    expect(at(0)).toBe(0);
    expect(at(TEXT.indexOf("SELECT 1"))).toBe(0);
    expect(at(TEXT.indexOf(";\n\n") + 1)).toBe(0);
    expect(at(TEXT.indexOf("\n\nSELECT") + 1)).toBe(1);
    expect(at(TEXT.indexOf("FROM t"))).toBe(1);
    expect(at(TEXT.indexOf("FROM t;") + 7)).toBe(1);
    expect(at(TEXT.indexOf("SELECT 3"))).toBe(2);
    expect(at(TEXT.length)).toBe(2);
    expect(statementAt([], "", 0)).toBeUndefined();
  });
  it("are asked alone where there are several and nothing is selected", () => {
    expect(partAt("sql", TEXT, 12, 12)).toBe("SELECT 1");
    expect(partAt("sql", TEXT, 9, 15)).toBe("SELECT");
    expect([partAt("sql", "SELECT 1;", 3, 3), partAt("promql", "a; b", 1, 1), partAt("sql", "", 0, 0)]).toEqual(["", "", ""]);
  });
});
