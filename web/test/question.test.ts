import { describe, expect, it } from "vitest";
import { about, curl, formOf, isRate, textOf } from "../src/question";

describe("forms", () => {
  it.each([
    "avg:$step-avg:cpu.user", "sum:cpu.user", "sum:1m-max:rate:cpu.user{host=*}", "p99:$step-avg:rate{dropcounter}:net.bytes{iface=*}{host=a|b}",
    "none:m{}{host=wildcard(web*)}", "avg:$step-avg:",
  ])("show %s and write it back", (text) => {
    const form = formOf(text);
    expect(form).not.toBeNull();
    expect(textOf(form!)).toBe(text);
  });
  it.each(["sum:rate{counter,100,5}:m", "sum:1m-avg-zero:m", "sum:explicit_tags:m", "sum:percentiles[99]:m", "m", "sum:m{host}", ""])(
    "leave %s to its text", (text) => expect(formOf(text)).toBeNull());
  it("tell labels that split from those that only filter", () => {
    expect(formOf("sum:m{a=*}{b=x}")?.filters).toEqual([
      { label: "a", pattern: "*", splits: true }, { label: "b", pattern: "x", splits: false },
    ]);
  });
});

describe("first questions", () => {
  it("are forms where the name allows it", () => {
    expect(about("cpu.user").text).toBe("avg:$step-avg:cpu.user");
    expect(about("cpu.user", true).text).toBe("avg:$step-avg:rate{dropcounter}:cpu.user");
    expect(isRate(about("cpu.user", true))).toBe(true);
    expect(isRate(about("rate.of.change"))).toBe(false);
  });
  it("quote names that are no plain ones", () => {
    const question = about('a "b"\\{c}\nd');
    expect(question.language).toBe("influxql");
    expect(question.text).toContain('FROM "a \\"b\\"\\\\{c}\\nd" WHERE');
  });
});

describe("copies for a shell", () => {
  it("survive quotes", () => {
    const body = { language: "influxql", text: "SELECT v FROM m WHERE h = 'x'", start_ms: 1, end_ms: 2, step_ms: 1 } as const;
    const text = curl("http://localhost:4242", "a b", body);
    expect(text).toContain("query?db=a%20b'");
    expect(text).toContain("h = '\\''x'\\''");
  });
});
