import { describe, expect, it } from "vitest";
import { format, inShort, tickSteps, unitOf, ticksOf } from "../src/units";

describe("numbers", () => {
  it.each([
    [0, "plain", "0"], [1234, "plain", "1.23k"], [0.2899, "plain", "0.29"], [0.327, "plain", "0.327"], [-5_500_000, "plain", "-5.5M"],
    [0.0000123, "plain", "1.23e-5"], [999, "plain", "999"], [1024, "bytes", "1 KiB"], [500, "bytes", "500 B"], [1.5 * 2 ** 30, "bytes/s", "1.5 GiB/s"],
    [12.34, "percent", "12.3 %"], [0.0025, "seconds", "2.5 ms"], [90, "seconds", "90 s"], [86_400 * 3, "seconds", "3 d"],
    [414, "/s", "414/s"], [41_400, "/s", "41.4 k/s"], [Infinity, "plain", "Infinity"],
  ] as const)("%d in %s is %s", (value, unit, text) => expect(format(value, unit)).toBe(text));
  it("that are not there are a dash", () => {
    expect(format(null)).toBe("–");
    expect(format(undefined, "bytes")).toBe("–");
  });
});

describe("numbers of tables", () => {
  it.each([
    [20.486666666666668, "20.48666667"], [0.1 + 0.2, "0.3"], [12345678901234, "12345678901234"], [1e-7, "1e-7"], ["9007199254740993", "9007199254740993"], [true, "true"], [-1.5, "-1.5"],
  ] as const)("%s is %s", (value, text) => expect(inShort(value)).toBe(text));
});

describe("units", () => {
  it.each([
    ["df.bytes.used", false, "bytes"], ["proc.net.bytes", true, "bytes/s"], ["cpu.usage_percent", false, "percent"],
    ["http.request_seconds", false, "seconds"], ["shop.requests", true, "/s"], ["shop.requests", false, "plain"], ["kilobytesish", false, "plain"],
  ] as const)("of %s (rate: %s) are %s", (name, isRate, unit) => expect(unitOf(name, isRate)).toBe(unit));
  it("have round steps between ticks", () => {
    expect(tickSteps("bytes")).toContain(512 * 1024);
    expect(tickSteps("bytes")).not.toContain(1000);
    expect(tickSteps("plain")).toContain(0.25);
    const steps = tickSteps("plain");
    expect([...steps].sort((a, b) => a - b)).toEqual(steps);
  });
});

describe("ticks that lie closer than three digits tell", () => {
  it("are as far apart as they are said to be", () => {
    expect(ticksOf([8.2, 8.225, 8.25, 8.275, 8.3], "plain")).toEqual(["8.2", "8.225", "8.25", "8.275", "8.3"]);
    expect(ticksOf([0, 10, 20], "plain")).toEqual(["0", "10", "20"]);
  });
});
