import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { draftOf, dropRow, forgetDrafts, keepDraft, onTyped } from "../src/drafts";
import type { Language, Question } from "../src/question";

const asks = (text: string, language: Language = "sql"): Question => ({ language, text, isForm: false, isHidden: false });

let stored: Map<string, string>;
beforeEach(() => {
  stored = new Map();
  vi.stubGlobal("sessionStorage", { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, value: string) => stored.set(key, value), removeItem: (key: string) => stored.delete(key) });
});
afterEach(() => vi.unstubAllGlobals());

describe("what was typed and not asked yet", () => {
  it("is kept for its row and language, as long as that asks the same", () => {
    keepDraft(0, asks("SELECT 1"), "SELECT 12");
    keepDraft(1, asks("up", "promql"), "upper");
    keepDraft(0, asks("SELECT 1"), "SELECT 123");
    expect([draftOf(0, asks("SELECT 1")), draftOf(1, asks("up", "promql"))]).toEqual(["SELECT 123", "upper"]);
    expect([draftOf(0, asks("SELECT 2")), draftOf(1, asks("up", "sql")), draftOf(2, asks("SELECT 1"))]).toEqual([null, null, null]);
  });
  it("is heard of by whoever follows it", () => {
    const heard: (string | null)[] = [];
    const end = onTyped(() => heard.push(draftOf(0, asks("SELECT 1"))));
    keepDraft(0, asks("SELECT 1"), "SELECT 12");
    keepDraft(0, asks("SELECT 1"), "SELECT 1");
    end();
    keepDraft(0, asks("SELECT 1"), "SELECT 3");
    expect(heard).toEqual(["SELECT 12", null]);
  });
  it("is none once it is asked", () => {
    keepDraft(0, asks("SELECT 1"), "SELECT 12");
    keepDraft(0, asks("SELECT 12"), "SELECT 12");
    expect([draftOf(0, asks("SELECT 1")), stored.size]).toEqual([null, 0]);
  });
  it("moves up with its row", () => {
    keepDraft(0, asks("a"), "ab");
    keepDraft(2, asks("c"), "cd");
    dropRow(0);
    expect([draftOf(0, asks("a")), draftOf(1, asks("c"))]).toEqual([null, "cd"]);
  });
  it("is forgotten in all rows", () => {
    keepDraft(0, asks("a"), "ab");
    keepDraft(1, asks("c"), "cd");
    forgetDrafts();
    expect([draftOf(0, asks("a")), draftOf(1, asks("c")), stored.size]).toEqual([null, null, 0]);
  });
  it("is nothing where what is stored is something else, or nothing can be", () => {
    stored.set("foliot.drafts", '[null, {"row": 0}, 7]');
    expect(draftOf(0, asks("a"))).toBeNull();
    stored.set("foliot.drafts", "{");
    expect(draftOf(0, asks("a"))).toBeNull();
    vi.stubGlobal("sessionStorage", undefined);
    keepDraft(0, asks("a"), "ab");
    expect(draftOf(0, asks("a"))).toBeNull();
  });
});
