// Dashboards: graphs that people keep together in the store, over one range; and saved questions.

import { useState } from "preact/hooks";
import { type Panel, type Saved, forgetSaved, keepSaved, saved } from "../api";
import { askAll, drawn } from "../asking";
import { database, here } from "../database";
import { useAsked } from "../hooks";
import { BoardEdit, hasDraft, panelOf } from "../parts/boardedit";
import { Chart, COLORS } from "../parts/chart";
import { paramsOf, textsOf } from "../parts/saves";
import { Empty, Failed, Loading } from "../parts/small";
import { Suggest, named } from "../parts/suggest";
import { figures } from "../series";
import { dashboardAddress, read, write } from "../state";
import { RANGES, timeText } from "../time";
import { format } from "../units";

/** Steps of a panel, which is narrower than Explore's graph. */
const STEPS = 200;

/** Lines that are named under a panel. */
const NAMED = 6;

const EVERY_MS = 10_000;

export function Dashboards({ params }: { params: URLSearchParams }) {
  const asked = useAsked("saved", saved);
  const name = params.get("name") ?? "";
  const all = asked.answer?.saved ?? [];
  const board = all.find((one) => one.kind === "dashboard" && one.name === name);
  return (
    <div class="dashboards">
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {(!asked.answer || (name && !board)) && asked.isLoading && <Loading what="Looking for dashboards…" />}
      {asked.answer && name && !board && !asked.isLoading && <Empty title={`There is no dashboard “${name}”`}><p>It may be deleted. <a href="#/dashboards">All dashboards</a></p></Empty>}
      {asked.answer && name && board && <Board key={name} board={board} taken={all.map((one) => one.name)} params={params} onChange={asked.again} />}
      {asked.answer && !name && <All all={all} onChange={asked.again} />}
    </div>
  );
}

function All({ all, onChange }: { all: Saved[]; onChange: () => void }) {
  const boards = all.filter(({ kind }) => kind === "dashboard");
  const queries = all.filter(({ kind }) => kind === "query");
  const taken = all.map(({ name }) => name);
  if (!all.length) {
    return (
      <section class="card">
        <Empty title="Nothing is saved yet">
          <p>What is saved is kept in the store, for everybody who may read this database. Begin here with a metric, or ask something in <a href="#/explore">Explore</a> and choose Saved.</p>
          <NewBoard taken={taken} queries={[]} onDone={onChange} />
        </Empty>
      </section>
    );
  }
  return (
    <div class="halves">
      <section class="card">
        <div class="head"><h2>Dashboards</h2><NewBoard taken={taken} queries={queries} onDone={onChange} /></div>
        {!boards.length && <p class="note">None yet.</p>}
        <ul class="list">{boards.map((one) => <Entry key={one.name} one={one} href={dashboardAddress(one.name)} detail={`${one.panels?.length} ${one.panels?.length === 1 ? "panel" : "panels"}: ${(one.panels ?? []).map(({ title }) => title).join(", ")}`} onChange={onChange} />)}</ul>
      </section>
      <section class="card">
        <h2>Saved questions</h2>
        {!queries.length && <p class="note">None yet: in Explore, Saved → “as a query”.</p>}
        <ul class="list">{queries.map((one) => <Entry key={one.name} one={one} href={here(one.address ?? "")} detail={textsOf(one.address ?? "")} onChange={onChange} />)}</ul>
      </section>
    </div>
  );
}

/** Makes a dashboard with its first panel: a metric, or a question that is saved. */
function NewBoard({ taken, queries, onDone }: { taken: string[]; queries: Saved[]; onDone: () => void }) {
  const [isOpen, setIsOpen] = useState(false);
  const [name, setName] = useState("");
  const [metric, setMetric] = useState("");
  const [query, setQuery] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const make = async () => {
    const title = name.trim();
    const saved = queries.find((one) => one.name === query);
    try {
      if (taken.includes(title)) throw new Error(`There is a “${title}” already; choose another name.`);
      if (!saved && !metric) throw new Error("What is its first panel to show? Choose a metric.");
      await keepSaved({ name: title, panels: [saved ? { title: saved.name, address: saved.address ?? "" } : panelOf(metric)], was_changed_ms: 0 });
      location.hash = dashboardAddress(title);
      onDone();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  if (!isOpen) return <button type="button" class={taken.length ? "" : "main"} onClick={() => setIsOpen(true)}>New dashboard</button>;
  return (
    <form class="bar new-board" onSubmit={(event) => { event.preventDefault(); make(); }}>
      <input type="text" aria-label="Name of the new dashboard" placeholder="Name" required maxLength={100} value={name} ref={focusOnce} onInput={(event) => setName(event.currentTarget.value)} />
      {queries.length > 0 && (
        <select aria-label="First panel" value={query} onChange={(event) => setQuery(event.currentTarget.value)}>
          <option value="">with a metric</option>
          {queries.map((one) => <option key={one.name} value={one.name}>with {one.name}</option>)}
        </select>
      )}
      {!query && <Suggest className="metric" label="Metric of the first panel" placeholder="A metric, by any part of its name" value={metric} suggest={named("metrics", {})} onChange={setMetric} />}
      <button type="submit" class="main">Make</button>
      <button type="button" class="plain" onClick={() => setIsOpen(false)}>Cancel</button>
      {error && <Failed error={error} />}
    </form>
  );
}

/** Puts the cursor into a field as it comes. */
const focusOnce = (field: HTMLInputElement | null) => field?.focus();

function Entry({ one, href, detail, onChange }: { one: Saved; href: string; detail: string; onChange: () => void }) {
  const [error, setError] = useState<Error | null>(null);
  const [isSure, setIsSure] = useState(false);
  const forget = async () => {
    if (!isSure) {
      setIsSure(true);
      return;
    }
    await forgetSaved(one).then(onChange, setError);
  };
  return (
    <li>
      <div><a href={href}>{one.name}</a><p class="note code">{detail}</p><p class="note">{one.by ? `by ${one.by}, ` : ""}{timeText(one.changed_ms, "local").slice(0, 16)}</p></div>
      <button type="button" class={isSure ? "danger" : "plain"} aria-label={`Delete ${one.name}`} onClick={forget}>{isSure ? "Really delete" : "×"}</button>
      {error && <Failed error={error} />}
    </li>
  );
}

function Board({ board, taken, params, onChange }: { board: Saved; taken: string[]; params: URLSearchParams; onChange: () => void }) {
  const range = RANGES.find((name) => name === params.get("range")) ?? "";
  const [isEdited, setIsEdited] = useState(() => hasDraft(board));
  const panels = board.panels ?? [];
  const done = (name: string | null) => {
    setIsEdited(false);
    if (name === null) return;
    if (name !== board.name) location.hash = name ? dashboardAddress(name) : "#/dashboards";
    onChange();
  };
  const address = (name: string) => dashboardAddress(board.name, name);
  return (
    <>
      <div class="head board-head">
        <h1>{board.name}</h1>
        <span class="bar">
          <nav class="segments" aria-label="Range">
            <a href={address("")} aria-current={range === "" ? "true" : undefined}>own</a>
            {RANGES.map((name) => <a key={name} href={address(name)} aria-current={name === range ? "true" : undefined}>{name}</a>)}
          </nav>
          <button type="button" aria-pressed={isEdited} onClick={() => setIsEdited(!isEdited)}>Edit</button>
        </span>
      </div>
      {isEdited && <BoardEdit key={board.changed_ms} board={board} taken={taken} onDone={done} />}
      <div class="panels">
        {panels.map((panel) => <PanelCard key={`${panel.title}\0${panel.address}`} panel={panel} range={range} />)}
      </div>
    </>
  );
}

interface PanelProps {
  panel: Panel;
  range: string;
}

function PanelCard({ panel, range }: PanelProps) {
  const saved = read(paramsOf(panel.address));
  // A panel that names no database is about that of its dashboard.
  const own = { ...saved, database: saved.database || database() };
  const explored = range ? { ...own, range: { start: `${range}-ago`, end: "now" } } : own;
  const isMoving = explored.range.end === "now";
  const asked = useAsked(`${panel.address} ${range}`, (signal) => askAll({ ...explored, view: "graph" }, signal, STEPS), isMoving ? EVERY_MS : 0);
  const outcomes = asked.answer?.outcomes ?? [];
  const { lines, unit } = drawn(outcomes, explored.top);
  // A name that all lines have in common is the panel's title.
  const names = lines.map(({ title }) => (/ (\{.*\})$/.exec(title)?.[1] ?? title));
  const common = new Set(lines.map(({ title }) => title.split(" {")[0])).size === 1 && lines.length > 1;
  const failed = outcomes.find(({ error }) => error)?.error ?? asked.error;
  return (
    <article class="card panel">
      <div class="head">
        <h2><a href={write(explored)}>{panel.title}</a></h2>
        <span class="note nowrap">{range ? "" : [explored.range.start, explored.range.end].filter((text) => text !== "now").map((text) => (/^\d{11,}$/.test(text) ? timeText(Number(text), "local").slice(5, 16) : text)).join(" – ")}</span>
      </div>
      {failed && <Failed error={failed} again={asked.again} />}
      {!asked.answer && asked.isLoading && <Loading what="Asking…" />}
      {asked.answer && !failed && !lines.length && <p class="note">No samples in this range.</p>}
      {asked.answer && lines.length > 0 && (
        <>
          <Chart
            lines={lines} span={asked.answer.span} unit={unit} zone={explored.zone} height={200} isStacked={explored.isStacked}
            isLogarithmic={explored.isLogarithmic} label={panel.title}
            onRange={({ start, end }) => { location.hash = write({ ...explored, range: { start: String(start), end: String(end) } }); }}
          />
          <ul class="key">
            {lines.slice(0, NAMED).map((line, index) => <li key={line.title} class={`c${index % COLORS}`}>{common ? names[index] : line.title} <b>{format(figures(line.values).last, line.unit ?? unit)}</b></li>)}
            {lines.length > NAMED && <li class="more">{lines.length - NAMED} more</li>}
          </ul>
        </>
      )}
    </article>
  );
}
