import { describe, expect, it } from "vitest";
import { partsNote } from "../src/parts/storage";

const store = { parts: 0, part_samples: 0, part_bytes: 0, head_bytes: 0, samples: 0 };

describe("what parts hold", () => {
  it("is told, or where all of it is before the first flush", () => {
    expect(partsNote(store)).toBe("nothing is stored yet");
    expect(partsNote({ ...store, samples: 1200, head_bytes: 2048 })).toBe("nothing is flushed yet: 1.2k samples since the start, 2 KiB, are in memory and in the log");
    // What was read again from the log is counted by nobody.
    expect(partsNote({ ...store, head_bytes: 2048 })).toBe("nothing is flushed yet: samples, 2 KiB, are in memory and in the log");
    expect(partsNote({ ...store, parts: 2, part_samples: 100, part_bytes: 400 })).toBe("100 samples in 400 B, 4 B each");
  });
});
