import { describe, expect, it } from "vitest";
import { nearest, partsOf } from "../src/nearest";

describe("nearest names", () => {
  it.each([
    ["cpuu", ["cpu", "mem", "disk"], ["cpu"]],
    ["usge_user", ["usage_user", "usage_system", "load"], ["usage_user"]],
    ["user", ["usage_user", "USER", "x"], ["USER", "usage_user"]],
    ["zzz", ["cpu", "mem"], []],
    ["", ["cpu"], []],
    ["up", ["proc_group_cpu", "uptime", "ups"], ["ups"]],
  ])("of %s", (name, all, found) => expect(nearest(name, all, 3)).toEqual(found));
  it("are looked for by the parts of a name, the longest first", () => {
    expect(partsOf("http_requests_total:rate.of_5m")).toEqual(["requests", "total", "http"]);
    expect(partsOf("up")).toEqual([]);
  });
});
