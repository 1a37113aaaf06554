// Cells of a table that somebody has chosen, by mouse or by keys, and what they are on the clipboard.

import { guarded } from "./saved";
import { type Value, spelled } from "./series";

export interface Place {
  row: number;
  column: number;
}

/** A rectangle of cells: from where it was begun to where somebody is. */
export interface Chosen {
  from: Place;
  to: Place;
}

export interface Bounds {
  top: number;
  bottom: number;
  left: number;
  right: number;
}

export const boundsOf = ({ from, to }: Chosen): Bounds => ({
  top: Math.min(from.row, to.row), bottom: Math.max(from.row, to.row), left: Math.min(from.column, to.column), right: Math.max(from.column, to.column),
});

export const isIn = ({ top, bottom, left, right }: Bounds, row: number, column: number) => row >= top && row <= bottom && column >= left && column <= right;

/** How many rows and columns there are, and how many rows a page has. */
export interface Size {
  rows: number;
  columns: number;
  page: number;
}

interface Key {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  metaKey: boolean;
}

const STEPS: Record<string, (size: Size, isFar: boolean, at: Place) => Place> = {
  ArrowUp: (_, isFar, { row, column }) => ({ row: isFar ? 0 : row - 1, column }),
  ArrowDown: (size, isFar, { row, column }) => ({ row: isFar ? size.rows : row + 1, column }),
  ArrowLeft: (_, isFar, { row, column }) => ({ row, column: isFar ? 0 : column - 1 }),
  ArrowRight: (size, isFar, { row, column }) => ({ row, column: isFar ? size.columns : column + 1 }),
  PageUp: ({ page }, _, { row, column }) => ({ row: row - page, column }),
  PageDown: ({ page }, _, { row, column }) => ({ row: row + page, column }),
  Home: (_, isFar, { row }) => ({ row: isFar ? 0 : row, column: 0 }),
  End: (size, isFar, { row }) => ({ row: isFar ? size.rows : row, column: size.columns }),
};

/** What is chosen after a key, as spreadsheets have it; undefined where the key means nothing here. The first key chooses the cell `first`. */
export function chosenBy({ key, shiftKey, ctrlKey, metaKey }: Key, before: Chosen | null, size: Size, first: Place): Chosen | null | undefined {
  const isFar = ctrlKey || metaKey;
  const last = { row: size.rows - 1, column: size.columns - 1 };
  if (isFar && key.toLowerCase() === "a") return { from: { row: 0, column: 0 }, to: last };
  if (key === "Escape") return before ? null : undefined;
  if (key === " " && shiftKey && before) {
    return { from: { row: before.from.row, column: 0 }, to: { row: before.to.row, column: last.column } };
  }
  const step = STEPS[key];
  if (!step) return undefined;
  if (!before) return { from: first, to: first };
  const { row, column } = step(size, isFar, before.to);
  const to = { row: Math.max(0, Math.min(last.row, row)), column: Math.max(0, Math.min(last.column, column)) };
  return { from: shiftKey ? before.from : to, to };
}

/** What divides the cells of a line. */
export type Separator = "," | "\t";

/** A cell of a line: quoted where it must be, and never a formula to a spreadsheet. */
export function cell(value: Value | undefined, separator: Separator = ","): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return spelled(value);
  const text = guarded(value);
  return text.includes(separator) || /["\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** Rows as lines. One cell alone is its text as it is, which goes into a question, or anywhere. */
export function lines(rows: (Value | undefined)[][], separator: Separator): string {
  const [first] = rows;
  if (rows.length === 1 && first?.length === 1) return String(first[0] ?? "");
  return rows.map((row) => row.map((value) => cell(value, separator)).join(separator)).join("\n");
}
