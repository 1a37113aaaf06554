// The database that is looked into. The address names it, so that a link leads others to the same. For
// addresses that name nothing stored each tab remembers its own, and the browser the last one for new tabs.

const KEY = "foliot.database";

/** Parts of an address that name what is stored: one that has them, and no database, means the server's own. */
const STORED = ["m", "i", "p", "s", "start", "metric", "label", "name"];

let current = "";

/** Whether it is what was remembered, and named by no address. */
let isRemembered = false;

/** Its name; "" where it is the server's own. */
export const database = () => current;

/** The database that an address means. */
export const meantBy = (params: URLSearchParams, remembered: string) =>
  params.get("db") ?? (STORED.some((name) => params.has(name)) ? "" : remembered);

/** Whether an address leaves it to others which database is meant. */
export const leavesOpen = (params: URLSearchParams) => !params.has("db") && !STORED.some((name) => params.has(name));

/** Whether it is only remembered, and not among these any more. What somebody has said stays. */
export const isGone = (names: string[]) => isRemembered && current !== "" && !names.includes(current);

function remembered(): string {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? "";
  } catch {
    // A browser that keeps nothing knows the one that was looked into last.
    return current;
  }
}

/** Goes into the database that an address means, and remembers it. */
export function enter(params: URLSearchParams) {
  const before = current;
  current = meantBy(params, remembered());
  // An address gets its name as soon as it is known, and comes here again.
  isRemembered = leavesOpen(params) || (isRemembered && current === before);
  try {
    sessionStorage.setItem(KEY, current);
    localStorage.setItem(KEY, current);
  } catch {
    // It is looked into for now.
  }
}

/** An address of the page with the database that is looked into, where it names none. */
export function here(address: string): string {
  const [path = "", query = ""] = address.split(/\?(.*)/s);
  const params = new URLSearchParams(query);
  if (!current || params.has("db")) return address;
  params.set("db", current);
  return `${path}?${params}`;
}

/** The address of the same page in another database, without what only the former has. */
export function addressIn(name: string, page: string, params: URLSearchParams): string {
  const next = new URLSearchParams(params);
  for (const stored of ["metric", "label", "value", "name", "db"]) next.delete(stored);
  // Said where it is none, too: else what is remembered is meant.
  next.set("db", name);
  return `#/${page}?${next}`;
}
