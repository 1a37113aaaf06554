// A dashboard that is edited: its name, and its panels with their titles, ranges, looks, questions
// and order. Nothing is stored before somebody says so; what is not yet stored is found again here
// as long as the page is open.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Panel, Refusal, type Saved, forgetSaved, keepSaved } from "../api";
import { type Draft, NAME_CHARS_MAX, changed, draftOf, dropDraft, exploredOf, keepDraft, mustBeFree, reworded, settled } from "../board";
import { database } from "../database";
import { LANGUAGES, bodyOf } from "../question";
import { pooled } from "../slices";
import type { Explored } from "../state";
import { checked } from "../statements";
import { instant, timeText } from "../time";
import { type Unknown, renamedIn, unknownOf } from "../unknown";
import { panelOf } from "./metricpanel";
import { Choices } from "./nearest";
import { Failed } from "./small";
import { Suggest, named } from "./suggest";

interface Props {
  board: Saved;
  /** Names that others have. */
  taken: string[];
  /** The name it has now, "" where it is gone; nothing where it stays as it was. */
  onDone: (name: string | null) => void;
  /** Shows what is stored, where somebody else has changed it. */
  onStored: () => void;
}

const LOOKS: Explored["view"][] = ["graph", "table", "number"];

/** Texts that are looked at at a time, and how long that may take. */
const CHECKED_AT_ONCE = 6;
const CHECK_MS = 10_000;

/** Any range does to look at a text. */
const [HOUR_MS, MINUTE_MS] = [3_600_000, 60_000];

const isTime = (text: string) => instant(text, Date.now(), "local") !== null;

/** Whether somebody else has changed what is stored. */
const isConflict = (error: Error) => error instanceof Refusal && error.status === 409;

/** A text that is wrong: of which panel, and which of its questions. */
interface Wrong {
  key: number;
  which: number;
  text: string;
  error: Error;
}

/** A text that names what the store does not have: of which panel, and which of its questions. */
interface Doubt extends Unknown {
  key: number;
  which: number;
}

/** Questions of panels that are not stored already, each with where it stands, and its database. */
function unstored(panels: Draft["panels"], stored: Panel[]) {
  const about = (address: string) => exploredOf(address).questions.map(({ language, text }) => JSON.stringify([language, text]));
  const known = new Set(stored.flatMap(({ address }) => about(address)));
  return panels.flatMap(({ key, title, address }) => {
    const { questions, database: own } = exploredOf(address);
    const said = about(address);
    return questions.flatMap((question, which) => (question.text.trim() && !known.has(said[which]!) ? [{ key, title, which, question, of: own || database() }] : []));
  });
}

type Unstored = ReturnType<typeof unstored>;

/** Texts that can be read, and name what is not there. */
async function doubtsIn(texts: Unstored): Promise<Doubt[]> {
  const signal = AbortSignal.timeout(CHECK_MS);
  const found = await pooled(texts, CHECKED_AT_ONCE, async ({ key, which, question: { language, text }, of }): Promise<Doubt | null> => {
    const unknown = await unknownOf[language](text, of, signal);
    return unknown && { ...unknown, key, which };
  });
  return found.filter((one) => one !== null);
}

/** The first text that is wrong. */
async function wrongIn(texts: Unstored): Promise<Wrong | null> {
  const signal = AbortSignal.timeout(CHECK_MS);
  const found = await pooled(texts, CHECKED_AT_ONCE, async ({ key, title, which, question, of }): Promise<Wrong | null> => {
    const now = Date.now();
    const { wrong } = await checked(of, bodyOf(question, { start: now - HOUR_MS, end: now }, MINUTE_MS), signal);
    return wrong ? { key, which, text: question.text, error: new Refusal(400, `“${title}”: ${wrong.message}`, wrong.position ?? null) } : null;
  });
  return found.find((one) => one !== null) ?? null;
}

export function BoardEdit({ board, taken, onDone: close, onStored }: Props) {
  const [draft] = useState(() => draftOf(board.name));
  const [name, setName] = useState(draft?.name ?? board.name);
  const [panels, setPanels] = useState<Draft["panels"]>(() => draft?.panels ?? (board.panels ?? []).map((panel, at) => ({ ...panel, key: at })));
  const isOfAnother = draft !== undefined && draft.of_ms !== board.changed_ms;
  // At once: whoever leaves the page in the same moment finds the last change, too.
  useLayoutEffect(() => {
    const bare = panels.map(({ title, address }) => ({ title, address }));
    if (name !== board.name || JSON.stringify(bare) !== JSON.stringify((board.panels ?? []).map(({ title, address }) => ({ title, address })))) keepDraft(board.name, { of_ms: draft?.of_ms ?? board.changed_ms, name, panels });
    else dropDraft(board.name);
  }, [name, panels]);
  const onDone = (to: string | null) => {
    dropDraft(board.name);
    close(to);
  };
  const [metric, setMetric] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const [wrong, setWrong] = useState<Wrong | null>(null);
  const [doubts, setDoubts] = useState<Doubt[]>([]);
  const [isKeeping, setIsKeeping] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => { if (wrong) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(); }, [wrong]);
  const change = (of: number, next: Panel) => setPanels((all) => all.map((one) => (one.key === of ? { ...next, key: of } : one)));
  const move = (at: number, by: number) => setPanels((all) => {
    const next = [...all];
    const [moved] = next.splice(at, 1);
    if (moved) next.splice(at + by, 0, moved);
    return next;
  });
  const add = async () => {
    const panel = await panelOf(metric);
    setPanels((all) => [...all, { ...panel, key: 1 + Math.max(-1, ...all.map(({ key }) => key)) }]);
    setMetric("");
    setDoubts([]);
  };
  const keep = async () => {
    const title = name.trim();
    const bare = panels.map(settled);
    if (metric.trim()) throw new Error(`“${metric.trim()}” is typed for another panel, which is not there yet: add it with “+ panel”, or empty the field.`);
    if (title !== board.name) mustBeFree(title, taken);
    for (const { title: panel, address } of bare) {
      const { range: { start, end }, questions } = exploredOf(address);
      if (!isTime(start) || !isTime(end)) throw new Error(`The range of “${panel}” is no time: write 1h-ago, now-7d, now, or 2026/03/01-08:00.`);
      if (!questions.length) throw new Error(`“${panel}” asks nothing: write a question, or take the panel off.`);
    }
    if (!bare.length) {
      if (board.changed_ms) await forgetSaved(board);
      return onDone("");
    }
    const fresh = unstored(panels, board.panels ?? []);
    const found = await wrongIn(fresh);
    if (found) return setWrong(found);
    // What names nothing is stored by who has read that it does.
    const doubted = doubts.length ? [] : await doubtsIn(fresh);
    if (doubted.length) return setDoubts(doubted);
    await keepSaved({ name: title, panels: bare, was_changed_ms: title === board.name ? board.changed_ms : 0 });
    // Only once the new one is there does the old one go, unless somebody has changed it.
    if (title !== board.name && board.changed_ms) {
      await forgetSaved(board).catch((refused: Error) => {
        if (!isConflict(refused)) throw refused;
        throw new Refusal(409, `This is stored as “${title}”. “${board.name}” stays beside it, since somebody has changed it meanwhile.`, null);
      });
    }
    return onDone(title);
  };
  const submit = () => {
    if (isKeeping) return;
    setError(null);
    setWrong(null);
    setIsKeeping(true);
    keep().catch(setError).finally(() => setIsKeeping(false));
  };
  return (
    <form class="card" ref={form} onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <div class="head board-head">
        <label class="bar">Name <input type="text" aria-label="Name of the dashboard" required maxLength={NAME_CHARS_MAX} value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
        <span class="bar"><button type="button" onClick={() => onDone(null)}>Cancel</button><button type="submit" class="main" aria-busy={isKeeping}>{doubts.length ? "Save all the same" : "Save"}</button></span>
      </div>
      {draft && !isOfAnother && <p class="note" role="status">This is as you left it. It is not stored yet; Cancel takes back what was changed.</p>}
      {isOfAnother && (
        <p class="caution" role="status">
          This is as you left it, and not stored yet. {board.changed_ms ? `Meanwhile ${board.by || "somebody"} changed the dashboard, at ${timeText(board.changed_ms, "local").slice(0, 19)}: Save puts this in its place, Cancel takes it back.` : "Meanwhile the dashboard was deleted: Save makes it again, Cancel takes this back."}
        </p>
      )}
      {error && <Failed error={error} />}
      {error && isConflict(error) && (
        <p class="bar"><button type="button" onClick={onStored}>Open the stored one</button><span class="note">What you changed stays here, under Edit, until you cancel it.</span></p>
      )}
      {doubts.length > 0 && <p class="caution" role="status">Nothing is stored yet: {doubts.length === 1 ? "a question names" : `${doubts.length} questions name`} what this database does not have. Choose another name where it stands, or save all the same.</p>}
      {!panels.length && <p class="note">No panels are left: to save it so is to delete the dashboard.</p>}
      <ol class="board-edit">
        {panels.map((panel, at) => (
          <PanelEdit
            key={panel.key} panel={panel} said={`panel ${at + 1}`} wrong={wrong?.key === panel.key ? wrong : null} doubts={doubts.filter(({ key }) => key === panel.key)}
            isFirst={at === 0} isLast={at === panels.length - 1} onMove={(by) => move(at, by)}
            onChange={(next) => { setWrong(null); setDoubts([]); change(panel.key, next); }} onRemove={() => setPanels((all) => all.filter((one) => one.key !== panel.key))}
          />
        ))}
      </ol>
      <div class="bar">
        <Suggest className="metric" label="Metric of another panel" placeholder="A metric, by any part of its name" value={metric} suggest={named("metrics", {})} onChange={setMetric} />
        <button type="button" disabled={!metric} onClick={add}>+ panel</button>
        <span class="note">Others come from Explore: Saved, on {board.name}.</span>
      </div>
    </form>
  );
}

interface PanelProps {
  panel: Panel;
  /** What it is called where it stands. */
  said: string;
  wrong: Wrong | null;
  doubts: Doubt[];
  isFirst: boolean;
  isLast: boolean;
  onMove: (by: number) => void;
  onChange: (panel: Panel) => void;
  onRemove: () => void;
}

function PanelEdit({ panel, said, wrong, doubts, isFirst, isLast, onMove, onChange, onRemove }: PanelProps) {
  const { range: { start, end }, view, questions } = exploredOf(panel.address);
  return (
    <li>
      <input type="text" aria-label={`Title of ${said}`} required maxLength={NAME_CHARS_MAX} value={panel.title} onInput={(event) => onChange({ ...panel, title: event.currentTarget.value })} />
      <span class="between">
        <input type="text" class="short" aria-label={`Begin of ${said}`} value={start} onChange={(event) => onChange(changed(panel, { range: { start: event.currentTarget.value, end } }))} />
        <span aria-hidden="true">–</span>
        <input type="text" class="short" aria-label={`End of ${said}`} value={end} onChange={(event) => onChange(changed(panel, { range: { start, end: event.currentTarget.value } }))} />
      </span>
      <label class="nowrap">as <select aria-label={`What ${said} is`} value={view} onChange={(event) => onChange(changed(panel, { view: event.currentTarget.value as Explored["view"] }))}>
        {[...new Set([...LOOKS, view])].map((one) => <option key={one} value={one}>{one}</option>)}
      </select></label>
      <span class="nowrap">
        <button type="button" class="plain" disabled={isFirst} aria-label={`Move ${said} up`} onClick={() => onMove(-1)}>↑</button>
        <button type="button" class="plain" disabled={isLast} aria-label={`Move ${said} down`} onClick={() => onMove(1)}>↓</button>
        <button type="button" class="plain" aria-label={`Take ${said} off`} onClick={onRemove}>×</button>
      </span>
      {questions.map((question, which) => {
        const { language, text } = question;
        const isWrong = wrong?.which === which;
        const doubt = doubts.find((one) => one.which === which);
        return (
          <div key={which} class="asks">
            <span class="note">{LANGUAGES[language]}</span>
            <textarea
              class="code" aria-label={`Question ${which + 1} of ${said}, in ${LANGUAGES[language]}`} aria-invalid={isWrong} rows={Math.min(8, Math.max(1, text.split("\n").length, Math.ceil(text.length / 90)))} spellcheck={false}
              value={text} onInput={(event) => onChange(reworded(panel, which, event.currentTarget.value))}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || event.shiftKey) return;
                event.preventDefault();
                event.currentTarget.form?.requestSubmit();
              }}
            />
            {isWrong && <Failed error={wrong.error} text={wrong.text} />}
            {doubt && <Choices unknown={doubt} onChoose={(name) => onChange(reworded(panel, which, renamedIn(question, doubt, name).text))} />}
          </div>
        );
      })}
    </li>
  );
}
