import { describe, expect, it } from "vitest";
import { prefixOf, siblingFields } from "../src/metric";

describe("metrics beside one", () => {
  const stored: Record<string, string[]> = { cpu: ["user", "idle", "value"], load: ["value"], "net.eth": ["rx", "tx"] };
  const of = (metric: string) => siblingFields(metric, async (measurement) => stored[measurement] ?? []);
  it("are other fields of its measurement, by the names that they have as metrics", async () => {
    expect(await of("cpu.user")).toEqual(["cpu", "cpu.idle"]);
    expect(await of("cpu")).toEqual(["cpu.idle", "cpu.user"]);
    expect(await of("net.eth.rx")).toEqual(["net.eth.tx"]);
    expect(await of("load")).toEqual([]);
    expect(await of("none.such")).toEqual([]);
  });
  it("have all but the last part of its name in common", () => {
    expect(["a.b.c", "node_cpu_seconds_total", "job:http:rate5m", "plain", "a.", ".a"].map(prefixOf)).toEqual(["a.b.", "node_cpu_seconds_", "job:http:", "", "", ""]);
  });
});
