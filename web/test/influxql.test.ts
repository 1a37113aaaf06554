import { describe, expect, it } from "vitest";
import { inSeries, measurementsIn, namedIn, quotedName, quotedValue, renamed, words } from "../src/influxql";

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
  it("names the measurements of all statements, without those behind a database", () => {
    expect(measurementsIn('SELECT a FROM cpu; SELECT b FROM "my table", x; SELECT c FROM cpu -- FROM y\n; SELECT d FROM "db"."rp".m')).toEqual(["cpu", "my table"]);
    expect(measurementsIn("SELECT mean(v) FROM (SELECT v FROM inner)")).toEqual(["inner"]);
  });
});

describe("samples of a statement", () => {
  it.each([
    ["SELECT * FROM weather WHERE time >= $start", "SELECT * FROM weather WHERE time >= $start GROUP BY *"],
    ["SELECT a FROM m ORDER BY time DESC", "SELECT a FROM m GROUP BY * ORDER BY time DESC"],
    ["SELECT a FROM m tz('Europe/Vienna')", "SELECT a FROM m GROUP BY * tz('Europe/Vienna')"],
    ["SELECT a FROM m GROUP BY h", "SELECT a FROM m GROUP BY h"],
    ["SELECT a FROM m LIMIT 5", "SELECT a FROM m LIMIT 5"],
    ["SHOW MEASUREMENTS", "SHOW MEASUREMENTS"],
    ["SELECT a FROM m; SELECT b FROM m", "SELECT a FROM m; SELECT b FROM m"],
  ])("of %s have their labels", (text, grouped) => expect(inSeries(text)).toBe(grouped));
});
