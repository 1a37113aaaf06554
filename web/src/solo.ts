// One of several things shown alone: what was hidden before is hidden again when that ends, and no more.

export interface Hiding<K> {
  hidden: ReadonlySet<K>;
  /** What was hidden before one was shown alone; nothing where none is. */
  before: ReadonlySet<K> | null;
}

export const nothingHidden = <K>(): Hiding<K> => ({ hidden: new Set(), before: null });

/** One of all shown alone; where it is so already, all that was shown before. */
export function soloed<K>({ hidden, before }: Hiding<K>, all: K[], one: K): Hiding<K> {
  const shown = all.filter((other) => !hidden.has(other));
  if (shown.length === 1 && shown[0] === one) return { hidden: before ?? new Set(), before: null };
  // From one alone to the next it is still what was shown before the first.
  return { hidden: new Set(all.filter((other) => other !== one)), before: before && shown.length <= 1 ? before : hidden };
}

/** One of them hidden, or shown again. */
export function toggled<K>({ hidden, before }: Hiding<K>, one: K): Hiding<K> {
  const next = new Set(hidden);
  if (!next.delete(one)) next.add(one);
  return { hidden: next, before };
}
