import { describe, expect, it } from "vitest";
import { type Walk, remembered, walked } from "../src/history";

describe("what was asked", () => {
  it("is remembered once, newest first", () => {
    expect(remembered(["b", "a"], "a")).toEqual(["a", "b"]);
    expect(remembered(Array.from({ length: 50 }, (_, at) => String(at)), "new")).toHaveLength(50);
  });
  it("is walked through, though each stop is asked again", () => {
    let list = ["c", "b", "a"];
    let walk: Walk | null = null;
    const step = (by: 1 | -1) => {
      const at: string = walk ? walk.addresses[walk.at]! : list[0]!;
      const next = walked(walk, at, by, list);
      if (!next) return null;
      walk = next;
      list = remembered(list, next.addresses[next.at]!);
      return next.addresses[next.at];
    };
    expect([step(1), step(1), step(1), step(-1), step(-1), step(-1)]).toEqual(["b", "a", null, "b", "c", null]);
  });
  it("begins with the newest where something else stands", () => {
    const walk = walked({ addresses: ["x", "y"], at: 1 }, "typed", 1, ["c", "b"]);
    expect(walk && walk.addresses[walk.at]).toBe("c");
    expect(walked(null, "typed", -1, ["c"])).toBeNull();
    expect(walked(null, "typed", 1, [])).toBeNull();
  });
});
