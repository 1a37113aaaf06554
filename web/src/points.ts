// Points of JSON as OpenTSDB's /api/put takes them, one or an array of them, as put lines that are brought in.

import { mapped } from "./slices";

/** What all points have, and what else is called by the same names has not: answers of OpenTSDB, exports of VictoriaMetrics, rows with labels as columns. */
const MEMBERS = [/"metric"\s*:\s*"/, /"timestamp"\s*:\s*["\d]/, /"value"\s*:\s*["\d-]/, /"tags"\s*:\s*\{/];

/** Bytes that are read at once. */
const READ_MAX = 128 << 20;

/** Whether a file, by its first bytes, has such points. */
export function arePoints(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes);
  return /^\s*(\[\s*)?\{/.test(text) && MEMBERS.every((member) => member.test(text));
}

interface Context {
  source?: string;
}

/** Numbers stay as they are written, where the browser tells how. */
const asWritten = (_: string, value: unknown, context?: Context) => (typeof value === "number" ? context?.source ?? String(value) : value);

const parsed = (text: string): unknown => JSON.parse(text, asWritten as (key: string, value: unknown) => unknown);

/** A text that has no place between the blanks of a line. */
const isWord = (text: unknown): text is string => typeof text === "string" && /^[^\s=]+$/.test(text);

/** The line of a point. What is none stays as it is, and is refused with its number. */
export function putLine(point: unknown): string {
  const { metric, timestamp, value, tags } = (point ?? {}) as Record<string, unknown>;
  const pairs = Object.entries((tags ?? {}) as object);
  if (![metric, timestamp, value, ...pairs.flat()].every(isWord)) return JSON.stringify(point);
  return ["put", metric, timestamp, value, ...pairs.map(([name, of]) => `${name}=${of}`)].join(" ");
}

/** The points of a text: of one document, or of one in each line. */
function pointsOf(text: string): unknown[] {
  try {
    const found = parsed(text);
    return Array.isArray(found) ? found : [found];
  } catch (error) {
    const lines = text.split("\n").filter((line) => line.trim());
    if (lines.length < 2 || !/\}\s*$/.test(lines[0]!)) throw new Error(`This file has points of OpenTSDB, but is not whole, or is no JSON: ${(error as Error).message}`);
    return lines.map((line) => {
      try {
        return parsed(line);
      } catch {
        return line;
      }
    });
  }
}

/** The points of a file, made put lines, one for each. */
export async function unpointed(file: File): Promise<File> {
  if (file.size > READ_MAX) throw new Error("This file has points of OpenTSDB, and more than 128 MiB of them: cut it, or send its parts to /api/put.");
  const lines = await mapped(pointsOf(await file.text()), (point) => `${putLine(point)}\n`);
  return new File([lines.join("")], file.name);
}
