// What statements tell that is no samples, as SHOW of InfluxQL: tables as the server has them.

import type { Table } from "../api";
import { useGrowing } from "../hooks";
import type { Value } from "../series";

/** Rows that fill what is seen of a table. */
const ROWS_FIRST = 50;

const shown = (value: Value | undefined) => (value === null || value === undefined ? "–" : String(value));

export function Tables({ all }: { all: Table[] }) {
  return <>{all.map((table, at) => <Told key={at} table={table} />)}</>;
}

function Told({ table }: { table: Table }) {
  const { name, labels, columns, rows } = table;
  const [listed, onScroll] = useGrowing(ROWS_FIRST, rows.length);
  const title = [name, ...Object.entries(labels).map(([label, value]) => `${label}=${value}`)].filter(Boolean).join(", ");
  const isNumber = columns.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === "number"));
  return (
    <>
      {title && <h3>{title} <span class="note">{rows.length} {rows.length === 1 ? "row" : "rows"}</span></h3>}
      <div class="scroll tall" tabIndex={0} role="region" aria-label={title || columns.join(", ")} onScroll={onScroll}>
        <table>
          <thead><tr>{columns.map((column, at) => <th key={at} scope="col" class={isNumber[at] ? "number" : ""}>{column}</th>)}</tr></thead>
          <tbody>
            {rows.slice(0, listed).map((row, at) => (
              <tr key={at}>{columns.map((_, place) => <td key={place} class={isNumber[place] ? "number" : ""}>{shown(row[place])}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
