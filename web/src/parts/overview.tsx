// What comes in, by protocol, over the last day; what is refused, and why.

import { useMemo } from "preact/hooks";
import { type Moment, type Status, pastDay } from "../api";
import { useAsked } from "../hooks";
import { spanText, timeText } from "../time";
import { format } from "../units";
import { Chart, type Line } from "./chart";
import { Failed, Meter, Tile } from "./small";

const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Growth a second between moments; a server that began anew counts from zero. */
export function rates(moments: Moment[], count: (moment: Moment) => number): { times: number[]; values: (number | null)[] } {
  const values = moments.slice(1).map((after, index) => {
    const before = moments[index]!;
    const grew = count(after) - count(before);
    return grew < 0 ? null : (1000 * grew) / Math.max(1, after.at_ms - before.at_ms);
  });
  return { times: moments.slice(1).map(({ at_ms }) => at_ms), values };
}

export function Overview({ now }: { now: Status }) {
  const asked = useAsked("history", () => pastDay(), EVERY_MS);
  const moments = asked.answer?.moments ?? [];
  const lines = useMemo(() => {
    const ways = [...new Set(moments.flatMap(({ samples }) => Object.keys(samples)))];
    return ways.map((way): Line => ({ title: way, ...rates(moments, ({ samples }) => samples[way] ?? 0) }));
  }, [asked.answer]);
  const refused = useMemo(() => [{ title: "refused", ...rates(moments, ({ rejected }) => rejected) }], [asked.answer]);
  const { store, memory } = now;
  const rejected = Object.values(now.ingest).reduce((sum, way) => sum + Object.values(way.rejected ?? {}).reduce((a, b) => a + b, 0), 0);
  const start = Math.min(moments[0]?.at_ms ?? now.now_ms, now.now_ms - HOUR_MS / 6);
  const span = { start, end: now.now_ms };
  const days = store?.disk_seconds_left;
  return (
    <>
      <div class="tiles">
        <Tile name="Up for" value={spanText(now.uptime_ms)} note={`version ${now.version}, ${now.connections} connections`} />
        <Tile name="Series" value={format(store?.series ?? 0)} note={`${format(store?.samples ?? 0)} samples since the start`} />
        <Tile name="Refused rows" value={format(rejected)} note={rejected ? "since the start; see below" : "since the start"} />
        <Tile name="Memory" value={format(memory.resident_bytes, "bytes")} note={memory.limit_bytes ? `of ${format(memory.limit_bytes, "bytes")}` : "no limit known"}>
          {memory.limit_bytes && <Meter value={memory.resident_bytes} max={memory.limit_bytes} label="Memory" />}
        </Tile>
        <Tile
          name="Disk lasts" value={days ? (days > 3650 * 86_400 ? "years" : spanText(days * 1000)) : "–"}
          note={`${format(store?.disk_free_bytes, "bytes")} free; ${days ? "at the pace of the last day" : "the pace is known after half an hour"}`}
        />
      </div>
      <div class="halves">
        <section class="card">
          <h2>Samples a second</h2>
          {asked.error && <Failed error={asked.error} again={asked.again} />}
          {lines.some((line) => line.times.length > 1)
            ? <Chart lines={lines} span={span} unit="/s" zone="local" height={190} isStacked fromZero label="Samples a second by protocol, the last day" />
            : <p class="note">A moment is kept each minute; the graph begins with the third. What comes in right now is on <a href="#/home">Home</a>.</p>}
          <ul class="key">{lines.map((line, index) => <li key={line.title} class={`c${index}`}>{line.title} {format(line.values.at(-1), "/s")}</li>)}</ul>
        </section>
        <section class="card">
          <h2>Refused rows a second</h2>
          {refused[0]!.times.length > 1
            ? <Chart lines={refused} span={span} unit="/s" zone="local" height={190} fromZero label="Refused rows a second, the last day" />
            : <p class="note">Nothing to draw yet.</p>}
        </section>
      </div>
      <Protocols now={now} />
      <Refused now={now} />
    </>
  );
}

function Protocols({ now }: { now: Status }) {
  const ways = Object.entries(now.ingest);
  return (
    <section class="card">
      <h2>What came in since the start</h2>
      {!ways.length && <p class="note">Nothing yet. <a href="#/home">Home</a> says how to send a first point.</p>}
      {ways.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="What came in">
          <table>
            <thead><tr><th scope="col">Protocol</th><th scope="col" class="number">Samples</th><th scope="col" class="number">Rows</th><th scope="col" class="number">Bytes</th><th scope="col">Refused rows, by reason</th></tr></thead>
            <tbody>
              {ways.map(([name, way]) => (
                <tr key={name}>
                  <td>{name}</td><td class="number">{format(way.samples ?? 0)}</td><td class="number">{format(way.rows ?? 0)}</td>
                  <td class="number">{format(way.bytes ?? 0, "bytes")}</td>
                  <td>{Object.entries(way.rejected ?? {}).map(([reason, count]) => `${reason}: ${format(count)}`).join(", ") || <span class="note">none</span>}</td>
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
  return (
    <section class="card">
      <h2>Rows that were refused</h2>
      {!now.rejects.length && <p class="note">None since the start.</p>}
      {now.rejects.length > 0 && (
        <>
          <p class="note">The newest, up to twenty: as many of one protocol and reason as of another. Of rows that came together, up to ten.</p>
          <div class="scroll tall refused" tabIndex={0} role="region" aria-label="Rows that were refused">
            <table>
              <thead><tr><th scope="col">When</th><th scope="col">Protocol</th><th scope="col">From</th><th scope="col">Reason</th><th scope="col">What is wrong, and the line</th></tr></thead>
              <tbody>
                {now.rejects.map(({ at_ms, protocol, address, reason, line, message, text }, index) => (
                  <tr key={index}>
                    <td class="nowrap">{timeText(at_ms, "local").slice(11, 19)}</td><td>{protocol}</td><td>{address ?? <span class="note">not known</span>}</td><td>{reason}</td>
                    <td>{message}{text && <div class="code bad-line"><span class="note">{line}</span> {text}</div>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}
