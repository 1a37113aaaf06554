// Parquet: files of it as text that is brought in, and answers as such files. It is fetched when somebody needs it.

import { gunzipSync } from "fflate";
import { decompress } from "fzstd";
import { type Compressors, type DecodedArray, type FileMetaData, type SchemaElement, type SchemaTree, parquetMetadataAsync, parquetScan, parquetSchema } from "hyparquet";
import { ByteWriter, parquetWrite } from "hyparquet-writer";
import type { FileColumn } from "./download";
import { madeCell } from "./series";
import { pause } from "./slices";
import type { Kind, Typed } from "./typed";

/** Most bytes of text that a file may become here, and that a group of its rows may unpack to. */
const TEXT_BYTES_MAX = 1 << 30;
const GROUP_BYTES_MAX = 512 << 20;

/** Rows of which text is made at a time. */
const ROWS_AT_A_TIME = 2000;

const BY_HAND = "bring it in with foliot import parquet on the command line";

const COMPRESSORS: Compressors = { GZIP: (bytes) => gunzipSync(bytes), ZSTD: (bytes, length) => decompress(bytes, new Uint8Array(length)) };

const NANOS_A_DAY = 86_400_000_000_000n;

/** Times are nanoseconds of UTC. */
const PARSERS = {
  timestampFromMilliseconds: (millis: bigint) => BigInt(millis) * 1_000_000n,
  timestampFromMicroseconds: (micros: bigint) => BigInt(micros) * 1000n,
  timestampFromNanoseconds: (nanos: bigint) => nanos,
  dateFromDays: (days: number) => BigInt(days) * NANOS_A_DAY,
  jsonFromBytes: (bytes: Uint8Array) => bytes && new TextDecoder().decode(bytes),
};

/** A column that is read: at the top, or within a group. */
interface Leaf {
  top: string;
  within: string | null;
  /** What it is called: those of the group `labels` by their own names. */
  name: string;
  kind: Kind;
}

/** What a column holds; nothing for what is no plain value. */
function kindOf({ type, converted_type: converted, logical_type: logical, repetition_type: repetition }: SchemaElement): Kind | null {
  if (repetition === "REPEATED" || !type) return null;
  if (type === "INT96" || converted === "DATE" || logical?.type === "TIMESTAMP" || converted === "TIMESTAMP_MILLIS" || converted === "TIMESTAMP_MICROS") return "time";
  if (converted === "DECIMAL" || logical?.type === "FLOAT16") return "value";
  if (converted === "UINT_64" || (logical?.type === "INTEGER" && logical.bitWidth === 64 && !logical.isSigned)) return "unsigned";
  if (type === "INT32" || type === "INT64") return "integer";
  if (type === "FIXED_LEN_BYTE_ARRAY") return logical?.type === "UUID" ? "text" : null;
  if (type === "BYTE_ARRAY") return ["BSON", "INTERVAL"].includes(converted ?? "") || ["GEOMETRY", "GEOGRAPHY", "VARIANT"].includes(logical?.type ?? "") ? null : "text";
  return "value";
}

/** Columns that are read, and the names of those that are left out. */
function leavesOf({ children }: SchemaTree): { leaves: Leaf[]; left: string[] } {
  const leaves: Leaf[] = [];
  const left: string[] = [];
  for (const { element, children: within } of children) {
    const isGroup = within.length > 0 && element.repetition_type !== "REPEATED" && !element.converted_type && !element.logical_type;
    const isLabel = isGroup && element.name === "labels";
    for (const one of isGroup ? within.map((child) => ({ of: child.element, within: child.element.name })) : [{ of: element, within: null }]) {
      const kind = kindOf(one.of);
      const name = one.within === null || isLabel ? one.of.name : `${element.name}.${one.within}`;
      if (kind) leaves.push({ top: element.name, within: one.within, name, kind: isLabel ? "label" : kind });
      else left.push(name);
    }
  }
  return { leaves, left };
}

/** Columns of values as answers and `foliot export` have them: each sample has one. */
const SAVED = new Map<string, Kind>([["value_float", "value"], ["value_integer", "integer"], ["value_unsigned", "unsigned"], ["value_boolean", "value"], ["value_text", "text"]]);

/** Whether a file tells samples as they were stored: it has these columns and no others. */
function isSaved(leaves: Leaf[]): boolean {
  const others = leaves.filter(({ kind }) => kind !== "label").map(({ top }) => top);
  return ["time", "measurement", "field"].every((name) => others.includes(name)) && others.every((name) => SAVED.has(name) || ["time", "measurement", "field"].includes(name));
}

type Cell = unknown;

type Reader = (row: number) => Cell;

/** Why a file cannot be read, and what to do, in words that stand behind its name. */
class Unreadable extends Error {}

/** Letters at both ends of a file. */
const MARK = "PAR1";

/** Bytes behind the footer: its length, and the mark. */
const TAIL_BYTES = 8;

const ANEW = "copy it again from where it came, or write it anew";

/** What is wrong with the end of a file, where it says what is in it; nothing where that is there. */
async function faultOfEnd(file: File): Promise<string> {
  const tail = await file.slice(-TAIL_BYTES).arrayBuffer();
  if (tail.byteLength < TAIL_BYTES || new TextDecoder().decode(tail.slice(4)) !== MARK) return `its end is missing, where such a file says what is in it; it was not written or copied to the end: ${ANEW}`;
  const footer = new DataView(tail).getUint32(0, true);
  return footer + TAIL_BYTES + MARK.length > file.size ? `bytes of it are missing: at its end it says that ${footer} bytes stand before it, and the whole file has ${file.size}: ${ANEW}` : "";
}

async function metadataOf(file: File): Promise<FileMetaData> {
  const fault = await faultOfEnd(file);
  if (fault) throw new Unreadable(fault);
  const metadata = await parquetMetadataAsync({ byteLength: file.size, slice: (start, end) => file.slice(start, end).arrayBuffer() }, { parsers: PARSERS, geoparquet: false }).catch(() => {
    throw new Unreadable(`its footer is damaged, which says what is in it: ${ANEW}`);
  });
  for (const { columns, total_byte_size: bytes } of metadata.row_groups) {
    const codec = columns.map(({ meta_data: meta }) => meta?.codec).find((codec) => codec && !["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"].includes(codec));
    if (codec) throw new Unreadable(`its columns are packed by ${codec}, which is not known here: write it with zstd, snappy or gzip`);
    if (Number(bytes) > GROUP_BYTES_MAX) throw new Unreadable(`a group of its rows has ${Number(bytes) >> 20} MiB, and ${GROUP_BYTES_MAX >> 20} are held here: ${BY_HAND}`);
  }
  return metadata;
}

/** Why a column cannot be read. */
function unreadableColumn(name: string, [begin, end]: [number, number], error: Error): Unreadable {
  const encoding = /unsupported encoding: (\w+)/.exec(error.message)?.[1];
  if (encoding) return new Unreadable(`its column “${name}” is encoded as ${encoding}, which is not known here: write it with another encoding, or ${BY_HAND}`);
  return new Unreadable(`its column “${name}” is damaged in rows ${begin + 1} to ${end}: ${ANEW}, or leave that column out`);
}

/** The rows of a file, made text. Errors say what of it cannot be read. */
export async function unparquet(file: File, bytesMax = TEXT_BYTES_MAX): Promise<Typed> {
  try {
    return await textOfFile(file, bytesMax);
  } catch (error) {
    // What the reader says of bytes that it does not understand helps nobody who has but the file.
    const why = error instanceof Unreadable ? error.message : `it is damaged: ${ANEW}`;
    throw new Error(`This file of Parquet cannot be read: ${why}.`);
  }
}

async function textOfFile(file: File, bytesMax: number): Promise<Typed> {
  const metadata = await metadataOf(file);
  const { leaves, left } = leavesOf(parquetSchema(metadata));
  if (!leaves.length) throw new Unreadable("it has no column of plain values: numbers, texts, times, true or false");
  const isExact = isSaved(leaves);
  // Elsewhere a number that is none stands where there is no value.
  const textOf = (value: Cell) => (Number.isNaN(value) && !isExact ? "" : madeCell(value));
  const source = { byteLength: file.size, slice: (start: number, end?: number) => file.slice(start, end).arrayBuffer() };
  const pieces = [new Blob([`${leaves.map(({ name }) => madeCell(name)).join(",")}\n`])];
  let bytes = 0;
  let begin = 0;
  for (const { num_rows: count } of metadata.row_groups) {
    const end = begin + Number(count);
    // Each group has a reader of its own, which remembers the columns that it has read.
    const scan = await parquetScan({ file: source, metadata, compressors: COMPRESSORS, parsers: PARSERS, geoparquet: false, useOffsetIndex: false });
    const columns = new Map<string, DecodedArray>();
    for (const { top } of leaves) {
      if (columns.has(top) || begin === end) continue;
      columns.set(top, await scan.readColumn({ column: top, rowStart: begin, rowEnd: end }).catch((error: Error) => { throw unreadableColumn(top, [begin, end], error); }));
      await pause();
    }
    const read = leaves.map(({ top, within }): Reader => {
      const column = columns.get(top) ?? [];
      return within === null ? (row) => column[row] : (row) => (column[row] as Record<string, Cell> | null)?.[within];
    });
    for (let from = 0; from < end - begin; from += ROWS_AT_A_TIME) {
      const rows = Array.from({ length: Math.min(ROWS_AT_A_TIME, end - begin - from) }, (_, at) => from + at);
      const text = rows.map((row) => `${read.map((value) => textOf(value(row))).join(",")}\n`).join("");
      const piece = new Blob([text]);
      bytes += piece.size;
      if (bytes > bytesMax) throw new Unreadable(`it is more than ${bytesMax >> 20} MiB as text: ${BY_HAND}`);
      pieces.push(piece);
      await pause();
    }
    begin = end;
  }
  if (!begin) throw new Unreadable("it has no rows");
  const times = leaves.flatMap(({ kind }, at) => (kind === "time" ? [at] : []));
  const time = times.find((at) => /^time$/i.test(leaves[at]!.name)) ?? times[0] ?? -1;
  return { file: new File(pieces, file.name.replace(/\.parquet$/i, "")), kinds: leaves.map(({ kind, top }) => (isExact && kind !== "label" ? SAVED.get(top) ?? kind : kind)), time, left, isExact };
}

const TYPES = {
  time: { type: "INT64", logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "NANOS" } },
  float: { type: "DOUBLE" },
  integer: { type: "INT64" },
  unsigned: { type: "INT64", converted_type: "UINT_64" },
  boolean: { type: "BOOLEAN" },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
} as const;

/** Columns as a file, packed by snappy. */
export function parquetOf(columns: FileColumn[]): ArrayBuffer {
  const writer = new ByteWriter();
  parquetWrite({
    writer,
    columnData: columns.map(({ name, values }) => ({ name, data: values })),
    schema: [
      { name: "root", num_children: columns.length },
      ...columns.flatMap((column): SchemaElement[] => (column.kind === "group"
        ? [{ name: column.name, repetition_type: "OPTIONAL", num_children: column.within.length }, ...column.within.map((name): SchemaElement => ({ name, repetition_type: "OPTIONAL", ...TYPES.text }))]
        : [{ name: column.name, repetition_type: "OPTIONAL", ...TYPES[column.kind] }])),
    ],
    createdBy: "foliot",
  });
  return writer.getBuffer();
}
