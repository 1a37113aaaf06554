import { describe, expect, it } from "vitest";
import type { Answer, Figures } from "../src/api";
import { bodyOf } from "../src/question";
import { partsOf, together } from "../src/statements";

describe("statements", () => {
  const body = (language: "sql" | "influxql", text: string) => bodyOf({ language, text, isForm: false, isHidden: false }, { start: 0, end: 1 }, 1);
  it("of SQL are asked one by one, each at its place in the text", () => {
    const parts = partsOf(body("sql", "SELECT 1;\n SELECT 'a;b' -- x\n; "));
    expect(parts.map(({ text }) => text)).toEqual(["SELECT 1", "         \n SELECT 'a;b' -- x\n"]);
    expect(partsOf(body("influxql", "SELECT 1; SELECT 2"))).toHaveLength(1);
  });
  it("are answered one after another", () => {
    const answer = (n: number): Answer => ({ series: [], tables: [{ name: `t${n}`, labels: {}, columns: [], rows: [] }], notes: ["cut"], figures: { samples_read: n, memory_peak_bytes: n } as Figures, tree: { type: "step", what: `${n}` } });
    const all = together([answer(3), answer(2)]);
    expect(all.tables!.map(({ name }) => name)).toEqual(["t3", "t2"]);
    expect([all.notes, all.figures]).toEqual([["cut"], { samples_read: 5, memory_peak_bytes: 3 }]);
    expect(all.tree).toMatchObject({ detail: "2 statements", steps: [{ what: "3" }, { what: "2" }] });
  });
});
