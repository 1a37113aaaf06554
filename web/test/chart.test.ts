import { describe, expect, it } from "vitest";
import { aligned, belowLogarithm, tickLabels, unitsInCommon } from "../src/parts/chart";

describe("lines over one row of times", () => {
  const times = Array.from({ length: 12 }, (_, at) => at * 10);
  const steady = { title: "a", times, values: times.map(() => 1) };
  const gappy = { title: "b", times: [0, 10, 20, 30, 90, 100, 110], values: [5, 5, 5, 5, 5, 5, 5] };
  it("keep a gap as wide as it is where others have points in it", () => {
    const [row, , values] = aligned([steady, gappy], false).drawn as unknown as [number[], unknown, (number | null | undefined)[]];
    const inGap = row.flatMap((time, at) => (time > 30 && time < 90 ? [values[at]] : []));
    expect(inGap.length).toBeGreaterThan(4);
    expect(inGap.every((value) => value === null)).toBe(true);
  });
  it("go on between their points where only others have some", () => {
    const coarse = { title: "c", times: [0, 20, 40, 60, 80, 100], values: [1, 2, 3, 4, 5, 6] };
    const [, , values] = aligned([steady, coarse], false).drawn as unknown as [number[], unknown, (number | null | undefined)[]];
    expect(values.includes(null)).toBe(false);
  });
});

describe("An axis that lines of several units share", () => {
  const line = (unit?: "bytes" | "percent" | "seconds", isRight = false) => ({ title: "", times: [], values: [], ...(unit ? { unit, isRight } : {}) });
  it("is told, where there are more than two or they stand on each other", () => {
    expect(unitsInCommon({ lines: [line("bytes"), line("percent"), line("bytes"), line("seconds")], unit: "plain" })).toEqual(["bytes", "percent", "seconds"]);
    expect(unitsInCommon({ lines: [line(), line("percent", true)], unit: "bytes", isStacked: true })).toEqual(["bytes", "percent"]);
    expect([unitsInCommon({ lines: [line(), line("percent", true)], unit: "bytes" }), unitsInCommon({ lines: [line(), line()], unit: "bytes" }), unitsInCommon({ lines: [], unit: "plain" })]).toEqual([[], [], []]);
  });
});

describe("A logarithmic axis", () => {
  it("leaves ticks without a text empty", () => {
    expect(tickLabels([1, null, 10, null, 100], "plain")).toEqual(["1", "", "10", "", "100"]);
  });
  it("tells how many values it has no place for", () => {
    const line = (values: (number | null)[], isHidden = false) => ({ title: "", times: [], values, isHidden });
    expect(belowLogarithm([line([1, 0, -2, null]), line([0.5, 3]), line([0, 0, 0], true)])).toBe(2);
  });
});
