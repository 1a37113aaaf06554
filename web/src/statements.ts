// Texts of several statements: the server takes one of SQL at a time, and their answers stand one after another.

import { type Answer, type Figures, type TreeNode, check, query } from "./api";
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

/** Several answers as one. */
export function together(all: Answer[]): Answer {
  const trees = all.flatMap(({ tree }) => tree ?? []);
  const tree: TreeNode = { type: "step", what: "answer", detail: `${all.length} statements`, steps: trees };
  return {
    series: all.flatMap(({ series }) => series), tables: all.flatMap(({ tables }) => tables ?? []), notes: [...new Set(all.flatMap(({ notes }) => notes))], figures: sum(all.map(({ figures }) => figures)),
    ...(trees.length ? { tree } : {}),
  };
}

/** The answer to all statements of a text. */
export async function answerOf(database: string, body: Body, signal: AbortSignal): Promise<Answer> {
  const parts = partsOf(body);
  if (parts.length < 2) return query(database, body, signal);
  const answers: Answer[] = [];
  for (const part of parts) answers.push(await query(database, part, signal));
  return together(answers);
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
