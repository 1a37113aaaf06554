import { describe, expect, it } from "vitest";
import { doomed, labelsOf } from "../src/doomed";

describe("what is to be deleted", () => {
  it("is all of a metric that was there when it was counted, where nothing else is said", () =>
    expect(doomed("m", "", " ", "", 7_200_000)).toEqual({ metric: "m", end_ms: 7_200_000 }));
  it("is what labels and times say", () =>
    expect(doomed("m", "host=a, rack = r=1 ", "2h-ago", "now", 7_200_000)).toEqual({ metric: "m", labels: { host: "a", rack: "r=1" }, start_ms: 0, end_ms: 7_200_000 }));
  it.each([["host", "", ""], ["host=", "", ""], ["=a", "", ""], ["host=*", "", ""], ["host=a|b", "", ""], ["", "yesterday", ""], ["", "", "soon"], ["", "1h-ago", "2h-ago"]])(
    "is refused as %s from %s to %s", (labels, from, to) => expect(typeof doomed("m", labels, from, to, 1e12)).toBe("string"));
  it("takes no label for granted", () => expect(labelsOf("a=1,,b=2")).toEqual({ a: "1", b: "2" }));
});
