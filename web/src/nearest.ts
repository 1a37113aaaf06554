// Names that one which is none may have meant.

/** How many letters must be added, left out or changed to make one text another. */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= b.length; at += 1) {
      next.push(Math.min(before[at]! + 1, next[at - 1]! + 1, before[at - 1]! + Number(a[row - 1] !== b[at - 1])));
    }
    before = next;
  }
  return before[b.length]!;
}

/** Letters that a name has at most which is not looked for within others. */
const HELD_MIN = 2;

/** Those of all names that are nearest to one, nearest first; none that has more of it wrong than right. */
export function nearest(name: string, all: string[], most: number): string[] {
  const low = name.toLowerCase();
  const ranked = all.map((other) => {
    const otherLow = other.toLowerCase();
    // Two letters stand in too many names.
    const holds = low.length > HELD_MIN && (otherLow.includes(low) || (otherLow !== "" && low.includes(otherLow)));
    return { other, apart: holds ? Math.abs(otherLow.length - low.length) / 4 : distance(low, otherLow), holds };
  });
  const near = ranked.filter(({ apart, holds }) => holds || apart <= Math.max(1, low.length / 3));
  return near.sort((a, b) => a.apart - b.apart || (a.other < b.other ? -1 : 1)).slice(0, most).map(({ other }) => other);
}

/** Parts of a name that are looked for. */
const PARTS_MAX = 3;

/** The longest parts of a name, longest first, as they stand between points and underscores: one that is spelled right finds those that are near. */
export const partsOf = (name: string): string[] =>
  [...new Set(name.split(/[^A-Za-z0-9]+/).filter((part) => part.length > HELD_MIN))].sort((a, b) => b.length - a.length).slice(0, PARTS_MAX);

/** Whether a name has some letters in their order, with others between; both in lower case. */
export function hasLetters(name: string, letters: string): boolean {
  let at = -1;
  return [...letters].every((letter) => (at = name.indexOf(letter, at + 1)) >= 0);
}
