// The table under a graph: each line with its figures, or what is under the crosshair.

import { useMemo, useState } from "preact/hooks";
import { type Figures, figures } from "../series";
import { type Zone, timeText } from "../time";
import { type Unit, format } from "../units";
import { COLORS, type Line, wholeValues } from "./chart";
import { useOrder } from "./order";
import { Room, useScrolled } from "./scrolled";

interface Props {
  lines: Line[];
  unit: Unit;
  zone: Zone;
  isStacked: boolean;
  cursor: { values: (number | null)[]; time: number } | null;
  onToggle: (title: string, isAlone: boolean) => void;
  onFocus: (index: number | null) => void;
}

export function Legend({ lines, unit, zone, isStacked, cursor, onToggle, onFocus }: Props) {
  const [search, setSearch] = useState("");
  // Only what is under the crosshair changes with it.
  const all = useMemo(() => lines.map((line) => {
    const of = figures(wholeValues(line));
    return { of, last: format(of.last, line.unit ?? unit), rest: [of.min, of.mean, of.max].map((figure) => format(figure, line.unit ?? unit)) };
  }), [lines, unit]);
  const found = useMemo(() => lines.map((line, index) => ({ line, index }))
    .filter(({ line }) => line.title.toLowerCase().includes(search.toLowerCase())), [lines, search]);
  const { shown, head } = useOrder(found, ({ line, index }, column) => (column === "title" ? line.title : all[index]?.of[column as keyof Figures] ?? null));
  const { from, to, abovePx, belowPx, box, body, onScroll } = useScrolled(shown, shown.length);
  return (
    <div class="legend">
      {lines.length > 12 && (
        <input type="search" placeholder={`Find among ${lines.length} lines`} aria-label="Find a line" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      )}
      <div class="scroll" ref={box} onScroll={onScroll}>
        <table>
          <thead>
            <tr>
              {head("title", "Series")}
              {head("last", cursor ? timeText(cursor.time, zone).slice(11) : "last", true)}
              {head("min", "min", true)}{head("mean", "mean", true)}{head("max", "max", true)}
            </tr>
          </thead>
          <tbody ref={body}>
            <Room px={abovePx} />
            {shown.slice(from, to).map(({ line, index }) => {
              const now = cursor ? format(cursor.values[index], line.unit ?? unit) : all[index]?.last;
              return (
                <tr key={line.title} class={line.isHidden ? "off" : ""} onMouseEnter={() => onFocus(index)} onMouseLeave={() => onFocus(null)}>
                  <td>
                    <button
                      type="button" class={`line c${index % COLORS}`} aria-pressed={!line.isHidden} title="Click: hide or show. With Ctrl: this one alone."
                      onClick={(event) => onToggle(line.title, event.ctrlKey || event.metaKey)}
                    >{line.title}</button>
                    {line.isRight && !isStacked && <span class="note" title="Drawn by the axis on the right"> right axis</span>}
                  </td>
                  <td class="number">{now}</td>
                  {all[index]?.rest.map((figure, place) => <td key={place} class="number">{figure}</td>)}
                </tr>
              );
            })}
            <Room px={belowPx} />
          </tbody>
        </table>
      </div>
    </div>
  );
}
