// Statements of a text by their places, and which of them the cursor is at.

import { type Word, nextWord } from "./influxql";
import type { Language } from "./question";
import { nextSqlWord } from "./sql";

export interface PlacedStatement {
  from: number;
  /** Behind its last word, or behind what ends it. */
  to: number;
  /** Without what ends it. */
  text: string;
}

/** Languages whose texts may have several statements. */
const WORDS: Partial<Record<Language, (text: string) => Word>> = { sql: nextSqlWord, influxql: nextWord };

/** A regular expression of InfluxQL, in which a mark ends nothing. */
const REGEX = /^\/(?:\\.|[^/\\\n])+\//;

/** The statements of a text; one alone where the language knows no several. */
export function statementsIn(language: Language, text: string): PlacedStatement[] {
  const next = WORDS[language];
  if (!next) return text.trim() ? [{ from: 0, to: text.length, text }] : [];
  const found: PlacedStatement[] = [];
  let [from, to, before] = [-1, 0, ""];
  const end = (behind: number) => {
    if (from >= 0) found.push({ from, to: behind, text: text.slice(from, to) });
    from = -1;
  };
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const regex = language === "influxql" && /^(~|from|,)$/i.test(before) ? REGEX.exec(rest)?.[0] : undefined;
    const word: Word = regex ? { class: "string", text: regex } : next(rest);
    const behind = at + word.text.length;
    if (word.class === "mark" && word.text === ";") end(behind);
    else if (word.class !== "blank" && word.class !== "comment") {
      if (from < 0) from = at;
      [to, before] = [behind, word.text];
    }
    at = behind;
  }
  end(to);
  return found;
}

/** The statement at the cursor: the one that it stands in, or behind on the same line; else the next one, or the last. */
export function statementAt(all: PlacedStatement[], text: string, cursor: number): PlacedStatement | undefined {
  const begun = all.filter(({ from }) => from <= cursor).at(-1);
  if (begun && (cursor <= begun.to || !text.slice(begun.to, cursor).includes("\n"))) return begun;
  return all.find(({ from }) => from > cursor) ?? begun;
}

/** What is asked by the key for a part of a text: what is selected, or of several statements the one at the cursor; "" for all of it. */
export function partAt(language: Language, text: string, from: number, to: number): string {
  if (from < to) return text.slice(from, to);
  const all = statementsIn(language, text);
  return all.length > 1 ? statementAt(all, text, to)?.text ?? "" : "";
}
