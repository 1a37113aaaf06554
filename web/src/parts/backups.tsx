// Backups: when the last ones were made, how they ended, and what to type for the next.

import { type Backup, backups } from "../api";
import { backupCommands, lastGood } from "../backups";
import { useAsked } from "../hooks";
import { spanText, timeText } from "../time";
import { format } from "../units";
import { Copy, Empty, Failed, Loading, Tile } from "./small";

const EVERY_MS = 5000;
const DAY_MS = 86_400_000;

const STATES: Record<Backup["state"], string> = { running: "running", done: "good", failed: "failed", lost: "never ended" };

export function Backups() {
  const asked = useAsked("backups", () => backups(), EVERY_MS);
  const told = asked.answer;
  if (!told) return asked.error ? <Failed error={asked.error} again={asked.again} /> : <section class="card"><Loading what="Asking the server…" /></section>;
  const good = lastGood(told.backups);
  const newest = told.backups[0];
  const age = good?.ended_ms ? Date.now() - good.ended_ms : null;
  return (
    <>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {newest?.state === "failed" && <div class="failed" role="alert"><p>The last backup failed: {newest.error}</p></div>}
      {good && (
        <div class="tiles">
          <Tile name="Last good backup" value={age === null ? "–" : `${spanText(age)} ago`} note={age !== null && age > DAY_MS ? "older than a day: is there a cron job, and does it run?" : timeText(good.began_ms, "local").slice(0, 19)} />
          <Tile name="What it took" value={format(good.bytes_copied, "bytes")} note={`copied in ${spanText((good.ended_ms ?? good.began_ms) - good.began_ms)}; ${format(good.bytes_shared, "bytes")} are shared with the one before`} />
          <Tile name="Good ones remembered" value={format(told.backups.filter(({ state }) => state === "done").length)} note={`of the last ${told.backups.length}; whether they are still there, nobody looked`} />
        </div>
      )}
      <Commands list={told.backups} dataDir={told.data_dir} />
      <section class="card">
        <h2>Backups of this store</h2>
        {!told.backups.length && <Empty title="No backup is known"><p>foliot backup copies the store while the server runs, and leaves a note here. Copies by other tools are not seen.</p></Empty>}
        {told.backups.length > 0 && (
          <div class="scroll" tabIndex={0} role="region" aria-label="Backups of this store">
            <table>
              <thead><tr><th scope="col">Began</th><th scope="col">Ended</th><th scope="col">Where to</th><th scope="col" class="number">Copied</th><th scope="col" class="number">Shared</th></tr></thead>
              <tbody>
                {told.backups.map((one) => (
                  <tr key={`${one.began_ms} ${one.to}`}>
                    <td class="nowrap">{timeText(one.began_ms, "local").slice(0, 19)}</td>
                    <td class="nowrap"><b class={one.state === "done" || one.state === "running" ? "" : "quiet"}>{STATES[one.state]}</b>{one.ended_ms !== null && ` after ${spanText(one.ended_ms - one.began_ms)}`}</td>
                    <td><span class="code">{one.to}</span>{one.error && <div class="quiet">{one.error}</div>}{one.damages_mended > 0 && <div class="note">{format(one.damages_mended)} damaged places are mended in it</div>}{one.wal_damaged_bytes > 0 && <div class="quiet">{format(one.wal_damaged_bytes, "bytes")} of the log are damaged in it: keep an older one</div>}</td>
                    <td class="number">{one.state === "done" ? format(one.bytes_copied, "bytes") : "–"}</td><td class="number">{one.state === "done" ? format(one.bytes_shared, "bytes") : "–"}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
    </>
  );
}

/** What to type on the server's machine. */
function Commands({ list, dataDir }: { list: Backup[]; dataDir: string }) {
  return (
    <section class="card commands">
      <h2>To type on the server’s machine</h2>
      {backupCommands(list, dataDir).map(({ title, text }) => (
        <div key={title}>
          <div class="head"><h3>{title}</h3><Copy text={() => text}>Copy</Copy></div>
          <pre class="command" tabIndex={0}>{text}</pre>
        </div>
      ))}
    </section>
  );
}
