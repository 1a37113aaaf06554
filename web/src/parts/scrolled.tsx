// A table that scrolls: rows in sight are on the page, and its scrollbar is as long as all of them.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Heights, type InSight, inSight, scrolledTo } from "../scrolled";

/** How high a box is taken to be before it is on the page: as high as the highest. */
const BOX_PX = 640;

interface Scrolling extends InSight {
  box: RefObject<HTMLDivElement | null>;
  body: RefObject<HTMLTableSectionElement | null>;
  onScroll: () => void;
  /** Scrolls as far as a row needs to be in sight, under a head that stays. */
  show: (row: number) => void;
  /** The first row that is wholly in sight. */
  first: () => number;
}

/** Keeps the rows of a table on the page that are in sight of its box. */
export function useScrolled(rows: unknown, count: number): Scrolling {
  const box = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const [, draw] = useState(0);
  const heights = useRef({ of: rows, all: new Heights() });
  if (heights.current.of !== rows) heights.current = { of: rows, all: new Heights(heights.current.all.usual) };
  const { all } = heights.current;
  const now = () => inSight(all, count, box.current?.scrollTop ?? 0, box.current?.clientHeight || BOX_PX);
  const sight = now();
  const drawn = useRef(sight);
  drawn.current = sight;
  const { from, to } = sight;
  // What is on the page tells how high it is.
  useLayoutEffect(() => {
    let isNews = false;
    let at = from;
    for (const row of body.current?.rows ?? []) {
      if (row.classList.contains("room")) continue;
      isNews = all.set(at, row.getBoundingClientRect().height) || isNews;
      at += 1;
    }
    if (isNews && count > to - from) draw((turn) => turn + 1);
  }, [from, to, rows]);
  const onScroll = () => {
    const next = now();
    if (next.from !== drawn.current.from || next.to !== drawn.current.to) draw((turn) => turn + 1);
  };
  const headPx = () => body.current?.offsetTop ?? 0;
  const show = (row: number) => {
    if (box.current) box.current.scrollTop = scrolledTo(all, row, box.current.scrollTop, box.current.clientHeight, headPx());
  };
  const first = () => all.at(box.current?.scrollTop ?? 0, count);
  return { ...sight, box, body, onScroll, show, first };
}

/** Room for rows that are not on the page. */
export const Room = ({ px }: { px: number }) => (px > 0 ? <tr class="room" aria-hidden="true" ref={(row) => row?.style.setProperty("height", `${px}px`)}><td /></tr> : null);
