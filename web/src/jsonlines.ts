// Lines of JSON, an object for each row, as text that is brought in.

import type { Kind, Typed } from "./csv";
import { csvCell } from "./series";
import { mapped } from "./slices";

/** Whether a file, by its first bytes, begins with an object in a line; one that goes on in the next line is another document. */
export function isJsonLines(bytes: Uint8Array): boolean {
  const [first = "", ...rest] = new TextDecoder().decode(bytes).split("\n", 2);
  return rest.length || first.trim().endsWith("}") ? /^\s*\{.*\}\s*$/.test(first) : /^\s*\{\s*"/.test(first);
}

type Row = Record<string, unknown>;

const isPlain = (value: unknown) => value === null || typeof value !== "object";

interface Context {
  source?: string;
}

/** Whole numbers keep their digits, where the browser tells how they were written. */
const exact = (_: string, value: unknown, context?: Context) =>
  (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context!.source!) : value);

/** Bytes that are read at a time. */
const PIECE_BYTES = 1 << 20;

/** Calls `each` with the rows of a piece of a file after another. */
async function eachPiece(file: File, each: (rows: (Row | null)[]) => void): Promise<void> {
  let [line, rest] = [1, ""];
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    let text = rest;
    try {
      text += decoder.decode(await file.slice(at, at + PIECE_BYTES).arrayBuffer(), { stream: at + PIECE_BYTES < file.size });
    } catch {
      throw new Error(`Behind line ${line} of this file stands what is no UTF-8: save it as UTF-8.`);
    }
    const lines = text.split("\n");
    rest = at + PIECE_BYTES < file.size ? lines.pop() ?? "" : "";
    const begin = line;
    line += lines.length;
    each(await mapped(lines.map((text, index) => ({ text, number: begin + index })), ({ text, number }) => (text.trim() ? rowOf(text, number) : null)));
  }
}

function rowOf(text: string, line: number): Row {
  let row: unknown = null;
  try {
    row = JSON.parse(text, exact as (key: string, value: unknown) => unknown);
  } catch {
    // What is said below is true of this, too.
  }
  if (row === null || typeof row !== "object" || Array.isArray(row)) throw new Error(`Line ${line} of this file is no object of JSON, as the first line is.`);
  return row as Row;
}

/** The rows of a file, made CSV: members are columns, and their kinds tell what those are. */
export async function unjsoned(file: File): Promise<Typed> {
  const kinds = new Map<string, Set<string>>();
  await eachPiece(file, (rows) => {
    for (const [name, value] of rows.flatMap((row) => Object.entries(row ?? {}))) {
      const known = kinds.get(name) ?? new Set();
      if (value !== null) known.add(isPlain(value) ? typeof value : "nested");
      kinds.set(name, known);
    }
  });
  if (["metric", "values", "timestamps"].every((name) => kinds.get(name)?.has("nested"))) {
    throw new Error("This file is an export of VictoriaMetrics: send it to /api/v1/import of the listener for VictoriaMetrics, or below /prometheus, as curl --data-binary @FILE does.");
  }
  const left = [...kinds].filter(([, of]) => of.has("nested")).map(([name]) => name);
  const names = [...kinds.keys()].filter((name) => !left.includes(name));
  const pieces = [new Blob([`${names.map(csvCell).join(",")}\n`])];
  await eachPiece(file, (rows) => {
    // An empty line stays one, so that lines keep their numbers but for the header.
    pieces.push(new Blob([rows.map((row) => `${row ? names.map((name) => csvCell(Object.hasOwn(row, name) ? row[name] : null)).join(",") : ""}\n`).join("")]));
  });
  return { file: new File(pieces, file.name.replace(/\.(jsonl|ndjson|json)$/i, "")), kinds: names.map((name): Kind => (kinds.get(name)!.has("string") ? "text" : "value")), time: -1, left };
}
