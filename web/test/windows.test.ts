import { describe, expect, it } from "vitest";
import type { Language } from "../src/question";
import { stepOf, windowOf, withWindow } from "../src/windows";

describe("the window of a question", () => {
  it("is read from a text and put into another", () => {
    expect(windowOf({ language: "influxql", text: "SELECT mean(v) FROM m GROUP BY host, time( 1m , 10s)" })).toBe("1m");
    expect(windowOf({ language: "influxql", text: "SELECT mean(v) FROM m GROUP BY time($step)" })).toBe("$step");
    expect(windowOf({ language: "opentsdb", text: "sum:10s-avg:m" })).toBe("10s");
    for (const text of ["SELECT v FROM m", "SELECT time(x) FROM m"]) expect(windowOf({ language: "influxql", text })).toBeNull();
    expect(windowOf({ language: "promql", text: "rate(m[5m])" })).toBeNull();
    expect(withWindow("influxql", "SELECT mean(v) FROM m GROUP BY time($step, 3s), *", "1h")).toBe("SELECT mean(v) FROM m GROUP BY time(1h, 3s), *");
    expect(withWindow("influxql", "SELECT sum(v) FROM (SELECT mean(x) AS v FROM m GROUP BY time($step), *) GROUP BY time($step)", "1h")).toBe("SELECT sum(v) FROM (SELECT mean(x) AS v FROM m GROUP BY time(1h), *) GROUP BY time(1h)");
    expect(withWindow("opentsdb", "sum:10s-avg:m{a=*}", "$step")).toBe("sum:$step-avg:m{a=*}");
    expect(withWindow("opentsdb", "sum:m", "1h")).toBe("sum:m");
  });
  it("is an interval in SQL", () => {
    const of = (text: string) => windowOf({ language: "sql", text });
    expect(["date_bin(INTERVAL '5 minutes', time)", "DATE_BIN( interval '1 hour' , time)", "time_bucket('10 seconds', time)", "date_bin($step, time)", "date_trunc('hour', time)", "date_bin(INTERVAL '1 month', time)"].map(of)).toEqual(["5m", "1h", "10s", "$step", null, null]);
    expect(withWindow("sql", "SELECT date_bin($step, time), avg(v) FROM m", "1h")).toBe("SELECT date_bin(INTERVAL '1 hour', time), avg(v) FROM m");
    expect(withWindow("sql", "SELECT time_bucket('5 minutes', time) FROM m", "$step")).toBe("SELECT time_bucket($step, time) FROM m");
  });
});

describe("how far the points of an answer lie apart", () => {
  it("is said by its question, or is the page's step", () => {
    const of = (language: Language, text: string) => stepOf({ language, text }, 10_000);
    expect([of("opentsdb", "avg:1m-avg:m"), of("opentsdb", "avg:$step-avg:m"), of("opentsdb", "none:m"), of("opentsdb", "avg:$step-avg:rate{counter,1,2}:m")]).toEqual(["1m", "10s", null, "10s"]);
    expect([of("influxql", "SELECT mean(v) FROM m GROUP BY time(5m)"), of("influxql", "SELECT mean(v) FROM m GROUP BY time($step)"), of("influxql", "SELECT v FROM m")]).toEqual(["5m", "10s", null]);
    expect(of("promql", "rate(m[5m])")).toBe("10s");
    expect([of("sql", "SELECT date_bin(INTERVAL '5 minutes', time), avg(v) FROM m GROUP BY 1"), of("sql", "SELECT time, v FROM m")]).toEqual(["5m", null]);
  });
});
