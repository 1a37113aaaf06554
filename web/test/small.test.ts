import { describe, expect, it } from "vitest";
import { pointed } from "../src/parts/small";

describe("a line with a fault", () => {
  it("has a mark under it, without the blanks that stand for other statements", () => {
    expect(pointed("SELECT nope", 8)).toBe("SELECT nope\n       ^");
    expect(pointed("              SELECT nope", 22)).toBe("SELECT nope\n       ^");
    expect(pointed("  x", 1)).toBe("x\n^");
  });
});
