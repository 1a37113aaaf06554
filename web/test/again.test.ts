import { describe, expect, it } from "vitest";
import { askedOver, askingAgain } from "../src/again";
import type { AskedQuestion } from "../src/api";
import { place, read } from "../src/state";

const asked = (question: Partial<AskedQuestion> | null, database = "web") => ({
  database, question: question && { language: "promql" as const, texts: ["up"], start_ms: 1_767_225_600_000, end_ms: 1_767_229_200_000, step_ms: 15_000, ...question },
});

const opened = (of: ReturnType<typeof asked>) => read(place(askingAgain(of)!).params);

describe("Questions that the server tells of", () => {
  it("are asked again in their language, database, range and step", () => {
    const found = opened(asked({}));
    expect([found.database, found.range, found.step]).toEqual(["web", { start: "1767225600000", end: "1767229200000" }, "15s"]);
    expect(found.questions).toEqual([{ language: "promql", text: "up", isForm: false, isHidden: false }]);
  });
  it("are forms and several where they were", () => {
    const { questions } = opened(asked({ language: "opentsdb", texts: ["sum:1m-avg:cpu{host=*}", "max:rate{counter,255}:net"] }));
    expect(questions.map(({ text, isForm }) => [text, isForm])).toEqual([["sum:1m-avg:cpu{host=*}", true], ["max:rate{counter,255}:net", false]]);
  });
  it("show the hour before the one instant that they were about", () => {
    expect(opened(asked({ start_ms: 1_767_229_200_000, step_ms: null })).range).toEqual({ start: "1767225600000", end: "1767229200000" });
  });
  it("have the page's range where they name none, and its step where theirs makes too many points", () => {
    const found = opened(asked({ language: "influxql", start_ms: null, end_ms: null, step_ms: null }));
    expect([found.range, found.step, found.questions[0]?.language]).toEqual([{ start: "1h-ago", end: "now" }, "", "influxql"]);
    expect(opened(asked({ step_ms: 1 })).step).toBe("");
  });
  it("lead nowhere where they are cut, or no text can say them", () => {
    expect([askingAgain(asked({ texts: [] })), askingAgain(asked(null))]).toEqual([null, null]);
  });
  it("tell over which time they were asked", () => {
    expect(askedOver(asked({}))).toMatch(/^1 h until 20.*, every 15s$/);
    expect(askedOver(asked({ start_ms: 1_767_229_200_000, step_ms: null }))).toMatch(/^at 20/);
    expect([askedOver(asked(null)), askedOver(asked({ start_ms: null }))]).toEqual(["", ""]);
  });
});
