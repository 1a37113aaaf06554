import { describe, expect, it } from "vitest";
import { parsed } from "../src/parsing";

const sly = '},{"field":"';
const one = (at: number) => ({ field: `f${at}`, labels: { host: `${sly}${at}\\"` }, name: "{}", times: [at, at + 1], values: [at / 7, null] });
const whole = (count: number, tree: unknown = null) => JSON.stringify({ series: Array.from({ length: count }, (_, at) => one(at)), notes: [sly], tree, figures: { series: count } });

describe("an answer that is read bit by bit", () => {
  it.each([0, 1, 2, 3, 50, 400])("of %i series says what it says", async (count) => {
    for (const slice of [1, 60, 100, 1000, 30_000, 1 << 20]) {
      expect(await parsed(whole(count), null, slice)).toEqual(JSON.parse(whole(count)));
    }
  });
  it("may hold elsewhere what stands between series", async () => {
    const text = whole(3, { steps: [{ a: 1 }, { field: "x" }, { field: "y" }] });
    expect(await parsed(text, null, 10)).toEqual(JSON.parse(text));
  });
  it("may be anything else", async () => {
    for (const text of ['{"names":["a","b"]}', "[1,2,3,4,5]", '"a long enough text"', '{"series":[]}']) expect(await parsed(text, null, 2)).toEqual(JSON.parse(text));
  });
  it("is refused where it is none", async () => {
    for (const text of ["<html>login</html>", whole(9).slice(0, -30), `${whole(2)}x`]) await expect(parsed(text, null, 5)).rejects.toThrow(SyntaxError);
  });
  it("is given up", async () => {
    const abort = new AbortController();
    const reading = parsed(whole(100), abort.signal, 10);
    abort.abort();
    await expect(reading).rejects.toThrow(/abort/i);
  });
});
