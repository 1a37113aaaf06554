import { describe, expect, it } from "vitest";
import { listed } from "../src/parts/tip";

const told = (...heights: number[]) => heights.map((y) => ({ title: `line ${y}`, value: () => String(y), color: "c0", y }));

describe("the box beside the crosshair", () => {
  it("tells lines from the top down, and which is nearest to the mouse", () => {
    const found = listed(told(90, 10, 50), 60);
    expect([found.told.map(({ y }) => y), found.nearest?.y, found.left]).toEqual([[10, 50, 90], 50, 0]);
    expect(listed([], 5)).toEqual({ told: [], nearest: null, left: 0 });
  });
  it("tells the nearest of many, and how many there are besides", () => {
    const found = listed(told(...Array.from({ length: 100 }, (_, at) => at * 3)), 150);
    expect([found.nearest?.y, found.left]).toEqual([150, 92]);
    expect(found.told.map(({ y }) => y)).toEqual([138, 141, 144, 147, 150, 153, 156, 159]);
  });
});
