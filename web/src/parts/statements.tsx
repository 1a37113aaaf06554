// What each statement of a text came to: its table, an error in its place, or how many lines it has in the graph.

import type { Stated } from "../api";
import type { Zone } from "../time";
import { Failed, shortened } from "./small";
import { Tables } from "./tables";

/** What there is of an answer: "20 rows, 12 ms". */
function told({ answer, tookMs }: Stated): string {
  const rows = (answer?.tables ?? []).reduce((sum, table) => sum + table.rows.length, 0);
  const lines = answer?.series.length ?? 0;
  const count = lines ? `${lines} ${lines === 1 ? "line" : "lines"} in the graph` : `${rows} ${rows === 1 ? "row" : "rows"}`;
  return `${count}, ${tookMs < 1 ? "less than 1" : Math.round(tookMs)} ms`;
}

export function Statements({ all, zone, letter }: { all: Stated[]; zone: Zone; letter: string }) {
  return (
    <>
      {all.map((one, at) => (
        <section key={at} class="stated">
          <p class="caption">{letter} <span class="code" title={one.text.trim()}>{shortened(one.text)}</span> {one.answer && <span class="note nowrap">{told(one)}</span>}</p>
          {one.error && <Failed error={one.error} text={one.text} />}
          <Tables all={one.answer?.tables ?? []} zone={zone} />
        </section>
      ))}
    </>
  );
}
