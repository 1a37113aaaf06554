// Whether an address of Explore was opened as a link. What is typed and not asked belongs to the address at which it was
// typed: it stays when the page itself leads on, on the way back, and when the page is loaded anew.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { forgetDrafts } from "./drafts";
import { read } from "./state";

let isOwn = false;

/** Leads to another address, at which the rows are the same ones. */
export function lead(address: string) {
  if (address === location.hash) return;
  isOwn = true;
  location.hash = address;
}

/** What the browser keeps with an address that was come to before, also when the page is loaded anew. */
const KNOWN = { isKnown: true };

/** Whether the address is a link: the browser has not come to it before, and the page has not led to it. */
function isLink(): boolean {
  const isKnown = (history.state as typeof KNOWN | null)?.isKnown === true;
  const isFirst = !isKnown && !isOwn;
  isOwn = false;
  if (!isKnown) history.replaceState(KNOWN, "");
  return isFirst;
}

/** How many links were opened here. With each of them that asks something, what was typed before is forgotten. */
export function useOpened(params: URLSearchParams): number {
  const [again, setAgain] = useState(0);
  const links = useRef(0);
  const shown = useRef("");
  useMemo(() => {
    const isOpened = isLink() && read(params).questions.length > 0;
    if (isOpened) {
      forgetDrafts();
      links.current += 1;
    }
    shown.current = location.hash;
  }, [params]);
  useEffect(() => {
    // Of a link to the address that is shown already the browser tells no more than this.
    const hear = () => {
      if (location.hash !== shown.current || !location.hash.includes("=")) return;
      forgetDrafts();
      setAgain((before) => before + 1);
    };
    window.addEventListener("popstate", hear);
    return () => window.removeEventListener("popstate", hear);
  }, []);
  return links.current + again;
}
