// What the bytes of a file are: text that can be read as it is, packed text, or what must be made text first.

/** Most bytes that a packed file may unpack to here. */
const UNPACKED_BYTES_MAX = 1 << 30;

const begins = (bytes: Uint8Array, ...magic: number[]) => magic.every((byte, at) => bytes[at] === byte);

const letters = (text: string) => [...text].map((letter) => letter.charCodeAt(0));

const FOREIGN: [number[], string][] = [
  [letters("PK\x03\x04"), "a zip archive, as spreadsheets are, too: unpack it, or save the sheet as CSV"],
  [letters("BZh"), "packed by bzip2: unpack it with bunzip2"],
  [[0xfd, ...letters("7zXZ")], "packed by xz: unpack it with unxz"],
  [[0x28, 0xb5, 0x2f, 0xfd], "packed by zstd: unpack it with unzstd"],
  [letters("SQLite format 3"), "a database of SQLite: write its tables as CSV"],
];

export const isParquet = (bytes: Uint8Array) => begins(bytes, ...letters("PAR1"));

export const isGzip = (bytes: Uint8Array) => begins(bytes, 0x1f, 0x8b);

/** Whether zeros stand at every other place, as in UTF-16 of plain letters. */
function looksLikeUtf16(bytes: Uint8Array): boolean {
  const pairs = Math.min(200, bytes.length >> 1);
  const zeros = [0, 1].map((odd) => Array.from({ length: pairs }, (_, at) => bytes[2 * at + odd]).filter((byte) => byte === 0).length);
  return pairs > 1 && Math.max(...zeros) > 0.6 * pairs && Math.min(...zeros) === 0;
}

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    // The last letter may be cut.
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Why the first bytes of a file are no text that can be read here, and what to do; nothing where they are. */
export function faultOf(bytes: Uint8Array): string {
  const foreign = FOREIGN.find(([magic]) => begins(bytes, ...magic));
  if (foreign) return `This file is ${foreign[1]}.`;
  if (begins(bytes, 0xff, 0xfe) || begins(bytes, 0xfe, 0xff) || looksLikeUtf16(bytes)) return "This file is UTF-16: save it as UTF-8, or convert it with iconv -f UTF-16 -t UTF-8.";
  if (bytes.includes(0)) return "This file holds zero bytes, so it is no text.";
  if (!isUtf8(bytes)) return "This file is not UTF-8; by its look it is Latin-1 or Windows-1252: save it as UTF-8, or convert it with iconv -f WINDOWS-1252 -t UTF-8.";
  return "";
}

/** The first line of text that is no UTF-8, counted from 0; -1 where all are. */
export function lineNotUtf8(bytes: Uint8Array): number {
  let line = 0;
  for (let at = 0; at < bytes.length; line += 1) {
    const end = bytes.indexOf(10, at);
    const until = end < 0 ? bytes.length : end;
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(at, until));
    } catch {
      return line;
    }
    at = until + 1;
  }
  return -1;
}

/** Bytes in which the beginnings of members are looked for at a time. */
const SCANNED_BYTES = 4 << 20;

/** Where members of a packed file may begin: behind the first, what looks like a beginning may be packed text. */
async function beginnings(file: File): Promise<number[]> {
  const found: number[] = [];
  for (let at = 0; at < file.size; at += SCANNED_BYTES) {
    // A beginning may lie across two pieces.
    const bytes = new Uint8Array(await file.slice(at, at + SCANNED_BYTES + 3).arrayBuffer());
    for (let near = bytes.indexOf(0x1f); near >= 0 && near < SCANNED_BYTES; near = bytes.indexOf(0x1f, near + 1)) {
      if (bytes[near + 1] === 0x8b && bytes[near + 2] === 8 && ((bytes[near + 3] ?? 0) & 0xe0) === 0) found.push(at + near);
    }
  }
  return found;
}

/** The bytes of one member, of which the browser reads no more than one; nothing where it is none. */
async function member(packed: Blob, bytesMax: number): Promise<{ pieces: Uint8Array<ArrayBuffer>[]; bytes: number } | null> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  try {
    const reader = packed.stream().pipeThrough(new DecompressionStream("gzip") as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>).getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      pieces.push(read.value);
      bytes += read.value.length;
      if (bytes <= bytesMax) continue;
      await reader.cancel();
      break;
    }
  } catch {
    return null;
  }
  return { pieces, bytes };
}

/** Beginnings that are tried as the end of one member: what only looks like one stands once in 128 MiB. */
const TRIED_MAX = 20;

/** The text of a file that gzip has packed, of one member or several, under its name without the ending. */
export async function unpacked(file: File, bytesMax = UNPACKED_BYTES_MAX): Promise<File> {
  const ends = [...(await beginnings(file)).slice(1), file.size];
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for (let [at, next] = [0, 0]; at < file.size;) {
    let found: Awaited<ReturnType<typeof member>> = null;
    let end = at;
    for (let tried = 0; !found && tried < TRIED_MAX && next < ends.length; tried += 1, next += 1) {
      end = ends[next]!;
      found = await member(file.slice(at, end), bytesMax - bytes);
    }
    if (!found) throw new Error("This file is packed by gzip, and damaged or cut off: gzip -t says where.");
    for (const piece of found.pieces) pieces.push(piece);
    bytes += found.bytes;
    if (bytes > bytesMax) throw new Error(`This file is packed by gzip and unpacks to more than ${bytesMax >> 20} MiB: unpack it with gunzip, and choose what comes of it.`);
    at = end;
  }
  return new File(pieces, file.name.replace(/\.gz$/i, ""));
}
