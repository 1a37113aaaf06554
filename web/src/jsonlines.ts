// Lines of JSON, an object for each row, as text that is brought in.

import { madeCell } from "./series";
import { mapped } from "./slices";
import { type Kind, type Typed, unreadable } from "./typed";

/** Whether a file, by its first bytes, begins with an object in a line; one that goes on in the next line is another document. */
export function isJsonLines(bytes: Uint8Array): boolean {
  const [first = "", ...rest] = new TextDecoder().decode(bytes).split("\n", 2);
  return rest.length || first.trim().endsWith("}") ? /^\s*\{.*\}\s*$/.test(first) : /^\s*\{\s*"/.test(first);
}

/** Whether it is one document of JSON instead. */
export function isDocument(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes);
  return !isJsonLines(bytes) && (/^\s*\[\s*(\{\s*"|\])/.test(text) || /^\s*\{\s*("|$)/.test(text));
}

type Row = Record<string, unknown>;

const isPlain = (value: unknown) => value === null || typeof value !== "object";

interface Context {
  source?: string;
}

/** Whole numbers keep their digits, where the browser tells how they were written. */
const exact = (_: string, value: unknown, context?: Context) =>
  (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context!.source!) : value);

const plainly = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);

/** Bytes that are read at a time. */
const PIECE_BYTES = 1 << 20;

/** A line: its object, nothing where it is blank, or its text where it is no object. */
type Line = Row | string | null;

const isRow = (line: Line): line is Row => line !== null && typeof line !== "string";

/** Calls `each` with the lines of a piece of a file after another. */
async function eachPiece(file: File, each: (lines: Line[]) => void): Promise<void> {
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
    line += lines.length;
    each(await mapped(lines, (text) => (text.trim() ? lineOf(text) : null)));
  }
}

function lineOf(text: string): Row | string {
  try {
    const row: unknown = JSON.parse(text, exact as (key: string, value: unknown) => unknown);
    return row === null || typeof row !== "object" || Array.isArray(row) ? text : (row as Row);
  } catch {
    return text;
  }
}

/** The rows of a file, made CSV: members are columns, and their kinds tell what those are. Lines that are no objects stay in their places. */
export async function unjsoned(file: File): Promise<Typed> {
  const kinds = new Map<string, Set<string>>();
  await eachPiece(file, (lines) => {
    for (const [name, value] of lines.filter(isRow).flatMap((row) => Object.entries(row))) {
      const known = kinds.get(name) ?? new Set();
      if (value !== null) known.add(isPlain(value) ? typeof value : "nested");
      kinds.set(name, known);
    }
  });
  if (!kinds.size) throw new Error("No line of this file is an object of JSON with a member, as {\"time\": 1767225600, \"ph\": 6.5} is.");
  if (["metric", "values", "timestamps"].every((name) => kinds.get(name)?.has("nested"))) {
    throw new Error("This file is an export of VictoriaMetrics: send it to /api/v1/import of the listener for VictoriaMetrics, or below /prometheus, as curl --data-binary @FILE does.");
  }
  // Where it is nested in some rows only, these are wrong.
  const left = [...kinds].filter(([, of]) => of.has("nested") && of.size === 1).map(([name]) => name);
  const names = [...kinds.keys()].filter((name) => !left.includes(name));
  const rowOf = (line: Line) => {
    // An empty line stays one, so that lines keep their numbers but for the header.
    if (line === null) return "\n";
    if (isRow(line) && names.some((name) => Object.hasOwn(line, name) && !isPlain(line[name]))) return `${unreadable(JSON.stringify(line, plainly))}\n`;
    return `${isRow(line) ? names.map((name) => madeCell(Object.hasOwn(line, name) ? line[name] : null)).join(",") : unreadable(line)}\n`;
  };
  const pieces = [new Blob([`${names.map(madeCell).join(",")}\n`])];
  await eachPiece(file, (lines) => { pieces.push(new Blob([lines.map(rowOf).join("")])); });
  const kindOf = (name: string): Kind => (kinds.get(name)!.has("string") ? "text" : "value");
  return { file: new File(pieces, file.name.replace(/\.(jsonl|ndjson|json)$/i, "")), kinds: names.map(kindOf), time: -1, left, isExact: false };
}
