// Bringing a file in: what kind of text it is, and its lines in pieces.

import { type Imported, bring, cancelJob } from "./api";
import { type Sheet, rowsOf, sheetOf, unclosed } from "./csv";
import { lineNotUtf8 } from "./encoding";
import { madeOf } from "./rowline";

export type Format = "csv" | "json" | "parquet" | "influx" | "opentsdb" | "prometheus";

export const FORMATS: [Format, string][] = [
  ["csv", "CSV"], ["json", "Lines of JSON"], ["parquet", "Parquet"], ["influx", "Influx lines"], ["opentsdb", "OpenTSDB lines"], ["prometheus", "Prometheus text"],
];

/** Bytes that are sent at a time: a tenth of a second of work. */
const PIECE_BYTES = 512 << 10;

/** Bytes that are looked at to tell what a file is. */
export const LOOKED_AT_BYTES = 64 << 10;

/** Lines of which the words are kept that are wrong. */
const FAULTS_MAX = 200;

/** Letters of such a line that are shown. */
const FAULT_CHARS_MAX = 200;

/** What a file is by its name, where that says so. */
const ENDINGS: Record<string, Format> = { lp: "influx", prom: "prometheus" };

/** What a text is, by its name or by its first lines. */
export function formatOf(lines: string[], name = ""): Format | null {
  const named = ENDINGS[/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? ""];
  if (named) return named;
  const solid = lines.filter((line) => line.trim() && !line.startsWith("#"));
  const share = (shape: RegExp) => solid.filter((line) => shape.test(line)).length / Math.max(1, solid.length);
  if (lines.some((line) => /^# (TYPE|HELP) /.test(line)) || share(/^[a-zA-Z_:][\w:]*(\{[^}]*\})?\s+[-+\d.eE]+(Inf|NaN)?(\s+\d+)?$/) > 0.6) return "prometheus";
  if (share(/^(put )?\S+ \d{9,13}(\.\d+)? -?[\d.eE+-]+( [^\s=]+=\S+)+\s*$/) > 0.6) return "opentsdb";
  if (share(/^[^\s,]+(,[^\s=]+=[^\s]+)* [^\s=]+=\S/) > 0.6) return "influx";
  return sheetOf(lines) ? "csv" : null;
}

/** Unit of the times of Influx lines, by the size of the first. */
export function influxPrecision(lines: string[]): "s" | "ms" | "us" | "ns" {
  const digits = lines.map((line) => / (\d{9,19})\s*$/.exec(line)?.[1]?.length).find(Boolean) ?? 19;
  return digits <= 11 ? "s" : digits <= 14 ? "ms" : digits <= 17 ? "us" : "ns";
}

export interface Plan {
  format: Format;
  precision: "s" | "ms" | "us" | "ns";
  /** The columns of what is a table. */
  sheet: Sheet | null;
  measurement: string;
  database: string;
}

export interface Progress {
  bytes: number;
  rows: number;
  samples: number;
  refused: number;
  /** Rows of a table that have no value, of which there is nothing to store. */
  empty: number;
  faults: Imported["faults"];
  /** Of a dry run: metrics with kinds and samples, labels, and times. */
  metrics: Map<string, { kind: string; samples: number }>;
  labels: Set<string>;
  start_ms: number | null;
  end_ms: number | null;
}

const begun = (): Progress => ({
  bytes: 0, rows: 0, samples: 0, refused: 0, empty: 0, faults: [], metrics: new Map(), labels: new Set(), start_ms: null, end_ms: null,
});

function add(all: Progress, piece: Imported) {
  all.rows += piece.rows;
  all.samples += piece.samples;
  all.refused += piece.refused;
  all.faults.push(...piece.faults.slice(0, FAULTS_MAX - all.faults.length));
  for (const { name, kind, samples } of piece.found?.metrics ?? []) {
    const known = all.metrics.get(name);
    all.metrics.set(name, { kind: known && known.kind !== kind ? "mixed" : kind, samples: (known?.samples ?? 0) + samples });
  }
  for (const label of piece.found?.labels ?? []) all.labels.add(label);
  const { start_ms: start = null, end_ms: end = null } = piece.found ?? {};
  if (start !== null) all.start_ms = Math.min(all.start_ms ?? start, start);
  if (end !== null) all.end_ms = Math.max(all.end_ms ?? end, end);
}

/** The text of a piece that begins with a line. */
function textOf(bytes: Uint8Array, line: number): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`Line ${line + Math.max(0, lineNotUtf8(bytes))} is no UTF-8: save the file as UTF-8, or correct that line. Nothing of this line and those behind it is read.`);
  }
}

/** A piece of a file as it is sent, and what of it is not. */
interface Piece {
  sent: string;
  /** Of a table its rows, each where its first line stands. */
  rows: (string | null)[];
  /** Rows of which no line could be made. */
  wrong: Imported["faults"];
  empty: number;
  lines: number;
  /** What belongs to the next piece. */
  rest: string;
}

/** The rows of a piece of a table as lines, each in the place of its first line. */
export function linesOf(text: string, sheet: Sheet, measurement: string, firstLine: number): Piece {
  const { rows, rest } = rowsOf(text, sheet.separator, firstLine);
  let empty = 0;
  const wrong: Imported["faults"] = [];
  const made = rows.map((row, at) => {
    // The header, and what stands before it, are no rows.
    if (row === null || firstLine + at <= sheet.header) return "";
    const one = madeOf(row, sheet, measurement);
    if (one.wrong) wrong.push({ line: firstLine + at, ...one.wrong, text: (one.wrong.text ?? row).slice(0, FAULT_CHARS_MAX) });
    else if (!one.line && row.trim()) empty += 1;
    return one.line;
  });
  // What stands behind the last line break is no line, where it is empty.
  return { sent: made.join("\n"), rows, wrong, empty, lines: rows.length - (!rest && text.endsWith("\n") ? 1 : 0), rest };
}

/** Sends a file piece by piece, cut at the ends of lines, and tells how far it is. */
export async function bringFile(file: File, plan: Plan, isDry: boolean, signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<Progress> {
  const all = begun();
  const { sheet } = plan;
  const format = sheet ? (sheet.isExact ? "exact" : "influx") : plan.format;
  // All pieces are one job, which Operations shows and may end.
  let job: number | undefined;
  let rest = new Uint8Array(0);
  let line = 1;
  for (let at = 0; at < file.size || rest.length;) {
    const read = new Uint8Array(await file.slice(at, at + PIECE_BYTES).arrayBuffer());
    at += read.length;
    const bytes = new Uint8Array(rest.length + read.length);
    bytes.set(rest);
    bytes.set(read, rest.length);
    const cut = at < file.size ? bytes.lastIndexOf(10) + 1 : bytes.length;
    rest = bytes.slice(cut);
    if (!cut) continue;
    const text = textOf(bytes.subarray(0, cut), line);
    const piece: Piece = sheet ? linesOf(text, sheet, plan.measurement, line) : { sent: text, rows: [], wrong: [], empty: 0, lines: text.split("\n").length - (text.endsWith("\n") ? 1 : 0), rest: "" };
    // A row that goes on behind the piece is read with the next one.
    if (piece.rest) {
      if (at >= file.size) throw unclosed(line + piece.lines);
      const open = new TextEncoder().encode(piece.rest);
      const more = new Uint8Array(open.length + rest.length);
      more.set(open);
      more.set(rest, open.length);
      rest = more;
    }
    const params = {
      format, first_line: line, db: plan.database, ...(sheet || format === "influx" ? { precision: sheet ? "ns" : plan.precision } : {}), ...(isDry ? { dry_run: "true" } : {}),
      file: file.name, total_bytes: file.size, done_bytes: Math.min(at, file.size) - rest.length, ...(job === undefined ? {} : { job }),
    };
    let brought: Imported;
    try {
      brought = await bring(params, piece.sent, signal);
    } catch (error) {
      // Who may not see jobs has ended it all the same: no piece follows.
      if (signal.aborted && job !== undefined) await cancelJob(job).catch(() => undefined);
      throw error;
    }
    job = brought.job;
    // Of a table the row is told as it stands in the file, and not what was made of it.
    const told = brought.faults.map((fault) => ({ ...fault, text: piece.rows[fault.line - line]?.slice(0, FAULT_CHARS_MAX) ?? fault.text }));
    const faults = [...told, ...piece.wrong].sort((a, b) => a.line - b.line);
    add(all, { ...brought, faults, refused: brought.refused + piece.wrong.length });
    all.empty += piece.empty;
    line += piece.lines;
    all.bytes = Math.min(at, file.size);
    onProgress({ ...all });
  }
  return all;
}
