import { afterEach, describe, expect, it, vi } from "vitest";
import type { Answer, Figures } from "../src/api";
import { bodyOf } from "../src/question";
import { answerOf, asOneTable, partsOf, together } from "../src/statements";

afterEach(() => vi.unstubAllGlobals());

describe("statements", () => {
  const body = (language: "sql" | "influxql", text: string) => bodyOf({ language, text, isForm: false, isHidden: false }, { start: 0, end: 1 }, 1);
  it("of SQL are asked one by one, each at its place in the text", () => {
    const parts = partsOf(body("sql", "SELECT 1;\n SELECT 'a;b' -- x\n; "));
    expect(parts.map(({ text }) => text)).toEqual(["SELECT 1", "         \n SELECT 'a;b' -- x\n"]);
  });
  it("of InfluxQL are asked one by one, too, and a text of one as it stands", () => {
    const parts = (text: string) => partsOf(body("influxql", text)).map((part) => part.text);
    expect(parts("SELECT a FROM m;\nSELECT b FROM /x;y/ WHERE c =~ /;/ -- z; z\n;")).toEqual(["SELECT a FROM m", "                \nSELECT b FROM /x;y/ WHERE c =~ /;/"]);
    expect(parts(" SELECT a FROM m; -- why")).toEqual([" SELECT a FROM m; -- why"]);
    expect(parts("")).toEqual([""]);
  });
  it("of InfluxQL that list something of each measurement make one table", () => {
    const keys = (name: string, ...rows: string[][]) => ({ name, labels: {}, columns: ["fieldKey", "fieldType"], rows });
    expect(asOneTable([keys("cpu", ["user", "float"], ["idle", "float"]), keys("disk", ["used", "integer"])])).toEqual([
      { name: "", labels: {}, columns: ["measurement", "fieldKey", "fieldType"], rows: [["cpu", "user", "float"], ["cpu", "idle", "float"], ["disk", "used", "integer"]] },
    ]);
    const labelled = { name: "", columns: ["n"], rows: [[1]] };
    expect(asOneTable([{ ...labelled, labels: { bed: "a" } }, { ...labelled, labels: { toString: "b" } }])).toMatchObject([{ columns: ["bed", "toString", "n"], rows: [["a", null, 1], [null, "b", 1]] }]);
    const one = [keys("cpu", ["user", "float"])];
    const others = [...one, { ...keys("disk"), columns: ["tagKey"] }];
    expect([asOneTable(one), asOneTable(others), asOneTable([])]).toEqual([one, others, []]);
  });
  it("are answered one after another", () => {
    const answer = (n: number): Answer => ({ series: [], tables: [{ name: `t${n}`, labels: {}, columns: [], rows: [] }], notes: ["cut"], figures: { samples_read: n, memory_peak_bytes: n } as Figures, tree: { type: "step", what: `${n}` } });
    const all = together([answer(3), answer(2)].map((one) => ({ text: "", answer: one, error: null, tookMs: 1 })));
    expect(all.tables!.map(({ name }) => name)).toEqual(["t3", "t2"]);
    expect([all.notes, all.figures]).toEqual([["cut"], { samples_read: 5, memory_peak_bytes: 3 }]);
    expect(all.tree).toMatchObject({ detail: "2 statements", steps: [{ what: "statement 1", steps: [{ what: "3" }] }, { what: "statement 2", steps: [{ what: "2" }] }] });
  });
  it("are steps with their texts and times, those too that failed", async () => {
    const took = (took_ms: number) => ({ took_ms, series: 0, samples_read: took_ms, memory_peak_bytes: 7 });
    const read = { type: "step", what: "read", detail: "m", took: { ms: 2, series: 0, samples: 5 }, steps: [] };
    vi.stubGlobal("fetch", async (_: string, { body: sent }: { body: string }) => {
      const { text } = JSON.parse(sent) as { text: string };
      if (text.includes("unread")) return new Response(JSON.stringify({ error: { message: "unread" } }), { status: 400 });
      if (text.includes("much")) return new Response(JSON.stringify({ error: { message: "too much" }, tree: read, figures: took(6) }), { status: 413 });
      return new Response(JSON.stringify({ series: [], tables: [{ name: "", labels: {}, columns: ["n"], rows: [[1], [2]] }], notes: [], tree: read, figures: took(3) }));
    });
    const of = (text: string) => answerOf("", body("sql", text), new AbortController().signal);
    const { tree, figures } = await of("SELECT 1; much; unread");
    expect(figures).toEqual({ took_ms: 9, series: 0, samples_read: 9, memory_peak_bytes: 7 });
    expect(tree).toEqual({ type: "step", what: "answer", detail: "3 statements", steps: [
      { type: "step", what: "statement 1", detail: "SELECT 1", took: { ms: 3, own_ms: 1, series: 0, samples: 3, rows: 2 }, steps: [read] },
      { type: "step", what: "statement 2", detail: "much", took: { ms: 6, own_ms: 4, series: 0, samples: 6 }, error: "too much", steps: [read] },
      { type: "step", what: "statement 3", detail: "unread", error: "unread", steps: [] },
    ] });
    const failed = await of("much 1; unread 2").catch((error) => error);
    expect([failed.message, failed.done.figures.took_ms, failed.done.tree.steps.length]).toEqual(["too much", 6, 2]);
    const unread = await of("unread 1; unread 2").catch((error) => error);
    expect([unread.message, unread.done]).toEqual(["unread", null]);
    expect((await of("SELECT 1")).tree).toEqual(read);
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
    const influxql = (text: string) => answerOf("", body("influxql", text), new AbortController().signal);
    expect((await influxql("one; bad; two")).statements!.map(({ answer, error }) => [answer !== null, error?.message])).toEqual([[true, undefined], [false, "no bad"], [true, undefined]]);
    expect((await influxql("one")).statements).toBeUndefined();
  });
});
