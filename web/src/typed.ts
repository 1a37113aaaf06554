// A table that was made of a file of other rows, as of JSON or Parquet: CSV in which each row is one line, whatever is in its
// cells, and the kinds of its columns.

import { lineOfText } from "./series";

/** What a column holds that has a kind: labels are texts that are said to be labels. */
export type Kind = "time" | "value" | "integer" | "unsigned" | "text" | "label";

export interface Typed {
  /** CSV, with cells as `madeCell` writes them. */
  file: File;
  kinds: Kind[];
  /** The column of times, if the kinds tell which. */
  time: number;
  /** Columns that are left out: lists, and what is no plain value. */
  left: string[];
  /** Whether it tells samples as they were stored: then nothing of it is guessed, and nothing of its texts is lost. */
  isExact: boolean;
}

const MEANT: Record<string, string> = { "\\": "\\", n: "\n", r: "\r", 0: "\0", q: '"', e: "" };

/** The text of such a cell. */
export const cellText = (cell: string): string => cell.replace(/\\(.)/g, (_, letter: string) => MEANT[letter] ?? letter);

/** What begins a row that could not be read; the line that it was stands behind it. */
const UNREADABLE = "\0";

/** Quotes are spelled, too: none may open a cell that goes on behind the line. */
export const unreadable = (line: string): string => UNREADABLE + lineOfText(line).replaceAll('"', "\\q");

/** The line that a row was which could not be read; null where it could. */
export const unreadLine = (row: string): string | null => (row.startsWith(UNREADABLE) ? cellText(row.slice(1)) : null);
