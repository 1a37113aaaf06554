// What holds for all questions of Explore: the range, and how answers are shown.

import { useEffect, useRef, useState } from "preact/hooks";
import { useLong } from "../hooks";
import { hasTables } from "../question";
import type { Explored } from "../state";
import { CALENDAR, RANGES, type Span, calendarSpan, instant, moved, span, timeText, widened } from "../time";
import { Menu } from "./menu";
import { ZoneChoice } from "./zone";

interface Props {
  explored: Explored;
  set: (part: Partial<Explored>) => void;
  isLoading: boolean;
  onRun: () => void;
  onStop: () => void;
}

/** Steps that are offered. */
const STEPS = ["", "1s", "10s", "1m", "5m", "15m", "1h", "1d"];

/** Letters that a field of the range has room for; what is longer widens it. */
const WIDTH_MIN = 8;

export function Toolbar({ explored, set, isLoading, onRun, onStop }: Props) {
  const isLong = useLong(isLoading);
  const { range, zone } = explored;
  const [start, setStart] = useState(range.start);
  const [end, setEnd] = useState(range.end);
  const shown = (text: string) => (/^\d{11,}$/.test(text) ? timeText(Number(text), zone) : text);
  // What somebody typed stays as it is, asked or not yet; what comes from elsewhere takes its place.
  useEffect(() => setStart((typed) => (typed.trim() === range.start ? typed : shown(range.start))), [range.start]);
  useEffect(() => setEnd((typed) => (typed.trim() === range.end ? typed : shown(range.end))), [range.end]);
  // Instants are said anew in another zone.
  const before = useRef(zone);
  useEffect(() => {
    const was = (text: string) => (/^\d{11,}$/.test(text) ? timeText(Number(text), before.current) : text);
    setStart((typed) => (typed === was(range.start) ? shown(range.start) : typed));
    setEnd((typed) => (typed === was(range.end) ? shown(range.end) : typed));
    before.current = zone;
  }, [zone]);
  const move = (to: (span: Span) => Span) => {
    const now = span(range, Date.now(), zone);
    if (!now) return;
    const next = to(now);
    set({ range: { start: String(next.start), end: String(next.end) } });
  };
  // As the browser's own fields of dates want it.
  const dateOf = (text: string) => {
    const at = instant(text, Date.now(), zone);
    return at === null ? "" : timeText(at, zone).slice(0, 19).replace(" ", "T");
  };
  const isShort = (name: string) => range.end === "now" && range.start === `${name}-ago`;
  return (
    <form class="toolbar" onSubmit={(event) => {
      event.preventDefault();
      const next = { start: start.trim() || "1h-ago", end: end.trim() || "now" };
      setStart(next.start);
      setEnd(next.end);
      const isSame = (said: string, text: string) => said === text || said === shown(text);
      if (isSame(next.start, range.start) && isSame(next.end, range.end)) onRun();
      else set({ range: next });
    }}>
      <div class="segments" role="group" aria-label="Range">
        {RANGES.map((name) => (
          <button key={name} type="button" aria-pressed={isShort(name)} onClick={() => set({ range: { start: `${name}-ago`, end: "now" } })}>{name}</button>
        ))}
      </div>
      <span class="between">
        <button type="button" class="plain arrow" aria-label="Earlier" title="Half the range earlier" onClick={() => move((now) => moved(now, -0.5, Date.now()))}>‹</button>
        <input type="text" aria-label="From" size={Math.max(WIDTH_MIN, start.length)} value={start} onInput={(event) => setStart(event.currentTarget.value)} />
        <span aria-hidden="true">–</span>
        <input type="text" aria-label="To" size={Math.max(WIDTH_MIN, end.length)} value={end} onInput={(event) => setEnd(event.currentTarget.value)} />
        <button type="button" class="plain arrow" aria-label="Later" title="Half the range later" onClick={() => move((now) => moved(now, 0.5, Date.now()))}>›</button>
        <button type="button" class="plain arrow" aria-label="Wider" title="Twice the range" onClick={() => move((now) => widened(now, Date.now()))}>−</button>
        <Menu title="Dates">
          {(close) => (
            <span class="dates">
              {([["From", start, setStart], ["To", end, setEnd]] as const).map(([side, text, change]) => (
                <label key={side}>{side}
                  <input type="datetime-local" step={1} max="2262-04-11T23:47:16" value={dateOf(text)} onInput={(event) => { if (event.currentTarget.value) change(event.currentTarget.value.replace("T", " ")); }} />
                </label>
              ))}
              <button type="submit" class="main" onClick={() => setTimeout(close)}>Show these</button>
              <span class="days">
                {CALENDAR.map((name) => (
                  <button key={name} type="button" class="plain" onClick={() => { const next = calendarSpan(name, Date.now(), zone); set({ range: { start: String(next.start), end: String(next.end) } }); close(); }}>{name}</button>
                ))}
              </span>
            </span>
          )}
        </Menu>
      </span>
      <ZoneChoice zone={zone} onChange={(next) => set({ zone: next })} />
      <select aria-label="Step" title="Between the points of a graph" value={explored.step} onChange={(event) => set({ step: event.currentTarget.value })}>
        {[...new Set([...STEPS, explored.step])].map((one) => <option key={one} value={one}>{one || "auto step"}</option>)}
      </select>
      <select aria-label="Refresh" value={String(explored.refresh)} onChange={(event) => set({ refresh: Number(event.currentTarget.value) })}>
        {[...new Set([0, 2, 10, 60, explored.refresh])].map((seconds) => <option key={seconds} value={String(seconds)}>{seconds ? `every ${seconds} s` : "no refresh"}</option>)}
      </select>
      {isLong
        ? <button type="button" class="main run" onClick={onStop}>Cancel</button>
        : <button type="submit" class="main run" aria-busy={isLoading} title="All queries, with all their statements">Run</button>}
    </form>
  );
}

const VIEWS: [Explored["view"], string, string][] = [
  ["graph", "Graph", "Lines over time"], ["heatmap", "Heatmap", "How much fell into each bucket of a histogram, over time"], ["table", "Table", "What the graph shows at its end, or all of it, as numbers"], ["samples", "Samples", "Each sample to the nanosecond: as it is stored, or as it is computed"],
];

/** How answers are shown. */
export function ViewBar({ explored, set, hasBuckets, shown }: Pick<Props, "explored" | "set"> & { hasBuckets: boolean; shown: Explored["view"] }) {
  return (
    <div class="view">
      <div class="segments" role="group" aria-label="View">
        {VIEWS.filter(([view]) => hasBuckets || view !== "heatmap").map(([view, title, hint]) => (
          <button key={view} type="button" title={hint} aria-pressed={view === shown} onClick={() => set({ view, isDrawn: view === "graph" && explored.questions.some(({ language }) => hasTables(language)) })}>{title}</button>
        ))}
      </div>
      <select aria-label="Lines" title="Lines that are shown, by their means" value={String(explored.top)} onChange={(event) => set({ top: Number(event.currentTarget.value) })}>
        {[...new Set([0, 5, 10, 20, explored.top])].map((count) => <option key={count} value={String(count)}>{count ? `top ${count}` : "all lines"}</option>)}
      </select>
      <label class="check"><input type="checkbox" checked={explored.isStacked} onChange={(event) => set({ isStacked: event.currentTarget.checked })} />stacked</label>
      <label class="check"><input type="checkbox" checked={explored.isLogarithmic} onChange={(event) => set({ isLogarithmic: event.currentTarget.checked })} />log</label>
      {!explored.isLogarithmic && <YEnds ends={explored.yRange} onChange={(yRange) => set({ yRange })} />}
    </div>
  );
}

/** A number as people type it: "5k", "1.5M", "−3"; null for nothing, and NaN for what is none. */
export function endOf(text: string): number | null {
  const found = /^\s*([-−+]?[\d.,]+(?:e[-+]?\d+)?)\s*([kMG]?)\s*$/i.exec(text);
  if (!text.trim()) return null;
  return found ? Number(found[1]!.replace("−", "-").replace(",", ".")) * ({ k: 1e3, m: 1e6, g: 1e9 }[found[2]!.toLowerCase()] ?? 1) : NaN;
}

/** Where the axis of values begins and ends; where nothing is said, what fits. */
function YEnds({ ends, onChange }: { ends: Explored["yRange"]; onChange: (ends: Explored["yRange"]) => void }) {
  const [typed, setTyped] = useState<[string, string] | null>(null);
  const [isTaken, setIsTaken] = useState(false);
  const shown: [string, string] = typed ?? [String(ends[0] ?? ""), String(ends[1] ?? "")];
  const [low, high] = shown.map(endOf) as [number | null, number | null];
  const wrong = Number.isNaN(low) || Number.isNaN(high) ? "no number: as 5, 0.5 or 5k" : low !== null && high !== null && low >= high ? "the least is not below the greatest" : "";
  const take = () => {
    setIsTaken(true);
    if (wrong) return;
    setTyped(null);
    onChange([low, high]);
  };
  const type = (next: [string, string]) => {
    setIsTaken(false);
    setTyped(next);
  };
  const isTold = isTaken && wrong !== "";
  return (
    <span class="between">
      <input type="text" class="y-end" size={4} placeholder="y from" aria-label="Least value that is shown" aria-invalid={isTold} value={shown[0]} onInput={(event) => type([event.currentTarget.value, shown[1]])} onChange={take} />
      <input type="text" class="y-end" size={4} placeholder="y to" aria-label="Greatest value that is shown" aria-invalid={isTold} value={shown[1]} onInput={(event) => type([shown[0], event.currentTarget.value])} onChange={take} />
      {isTold && <span class="note" role="status">{wrong}</span>}
    </span>
  );
}
