import { describe, expect, it } from "vitest";
import { saidBy } from "../src/saved";

describe("files that were saved", () => {
  const rows = [["2026-01-01T12:00:00.000000000Z", "cpu", "note", "b", "string", "x"]];
  it("are those of the page, and of foliot export", () => {
    expect(saidBy(["time", "measurement", "field", "host", "kind", "value"], rows)).toEqual({ time: 0, unit: "date" });
    expect(saidBy(["time_ns", "name", "field", "value", "kind"], [["1", "m", "f", "1", "integer"]])).toEqual({ time: 0, unit: "ns" });
  });
  it("are none without kinds, or with others", () => {
    expect(saidBy(["time", "measurement", "field", "host", "value"], rows)).toBeNull();
    expect(saidBy(["time", "measurement", "field", "host", "kind", "value"], [["", "", "", "", "sort", ""]])).toBeNull();
  });
});
