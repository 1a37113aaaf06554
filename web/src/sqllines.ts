// SQL in lines: each clause begins one, and what is long goes on in another.

import { type Placed, sqlWords } from "./sql";

/** Clauses that begin a line where they stand in no parentheses. */
const BEGIN = new Set(["from", "where", "group", "having", "order", "limit", "offset"]);

/** Letters from which on a line goes on in the next one. */
const LONG = 80;

/** What a line that goes on begins with. */
const INDENT = "  ";

/** Whether a word begins a clause, by the solid words before it: `IS DISTINCT FROM` compares. */
function begins(word: string, before: string[]): boolean {
  const last = before.at(-1);
  return BEGIN.has(word) && ["select", "with", "explain"].includes(before[0] ?? "") && !(word === "from" && last === "distinct" && before.length > 2);
}

/** One statement in lines. Only what stands between its words changes. */
function lined(words: Placed[]): string {
  let [text, depth, isBetween] = ["", 0, false];
  const before: string[] = [];
  const line = () => text.slice(text.lastIndexOf("\n") + 1);
  const turn = (indent: string) => { text = `${text.trimEnd()}\n${indent}`; };
  for (const { class: is, text: word } of words) {
    const low = is === "keyword" ? word.toLowerCase() : word;
    if (is === "blank") {
      if (text && !/\s$/.test(text)) text += " ";
      continue;
    }
    if (is === "keyword" && depth === 0 && before.length && begins(low, before)) turn("");
    else if (is === "keyword" && depth === 0 && (low === "and" || low === "or") && !isBetween && line().length > LONG) turn(INDENT);
    if (low === "between") isBetween = true;
    else if (low === "and") isBetween = false;
    if (word === "(") depth += 1;
    if (word === ")") depth -= 1;
    text += word;
    if (is === "comment") {
      if (word.startsWith("--")) turn("");
      continue;
    }
    before.push(low);
    if (word === "," && depth === 0 && line().length > LONG) turn(INDENT);
  }
  return text.trim();
}

/** A text of SQL in lines, statement by statement. */
export function sqlLines(text: string): string {
  const statements: Placed[][] = [[]];
  for (const word of sqlWords(text)) {
    if (word.text === ";") statements.push([]);
    else statements.at(-1)!.push(word);
  }
  const ended = statements.map(lined);
  // What is behind the last end is no statement, unless something stands there.
  const isEnded = ended.length > 1 && ended.at(-1) === "";
  return (isEnded ? ended.slice(0, -1) : ended).map((one, at, all) => (at < all.length - 1 || isEnded ? (/--[^\n]*$/.test(one) ? `${one}\n;` : `${one};`) : one)).join("\n");
}
