// Answers of many series: read bit by bit, because one of some megabytes would hold up all else.

import { pause } from "./slices";

/** Letters that are read at a time: some milliseconds of work. */
const SLICE_CHARS = 256 << 10;

const OPENING = '{"series":[';

/** Stands between two series, and in no text of JSON: there a quote has a backslash before it. */
const BETWEEN = '},{"field":"';

/** What a text of JSON says. */
export async function parsed(text: string, signal?: AbortSignal | null, sliceChars = SLICE_CHARS): Promise<unknown> {
  if (text.length <= sliceChars) return JSON.parse(text);
  await pause();
  try {
    return text.startsWith(OPENING) ? await series(text, signal, sliceChars) : JSON.parse(text);
  } catch (error) {
    signal?.throwIfAborted();
    if (!text.startsWith(OPENING)) throw error;
    // Something else looks like what stands between two series.
    return JSON.parse(text);
  }
}

async function series(text: string, signal: AbortSignal | null | undefined, sliceChars: number): Promise<unknown> {
  const before: unknown[] = [];
  let at = OPENING.length;
  for (;;) {
    const cut = text.indexOf(BETWEEN, at + sliceChars);
    if (cut < 0) break;
    for (const one of JSON.parse(`[${text.slice(at, cut + 1)}]`) as unknown[]) before.push(one);
    at = cut + 2;
    await pause();
    signal?.throwIfAborted();
  }
  const rest = JSON.parse(OPENING + text.slice(at)) as { series: unknown[] };
  for (const one of rest.series) before.push(one);
  return { ...rest, series: before };
}
