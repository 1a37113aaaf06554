// What is shown, as a file.

import { useState } from "preact/hooks";
import type { Table } from "../api";
import { columnsOf, csv, json, jsonLines, tableColumnsOf, tablesCsv, tablesJson, tablesJsonLines } from "../download";
import type { Series } from "../series";
import { Menu } from "./menu";
import { fetchedParquet } from "./later";
import { save } from "./small";

interface Props {
  series: Series[];
  tables: Table[];
}

type Pieces = (string | ArrayBuffer)[];

async function parquet({ series, tables }: Props): Promise<Pieces> {
  const { parquetOf } = await fetchedParquet();
  return [parquetOf(series.length ? columnsOf(series) : tableColumnsOf(tables))];
}

const WAYS: [title: string, ending: string, kind: string, make: (props: Props) => Promise<Pieces>][] = [
  ["CSV", "csv", "text/csv", async ({ series, tables }) => (series.length ? csv(series) : [tablesCsv(tables)])],
  ["JSON", "json", "application/json", async ({ series, tables }) => (series.length ? json(series) : [tablesJson(tables)])],
  ["JSON lines", "jsonl", "application/x-ndjson", async ({ series, tables }) => (series.length ? jsonLines(series) : [tablesJsonLines(tables)])],
  ["Parquet", "parquet", "application/vnd.apache.parquet", parquet],
];

export function Download(props: Props) {
  const [said, setSaid] = useState("");
  const isEmpty = !props.series.length && !props.tables.length;
  return (
    <Menu title="Download">
      {(close) => (
        <>
          {isEmpty && <span class="note">There is no answer yet.</span>}
          {WAYS.map(([title, ending, kind, make]) => (
            <button
              key={title} type="button" class="plain" disabled={isEmpty}
              onClick={() => make(props).then((pieces) => { save(`foliot.${ending}`, kind, pieces); close(); }, (error) => setSaid((error as Error).message))}
            >
              {title}
            </button>
          ))}
          {said && <span class="note" role="alert">{said}</span>}
        </>
      )}
    </Menu>
  );
}
