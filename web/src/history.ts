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
