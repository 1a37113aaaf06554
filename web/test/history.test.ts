import { describe, expect, it } from "vitest";
import { type Walk, remembered, textsOf, walked } from "../src/history";

const address = (questions: string[]) => `#/explore?start=1h-ago&${questions.join("&")}`;

describe("what was asked", () => {
  it("is remembered once, newest first", () => {
    expect(remembered(["b", "a"], "a")).toEqual(["a", "b"]);
    expect(remembered(Array.from({ length: 50 }, (_, at) => String(at)), "new")).toHaveLength(50);
  });
  it("is that of a row, in its language, newest first and none twice", () => {
    const list = [["p=c", "s=SELECT+2"], ["p=b", "s=SELECT+1"], ["i=SHOW+SERIES", "s=SELECT+1"], ["p=b"], ["p=a", "m=sum:x"]].map(address);
    expect([textsOf(list, 0, "promql"), textsOf(list, 1, "sql"), textsOf(list, 1, "opentsdb"), textsOf(list, 2, "sql")]).toEqual([["c", "b", "a"], ["SELECT 2", "SELECT 1"], ["sum:x"], []]);
  });
  it("goes along with a row that moved up because one before it was taken away", () => {
    const list = [["p=b3"], ["p=a2", "p=b3"], ["p=a1", "p=b2"]].map(address);
    expect(textsOf(list, 0, "promql")).toEqual(["b3", "b2"]);
    // Another row came, or the first one changed as well: nothing is known to have moved.
    expect(textsOf([["p=b"], ["p=x", "p=y"]].map(address), 0, "promql")).toEqual(["b", "x"]);
  });
  it("is walked through, back to what was typed, also after a text on the way was asked", () => {
    let walk: Walk | null = null;
    let now = "draft";
    const step = (by: 1 | -1) => {
      const next = walked(walk, now, by, () => ["c", "b", "a"]);
      if (!next) return null;
      walk = next;
      now = next.texts[next.at]!;
      return now;
    };
    expect([step(-1), step(1), step(1), step(1), step(1), step(-1), step(-1), step(-1), step(-1)]).toEqual([null, "c", "b", "a", null, "b", "c", "draft", null]);
  });
  it("begins anew where something else stands", () => {
    expect(walked({ texts: ["x", "y"], at: 1 }, "typed", 1, () => ["c", "typed", "b"])).toEqual({ texts: ["typed", "c", "b"], at: 1 });
    expect(walked(null, "typed", 1, () => [])).toBeNull();
  });
});
