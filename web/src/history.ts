// What was asked in this browser, newest first: addresses of Explore.

const KEY = "foliot.history";

/** Addresses that are kept. */
const KEPT_MAX = 50;

/** With one more address in front, and none twice. */
export const remembered = (before: string[], address: string) =>
  [address, ...before.filter((other) => other !== address)].slice(0, KEPT_MAX);

export function kept(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((address) => typeof address === "string" && address.startsWith("#/explore?")) : [];
  } catch {
    return [];
  }
}

export function keep(address: string) {
  try {
    localStorage.setItem(KEY, JSON.stringify(remembered(kept(), address)));
  } catch {
    // A browser that keeps nothing has no history.
  }
}

export function forget() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // It was not kept either.
  }
}

/** Somebody on their way through what was asked: what the list was when they set out, and where they are. */
export interface Walk {
  addresses: string[];
  at: number;
}

/** One step to older (1) or newer (-1) questions from an address; nothing where there are none. */
export function walked(before: Walk | null, address: string, by: 1 | -1, addresses: string[]): Walk | null {
  // Each stop is asked, and so comes to the front of the list: the way goes on by the list as it was.
  const walk = before && before.addresses[before.at] === address ? before : { addresses, at: addresses.indexOf(address) };
  const at = walk.at + by;
  return at >= 0 && at < walk.addresses.length ? { ...walk, at } : null;
}
