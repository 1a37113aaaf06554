// Explore: several questions, each in its language, over one range.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Note, Refusal, annotations } from "../api";
import { type Outcome, type Outcomes, type Part, asPart, askAll, drawn, firstError, isAsked, letterOf } from "../asking";
import { useAsked } from "../hooks";
import { areBuckets, heat } from "../heat";
import { Chart, LINES_MAX } from "../parts/chart";
import { Explain } from "../parts/explain";
import { Hint } from "../parts/hint";
import { Legend } from "../parts/legend";
import { Later } from "../parts/later";
import { Row } from "../parts/row";
import { Menu } from "../parts/menu";
import { Notes } from "../parts/notes";
import { Outside } from "../parts/outside";
import { SaveMenu } from "../parts/saves";
import { Copy, Empty, Failed, Loading, shortened } from "../parts/small";
import { Toolbar, ViewBar } from "../parts/toolbar";
import { draftOf, dropRow } from "../drafts";
import { forget, keep, kept } from "../history";
import { type Question, asksStored, emptyForm, hasTables, isGrowth, textOf } from "../question";
import { lead, useOpened } from "../opened";
import { beyond, numbers, plain } from "../series";
import { shownIn, timeColumn } from "../relation";
import { nothingHidden, soloed, toggled } from "../solo";
import { type Explored, place, read, write, zoneOf } from "../state";
import { timeText } from "../time";
import { format } from "../units";
import { stepOf } from "../windows";

/** Questions whose fields are on the page at first, and that come at a time. All are asked. */
const ROWS_FIRST = 10;
const ROWS_MORE = 20;

/** Always the same, so that a graph without notes is not drawn anew for them. */
const NO_NOTES: Note[] = [];

const blank = (): Question => ({ language: "opentsdb", text: textOf(emptyForm()), isForm: true, isHidden: false });

/** Another question, in the language of the one before it. */
const another = (before: Question | undefined): Question => (before && !before.isForm ? { ...before, text: "", isHidden: false } : blank());

export function Explore({ params }: { params: URLSearchParams }) {
  const opened = useOpened(params);
  const latest = useRef(opened);
  latest.current = opened;
  const explored = useMemo(() => {
    const found = read(params);
    return found.questions.length ? found : { ...found, questions: [blank()] };
  }, [params]);
  // A button means what stands there now: the field that it took the focus from may just have been asked.
  const press = (change: (now: Explored) => Partial<Explored>) => {
    const at = place(location.hash);
    if (at.page !== "explore") return;
    const now = read(at.params);
    const whole = now.questions.length ? now : { ...now, questions: [blank()] };
    lead(write({ ...whole, ...change(whole) }));
  };
  const pressed = (part: Partial<Explored>) => press(() => part);
  const set = (part: Partial<Explored>) => {
    // A field that loses the focus because another address comes has nothing to say any more.
    const at = place(location.hash);
    if (at.page !== "explore" || String(at.params) !== String(params) || latest.current !== opened) return;
    lead(write({ ...explored, ...part }));
  };
  const [part, setPart] = useState<Part | null>(null);
  const questions = asPart(explored.questions, part);
  const key = JSON.stringify([questions, explored.range, explored.database, explored.zone, explored.step, explored.view === "samples"]);
  const asked = useAsked(key, (signal) => askAll({ ...explored, questions }, signal), explored.refresh * 1000);
  const setQuestion = (at: number, question: Question) => set({ questions: explored.questions.map((other, index) => (index === at ? question : other)) });
  const [rows, setRows] = useState(ROWS_FIRST);
  const more = explored.questions.length - rows;
  // The row that a button has added: it gets the cursor as soon as it is there, and once.
  const added = useRef(-1);
  useEffect(() => {
    if (added.current < explored.questions.length) added.current = -1;
  }, [explored]);
  const found = asked.answer;
  const isAnyAsked = questions.some(isAsked);
  const refused = (found?.outcomes ?? []).map(firstError).flatMap((error, index) => (error instanceof Refusal && error.status === 400 ? [letterOf(index)] : []));
  const address = write(explored);
  useEffect(() => {
    if (found?.outcomes.some(({ answer }) => answer)) keep(address);
  }, [found]);
  // All of it: also what was typed and not asked yet, and the other statements of a text of which one was asked.
  const runAll = () => {
    const isDrafted = explored.questions.some((question, at) => draftOf(at, question) !== null);
    if (isDrafted) press(({ questions }) => ({ questions: questions.map((question, at) => ({ ...question, text: draftOf(at, question) ?? question.text })) }));
    else if (questions.every((question, at) => question === explored.questions[at])) asked.again();
    setPart(null);
  };
  const add = (button: HTMLElement) => {
    setRows(Math.max(rows, explored.questions.length + 1));
    // Whoever has gone elsewhere when the row comes is left there; the button is where it was asked for.
    button.blur();
    press(({ questions }) => {
      added.current = questions.length;
      return { questions: [...questions, another(questions.at(-1))] };
    });
  };
  // What was hidden before a question was shown alone, by the letters of rows: with other rows it means nothing.
  const before = useRef<{ of: string; hidden: ReadonlySet<number> | null }>({ of: "", hidden: null });
  const alone = (index: number) => press(({ questions }) => {
    const of = `${opened} ${questions.length}`;
    const all = questions.map((_, at) => at);
    const next = soloed({ hidden: new Set(all.filter((at) => questions[at]!.isHidden)), before: before.current.of === of ? before.current.hidden : null }, all, index);
    before.current = { of, hidden: next.before };
    return { questions: questions.map((question, at) => ({ ...question, isHidden: next.hidden.has(at) })) };
  });
  const runPart = (next: Part) => {
    if (part && JSON.stringify(part) === JSON.stringify(next)) asked.again();
    else setPart(next);
  };
  return (
    <div class="explore">
      <Toolbar explored={explored} set={pressed} isLoading={asked.isLoading} onRun={runAll} onStop={asked.stop} />
      {zoneOf(params) === null && <p class="caution" role="status">The address names the zone “{params.get("zone") ?? params.get("tz")}”, which this browser does not know. Times are in its own.</p>}
      <div class="rows">
        {explored.questions.slice(0, rows).map((question, index) => {
          const asks = questions[index]!;
          const isPart = asks !== question;
          const outcome = found?.outcomes[index];
          const failed = outcome?.question.text === asks.text ? outcome : undefined;
          return (
            <div key={`${opened} ${index}`}>
              <Row
                question={question} index={index} database={explored.database} canRemove={explored.questions.length > 1} isNew={index === added.current}
                isFirstOfTables={index === explored.questions.findIndex(({ language }) => hasTables(language))}
                onChange={(next) => setQuestion(index, next)} onRemove={() => { dropRow(index); press(({ questions }) => ({ questions: questions.filter((_, at) => at !== index) })); }}
                onAlone={() => alone(index)}
                onHide={() => press(({ questions }) => ({ questions: questions.map((one, at) => (at === index ? { ...one, isHidden: !one.isHidden } : one)) }))}
                step={(failed?.answer && failed.until && !failed.error && failed.answer.series.length > 0 && stepOf(asks, failed.until.stepMs)) || ""}
                onRun={() => (isPart ? setPart(null) : asked.again())} onRunPart={(of, text) => runPart({ index, of, text })}
              />
              {isPart && <p class="hint" role="status">Only this is asked: <span class="code" title={asks.text}>{shortened(asks.text)}</span> <button type="button" class="plain" onClick={() => setPart(null)}>Ask all of it</button></p>}
              <Hint question={asks} index={index} />
              {failed?.answer?.notes.map((note) => <p class="hint" key={note}>{note}</p>)}
              {!isPart && failed?.answer?.series.length === 0 && !failed.answer.tables && <Later which="NearestOfNothing" question={question} database={explored.database} onChoose={(next) => setQuestion(index, next)} />}
              {failed?.error && (
                <>
                  <Failed error={failed.error} text={asks.text} {...(failed.error instanceof Refusal && failed.error.mayPass ? { again: asked.again } : {})} />
                  {!isPart && <Later which="Nearest" question={question} error={failed.error} database={explored.database} onChoose={(next) => setQuestion(index, next)} />}
                </>
              )}
            </div>
          );
        })}
        {more > 0 && (
          <p class="bar note">{more} more {more === 1 ? "query is" : "queries are"} asked and drawn, too.
            <button type="button" class="plain" onClick={() => setRows(rows + ROWS_MORE)}>Show {Math.min(more, ROWS_MORE)} of them</button>
          </p>
        )}
        <p class="bar">
          <button type="button" onClick={(event) => add(event.currentTarget)}>+ query</button>
          <Menu title="History" hotkey="h">{(close) => <Asked onChoose={close} />}</Menu>
          <SaveMenu address={address} isAsked={isAnyAsked} refused={refused} />
          <span class="grow" />
          <Copy text={() => location.href}>Copy link</Copy>
          <Menu title="Copy as">{() => <Later which="CopyAs" explored={explored} />}</Menu>
          <Menu title="Download">{(close) => <Later which="Download" found={found} database={explored.database} close={close} />}</Menu>
        </p>
      </div>
      {asked.error && <Failed error={asked.error} {...(asked.error instanceof Refusal ? { again: asked.again } : {})} />}
      {!isAnyAsked && (
        <Empty title="Nothing is asked yet"><p>Type a part of a metric's name above, or choose one of <a href="#/metrics">all metrics</a>.</p></Empty>
      )}
      {isAnyAsked && !found && asked.isLoading && <Loading what="Asking…" />}
      {found && isAnyAsked && <Result found={found} explored={explored} isOld={asked.error !== null} set={pressed} onRun={asked.again} />}
    </div>
  );
}

/** What was asked before, in this browser. */
function Asked({ onChoose }: { onChoose: () => void }) {
  const [addresses, setAddresses] = useState(kept);
  if (!addresses.length) return <span class="note">Nothing yet; this browser remembers what is asked.</span>;
  return (
    <>
      {addresses.map((address) => {
        const { questions, range } = read(place(address).params);
        return (
          <a key={address} href={address} onClick={onChoose}>
            <span class="code">{questions.map(({ text }) => text).join(" · ")}</span>
            <span class="note">{[range.start, range.end].map((text) => (/^\d{11,}$/.test(text) ? timeText(Number(text), "local") : text)).join(" – ")}</span>
          </a>
        );
      })}
      <button type="button" class="plain" onClick={() => { forget(); setAddresses([]); }}>Forget all</button>
    </>
  );
}

interface ResultProps {
  found: Outcomes;
  explored: Explored;
  /** Whether it is what was answered before, and the next one failed: that it is empty says nothing any more. */
  isOld: boolean;
  set: (part: Partial<Explored>) => void;
  onRun: () => void;
}

function Result({ found, explored, isOld, set, onRun }: ResultProps) {
  const [hiding, setHiding] = useState(nothingHidden<string>);
  const [cursor, setCursor] = useState<{ values: (number | null)[]; time: number } | null>(null);
  const [focus, setFocus] = useState<number | null>(null);
  const noted = useAsked(`${explored.database} ${found.span.start} ${found.span.end}`, (signal) => annotations(explored.database, found.span.start, found.span.end, signal));
  const notes: Note[] = noted.answer?.annotations ?? NO_NOTES;
  const outcomes = useMemo(() => shownIn(found, explored), [found, explored.view, explored.isDrawn]);
  const answered = outcomes.filter(({ answer }) => answer);
  const count = answered.reduce((sum, { answer }) => sum + (answer?.series.length ?? 0), 0);
  const of = useMemo(() => drawn(outcomes, explored.top, outcomes.length > 1), [outcomes, explored.top]);
  const { lines: bare, unit, series: all } = of;
  const [isEach, setIsEach] = useState(false);
  const hasBuckets = useMemo(() => areBuckets(all), [all]);
  const isMap = explored.view === "heatmap" && hasBuckets;
  const buckets = useMemo(() => (isMap ? heat(all, answered.every(({ question }) => isGrowth(question))) : null), [all, isMap]);
  const lines = useMemo(() => bare.map((line) => ({ ...line, isHidden: hiding.hidden.has(line.title) })), [bare, hiding]);
  const outside = useMemo(() => beyond(all, found.span), [all]);
  // What could not be read has no steps that could be told of.
  if (!answered.length) return found.outcomes.some(({ error }) => error instanceof Refusal && error.done) ? <section class="card result"><Explain asked={found.outcomes} tookMs={found.tookMs} /></section> : null;
  const tables = answered.flatMap(({ answer }) => answer?.tables ?? []);
  if (isOld && !all.length && !tables.length) return null;
  const samples = answered.reduce((sum, { answer }) => sum + (answer?.figures.samples ?? 0), 0);
  const read = answered.reduce((sum, { answer }) => sum + (answer?.figures.samples_read ?? 0), 0);
  // What computes is asked as it stands: that is not what is stored.
  const computed = answered.filter(({ question }) => !asksStored(question)).length;
  // What was answered with nothing beside others may be about texts.
  const without = answered.flatMap(({ question, answer }) => (hasTables(question.language) || answer?.series.length ? [] : [question]));
  const about = { database: explored.database, span: found.span, zone: explored.zone, explored, set };
  const asStored = !computed ? "as they are stored" : computed === answered.length ? "as they are computed; a metric alone shows what is stored" : `those of ${computed} as they are computed, the others as they are stored`;
  const isGraph = all.length > 0 && !isMap && ["graph", "number", "heatmap"].includes(explored.view);
  // What has a graph, too, may be looked at as either.
  const isTable = tables.length > 0 && !all.length;
  const isListing = isTable && !tables.some((table) => timeColumn(table) >= 0);
  const toggle = (name: string, isAlone: boolean) => setHiding((now) => (isAlone ? soloed(now, lines.map((line) => line.title), name) : toggled(now, name)));
  return (
    <section class="card result">
      <div class="result-head">
        <p class="note">
          {tables.length > 0 && `${tables.length} ${tables.length === 1 ? "table" : "tables"}, `}
          {!isTable && `${all.length < count ? `The ${all.length} greatest of ${count} series by their means` : `${count} series`}, ${format(samples)} samples from ${format(read)} read, `}
          in {Math.round(found.tookMs)} ms{!isTable && explored.view === "samples" && `; ${asStored}`}
          {isGraph && all.length > LINES_MAX && `; the first ${LINES_MAX} are drawn`}
        </p>
        {!isListing && <ViewBar explored={explored} set={set} hasBuckets={hasBuckets} shown={explored.view === "number" || (explored.view === "graph" && isTable) ? (isTable ? "table" : "graph") : explored.view} />}
      </div>
      {outcomes.map((outcome, at) => <Told key={at} outcome={outcome} found={found} explored={explored} set={set} letter={outcomes.length > 1 ? letterOf(at) : ""} />)}
      {!all.length && !tables.length && answered.some(({ answer }) => answer?.tables && !answer.statements) && <Empty title="There is nothing of that kind"><p>The statement was carried out, and its list is empty.</p></Empty>}
      {!all.length && !answered.some(({ answer }) => answer?.tables) && <Later which="Nothing" questions={answered.map(({ question }) => question)} {...about} />}
      {all.length > 0 && without.length > 0 && <Later which="NoLines" questions={without} {...about} />}
      {buckets && (
        <>
          <Later which="Heatmap" heat={buckets} span={found.span} unit={unit} zone={explored.zone} height={360} label={`Map of ${buckets.bounds.length} buckets`} onRange={({ start, end }) => set({ range: { start: String(start), end: String(end) } })} />
          <p class="note">By the upper bounds of buckets; the more fell into one, the stronger its colour. A bound of several series is their sum.</p>
        </>
      )}
      {all.length > 0 && of.shared.length > 0 && <p class="note">All of them have {of.shared.map(([name, value]) => `${plain(name)}=${plain(value)}`).join(", ")}.</p>}
      {all.length > 0 && explored.view === "table" && <label class="check"><input type="checkbox" checked={isEach} onChange={(event) => setIsEach(event.currentTarget.checked)} />each value, not only the last</label>}
      {all.length > 0 && explored.view === "table" && !isEach && <Later which="Values" of={of} zone={explored.zone} label="Values" />}
      {all.length > 0 && (explored.view === "samples" || (explored.view === "table" && isEach)) && <Later which="Samples" all={all} titleIn={of.titleIn} zone={explored.zone} />}
      {isGraph && all.every((one) => numbers(one).every((value) => value === null) && one.values.some((value) => typeof value === "string")) && <p class="note" role="status">These values are {all.every(({ kind }) => kind === "string") ? "texts" : "infinite, or no numbers"}, which no graph shows: the table does.</p>}
      {isGraph && outside && <Outside of={outside} span={found.span} zone={explored.zone} set={set} />}
      {isGraph && (
        <>
          <Chart
            lines={lines} span={found.span} unit={unit} zone={explored.zone} height={360} isStacked={explored.isStacked}
            isLogarithmic={explored.isLogarithmic} yRange={explored.yRange} focus={focus} notes={notes} label={`Graph of ${all.length} series`}
            onRange={({ start, end }) => set({ range: { start: String(start), end: String(end) } })}
            onCursor={(values, time) => setCursor(values && time !== null ? { values, time } : null)}
          />
          <Notes notes={notes} isWhole={noted.answer?.is_whole ?? true} database={explored.database} span={found.span} zone={explored.zone} onChange={() => { noted.again(); onRun(); }} />
          <Legend lines={lines} unit={unit} zone={explored.zone} isStacked={explored.isStacked} cursor={cursor} onToggle={toggle} onFocus={setFocus} />
        </>
      )}
      <Explain asked={found.outcomes} tookMs={found.tookMs} />
    </section>
  );
}

/** What a question came to that is no graph: tables, and errors of some of its statements. */
function Told({ outcome: { answer, question }, letter, ...shown }: { outcome: Outcome; letter: string } & Pick<ResultProps, "found" | "explored" | "set">) {
  const more = answer?.rows_left_out ?? 0;
  if (!answer?.statements) return <Later which="Tables" all={answer?.tables ?? []} zone={shown.explored.zone} end={more > 0 && <p class="end note">Here the answer is cut: {more} rows follow. LIMIT and OFFSET give others.</p>} />;
  const isAllDrawn = answer.statements.length === 1 && !answer.tables?.length && !more;
  return isAllDrawn ? null : <Later which="Statements" question={question} all={answer.statements} letter={letter} {...shown} />;
}
