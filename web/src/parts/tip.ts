// The box beside the crosshair: what the lines have there, those nearest to the mouse if there are many.

import type uPlot from "uplot";

/** What a line has at the crosshair. */
export interface Told {
  title: string;
  /** Spelt only where it is told: of a thousand lines eight are. */
  value: () => string;
  /** The class of its colour. */
  color: string;
  /** How far below the top of the graph it is there, in pixels. */
  y: number;
}

/** Lines that the box has room for. */
const TOLD_MAX = 8;

export interface Listed {
  /** From the top of the graph down. */
  told: Told[];
  nearest: Told | null;
  /** Lines that have a value there, and no place in the box. */
  left: number;
}

/** Which of all lines the box tells, with the mouse at `y`. */
export function listed(all: Told[], y: number): Listed {
  const byDistance = [...all].sort((a, b) => Math.abs(a.y - y) - Math.abs(b.y - y));
  const told = byDistance.slice(0, TOLD_MAX).sort((a, b) => a.y - b.y);
  return { told, nearest: byDistance[0] ?? null, left: all.length - told.length };
}

const element = (tag: string, kind: string, text = "") => {
  const made = document.createElement(tag);
  made.className = kind;
  made.textContent = text;
  return made;
};

/** Distance of the box from the crosshair, in pixels. */
const GAP = 12;

export class Tip {
  /** The legend tells the same to who cannot see it. */
  private readonly box = element("div", "tip");

  constructor(private readonly over: HTMLElement) {
    this.box.setAttribute("aria-hidden", "true");
    this.box.hidden = true;
    over.append(this.box);
  }

  hide() {
    this.box.hidden = true;
  }

  /** Tells what stands there. A graph whose crosshair only follows another's has none. */
  show(time: string, all: Told[], cursor: uPlot.Cursor) {
    const { left = -1, top = -1 } = cursor;
    if (left < 0 || top < 0 || !all.length || !this.over.matches(":hover")) return this.hide();
    const { told, nearest, left: more } = listed(all, top);
    const rows = told.map((one) => {
      const row = element("p", one === nearest && told.length > 1 ? "near" : "");
      row.append(element("span", `dot ${one.color}`), element("span", "name", one.title), element("b", "", one.value()));
      return row;
    });
    this.box.replaceChildren(element("p", "note", time), ...rows, ...(more ? [element("p", "note", `${more} more`)] : []));
    const isRight = left > this.over.clientWidth / 2;
    const isLow = top > this.over.clientHeight / 2;
    const { style } = this.box;
    style.left = `${left + (isRight ? -GAP : GAP)}px`;
    style.top = `${top}px`;
    style.transform = `translate(${isRight ? "-100%" : "0"}, ${isLow ? "-100%" : "0"})`;
    this.box.hidden = false;
    return undefined;
  }
}
