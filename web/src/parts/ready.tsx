// Dashboards that are ready: those whose metrics are stored can be added.

import { useState } from "preact/hooks";
import { catalogue, keepSaved } from "../api";
import { database } from "../database";
import { useAsked } from "../hooks";
import { READY, type Ready, readyPanels } from "../ready";
import { dashboardAddress } from "../state";
import { Failed } from "./small";

/** Metrics that hold another one's name. */
const SEARCHED = 100;

export function ReadyBoards({ taken, onDone }: { taken: string[]; onDone: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const there = useAsked(`ready ${database()}`, async (signal) => {
    const found = await Promise.all(READY.map(async ({ needs }) => (await catalogue("metrics", { db: database(), search: needs, limit: SEARCHED }, signal)).names.includes(needs)));
    return READY.filter((_, at) => found[at]);
  });
  const add = async (one: Ready) => {
    setError(null);
    try {
      await keepSaved({ name: one.name, panels: readyPanels(one), was_changed_ms: 0 });
      location.hash = dashboardAddress(one.name);
      onDone();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  const known = there.answer ?? [];
  return (
    <section class="card">
      <h2>Ready to add</h2>
      <p class="note">They are kept like others, and can be changed. For Grafana there are two of them, with data sources, in <a href="/docs/guides/grafana.md">its guide</a>.</p>
      {error && <Failed error={error} />}
      {there.error && <Failed error={there.error} again={there.again} />}
      <ul class="list ready-list">
        {READY.map((one) => (
          <li key={one.name}>
            <div><b>{one.name}</b><p class="note">{one.about}</p></div>
            {taken.includes(one.name) ? <a href={dashboardAddress(one.name)}>open</a>
              : known.includes(one) ? <button type="button" aria-label={`Add ${one.name}`} onClick={() => add(one)}>Add</button>
                : there.answer && <span class="note nowrap">needs <span class="code">{one.needs}</span></span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
