// A file of a dashboard, read: whatever is wrong with it is said.

import type { Panel } from "./api";
import { FILE_MARK, FILE_VERSION, NAME_CHARS_MAX } from "./board";

/** What the server takes: panels, bytes of an address, and how each begins. */
const PANELS_MAX = 40;
const ADDRESS_BYTES_MAX = 16 << 10;
const EXPLORE = "#/explore?";

/** A file of more holds more than that, however its letters are spelt. */
const FILE_BYTES_MAX = 4 << 20;

export interface BoardFile {
  name: string;
  panels: Panel[];
}

const isName = (value: unknown): value is string => typeof value === "string" && value.trim() !== "" && [...value.trim()].length <= NAME_CHARS_MAX;

function panelIn(value: unknown, at: number): Panel {
  const { title, address } = (value ?? {}) as Record<string, unknown>;
  if (!isName(title)) throw new Error(`Panel ${at + 1} of the file has no “title” of 1 to ${NAME_CHARS_MAX} characters.`);
  const isAddress = typeof address === "string" && address.startsWith(EXPLORE) && new TextEncoder().encode(address).length <= ADDRESS_BYTES_MAX;
  if (!isAddress) throw new Error(`Panel ${at + 1} of the file, “${title}”, has no “address” that begins with ${EXPLORE} and has ${ADDRESS_BYTES_MAX} bytes at most.`);
  return { title: title.trim(), address };
}

/** The dashboard that a text is. */
export function boardIn(text: string): BoardFile {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error("This file is no JSON, or broke off. Export, on a dashboard, makes one that can be read.");
  }
  const board = (found !== null && typeof found === "object" ? found : {}) as Record<string, unknown>;
  if (board[FILE_MARK] === undefined) {
    throw new Error("schemaVersion" in board || "dashboard" in board
      ? "This is a dashboard of Grafana, whose panels ask in other ways than those of this page: Grafana itself can ask Foliot."
      : `This JSON is no dashboard: "${FILE_MARK}": ${FILE_VERSION} is missing.`);
  }
  if (board[FILE_MARK] !== FILE_VERSION) throw new Error(`The file says "${FILE_MARK}": ${JSON.stringify(board[FILE_MARK]).slice(0, 40)}, and this page reads ${FILE_VERSION}.`);
  const { name, panels } = board;
  if (!isName(name)) throw new Error(`The file has no “name” of 1 to ${NAME_CHARS_MAX} characters.`);
  if (!Array.isArray(panels) || !panels.length || panels.length > PANELS_MAX) throw new Error(`The file must have from 1 to ${PANELS_MAX} “panels”.`);
  return { name: name.trim(), panels: panels.map(panelIn) };
}

export async function readBoard(file: File): Promise<BoardFile> {
  if (file.size > FILE_BYTES_MAX) throw new Error(`This file is larger than any dashboard: ${FILE_BYTES_MAX} bytes are the most.`);
  return boardIn(await file.text());
}
