// Texts of several statements: the server takes one of SQL at a time, and their answers stand one after another.

import { type Answer, type Figures, Refusal, type Stated, type TreeNode, check, query } from "./api";
import type { Body } from "./question";
import { statementsOf } from "./sql";

/** The questions that a text asks, one after another. */
export const partsOf = (body: Body): Body[] => (body.language === "sql" ? statementsOf(body.text).map((text) => ({ ...body, text })) : [body]);

/** Figures of several answers: what each took together, and the most memory of one. */
function sum(all: Figures[]): Figures {
  const [first, ...others] = all;
  return others.reduce((before, next) => {
    const names = Object.keys(before) as (keyof Figures)[];
    const added = Object.fromEntries(names.map((name) => [name, name === "memory_peak_bytes" ? Math.max(before[name], next[name]) : before[name] + next[name]]));
    return added as unknown as Figures;
  }, first!);
}

/** What statements came to as one answer, of those that have one. */
export function together(statements: Stated[]): Answer {
  const all = statements.flatMap(({ answer }) => answer ?? []);
  const trees = all.flatMap(({ tree }) => tree ?? []);
  const tree: TreeNode = statements.length > 1 ? { type: "step", what: "answer", detail: `${statements.length} statements`, steps: trees } : trees[0]!;
  return {
    series: all.flatMap(({ series }) => series), tables: all.flatMap(({ tables }) => tables ?? []), notes: [...new Set(all.flatMap(({ notes }) => notes))], figures: sum(all.map(({ figures }) => figures)),
    ...(trees.length ? { tree } : {}), statements,
  };
}

/** What one statement comes to. A server that does not answer is no fault of the statement's. */
async function stated(database: string, body: Body, signal: AbortSignal): Promise<Stated> {
  const began = performance.now();
  const { text } = body;
  try {
    const answer = await query(database, body, signal);
    return { text, answer, error: null, tookMs: performance.now() - began };
  } catch (error) {
    if (signal.aborted || (error instanceof Refusal && error.isSilence)) throw error;
    return { text, answer: null, error: error as Error, tookMs: performance.now() - began };
  }
}

/** The answer to all statements of a text. One that is wrong leaves the others theirs; where all are, the first says why. */
export async function answerOf(database: string, body: Body, signal: AbortSignal): Promise<Answer> {
  const parts = partsOf(body);
  if (body.language !== "sql" || !parts.length) return query(database, body, signal);
  const statements: Stated[] = [];
  for (const part of parts) statements.push(await stated(database, part, signal));
  const [first] = statements;
  if (first?.error && statements.every(({ error }) => error)) throw first.error;
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
