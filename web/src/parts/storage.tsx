// What memory and disk go to: memory by part against its limits, the log, parts and their merging.

import { useMemo, useState } from "preact/hooks";
import { type Status, cardinality, pastDay } from "../api";
import { database } from "../database";
import { useAsked } from "../hooks";
import { metricAddress } from "../scope";
import { spanText } from "../time";
import { format, many } from "../units";
import { Chart } from "./chart";
import { Failed, Loading, Meter, Tile } from "./small";

const EVERY_MS = 60_000;

export function Storage({ now }: { now: Status }) {
  const asked = useAsked("history", () => pastDay(), EVERY_MS);
  const { store, memory } = now;
  const moments = asked.answer?.moments ?? [];
  const times = moments.map(({ at_ms }) => at_ms);
  const disk = useMemo(() => [{ title: "parts and log", times, values: moments.map(({ disk_bytes }) => disk_bytes) }], [asked.answer]);
  const used = useMemo(() => [{ title: "memory of the process", times, values: moments.map(({ memory_bytes }) => memory_bytes) }], [asked.answer]);
  const span = { start: Math.min(times[0] ?? now.now_ms, now.now_ms - 600_000), end: now.now_ms };
  if (!store) return null;
  const mean = store.wal_syncs ? store.wal_sync_us / store.wal_syncs / 1e6 : null;
  const left = store.disk_seconds_left;
  const known = memory.parts.reduce((sum, { bytes }) => sum + bytes, 0);
  return (
    <>
      <div class="tiles">
        <Tile name="Disk free" value={format(store.disk_free_bytes, "bytes")} note={left ? `lasts ${spanText(left * 1000)} at the pace of the last day` : `${format(store.disk_reserve_bytes, "bytes")} of it are kept for the next flush`} />
        <Tile name="Parts" value={format(store.parts)} note={partsNote(store)} />
        <Tile name="To be merged" value={`${format(store.merge_debt_parts)} parts`} note={`${format(store.merge_debt_bytes, "bytes")}; ${format(store.merges)} merges so far`} />
        <Tile name="Log" value={format(store.wal_bytes, "bytes")} note={`${format(store.wal_unsynced_bytes, "bytes")} not yet synced`} />
        <Tile name="Sync takes" value={format(mean, "seconds")} note={`on average of ${format(store.wal_syncs)}; ${format(store.wal_sync_max_us / 1e6, "seconds")} at most`} />
      </div>
      <Sizes series={store.series} />
      <section class="card">
        <div class="head"><h2>Memory by part</h2><span class="note">{format(memory.resident_bytes, "bytes")} in the process{memory.limit_bytes ? ` of ${format(memory.limit_bytes, "bytes")}` : ""}, {format(known, "bytes")} of it in these</span></div>
        <ul class="ranks wide-ranks">
          {memory.parts.map(({ name, bytes, limit_bytes, setting }) => (
            <li key={name}>
              <b>{name}</b><span>{format(bytes, "bytes")}{limit_bytes !== null && ` of ${format(limit_bytes, "bytes")}`} <code>{setting}</code></span>
              <Meter value={bytes} max={limit_bytes ?? Math.max(1, memory.resident_bytes)} label={name} />
            </li>
          ))}
        </ul>
      </section>
      <div class="halves">
        <section class="card">
          <h2>Disk, the last day</h2>
          {asked.error && <Failed error={asked.error} again={asked.again} />}
          {times.length > 1 ? <Chart lines={disk} span={span} unit="bytes" zone="local" height={180} fromZero label="Bytes of parts and log, the last day" /> : <p class="note">A moment is kept each minute; the graph begins with the second.</p>}
        </section>
        <section class="card">
          <h2>Memory, the last day</h2>
          {times.length > 1 ? <Chart lines={used} span={span} unit="bytes" zone="local" height={180} fromZero label="Memory of the process, the last day" /> : <p class="note">A moment is kept each minute; the graph begins with the second.</p>}
        </section>
      </div>
      <section class="card">
        <h2>In the background since the start</h2>
        <dl class="facts">
          <dt>Flushes from memory to parts</dt><dd>{format(store.flushes)}{store.flushes_failed > 0 && <b class="quiet"> and {format(store.flushes_failed)} failed</b>}</dd>
          <dt>Merges of parts</dt><dd>{format(store.merges)}{store.merges_failed > 0 && <b class="quiet"> and {format(store.merges_failed)} failed</b>}</dd>
          <dt>Bytes written for each byte flushed</dt><dd>{format(store.write_amplification)}</dd>
          <dt>Samples that expired with their parts</dt><dd>{format(store.samples_expired)}</dd>
          <dt>Deletes</dt><dd>{format(store.deletes)}, which took {format(store.samples_deleted)} samples</dd>
          <dt>Pages found in the cache</dt><dd>{store.cache_hits + store.cache_misses ? `${format((100 * store.cache_hits) / (store.cache_hits + store.cache_misses), "percent")} of ${format(store.cache_hits + store.cache_misses)}` : "none was asked for"}</dd>
        </dl>
      </section>
    </>
  );
}

/** What parts hold; and as long as there are none, where everything is. */
export function partsNote({ parts, part_samples: samples, part_bytes: bytes, head_bytes: head, samples: came }: Pick<NonNullable<Status["store"]>, "parts" | "part_samples" | "part_bytes" | "head_bytes" | "samples">): string {
  if (parts) return `${many(samples, "sample")} in ${format(bytes, "bytes")}${samples ? `, ${format(bytes / samples, "bytes")} each` : ""}`;
  if (!came && !head) return "nothing is stored yet";
  return `nothing is flushed yet: ${came ? `${many(came, "sample")} since the start, ` : "samples, "}${format(head, "bytes")}, are in memory and in the log`;
}

const SIZES_LISTED = 20;

/** Of more series than these sizes are counted when somebody asks for it: each is looked at. */
const COUNTED_MAX = 100_000;

/** What fills the disk, by metric. */
function Sizes({ series }: { series: number }) {
  const [isWanted, setIsWanted] = useState(series <= COUNTED_MAX);
  const asked = useAsked(`sizes ${isWanted}`, (signal) => (isWanted ? cardinality({ weigh: "true", limit: SIZES_LISTED }, signal) : Promise.resolve(null)));
  const metrics = asked.answer?.metrics ?? [];
  const most = Math.max(1, metrics[0]?.bytes ?? 1);
  return (
    <section class="card">
      <h2>What fills the disk</h2>
      <p class="note">The greatest metrics{database() ? ` of the database ${database()}` : ""}{asked.answer && asked.answer.metrics_total > 1000 && ", of the 1000 with most series"}, by what their samples take.</p>
      {!isWanted && <button type="button" onClick={() => setIsWanted(true)}>Count bytes by metric</button>}
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {isWanted && !asked.answer && asked.isLoading && <Loading what="Counting bytes…" />}
      {asked.answer && !metrics.length && <p class="note">Nothing is stored yet.</p>}
      <ul class="ranks wide-ranks">
        {metrics.map(({ name, bytes = 0, samples = 0, series: count }) => (
          <li key={name}><a href={metricAddress(name)}>{name}</a><span>{format(bytes, "bytes")} <span class="note">{format(samples)} samples of {format(count)} series</span></span><progress value={bytes} max={most} aria-hidden="true" /></li>
        ))}
      </ul>
    </section>
  );
}
