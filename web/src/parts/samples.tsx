// A table of samples, newest first, with their kinds.

import { useMemo } from "preact/hooks";
import { type Sample, type Series, newest } from "../series";
import { type Zone, nanoText, timeText } from "../time";
import { type Column, LongTable } from "./longtable";
import { who } from "./senders";

/** Rows that are found among all samples. */
const ROWS_MAX = 10_000;

interface Props {
  all: Series[];
  titleIn: (series: Series) => string;
  zone: Zone;
  label?: string;
}

export function Samples({ all, titleIn, zone, label = "Samples" }: Props) {
  const rows = useMemo(() => newest(all, ROWS_MAX), [all]);
  const isTold = all.some(({ made_by }) => made_by);
  const columns = useMemo((): Column<Sample>[] => [
    {
      name: "time", title: "Time", isLine: true,
      value: ({ series, index }) => { const nanos = series.nanos?.[index]; return nanos ? nanoText(nanos, zone) : timeText(series.times[index] ?? 0, zone); },
    },
    { name: "series", title: "Series", value: ({ series }) => titleIn(series) },
    { name: "kind", title: "Kind", isLine: true, value: ({ series, index }) => series.kinds?.[index] ?? series.kind },
    { name: "value", title: "Value", isNumber: true, value: ({ series, index }) => series.values[index] ?? null },
    ...(isTold ? [{
      name: "made by", title: "Series made by", isLine: true, value: ({ series: { made_by } }: Sample) => (made_by ? `${who(made_by)}, ${made_by.protocol}` : null),
      shown: ({ series: { made_by } }: Sample) => (made_by ? `${who(made_by)}, ${made_by.protocol}` : <span class="note">not known</span>),
      hint: ({ series: { made_by } }: Sample) => (made_by ? `The first sample came ${timeText(made_by.at_ms, zone)}` : undefined),
    }] : []),
  ], [all, zone]);
  return <LongTable rows={rows} columns={columns} label={label} className="samples" end={rows.length === ROWS_MAX && <p class="note">The newest {ROWS_MAX}; a download has all.</p>} />;
}
