import { describe, expect, it } from "vitest";
import { formOf } from "../src/question";
import { READY, readyPanels } from "../src/ready";
import { read } from "../src/state";

describe("dashboards that are ready", () => {
  it("have names of their own, and panels that ask what they say", () => {
    expect(new Set(READY.map(({ name }) => name)).size).toBe(READY.length);
    for (const one of READY) {
      const panels = readyPanels(one);
      expect(panels.map(({ title }) => title)).toEqual(one.panels.map(({ title }) => title));
      panels.forEach(({ address }, at) => expect(read(new URLSearchParams(address.split("?")[1])).questions.map(({ text }) => text)).toEqual(one.panels[at]!.texts));
    }
  });
  it("have texts that a form can show, where they are of a form", () => {
    const texts = READY.flatMap(({ panels }) => panels.filter(({ language }) => !language).flatMap(({ texts }) => texts));
    expect(texts.filter((text) => !formOf(text))).toEqual([]);
  });
});
