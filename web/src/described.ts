// What metrics are by those who describe them, as far as the page has heard.

import type { Help } from "./api";
import { isCounterName } from "./series";

const kinds = new Map<string, string>();

const keyOf = (database: string, metric: string) => JSON.stringify([database, metric]);

/** Remembers what was told of metrics of a database. */
export function hearKinds(database: string, help: Record<string, Help>): void {
  for (const [metric, { kind }] of Object.entries(help)) kinds.set(keyOf(database, metric), kind);
}

/** What a metric is, if somebody said. */
export const describedKind = (database: string, metric: string): string | undefined => kinds.get(keyOf(database, metric));

/** Whether a metric is a counter by what is said of it, or else by its name. */
export function isCalledCounter(database: string, metric: string): boolean {
  const kind = describedKind(database, metric);
  return kind ? kind === "counter" : isCounterName(metric);
}
