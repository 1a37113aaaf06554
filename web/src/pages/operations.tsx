// Operations: how the server fares, and the queries that run.

import { useState } from "preact/hooks";
import { type Running, type Status, cancel, queries, status } from "../api";
import { useAsked } from "../hooks";
import { Failed, Loading, Meter } from "../parts/small";
import { spanText, timeText } from "../time";
import { format } from "../units";

const EVERY_MS = 2000;

export function Operations() {
  const asked = useAsked("status", () => status(), EVERY_MS);
  const running = useAsked("queries", () => queries(), EVERY_MS);
  const now = asked.answer;
  return (
    <div class="operations">
      {asked.error && <Failed error={asked.error} />}
      {!now && asked.isLoading && <Loading what="Asking the server…" />}
      {now?.troubles?.map((trouble) => <div class="failed" role="alert" key={trouble}><p>{trouble}</p></div>)}
      {now?.store?.lacks_space && <div class="failed" role="alert"><p>The disk is all but full: writes are refused. Free some room, or keep samples for less long (retention.time).</p></div>}
      {now?.store?.is_poisoned && <div class="failed" role="alert"><p>The log has failed and nothing is acknowledged: check the disk, then restart Foliot.</p></div>}
      {now && <Facts now={now} />}
      <Queries asked={running} />
      {now && <Protocols now={now} />}
      {now && <Refused now={now} />}
    </div>
  );
}

function Facts({ now }: { now: Status }) {
  const { store, memory } = now;
  return (
    <div class="tiles">
      <Tile name="Up for" value={spanText(now.uptime_ms)} note={`version ${now.version}`} />
      <Tile name="Memory" value={format(memory.resident_bytes, "bytes")} note={memory.limit_bytes ? `of ${format(memory.limit_bytes, "bytes")}` : "no limit known"}>
        {memory.limit_bytes && <Meter value={memory.resident_bytes} max={memory.limit_bytes} label="Memory" />}
      </Tile>
      {store && (
        <>
          <Tile name="Series" value={format(store.series)} note={`names take ${format(store.registry_bytes, "bytes")}`} />
          <Tile name="Not yet in parts" value={format(store.head_bytes, "bytes")} note={`log of ${format(store.wal_bytes, "bytes")}, ${format(store.wal_unsynced_bytes, "bytes")} not yet synced`} />
          <Tile
            name="Parts" value={format(store.parts)}
            note={`${format(store.part_samples)} samples in ${format(store.part_bytes, "bytes")}${store.part_samples ? `, ${format(store.part_bytes / store.part_samples, "bytes")} each` : ""}`}
          />
          <Tile name="To be merged" value={`${format(store.merge_debt_parts)} parts`} note={format(store.merge_debt_bytes, "bytes")} />
          <Tile name="Disk free" value={format(store.disk_free_bytes, "bytes")} note={store.parts_absent ? `${store.parts_absent} parts are missing or damaged` : "no part is missing"} />
        </>
      )}
      <Tile name="Connections" value={format(now.connections)} note={`${format(now.queries.total)} queries so far`} />
    </div>
  );
}

interface TileProps {
  name: string;
  value: string;
  note: string;
  children?: preact.ComponentChildren;
}

export function Tile({ name, value, note, children }: TileProps) {
  return <section class="card tile"><h3>{name}</h3><p class="value">{value}</p>{children}<p class="note">{note}</p></section>;
}

function Queries({ asked }: { asked: { answer: { queries: Running[] } | null; error: Error | null; again: () => void } }) {
  const [error, setError] = useState<Error | null>(null);
  const end = async (id: number) => {
    try {
      await cancel(id);
      setError(null);
    } catch (failed) {
      setError(failed as Error);
    }
    asked.again();
  };
  const rows = asked.answer?.queries ?? [];
  return (
    <section class="card">
      <h2>Queries that run</h2>
      {(error ?? asked.error) && <Failed error={(error ?? asked.error)!} />}
      {asked.answer && !rows.length && <p class="note">None right now.</p>}
      {rows.length > 0 && (
        <div class="scroll">
          <table>
            <thead><tr><th scope="col">For</th><th scope="col">Database</th><th scope="col">Query</th><th scope="col"><span class="unseen">End it</span></th></tr></thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.id}>
                  <td class="nowrap">{spanText(row.runs_for_ms)}</td><td>{row.database}</td><td class="code">{row.text}</td>
                  <td class="number"><button type="button" disabled={row.is_cancelled} aria-label={`Cancel query ${row.id}`} onClick={() => end(row.id)}>{row.is_cancelled ? "ending…" : "Cancel"}</button></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Protocols({ now }: { now: Status }) {
  const ways = Object.entries(now.ingest);
  return (
    <section class="card">
      <h2>What came in since the start</h2>
      {!ways.length && <p class="note">Nothing yet.</p>}
      {ways.length > 0 && (
        <div class="scroll">
          <table>
            <thead><tr><th scope="col">Protocol</th><th scope="col" class="number">Samples</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Bytes</th><th scope="col">Dropped rows, by reason</th></tr></thead>
            <tbody>
              {ways.map(([name, way]) => (
                <tr key={name}>
                  <td>{name}</td><td class="number">{format(way.samples ?? 0)}</td><td class="number">{format(way.rows ?? 0)}</td>
                  <td class="number">{format(way.bytes ?? 0, "bytes")}</td>
                  <td>{Object.entries(way.rejected ?? {}).map(([reason, count]) => `${reason}: ${format(count)}`).join(", ") || "none"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Rows that were refused lately: what is wrong with what is sent. */
function Refused({ now }: { now: Status }) {
  if (!now.rejects.length) return null;
  return (
    <section class="card">
      <h2>Rows that were refused</h2>
      <p class="note">The newest five of each protocol and reason; of rows that came together, the first.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Rows that were refused">
        <table>
          <thead><tr><th scope="col">When</th><th scope="col">Protocol</th><th scope="col">Reason</th><th scope="col" class="number">Line</th><th scope="col">What is wrong</th></tr></thead>
          <tbody>
            {now.rejects.map(({ at_ms, protocol, reason, line, message }, index) => (
              <tr key={index}>
                <td class="nowrap">{timeText(at_ms, "local").slice(11, 19)}</td><td>{protocol}</td><td>{reason}</td><td class="number">{line}</td>
                <td class="code">{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
