// The tables of SQL with their columns, or the measurements of InfluxQL with their labels and fields, beside the
// editor: a click puts a name into the text.

import { useState } from "preact/hooks";
import { catalogue, fields } from "../api";
import { useAsked } from "../hooks";
import { measurementsIn, quotedName } from "../influxql";
import { plain } from "../series";
import { quotedSql, tablesIn } from "../sql";
import { OWN, WITHOUT_OWN } from "./own";
import { Failed } from "./small";

/** Tables that are listed; others are found by a part of their names. */
const TABLES_MAX = 200;

interface Props {
  language: "sql" | "influxql";
  /** The text whose tables come first, with their columns. */
  reads: string;
  database: string;
  onInsert: (name: string) => void;
}

export function Columns({ language, reads, database, onInsert }: Props) {
  const [search, setSearch] = useState("");
  const asked = useAsked(JSON.stringify([database, search]), (signal) => {
    const isOwn = search !== "" && OWN.some((own) => own.startsWith(search.toLowerCase()) || search.startsWith(own));
    return catalogue("measurements", { db: database, search, limit: TABLES_MAX, without: isOwn ? "" : WITHOUT_OWN }, signal);
  });
  const read = search ? [] : (language === "sql" ? tablesIn(reads) : measurementsIn(reads));
  const names = [...read, ...(asked.answer?.names ?? []).filter((name) => !read.includes(name))];
  const one = language === "sql" ? "table" : "measurement";
  const insert = (name: string) => onInsert(language === "sql" ? quotedSql(name) : quotedName(name));
  return (
    <>
      <input type="search" aria-label={`Find a ${one}`} placeholder={`Find a ${one}`} value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      {asked.error && <Failed error={asked.error} />}
      <ul>{names.map((name) => <TableOf key={name} name={name} isRead={read.includes(name)} columns={(signal) => columnsOf(language, database, name, signal)} of={`${language} ${database}`} onInsert={insert} />)}</ul>
      {asked.answer && !names.length && <p class="note">There is none{search ? " of that name" : " yet"}.</p>}
      {asked.answer?.is_whole === false && <p class="note">There are more; find them by name.</p>}
    </>
  );
}

interface TableProps {
  name: string;
  /** Whether the text reads it: its columns are shown until somebody folds them. */
  isRead: boolean;
  columns: (signal: AbortSignal) => Promise<NamedColumn[]>;
  of: string;
  onInsert: (name: string) => void;
}

function TableOf({ name, isRead, columns, of, onInsert }: TableProps) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const isOpen = chosen ?? isRead;
  return (
    <li>
      <button type="button" class="plain twist" aria-expanded={isOpen} aria-label={`Columns of ${plain(name)}`} onClick={() => setChosen(!isOpen)}>{isOpen ? "▾" : "▸"}</button>
      <Name name={name} kind="" onInsert={onInsert} />
      {isOpen && <ColumnsOf key={of} name={name} columns={columns} onInsert={onInsert} />}
    </li>
  );
}

type NamedColumn = [name: string, kind: string];

/** In SQL a label that is called as a field is has another name as a column. */
async function columnsOf(language: Props["language"], database: string, table: string, signal: AbortSignal): Promise<NamedColumn[]> {
  const [labels, stored] = await Promise.all([catalogue("labels", { db: database, measurement: table, limit: TABLES_MAX }, signal), fields(table, { db: database }, signal)]);
  if (!stored.fields.length) return [];
  const taken = new Set(stored.fields.map((field) => field.name));
  const columns = stored.fields.map(({ name, kind }): NamedColumn => [name, kind]);
  if (language === "influxql") return [...columns, ...labels.names.map((name): NamedColumn => [name, "label"])];
  return [["time", "time"], ...labels.names.map((name): NamedColumn => [taken.has(name) ? `${name}_1` : name, "label"]), ...columns];
}

function ColumnsOf({ name, columns, onInsert }: Pick<TableProps, "name" | "columns" | "onInsert">) {
  const asked = useAsked(name, columns);
  return (
    <>
      {asked.error && <Failed error={asked.error} />}
      <ul>{asked.answer?.map(([column, kind]) => <li key={`${kind} ${column}`}><Name name={column} kind={kind} onInsert={onInsert} /></li>)}</ul>
      {asked.answer?.length === 0 && <p class="note">There is none of that name.</p>}
    </>
  );
}

/** A name that a click inserts; the editor keeps the focus, for its text is asked when it loses that. */
function Name({ name, kind, onInsert }: { name: string; kind: string; onInsert: (name: string) => void }) {
  const told = `${plain(name)}${kind && `, ${kind}`}`;
  return <button type="button" class="plain name" title={`${told}: a click inserts it`} onMouseDown={(event) => event.preventDefault()} onClick={() => onInsert(name)}>{plain(name)}{kind && <span class="note"> {kind}</span>}</button>;
}
