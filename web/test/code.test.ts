import { describe, expect, it } from "vitest";
import { curl, javascript, python } from "../src/code";
import { bodyOf } from "../src/question";

describe("a question for elsewhere", () => {
  it("has texts and numbers only, so that what JSON writes is Python too", () => {
    const question = { language: "promql" as const, text: 'max by (a) (up{b="c"})', isForm: false, isHidden: false };
    const body = { ...bodyOf(question, { start: 1000, end: 2000 }, 10), makers: true };
    for (const text of [curl("http://x", "", body), python("http://x", "", body), javascript("http://x", "", body)]) {
      expect(text).not.toMatch(/true|explain|makers/);
      expect(text).toContain("max by (a)");
    }
  });
});
