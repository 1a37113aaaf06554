// A table of samples, newest first, with their kinds.

import { useMemo } from "preact/hooks";
import { useGrowing } from "../hooks";
import { type Series, newest } from "../series";
import { type Zone, nanoText, timeText } from "../time";
import { who } from "./senders";

/** Rows that are put on the page. */
const ROWS_MAX = 1000;

/** Those that fill what is seen of the table. */
const ROWS_FIRST = 50;

interface Props {
  all: Series[];
  titleIn: (series: Series) => string;
  zone: Zone;
  label?: string;
}

export function Samples({ all, titleIn, zone, label = "Samples" }: Props) {
  const rows = useMemo(() => newest(all, ROWS_MAX), [all]);
  const isFull = rows.length === ROWS_MAX;
  const [listed, onScroll] = useGrowing(ROWS_FIRST, rows.length);
  const isTold = all.some(({ made_by }) => made_by);
  return (
    <div class="scroll tall samples" tabIndex={0} role="region" aria-label={label} onScroll={onScroll}>
      <table>
        <thead><tr><th scope="col">Time</th><th scope="col">Series</th><th scope="col">Kind</th><th scope="col" class="number">Value</th>{isTold && <th scope="col">Series made by</th>}</tr></thead>
        <tbody>
          {rows.slice(0, listed).map(({ series, index }, row) => {
            const value = series.values[index];
            const nanos = series.nanos?.[index];
            return (
              <tr key={row}>
                <td class="nowrap">{nanos ? nanoText(nanos, zone) : timeText(series.times[index] ?? 0, zone)}</td>
                <td>{titleIn(series)}</td><td class="nowrap">{series.kinds?.[index] ?? series.kind}</td>
                <td class="number">{value === null || value === undefined ? "–" : String(value)}</td>
                {isTold && <td class="nowrap">{series.made_by ? <span title={`The first sample came ${timeText(series.made_by.at_ms, zone)}`}>{who(series.made_by)}, {series.made_by.protocol}</span> : <span class="note">not known</span>}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
      {isFull && <p class="note">The newest {ROWS_MAX}; a download has all.</p>}
    </div>
  );
}
