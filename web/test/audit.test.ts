import { describe, expect, it } from "vitest";
import { askedText, concerns, overOf, selectedText, tookOf, whatOf, whoOf } from "../src/audit";

const act = { at_ms: 0, door: "foliot", from: "127.0.0.1:51034", act: "delete" };

describe("lines of the audit log", () => {
  it("are about a metric by any of its spellings, and by no other name", () => {
    const about = (selector: string, metric = "soil.ph") => concerns({ selector }, metric);
    expect(about('"soil.ph"."value" or "soil"."ph" {bed="south"}')).toBe(true);
    expect(about('"soil".* {}')).toBe(true);
    expect(about('"soil"."moisture" {}')).toBe(false);
    expect(about('"soil.ph"."max" {}')).toBe(false);
    expect(about('"topsoil"."ph" {}')).toBe(false);
    expect(about('"air"."x" {note=""soil"."ph""}')).toBe(false);
    expect(concerns({}, "soil.ph")).toBe(false);
    expect(about('* {bed="south"}')).toBe(true);
    expect([about('"soil"."moisture"|"ph" {bed="south"}'), about('"soil"."moisture"|"phi" {}')]).toEqual([true, false]);
  });
  it("say who did what to how much", () => {
    expect(whoOf({ ...act, by: "ann" })).toBe("ann, foliot from 127.0.0.1");
    expect(whoOf({ ...act, from: "" })).toBe("foliot");
    expect(whoOf({ ...act, from: "[::1]:42" })).toBe("foliot from [::1]");
    expect(tookOf({ ...act, series: 2, samples: 86_400 })).toBe("86.4k samples of 2 series");
    expect(tookOf({ ...act, act: "rename" })).toBe("");
    expect(whatOf({ ...act, act: "rename", selector: '"a"."value" {}', to: "b" })).toBe("a to b");
    expect(whatOf({ ...act, selector: '"a"."value" {b=/x/}', asked: '{"filters":{"b":"regexp(x)"}}' })).toBe("all metrics, with b ~ x");
    expect(whatOf({ ...act, act: "keep", kept_s: null, keep_s: 86_400 })).toBe("1 d, before for ever");
    expect(whatOf({ ...act, act: "create user", subject: "ann" })).toBe("ann");
  });
  it("tell deletes by patterns in words", () => {
    expect(askedText('{"metric":"soil.ph","labels":{"bed":"north"},"filters":{"by":"a|b","host":"not_literal_or(c)","rack":"not_regexp(^d)"}}')).toBe("soil.ph, with bed = north and by = a|b and host ≠ c and rack !~ ^d");
    expect(askedText('{"metrics":"soil.*"}')).toBe("metrics called soil.*");
    expect(askedText('{"filters":{"a\\u202eb":"x\\ny"}}')).toBe("all metrics, with a\\u202eb = x\\ny");
    for (const odd of ["{", "null", "[1]", '{"labels":7}']) expect(() => askedText(odd)).not.toThrow();
    expect(askedText("{")).toBe("{");
  });
  it("tell other deletes in words, too, where they are of one metric or all", () => {
    expect(selectedText('"soil.ph"."value" or "soil"."ph" {bed="south"}')).toBe('soil.ph, with bed="south"');
    expect(selectedText('* {room="a|b"}')).toBe('all metrics, with room="a|b"');
    expect(selectedText('"a"."value" {}')).toBe("a");
    for (const odd of ['"soil".* {}', '"a"."value" or "b"."value" {}', "nothing", '"a"."x" {}', '"soil"."moisture"|"ph" {bed="south"}']) expect(selectedText(odd)).toBe(odd);
  });
  it("of deletes say over which time", () => {
    expect(overOf({ ...act, first_ms: null, last_ms: null })).toBe("all of the time");
    expect(overOf({ ...act, first_ms: null, last_ms: 1 })).toMatch(/^the first to 1970-01-01/);
    expect(overOf({ ...act, act: "keep" })).toBe("");
  });
});
