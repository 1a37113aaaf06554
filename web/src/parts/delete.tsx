// Takes samples of a metric away, after it has told how many.

import { useRef, useState } from "preact/hooks";
import { type Doomed, Refusal, type Taken, status, take } from "../api";
import { database } from "../database";
import { doomed } from "../doomed";
import { useLong } from "../hooks";
import { timeText } from "../time";
import { format, many } from "../units";
import { AuditOf } from "./audit";
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

export function Delete({ metric, onDone, turn }: { metric: string; onDone: () => void; turn: number }) {
  const [labels, setLabels] = useState("");
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
  const typing = (set: (text: string) => void) => (event: { currentTarget: HTMLInputElement }) => {
    set(event.currentTarget.value);
    setPreview(null);
    setSaid("");
  };
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
    const wanted = doomed(metric, labels, from, to, Date.now());
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
    const differs = taken.samples !== counted.samples;
    setSaid(`Deleted: ${many(taken.samples, "sample")} of ${format(taken.series)} series${differs ? `; ${format(counted.samples)} of ${format(counted.series)} had been counted, before others came or went` : ""}. The audit log says so.`);
    onDone();
  });
  return (
    <section class="card wide delete">
      <h2>Delete samples</h2>
      <form onSubmit={(event) => { event.preventDefault(); count(); }}>
        <label>Labels, all if empty<input type="text" placeholder="host=web1" value={labels} onInput={typing(setLabels)} /></label>
        <label>From, the first if empty<input type="text" placeholder="30d-ago" value={from} onInput={typing(setFrom)} /></label>
        <label>To, now if empty<input type="text" placeholder="7d-ago" value={to} onInput={typing(setTo)} /></label>
        <button type="submit" aria-disabled={isBusy}>Count what would go</button>
        {preview && (
          <button type="button" class="danger" aria-disabled={isBusy} onClick={() => go(preview)}>
            Delete {many(preview.taken.samples, "sample")} of {format(preview.taken.series)} series, about {format(preview.taken.bytes, "bytes")}
          </button>
        )}
        {isLong && <button type="button" onClick={() => abort.current?.abort()}>Cancel</button>}
      </form>
      {isLong && <progress aria-label="It goes on" />}
      {error && <Failed error={error} />}
      <p class="note" role="status" ref={outcome} tabIndex={-1}>{said || (preview ? `${preview.doomed.start_ms === undefined ? "From the first" : `From ${timeText(preview.doomed.start_ms, "local")}`} to ${timeText(preview.doomed.end_ms!, "local")}. This cannot be undone.` : "Nothing goes before it is counted.")}</p>
      <AuditOf metric={metric} turn={turn} />
    </section>
  );
}
