// Dashboards: graphs that people keep together in the store, over one range; and saved questions.

import { useRef, useState } from "preact/hooks";
import { type Saved, forgetSaved, saved } from "../api";
import { wantedOf } from "../asking";
import { boardText, draftOf, fileName, fixed } from "../board";
import { here } from "../database";
import { useAsked } from "../hooks";
import { Ends } from "../parts/ends";
import { Later } from "../parts/later";
import { PanelCard } from "../parts/panel";
import { textsOf } from "../parts/saves";
import { Empty, Failed, Loading, save } from "../parts/small";
import { rangeOf } from "../scope";
import { dashboardAddress, unexplored } from "../state";
import { RANGES, type Range, timeText } from "../time";

export function Dashboards({ params }: { params: URLSearchParams }) {
  const asked = useAsked("saved", saved);
  const name = params.get("name") ?? "";
  const all = asked.answer?.saved ?? [];
  const board = all.find((one) => one.kind === "dashboard" && one.name === name);
  return (
    <div class="dashboards">
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {(!asked.answer || (name && !board)) && asked.isLoading && <Loading what="Looking for dashboards…" />}
      {asked.answer && name && !board && !asked.isLoading && <Gone name={name} taken={all.map((one) => one.name)} onChange={asked.again} />}
      {asked.answer && name && board && <Board key={name} board={board} taken={all.map((one) => one.name)} params={params} onChange={asked.again} />}
      {asked.answer && !name && <All all={all} onChange={asked.again} />}
    </div>
  );
}

/** What is not there, or not any more: who was about to change it has that still. */
function Gone({ name, taken, onChange }: { name: string; taken: string[]; onChange: () => void }) {
  const nothing: Saved = { name, kind: "dashboard", panels: [], by: "", changed_ms: 0 };
  const done = (to: string | null) => {
    if (to !== null && to !== name) location.hash = to ? dashboardAddress(to) : "#/dashboards";
    onChange();
  };
  return (
    <>
      <Empty title={`There is no dashboard “${name}”`}><p>It may be deleted. <a href="#/dashboards">All dashboards</a></p></Empty>
      {draftOf(name) && <Later which="BoardEdit" board={nothing} taken={taken} onDone={done} onStored={onChange} />}
    </>
  );
}

function All({ all, onChange }: { all: Saved[]; onChange: () => void }) {
  const boards = all.filter(({ kind }) => kind === "dashboard");
  const queries = all.filter(({ kind }) => kind === "query");
  const taken = all.map(({ name }) => name);
  const ready = <Later which="ReadyBoards" taken={taken} onDone={onChange} />;
  if (!all.length) {
    return (
      <>
        <section class="card">
          <Empty title="Nothing is saved yet">
            <p>What is saved is kept in the store, for everybody who may read this database. Begin here with a metric, or ask something in <a href="#/explore">Explore</a> and choose Saved.</p>
            <div class="bar"><NewBoard taken={taken} queries={[]} onDone={onChange} /><FromFile taken={taken} onDone={onChange} /></div>
          </Empty>
        </section>
        {ready}
      </>
    );
  }
  return (
    <>
      <div class="halves">
        <section class="card">
          <div class="head boards-head"><h2>Dashboards</h2><NewBoard taken={taken} queries={queries} onDone={onChange} /><FromFile taken={taken} onDone={onChange} /></div>
          {!boards.length && <p class="note">None yet.</p>}
          <ul class="list">{boards.map((one) => <Entry key={one.name} one={one} href={dashboardAddress(one.name)} detail={`${one.panels?.length} ${one.panels?.length === 1 ? "panel" : "panels"}: ${(one.panels ?? []).map(({ title }) => title).join(", ")}`} onChange={onChange} />)}</ul>
        </section>
        <section class="card">
          <h2>Saved questions</h2>
          {!queries.length && <p class="note">None yet: in Explore, Saved → “as a query”.</p>}
          <ul class="list">{queries.map((one) => <Entry key={one.name} one={one} href={here(one.address ?? "")} detail={textsOf(one.address ?? "")} onChange={onChange} />)}</ul>
        </section>
      </div>
      {ready}
    </>
  );
}

function NewBoard({ taken, queries, onDone }: { taken: string[]; queries: Saved[]; onDone: () => void }) {
  const [isOpen, setIsOpen] = useState(false);
  if (isOpen) return <Later which="NewBoardForm" taken={taken} queries={queries} onDone={onDone} onCancel={() => setIsOpen(false)} />;
  return <button type="button" class={taken.length ? "" : "main"} onClick={() => setIsOpen(true)}>New dashboard</button>;
}

/** Makes a dashboard of a file that Export wrote. */
function FromFile({ taken, onDone }: { taken: string[]; onDone: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const field = useRef<HTMLInputElement>(null);
  // The same file may be chosen again once it was mended.
  const choose = (input: HTMLInputElement) => {
    setFile(input.files?.[0] ?? null);
    input.value = "";
  };
  return (
    <>
      <input ref={field} type="file" accept=".json" class="unseen" aria-label="Dashboard to import" tabIndex={-1} onChange={(event) => choose(event.currentTarget)} />
      <button type="button" onClick={() => field.current?.click()}>Import</button>
      {file && <Later which="BoardImport" file={file} taken={taken} onDone={onDone} onCancel={() => setFile(null)} />}
    </>
  );
}

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
  const over = rangeOf(params);
  const range = params.has("start") || params.has("end") ? "" : params.get("range") ?? "";
  const [isEdited, setIsEdited] = useState(() => draftOf(board.name) !== undefined);
  const panels = board.panels ?? [];
  const done = (name: string | null) => {
    setIsEdited(false);
    if (name === null) return;
    if (name !== board.name) location.hash = name ? dashboardAddress(name) : "#/dashboards";
    onChange();
  };
  const address = (name: string) => dashboardAddress(board.name, name ? { range: name } : null);
  const fault = over && faultOf(over);
  return (
    <>
      <div class="head board-head">
        <h1>{board.name}</h1>
        <span class="bar">
          <nav class="segments" aria-label="Range">
            <a href={address("")} aria-current={over ? undefined : "true"}>own</a>
            {RANGES.map((name) => <a key={name} href={address(name)} aria-current={name === range ? "true" : undefined}>{name}</a>)}
          </nav>
          <Ends key={JSON.stringify(over)} range={over} onChange={(next) => { location.hash = dashboardAddress(board.name, next); }} />
          <button type="button" class="plain" title="Saves it as a file, for Import" onClick={() => save(fileName(board.name), "application/json", [boardText(board)])}>Export</button>
          <button type="button" aria-pressed={isEdited} onClick={() => setIsEdited(!isEdited)}>Edit</button>
        </span>
      </div>
      {isEdited && <Later key={board.changed_ms} which="BoardEdit" board={board} taken={taken} onDone={done} onStored={() => { setIsEdited(false); onChange(); }} />}
      {!isEdited && draftOf(board.name) && <p class="note" role="status">This is what is stored. What you changed is not; Edit shows it.</p>}
      {fault && <Failed error={fault} />}
      {!fault && (
        <div class="panels">
          {panels.map((panel) => <PanelCard key={`${panel.title}\0${panel.address}`} panel={panel} over={over && fixed(over)} />)}
        </div>
      )}
    </>
  );
}

/** Why a range makes no sense, if it does not. */
function faultOf(range: Range): Error | null {
  try {
    wantedOf({ ...unexplored(), range });
    return null;
  } catch (error) {
    return error as Error;
  }
}
