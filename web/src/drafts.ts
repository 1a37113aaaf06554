// What was typed in rows of Explore and not asked yet: texts, of a form with the name that is half typed. The tab
// keeps it, so that it is there again when the page is loaded anew.

import type { Language, Question } from "./question";

const KEY = "foliot.drafts";

interface Draft {
  row: number;
  language: Language;
  /** What the row asked when this was typed. */
  asked: string;
  text: string;
}

const isDraft = (found: unknown): found is Draft => {
  const { row, language, asked, text } = (found ?? {}) as Record<string, unknown>;
  return typeof row === "number" && typeof language === "string" && typeof asked === "string" && typeof text === "string";
};

function kept(): Draft[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter(isDraft) : [];
  } catch {
    return [];
  }
}

function keep(drafts: Draft[]) {
  try {
    if (drafts.length) sessionStorage.setItem(KEY, JSON.stringify(drafts));
    else sessionStorage.removeItem(KEY);
  } catch {
    // A browser that keeps nothing has what stands on the page.
  }
}

const heard = new Set<() => void>();

/** Calls for each letter that is typed, until what is returned is called. */
export function onTyped(hear: () => void): () => void {
  heard.add(hear);
  return () => { heard.delete(hear); };
}

const isOf = (row: number, { language }: Question) => (draft: Draft) => draft.row === row && draft.language === language;

/** What was typed in a row that asks this, and not asked yet. */
export const draftOf = (row: number, question: Question): string | null =>
  kept().find((draft) => isOf(row, question)(draft) && draft.asked === question.text)?.text ?? null;

/** Keeps what is typed in a row; what it asks already is no draft. */
export function keepDraft(row: number, question: Question, text: string) {
  const others = kept().filter((draft) => !isOf(row, question)(draft));
  keep(text === question.text ? others : [...others, { row, language: question.language, asked: question.text, text }]);
  heard.forEach((hear) => hear());
}

/** Forgets a row that is taken away; those behind it move up. */
export const dropRow = (gone: number) =>
  keep(kept().filter(({ row }) => row !== gone).map((draft) => (draft.row > gone ? { ...draft, row: draft.row - 1 } : draft)));

/** Forgets what was typed in all rows. */
export const forgetDrafts = () => keep([]);
