import { afterEach, describe, expect, it, vi } from "vitest";
import type { Answer } from "../src/api";
import { wholeValues } from "../src/parts/chart";
import { type Outcome, askAll, drawn, isAsked, ratedStep, stepMsOf } from "../src/asking";
import { about, bodyOf } from "../src/question";
import { unexplored } from "../src/state";

describe("the step of a rate", () => {
  const HOUR = 3_600_000;
  const body = bodyOf(about("m", true), { start: 0, end: HOUR }, 10_000);
  const answer = (start: number, end: number, series_read: number, samples_read: number) => (
    { series: [{ times: [start, end] }], figures: { series_read, samples_read } } as unknown as Answer
  );
  it("holds four samples, where they lie further apart than the step", () => {
    expect(ratedStep(about("m", true), answer(0, HOUR, 4, 960), body)).toBe(60_000);
    expect(ratedStep(about("m", true), answer(0, HOUR, 4, 4 * 3600), body)).toBe(10_000);
  });
  it("looks at the time that has samples, and leaves a dozen steps", () => {
    expect(ratedStep(about("m", true), answer(HOUR - 300_000, HOUR, 1, 20), body)).toBe(60_000);
    expect(ratedStep(about("m", true), answer(0, HOUR, 1, 4), body)).toBe(300_000);
  });
  it("is known of very many series, too", () => {
    const many = { ...answer(0, HOUR, 200_000, 240 * 200_000), series: new Array(200_000).fill({ times: [0, HOUR] }) };
    expect(ratedStep(about("m", true), many, body)).toBe(60_000);
  });
  it("is what was asked of all else", () => {
    expect(ratedStep(about("m"), answer(0, HOUR, 4, 960), body)).toBe(10_000);
    expect(ratedStep({ ...about("m", true), text: "sum:1m-avg:rate{dropcounter}:m" }, answer(0, HOUR, 4, 960), body)).toBe(10_000);
    expect(ratedStep(about("m", true), { series: [], figures: answer(0, 0, 0, 0).figures }, body)).toBe(10_000);
  });
});

describe("a step that somebody chose", () => {
  const hour = { start: 0, end: 3_600_000 };
  it("is taken, where the lines are not too long", () => {
    expect([stepMsOf("1s", hour, 400), stepMsOf("1h30m", hour, 400), stepMsOf("", hour, 400)]).toEqual([1000, 5_400_000, 10_000]);
  });
  it("is refused with one that would do, or with how it is written", () => {
    expect(() => stepMsOf("100ms", hour, 400)).toThrow("36000 points");
    expect(() => stepMsOf("100ms", hour, 400)).toThrow("choose 500ms or more");
    for (const text of ["x", "5", "0s"]) expect(() => stepMsOf(text, hour, 400)).toThrow("is no duration");
  });
});

describe("a question with something to fill in", () => {
  it("is not asked", () => {
    const question = (text: string) => ({ language: "influxql" as const, text, isForm: false, isHidden: false });
    expect([isAsked(question('SELECT mean(*) FROM "…"')), isAsked(question('SELECT mean(*) FROM "m"'))]).toEqual([false, true]);
  });
});

describe("a line whose last window is not over", () => {
  const series = (times: number[]) => ({ name: "m", field: "value", labels: {}, varying: [], kind: "float", times, values: times });
  const question = { ...about("m"), text: "sum:1m-count:m" };
  const line = (times: number[], statements = false) => {
    const answer = { series: [series(times)] } as unknown as Answer;
    const whole = statements ? { ...answer, statements: [{ text: question.text, answer, error: null, tookMs: 1 }] } : answer;
    return drawn([{ question, answer: whole, error: null, until: { stepMs: 10_000, endMs: 200_000, nowMs: 200_000 } }], 0).lines[0]!;
  };
  it("has all points, and says from when on they are not whole", () => {
    expect(line([60_000, 120_000, 180_000])).toMatchObject({ values: [60_000, 120_000, 180_000], wholeUntil: 140_000 });
    expect(line([60_000, 180_000], true)).toMatchObject({ wholeUntil: 140_000 });
    expect(wholeValues(line([60_000, 120_000, 180_000]))).toEqual([60_000, 120_000]);
  });
  it("is one that has such a window, and others", () => {
    expect([line([60_000, 120_000]).wholeUntil, line([180_000]).wholeUntil]).toEqual([undefined, undefined]);
  });
});

describe("lines of several units", () => {
  const outcome = (...names: string[]): Outcome => ({
    question: about("m"), error: null,
    answer: { series: names.map((name) => ({ name, field: "value", labels: {}, varying: [], kind: "float", times: [1], values: [1] })) } as unknown as Answer,
  });
  it("have an axis each where there are two", () => {
    const { lines, unit } = drawn([outcome("mem.bytes", "cpu.percent", "disk.bytes")], 0);
    expect([unit, lines.map((line) => [line.unit, line.isRight])]).toEqual(["bytes", [[undefined, undefined], ["percent", true], [undefined, undefined]]]);
  });
  it("have none in common where there are more, and one where there is one", () => {
    expect(drawn([outcome("mem.bytes", "cpu.percent", "some.seconds")], 0)).toMatchObject({ unit: "plain" });
    expect(drawn([outcome("mem.bytes", "cpu.percent", "some.seconds")], 0).lines.map(({ unit, isRight }) => [unit, isRight])).toEqual([["bytes", false], ["percent", false], ["seconds", false]]);
    const two = drawn([outcome("mem.bytes"), outcome("cpu.percent")], 0, true);
    expect(two.series.map((series) => [two.letterIn(series), two.titleIn(series)])).toEqual([["A", "A mem.bytes"], ["B", "B cpu.percent"]]);
    const { series, unitIn } = drawn([outcome("mem.bytes", "cpu.percent", "some.seconds")], 0);
    expect(series.map(unitIn)).toEqual(["bytes", "percent", "seconds"]);
    const { lines, unit } = drawn([outcome("a.percent"), outcome("b.percent")], 0);
    expect([unit, lines.map((line) => line.unit)]).toEqual(["percent", [undefined, undefined]]);
  });
});

describe("a line of SQL without labels", () => {
  it("is called as its column", () => {
    const series = [{ name: "", field: "value", labels: {}, varying: [], kind: "float", times: [1], values: [1] }];
    const question = { language: "sql" as const, text: "SELECT date_bin($step, time) AS time, avg(x) AS value FROM m GROUP BY 1", isForm: false, isHidden: false };
    expect(drawn([{ question, error: null, answer: { series } as unknown as Answer }], 0).lines[0]!.title).toBe("value");
  });
});

describe("what is asked of the server", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  const NOW = 1_700_000_000_000;
  /** A server with a sample each half a minute until now. */
  const serve = () => {
    const bodies: Record<string, unknown>[] = [];
    vi.stubGlobal("fetch", async (_: string, { body }: { body: string }) => {
      const asked = JSON.parse(body) as { unit?: string };
      bodies.push(asked);
      const times = Array.from({ length: 120 }, (_, at) => NOW - (119 - at) * 30_000).map((time) => (asked.unit === "ns" ? `${time}000000` : time));
      return new Response(JSON.stringify({ series: [{ name: "m", field: "value", labels: {}, varying: [], kind: "integer", times, values: times.map((_, at) => at) }], notes: [], figures: { series_read: 1, samples_read: 120 } }));
    });
    return bodies;
  };
  const explored = { ...unexplored(), range: { start: String(NOW - 3_600_000), end: String(NOW) }, questions: [about("m", true)] };
  it("is all that is stored, where samples are looked at, whatever the form shows", async () => {
    const bodies = serve();
    const { outcomes } = await askAll({ ...explored, view: "samples" }, new AbortController().signal);
    expect([bodies.length, bodies[0]?.["text"], outcomes[0]?.answer?.series[0]?.times.at(-1), outcomes[0]?.answer?.notes]).toEqual([1, "none:m", NOW, []]);
  });
  it("has wider steps for a rate whose samples lie far apart, and no window that is not over", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW });
    const bodies = serve();
    const { outcomes } = await askAll(explored, new AbortController().signal);
    expect(bodies.map((body) => body["step_ms"])).toEqual([10_000, 120_000]);
    expect(outcomes[0]?.answer?.series[0]?.times.at(-1)).toBe(NOW - 120_000);
    // A step that somebody chose stays.
    const chosen = serve();
    await askAll({ ...explored, step: "20s" }, new AbortController().signal);
    expect(chosen.map((body) => body["step_ms"])).toEqual([20_000]);
  });
  it("goes one window behind a range that is past, so that the last one is whole", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW + 3_600_000 });
    const bodies = serve();
    const { outcomes } = await askAll({ ...explored, range: { start: String(NOW - 3_600_000), end: String(NOW - 45_000) } }, new AbortController().signal);
    expect(bodies.map((body) => body["end_ms"])).toEqual(bodies.map((body) => NOW - 45_000 + (body["step_ms"] as number)));
    expect(outcomes[0]?.answer?.series[0]?.times.at(-1)).toBe(NOW - 60_000);
  });
});
