import { describe, expect, it } from "vitest";
import { changesOf, shownLabels, typedLabels } from "../src/relabelling";

describe("labels that rules are tried on", () => {
  it("are typed as pairs, in braces, or as a series", () => {
    const pairs = { __address__: "web1:9100", env: "a|b*", none: "" };
    expect(typedLabels("__address__=web1:9100, env=a|b*, none=")).toEqual(pairs);
    expect(typedLabels('{__address__="web1:9100", env="a|b*", none=""}')).toEqual(pairs);
    expect(typedLabels('up{job="a b"}')).toEqual({ __name__: "up", job: "a b" });
    expect(typedLabels("up")).toEqual({ __name__: "up" });
    expect(typedLabels("")).toEqual({});
    expect([typedLabels("up{a=b"), typedLabels("a=b,a=c")]).toEqual([null, null]);
  });
  it("are read again as they are shown", () => {
    const odd = { "a b": 'say "x", \\', __meta: "1=2", plain: "x:1", empty: "" };
    expect(typedLabels(shownLabels(odd))).toEqual(odd);
  });
  it("tell what a rule did with them", () =>
    expect(changesOf({ a: "1", b: "2", c: "3" }, { a: "1", b: "4", d: "5" })).toEqual([
      { name: "a", value: "1", kind: "same" }, { name: "b", value: "4", kind: "other" }, { name: "c", value: "3", kind: "gone" }, { name: "d", value: "5", kind: "new" },
    ]));
});
