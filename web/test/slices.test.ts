import { describe, expect, it } from "vitest";
import { mapped, pooled } from "../src/slices";

describe("work in slices", () => {
  it("lets others go first", async () => {
    const seen: string[] = [];
    setTimeout(() => seen.push("other"));
    const slow = (one: number) => {
      const began = performance.now();
      while (performance.now() - began < 3);
      seen.push(String(one));
      return 2 * one;
    };
    expect(await mapped(Array.from({ length: 30 }, (_, at) => at), slow)).toEqual(Array.from({ length: 30 }, (_, at) => 2 * at));
    expect(seen.indexOf("other")).toBeLessThan(seen.indexOf("29"));
  });
  it("is given up", async () => {
    const abort = new AbortController();
    const slow = () => {
      const began = performance.now();
      while (performance.now() - began < 10);
      abort.abort();
    };
    await expect(mapped([1, 2, 3], slow, abort.signal)).rejects.toThrow(/abort/i);
  });
});

describe("a pool", () => {
  it("has so many under way, and keeps their order", async () => {
    let [running, most] = [0, 0];
    const each = async (one: number) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((done) => setTimeout(done, (7 * one) % 5));
      running -= 1;
      return one;
    };
    const all = Array.from({ length: 40 }, (_, at) => at);
    expect(await pooled(all, 6, each)).toEqual(all);
    expect(most).toBe(6);
    expect(await pooled([], 6, each)).toEqual([]);
  });
  it("fails as its first failure", async () => {
    await expect(pooled([1, 2, 3], 2, async (one) => { if (one === 2) throw new Error("two"); return one; })).rejects.toThrow("two");
  });
});
