// What a file is that somebody chose to bring in, as it is told or as they say.

import { fields } from "./api";
import { type Column, type Role, type Sheet, isValue, sheetOf, typedBy } from "./csv";
import { faultOf, isGzip, isParquet, unpacked } from "./encoding";
import { type Format, LOOKED_AT_BYTES, type Plan, formatOf, influxPrecision } from "./importing";
import { isDocument, isJsonLines, unjsoned } from "./jsonlines";
import { fetchedParquet } from "./parts/later";
import { arePoints, unpointed } from "./points";
import type { Typed } from "./typed";

export interface Looked {
  /** As it was given. */
  given: File;
  /** What is brought in: its text, or what was made of it. */
  file: File;
  lines: string[];
  /** What it is taken for; nothing where nobody has said and it is not told. */
  format: Format | null;
  /** How it is brought in; nothing where it cannot be, and `fault` says why. */
  plan: Plan | null;
  fault: string;
  /** What its columns are by their kinds, where it was no CSV. */
  typed: Typed | null;
}

/** First lines that are looked at. */
const LINES_MAX = 200;

const firstBytes = async (file: File) => new Uint8Array(await file.slice(0, LOOKED_AT_BYTES).arrayBuffer());

function firstLines(file: File, bytes: Uint8Array): string[] {
  const lines = new TextDecoder().decode(bytes).split("\n");
  // The last one may be cut.
  if (file.size > LOOKED_AT_BYTES) lines.pop();
  return lines.slice(0, LINES_MAX);
}

/** The columns of a table: as its file says, as their types say, or as they look. */
export function readAs(lines: string[], typed: Typed | null): Sheet | null {
  const sheet = sheetOf(lines, undefined, typed !== null);
  return sheet && typed ? typedBy(sheet, typed, lines) : sheet;
}

const NOT_TOLD = "What this file is cannot be told: choose above. CSV has a header, lines of JSON have an object each. foliot import on the command line knows dumps of OpenTSDB, TickTock and InfluxDB.";

const NO_COLUMNS = "As a table, this has one column at most, or no header above its rows, and a time and a value are needed. Is it another format?";

/** Looks at a file, taking it for what it looks like or for what somebody says that it is. An error is thrown where it is nothing that anybody could choose. */
export async function look(given: File, into: string, wanted: Format | null = null): Promise<Looked> {
  const first = await firstBytes(given);
  const file = isGzip(first) ? await unpacked(given) : given;
  const bytes = file === given ? first : await firstBytes(file);
  if (isParquet(bytes)) return tabled({ given, file, lines: [], format: "parquet", plan: null, fault: "", typed: null }, into, await fetchedParquet().then(({ unparquet }) => unparquet(file)));
  const fault = /\.parquet$/i.test(file.name) && bytes.includes(0) ? "This file is called Parquet, but does not begin as such a file does: it is another one, or its beginning is lost. Write or copy it anew." : faultOf(bytes);
  if (fault) throw new Error(fault);
  if (arePoints(bytes) && (wanted ?? "opentsdb") === "opentsdb") {
    const made = await unpointed(file);
    return planned({ given, file: made, lines: firstLines(made, await firstBytes(made)), format: "opentsdb", plan: null, fault: "", typed: null }, into, null);
  }
  const lines = firstLines(file, bytes);
  if (isDocument(bytes)) throw new Error("This file is one document of JSON, as an answer that was saved as JSON is. Lines of JSON come in, an object each, and so do CSV, Parquet and points as /api/put takes them: save it as one of these.");
  if (!lines.some((line) => line.trim())) throw new Error(file.size ? "This file has nothing but blank lines." : "This file is empty.");
  const format = wanted ?? (isJsonLines(bytes) ? "json" : formatOf(lines, file.name));
  const looked: Looked = { given, file, lines, format, plan: null, fault: "", typed: null };
  if (!format) return { ...looked, fault: NOT_TOLD };
  if (format === "csv") return known(planned(looked, into, readAs(lines, null)));
  if (format !== "json") return planned(looked, into, null);
  try {
    return await tabled(looked, into, await unjsoned(file));
  } catch (error) {
    return { ...looked, fault: (error as Error).message };
  }
}

/** The same with a table that was made of it. */
async function tabled(looked: Looked, into: string, typed: Typed): Promise<Looked> {
  const lines = firstLines(typed.file, await firstBytes(typed.file));
  return known(planned({ ...looked, file: typed.file, lines, typed }, into, readAs(lines, typed)));
}

/** What a column of numbers or texts is where the field is there already. */
const AS_STORED: Record<string, Role> = { float: "value", integer: "integer", unsigned: "unsigned", boolean: "value", string: "text" };

/** The same with columns as fields of their names are stored: values of another kind would be refused. What nobody can ask stays. */
async function known(looked: Looked): Promise<Looked> {
  const { plan } = looked;
  if (!plan?.sheet || plan.sheet.isExact || plan.sheet.columns.some(({ role }) => role === "measurement" || role === "field")) return looked;
  const stored = await fields(plan.measurement, { db: plan.database }).then(({ fields }) => new Map(fields.map(({ name, kind }) => [name, kind])), () => new Map<string, string>());
  const columns = plan.sheet.columns.map(({ name, role }): Column => {
    const kind = AS_STORED[stored.get(name) ?? ""];
    const isText = role === "label" || role === "text";
    return { name, role: kind && (isValue(role) || role === "label") && isText === (kind === "text") ? kind : role };
  });
  return { ...looked, plan: { ...plan, sheet: { ...plan.sheet, columns } } };
}

/** The same with what is to be done. */
function planned(looked: Looked, into: string, sheet: Sheet | null): Looked {
  const format = looked.format!;
  if (!sheet && ["csv", "json", "parquet"].includes(format)) return { ...looked, fault: NO_COLUMNS };
  const measurement = looked.file.name.replace(/\.[^.]*$/, "").replace(/[^\w.-]+/g, "_") || "imported";
  return { ...looked, plan: { format, precision: influxPrecision(looked.lines), sheet, measurement, database: into } };
}
