import { describe, expect, it } from "vitest";
import { bestFirst, meant } from "../src/parts/suggest";

describe("a name that is typed", () => {
  it("in part is the first that holds it", () => {
    expect(meant("Oom.te", ["room.temp", "room.tempo"])).toBe("room.temp");
  });
  it.each(["room.te", "a*", "a|b", ""])("as %s is itself where it is one, a pattern or nothing", (typed) => {
    expect(meant(typed, ["room.te", "room.temp", "aa"])).toBe(typed);
  });
  it("is itself where others are not all known, or none holds it", () => {
    expect(meant("cpu", Array.from({ length: 30 }, (_, at) => `a.cpu.${at}`))).toBe("cpu");
    expect(meant("new.metric", ["old.metric"])).toBe("new.metric");
  });
});

describe("names that are offered", () => {
  it("begin with what was typed first, and are this server's own last", () => {
    expect(bestFirst(["a.http.b", "foliot.http", "http.c"], "http")).toEqual(["http.c", "a.http.b", "foliot.http"]);
    expect(bestFirst(["foliot.x", "foliot_x", "zoo"], "")).toEqual(["zoo", "foliot.x", "foliot_x"]);
    expect(bestFirst(["a.foliot.x", "foliot.x"], "Foliot")).toEqual(["foliot.x", "a.foliot.x"]);
  });
});
