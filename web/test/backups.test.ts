import { describe, expect, it } from "vitest";
import type { Backup } from "../src/api";
import { backupCommands, lastGood, word } from "../src/backups";

const backup = (to: string, state: Backup["state"]): Backup => ({
  to, state, error: null, began_ms: 1, ended_ms: 2, files_copied: 1, bytes_copied: 1, files_shared: 0, bytes_shared: 0, damages_mended: 0, wal_damaged_bytes: 0,
});

describe("backups", () => {
  it("are restored from the newest good one, and made beside it", () => {
    const list = [backup("/b/3", "failed"), backup("/my backups/2", "done"), backup("/b/1", "done")];
    expect(lastGood(list)?.to).toBe("/my backups/2");
    expect(backupCommands(list, "/data").map(({ text }) => text)).toEqual([
      "foliot backup --data-dir /data '/my backups'", "foliot check --data-dir '/my backups/2'",
      "foliot restore '/my backups/2' --data-dir /data.restored\nfoliot serve --data-dir /data.restored --listen 127.0.0.1:4343",
    ]);
  });
  it("begin with a first one", () => {
    expect(backupCommands([backup("/b/3", "lost")], "/data").map(({ text }) => text)).toEqual(["foliot backup --data-dir /data /backups"]);
  });
  it.each([["/a-b/c.d", "/a-b/c.d"], ["it's $HOME", "'it'\\''s $HOME'"], ["", "''"]])("quote %s for a shell", (text, quoted) => expect(word(text)).toBe(quoted));
});
