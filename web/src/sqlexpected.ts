// What may stand at the cursor of a text of SQL, as far as the words of its statement tell. It is the editor's alone, so
// that the page does not carry it to its first paint.

import { type Placed, bareSql, isSolid, namedStatements, sqlWords, tablesAmong } from "./sql";

/** The words of the statement that the cursor stands in. */
function around(text: string, cursor: number): Placed[] {
  const words = sqlWords(text);
  const ends = words.filter((word) => word.text === ";");
  const from = ends.filter(({ at }) => at < cursor).at(-1)?.at ?? -1;
  const to = ends.find(({ at }) => at >= cursor)?.at ?? text.length;
  return words.filter(({ at }) => at > from && at < to);
}

/** The table that a statement calls by another name, or by its own. */
function tableCalled(words: Placed[], name: string): string {
  const solid = words.filter(isSolid);
  const at = solid.findIndex(({ text }, index) => {
    if (text.toLowerCase() !== "from") return false;
    const other = solid[index + 2]?.text.toLowerCase() === "as" ? solid[index + 3] : solid[index + 2];
    return other?.class === "name" && bareSql(other.text) === name;
  });
  return at < 0 ? name : bareSql(solid[at + 1]?.text ?? "");
}

/** What may stand at the cursor, and where the part begins that is there already. */
export interface SqlExpected {
  of: "tables" | "columns" | "members" | "values" | "words";
  typed: string;
  from: number;
  /** The table that the statement reads, wherever the cursor is. */
  table: string;
  label: string;
  /** Whether what stands here is selected. */
  isSelected: boolean;
  /** Names that the select list gives to columns, where rows are put in order by them, or behind a point that of a named statement. */
  aliases: string[];
}

const CLAUSES = new Set(["select", "from", "where", "by", "having", "limit", "offset"]);

/** Words and marks behind which an expression begins. */
const BEFORE_EXPRESSIONS = new Set(["select", "distinct", "where", "by", "having", "and", "or", "not", "on", "case", "when", "then", "else", "between", ",", "(", "+", "-", "*", "/", "%", "|", "<", ">", "<=", ">="]);

/** Words that stand in no parentheses, and the ends of those. */
function outermost(words: Placed[]): Placed[] {
  let depth = 0;
  return words.filter(({ text }) => {
    if (text === ")") depth -= 1;
    const is = depth === 0 && text !== "(";
    if (text === "(") depth += 1;
    return is;
  });
}

/** Names that the select list of a statement gives to columns. */
function aliasesIn(words: Placed[]): string[] {
  const outer = outermost(words.filter(isSolid));
  const low = outer.map(({ text }) => text.toLowerCase());
  const select = low.lastIndexOf("select");
  const from = low.indexOf("from", select);
  const list = select < 0 ? [] : outer.slice(select + 1, from < 0 ? undefined : from);
  return [...new Set(list.flatMap(({ class: is, text }, at) => {
    const before = list[at - 1];
    return is === "name" && before && (before.text.toLowerCase() === "as" || before.text === ")" || before.class === "name") ? [bareSql(text)] : [];
  }))];
}

/** Names of the columns that a statement selects, as far as its text tells them. */
function columnsIn(words: Placed[]): string[] {
  const outer = outermost(words.filter(isSolid));
  const low = outer.map(({ text }) => text.toLowerCase());
  const list = outer.slice(low.indexOf("select") + 1, low.includes("from") ? low.indexOf("from") : undefined);
  // What ends an item names it.
  const last = list.filter(({ class: is }, at) => is === "name" && [",", undefined].includes(list[at + 1]?.text));
  return [...new Set(last.map(({ text }) => bareSql(text)))];
}

export function sqlExpected(text: string, cursor: number): SqlExpected {
  const statement = around(text, cursor);
  const before = statement.filter(({ at }) => at < cursor).map((word) => ({ ...word, text: word.text.slice(0, cursor - word.at) }));
  const last = before.at(-1);
  const isOpen = last !== undefined && ["name", "keyword", "string", "function"].includes(last.class);
  const solid = (isOpen ? before.slice(0, -1) : before).filter(isSolid);
  const said = (back: number) => solid.at(-back)?.text.toLowerCase() ?? "";
  const base = { typed: isOpen ? last.text.replace(/^["']/, "") : "", from: isOpen ? last.at : cursor, table: tablesAmong(statement)[0] ?? "", label: "", isSelected: false, aliases: [] as string[] };
  if (["from", "describe"].includes(said(1))) return { ...base, of: "tables", aliases: [...namedStatements(statement).keys()] };
  // What is compared with, or listed, is a value of the name before.
  const isCompared = ["=", "<>", "!=", "like", "ilike", "~", "!~"].includes(said(1));
  const list = isCompared ? null : /^.*\bin\s*\([^()]*$/is.exec(text.slice(statement[0]?.at ?? 0, base.from));
  if (isCompared || list) {
    const isIn = (word: Placed) => word.text.toLowerCase() === "in";
    const named = (isCompared ? solid : solid.slice(0, solid.map(isIn).lastIndexOf(true))).filter((word) => word.class === "name").at(-1);
    return { ...base, of: named ? "values" : "words", label: named ? bareSql(named.text) : "" };
  }
  if (isOpen && last.class === "string") return { ...base, of: "words" };
  if (said(1) === ".") {
    const name = bareSql(solid.at(-2)?.text ?? "");
    const called = tableCalled(statement, name);
    const named = namedStatements(statement).get(called);
    return named ? { ...base, of: "members", aliases: columnsIn(named) } : { ...base, of: "members", table: called };
  }
  const clause = solid.map((word) => word.text.toLowerCase()).filter((word) => CLAUSES.has(word)).at(-1);
  const isExpression = clause !== undefined && !["from", "limit", "offset"].includes(clause) && BEFORE_EXPRESSIONS.has(said(1));
  if (!isExpression) return { ...base, of: "words" };
  const outer = outermost(solid).map((word) => word.text.toLowerCase());
  const isOrdered = outer[outer.lastIndexOf("by") - 1] === "order" && clause === "by" && outer.at(-1) === said(1) && ["by", ","].includes(said(1));
  return { ...base, of: "columns", isSelected: clause === "select", aliases: isOrdered ? aliasesIn(statement) : [] };
}
