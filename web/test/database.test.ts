import { describe, expect, it } from "vitest";
import { addressIn, database, enter, here, isGone, leavesOpen, meantBy } from "../src/database";
import { metricAddress } from "../src/scope";
import { exploring, labelAddress, place } from "../src/state";

const params = (text: string) => new URLSearchParams(text);

describe("the database", () => {
  it("is the one that the address names, and else what is remembered, unless the address names what is stored", () => {
    expect(meantBy(params("db=a&metric=m"), "b")).toBe("a");
    expect(meantBy(params("view=log"), "b")).toBe("b");
    expect(meantBy(params(""), "b")).toBe("b");
    for (const link of ["m=sum:x", "i=SELECT", "p=up", "start=1h-ago", "metric=m", "label=l", "name=board"]) expect(meantBy(params(link), "b")).toBe("");
    expect(meantBy(params("db=&view=log"), "b")).toBe("");
    expect([leavesOpen(params("view=log")), leavesOpen(params("db=")), leavesOpen(params("metric=m"))]).toEqual([true, false, false]);
  });
  it("stands in addresses that the page makes", () => {
    enter(params("db=a b"));
    expect(database()).toBe("a b");
    for (const address of [exploring("m"), metricAddress("m"), labelAddress("l"), here("#/explore?p=up"), here("#/metrics")]) expect(place(address).params.get("db")).toBe("a b");
    expect(place(here("#/explore?p=up&db=other")).params.get("db")).toBe("other");
    expect(here("#/explore?p=a%2Bb")).toBe("#/explore?p=a%2Bb&db=a+b");
    enter(params("db="));
    for (const address of [exploring("m"), metricAddress("m"), here("#/metrics")]) expect(place(address).params.has("db")).toBe(false);
  });
  it("is let go where it was only remembered and is there no more", () => {
    enter(params("db=gone"));
    expect(isGone(["default"])).toBe(false);
    // What is remembered is named by the address as soon as it is known.
    enter(params("view=log"));
    enter(params("view=log&db=gone"));
    expect([database(), isGone(["default"]), isGone(["default", "gone"])]).toEqual(["gone", true, false]);
    enter(params("db="));
    expect(isGone(["default"])).toBe(false);
  });
  it("is changed without what only the former has", () => {
    expect(addressIn("b", "metrics", params("metric=m&db=a"))).toBe("#/metrics?db=b");
    expect(addressIn("b", "explore", params("start=1h-ago&p=up&db=a"))).toBe("#/explore?start=1h-ago&p=up&db=b");
    expect(addressIn("", "dashboards", params("name=x&db=a"))).toBe("#/dashboards?db=");
  });
});
