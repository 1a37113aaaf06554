import { describe, expect, it } from "vitest";
import { sqlExpected } from "../src/sqlexpected";

/** The cursor is where the bar stands. */
const at = (marked: string) => sqlExpected(marked.replace("|", ""), marked.indexOf("|"));

describe("what may stand at the cursor of SQL", () => {
  it.each([
    ["|", "words", ""], ["SEL|", "words", "SEL"], ["SELECT | FROM cpu", "columns", ""], ["SELECT us| FROM cpu", "columns", "us"], ["SELECT avg(us| FROM cpu", "columns", "us"],
    ["SELECT a, | FROM cpu", "columns", ""], ["SELECT a |", "words", ""], ["SELECT a FROM |", "tables", ""], ["SELECT a FROM \"c p|", "tables", "c p"], ["SHOW COLUMNS FROM c|", "tables", "c"], ["DESCRIBE |", "tables", ""],
    ["SELECT a FROM cpu W|", "words", "W"], ["SELECT a FROM cpu WHERE ho|", "columns", "ho"], ["SELECT a FROM cpu WHERE a > 1 AND |", "columns", ""],
    ["SELECT a FROM cpu WHERE a > |", "columns", ""], ["SELECT a FROM cpu WHERE a BETWEEN |", "columns", ""], ["SELECT a FROM cpu WHERE host = |", "values", ""], ["SELECT a FROM cpu WHERE host = 'w|'", "values", "w"], ["SELECT a FROM cpu WHERE host IN ('a', '|", "values", ""],
    ["SELECT a FROM cpu GROUP BY |", "columns", ""], ["SELECT a FROM cpu ORDER BY ti|", "columns", "ti"], ["SELECT a FROM cpu LIMIT |", "words", ""], ["SELECT 'te|", "words", "te"],
  ])("%s", (marked, of, typed) => expect(at(marked)).toMatchObject({ of, typed }));
  it("is about the table and the label that the statement names, not of another statement", () => {
    expect(at("SELECT x FROM one; SELECT | FROM \"two b\" WHERE a = 1; SELECT y FROM three")).toMatchObject({ table: "two b" });
    expect(at("SELECT v FROM cpu WHERE \"a b\" <> '|'")).toMatchObject({ of: "values", label: "a b", table: "cpu" });
    expect(at("SELECT v FROM cpu WHERE x = 1 AND dc in ('a', |")).toMatchObject({ of: "values", label: "dc" });
  });
});

describe("names of the select list", () => {
  const LIST = "SELECT date_bin($step, time) AS t, max(a + b) AS \"the most\", min(a) low, host FROM (SELECT x AS y FROM z) AS inner";
  it("may stand behind ORDER BY", () => {
    for (const end of [" ORDER BY |", " ORDER BY lo|", " GROUP BY 1 ORDER BY t DESC, |"]) expect(at(`${LIST}${end}`)).toMatchObject({ of: "columns", aliases: ["t", "the most", "low"] });
    expect(at("SELECT a AS b ORDER BY |; SELECT c AS d")).toMatchObject({ aliases: ["b"] });
    expect(at("SELECT a FROM cpu ORDER BY |")).toMatchObject({ of: "columns", aliases: [] });
  });
  it("stand nowhere else, and not within what is computed there", () => {
    for (const end of [" GROUP BY |", " WHERE |", " ORDER BY max(|", " ORDER BY t + |", " ORDER BY max(a, |", " ORDER BY t LIMIT |"]) expect(at(`${LIST}${end}`).aliases).toEqual([]);
    expect([at("SELECT |").isSelected, at("SELECT a, |").isSelected, at("SELECT a FROM cpu ORDER BY |").isSelected]).toEqual([true, true, false]);
  });
});

describe("statements that WITH gives names", () => {
  const text = "WITH w AS (SELECT bed, avg(ph) AS mean FROM plot GROUP BY bed) SELECT w.me FROM w ORDER BY 1";
  it("have columns, which are offered behind their points", () => {
    expect(sqlExpected(text, text.indexOf("w.me") + 4)).toMatchObject({ of: "members", typed: "me", aliases: ["bed", "mean"] });
    const called = "SELECT p. FROM plot AS p";
    expect(sqlExpected(called, 9)).toMatchObject({ of: "members", typed: "", table: "plot", aliases: [] });
  });
});
