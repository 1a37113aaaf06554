import { describe, expect, it } from "vitest";
import { link } from "../src/code";
import { emptyForm, formOf } from "../src/question";
import { quotedSql, quotedSqlValue, sqlOf, sqlWords, statementsOf, tablesIn } from "../src/sql";

describe("words of SQL", () => {
  it("are told apart, and nothing of the text is lost", () => {
    const text = "SELECT avg(\"a \"\"b\"), x::bigint FROM cpu WHERE host='it''s' AND p = 'C:\\' AND time >= $start -- why\nGROUP BY 1, 2.5e3 /* end";
    const found = sqlWords(text);
    expect(found.map((word) => word.text).join("")).toBe(text);
    expect(found.every(({ at, text: word }) => text.startsWith(word, at))).toBe(true);
    const of = (name: string) => found.filter((word) => word.class === name).map((word) => word.text);
    expect(of("function")).toEqual(["avg"]);
    expect(of("name")).toEqual(['"a ""b"', "x", "bigint", "cpu", "host", "p", "time"]);
    expect(of("string")).toEqual(["'it''s'", "'C:\\'"]);
    expect(of("bound")).toEqual(["$start"]);
    expect(of("comment")).toEqual(["-- why", "/* end"]);
    expect(of("number")).toEqual(["1", "2.5e3"]);
    expect(of("keyword")).toEqual(["SELECT", "FROM", "WHERE", "AND", "AND", "GROUP", "BY"]);
  });
  it("end where the text ends", () => {
    for (const text of ["'open", '"open', "/* open", "$", "é", ".5", "😀"]) expect(sqlWords(text).map((word) => word.text).join("")).toBe(text);
  });
  it("are written so that they are read as the same names and values", () => {
    expect(["cpu", "Cpu", "a b", "first", 'x"y', "1a"].map(quotedSql)).toEqual(["cpu", "Cpu", '"a b"', '"first"', '"x""y"', '"1a"']);
    expect(quotedSqlValue("it's \\")).toBe("'it''s \\'");
  });
  it("make statements, whose ends stand in no name and no text", () => {
    expect(statementsOf("SELECT ';' FROM \"a;b\"; -- none; here\n; SELECT 2 ;").map((one) => one.trim())).toEqual(["SELECT ';' FROM \"a;b\"", "SELECT 2"]);
    expect(statementsOf("SELECT 1;\nSELECT 2")).toEqual(["SELECT 1", "         \nSELECT 2"]);
    expect(statementsOf(" ; ")).toEqual([]);
  });
  it("name no tables by WITH", () => expect(tablesIn("WITH w AS (SELECT bed, avg(ph) AS mean FROM plot GROUP BY bed) SELECT w.me FROM w ORDER BY 1")).toEqual(["plot"]));
  it("name tables behind FROM", () => expect(tablesIn('SELECT 1 FROM (SELECT * FROM "a b") AS x; SELECT 2 FROM c; SELECT * FROM information_schema.tables')).toEqual(["a b", "c"]));
});

describe("a form in SQL", () => {
  const halves = { measurement: "cpu", field: "user" };
  it("is a row for each window and each value of what splits", () => {
    expect(sqlOf(formOf("avg:5m-max:cpu.user{host=*}{dc=a|b}")!, halves)).toBe(
      "SELECT date_bin(INTERVAL '5 minutes', time) AS time, host, max(user) AS user\nFROM cpu\nWHERE time >= $start AND time < $end AND dc IN ('a', 'b')\nGROUP BY 1, host\nORDER BY 1",
    );
    expect(sqlOf(formOf("none:cpu.user{first=*}")!, halves)).toBe('SELECT time, "first", user\nFROM cpu\nWHERE time >= $start AND time < $end\nORDER BY time');
    expect(sqlOf(emptyForm("load"), { measurement: "load", field: "" })).toContain("SELECT date_bin($step, time) AS time, avg(value) AS value\nFROM load");
  });
  it("keeps folds and filters", () => {
    expect(sqlOf({ ...emptyForm(), fold: "p95" }, halves)).toContain("approx_percentile_cont(user, 0.95) AS user");
    expect(sqlOf({ ...emptyForm(), fold: "last" }, halves)).toContain("last_value(user ORDER BY time) AS user");
    const filters = ["it's", "web*", "not_literal_or(a|b)", "not_literal_or(a)", "regexp(^x)", "*"].map((pattern) => ({ label: "h", pattern, splits: false }));
    expect(sqlOf({ ...emptyForm(), filters }, halves)).toContain("AND h = 'it''s' AND h ~ '^(web.*)$' AND h NOT IN ('a', 'b') AND h <> 'a' AND h ~ '^x'\n");
  });
});

describe("SQL elsewhere", () => {
  it("is an address of InfluxDB 3's door, with the page's range and step in it", () => {
    const body = { language: "sql" as const, text: "SELECT '$step', date_bin($step, time) FROM m WHERE time >= $start", start_ms: 0, end_ms: 60_000, step_ms: 1500 };
    const address = new URL(link("http://h:1", "d", body));
    expect(address.pathname).toBe("/api/v3/query_sql");
    expect(Object.fromEntries(address.searchParams)).toEqual({ db: "d", format: "json", q: "SELECT '$step', date_bin(INTERVAL '1500 milliseconds', time) FROM m WHERE time >= TIMESTAMP '1970-01-01T00:00:00.000Z'" });
  });
});
