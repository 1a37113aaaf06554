// Makes a dashboard with its first panel: a metric, or a question that is saved.

import { useState } from "preact/hooks";
import { type Saved, keepSaved } from "../api";
import { NAME_CHARS_MAX, mustBeFree } from "../board";
import { database } from "../database";
import { dashboardAddress } from "../state";
import { type Unknown, unknownAs } from "../unknown";
import { panelOf } from "./metricpanel";
import { Choices } from "./nearest";
import { Failed } from "./small";
import { Suggest, named } from "./suggest";

/** How long it is looked whether a metric is there. */
const CHECK_MS = 10_000;

const focusOnce = (field: HTMLInputElement | null) => field?.focus();

interface Props {
  taken: string[];
  queries: Saved[];
  onDone: () => void;
  onCancel: () => void;
}

export function NewBoardForm({ taken, queries, onDone, onCancel }: Props) {
  const [name, setName] = useState("");
  const [metric, setMetric] = useState("");
  const [query, setQuery] = useState("");
  const [doubt, setDoubt] = useState<Unknown | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const make = async () => {
    const title = name.trim();
    const saved = queries.find((one) => one.name === query);
    setError(null);
    try {
      mustBeFree(title, taken);
      if (!saved && !metric) throw new Error("What is its first panel to show? Choose a metric.");
      // What names nothing is stored by who has read that it does.
      const found = saved || doubt ? null : await unknownAs(metric, database(), AbortSignal.timeout(CHECK_MS));
      if (found) return setDoubt(found);
      await keepSaved({ name: title, panels: [saved ? { title: saved.name, address: saved.address ?? "" } : await panelOf(metric)], was_changed_ms: 0 });
      location.hash = dashboardAddress(title);
      onDone();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  const choose = (next: string) => {
    setMetric(next);
    setDoubt(null);
  };
  return (
    <form class="bar new-board" onSubmit={(event) => { event.preventDefault(); make(); }}>
      <input type="text" aria-label="Name of the new dashboard" placeholder="Name" required maxLength={NAME_CHARS_MAX} value={name} ref={focusOnce} onInput={(event) => setName(event.currentTarget.value)} />
      {queries.length > 0 && (
        <select aria-label="First panel" value={query} onChange={(event) => { setQuery(event.currentTarget.value); setDoubt(null); }}>
          <option value="">with a metric</option>
          {queries.map((one) => <option key={one.name} value={one.name}>with {one.name}</option>)}
        </select>
      )}
      {!query && <Suggest className="metric" label="Metric of the first panel" placeholder="A metric, by any part of its name" value={metric} suggest={named("metrics", {})} onChange={choose} />}
      <button type="submit" class="main">Make</button>
      <button type="button" class="plain" onClick={onCancel}>Cancel</button>
      {doubt && <><Choices unknown={doubt} onChoose={choose} /><p class="note">“Make” makes it all the same.</p></>}
      {error && <Failed error={error} />}
    </form>
  );
}
