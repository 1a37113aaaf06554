import { describe, expect, it } from "vitest";
import { endOf } from "../src/parts/toolbar";

describe("an end of the axis", () => {
  it.each([["5", 5], ["5k", 5000], ["1.5M", 1_500_000], ["−3", -3], ["0,5", 0.5], ["1e3", 1000], ["", null], ["  ", null], ["abc", NaN], ["5 apples", NaN]])("of %s", (text, value) => expect(endOf(text)).toBe(value));
});
