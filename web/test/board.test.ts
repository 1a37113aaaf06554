import { afterEach, describe, expect, it } from "vitest";
import type { Panel } from "../src/api";
import { boardText, changed, draftOf, dropDraft, exploredOf, fileName, fixed, keepDraft, lastText, mustBeFree, reworded, settled } from "../src/board";
import { boardIn, readBoard } from "../src/boardfile";
import { enter } from "../src/database";

const TWO = "#/explore?start=1h-ago&view=table&m=avg%3A%24step-avg%3Aload&p=up";

describe("panels", () => {
  const panel: Panel = { title: " Load ", address: TWO };
  it("are what their addresses say, and nothing else of them changes", () => {
    expect(exploredOf(changed(panel, { view: "number" }).address)).toEqual({ ...exploredOf(TWO), view: "number" });
    expect(changed(panel, { view: "graph" })).toEqual({ title: " Load ", address: "#/explore?start=1h-ago&m=avg%3A%24step-avg%3Aload&p=up" });
    const texts = (one: Panel) => exploredOf(one.address).questions.map(({ language, text }) => `${language} ${text}`);
    expect(texts(reworded(panel, 1, "rate(a[5m])\n# é&=#"))).toEqual(["opentsdb avg:$step-avg:load", "promql rate(a[5m])\n# é&=#"]);
    // While it is typed a text may be empty.
    expect(texts(reworded(panel, 0, ""))).toEqual(["opentsdb ", "promql up"]);
  });
  it("are stored without questions that have no text", () => {
    expect(settled(panel)).toEqual({ title: "Load", address: TWO });
    expect(settled(reworded(panel, 0, "  "))).toEqual({ title: "Load", address: "#/explore?start=1h-ago&view=table&p=up" });
    expect(exploredOf(settled(reworded(reworded(panel, 0, ""), 1, "")).address).questions).toEqual([]);
  });
});

describe("the range of a dashboard", () => {
  it("means one time in panels of every zone", () => {
    const here = new Date(2026, 2, 1, 8).getTime();
    expect(fixed({ start: "2026/03/01-08:00", end: "now" })).toEqual({ start: String(here), end: "now" });
    expect(fixed({ start: "1h30m-ago", end: "now-5m" })).toEqual({ start: "1h30m-ago", end: "now-5m" });
    expect(fixed({ start: "1772352000", end: "soon" })).toEqual({ start: "1772352000000", end: "soon" });
  });
});

describe("a number", () => {
  it("is the newest value, with its unit, whichever way times go", () => {
    expect(lastText({ kind: "float", times: [1, 2, 3], values: [1, 2048, null] }, "bytes")).toBe("2 KiB");
    expect(lastText({ kind: "float", times: [3, 2, 1], values: [null, 2048, 1] }, "bytes")).toBe("2 KiB");
    expect([lastText({ kind: "float", times: [1], values: [true] }, "plain"), lastText({ kind: "float", times: [1, 2], values: [1, "open"] }, "percent"), lastText({ kind: "float", times: [1], values: [null] }, "percent"), lastText({ kind: "float", times: [], values: [] }, "plain")])
      .toEqual(["1", "open", "–", "–"]);
  });
});

describe("a file of a dashboard", () => {
  const board = { name: "Größe <b>", panels: [{ title: "Load", address: TWO }] };
  it("is what can be read again", () => {
    expect(JSON.parse(boardText({ ...board, panels: [{ ...board.panels[0]!, key: 7 } as Panel] }))).toEqual({ foliot_dashboard: 1, ...board });
    expect(boardIn(boardText(board))).toEqual(board);
    expect([fileName("Größe <b>"), fileName("../a/b"), fileName("…")]).toEqual(["Größe_b_.json", "a_b.json", "dashboard.json"]);
  });
  it("is told what is wrong with it", () => {
    const why = (part: unknown) => {
      try {
        return boardIn(typeof part === "string" ? part : JSON.stringify({ foliot_dashboard: 1, ...board, ...part as object }));
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(why('{"foliot_dashboard": 1,')).toMatch(/no JSON/);
    for (const other of ["[]", "null", "7", '{"name":"a"}']) expect(why(other), other).toMatch(/"foliot_dashboard": 1 is missing/);
    expect(why('{"schemaVersion":39,"panels":[]}')).toMatch(/Grafana/);
    expect(why({ foliot_dashboard: 2 })).toMatch(/"foliot_dashboard": 2, and this page reads 1/);
    for (const name of [undefined, 7, " ", "n".repeat(101)]) expect(why({ name }), String(name)).toMatch(/no “name”/);
    for (const panels of [undefined, {}, [], Array(41).fill(board.panels[0])]) expect(why({ panels })).toMatch(/from 1 to 40/);
    expect(why({ panels: [...board.panels, { title: "", address: TWO }] })).toMatch(/^Panel 2 .*no “title”/);
    for (const address of [undefined, "https://evil.example/", "javascript:alert(1)", "#/home", `#/explore?m=${"é".repeat(8192)}`]) {
      expect(why({ panels: [{ title: "<i>", address }] }), String(address)).toMatch(/^Panel 1 of the file, “<i>”, has no “address”/);
    }
    for (const panel of [null, 7, "x"]) expect(why({ panels: [panel] })).toMatch(/^Panel 1/);
    expect(why({ name: "😀".repeat(100), extra: 1 })).toEqual({ ...board, name: "😀".repeat(100) });
  });
  it("is read only if it is no larger than one can be", async () => {
    expect(await readBoard(new File(["\ufeff", boardText(board)], "a.json"))).toEqual(board);
    await expect(readBoard(new File([" ".repeat((4 << 20) + 1)], "a.json"))).rejects.toThrow(/larger than any dashboard/);
  });
  it("has a name that is free", () => {
    expect(() => mustBeFree("a", ["a"])).toThrow("There is a “a” already; choose another name.");
    expect(() => mustBeFree("a", ["A"])).not.toThrow();
  });
});

describe("what is not stored yet", () => {
  afterEach(() => {
    enter(new URLSearchParams("db="));
    dropDraft("a");
  });
  it("is of a dashboard of one database", () => {
    const draft = { of_ms: 1, name: "b", panels: [] };
    keepDraft("a", draft);
    expect([draftOf("a"), draftOf("b")]).toEqual([draft, undefined]);
    enter(new URLSearchParams("db=other"));
    expect(draftOf("a")).toBeUndefined();
    enter(new URLSearchParams("db="));
    dropDraft("a");
    expect(draftOf("a")).toBeUndefined();
  });
});
