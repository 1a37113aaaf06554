import { describe, expect, it } from "vitest";
import type { Language, Question } from "../src/question";
import { endOf, finished, wholeUntil } from "../src/unfinished";

const asks = (text: string, language: Language = "opentsdb"): Question => ({ language, text, isForm: false, isHidden: false });
const [MINUTE, NOW] = [60_000, 6_000_000];
const live = { stepMs: MINUTE, endMs: NOW, nowMs: NOW };
const past = { ...live, endMs: NOW - 30 * MINUTE };

describe("windows that are not over", () => {
  it.each([
    ["opentsdb", "sum:$step-avg:m"], ["opentsdb", "zimsum:1m-max:m{host=*}"], ["opentsdb", "avg:1m-count:m"], ["opentsdb", "max:1m-sum:m"],
    ["influxql", "SELECT count(v) FROM m WHERE time >= $start AND time < $end GROUP BY time($step)"],
    ["influxql", "SELECT non_negative_derivative(mean(v), 1s) FROM m WHERE time >= $start AND time < $end GROUP BY time(1m)"],
    ["sql", "SELECT date_bin($step, time) AS time, count(*) FROM m WHERE time >= $start AND time < $end GROUP BY 1"],
  ] as const)("have less in them in %s: %s", (language, text) => {
    expect([wholeUntil(asks(text, language), live), wholeUntil(asks(text, language), past)]).toEqual([NOW - MINUTE, NOW - 31 * MINUTE]);
    // What lies in the future is no window yet.
    expect(wholeUntil(asks(text, language), { ...live, endMs: NOW + 9 * MINUTE })).toBe(NOW - MINUTE);
  });
  it.each([
    ["opentsdb", "avg:1m-avg:m"], ["opentsdb", "sum:m"], ["opentsdb", "sum:1m-sum:rate:m"], ["promql", "sum(rate(m[5m]))"], ["promql", "count_over_time(m[5m])"],
    ["influxql", "SELECT mean(v) FROM m GROUP BY time(1m)"], ["influxql", "SELECT sum(v) FROM m"], ["influxql", "SELECT max(\"sum(x)\") FROM m GROUP BY time(1m)"],
    ["sql", "SELECT date_bin($step, time) AS time, avg(v) FROM m GROUP BY 1"], ["sql", "SELECT count(*) FROM m"],
  ] as const)("are as others in %s: %s", (language, text) => expect(wholeUntil(asks(text, language), live)).toBe(Infinity));
  it("end now, where a text does not name the range", () => {
    expect(wholeUntil(asks("SELECT count(v) FROM m WHERE time < 3000000ms GROUP BY time(1m)", "influxql"), past)).toBe(NOW - MINUTE);
  });
});

describe("a form's rate", () => {
  const rate = asks("sum:1m-avg:rate{dropcounter}:m");
  const series = (...times: number[]) => ({ name: "m", field: "", labels: {}, varying: [], kind: "float", times, values: times.map((_, at) => at), kinds: times.map(() => "float") });
  it("is asked one window farther, as far as there is time", () => {
    expect([endOf(rate, live), endOf(rate, past), endOf(rate, { ...live, endMs: NOW - 1000 })]).toEqual([NOW, past.endMs + MINUTE, NOW]);
    expect([endOf(asks("sum:1m-avg:m"), past), endOf(asks("sum:rate:m"), past), endOf(asks("rate(m[5m])", "promql"), past)]).toEqual([past.endMs, past.endMs, past.endMs]);
  });
  it("loses no window of a range that is past, and the one that is not over", () => {
    const { times, values, kinds } = finished(series(past.endMs - MINUTE, past.endMs - 1000, past.endMs + 59_000), rate, past);
    expect([times, values.length, kinds?.length]).toEqual([[past.endMs - MINUTE, past.endMs - 1000], 2, 2]);
    expect(finished(series(NOW - 90_000, NOW - 30_000), rate, live).times).toEqual([NOW - 90_000]);
  });
  it("is shown where it is all that there is", () => {
    expect(finished(series(NOW - 30_000), rate, live).times).toEqual([NOW - 30_000]);
    expect(finished(series(past.endMs + 1000), rate, past).times).toEqual([]);
  });
  it("has windows", () => {
    const other = series(NOW - 30_000, NOW);
    for (const question of [asks("sum:rate:m"), asks("sum:1m-avg:m"), asks("rate(m[5m])", "promql")]) expect(finished(other, question, live)).toBe(other);
  });
});
