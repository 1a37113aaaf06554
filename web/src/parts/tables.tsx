// Answers that are tables: what statements tell that is no samples, as SHOW of InfluxQL, and all that SQL answers.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Table } from "../api";
import { type Value, plain } from "../series";
import { type Zone, nanoText } from "../time";
import { inShort } from "../units";
import { type Column, LongTable } from "./longtable";

const NUMBERS = new Set(["float", "integer", "unsigned"]);

/** Tables of one answer, as SHOW FIELD KEYS has, from which on they are many. */
const MANY = 5;

interface Props {
  all: Table[];
  zone: Zone;
  /** What is said behind the last row of the last one. */
  end?: ComponentChildren;
}

export function Tables({ all, zone, end }: Props) {
  return <>{all.map((table, at) => <Told key={at} table={table} zone={zone} isOneOfMany={all.length >= MANY} end={at === all.length - 1 ? end : null} />)}</>;
}

/** Columns of a table, of which times are texts of a zone. */
function columnsOf({ columns, rows, kinds }: Table, zone: Zone): Column<Value[]>[] {
  return columns.map((name, at): Column<Value[]> => {
    const isTime = kinds?.[at] === "time";
    const raw = (row: Value[]) => row[at] ?? null;
    const value = (row: Value[]) => (isTime && raw(row) !== null ? nanoText(String(raw(row)), zone) : raw(row));
    const inFull = (found: Value) => (typeof found === "number" && inShort(found) !== String(found) ? String(found) : undefined);
    return {
      name, isLine: isTime, isNumber: kinds ? NUMBERS.has(kinds[at]!) : rows.length > 0 && rows.every((row) => typeof row[at] === "number"), value,
      order: (row) => { const found = raw(row); return typeof found === "boolean" ? Number(found) : found; },
      shown: (row) => { const found = value(row); return found === null ? "–" : typeof found === "string" ? plain(found) : inShort(found); },
      hint: (row) => inFull(raw(row)),
    };
  });
}

function Told({ table, zone, isOneOfMany, end }: { table: Table; zone: Zone; isOneOfMany: boolean; end: ComponentChildren }) {
  const { name, labels, rows } = table;
  const columns = useMemo(() => columnsOf(table, zone), [table, zone]);
  const title = [name, ...Object.entries(labels).map(([label, value]) => `${label}=${value}`)].filter(Boolean).join(", ");
  return (
    <>
      {title && <h3>{plain(title)} <span class="note">{rows.length} {rows.length === 1 ? "row" : "rows"}</span></h3>}
      <LongTable rows={rows} columns={columns} label={title || table.columns.join(", ")} isOneOfMany={isOneOfMany} end={end} />
    </>
  );
}
