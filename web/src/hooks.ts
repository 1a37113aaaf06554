// Asking again and again, and what a page remembers.

import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "./api";

/** How soon somebody is asked again who was not there. */
const SILENCE_MS = 2000;

export interface Asked<T> {
  answer: T | null;
  error: Error | null;
  isLoading: boolean;
}

/**
 * Asks now, when `key` changes, and every so many milliseconds while the page is looked at. An
 * answer stays until the next one is there, also where that fails. A server that is not there is
 * asked until it is.
 */
export function useAsked<T>(key: string, ask: (signal: AbortSignal) => Promise<T>, everyMs = 0): Asked<T> & { again: () => void; stop: () => void } {
  const [asked, setAsked] = useState<Asked<T>>({ answer: null, error: null, isLoading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  const lastKey = useRef(key);
  const running = useRef<AbortController | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    running.current = abort;
    let timer = 0;
    const isOther = lastKey.current !== key;
    lastKey.current = key;
    let isSilent = false;
    const go = async () => {
      if (document.hidden && (everyMs || isSilent)) {
        timer = window.setTimeout(go, everyMs || SILENCE_MS);
        return;
      }
      setAsked((before) => ({ ...before, isLoading: true }));
      try {
        const answer = await latest.current(abort.signal);
        isSilent = false;
        if (!abort.signal.aborted) setAsked({ answer, error: null, isLoading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        isSilent = error instanceof Refusal && error.isSilence;
        setAsked((before) => ({ answer: isOther ? null : before.answer, error: error as Error, isLoading: false }));
      }
      if ((everyMs || isSilent) && !abort.signal.aborted) timer = window.setTimeout(go, everyMs || SILENCE_MS);
    };
    go();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, turn, everyMs]);
  const stop = () => {
    running.current?.abort();
    setAsked((before) => ({ ...before, error: new Error("Ended before it was answered; the server has stopped, too. Run asks again."), isLoading: false }));
  };
  return { ...asked, again: () => setTurn((before) => before + 1), stop };
}

/** Whether something has lasted for so long that somebody may want to end it. */
export function useLong(isBusy: boolean, afterMs = 600): boolean {
  const [isLong, setIsLong] = useState(false);
  useEffect(() => {
    if (!isBusy) return setIsLong(false);
    const timer = setTimeout(() => setIsLong(true), afterMs);
    return () => clearTimeout(timer);
  }, [isBusy, afterMs]);
  return isLong;
}

export type Theme = "auto" | "light" | "dark";

/** The colours that somebody chose, kept by the browser. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const kept = () => {
    try {
      return (localStorage.getItem("foliot.theme") as Theme | null) ?? "auto";
    } catch {
      return "auto";
    }
  };
  const [theme, setTheme] = useState<Theme>(kept);
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    try {
      localStorage.setItem("foliot.theme", theme);
    } catch {
      // A browser that keeps nothing shows its own colours next time.
    }
    window.dispatchEvent(new Event("foliot-theme"));
  }, [theme]);
  return [theme, setTheme];
}

/** Rows that come at a time: they are put on the page within a frame or two. */
const ROWS_GROWN = 200;

/** How many rows of a long table are on the page: what fills what is seen of it, and the others bit by bit, so that nothing waits for them. */
export function useGrowing(first: number, most: number): number {
  const [count, setCount] = useState(first);
  useEffect(() => {
    if (count >= most) return undefined;
    const later = setTimeout(() => setCount(Math.min(most, count + ROWS_GROWN)), 100);
    return () => clearTimeout(later);
  }, [count, most]);
  return count;
}

/** Brings what is chosen of a row that scrolls into sight, when the choice changes. */
export function useInSight(selector: string, chosen: string) {
  useEffect(() => document.querySelector(selector)?.scrollIntoView({ block: "nearest", inline: "center" }), [chosen]);
}
