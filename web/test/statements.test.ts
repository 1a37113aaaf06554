import { afterEach, describe, expect, it, vi } from "vitest";
import type { Answer, Figures } from "../src/api";
import { bodyOf } from "../src/question";
import { answerOf, partsOf, together } from "../src/statements";

afterEach(() => vi.unstubAllGlobals());

describe("statements", () => {
  const body = (language: "sql" | "influxql", text: string) => bodyOf({ language, text, isForm: false, isHidden: false }, { start: 0, end: 1 }, 1);
  it("of SQL are asked one by one, each at its place in the text", () => {
    const parts = partsOf(body("sql", "SELECT 1;\n SELECT 'a;b' -- x\n; "));
    expect(parts.map(({ text }) => text)).toEqual(["SELECT 1", "         \n SELECT 'a;b' -- x\n"]);
    expect(partsOf(body("influxql", "SELECT 1; SELECT 2"))).toHaveLength(1);
  });
  it("are answered one after another", () => {
    const answer = (n: number): Answer => ({ series: [], tables: [{ name: `t${n}`, labels: {}, columns: [], rows: [] }], notes: ["cut"], figures: { samples_read: n, memory_peak_bytes: n } as Figures, tree: { type: "step", what: `${n}` } });
    const all = together([answer(3), answer(2)].map((one) => ({ text: "", answer: one, error: null, tookMs: 1 })));
    expect(all.tables!.map(({ name }) => name)).toEqual(["t3", "t2"]);
    expect([all.notes, all.figures]).toEqual([["cut"], { samples_read: 5, memory_peak_bytes: 3 }]);
    expect(all.tree).toMatchObject({ detail: "2 statements", steps: [{ what: "3" }, { what: "2" }] });
  });
  it("have each their own answer or error", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (_: string, { body: sent }: { body: string }) => {
      const { text } = JSON.parse(sent) as { text: string };
      asked.push(text.trim());
      return text.includes("bad")
        ? new Response(JSON.stringify({ error: { message: `no ${text.trim()}`, position: { line: 1, column: 1 } } }), { status: 400 })
        : new Response(JSON.stringify({ series: [], tables: [{ name: "", labels: {}, columns: ["n"], rows: [[1]] }], notes: [], figures: {} }));
    });
    const of = (text: string) => answerOf("", body("sql", text), new AbortController().signal);
    const { statements, tables } = await of("one; bad; two");
    expect([asked, tables!.length]).toEqual([["one", "bad", "two"], 2]);
    expect(statements!.map(({ text, answer, error }) => [text.trim(), answer !== null, error?.message])).toEqual([["one", true, undefined], ["bad", false, "no bad"], ["two", true, undefined]]);
    await expect(of("bad 1; bad 2")).rejects.toThrow("no bad 1");
    expect((await of("one")).statements).toHaveLength(1);
  });
});
