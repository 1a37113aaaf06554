// The kinds of files that answers are saved as, which are fetched when somebody wants one.

import { useMemo, useState } from "preact/hooks";
import { databases } from "../api";
import type { Outcomes } from "../asking";
import { link } from "../code";
import { type Filed, columnsOf, csv, filed, json, jsonLines, tableColumnsOf, tablesCsv, tablesJson, tablesJsonLines } from "../download";
import { bodyOf } from "../question";
import { many } from "../units";
import { fetchedParquet } from "./later";
import { save, shortened } from "./small";

interface Props {
  found: Outcomes | null;
  database: string;
  close: () => void;
}

type Pieces = (string | ArrayBuffer)[];

async function parquet({ series, tables }: Filed): Promise<Pieces> {
  const { parquetOf } = await fetchedParquet();
  return [parquetOf(series.length ? columnsOf(series) : tableColumnsOf(tables))];
}

type Way = [title: string, ending: string, kind: string, make: (one: Filed) => Promise<Pieces>];

const WAYS: Way[] = [
  ["CSV", "csv", "text/csv", async ({ series, tables }) => (series.length ? csv(series) : [tablesCsv(tables)])],
  ["JSON", "json", "application/json", async ({ series, tables }) => (series.length ? json(series) : [tablesJson(tables)])],
  ["JSON lines", "jsonl", "application/x-ndjson", async ({ series, tables }) => (series.length ? jsonLines(series) : [tablesJsonLines(tables)])],
  ["Parquet", "parquet", "application/vnd.apache.parquet", parquet],
];

/** Saves answers, each in a file of its own. */
async function saveAll(all: Filed[], [, ending, kind, make]: Way) {
  for (const [at, one] of all.entries()) save(`foliot${all.length > 1 ? `-${at + 1}` : ""}.${ending}`, kind, await make(one));
}

/** Files that the server writes whole. */
const WHOLE: ["csv" | "jsonl", string][] = [["csv", "CSV"], ["jsonl", "JSON lines"]];

/** Has the server write all rows of a statement, which never are in the page. */
async function saveWhole(statement: string, format: "csv" | "jsonl", { span, stepMs }: Pick<Outcomes, "span" | "stepMs">, database: string) {
  const name = database || (await databases()).own;
  const anchor = document.createElement("a");
  anchor.href = link(location.origin, name, bodyOf({ language: "sql", text: statement, isForm: false, isHidden: false }, span, stepMs), format);
  anchor.download = `foliot.${format}`;
  anchor.click();
}

interface AllRowsProps {
  statement: string;
  found: Pick<Outcomes, "span" | "stepMs">;
  database: string;
  onSaved?: () => void;
}

/** Has all rows of a statement saved, of which the page has the first. */
export function AllRows({ statement, found, database, onSaved }: AllRowsProps) {
  const [said, setSaid] = useState("");
  return (
    <>
      {WHOLE.map(([format, title]) => (
        <button
          key={format} type="button" title={`Also those that have no room here: ${shortened(statement)}`}
          onClick={() => saveWhole(statement, format, found, database).then(() => { setSaid(""); onSaved?.(); }, (error: unknown) => setSaid((error as Error).message))}
        >All rows, {title}</button>
      ))}
      {said && <span class="note" role="alert">{said}</span>}
    </>
  );
}

export function Download({ found, database, close }: Props) {
  const [said, setSaid] = useState("");
  const [chosen, setChosen] = useState(-1);
  const all = useMemo(() => filed(found?.outcomes ?? []), [found]);
  const meant = all[chosen] ? [all[chosen]] : all;
  const tell = (error: unknown) => setSaid((error as Error).message);
  return (
    <>
      {!all.length && <span class="note">There is no answer yet.</span>}
      {all.length > 1 && (
        <select aria-label="Answer" value={String(chosen)} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
          <option value="-1">All {all.length} answers, a file for each</option>
          {all.map(({ title }, at) => <option key={at} value={String(at)}>{at + 1}: {shortened(title, 50)}</option>)}
        </select>
      )}
      {WAYS.map((way) => (
        <button key={way[0]} type="button" class="plain" disabled={!all.length} onClick={() => saveAll(meant, way).then(close, tell)}>{way[0]}</button>
      ))}
      {found && meant.filter(({ isCut }) => isCut).map(({ statement, tables }, at) => (
        <span key={at} class="whole">
          <span class="note">These have the first {many(tables.reduce((rows, table) => rows + table.rows.length, 0), "row")}{meant.length > 1 && ` of ${shortened(statement!, 50)}`}. As Parquet all are written by <code>foliot query --format parquet</code>.</span>
          <AllRows statement={statement!} found={found} database={database} onSaved={close} />
        </span>
      ))}
      {said && <span class="note" role="alert">{said}</span>}
    </>
  );
}
