import { afterEach, describe, expect, it, vi } from "vitest";
import { knownOf, spanOf } from "../src/lasting";
import type { Language } from "../src/question";
import { roomy } from "../src/time";

afterEach(() => vi.unstubAllGlobals());

describe("when there are samples", () => {
  it("is from the first of all to the last of all", () => {
    expect(spanOf([{ first_ms: 20, last_ms: 30 }, { first_ms: null, last_ms: null }, { first_ms: 5, last_ms: 25 }])).toEqual({ start: 5, end: 30 });
    expect(spanOf([])).toBeNull();
    expect(spanOf([{ first_ms: null, last_ms: null }])).toBeNull();
  });
  it("is shown with a little room", () => {
    expect(roomy({ start: 100_000, end: 200_000 })).toEqual({ start: "98000", end: "202000" });
    expect(roomy({ start: 100_000, end: 100_000 })).toEqual({ start: "99000", end: "101000" });
  });
});

describe("what is stored of what questions are about", () => {
  const kinds: Record<string, string[]> = { "gate.note": ["string"], "gate.open": ["boolean"], "gate.mixed": ["float", "string"], "note": ["string"], "gone": [] };
  const asks = (text: string, language: Language = "opentsdb") => ({ language, text, isForm: true, isHidden: false });
  const of = (...questions: ReturnType<typeof asks>[]) => {
    vi.stubGlobal("fetch", async (url: string) => {
      const params = new URL(url, "http://h").searchParams;
      if (params.get("of") === "fields") return new Response(JSON.stringify({ fields: params.get("measurement") === "gate" ? [{ name: "note", kind: "string" }] : [] }));
      if (params.get("of") === "metrics") return new Response(JSON.stringify({ names: Object.keys(kinds) }));
      const known = kinds[params.get("metric") ?? ""] ?? [];
      return new Response(JSON.stringify({ samples: 2, first_ms: known.length ? 10 : null, last_ms: known.length ? 20 : null, kinds: known }));
    });
    return knownOf(questions, "", new AbortController().signal);
  };
  it("are texts where all its values are, and what shows them has the same labels", async () => {
    const { span, texts } = await of(asks("avg:$step-avg:gate.note{door=*}{side=l|r}"));
    expect([span, texts.map(({ metric, span }) => [metric, span])]).toEqual([null, [["gate.note", { start: 10, end: 20 }]]]);
    expect(texts[0]!.instead).toEqual({ language: "influxql", isForm: false, isHidden: false, text: 'SELECT "note" FROM "gate" WHERE time >= $start AND time < $end AND "side" =~ /^(l|r)$/ GROUP BY *' });
    expect((await of(asks("sum:note"))).texts[0]!.instead.text).toBe('SELECT "value" FROM "note" WHERE time >= $start AND time < $end GROUP BY *');
    expect((await of(asks("gate_note", "promql"))).texts.map(({ metric }) => metric)).toEqual(["gate.note"]);
  });
  it("are no texts where some are numbers, or nothing is stored, or the language has texts", async () => {
    expect(await of(asks("sum:gate.mixed"))).toEqual({ span: { start: 10, end: 20 }, texts: [] });
    expect(await of(asks("sum:gone"))).toEqual({ span: null, texts: [] });
    expect((await of(asks("SELECT note FROM gate", "influxql"))).texts).toEqual([]);
    const both = await of(asks("sum:gate.note"), asks("sum:gate.open"));
    expect([both.span, both.texts.map(({ question }) => question.text)]).toEqual([{ start: 10, end: 20 }, ["sum:gate.note"]]);
  });
});
