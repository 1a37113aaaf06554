// Which offers fit what was typed, and which of them stand first.

import { hasLetters } from "./nearest";
import { isOwn } from "./parts/own";

/** A name as others spell it, who know no points in names. */
const underscored = (name: string) => name.replace(/[^\w:]/g, "_");

/** Offers that hold what was typed; where there are none, those that have its letters in their order. */
export function matching<Of extends { label: string }>(offers: Of[], typed: string): Of[] {
  const low = typed.toLowerCase();
  const whole = offers.filter(({ label }) => [label.toLowerCase(), underscored(label.toLowerCase())].some((text) => text.includes(low)));
  return whole.length ? whole : offers.filter(({ label }) => hasLetters(label.toLowerCase(), low));
}

/** The server finds any part of a name: the name itself comes first, then names that begin so, and then those of which a part does. This server's own are last. */
export function bestFirst<Of extends { label: string }>(offers: Of[], typed: string): Of[] {
  const low = typed.toLowerCase();
  const rank = (label: string) => {
    const bare = label.toLowerCase().replace(/^\{?["']/, "");
    // A function's parentheses, a label's sign, and what ends a name or a range, are not typed with it.
    const name = bare.replace(/["'(){}[\]=:]+$/, "");
    const spellings = [bare, underscored(bare), name, underscored(name)];
    const begins = spellings.includes(low) ? 3 : spellings.some((text) => text.startsWith(low)) ? 2 : Number(new RegExp(`[^a-z0-9]${low.replace(/[^a-z0-9]/g, "\\$&")}`).test(bare));
    return isOwn(bare) && !isOwn(low) ? begins - 4 : begins;
  };
  const ranked = offers.map((offer) => ({ offer, rank: low || isOwn(offer.label) ? rank(offer.label) : 0 }));
  return ranked.sort((a, b) => b.rank - a.rank).map(({ offer }) => offer);
}

/** Lengths of time that many want. */
const COMMON = ["$step", "1m", "5m", "15m", "1h", "1d"];

/** Units, longest first: a length that is said in several has them in this order. */
const UNITS = ["y", "w", "d", "h", "m", "s", "ms"];

/** The same, the likeliest first. */
const LIKELY = ["m", "h", "d", "s", "w", "y", "ms"];

/** Lengths of time that begin as what was typed: a number gets its units. */
export function durations(typed: string): string[] {
  const [, before, number] = /^((?:\d+(?:ms|[ywdhms]))*)(\d*)$/.exec(typed) ?? [];
  if (!typed || before === undefined) return COMMON;
  const last = /[a-z]+$/.exec(before)?.[0];
  if (!number) return [before, ...COMMON.filter((length) => length !== before)];
  const shorter = LIKELY.filter((unit) => last === undefined || UNITS.indexOf(unit) > UNITS.indexOf(last)).map((unit) => typed + unit);
  return [...new Set([...shorter, ...COMMON])];
}
