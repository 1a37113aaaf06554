// Takes samples of a metric, or of whatever has a label, away, after it has told how many.

import { useRef, useState } from "preact/hooks";
import { type Doomed, Refusal, type Taken, status, take } from "../api";
import { database } from "../database";
import { type Meant, doomed } from "../doomed";
import { useLong } from "../hooks";
import { timeText } from "../time";
import type { Filter } from "../question";
import { plain } from "../series";
import { metricAddress } from "../scope";
import { format, many } from "../units";
import { AuditOf } from "./audit";
import { Filters } from "./filters";
import { Failed } from "./small";

interface Preview {
  doomed: Doomed;
  taken: Taken;
  /** When the server that counted was started, by its own clock. */
  begunMs: number;
}

/** Starts that lie nearer to each other are one, whose clock was moved a little. */
const SAME_START_MS = 5000;

const begun = async () => {
  const { now_ms, uptime_ms } = await status();
  return now_ms - uptime_ms;
};

interface Props {
  meant: Meant;
  /** What labels are compared with to begin with. */
  begun?: Filter[];
  /** What is typed before anything of several metrics goes. */
  name: string;
  /** Hears what went, in words. */
  onDone: (said: string) => void;
  turn: number;
}

export function Delete({ meant, begun: first = [], name, onDone, turn }: Props) {
  const [filters, setFilters] = useState(first);
  const [typed, setTyped] = useState("");
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [preview, setPreview] = useState<Preview | null>(null);
  const [said, setSaid] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const isLong = useLong(isBusy);
  const abort = useRef<AbortController | null>(null);
  const outcome = useRef<HTMLParagraphElement>(null);
  // What was counted is what goes: any change asks for another count.
  const changing = <T,>(set: (value: T) => void) => (value: T) => {
    set(value);
    setPreview(null);
    setTyped("");
    setSaid("");
  };
  const typing = (set: (text: string) => void) => (event: { currentTarget: HTMLInputElement }) => changing(set)(event.currentTarget.value);
  const isSure = meant.metric !== undefined || typed === name;
  const guarded = async (work: (signal: AbortSignal) => Promise<void>) => {
    if (isBusy) return;
    const { signal } = abort.current = new AbortController();
    setIsBusy(true);
    setError(null);
    try {
      await work(signal);
    } catch (failed) {
      if (signal.aborted) {
        setPreview(null);
        setSaid("Ended. Count again to see what is there.");
      } else {
        setError(failed as Error);
        // What was asked may have been done all the same.
        setPreview(null);
        if (failed instanceof Refusal && failed.isSilence) setSaid("No answer came. What was wanted may have been done: count again to see what is there.");
      }
    }
    setIsBusy(false);
  };
  const count = () => guarded(async (signal) => {
    const wanted = doomed(meant, filters, from, to, Date.now());
    if (typeof wanted === "string") throw new Error(wanted);
    const begunMs = await begun();
    const taken = await take(database(), wanted, true, signal);
    setSaid(taken.samples ? "" : "There is nothing of that to delete.");
    setPreview(taken.samples ? { doomed: wanted, taken, begunMs } : null);
  });
  const go = ({ doomed: wanted, taken: counted, begunMs }: Preview) => guarded(async (signal) => {
    // Another server at this address may have another store.
    if (Math.abs(await begun() - begunMs) > SAME_START_MS) throw new Error("The server was started anew since this was counted. Nothing is deleted: count again.");
    const taken = await take(database(), wanted, false, signal);
    // The button that had the focus goes; what became of it is read next.
    outcome.current?.focus();
    setPreview(null);
    setTyped("");
    const differs = taken.samples !== counted.samples;
    const went = `Deleted: ${many(taken.samples, "sample")} of ${format(taken.series)} series${differs ? `; ${format(counted.samples)} of ${format(counted.series)} had been counted, before others came or went` : ""}. The audit log says so.`;
    setSaid(went);
    onDone(went);
  });
  return (
    <section class="card wide delete">
      <h2 class="name">{meant.metric === undefined ? `Delete samples with ${plain(name)}` : "Delete samples"}</h2>
      <form onSubmit={(event) => { event.preventDefault(); count(); }}>
        <div class="filters">
          {Object.entries(meant.labels ?? {}).map(([label, value]) => <b key={label} class="name">{plain(label)}={plain(value)}</b>)}
          <Filters filters={filters} areLines={false} of={{ db: database(), ...(meant.metric ? { metric: meant.metric } : {}) }} onChange={changing(setFilters)} />
        </div>
        <label>From, the first if empty<input type="text" placeholder="30d-ago" value={from} onInput={typing(setFrom)} /></label>
        <label>To, now if empty<input type="text" placeholder="7d-ago" value={to} onInput={typing(setTo)} /></label>
        <button type="submit" aria-disabled={isBusy}>Count what would go</button>
        {preview && meant.metric === undefined && (
          <label>Type {name} to confirm<input type="text" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} /></label>
        )}
        {preview && (
          <button type="button" class="danger" aria-disabled={isBusy || !isSure} onClick={() => isSure && go(preview)}>
            Delete {many(preview.taken.samples, "sample")} of {format(preview.taken.series)} series, about {format(preview.taken.bytes, "bytes")}
          </button>
        )}
        {isLong && <button type="button" onClick={() => abort.current?.abort()}>Cancel</button>}
      </form>
      {isLong && <progress aria-label="It goes on" />}
      {error && <Failed error={error} />}
      <p class="note" role="status" ref={outcome} tabIndex={-1}>{said || (preview ? `${preview.doomed.start_ms === undefined ? "From the first" : `From ${timeText(preview.doomed.start_ms, "local")}`} to ${timeText(preview.doomed.end_ms!, "local")}. This cannot be undone.` : "Nothing goes before it is counted.")}</p>
      {preview && meant.metric === undefined && <Concerned of={preview.taken} />}
      {meant.metric !== undefined && <AuditOf metric={meant.metric} turn={turn} />}
    </section>
  );
}

/** Which metrics would lose samples, those first that lose most. */
function Concerned({ of: { metrics = [], metrics_total: total = 0 } }: { of: Taken }) {
  return (
    <>
      <h3>{many(total, "metric")} {total === 1 ? "loses" : "lose"} samples</h3>
      <ul class="ranks">
        {metrics.map(({ name, series, samples, bytes }) => (
          <li key={name}><a href={metricAddress(name)}>{plain(name)}</a><span>{many(samples, "sample")} of {format(series)} series, about {format(bytes, "bytes")}</span></li>
        ))}
      </ul>
      {total > metrics.length && <p class="note">And {format(total - metrics.length)} others.</p>}
    </>
  );
}
