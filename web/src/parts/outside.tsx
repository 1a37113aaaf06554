// Where samples are that a graph of this range has no place for.

import type { Explored } from "../state";
import { type Span, type Zone, roomy, timeText } from "../time";

interface Props {
  of: Span;
  span: Span;
  zone: Zone;
  set: (part: Partial<Explored>) => void;
  /** What is said first. */
  lead?: string;
}

export function Outside({ of: { start, end }, span, zone, set, lead = "" }: Props) {
  const where = end < span.start ? "before" : start > span.end ? "after" : "outside of";
  return (
    <p class="caution" role="status">
      {lead}{lead ? "all" : "All"} of it lies {where} this range: {start === end ? `at ${timeText(start, zone)}` : `from ${timeText(start, zone)} to ${timeText(end, zone)}`}.{" "}
      <button type="button" onClick={() => set({ range: roomy({ start, end }) })}>Show its range</button>
    </p>
  );
}
