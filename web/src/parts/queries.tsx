// Queries that run, with an end to each, other work that takes long, and what questions cost so far.

import { useState } from "preact/hooks";
import { askedOver, askingAgain } from "../again";
import { type Cost, Refusal, type Running, type Told, cancel, costs, queries } from "../api";
import { useAsked } from "../hooks";
import { spanText, timeText } from "../time";
import { format } from "../units";
import { Jobs } from "./jobs";
import { Failed, Loading } from "./small";

const EVERY_MS = 2000;

export function Queries() {
  const running = useAsked("queries", () => queries(), EVERY_MS);
  return <><Runs asked={running} /><Jobs /><Costs /></>;
}

/** The text of a question, over which time it was asked, and a way to ask it again. */
function Text({ of, error = null }: { of: Told; error?: string | null }) {
  const address = askingAgain(of);
  const over = askedOver(of);
  return (
    <td class="question">
      <span class="code">{of.text}</span>
      <span class="note">
        {address
          ? <a href={address} aria-label={`Ask again: ${of.text}`}>Ask again</a>
          : of.question && "Cut: too long to be asked again"}
        {over && ` ${over}`}
      </span>
      {error && <span class="bad">It failed, the last time with: {error}</span>}
    </td>
  );
}

/** Who asked, and from where. */
const Owner = ({ of }: { of: Told }) => <td class="nowrap owner">{of.owner || "anyone"}{of.address && <span class="note">from {of.address}</span>}</td>;

function Runs({ asked }: { asked: { answer: { queries: Running[] } | null; error: Error | null; again: () => void } }) {
  const [error, setError] = useState<Error | null>(null);
  const end = async (id: number) => {
    try {
      await cancel(id);
      setError(null);
    } catch (failed) {
      // One that has ended meanwhile is what was wanted.
      setError(failed instanceof Refusal && failed.status === 404 ? null : (failed as Error));
    }
    asked.again();
  };
  const rows = asked.answer?.queries ?? [];
  return (
    <section class="card">
      <h2>Queries that run</h2>
      {(error ?? asked.error) && <Failed error={(error ?? asked.error)!} again={asked.again} />}
      {asked.answer && !rows.length && <p class="note">None right now.</p>}
      {rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Queries that run">
          <table>
            <thead>
              <tr>
                <th scope="col">For</th><th scope="col">Query</th><th scope="col">Database</th><th scope="col">Owner</th>
                <th scope="col" class="number">Samples</th><th scope="col" class="number">Memory</th><th scope="col"><span class="unseen">End it</span></th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.id}>
                  <td class="nowrap">{spanText(row.runs_for_ms)}</td><Text of={row} /><td>{row.database}</td><Owner of={row} />
                  <td class="number">{format(row.samples_read)}</td><td class="number">{format(row.memory_bytes, "bytes")}</td>
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

const millis = (ms: number) => format(ms / 1000, "seconds");

const ORDERS: [keyof Cost, string][] = [["took_ms", "total time"], ["took_max_ms", "slowest"], ["count", "most often"], ["samples_read", "samples"], ["memory_peak_bytes", "memory"], ["failed", "failures"]];

const HOUR_MS = 3_600_000;

/** Times over which costs are told; the server knows the last day in steps of ten minutes. */
const WITHIN: [string, number | null][] = [["since the start", null], ["in the last hour", HOUR_MS], ["in the last day", 24 * HOUR_MS]];

function Costs() {
  const [within, setWithin] = useState(0);
  const [said, withinMs] = WITHIN[within]!;
  const asked = useAsked(`costs ${within}`, () => costs(withinMs), EVERY_MS);
  const [order, setOrder] = useState<keyof Cost>("took_ms");
  const [hasOwn, setHasOwn] = useState(false);
  const all = asked.answer?.costs ?? [];
  const rows = all.filter(({ by_itself }) => hasOwn || !by_itself).sort((a, b) => Number(b[order]) - Number(a[order]));
  return (
    <section class="card">
      <div class="head">
        <h2>Slow, frequent and heavy questions</h2>
        <label class="check note"><input type="checkbox" checked={hasOwn} onChange={(event) => setHasOwn(event.currentTarget.checked)} />also what this page asks for itself</label>
        <select aria-label="Over which time" value={within} onChange={(event) => setWithin(Number(event.currentTarget.value))}>
          {WITHIN.map(([name], at) => <option key={name} value={at}>{name}</option>)}
        </select>
        <label class="check">by&nbsp;
          <select value={order} onChange={(event) => setOrder(event.currentTarget.value as keyof Cost)}>
            {ORDERS.map(([name, title]) => <option key={name} value={name}>{title}</option>)}
          </select>
        </label>
      </div>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!asked.answer && asked.isLoading && <Loading what="Asking the server…" />}
      {asked.answer && <p class="note">Counted from {timeText(asked.answer.since_ms, "local").slice(0, 16)} on{rows.length > 0 && "; range and address are those of the last time"}. A hundred questions are remembered, those that took longest since the start.</p>}
      {asked.answer && !rows.length && <p class="note">None {said}.</p>}
      {rows.length > 0 && (
        <div class="scroll tall" tabIndex={0} role="region" aria-label="Slow, frequent and heavy questions">
          <table>
            <thead>
              <tr>
                <th scope="col">Query</th><th scope="col">Database</th><th scope="col">Owner</th><th scope="col" class="number">Times</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Total</th>
                <th scope="col" class="number">Mean</th><th scope="col" class="number">Slowest</th><th scope="col" class="number">Samples</th><th scope="col" class="number">Memory</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.owner}\0${row.database}\0${row.text}\0${row.by_itself}`} class={row.failed ? "failing" : ""}>
                  <Text of={row} error={row.error} /><td>{row.database}</td><Owner of={row} /><td class="number">{format(row.count)}</td>
                  <td class="number">{row.failed > 0 && <b class="bad">✕ {format(row.failed)}</b>}</td>
                  <td class="number">{millis(row.took_ms)}</td><td class="number">{millis(row.took_ms / Math.max(1, row.count))}</td><td class="number">{millis(row.took_max_ms)}</td>
                  <td class="number">{format(row.samples_read)}</td><td class="number">{format(row.memory_peak_bytes, "bytes")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
