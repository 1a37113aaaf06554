import { describe, expect, it } from "vitest";
import { promqlCall, promqlSignature } from "../src/promqlfunctions";

/** The call around the mark "|". */
const at = (text: string) => promqlCall(text.replace("|", ""), text.indexOf("|"));

describe("the call around the cursor", () => {
  it.each([
    ["quantile_over_time(|", "quantile_over_time", 0, 0], ["1 + quantile_over_time(0.9, |x[5m])", "quantile_over_time", 1, 4], ["sum by (host) (rate(x[|5m]))", "rate", 0, 15],
    ["sum by (host) (|", "sum", 0, 0], ["sum(rate(x[5m])) by (ho|", null, 0, 0], ["topk by (a, b) (3, |", "topk", 1, 0], ["label_replace(x{a=\"b,(\"}, \"c\", |", "label_replace", 2, 0],
    ["rate(x[5m]) |", null, 0, 0], ["(x + |", null, 0, 0], ["clamp((x), |", "clamp", 1, 0], ["sum(my_metric, |", "sum", 1, 0], ["foo(|", null, 0, 0],
  ])("of %s is %s", (text, name, place, from) => expect(at(text)).toEqual(name === null ? null : { name, at: place, from }));
  it("is told as it is written", () => expect([promqlSignature("clamp"), promqlSignature("time"), promqlSignature("constructor")]).toEqual(["clamp(vector, least, greatest)", "time()", null]));
});
