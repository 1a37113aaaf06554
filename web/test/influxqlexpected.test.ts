import { describe, expect, it } from "vitest";
import { expected, measurementOf, shownBehind } from "../src/influxqlexpected";

/** The cursor is where the bar stands. */
function at(marked: string) {
  const cursor = marked.indexOf("|");
  return expected(marked.replace("|", ""), cursor);
}

describe("what may stand at the cursor", () => {
  it.each([
    ["|", "words", ""],
    ["SEL|", "words", "SEL"],
    ["SELECT us| FROM cpu", "fields", "us"],
    ["SELECT mean(us| FROM cpu", "fields", "us"],
    ["SELECT mean(usage), | FROM cpu", "fields", ""],
    ["SELECT usage FROM c|", "measurements", "c"],
    ["SELECT usage FROM \"my c|", "measurements", "my c"],
    ["SELECT usage FROM cpu WH|", "words", "WH"],
    ["SELECT usage FROM cpu WHERE ho|", "fields and labels", "ho"],
    ["SELECT usage FROM cpu WHERE host = 'a|", "values", "a"],
    ["SELECT usage FROM cpu WHERE host = |", "values", ""],
    ["SELECT usage FROM cpu WHERE host <> 'a|", "values", "a"],
    ["SELECT usage FROM cpu WHERE host = 'a' AND r|", "fields and labels", "r"],
    ["SELECT mean(usage) FROM cpu GROUP BY time($step), ho|", "labels", "ho"],
    ["SELECT mean(usage) FROM cpu GROUP BY ho|", "labels", "ho"],
    ["SHOW TAG VALUES FROM cpu WITH KEY = ho|", "labels", "ho"],
    ["SHOW TAG VALUES FROM cpu WITH KEY = \"ho|", "labels", "ho"],
    ["SHOW TAG VALUES WITH KEY IN (host, re|", "labels", "re"],
    ["SHOW TAG VALUES WITH KEY = host WHERE re|", "fields and labels", "re"],
  ])("%s", (marked, of, typed) => {
    expect(at(marked)).toMatchObject({ of, typed });
  });
  it("knows the measurement and the label", () => {
    expect(at("SELECT | FROM \"my cpu\"")).toMatchObject({ measurement: "my cpu" });
    expect(at("SELECT u FROM cpu WHERE host = 'a|")).toMatchObject({ measurement: "cpu", label: "host" });
    expect(measurementOf("SELECT 1")).toBe("");
  });
});

describe("what follows SHOW", () => {
  it.each([
    ["SHOW |", "", ["MEASUREMENTS", "TAG KEYS FROM", "RETENTION POLICIES"]], ["SHOW me|", "me", ["MEASUREMENTS"]],
    ["SHOW TAG |", "", ["KEYS FROM", "VALUES FROM"]], ["show tag v|", "v", ["VALUES FROM"]], ["SHOW FIELD |", "", ["KEYS FROM"]],
    ["SHOW RETENTION |", "", ["POLICIES"]], ["SHOW TAG KEYS |", "", ["FROM"]], ["SELECT a FROM b; SHOW TAG |", "", ["KEYS FROM"]],
  ])("%s", (marked, typed, some) => {
    const found = at(marked);
    expect(found).toMatchObject({ of: "shown", typed, from: marked.indexOf("|") - typed.length });
    expect(found.shown).toEqual(expect.arrayContaining(some));
  });
  it("is that alone", () => {
    expect([shownBehind("SHOW TAG"), shownBehind("show field"), shownBehind("SHOW RETENTION")]).toEqual([["KEYS FROM", "VALUES FROM"], ["KEYS FROM"], ["POLICIES"]]);
  });
  it.each([["SHOW TAG KEYS FROM |", "measurements"], ["SHOW MEASUREMENTS |", "words"], ["SHOW TAG VALUES FROM cpu |", "words"]])("ends: %s", (marked, of) => expect(at(marked).of).toBe(of));
});

describe("what stands in a window, a time and a pattern", () => {
  it.each([["SELECT mean(a) FROM m GROUP BY time(", "windows"], ["SELECT a FROM m WHERE time >= ", "times"], ["SELECT a FROM m WHERE time >= no", "times"], ["SELECT a FROM m WHERE h =~ /", "nothing"], ["SELECT a FROM m WHERE h =~ ", "nothing"], ["SELECT a FROM m WHERE h = ", "values"]])("of %s", (text, of) => expect(expected(text, text.length).of).toBe(of));
});
