import { describe, expect, it } from "vitest";
import { PANELS, headlineOf } from "../src/parts/machine";

describe("What stands beside the title of a panel", () => {
  const said = (title: string, lasts: number[]) => headlineOf(PANELS.find((panel) => panel.title === title)!, lasts);
  it("is named for what it is", () => {
    const GIB = 2 ** 30;
    expect(said("Memory", [4 * GIB, 13 * GIB])).toBe("4 GiB used");
    expect(said("Network", [2048, 1024])).toBe("3 KiB/s received and sent");
    expect(said("Disks", [2048, 1024])).toBe("3 KiB/s read and written");
    expect(said("Processor", [20, 10, 5, 0])).toBe("35 % busy or waiting");
    expect(said("Load", [1.5, 9, 9])).toBe("1.5 in 1 min");
  });
});
