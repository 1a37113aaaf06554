import { describe, expect, it } from "vitest";
import { type Hiding, nothingHidden, soloed, toggled } from "../src/solo";

const all = ["a", "b", "c", "d"];
const shown = ({ hidden }: Hiding<string>) => all.filter((one) => !hidden.has(one)).join("");

describe("one line alone", () => {
  const begun = toggled(toggled(nothingHidden<string>(), "b"), "d");
  it("hides all others, and leaves what was shown before", () => {
    const alone = soloed(begun, all, "c");
    expect([shown(begun), shown(alone), shown(soloed(alone, all, "c"))]).toEqual(["ac", "c", "ac"]);
    expect(shown(soloed(soloed(nothingHidden<string>(), all, "c"), all, "c"))).toBe("abcd");
  });
  it("may be one that was hidden, or another in its place", () => {
    const alone = soloed(begun, all, "b");
    const other = soloed(alone, all, "d");
    expect([shown(alone), shown(other), shown(soloed(other, all, "d"))]).toEqual(["b", "d", "ac"]);
  });
  it("is none any more once others are shown beside it", () => {
    const beside = toggled(soloed(begun, all, "a"), "b");
    const again = soloed(beside, all, "b");
    expect([shown(beside), shown(again), shown(soloed(again, all, "b"))]).toEqual(["ab", "b", "ab"]);
  });
  it("shows all where the others were hidden one by one", () => {
    const byHand = ["a", "b", "c"].reduce((before, one) => toggled(before, one), nothingHidden<string>());
    expect([shown(byHand), shown(soloed(byHand, all, "d"))]).toEqual(["d", "abcd"]);
  });
});
