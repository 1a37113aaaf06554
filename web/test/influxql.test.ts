import { describe, expect, it } from "vitest";
import { expected, measurementOf, quotedName, quotedValue, words, namedIn, renamed } from "../src/influxql";

describe("words of InfluxQL", () => {
  it("are told apart, and nothing of the text is lost", () => {
    const text = "SELECT mean(\"a b\"), max FROM cpu WHERE host='x\\'y' AND time >= $start -- why\nGROUP BY time(1m)";
    const found = words(text);
    expect(found.map((word) => word.text).join("")).toBe(text);
    const of = (name: string) => found.filter((word) => word.class === name).map((word) => word.text);
    expect(of("function")).toEqual(["mean"]);
    expect(of("name")).toEqual(['"a b"', "max", "cpu", "host"]);
    expect(of("string")).toEqual(["'x\\'y'"]);
    expect(of("bound")).toEqual(["$start"]);
    expect(of("comment")).toEqual(["-- why"]);
    expect(of("number")).toEqual(["1m"]);
    expect(of("keyword")).toEqual(["SELECT", "FROM", "WHERE", "AND", "time", "GROUP", "BY", "time"]);
  });
  it("tell what lists are asked for, and names that need quotes for it", () => {
    const of = (text: string, name: string) => words(text).filter((word) => word.class === name).map((word) => word.text);
    expect(of("SHOW TAG VALUES FROM cpu WITH KEY = host", "keyword")).toEqual(["SHOW", "TAG", "VALUES", "FROM", "WITH", "KEY"]);
    expect(["user", "key", "users_all"].map(quotedName)).toEqual(['"user"', '"key"', "users_all"]);
  });
  it("end where the text ends", () => {
    for (const text of ["'open", '"open', "/* open", "$", "é", "1.5e3"]) expect(words(text).map((word) => word.text).join("")).toBe(text);
  });
});

/** The cursor is where the bar stands. */
function at(marked: string) {
  const cursor = marked.indexOf("|");
  return expected(marked.replace("|", ""), cursor);
}

describe("what may stand at the cursor", () => {
  it.each([
    ["|", "words", ""],
    ["SEL|", "words", "SEL"],
    ["SELECT us| FROM cpu", "fields", "us"],
    ["SELECT mean(us| FROM cpu", "fields", "us"],
    ["SELECT mean(usage), | FROM cpu", "fields", ""],
    ["SELECT usage FROM c|", "measurements", "c"],
    ["SELECT usage FROM \"my c|", "measurements", "my c"],
    ["SELECT usage FROM cpu WH|", "words", "WH"],
    ["SELECT usage FROM cpu WHERE ho|", "fields and labels", "ho"],
    ["SELECT usage FROM cpu WHERE host = 'a|", "values", "a"],
    ["SELECT usage FROM cpu WHERE host = |", "values", ""],
    ["SELECT usage FROM cpu WHERE host <> 'a|", "values", "a"],
    ["SELECT usage FROM cpu WHERE host = 'a' AND r|", "fields and labels", "r"],
    ["SELECT mean(usage) FROM cpu GROUP BY time($step), ho|", "labels", "ho"],
    ["SELECT mean(usage) FROM cpu GROUP BY ho|", "labels", "ho"],
    ["SHOW TAG VALUES FROM cpu WITH KEY = ho|", "labels", "ho"],
    ["SHOW TAG VALUES FROM cpu WITH KEY = \"ho|", "labels", "ho"],
    ["SHOW TAG VALUES WITH KEY IN (host, re|", "labels", "re"],
    ["SHOW TAG VALUES WITH KEY = host WHERE re|", "fields and labels", "re"],
  ])("%s", (marked, of, typed) => {
    expect(at(marked)).toMatchObject({ of, typed });
  });
  it("knows the measurement and the label", () => {
    expect(at("SELECT | FROM \"my cpu\"")).toMatchObject({ measurement: "my cpu" });
    expect(at("SELECT u FROM cpu WHERE host = 'a|")).toMatchObject({ measurement: "cpu", label: "host" });
    expect(measurementOf("SELECT 1")).toBe("");
  });
});

describe("names of a statement", () => {
  it.each([
    ["SELECT mean(usage) AS u, \"my f\" FROM cpu WHERE x > 1 GROUP BY time($step)", { measurement: "cpu", columns: ["usage", "my f"] }],
    ["SELECT * FROM \"my cpu\"", { measurement: "my cpu", columns: [] }], ["SELECT a / b FROM m", { measurement: "m", columns: ["a", "b"] }],
    ["SELECT a FROM db.rp.m", null], ["SELECT a FROM /x/", null], ["SELECT a FROM (SELECT b FROM m)", null], ["SHOW DATABASES", null], ["SELECT a FROM m, n", null],
  ])("%s", (text, found) => expect(namedIn(text)).toEqual(found));
  it("give way to others", () => expect(renamed("SELECT mean(usge) FROM cpu WHERE h = 'usge'", "usge", "my usage")).toBe("SELECT mean(\"my usage\") FROM cpu WHERE h = 'usge'"));
});

describe("names and values are quoted where they must be", () => {
  it.each([["cpu", "cpu"], ["my cpu", '"my cpu"'], ["from", '"from"'], ['a"b\\c', '"a\\"b\\\\c"'], ["1a", '"1a"']])("%s", (name, text) =>
    expect(quotedName(name)).toBe(text));
  it("values", () => expect(quotedValue("it's")).toBe("'it\\'s'"));
});
