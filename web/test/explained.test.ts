import { describe, expect, it } from "vitest";
import { explained, savedOf, stepsOf } from "../src/parts/explained";

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
  it("of a question that failed are those that had begun, under the reason", () => {
    const figures = { samples: 0, series: 0, samples_read: 9, series_read: 0, blocks_read: 0, blocks_summed: 0, blocks_skipped: 0, bytes_read: 0, pages_cached: 0, pages_loaded: 0, memory_peak_bytes: 0, took_ms: 1 };
    expect(explained({ text: "m", figures, error: "too many samples" }, [{ depth: 0, what: "read", detail: "m" }])).toMatch(/^m\nno answer: too many samples\n {2}read m\nread: 9 samples\n/);
  });
  it("of operators over rows tell how many came in and went out, and what the step took by itself", () => {
    const figures = { samples: 0, series: 0, samples_read: 9, series_read: 1, blocks_read: 0, blocks_summed: 0, blocks_skipped: 0, bytes_read: 0, pages_cached: 0, pages_loaded: 0, memory_peak_bytes: 0, took_ms: 10, waited_ms: 1, planning_ms: 2, steps_ms: 7, printing_ms: 1 };
    const steps = [
      { depth: 0, what: "keep", detail: "rows", took: { ms: 7, own_ms: 3, series: 0, samples: 9, rows: 1, rows_in: 9 } }, { depth: 1, what: "read", detail: "m", took: { ms: 4, own_ms: 4, series: 0, samples: 9, rows: 9 } },
      { depth: 1, what: "max", detail: "", took: { ms: 4, own_ms: 4, series: 2, samples: 9, rows: 1 } },
    ];
    const told = explained({ text: "SELECT", figures, rows: 1 }, steps);
    expect(told).toContain("  keep rows (9 rows in, 1 out, from 9 samples, 7 ms, 3 ms by itself)\n    read m (9 rows from 9 samples, 4 ms)\n    max (2 series, 1 row from 9 samples, 4 ms)\n");
    expect(told).toContain("waited: 1 ms before it was begun\ntime: 2 ms planning + 7 ms steps + 1 ms printing = 10 ms in the server\n");
    expect(explained({ text: "SELECT", figures: { ...figures, steps_ms: 4 }, rows: 1 }, steps)).toContain(" + 4 ms steps, 7 ms of all threads together + ");
  });
  it("of several statements have their numbers, texts and errors", () => {
    const took = { ms: 4, own_ms: 1, series: 0, samples: 9, rows: 2 };
    const read = { type: "step", what: "read", detail: "m", took: { ...took, own_ms: 4 }, steps: [] };
    const tree = { type: "step", what: "answer", detail: "2 statements", steps: [
      { type: "step", what: "statement 1", detail: `SELECT\n  ${"x, ".repeat(40)}`, took, steps: [read] }, { type: "step", what: "statement 2", detail: "SELECT y", error: "no y", steps: [] },
    ] };
    const steps = stepsOf(tree);
    expect(steps.map(({ depth, what, error }) => [depth, what, error])).toEqual([[0, "statement 1", undefined], [1, "read", undefined], [0, "statement 2", "no y"]]);
    expect(steps[0]!.detail).toMatch(/^SELECT x, x,.*…$/);
    expect(steps[0]!.detail).toHaveLength(80);
    const figures = { samples: 0, series: 0, samples_read: 9, series_read: 1, blocks_read: 0, blocks_summed: 0, blocks_skipped: 0, bytes_read: 0, pages_cached: 0, pages_loaded: 0, memory_peak_bytes: 0, took_ms: 10 };
    expect(explained({ text: "a; b", figures, rows: 1 }, steps)).toContain("  statement 2 SELECT y: no answer: no y\n");
  });
  it("of a table tell its rows", () => {
    const figures = { samples: 0, series: 0, samples_read: 9, series_read: 1, blocks_read: 0, blocks_summed: 0, blocks_skipped: 0, bytes_read: 0, pages_cached: 0, pages_loaded: 0, memory_peak_bytes: 0, took_ms: 1 };
    expect(explained({ text: "SELECT 1", figures, rows: 1 }, [])).toMatch(/^SELECT 1\nanswer: 1 row\nread: /);
  });
  it("are pasted as text, with what the whole took", () => {
    const figures = { samples: 60, series: 2, samples_read: 400, series_read: 2, blocks_read: 1, blocks_summed: 3, blocks_skipped: 5, bytes_read: 2048, pages_cached: 1, pages_loaded: 1, memory_peak_bytes: 4096, took_ms: 3 };
    const took = { ms: 2, series: 2, samples: 400 };
    expect(explained({ text: "rate(x[5m])", figures: figures as never }, [{ depth: 0, what: "rate", detail: "", took }, { depth: 1, what: "read", detail: "x" }])).toBe([
      "rate(x[5m])", "answer: 60 samples of 2 series", "  rate (2 series from 400 samples, 2 ms)", "    read x", "read: 400 samples of 2 stored series",
      "blocks: 1 decoded (2 KiB), 3 answered by their summaries, 5 skipped, outside of the range", "cache: 1 of 2 pages were in memory (50 %)", "memory: 4 KiB at most", "time: 3 ms in the server", "",
    ].join("\n"));
  });
});

describe("a saved explanation", () => {
  const saved = { language: "promql", text: "up", figures: { took_ms: 1 }, tree: { type: "vectorSelector", name: "up" } };
  it("is opened as it was", () => expect(savedOf(JSON.stringify(saved))).toEqual(saved));
  it.each(["", "[]", "null", "{}", JSON.stringify({ ...saved, figures: null }), JSON.stringify({ ...saved, tree: [1] }), JSON.stringify({ ...saved, figures: { took_ms: 1, samples: {} } }), JSON.stringify({ ...saved, tree: { type: "step", steps: [null] } }), JSON.stringify({ ...saved, tree: { type: "step", steps: Array(5000).fill({ type: "x" }) } }), JSON.stringify({ foliot_dashboard: 1, name: "a", panels: [] })])(
    "is told from %s", (content) => expect(() => savedOf(content)).toThrow("choose one that Explain saved"),
  );
});
