// Asking again and again, and what a page remembers.

import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "./api";

/** How soon somebody is asked again who could not answer, and how much later at most after failing again and again. */
const AGAIN_MS = 2000;
const AGAIN_MAX_MS = 16_000;

export interface Asked<T> {
  answer: T | null;
  error: Error | null;
  isLoading: boolean;
}

/**
 * Asks now, when `key` changes, and every so many milliseconds while the page is looked at. An
 * answer stays until the next one is there, also where that fails. A server that is not there, or
 * cannot answer now, is asked until it does.
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
    let failures = 0;
    const pauseMs = () => Math.max(everyMs, failures ? Math.min(AGAIN_MAX_MS, AGAIN_MS * 2 ** (failures - 1)) : 0);
    const go = async () => {
      if (document.hidden && pauseMs()) {
        timer = window.setTimeout(go, pauseMs());
        return;
      }
      setAsked((before) => ({ ...before, isLoading: true }));
      try {
        const answer = await latest.current(abort.signal);
        failures = 0;
        if (!abort.signal.aborted) setAsked({ answer, error: null, isLoading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        failures = error instanceof Refusal && error.mayPass ? failures + 1 : 0;
        setAsked((before) => ({ answer: isOther ? null : before.answer, error: error as Error, isLoading: false }));
      }
      if (pauseMs() && !abort.signal.aborted) timer = window.setTimeout(go, pauseMs());
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

/** Says that something is kept anew. */
const KEPT = "foliot-kept";

/** What somebody chose, kept by the browser under a name; one that keeps nothing begins anew next time. */
function useKept<T extends string>(name: string, usual: T): [T, (value: T) => void] {
  const read = () => {
    try {
      return (localStorage.getItem(name) as T | null) ?? usual;
    } catch {
      return usual;
    }
  };
  const [value, setValue] = useState<T>(read);
  // Others on the page that show the same follow.
  useEffect(() => {
    const follow = (event: Event) => { if ((event as CustomEvent<string>).detail === name) setValue(read()); };
    window.addEventListener(KEPT, follow);
    return () => window.removeEventListener(KEPT, follow);
  }, [name]);
  const keep = (next: T) => {
    setValue(next);
    try {
      localStorage.setItem(name, next);
      window.dispatchEvent(new CustomEvent(KEPT, { detail: name }));
    } catch {
      // It is chosen for now.
    }
  };
  return [value, keep];
}

/** The colours that somebody chose. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useKept<Theme>("foliot.theme", "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    window.dispatchEvent(new Event("foliot-theme"));
  }, [theme]);
  return [theme, setTheme];
}

/** Whether this server's own metrics are left out of lists. */
export function useHidesOwn(): [boolean, (hides: boolean) => void] {
  const [kept, keep] = useKept<"yes" | "no">("foliot.hides-own", "yes");
  return [kept === "yes", (hides) => keep(hides ? "yes" : "no")];
}

/** How high somebody has made the editor of SQL; 0 for as high as its text. */
export function useEditorHeight(): [number, (px: number) => void] {
  const [kept, keep] = useKept<string>("foliot.editor-height", "0");
  const px = Number(kept);
  return [Number.isFinite(px) && px > 0 ? px : 0, (next) => keep(String(Math.round(next)))];
}

/** Whether the tables stand beside the editor of SQL and InfluxQL. */
export function useShowsTables(): [boolean, (shows: boolean) => void] {
  const [kept, keep] = useKept<"yes" | "no">("foliot.tables", "yes");
  return [kept === "yes", (shows) => keep(shows ? "yes" : "no")];
}

/** Brings what is chosen of a row that scrolls into sight, when the choice changes. */
export function useInSight(selector: string, chosen: string) {
  useEffect(() => document.querySelector(selector)?.scrollIntoView({ block: "nearest", inline: "center" }), [chosen]);
}

/** Something that outlives the component that uses it: work that goes on when its page is left is found again there. */
export function held<T>(initial: T): () => [T, (next: T | ((before: T) => T)) => void] {
  let value = initial;
  const users = new Set<() => void>();
  const set = (next: T | ((before: T) => T)) => {
    value = typeof next === "function" ? (next as (before: T) => T)(value) : next;
    users.forEach((draw) => draw());
  };
  return () => {
    const [, setTurn] = useState(0);
    useEffect(() => {
      const draw = () => setTurn((turn) => turn + 1);
      users.add(draw);
      return () => { users.delete(draw); };
    }, []);
    return [value, set];
  };
}

/** Carries something out: `onDone` is called where it went well, and else the error is kept until something does. */
export function useGuarded(onDone: () => void): { error: Error | null; guarded: (work: () => Promise<unknown>) => Promise<void> } {
  const [error, setError] = useState<Error | null>(null);
  const guarded = async (work: () => Promise<unknown>) => {
    try {
      await work();
      setError(null);
      onDone();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return { error, guarded };
}
