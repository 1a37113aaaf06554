// Keys of the page, which are letters wherever somebody types.

import { useEffect, useRef } from "preact/hooks";

/** Whether a key is a letter of what somebody types; an editor's own field stands in its shadow. */
export const isTyped = (event: KeyboardEvent) =>
  event.composedPath().some((at) => at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)));

/** Whether a key leads to what was asked before (1), or back from there (-1). */
export const stepOf = ({ key, ctrlKey, altKey, metaKey, shiftKey }: KeyboardEvent): 1 | -1 | null =>
  (!ctrlKey || altKey || metaKey || shiftKey ? null : key === "ArrowUp" ? 1 : key === "ArrowDown" ? -1 : null);

/** Hears keys while what uses it is on the page. */
export function useKeys(onKey: (event: KeyboardEvent) => void) {
  const latest = useRef(onKey);
  latest.current = onKey;
  useEffect(() => {
    const hear = (event: KeyboardEvent) => latest.current(event);
    window.addEventListener("keydown", hear);
    return () => window.removeEventListener("keydown", hear);
  }, []);
}
