// A dashboard that is edited: its name, and its panels with their titles, ranges and order. Nothing
// is stored before somebody says so; what is not yet stored is found again here as long as the page is open.

import { useLayoutEffect, useState } from "preact/hooks";
import { type Panel, type Saved, forgetSaved, keepSaved } from "../api";
import { database } from "../database";
import { isCounterName } from "../series";
import { exploring, read, write } from "../state";
import { instant } from "../time";
import { paramsOf, textsOf } from "./saves";
import { Failed } from "./small";
import { Suggest, named } from "./suggest";

interface Props {
  board: Saved;
  /** Names that others have. */
  taken: string[];
  /** The name it has now, "" where it is gone; nothing where it stays as it was. */
  onDone: (name: string | null) => void;
}

/** Letters that the server takes for a title. */
const TITLE_CHARS_MAX = 100;

const rangeOf = ({ address }: Panel) => read(paramsOf(address)).range;

/** The panel over another range. */
function ranged(panel: Panel, start: string, end: string): Panel {
  return { ...panel, address: write({ ...read(paramsOf(panel.address)), range: { start, end } }) };
}

/** A panel that shows a metric. */
export const panelOf = (metric: string): Panel => ({ title: metric.slice(0, TITLE_CHARS_MAX), address: exploring(metric, isCounterName(metric)) });

const isTime = (text: string) => instant(text, Date.now(), "local") !== null;

interface Draft {
  name: string;
  panels: (Panel & { key: number })[];
}

const drafts = new Map<string, Draft>();

/** A draft is of a dashboard as it was: who finds it changed begins anew. */
const draftKey = (board: Saved) => JSON.stringify([database(), board.name, board.changed_ms]);

/** Whether somebody was about to change a dashboard. */
export const hasDraft = (board: Saved) => drafts.has(draftKey(board));

export function BoardEdit({ board, taken, onDone: close }: Props) {
  const key = draftKey(board);
  const [draft] = useState(() => drafts.get(key));
  const [name, setName] = useState(draft?.name ?? board.name);
  const [panels, setPanels] = useState<Draft["panels"]>(() => draft?.panels ?? (board.panels ?? []).map((panel, at) => ({ ...panel, key: at })));
  // At once: whoever leaves the page in the same moment finds the last change, too.
  useLayoutEffect(() => {
    const bare = panels.map(({ title, address }) => ({ title, address }));
    if (name !== board.name || JSON.stringify(bare) !== JSON.stringify((board.panels ?? []).map(({ title, address }) => ({ title, address })))) drafts.set(key, { name, panels });
    else drafts.delete(key);
  }, [name, panels]);
  const onDone = (to: string | null) => {
    drafts.delete(key);
    close(to);
  };
  const [metric, setMetric] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const change = (of: number, next: Panel) => setPanels((all) => all.map((one) => (one.key === of ? { ...next, key: of } : one)));
  const move = (at: number, by: number) => setPanels((all) => {
    const next = [...all];
    const [moved] = next.splice(at, 1);
    if (moved) next.splice(at + by, 0, moved);
    return next;
  });
  const add = () => {
    setPanels((all) => [...all, { ...panelOf(metric), key: 1 + Math.max(-1, ...all.map(({ key }) => key)) }]);
    setMetric("");
  };
  const keep = async () => {
    const title = name.trim();
    const bare = panels.map(({ title, address }) => ({ title: title.trim(), address }));
    try {
      if (title !== board.name && taken.includes(title)) throw new Error(`There is a “${title}” already; choose another name.`);
      const odd = bare.find((panel) => [rangeOf(panel).start, rangeOf(panel).end].some((text) => !isTime(text)));
      if (odd) throw new Error(`The range of “${odd.title}” is no time: write 1h-ago, now-7d, now, or 2026/03/01-08:00.`);
      if (!bare.length) {
        await forgetSaved(board);
        onDone("");
        return;
      }
      await keepSaved({ name: title, panels: bare, was_changed_ms: title === board.name ? board.changed_ms : 0 });
      // Only once the new one is there does the old one go, unless somebody has changed it.
      if (title !== board.name) await forgetSaved(board);
      onDone(title);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <form class="card" onSubmit={(event) => { event.preventDefault(); keep(); }}>
      <div class="head board-head">
        <label class="bar">Name <input type="text" aria-label="Name of the dashboard" required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
        <span class="bar"><button type="button" onClick={() => onDone(null)}>Cancel</button><button type="submit" class="main">Save</button></span>
      </div>
      {draft && <p class="note" role="status">This is as you left it. It is not stored yet; Cancel takes back what was changed.</p>}
      {error && <Failed error={error} />}
      {!panels.length && <p class="note">No panels are left: to save it so is to delete the dashboard.</p>}
      <ol class="board-edit">
        {panels.map((panel, at) => {
          const { start, end } = rangeOf(panel);
          const said = `panel ${at + 1}`;
          return (
            <li key={panel.key}>
              <input type="text" aria-label={`Title of ${said}`} required value={panel.title} onInput={(event) => change(panel.key, { ...panel, title: event.currentTarget.value })} />
              <span class="between">
                <input type="text" class="short" aria-label={`Begin of ${said}`} value={start} onChange={(event) => change(panel.key, ranged(panel, event.currentTarget.value, end))} />
                <span aria-hidden="true">–</span>
                <input type="text" class="short" aria-label={`End of ${said}`} value={end} onChange={(event) => change(panel.key, ranged(panel, start, event.currentTarget.value))} />
              </span>
              <span class="nowrap">
                <button type="button" class="plain" disabled={at === 0} aria-label={`Move ${said} up`} onClick={() => move(at, -1)}>↑</button>
                <button type="button" class="plain" disabled={at === panels.length - 1} aria-label={`Move ${said} down`} onClick={() => move(at, 1)}>↓</button>
                <button type="button" class="plain" aria-label={`Take ${said} off`} onClick={() => setPanels((all) => all.filter((one) => one.key !== panel.key))}>×</button>
              </span>
              <span class="note code">{textsOf(panel.address)}</span>
            </li>
          );
        })}
      </ol>
      <div class="bar">
        <Suggest className="metric" label="Metric of another panel" placeholder="A metric, by any part of its name" value={metric} suggest={named("metrics", {})} onChange={setMetric} />
        <button type="button" disabled={!metric} onClick={add}>+ panel</button>
        <span class="note">Others come from Explore: Saved, on {board.name}.</span>
      </div>
    </form>
  );
}
