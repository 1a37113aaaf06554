// Tables whose rows are put in order by the heads of their columns.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

export type OrderKey = string | number | null;

/** Names with numbers in them stand as people count. */
const { compare } = new Intl.Collator(undefined, { numeric: true });

/** The same in falling or rising order; those without a key stand last either way. */
export function ordered<T>(rows: T[], key: (row: T) => OrderKey, isFalling: boolean): T[] {
  const sign = isFalling ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: key(row) }));
  keyed.sort(({ key: a }, { key: b }) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : compare(String(a), String(b)));
  });
  return keyed.map(({ row }) => row);
}

/** Rows as they come until a head is clicked: then by its column, falling and rising in turn, and as they come again. */
export function useOrder<T>(rows: T[], key: (row: T, column: string) => OrderKey) {
  const [order, setOrder] = useState<{ column: string; isFalling: boolean } | null>(null);
  const shown = useMemo(() => (order ? ordered(rows, (row) => key(row, order.column), order.isFalling) : rows), [rows, order]);
  const head = (column: string, title: ComponentChildren, isNumber = false) => {
    const isIt = order?.column === column;
    // Of numbers people look for the greatest first.
    const next = !isIt ? { column, isFalling: isNumber } : order.isFalling === isNumber ? { column, isFalling: !isNumber } : null;
    return (
      <th key={column} scope="col" class={isNumber ? "number" : ""} aria-sort={isIt ? (order.isFalling ? "descending" : "ascending") : "none"}>
        <button type="button" class="plain sort" onClick={() => setOrder(next)}>{title}<span aria-hidden="true">{isIt ? (order.isFalling ? " ↓" : " ↑") : ""}</span></button>
      </th>
    );
  };
  return { shown, head };
}
