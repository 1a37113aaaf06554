// Import: a file is dropped, looked at, tried without storing anything, and then brought in.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Column, type Role, type Sheet, type Typed, cells, isValue, markedBy, rowsOf, sheetOf, timedBy, typedBy } from "../csv";
import { database } from "../database";
import { FORMATS, type Format, LOOKED_AT_BYTES, type Plan, type Progress, bringFile, formatOf, influxPrecision } from "../importing";
import { faultOf, isGzip, isParquet, unpacked } from "../encoding";
import { held } from "../hooks";
import { isJsonLines, unjsoned } from "../jsonlines";
import { fetchedParquet } from "../parts/later";
import { Failed, Loading } from "../parts/small";
import { ZoneChoice } from "../parts/zone";
import { timeText } from "../time";
import { format, many } from "../units";
import { exploring } from "../state";

interface Chosen {
  file: File;
  lines: string[];
  plan: Plan;
  /** What its columns are by their kinds, where it was no CSV. */
  typed: Typed | null;
}

interface Run {
  isDry: boolean;
  progress: Progress | null;
  /** How it came to its end, once it has: all of it was read, somebody ended it, or something was in its way. */
  end: "whole" | "cancelled" | "broken" | null;
  abort: AbortController;
}

const ROLES: [Role, string][] = [["time", "time"], ["measurement", "measurement"], ["field", "field's name"], ["value", "value"], ["integer", "whole number"], ["unsigned", "unsigned number"], ["text", "text"], ["label", "label"], ["none", "left out"]];

const METRICS_LISTED = 50;

/** Rows of a file of columns that are shown. */
const ROWS_SHOWN = 4;

/** An import goes on while another page is looked at, and this page shows it again. */
const useChosen = held<Chosen | null>(null);
const useRun = held<Run | null>(null);
const useError = held<Error | null>(null);

const firstBytes = async (file: File) => new Uint8Array(await file.slice(0, LOOKED_AT_BYTES).arrayBuffer());

async function look(given: File): Promise<Chosen> {
  const first = await firstBytes(given);
  const typed = isParquet(first) ? await fetchedParquet().then(({ unparquet }) => unparquet(given)) : null;
  const plain = typed?.file ?? (isGzip(first) ? await unpacked(given) : given);
  return isJsonLines(await firstBytes(plain)) ? lookAt(await unjsoned(plain)) : lookAt(typed ?? plain);
}

async function lookAt(given: File | Typed): Promise<Chosen> {
  const typed = given instanceof File ? null : given;
  const file = given instanceof File ? given : given.file;
  const bytes = await firstBytes(file);
  // What was made here is text.
  const fault = typed ? "" : faultOf(bytes);
  if (fault) throw new Error(fault);
  const text = new TextDecoder().decode(bytes);
  if (!text.trim()) throw new Error(file.size ? "This file has nothing but blank lines." : "This file is empty.");
  const lines = text.split("\n").slice(0, 200);
  if (file.size > LOOKED_AT_BYTES) lines.pop();
  const found = typed ? "csv" : formatOf(lines, file.name);
  if (!found) throw new Error("This is neither CSV with a header, nor Parquet, lines of JSON, Influx lines, OpenTSDB lines or Prometheus text. foliot import on the command line knows dumps of OpenTSDB, TickTock and InfluxDB.");
  const sheet = found === "csv" ? readAs(lines, typed) : null;
  if (typed && !sheet) throw new Error("The rows of this file have one column at most, and a time and a value are needed.");
  const measurement = file.name.replace(/\.[^.]*$/, "").replace(/[^\w.-]+/g, "_") || "imported";
  const plan: Plan = { format: found, precision: influxPrecision(lines), sheet, measurement, database: database() };
  return { file, lines, plan, typed };
}

/** The columns of a table: as their types say, or as they look. */
function readAs(lines: string[], typed: Typed | null): Sheet | null {
  const sheet = sheetOf(lines);
  return sheet && typed ? typedBy(sheet, typed, lines) : sheet;
}

export function Import() {
  const [chosen, setChosen] = useChosen();
  const [run, setRun] = useRun();
  const [error, setError] = useError();
  const isElsewhere = chosen !== null && chosen.plan.database !== database();
  // What was only looked at belongs to the database that was chosen then.
  useEffect(() => {
    if (!isElsewhere || (run && !run.isDry)) return;
    run?.abort.abort();
    setChosen(null);
    setRun(null);
    setError(null);
  }, []);
  const [isOver, setIsOver] = useState(false);
  const [isLooking, setIsLooking] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const choose = async (file: File | undefined) => {
    if (!file) return;
    run?.abort.abort();
    setRun(null);
    setError(null);
    setIsLooking(true);
    try {
      setChosen(await look(file));
    } catch (failed) {
      setChosen(null);
      setError(failed as Error);
    }
    setIsLooking(false);
  };
  const set = (part: Partial<Plan>) => {
    if (!chosen) return;
    const plan = { ...chosen.plan, ...part };
    if (part.format === "csv") plan.sheet = readAs(chosen.lines, chosen.typed);
    setChosen({ ...chosen, plan });
    setRun(null);
  };
  const start = async (isDry: boolean) => {
    if (!chosen) return;
    const abort = new AbortController();
    // What it is made of was seen by the dry run.
    const tried = isDry ? null : run?.progress;
    const seen = (progress: Progress): Progress => (tried ? { ...progress, metrics: tried.metrics, labels: tried.labels, start_ms: tried.start_ms, end_ms: tried.end_ms } : progress);
    setError(null);
    setRun({ isDry, progress: null, end: null, abort });
    try {
      const done = await bringFile(chosen.file, chosen.plan, isDry, abort.signal, (progress) => setRun({ isDry, progress: seen(progress), end: null, abort }));
      setRun({ isDry, progress: seen(done), end: "whole", abort });
    } catch (failed) {
      if (abort.signal.aborted) setRun((before) => (before ? { ...before, end: "cancelled" } : null));
      else {
        setRun((before) => (before?.progress ? { ...before, end: "broken" } : null));
        setError(failed as Error);
      }
    }
  };
  const isBusy = run !== null && run.end === null;
  const sheet = chosen?.plan.format === "csv" ? chosen.plan.sheet : null;
  const lacks = sheet ? [...(sheet.columns.some(({ role }) => role === "time") ? [] : ["time"]), ...(sheet.columns.some(({ role }) => isValue(role)) ? [] : ["value"])] : [];
  const isTried = run !== null && run.end === "whole" && run.isDry && run.progress !== null;
  return (
    <div class="import">
      <section
        class={`card drop ${isOver ? "over" : ""}`}
        onDragOver={(event) => { event.preventDefault(); setIsOver(true); }} onDragLeave={() => setIsOver(false)}
        onDrop={(event) => { event.preventDefault(); setIsOver(false); choose(event.dataTransfer?.files[0]); }}
      >
        <input ref={field} type="file" class="unseen" aria-label="File to import" tabIndex={-1} onChange={(event) => choose(event.currentTarget.files?.[0])} />
        {chosen
          ? <p class="bar"><b>{chosen.file.name}</b><span class="note">{format(chosen.file.size, "bytes")}{(chosen.plan.database || isElsewhere) && `, into ${chosen.plan.database ? `the database ${chosen.plan.database}` : "the server's own database"}`}</span><span class="grow" /><button type="button" onClick={() => field.current?.click()}>Another file</button></p>
          : (
            <div class="empty">
              <svg viewBox="0 0 48 24" aria-hidden="true"><path d="M24 3v13M18 10l6 6 6-6M4 15v6h40v-6" /></svg>
              <p><strong>Drop a file here</strong></p>
              <p>CSV with a header, Parquet, lines of JSON, Influx lines, OpenTSDB's put lines, or the text of Prometheus' targets. Nothing is stored before you say so.</p>
              <p><button type="button" class="main" onClick={() => field.current?.click()}>Choose a file</button></p>
            </div>
          )}
      </section>
      {error && <Failed error={error} />}
      {isLooking && <Loading what="Looking at the file…" />}
      {chosen && (
        <section class="card">
          <div class="head"><h2>What it is</h2>
            <select aria-label="Format" value={chosen.plan.format} disabled={isBusy} onChange={(event) => set({ format: event.currentTarget.value as Format })}>
              {FORMATS.map(([name, title]) => <option key={name} value={name}>{title}</option>)}
            </select>
          </div>
          {chosen.plan.format === "csv" && chosen.plan.sheet && (
            <>
              {chosen.typed && chosen.typed.left.length > 0 && <p class="note">Left out, because they are lists or no plain values: {chosen.typed.left.join(", ")}.</p>}
              <SheetForm sheet={chosen.plan.sheet} measurement={chosen.plan.measurement} lines={chosen.lines} onSheet={(sheet) => set({ sheet })} onDecimal={(decimal) => set({ sheet: markedBy(chosen.plan.sheet!, decimal, chosen.lines) })} onMeasurement={(measurement) => set({ measurement })} />
            </>
          )}
          {chosen.plan.format === "influx" && (
            <label class="check">Times are in&nbsp;
              <select value={chosen.plan.precision} onChange={(event) => set({ precision: event.currentTarget.value as Plan["precision"] })}>
                <option value="s">seconds</option><option value="ms">milliseconds</option><option value="us">microseconds</option><option value="ns">nanoseconds</option>
              </select>
            </label>
          )}
          {chosen.plan.format !== "csv" && <pre class="command first-lines">{chosen.lines.slice(0, 5).join("\n")}</pre>}
          <p class="bar">
            <button type="button" class={isTried ? "" : "main"} disabled={isBusy || isElsewhere || lacks.length > 0} onClick={() => start(true)}>Dry run</button>
            <button type="button" class={isTried ? "main" : ""} disabled={!isTried || isBusy || isElsewhere || !run?.progress?.rows} onClick={() => start(false)}>
              {isTried && run?.progress ? `Import ${many(run.progress.rows, "good line")}` : "Import"}
            </button>
            {lacks.length > 0 && <span class="quiet">No column is a {lacks.join(", and none a ")}: choose {lacks.length > 1 ? "them" : "it"} above.{lacks.includes("value") && " Is there another mark before decimals than is chosen?"}</span>}
            {!lacks.length && !isTried && !isBusy && !run && <span class="note">A dry run reads all of it, says what is wrong by line, and stores nothing. Import comes after it.</span>}
            {isBusy && <button type="button" onClick={() => run.abort.abort()}>Cancel</button>}
          </p>
          {run && <progress value={run.progress?.bytes ?? 0} max={Math.max(1, chosen.file.size)} aria-label="Read so far" />}
        </section>
      )}
      {run?.progress && <Outcome run={run} progress={run.progress} isSheet={chosen?.plan.format === "csv"} isTyped={Boolean(chosen?.typed)} />}
    </div>
  );
}

interface SheetProps {
  sheet: Sheet;
  measurement: string;
  lines: string[];
  onSheet: (sheet: Sheet) => void;
  /** With another decimal mark, other columns may be numbers. */
  onDecimal: (decimal: Sheet["decimal"]) => void;
  onMeasurement: (measurement: string) => void;
}

function SheetForm({ sheet, measurement, lines, onSheet, onDecimal, onMeasurement }: SheetProps) {
  const rows = rowsOf(lines.slice(sheet.header).join("\n"), sheet.separator, sheet.header + 1).rows.filter((row) => row !== null && row !== "").slice(0, ROWS_SHOWN).map((row) => cells(row!, sheet.separator));
  const setRole = (at: number, role: Role) => onSheet(role === "time"
    ? timedBy(sheet, at, lines)
    : { ...sheet, columns: sheet.columns.map((column, index): Column => (index === at ? { ...column, role } : column)) });
  const timeAt = sheet.columns.findIndex(({ role }) => role === "time");
  const isSlashed = rows.some((row) => row[timeAt]?.includes("/"));
  const isTimed = sheet.columns.some(({ role }) => role === "time");
  return (
    <>
      <div class="bar">
        <label class="check">Measurement{sheet.columns.some(({ role }) => role === "measurement") && " of rows that name none"}&nbsp;<input type="text" value={measurement} onInput={(event) => onMeasurement(event.currentTarget.value)} /></label>
        <label class="check">Decimals stand behind a&nbsp;
          <select value={sheet.decimal} onChange={(event) => onDecimal(event.currentTarget.value as Sheet["decimal"])}>
            <option value=".">point, 1.5</option><option value=",">comma, 1,5</option>
          </select>
        </label>
        {isTimed && (
          <label class="check">Times are&nbsp;
            <select value={sheet.precision} onChange={(event) => onSheet({ ...sheet, precision: event.currentTarget.value as Sheet["precision"] })}>
              <option value="date">dates</option><option value="s">seconds</option><option value="ms">milliseconds</option><option value="us">microseconds</option><option value="ns">nanoseconds</option>
            </select>
            {sheet.precision === "date" && <>&nbsp;of&nbsp;<ZoneChoice zone={sheet.zone} onChange={(zone) => onSheet({ ...sheet, zone })} /></>}
            {sheet.precision === "date" && <span class="note">&nbsp;as 2026-11-28 13:30:00, 28.11.2026 13:30, 28/11/2026; a date may name another zone</span>}
          </label>
        )}
        {isTimed && sheet.precision === "date" && isSlashed && (
          <label class="check">With slashes, first stands the&nbsp;
            <select value={sheet.slashed} onChange={(event) => onSheet({ ...sheet, slashed: event.currentTarget.value as Sheet["slashed"] })}>
              <option value="day">day, 28/11/2026</option><option value="month">month, 11/28/2026</option>
            </select>
          </label>
        )}
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Columns">
        <table class="sheet">
          <thead>
            <tr>{sheet.columns.map(({ name }, at) => <th scope="col" key={at}>{name || "(no name)"}</th>)}</tr>
            <tr>
              {sheet.columns.map(({ name, role }, at) => (
                <td key={at}><select aria-label={`What ${name} is`} value={role} onChange={(event) => setRole(at, event.currentTarget.value as Role)}>{ROLES.map(([value, title]) => <option key={value} value={value}>{title}</option>)}</select></td>
              ))}
            </tr>
          </thead>
          <tbody>{rows.map((row, index) => <tr key={index}>{sheet.columns.map((_, at) => <td key={at} class="code">{row[at]}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </>
  );
}

/** What is said of an end that was none. */
const CUT = { cancelled: "Cancelled", broken: "Stopped before the end of the file" };

/** What is said of lines of Influx that were made of cells. */
const OF_CELLS: [RegExp, string][] = [
  [/invalid integer|bad integer|unable to parse integer/, "is no whole number; the column may be a value with decimals"],
  [/invalid boolean/, "is no number; the column may be a label, or have another mark before its decimals"],
  [/bad timestamp/, "is no time as it was chosen above: dates are 2026-11-28 13:30:00, 28.11.2026 13:30 or 28/11/2026 13:30, and numbers have the unit that is chosen"],
];

const saidOfCell = (message: string) => OF_CELLS.find(([pattern]) => pattern.test(message))?.[1] ?? message;

interface OutcomeProps {
  run: Run;
  progress: Progress;
  isSheet: boolean;
  /** Whether its lines were made of rows, below a header. */
  isTyped: boolean;
}

function Outcome({ run: { isDry, end }, progress, isSheet, isTyped }: OutcomeProps) {
  const metrics = [...progress.metrics].sort(([a], [b]) => (a < b ? -1 : 1));
  const isCut = end === "cancelled" || end === "broken";
  const said = isCut ? CUT[end] : !end ? (isDry ? "Reading…" : "Storing…") : isDry ? "This is what would be stored" : "Stored";
  const first = metrics[0]?.[0];
  return (
    <section class="card">
      <h2 aria-live="polite">{said}: {many(progress.samples, "sample")} in {many(progress.rows, "line")}{progress.refused > 0 && <span class="quiet">, {format(progress.refused)} refused</span>}{progress.empty > 0 && <span class="quiet">, {format(progress.empty)} without a value</span>}</h2>
      {progress.empty > 0 && <p class="note">Rows without a value in a column of values are left out.</p>}
      {!isDry && isCut && <p class="note">What was stored before stays; the same file may be brought in again, and the same samples are stored once.</p>}
      {!isDry && end && <p><a class="button" href="#/metrics">See its metrics</a> {first && <a class="button" href={exploring(first)}>Explore {first}</a>}</p>}
      {progress.start_ms !== null && progress.end_ms !== null && (
        <p class="note">from {timeText(progress.start_ms, "local")} to {timeText(progress.end_ms, "local")}; labels: {[...progress.labels].join(", ") || "none"}</p>
      )}
      {metrics.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Metrics of the file">
          <table>
            <thead><tr><th scope="col">Metric</th><th scope="col">Kind</th><th scope="col" class="number">Samples</th></tr></thead>
            <tbody>{metrics.slice(0, METRICS_LISTED).map(([name, { kind, samples }]) => <tr key={name}><td>{name}</td><td>{kind}</td><td class="number">{format(samples)}</td></tr>)}</tbody>
          </table>
          {metrics.length > METRICS_LISTED && <p class="note">{metrics.length - METRICS_LISTED} more.</p>}
        </div>
      )}
      {progress.faults.length > 0 && (
        <>
          <h3 class="title">Lines that are refused</h3>
          <div class="scroll" tabIndex={0} role="region" aria-label="Lines that are refused">
            <table>
              <thead><tr><th scope="col" class="number">{isTyped ? "Row" : "Line"}</th><th scope="col">What is wrong</th></tr></thead>
              <tbody>
                {progress.faults.map(({ line, field, message, text }, index) => (
                  <tr key={index}><td class="number">{line - Number(isTyped)}</td><td><b>{field}</b>{isSheet ? ` ${saidOfCell(message)}` : `: ${message}`}{text && <div class="code bad-line">{text}</div>}</td></tr>
                ))}
              </tbody>
            </table>
          </div>
          {progress.refused > progress.faults.length && <p class="note">The first {progress.faults.length} of {format(progress.refused)}.</p>}
        </>
      )}
    </section>
  );
}
