import { describe, expect, it } from "vitest";
import { windowOf, withWindow } from "../src/windows";

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
