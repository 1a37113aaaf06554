import { describe, expect, it } from "vitest";
import { ordered } from "../src/parts/order";

describe("rows in order", () => {
  it("stand as people count, and what has no key stands last", () => {
    const names = ["web10", "web9", null, "db"];
    expect(ordered(names, (name) => name, false)).toEqual(["db", "web9", "web10", null]);
    expect(ordered(names, (name) => name, true)).toEqual(["web10", "web9", "db", null]);
    expect(ordered([3, null, 20, -1], (value) => value, true)).toEqual([20, 3, -1, null]);
  });
});
