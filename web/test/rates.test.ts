import { describe, expect, it } from "vitest";
import { type Look, ratesAt } from "../src/rates";

const look = (seconds: number, telnet: number, http = 0): Look => ({ atMs: 1000 * seconds, samples: { telnet, http } });

describe("How fast values come in", () => {
  it("is told of about a minute, however they come", () => {
    // 1600 each ten seconds, all at once: looks two seconds apart would tell 0 and 800.
    const looks = Array.from({ length: 60 }, (_, at) => look(1000 + 2 * at, 1600 * Math.floor(at / 5)));
    const found = looks.slice(31).map((now) => ratesAt(now, looks, 0)!);
    expect(new Set(found.map(({ overMs }) => overMs))).toEqual(new Set([60_000]));
    expect(found.map(({ total }) => total)).toEqual(found.map(() => 160));
  });
  it("is told of what the server remembers, where the page was just opened", () => {
    const found = ratesAt(look(1010, 13_200, 33), [look(900, 0), look(940, 2000), look(1008, 13_000)], 0)!;
    expect([found.total, found.byWay, found.overMs]).toEqual([160 + 33 / 70, { telnet: 160, http: 33 / 70 }, 70_000]);
  });
  it("begins with the server", () => {
    expect(ratesAt(look(1010, 100), [look(900, 70_000)], 1_000_000)).toEqual({ byWay: { telnet: 10, http: 0 }, total: 10, overMs: 10_000 });
    expect(ratesAt(look(1000, 1), [], 1_000_000)).toBeNull();
  });
});
