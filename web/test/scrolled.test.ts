import { describe, expect, it } from "vitest";
import { Heights, inSight, scrolledTo } from "../src/scrolled";

/** Heights of which so many are known to be so high. */
function known(count: number, px: number): Heights {
  const heights = new Heights();
  for (let row = 0; row < count; row += 1) heights.set(row, px);
  return heights;
}

describe("a long table", () => {
  it("has the rows in sight on the page, and room for all others", () => {
    const heights = known(50, 20);
    const first = inSight(heights, 10_000, 0, 600);
    expect(first).toEqual({ from: 0, to: 56, abovePx: 0, belowPx: (10_000 - 56) * 20 });
    const middle = inSight(heights, 10_000, 100_000, 600);
    expect(middle.from * 20).toBeLessThanOrEqual(100_000 - 400);
    expect(middle.to * 20).toBeGreaterThanOrEqual(100_600 + 400);
    expect(middle.to - middle.from).toBeLessThan(90);
    expect(middle.abovePx + (middle.to - middle.from) * 20 + middle.belowPx).toBe(200_000);
    const end = inSight(heights, 10_000, 199_400, 600);
    expect([end.to, end.belowPx]).toEqual([10_000, 0]);
  });
  it("that is short is on the page as a whole, also after it was longer", () => {
    expect(inSight(known(3, 20), 3, 0, 600)).toEqual({ from: 0, to: 3, abovePx: 0, belowPx: 0 });
    expect(inSight(known(3, 20), 3, 50_000, 600)).toEqual({ from: 0, to: 3, abovePx: 0, belowPx: 0 });
    expect(inSight(new Heights(), 0, 0, 600)).toEqual({ from: 0, to: 0, abovePx: 0, belowPx: 0 });
  });
  it("reckons with rows as high as they are, and with others as high as those", () => {
    const heights = new Heights();
    expect([heights.set(0, 30), heights.set(1, 90), heights.set(1, 90.2)]).toEqual([true, true, false]);
    expect([heights.of(0), heights.of(1), heights.of(7), heights.above(3)]).toEqual([30, 90, 60, 180]);
    expect(heights.set(1, 30)).toBe(true);
    expect(heights.usual).toBe(30);
    expect([heights.at(0, 9), heights.at(31, 9), heights.at(60, 9), heights.at(1e6, 9), heights.at(0, 0)]).toEqual([0, 2, 2, 8, 0]);
  });
  it("is scrolled no farther than a row needs to be in sight", () => {
    const heights = known(100, 20);
    expect(scrolledTo(heights, 5, 0, 300, 20)).toBe(0);
    expect(scrolledTo(heights, 50, 0, 300, 20)).toBe(51 * 20 + 20 - 300);
    expect(scrolledTo(heights, 2, 500, 300, 20)).toBe(40);
  });
});
