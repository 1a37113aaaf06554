// Answers that are tables: what statements tell that is no samples, as SHOW of InfluxQL, and all that SQL answers.

import type { Table } from "../api";
import { useGrowing } from "../hooks";
import type { Value } from "../series";
import { type Zone, nanoText } from "../time";
import { inShort } from "../units";
import { useOrder } from "./order";

/** Rows that fill what is seen of a table. */
const ROWS_FIRST = 50;

const NUMBERS = new Set(["float", "integer", "unsigned"]);

/** Columns of a table that is no wider than what stands in it. */
const FEW = 4;

export function Tables({ all, zone }: { all: Table[]; zone: Zone }) {
  return <>{all.map((table, at) => <Told key={at} table={table} zone={zone} />)}</>;
}

function Told({ table, zone }: { table: Table; zone: Zone }) {
  const { name, labels, columns, rows, kinds } = table;
  const isNumber = columns.map((_, at) => (kinds ? NUMBERS.has(kinds[at]!) : rows.length > 0 && rows.every((row) => typeof row[at] === "number")));
  const { shown, head } = useOrder(rows, (row, column) => {
    const value = row[Number(column)] ?? null;
    return typeof value === "boolean" ? Number(value) : value;
  });
  const [listed, onScroll] = useGrowing(ROWS_FIRST, rows.length);
  const text = (value: Value, at: number) => (value === null ? "–" : kinds?.[at] === "time" ? nanoText(String(value), zone) : inShort(value));
  const whole = (value: Value) => (typeof value === "number" && inShort(value) !== String(value) ? String(value) : undefined);
  const title = [name, ...Object.entries(labels).map(([label, value]) => `${label}=${value}`)].filter(Boolean).join(", ");
  return (
    <>
      {title && <h3>{title} <span class="note">{rows.length} {rows.length === 1 ? "row" : "rows"}</span></h3>}
      <div class="scroll tall" tabIndex={0} role="region" aria-label={title || columns.join(", ")} onScroll={onScroll}>
        <table class={columns.length <= FEW ? "few" : ""}>
          <thead><tr>{columns.map((column, at) => head(String(at), column, isNumber[at]))}</tr></thead>
          <tbody>
            {shown.slice(0, listed).map((row, at) => (
              <tr key={at}>{columns.map((_, place) => <td key={place} class={isNumber[place] ? "number" : kinds?.[place] === "time" ? "nowrap" : ""} title={whole(row[place] ?? null)}>{text(row[place] ?? null, place)}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
