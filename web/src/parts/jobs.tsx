// Work that takes long and is no question: what runs, how far it is, with an end to it; and what ended.

import { useState } from "preact/hooks";
import { type Job, cancelJob, jobs } from "../api";
import { useAsked } from "../hooks";
import { spanText, timeText } from "../time";
import { format } from "../units";
import { Failed } from "./small";

const EVERY_MS = 2000;

export function Jobs() {
  const asked = useAsked("jobs", () => jobs(), EVERY_MS);
  const [error, setError] = useState<Error | null>(null);
  const end = async (id: number) => {
    try {
      await cancelJob(id);
      setError(null);
    } catch (failed) {
      setError(failed as Error);
    }
    asked.again();
  };
  const rows = asked.answer?.jobs ?? [];
  return (
    <section class="card">
      <h2>Work that takes long</h2>
      {(error ?? asked.error) && <Failed error={(error ?? asked.error)!} again={asked.again} />}
      {asked.answer && !rows.length && <p class="note">None: imports, changes, forced flushes and merges, and backups would stand here.</p>}
      {rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Work that takes long">
          <table>
            <thead><tr><th scope="col">Began</th><th scope="col">What</th><th scope="col">Owner</th><th scope="col">How far</th><th scope="col"><span class="unseen">End it</span></th></tr></thead>
            <tbody>
              {rows.map((job) => (
                <tr key={`${job.kind} ${job.id ?? job.began_ms}`}>
                  <td class="nowrap" title={timeText(job.began_ms, "local")}>{timeText(job.began_ms, "local").slice(11, 19)}</td>
                  <td class="what">{job.kind} <span class="code">{job.text}</span>{job.database && <span class="note"> into {job.database}</span>}</td>
                  <td class="nowrap">{job.owner || "anyone"}</td>
                  <td class="far"><Far job={job} /></td>
                  <td class="number">{job.may_cancel && job.id !== null && <button type="button" aria-label={`Cancel ${job.kind} ${job.text}`} onClick={() => end(job.id!)}>Cancel</button>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Far({ job: { state, progress, outcome, began_ms, ended_ms } }: { job: Job }) {
  if (ended_ms !== null) return <><b class={state === "failed" || state === "silent" ? "quiet" : ""}>{state}</b> after {spanText(ended_ms - began_ms)}{outcome && <span class="note"> {outcome}</span>}</>;
  const unit = progress?.unit === "bytes" ? "bytes" : "plain";
  const done = progress && (progress.total === null
    ? `${format(progress.done, unit)} ${progress.unit === "bytes" ? "" : progress.unit}`
    : `${format(progress.done, unit)} of ${format(progress.total, unit)}`);
  return (
    <>
      {progress?.total != null && <progress value={progress.done} max={Math.max(1, progress.total)} aria-label="Done so far" />}
      <span class="note">{done ?? `for ${spanText(Math.max(0, Date.now() - began_ms))}`}{outcome && `, ${outcome}`}</span>
    </>
  );
}
