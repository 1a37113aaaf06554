// Which rows of a long table are on the page: those in sight and some beside them. The others have room, so that
// the scrollbar tells how long the table is.

/** How high a row is taken to be before one was on the page. */
const USUAL_PX = 29;

/** What is on the page above and below what is in sight. */
const BESIDE_PX = 400;

/** Rows that come and go at a time, so that not each line scrolled draws anew. */
const AT_A_TIME = 8;

/** Heights of rows, as far as they have been on the page; another row is taken to be as high as those are in the middle. */
export class Heights {
  private readonly known: number[] = [];
  private sum = 0;
  private count = 0;

  constructor(private readonly before = USUAL_PX) {}

  get usual(): number {
    return this.count ? this.sum / this.count : this.before;
  }

  of(row: number): number {
    return this.known[row] ?? this.usual;
  }

  /** Remembers how high a row is, and tells whether that was not known. */
  set(row: number, px: number): boolean {
    const was = this.known[row];
    if (was !== undefined && Math.abs(was - px) < 1) return false;
    this.known[row] = px;
    this.sum += px - (was ?? 0);
    this.count += was === undefined ? 1 : 0;
    return true;
  }

  /** Where a row begins. */
  above(row: number): number {
    let px = 0;
    for (let at = 0; at < row; at += 1) px += this.of(at);
    return px;
  }

  /** The first of so many rows that begins there or below. */
  at(topPx: number, count: number): number {
    let [row, px] = [0, 0];
    while (row < count - 1 && px < topPx) {
      px += this.of(row);
      row += 1;
    }
    return row;
  }
}

export interface InSight {
  /** The first row on the page, and the one behind the last. */
  from: number;
  to: number;
  /** Room for those above and below. */
  abovePx: number;
  belowPx: number;
}

/** The rows that are on the page where a box of such a height has been scrolled so far. */
export function inSight(heights: Heights, count: number, topPx: number, heightPx: number): InSight {
  const [begin, end] = [topPx - BESIDE_PX, topPx + heightPx + BESIDE_PX];
  let [px, from, to] = [0, 0, count];
  for (let row = 0; row < count; row += 1) {
    px += heights.of(row);
    if (px <= begin) from = row + 1;
    if (px >= end) {
      to = row + 1;
      break;
    }
  }
  // Who has scrolled beyond the end of a table that was longer before sees its end.
  from = Math.max(0, Math.min(from, count - AT_A_TIME));
  from -= from % AT_A_TIME;
  to = Math.min(count, Math.ceil(to / AT_A_TIME) * AT_A_TIME);
  return { from, to, abovePx: heights.above(from), belowPx: heights.above(count) - heights.above(to) };
}

/** How far a box is to be scrolled so that a row is in sight, under a head of such a height; where it is, if the row is. */
export function scrolledTo(heights: Heights, row: number, topPx: number, heightPx: number, headPx: number): number {
  const begin = heights.above(row);
  const end = begin + heights.of(row);
  if (begin < topPx) return begin;
  return end + headPx > topPx + heightPx ? end + headPx - heightPx : topPx;
}
