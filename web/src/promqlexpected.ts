// What may stand at the cursor of a text of PromQL, as far as the words before it tell. It is the editor's alone, so that
// the page does not carry it to its first paint. A grammar would not do: `$step` and names with points are none to
// Prometheus', and what is half typed is a metric to it.

import { AGGREGATIONS, metricsIn, quotedMetricsIn, unquoted, words } from "./promql";
import { promqlSignature } from "./promqlfunctions";

/** What may stand at the cursor, and where the part begins that is there already. */
export interface PromqlExpected {
  of:
    /** An expression begins: a metric, a function, an aggregation, a number. */
    | "expression"
    /** The same, of a function that takes a range. */
    | "range expression"
    /** The words alone. */
    | "words"
    | "quoted names" | "labels" | "match operators" | "values"
    /** A length of time in brackets: of samples, of a subquery, and between the points of one. */
    | "ranges" | "subqueries" | "steps"
    /** A length of time behind `offset`, and what stands behind `@`. */
    | "durations" | "instants"
    | "nothing";
  /** Words and marks that may stand there besides, first of all. */
  words: readonly string[];
  typed: string;
  from: number;
  /** The metrics whose labels are meant, as far as they are known. */
  metrics: string[];
  label: string;
}

const COMPARISONS = ["==", "!=", ">", "<", ">=", "<="];

const SETS = ["and", "or", "unless"];

const OPERATORS = [...SETS, "+", "-", "*", "/", "%", "^", "atan2", ...COMPARISONS];

const MATCH_OPERATORS = ["=", "!=", "=~", "!~"];

/** Signs of two letters, which are words of one letter each to the colours. */
const PAIRS = new Set(["==", "!=", ">=", "<=", "=~", "!~"]);

const GROUPINGS = ["by", "without"];

const MEETINGS = ["on", "ignoring"];

const SIDES = ["group_left", "group_right"];

/** A word that counts, and where it begins in the text. */
interface Token {
  class: string;
  text: string;
  from: number;
}

/** What stands before a place, as far as it matters to what may follow. */
interface Standing {
  of: PromqlExpected["of"];
  words: readonly string[];
  /** The metric or the aggregation that stands before. */
  name?: string;
  /** What the next parenthesis is, where it is not just one. */
  opens?: Opening;
  /** What may follow the length or time that is expected here. */
  then?: Standing;
  /** The operator before, as long as words may follow that belong to it. */
  operator?: string;
  /** From where to where the parentheses reach that stand before. */
  body?: [from: number, to: number];
}

interface Opening {
  of: "expression" | "call" | "labels" | "matchers" | "range" | "closed";
  /** What follows its end. */
  behind: Standing;
  /** The function of a call, the metric of matchers. */
  name?: string;
  /** The last label in braces. */
  label?: string;
  /** Of labels: where the word before them begins, and what that groups. */
  word?: { text: string; from: number; body?: [from: number, to: number] | undefined };
}

interface Bracket extends Opening {
  sign: string;
  from: number;
  /** How many commas stand in it. */
  at: number;
}

const only = (...allowed: string[]): Standing => ({ of: "words", words: allowed });

const NOTHING = only();

const BEGIN: Standing = { of: "expression", words: [] };

const LABELS: Standing = { of: "labels", words: [] };

/** Behind a number. */
const RECKONED = only(...OPERATORS);

/** Behind parentheses: a subquery may follow, and `offset` only that. */
const CLOSED = only(...OPERATORS, "[");

const AGGREGATED = only(...GROUPINGS, ...OPERATORS, "[");

const RANGED = only("offset", "@");

const selected = (name: string): Standing => ({ ...only(...OPERATORS, "[", "{", "offset", "@"), name });

const less = (standing: Standing, ...gone: string[]): Standing => ({ ...standing, words: standing.words.filter((word) => !gone.includes(word)) });

const CLOSERS: Record<string, string> = { ")": "(", "]": "[", "}": "{" };

function tokensOf(text: string): Token[] {
  const found: Token[] = [];
  const put = (kind: string, said: string, from: number) => {
    const last = found.at(-1);
    const isPair = kind === "mark" && last?.class === "mark" && last.from + 1 === from && PAIRS.has(last.text + said);
    if (isPair) last.text += said;
    // Behind a length of time a colon begins no name.
    else if (kind === "name" && said.startsWith(":") && (last?.class === "number" || last?.class === "bound")) {
      found.push({ class: "mark", text: ":", from });
      let at = from + 1;
      for (const word of words(said.slice(1))) {
        found.push({ ...word, from: at });
        at += word.text.length;
      }
    } else found.push({ class: kind, text: said, from });
  };
  let at = 0;
  for (const word of words(text)) {
    if (word.class !== "blank" && word.class !== "comment") put(word.class, word.text, at);
    at += word.text.length;
  }
  return found;
}

const isWord = ({ class: kind }: Token) => ["name", "keyword", "function"].includes(kind);

const isNumber = ({ class: kind }: Token) => kind === "number" || kind === "bound";

/** What a bracket, or the text, begins with. */
function begun(inner: Bracket | undefined): Standing {
  switch (inner?.of) {
    case "labels": case "matchers": return LABELS;
    case "closed": return NOTHING;
    default: return takesRange(inner) ? { of: "range expression", words: [] } : BEGIN;
  }
}

function takesRange(inner: Bracket | undefined): boolean {
  const takes = inner?.of === "call" && promqlSignature(inner.name ?? "")?.replace(/^[^(]*\(|\)$/g, "").split(", ");
  return !!takes && takes[inner.at] === "range";
}

/** What follows a word of a text. */
function behind(now: Standing, token: Token, open: Bracket[]): Standing {
  const inner = open.at(-1);
  if (token.class === "mark" && CLOSERS[token.text]) {
    const at = open.map(({ sign }) => sign).lastIndexOf(CLOSERS[token.text]!);
    const closed = at < 0 ? undefined : open.splice(at)[0];
    return closed ? { ...closed.behind, body: [closed.from, token.from] } : now;
  }
  switch (inner?.of) {
    case "closed": return NOTHING;
    case "labels": return token.text === "," ? LABELS : NOTHING;
    case "range":
      if (token.text === ":") return { of: "steps", words: [] };
      return now.of === "steps" ? NOTHING : only(":");
    case "matchers": return behindInBraces(now, token, inner);
    default: return behindInExpression(now, token, open);
  }
}

function behindInBraces(now: Standing, token: Token, inner: Bracket): Standing {
  const said = token.class === "string" ? unquoted(token.text) : token.text;
  if (token.text === ",") {
    // A text that is compared with nothing is the metric's name.
    if (now.of === "match operators" && now.name) inner.name = now.name;
    return LABELS;
  }
  if (token.class === "mark") return MATCH_OPERATORS.includes(token.text) ? { of: "values", words: [], operator: token.text } : now;
  if (now.of === "values") {
    if (inner.label === "__name__" && now.operator === "=") inner.name = said;
    return NOTHING;
  }
  inner.label = said;
  return { of: "match operators", words: [], ...(token.class === "string" ? { name: said } : {}) };
}

function behindInExpression(now: Standing, token: Token, open: Bracket[]): Standing {
  const inner = open.at(-1);
  const low = token.text.toLowerCase();
  const opened = (opening: Opening): Standing => {
    const bracket = { ...opening, sign: token.text, from: token.from, at: 0 };
    open.push(bracket);
    return begun(bracket);
  };
  if (now.then) {
    if (isNumber(token)) return now.then;
    if (low === "+" || low === "-") return now;
    if (isWord(token)) return { ...NOTHING, opens: { of: "closed", behind: now.then } };
    if (low === "(") return opened({ of: "closed", behind: now.then });
  }
  /** Labels in parentheses, which belong to this word. */
  const labels = (follows: Standing): Opening => ({ of: "labels", behind: follows, word: { text: low, from: token.from, body: now.body } });
  const isBehind = now.of === "words";
  if (token.class === "mark") {
    switch (low) {
      case "(": return opened(now.opens ?? { of: "expression", behind: CLOSED });
      case "{": return opened({ of: "matchers", name: now.name ?? "", behind: less(selected(now.name ?? ""), "{") });
      // Only a selector of series, without more, has a range of samples.
      case "[": return { ...opened({ of: "range", behind: RANGED }), of: now.words.includes("offset") && now.words.includes("@") ? "ranges" : "subqueries" };
      case ",":
        if (inner) inner.at += 1;
        return begun(inner);
      case "@": return { of: "instants", words: [], then: less(now, "@", "{") };
    }
    if (!OPERATORS.includes(low)) return now;
    return isBehind ? behindOperator(low) : begun(inner);
  }
  if (token.class === "string") return NOTHING;
  if (isNumber(token) || low === "inf" || low === "nan") return RECKONED;
  if (isBehind && OPERATORS.includes(low)) return behindOperator(low);
  if (isBehind && low === "offset") return { of: "durations", words: [], then: less(now, "offset", "{") };
  if (now.operator && low === "bool") return { ...now, words: MEETINGS };
  if (token.class === "keyword" && GROUPINGS.includes(low)) {
    const call = now.opens?.of === "call" ? { ...now.opens, behind: CLOSED } : null;
    return { ...only("("), opens: labels(call ? { ...only("("), opens: call } : CLOSED) };
  }
  if (token.class === "keyword" && MEETINGS.includes(low)) {
    return { ...only("("), opens: labels({ ...BEGIN, words: now.operator && !SETS.includes(now.operator) ? SIDES : [] }) };
  }
  if (token.class === "keyword" && SIDES.includes(low)) return { ...BEGIN, words: ["("], opens: labels(BEGIN) };
  // A metric may be called as an aggregation is: what follows tells.
  if (AGGREGATIONS.has(low)) return { ...only(...GROUPINGS, "("), name: token.text, opens: { of: "call", name: low, behind: AGGREGATED } };
  if (token.class === "function") return { ...only("("), opens: { of: "call", name: token.text, behind: CLOSED } };
  return selected(token.text);
}

const behindOperator = (operator: string): Standing => ({ ...BEGIN, operator, words: [...(COMPARISONS.includes(operator) ? ["bool"] : []), ...MEETINGS] });

const isClosed = (text: string) => /^(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)$/s.test(text);

/** Whether the last word is still being typed, and what may follow decides whether it is kept. */
function isTyped({ class: kind, text }: Token, now: Standing): boolean {
  if (kind === "string") return !isClosed(text);
  if (kind !== "mark") return true;
  return text === "$" || text === "!" || (text === "=" && now.of === "words");
}

export function promqlExpected(text: string, cursor: number): PromqlExpected {
  const before = text.slice(0, cursor);
  const tokens = tokensOf(before);
  const last = tokens.at(-1);
  const open: Bracket[] = [];
  let now = BEGIN;
  for (const token of tokens.slice(0, -1)) now = behind(now, token, open);
  const typing = last && last.from + last.text.length === cursor && isTyped(last, now) ? last : undefined;
  if (last && !typing) now = behind(now, last, open);
  const inner = open.at(-1);
  const base = { typed: typing?.text.replace(/^["'`]/, "") ?? "", from: typing?.from ?? cursor, words: [], metrics: [], label: "" };
  const nothing: PromqlExpected = { ...base, of: "nothing" };
  if (words(before).at(-1)?.class === "comment") return nothing;
  if (inner?.of === "matchers") {
    const metrics = inner.name ? [inner.name] : [];
    if (now.of === "words") return nothing;
    return { ...base, metrics, of: now.of === "labels" && typing?.class === "string" && !inner.name ? "quoted names" : now.of, label: now.of === "values" ? inner.label ?? "" : "" };
  }
  if (inner?.of === "labels" && now.of === "labels") return { ...base, of: "labels", metrics: metricsAround(text, cursor, inner, open.at(-2)) };
  if (typing?.class === "string" || (now.of === "words" && !now.words.length)) return nothing;
  if (now.of === "expression" || now.of === "range expression") return typing && !isWord(typing) ? nothing : { ...base, of: now.of, words: now.words };
  // Of what stands where a range is wanted nothing is reckoned.
  return { ...base, of: now.of, words: takesRange(inner) ? now.words.filter((word) => !OPERATORS.includes(word)) : now.words };
}

/** Where the parenthesis is closed that is open at a place of a text; its end where none is. */
function endFrom(text: string, from: number): number {
  let depth = 0;
  let at = from;
  for (const word of words(text.slice(from))) {
    if (word.text === "(") depth += 1;
    if (word.text === ")" && (depth -= 1) < 0) return at;
    at += word.text.length;
  }
  return at;
}

/** The metrics whose labels stand in parentheses: those that an aggregation is over, or those on both sides of an operator. */
function metricsAround(text: string, cursor: number, { word }: Bracket, outer: Bracket | undefined): string[] {
  const named = (part: string) => [...quotedMetricsIn(part), ...metricsIn(part)].filter((name) => !AGGREGATIONS.has(name.toLowerCase()));
  const [from, end] = [word?.from ?? cursor, endFrom(text, cursor)];
  const sides = (begins: number, ends: number) => [...new Set([...named(text.slice(begins, from)), ...named(text.slice(end + 1, ends))])];
  if (word && GROUPINGS.includes(word.text)) {
    const follows = end + 1 + (/^\s*\(/.exec(text.slice(end + 1))?.[0].length ?? 0);
    const own = word.body ? named(text.slice(...word.body)) : follows > end + 1 ? named(text.slice(follows, endFrom(text, follows))) : [];
    if (own.length) return [...new Set(own)];
  }
  const around = outer ? sides(outer.from + 1, endFrom(text, end + 1)) : [];
  return around.length ? around : sides(0, text.length);
}
