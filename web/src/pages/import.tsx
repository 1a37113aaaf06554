// Import: a file is dropped, looked at, tried without storing anything, and then brought in.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Column, type Role, type Sheet, cellOf, cells, isValue, markedBy, rowsOf, timedBy } from "../csv";
import { database } from "../database";
import { FORMATS, type Format, type Plan, type Progress, bringFile } from "../importing";
import { held } from "../hooks";
import { type Looked, look } from "../looking";
import { Failed, Loading } from "../parts/small";
import { ZoneChoice } from "../parts/zone";
import { timeText } from "../time";
import { unreadLine } from "../typed";
import { format, many } from "../units";
import { exploring } from "../state";

interface Run {
  isDry: boolean;
  progress: Progress | null;
  /** How it came to its end, once it has: all of it was read, somebody ended it, or something was in its way. */
  end: "whole" | "cancelled" | "broken" | null;
  abort: AbortController;
}

const ROLES: [Role, string][] = [["time", "time"], ["measurement", "measurement"], ["field", "field's name"], ["kind", "kind of the value"], ["value", "value"], ["integer", "whole number"], ["unsigned", "unsigned number"], ["text", "text"], ["label", "label"], ["none", "left out"]];

const METRICS_LISTED = 50;

/** Rows of a file of columns that are shown. */
const ROWS_SHOWN = 4;

/** An import goes on while another page is looked at, and this page shows it again. */
const useChosen = held<Looked | null>(null);
const useRun = held<Run | null>(null);
const useError = held<Error | null>(null);

export function Import() {
  const [chosen, setChosen] = useChosen();
  const [run, setRun] = useRun();
  const [error, setError] = useError();
  const plan = chosen?.plan ?? null;
  const isElsewhere = plan !== null && plan.database !== database();
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
  const choose = async (file: File | undefined, wanted: Format | null = null) => {
    if (!file) return;
    run?.abort.abort();
    setRun(null);
    setError(null);
    setIsLooking(true);
    try {
      const found = await look(file, database(), wanted);
      setChosen(found);
      // Who has tried it as something else wants to know what it is as this.
      if (wanted && run?.isDry && found.plan && !lacksOf(found.plan).length) start(true, { file: found.file, plan: found.plan });
    } catch (failed) {
      setChosen(null);
      setError(failed as Error);
    }
    setIsLooking(false);
  };
  const set = (part: Partial<Plan>) => {
    if (!chosen || !plan) return;
    setChosen({ ...chosen, plan: { ...plan, ...part } });
    setRun(null);
  };
  const start = async (isDry: boolean, { file, plan }: { file: File; plan: Plan }) => {
    const abort = new AbortController();
    // What it is made of was seen by the dry run.
    const tried = isDry ? null : run?.progress;
    const seen = (progress: Progress): Progress => (tried ? { ...progress, metrics: tried.metrics, labels: tried.labels, start_ms: tried.start_ms, end_ms: tried.end_ms } : progress);
    setError(null);
    setRun({ isDry, progress: null, end: null, abort });
    try {
      const done = await bringFile(file, plan, isDry, abort.signal, (progress) => setRun({ isDry, progress: seen(progress), end: null, abort }));
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
  const sheet = plan?.sheet ?? null;
  const lacks = lacksOf(plan);
  const unit = sheet ? "row" : "line";
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
          ? <p class="bar"><b>{chosen.given.name}</b><span class="note">{format(chosen.given.size, "bytes")}{plan && (plan.database || isElsewhere) && `, into ${plan.database ? `the database ${plan.database}` : "the server's own database"}`}</span><span class="grow" /><button type="button" onClick={() => field.current?.click()}>Another file</button></p>
          : (
            <div class="empty">
              <svg viewBox="0 0 48 24" aria-hidden="true"><path d="M24 3v13M18 10l6 6 6-6M4 15v6h40v-6" /></svg>
              <p><strong>Drop a file here</strong></p>
              <p>CSV with a header, Parquet, lines of JSON, Influx lines, OpenTSDB's put lines or points as JSON, or the text of Prometheus' targets. Nothing is stored before you say so.</p>
              <p><button type="button" class="main" onClick={() => field.current?.click()}>Choose a file</button></p>
            </div>
          )}
      </section>
      {error && <Failed error={error} />}
      {isLooking && <Loading what="Looking at the file…" />}
      {chosen && (
        <section class="card">
          <div class="head"><h2>What it is</h2>
            <select aria-label="Format" value={chosen.format ?? ""} disabled={isBusy || isLooking} onChange={(event) => choose(chosen.given, event.currentTarget.value as Format)}>
              {!chosen.format && <option value="" disabled>choose a format</option>}
              {FORMATS.filter(([name]) => (name === "parquet") === (chosen.format === "parquet")).map(([name, title]) => <option key={name} value={name}>{title}</option>)}
            </select>
          </div>
          {chosen.fault && <p class="caution" role="alert">{chosen.fault}</p>}
          {plan && sheet && (
            <>
              {chosen.typed && chosen.typed.left.length > 0 && <p class="note">Left out, because they are lists or no plain values: {chosen.typed.left.join(", ")}.</p>}
              <SheetForm sheet={sheet} measurement={plan.measurement} lines={chosen.lines} onSheet={(next) => set({ sheet: next })} onDecimal={(decimal) => set({ sheet: markedBy(sheet, decimal, chosen.lines) })} onMeasurement={(measurement) => set({ measurement })} />
            </>
          )}
          {plan?.format === "influx" && (
            <label class="check">Times are in&nbsp;
              <select value={plan.precision} onChange={(event) => set({ precision: event.currentTarget.value as Plan["precision"] })}>
                <option value="s">seconds</option><option value="ms">milliseconds</option><option value="us">microseconds</option><option value="ns">nanoseconds</option>
              </select>
            </label>
          )}
          {!sheet && <pre class="command first-lines">{chosen.lines.slice(0, 5).join("\n")}</pre>}
          {plan && (
            <p class="bar">
              <button type="button" class={isTried ? "" : "main"} disabled={isBusy || isElsewhere || lacks.length > 0} onClick={() => start(true, { file: chosen.file, plan })}>Dry run</button>
              <button type="button" class={isTried ? "main" : ""} disabled={!isTried || isBusy || isElsewhere || !run?.progress?.rows} onClick={() => start(false, { file: chosen.file, plan })}>
                {isTried && run?.progress ? `Import ${many(run.progress.rows, `good ${unit}`)}` : "Import"}
              </button>
              {lacks.length > 0 && <span class="quiet">No column is a {lacks.join(", and none a ")}: choose {lacks.length > 1 ? "them" : "it"} above.{lacks.includes("value") && " Is there another mark before decimals than is chosen?"}</span>}
              {!lacks.length && !isTried && !isBusy && !run && <span class="note">A dry run reads all of it, says what is wrong by {unit}, and stores nothing. Import comes after it.</span>}
              {isBusy && <button type="button" onClick={() => run.abort.abort()}>Cancel</button>}
            </p>
          )}
          {run && <progress value={run.progress?.bytes ?? 0} max={Math.max(1, chosen.file.size)} aria-label="Read so far" />}
        </section>
      )}
      {run?.progress && plan && <Outcome run={run} progress={run.progress} plan={plan} />}
    </div>
  );
}

/** What a table must have and has not. */
function lacksOf(plan: Plan | null): ("time" | "value")[] {
  const columns = plan?.sheet?.columns;
  if (!columns) return [];
  return [...(columns.some(({ role }) => role === "time") ? [] : ["time" as const]), ...(columns.some(({ role }) => isValue(role)) ? [] : ["value" as const])];
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
  const rows = rowsOf(lines.slice(sheet.header).join("\n"), sheet.separator, sheet.header + 1).rows.filter((row) => row !== null && row !== "" && unreadLine(row) === null).slice(0, ROWS_SHOWN).map((row) => cells(row!, sheet.separator).map((cell) => cellOf(cell, sheet)));
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
        {!sheet.isExact && (
          <label class="check">Decimals stand behind a&nbsp;
            <select value={sheet.decimal} onChange={(event) => onDecimal(event.currentTarget.value as Sheet["decimal"])}>
              <option value=".">point, 1.5</option><option value=",">comma, 1,5</option>
            </select>
          </label>
        )}
        {sheet.isExact && <span class="note">This file says itself what its values are, as those do that are saved here: they come in as they were.</span>}
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
  plan: Plan;
}

function Outcome({ run: { isDry, end }, progress, plan: { format: of, sheet } }: OutcomeProps) {
  const unit = sheet ? "row" : "line";
  // Above the rows of a table that was made here stands a header that its file has not.
  const above = Number(sheet?.isMade ?? false);
  const metrics = [...progress.metrics].sort(([a], [b]) => (a < b ? -1 : 1));
  const isCut = end === "cancelled" || end === "broken";
  const said = isCut ? CUT[end] : !end ? (isDry ? "Reading…" : "Storing…") : isDry ? "This is what would be stored" : "Stored";
  const first = metrics[0]?.[0];
  return (
    <section class="card">
      <h2 aria-live="polite">{said}: {many(progress.samples, "sample")} in {many(progress.rows, unit)}{progress.refused > 0 && <span class="quiet">, {many(progress.refused, unit)} refused</span>}{progress.empty > 0 && <span class="quiet">, {many(progress.empty, unit)} without a value</span>}</h2>
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
          <h3 class="title">{sheet ? "Rows" : "Lines"} that are refused</h3>
          <div class="scroll" tabIndex={0} role="region" aria-label={`${sheet ? "Rows" : "Lines"} that are refused`}>
            <table class="bad-lines">
              <thead><tr><th scope="col" class="number">{of === "parquet" ? "Row" : "Line"}</th><th scope="col">What is wrong</th></tr></thead>
              <tbody>
                {progress.faults.map(({ line, field, message, text }, index) => (
                  <tr key={index}><td class="number">{line - above}</td><td><b>{field}</b>{sheet ? ` ${saidOfCell(message)}` : `: ${message}`}{text && <div class="code bad-line">{text}</div>}</td></tr>
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
