import { describe, expect, it } from "vitest";
import { stepsOf } from "../src/parts/explain";

describe("steps", () => {
  it("of PromQL stand under each other as they are nested", () => {
    const vector = { type: "vectorSelector", name: "x", matchers: [{ name: "__name__", type: "=", value: "x" }, { name: "a", type: "!=", value: "b" }] };
    const tree = {
      type: "binaryExpr", op: "/", lhs: { type: "parenExpr", expr: { type: "aggregation", op: "sum", grouping: ["c"], without: false, expr: { type: "call", func: { name: "rate" }, args: [{ ...vector, type: "matrixSelector", range: 300_000 }] } } },
      rhs: { type: "numberLiteral", val: "2" },
    };
    expect(stepsOf(tree).map(({ depth, what, detail }) => `${depth} ${what} ${detail}`)).toEqual([
      "0 / of two sides", "1 sum by (c)", "2 rate ", '3 read x{a!="b"} over 5 min before each instant', "1 number 2",
    ]);
  });
  it("of other languages are operators, each with what it took", () => {
    const took = { ms: 2, series: 3, samples: 40 };
    const tree = { type: "step", what: "mean", detail: "by host", took, steps: [{ type: "step", what: "read", detail: "m{host=*}", took, steps: [] }] };
    expect(stepsOf(tree)).toEqual([{ depth: 0, what: "mean", detail: "by host", took }, { depth: 1, what: "read", detail: "m{host=*}", took }]);
  });
});
