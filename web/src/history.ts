// What was asked in this browser, newest first: addresses of Explore.

import type { Language, Question } from "./question";
import { place, read } from "./state";

const KEY = "foliot.history";

/** Addresses that are kept. */
const KEPT_MAX = 50;

/** With one more address in front, and none twice. */
export const remembered = (before: string[], address: string) =>
  [address, ...before.filter((other) => other !== address)].slice(0, KEPT_MAX);

export function kept(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((address) => typeof address === "string" && address.startsWith("#/explore?")) : [];
  } catch {
    return [];
  }
}

export function keep(address: string) {
  try {
    localStorage.setItem(KEY, JSON.stringify(remembered(kept(), address)));
  } catch {
    // A browser that keeps nothing has no history.
  }
}

export function forget() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // It was not kept either.
  }
}

/** Where the row is that is missing in the newer of two lists of questions; nowhere if they differ in more. */
function takenAway(older: Question[], newer: Question[]): number {
  if (older.length !== newer.length + 1) return -1;
  const isSame = (a: Question, b: Question | undefined) => a.language === b?.language && a.text === b.text;
  const at = older.findIndex((question, index) => !isSame(question, newer[index]));
  return older.slice(at + 1).every((question, index) => isSame(question, newer[at + index])) ? at : -1;
}

/** What a row asked before in a language, newest first and none twice. Rows move up where one before them was taken away. */
export function textsOf(addresses: string[], row: number, language: Language): string[] {
  const asked = addresses.map((address) => read(place(address).params).questions);
  const texts: string[] = [];
  let at = row;
  asked.forEach((questions, index) => {
    const gone = index ? takenAway(questions, asked[index - 1]!) : -1;
    if (gone >= 0 && gone <= at) at += 1;
    const question = questions[at];
    if (question?.language === language && question.text.trim()) texts.push(question.text);
  });
  return [...new Set(texts)];
}

/** Somebody on their way through what a row asked: texts, the one that stood there when they set out first, and where they are. */
export interface Walk {
  texts: string[];
  at: number;
}

/** One step to older (1) or newer (-1) texts from what stands in a row; nothing where there are none. */
export function walked(before: Walk | null, now: string, by: 1 | -1, earlier: () => string[]): Walk | null {
  // Who asks what they came to goes on from there, and finds what they had typed at the end of the way back.
  const walk = before?.texts[before.at] === now ? before : { texts: [now, ...earlier().filter((text) => text !== now)], at: 0 };
  const at = walk.at + by;
  return at >= 0 && at < walk.texts.length ? { ...walk, at } : null;
}
