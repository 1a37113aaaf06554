// Texts of several statements: each is asked by itself, so that one that is wrong takes no other's answer along, and
// their answers stand one after another.

import { type Answer, type Done, type Figures, Refusal, type Stated, type Table, type TreeNode, check, query } from "./api";
import { statementsIn } from "./cursor";
import type { Body } from "./question";
import { statementsOf } from "./sql";

/** Several statements of InfluxQL, each with blanks for what stands before it: so places in it stay what they are. */
function influxStatements(text: string): string[] {
  const all = statementsIn("influxql", text);
  return all.length < 2 ? [text] : all.map(({ from, text: said }) => text.slice(0, from).replace(/[^\n]/gu, " ") + said);
}

/** The questions that a text asks, one after another. */
export function partsOf(body: Body): Body[] {
  switch (body.language) {
    case "sql": return statementsOf(body.text).map((text) => ({ ...body, text }));
    case "influxql": return influxStatements(body.text).map((text) => ({ ...body, text }));
    default: return [body];
  }
}

/** Tables of the same columns as one, which has a column more for the measurement, and for each label. */
export function asOneTable(all: Table[]): Table[] {
  const [first] = all;
  if (!first || all.length < 2 || all.some(({ columns }) => JSON.stringify(columns) !== JSON.stringify(first.columns))) return all;
  const labels = [...new Set(all.flatMap((table) => Object.keys(table.labels)))];
  const isNamed = all.some(({ name }) => name);
  const own = ({ name, labels: of }: Table) => [...(isNamed ? [name] : []), ...labels.map((label) => (Object.hasOwn(of, label) ? of[label]! : null))];
  return [{ name: "", labels: {}, columns: [...(isNamed ? ["measurement"] : []), ...labels, ...first.columns], rows: all.flatMap((table) => table.rows.map((row) => [...own(table), ...row])) }];
}

/** The answer to one statement. What InfluxQL lists of each measurement is one list. */
async function answeredOne(database: string, body: Body, signal: AbortSignal): Promise<Answer> {
  const answer = await query(database, body, signal);
  return body.language === "influxql" && answer.tables ? { ...answer, tables: asOneTable(answer.tables) } : answer;
}

/** Figures of several answers: what each took together, and the most memory of one. */
function sum(all: Figures[]): Figures {
  const [first, ...others] = all;
  return others.reduce((before, next) => {
    const names = Object.keys(before) as (keyof Figures)[];
    const added = Object.fromEntries(names.map((name) => [name, name === "memory_peak_bytes" ? Math.max(before[name], next[name]) : (before[name] ?? 0) + (next[name] ?? 0)]));
    return added as unknown as Figures;
  }, first!);
}

/** What is known of how a statement was carried out, also of one that failed. */
const doneOf = ({ answer, error }: Stated): Done | null => answer ?? (error instanceof Refusal ? error.done : null);

/** A statement as a step, in which its own steps stand: its number, its text, its time, and why it has no answer. */
function stepOf(statement: Stated, at: number): TreeNode {
  const { text, answer, error } = statement;
  const done = doneOf(statement);
  const rows = answer?.tables?.reduce((count, table) => count + table.rows.length, 0);
  const took = done && { ms: done.figures.took_ms, own_ms: done.figures.took_ms - (done.tree?.took?.ms ?? 0), series: done.figures.series, samples: done.figures.samples_read, ...(rows === undefined ? {} : { rows }) };
  return { type: "step", what: `statement ${at + 1}`, detail: text.trim(), ...(took ? { took } : {}), ...(error ? { error: error.message } : {}), steps: done?.tree ? [done.tree] : [] };
}

/** What several statements took, and how each was carried out; nothing where none was begun. */
function doneTogether(statements: Stated[]): Done | null {
  const all = statements.flatMap((statement) => doneOf(statement) ?? []);
  return all.length ? { figures: sum(all.map(({ figures }) => figures)), tree: { type: "step", what: "answer", detail: `${statements.length} statements`, steps: statements.map(stepOf) } } : null;
}

/** What statements came to as one answer, of those that have one. */
export function together(statements: Stated[]): Answer {
  const all = statements.flatMap(({ answer }) => answer ?? []);
  const { tree, figures } = statements.length > 1 ? doneTogether(statements)! : all[0]!;
  return {
    series: all.flatMap(({ series }) => series), tables: all.flatMap(({ tables }) => tables ?? []), rows_left_out: all.reduce((sum, { rows_left_out: left = 0 }) => sum + left, 0), notes: [...new Set(all.flatMap(({ notes }) => notes))], figures,
    ...(tree ? { tree } : {}), statements,
  };
}

/** What one statement comes to. A server that does not answer is no fault of the statement's. */
async function stated(database: string, body: Body, signal: AbortSignal): Promise<Stated> {
  const began = performance.now();
  const { text } = body;
  try {
    const answer = await answeredOne(database, body, signal);
    return { text, answer, error: null, tookMs: performance.now() - began };
  } catch (error) {
    if (signal.aborted || (error instanceof Refusal && error.isSilence)) throw error;
    return { text, answer: null, error: error as Error, tookMs: performance.now() - began };
  }
}

/** The answer to all statements of a text. One that is wrong leaves the others theirs; where all are, the first says why. */
export async function answerOf(database: string, body: Body, signal: AbortSignal): Promise<Answer> {
  const parts = partsOf(body);
  if (!parts.length || (body.language !== "sql" && parts.length < 2)) return answeredOne(database, body, signal);
  const statements: Stated[] = [];
  for (const part of parts) statements.push(await stated(database, part, signal));
  const [first] = statements;
  if (first?.error && statements.every(({ error }) => error)) {
    const { error } = first;
    throw error instanceof Refusal && statements.length > 1 ? new Refusal(error.status, error.message, error.position, error.opening, doneTogether(statements)) : error;
  }
  return together(statements);
}

/** Reads all statements of a text, and tells of the first that is wrong. */
export async function checked(database: string, body: Body, signal: AbortSignal): Promise<Awaited<ReturnType<typeof check>>> {
  const parts = partsOf(body);
  if (parts.length < 2) return check(database, body, signal);
  for (const part of parts) {
    const found = await check(database, part, signal);
    if (found.wrong) return found;
  }
  return {};
}
