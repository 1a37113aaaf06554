// Who sends it: by protocol and address, ranked by what one looks for.

import { useState } from "preact/hooks";
import { senders } from "../api";
import { useAsked } from "../hooks";
import type { Maker } from "../series";
import { agoText } from "../time";
import { format } from "../units";
import { Empty, Failed, Loading } from "./small";

const EVERY_MS = 5000;

type Rank = "samples" | "series" | "refused";

const WHO = { itself: "this server", others: "others, not told apart any more" };

/** A sender's address, or what it is instead of one. */
export const who = (sender: Pick<Maker, "from" | "address">) => (sender.from === "address" ? sender.address ?? "" : WHO[sender.from]);

export function Senders() {
  const [by, setBy] = useState<Rank>("samples");
  const asked = useAsked(`senders ${by}`, (signal) => senders({ by, limit: 200 }, signal), EVERY_MS);
  const found = asked.answer;
  return (
    <section class="card">
      <div class="head">
        <h2>Who sends it</h2>
        <label class="check">by&nbsp;
          <select value={by} onChange={(event) => setBy(event.currentTarget.value as Rank)}>
            <option value="samples">samples</option><option value="series">new series</option><option value="refused">refused rows</option>
          </select>
        </label>
      </div>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!found && asked.isLoading && <Loading what="Asking the server…" />}
      {found && !found.senders.length && <Empty title="Nobody has sent anything since the start"><p><a href="#/home">Home</a> says how to send a first point.</p></Empty>}
      {found && found.senders.length > 0 && (
        <>
          <p class="note">Since the start, by protocol and address{found.is_whole ? "" : `; the first ${found.senders.length} of ${format(found.total)}`}</p>
          <div class="scroll full" tabIndex={0} role="region" aria-label="Who sends it">
            <table>
              <thead>
                <tr>
                  <th scope="col">Address</th><th scope="col">Protocol</th><th scope="col" class="number">Samples</th><th scope="col" class="number">New series</th>
                  <th scope="col" class="number">Refused</th><th scope="col" class="number">Bytes</th><th scope="col" class="number">Last</th>
                </tr>
              </thead>
              <tbody>
                {found.senders.map((sender) => (
                  <tr key={`${sender.protocol}\0${sender.from}\0${sender.address}`}>
                    <td class={sender.address ? "code nowrap" : "note nowrap"}>{who(sender)}</td><td class="nowrap">{sender.protocol}</td><td class="number">{format(sender.samples)}</td>
                    <td class="number">{format(sender.new_series)}</td><td class={`number ${sender.refused ? "quiet" : ""}`}>{format(sender.refused)}</td>
                    <td class="number">{format(sender.bytes, "bytes")}</td><td class="number">{agoText(sender.last_ms)}</td>
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

/** Who made most series, beside what most series are due to. Whoever may not know sees nothing of it. */
export function SeriesMakers() {
  const asked = useAsked("makers", (signal) => senders({ by: "series", limit: 10 }, signal));
  const list = (asked.answer?.senders ?? []).filter(({ new_series }) => new_series > 0);
  if (!list.length) return null;
  return (
    <section class="card">
      <h2>Senders with most new series</h2>
      <p class="note">since the start; <a href="#/operations?view=senders">all senders</a></p>
      <ul class="ranks">
        {list.map((sender) => (
          <li key={`${sender.protocol}\0${sender.from}\0${sender.address}`}>
            <b>{who(sender)} <small class="note">{sender.protocol}</small></b><span>{format(sender.new_series)}</span><progress value={sender.new_series} max={list[0]!.new_series} aria-hidden="true" />
          </li>
        ))}
      </ul>
    </section>
  );
}
