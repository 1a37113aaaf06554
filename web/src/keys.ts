// Keys of the page, which are letters wherever somebody types.

import { useEffect, useRef } from "preact/hooks";

/** Whether a key is a letter of what somebody types; an editor's own field stands in its shadow. */
export const isTyped = (event: KeyboardEvent) =>
  event.composedPath().some((at) => at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)));

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
