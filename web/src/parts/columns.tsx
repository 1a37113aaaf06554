// The tables of SQL with their columns, beside the editor: a click puts a name into the text.

import { useState } from "preact/hooks";
import { catalogue, fields } from "../api";
import { useAsked } from "../hooks";
import { plain } from "../series";
import { quotedSql } from "../sql";
import { OWN, WITHOUT_OWN } from "./own";
import { Failed } from "./small";

/** Tables that are listed; others are found by a part of their names. */
const TABLES_MAX = 200;

interface Props {
  database: string;
  onInsert: (name: string) => void;
}

export function Columns({ database, onInsert }: Props) {
  const [search, setSearch] = useState("");
  const asked = useAsked(JSON.stringify([database, search]), (signal) => {
    const isOwn = search !== "" && OWN.some((own) => own.startsWith(search.toLowerCase()) || search.startsWith(own));
    return catalogue("measurements", { db: database, search, limit: TABLES_MAX, without: isOwn ? "" : WITHOUT_OWN }, signal);
  });
  const names = asked.answer?.names ?? [];
  return (
    <>
      <input type="search" aria-label="Find a table" placeholder="Find a table" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      {asked.error && <Failed error={asked.error} />}
      <ul>{names.map((name) => <TableOf key={name} name={name} database={database} onInsert={onInsert} />)}</ul>
      {asked.answer && !names.length && <p class="note">There is none{search ? " of that name" : " yet"}.</p>}
      {asked.answer?.is_whole === false && <p class="note">There are more; find them by name.</p>}
    </>
  );
}

function TableOf({ name, database, onInsert }: Props & { name: string }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <button type="button" class="plain twist" aria-expanded={isOpen} aria-label={`Columns of ${plain(name)}`} onClick={() => setIsOpen(!isOpen)}>{isOpen ? "▾" : "▸"}</button>
      <Name name={name} kind="" onInsert={onInsert} />
      {isOpen && <ColumnsOf name={name} database={database} onInsert={onInsert} />}
    </li>
  );
}

/** A label that is called as a field is has another name as a column. */
async function columnsOf(database: string, table: string, signal: AbortSignal): Promise<[name: string, kind: string][]> {
  const [labels, stored] = await Promise.all([catalogue("labels", { db: database, measurement: table, limit: TABLES_MAX }, signal), fields(table, { db: database }, signal)]);
  const taken = new Set(stored.fields.map((field) => field.name));
  return [["time", "time"], ...labels.names.map((name): [string, string] => [taken.has(name) ? `${name}_1` : name, "label"]), ...stored.fields.map(({ name, kind }): [string, string] => [name, kind])];
}

function ColumnsOf({ name, database, onInsert }: Props & { name: string }) {
  const asked = useAsked(JSON.stringify([database, name]), (signal) => columnsOf(database, name, signal));
  return (
    <>
      {asked.error && <Failed error={asked.error} />}
      <ul>{asked.answer?.map(([column, kind]) => <li key={column}><Name name={column} kind={kind} onInsert={onInsert} /></li>)}</ul>
    </>
  );
}

/** A name that a click inserts; the editor keeps the focus, for its text is asked when it loses that. */
function Name({ name, kind, onInsert }: { name: string; kind: string; onInsert: (name: string) => void }) {
  return <button type="button" class="plain name" title={`Insert ${plain(name)}`} onMouseDown={(event) => event.preventDefault()} onClick={() => onInsert(quotedSql(name))}>{plain(name)}{kind && <span class="note"> {kind}</span>}</button>;
}
