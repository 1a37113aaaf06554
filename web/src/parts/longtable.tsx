// A table of any length: its heads put it in order, and its cells are chosen, by mouse or by keys, and copied.

import type { ComponentChildren, TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Chosen, type Separator, boundsOf, chosenBy, isIn, lines } from "../cells";
import { type Value, plain } from "../series";
import { Menu } from "./menu";
import { type OrderKey, useOrder } from "./order";
import { Room, useScrolled } from "./scrolled";
import { Copy } from "./small";

export interface Column<T> {
  name: string;
  /** What stands at its head, where that is not its name. */
  title?: ComponentChildren;
  isNumber?: boolean;
  /** Whether its cells have one line. */
  isLine?: boolean;
  /** What puts rows in order by it; without that its head does nothing. */
  order?: (row: T) => OrderKey;
  /** What is copied of a row. */
  value: (row: T) => Value;
  /** What is shown of it, where that is something else, and what the mouse tells. */
  shown?: (row: T) => ComponentChildren;
  hint?: (row: T) => string | undefined;
}

interface Props<T> {
  rows: T[];
  columns: Column<T>[];
  label: string;
  className?: string;
  /** Whether it is one of many, which have no room for a line of their own below each: keys copy of it. */
  isOneOfMany?: boolean;
  /** What is said behind the last row. */
  end?: ComponentChildren;
}

/** Columns of a table that is no wider than what stands in it. */
const FEW = 4;

const classOf = ({ isNumber, isLine }: Column<never>) => `${isNumber ? "number " : ""}${isLine ? "nowrap" : ""}`.trim();

export function LongTable<T>({ rows, columns, label, className = "", isOneOfMany = false, end }: Props<T>) {
  const id = useId();
  const { shown, head } = useOrder(rows, (row, column) => columns[Number(column)]?.order?.(row) ?? null);
  const { from, to, abovePx, belowPx, box, body, onScroll, show, first } = useScrolled(shown, shown.length);
  const [kept, setChosen] = useState<{ cells: Chosen; of: T[] } | null>(null);
  const table = useRef<HTMLTableElement>(null);
  const isByKey = useRef(false);
  // What was chosen of other rows is chosen no longer.
  const chosen = kept?.of === shown ? kept.cells : null;
  const bounds = chosen && boundsOf(chosen);
  const choose = (cells: Chosen | null) => setChosen(cells && { cells, of: shown });
  const copied = (separator: Separator, all = false) => {
    if (all || !bounds) return lines([columns.map(({ name }) => name), ...shown.map((row) => columns.map(({ value }) => value(row)))], separator);
    return lines(shown.slice(bounds.top, bounds.bottom + 1).map((row) => columns.slice(bounds.left, bounds.right + 1).map(({ value }) => value(row))), separator);
  };
  const rowsCopied = () => (bounds ? lines(shown.slice(bounds.top, bounds.bottom + 1).map((row) => columns.map(({ value }) => value(row))), "\t") : "");
  const onKey = (event: TargetedKeyboardEvent<HTMLTableElement>) => {
    // Keys of the buttons in heads are theirs.
    if (event.altKey || event.target !== table.current || !shown.length) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / Math.max(1, body.current?.rows[1]?.offsetHeight ?? 1)) - 2);
    const next = chosenBy(event, chosen, { rows: shown.length, columns: columns.length, page }, { row: first(), column: 0 });
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    getSelection()?.removeAllRanges();
    choose(next);
    if (!next || event.key.toLowerCase() === "a") return;
    show(next.to.row);
    isByKey.current = true;
  };
  // A cell that keys lead to is in sight, also where the table is wider than its box.
  useLayoutEffect(() => {
    if (isByKey.current) table.current?.querySelector("td.at")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    isByKey.current = false;
  }, [kept]);
  const placeOf = (event: TargetedMouseEvent<HTMLTableSectionElement>) => {
    const target = event.target as Element;
    const [td, tr] = [target.closest("td"), target.closest("tr")];
    if (!td || !tr || tr.classList.contains("room") || target.closest("a, button")) return null;
    return { row: from + tr.sectionRowIndex - (abovePx > 0 ? 1 : 0), column: td.cellIndex };
  };
  const onPress = (event: TargetedMouseEvent<HTMLTableSectionElement>) => {
    const place = event.button === 0 ? placeOf(event) : null;
    if (!place) return;
    if (event.shiftKey) event.preventDefault();
    choose({ from: event.shiftKey && chosen ? chosen.from : place, to: place });
    table.current?.focus({ preventScroll: true });
  };
  const onMove = (event: TargetedMouseEvent<HTMLTableSectionElement>) => {
    const place = event.buttons === 1 && chosen ? placeOf(event) : null;
    if (!place || (place.row === chosen!.to.row && place.column === chosen!.to.column)) return;
    // Who drags over several cells means them, and not their letters.
    getSelection()?.removeAllRanges();
    choose({ from: chosen!.from, to: place });
  };
  // Where nothing is selected a browser has the whole page told of a copy. What is chosen is copied from then on.
  useLayoutEffect(() => {
    if (!bounds) return undefined;
    const onCopy = (event: ClipboardEvent) => {
      if (document.activeElement !== table.current || !event.clipboardData || getSelection()?.toString()) return;
      event.clipboardData.setData("text/plain", copied("\t"));
      event.preventDefault();
    };
    document.addEventListener("copy", onCopy);
    return () => document.removeEventListener("copy", onCopy);
  }, [kept, shown]);
  const isLong = to - from < shown.length;
  // The widest cell of each column, on the page or not: columns stay as wide as they are.
  const widest = useMemo(() => (isLong ? columns.map(({ order, value }) => longest(shown, order ?? value)) : []), [isLong, shown]);
  const isMany = bounds && (bounds.top < bounds.bottom || bounds.left < bounds.right);
  return (
    <>
      <div class="scroll tall" role="region" aria-label={label} ref={box} onScroll={onScroll}>
        <table
          ref={table} role="grid" aria-label={label} aria-multiselectable="true" aria-rowcount={shown.length + 1} tabIndex={0} class={`${className} ${columns.length <= FEW ? "few" : ""} ${isMany ? "choosing" : ""}`.trim()}
          aria-activedescendant={chosen && chosen.to.row >= from && chosen.to.row < to ? `${id}-${chosen.to.row}-${chosen.to.column}` : undefined} onKeyDown={onKey}
        >
          <thead><tr>{columns.map((column, at) => (column.order ? head(String(at), column.title ?? plain(column.name), column.isNumber) : <th key={at} scope="col" class={column.isNumber ? "number" : ""}>{column.title ?? plain(column.name)}</th>))}</tr></thead>
          <tbody ref={body} onMouseDown={onPress} onMouseOver={onMove}>
            <Room px={abovePx} />
            {shown.slice(from, to).map((row, at) => (
              <tr key={from + at} aria-rowindex={from + at + 2}>
                {columns.map((column, place) => {
                  const isChosen = bounds !== null && isIn(bounds, from + at, place);
                  const isAt = isChosen && chosen?.to.row === from + at && chosen.to.column === place;
                  return <td key={place} id={isAt ? `${id}-${from + at}-${place}` : undefined} class={`${classOf(column as Column<never>)}${isChosen ? " chosen" : ""}${isAt ? " at" : ""}`.trim()} aria-selected={isChosen || undefined} title={column.hint?.(row)}>{told(column, row)}</td>;
                })}
              </tr>
            ))}
            <Room px={belowPx} />
          </tbody>
          {isLong && <tfoot class="widest" aria-hidden="true"><tr>{columns.map((column, at) => <td key={at} class={classOf(column as Column<never>)}>{widest[at] === undefined ? "" : told(column, widest[at])}</td>)}</tr></tfoot>}
        </table>
        {end}
      </div>
      {!isOneOfMany && (
        <div class="bar copying">
          <Menu title="Copy">
            {() => (
              <>
                {bounds && <Copy text={() => copied("\t")}>{isMany ? "Chosen cells" : "Chosen cell"} <kbd>Ctrl C</kbd></Copy>}
                {bounds && <Copy text={rowsCopied}>{bounds.top < bounds.bottom ? "Their rows" : "Its row"}</Copy>}
                <Copy text={() => copied("\t", true)}>Whole table, with tabs</Copy>
                <Copy text={() => copied(",", true)}>Whole table, CSV</Copy>
              </>
            )}
          </Menu>
          <span class="note" role="status">{bounds ? chosenText(bounds) : ""}</span>
        </div>
      )}
    </>
  );
}

function told<T>({ value, shown }: Column<T>, row: T): ComponentChildren {
  if (shown) return shown(row);
  const found = value(row);
  return found === null ? "–" : plain(String(found));
}

/** Rows that are looked at for the widest cell, from all parts of the table. */
const LOOKED_AT = 500;

/** The row with the longest text in a column, as far as rows are looked at. */
function longest<T>(rows: T[], value: (row: T) => Value): T | undefined {
  const apart = Math.ceil(rows.length / LOOKED_AT);
  let [found, most]: [T | undefined, number] = [undefined, -1];
  for (let at = 0; at < rows.length; at += apart) {
    const row = rows[at]!;
    const { length } = String(value(row) ?? "");
    if (length > most) [found, most] = [row, length];
  }
  return found;
}

function chosenText({ top, bottom, left, right }: ReturnType<typeof boundsOf>): string {
  const [rows, columns] = [bottom - top + 1, right - left + 1];
  return rows * columns === 1 ? "" : `${rows} ${rows === 1 ? "row" : "rows"} × ${columns} ${columns === 1 ? "column" : "columns"}`;
}
