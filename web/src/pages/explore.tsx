// Explore: several questions, each in its language, over one range.

import { useEffect, useMemo, useState } from "preact/hooks";
import { type Answer, catalogue, databases, query } from "../api";
import { useAsked } from "../hooks";
import { Chart, LINES_MAX, type Line } from "../parts/chart";
import { Legend } from "../parts/legend";
import { Row } from "../parts/row";
import { Copy, Empty, Failed, Loading, save } from "../parts/small";
import { type Question, bodyOf, curl, emptyForm, formOf, isPlainName, isRate, textOf } from "../question";
import { type Series, csv, numbers, sharedLabels, title } from "../series";
import { type Explored, place, read, write } from "../state";
import { RANGES, type Span, durationText, span, step, timeText } from "../time";
import { format, unitOf } from "../units";

/** Steps that a range is cut into: about one for each three pixels of a wide graph. */
const STEPS_MAX = 400;

/** Rows of the table that are put on the page. */
const ROWS_MAX = 1000;

/** Names that are offered for one that is none. */
const NEAREST_MAX = 6;

const blank = (): Question => ({ language: "opentsdb", text: textOf(emptyForm()), isForm: true, isHidden: false });

const isAsked = (question: Question) =>
  !question.isHidden && (question.language === "influxql" ? question.text.trim() !== "" : formOf(question.text)?.metric !== "");

interface Outcome {
  question: Question;
  answer: Answer | null;
  error: Error | null;
}

interface Outcomes {
  span: Span;
  stepMs: number;
  outcomes: Outcome[];
  tookMs: number;
}

async function askAll(explored: Explored, signal: AbortSignal): Promise<Outcomes> {
  const wanted = span(explored.range, Date.now(), explored.zone);
  if (!wanted) throw new Error("The range makes no sense: the beginning must be a time before the end, as 1h-ago or 2026/03/01-08:00.");
  const stepMs = step(wanted.end - wanted.start, STEPS_MAX);
  const began = performance.now();
  const outcomes = await Promise.all(explored.questions.map(async (question): Promise<Outcome> => {
    if (!isAsked(question)) return { question, answer: null, error: null };
    try {
      return { question, answer: await query(explored.database, bodyOf(question, wanted, stepMs), signal), error: null };
    } catch (error) {
      if (signal.aborted) throw error;
      return { question, answer: null, error: error as Error };
    }
  }));
  return { span: wanted, stepMs, outcomes, tookMs: performance.now() - began };
}

export function Explore({ params }: { params: URLSearchParams }) {
  const explored = useMemo(() => {
    const found = read(params);
    return found.questions.length ? found : { ...found, questions: [blank()] };
  }, [params]);
  const set = (part: Partial<Explored>) => {
    // A field that loses the focus because another address comes has nothing to say any more.
    const at = place(location.hash);
    if (at.page !== "explore" || String(at.params) !== String(params)) return;
    location.hash = write({ ...explored, ...part });
  };
  const key = JSON.stringify([explored.questions, explored.range, explored.database, explored.zone]);
  const asked = useAsked(key, (signal) => askAll(explored, signal), explored.refresh * 1000);
  const bases = useAsked("databases", databases);
  const setQuestion = (at: number, question: Question | null) => set({
    questions: explored.questions.flatMap((other, index) => (index !== at ? [other] : question ? [question] : [])),
  });
  const found = asked.answer;
  const series = useMemo(() => (found?.outcomes ?? []).flatMap(({ answer }) => answer?.series ?? []), [found]);
  const isAnyAsked = explored.questions.some(isAsked);
  const bodies = () => {
    const wanted = span(explored.range, Date.now(), explored.zone);
    return wanted ? explored.questions.filter(isAsked).map((question) => bodyOf(question, wanted, step(wanted.end - wanted.start, STEPS_MAX))) : [];
  };
  return (
    <div class="explore">
      <Toolbar explored={explored} names={bases.answer?.databases.map(({ name }) => name) ?? []} set={set} isLoading={asked.isLoading} onRun={asked.again} />
      <div class="rows">
        {explored.questions.map((question, index) => {
          const failed = found?.outcomes[index];
          return (
            <div key={index}>
              <Row
                question={question} index={index} database={explored.database} canRemove={explored.questions.length > 1}
                onChange={(next) => setQuestion(index, next)} onRemove={() => setQuestion(index, null)} onRun={asked.again}
              />
              {failed?.error && failed.question.text === question.text && (
                <>
                  <Failed error={failed.error} text={question.text} />
                  <Nearest question={question} database={explored.database} onChoose={(next) => setQuestion(index, next)} />
                </>
              )}
            </div>
          );
        })}
        <p class="bar">
          <button type="button" onClick={() => set({ questions: [...explored.questions, blank()] })}>+ query</button>
          <span class="grow" />
          <Copy text={() => location.href}>Copy link</Copy>
          <Copy text={() => bodies().map((body) => curl(location.origin, explored.database, body)).join("\n")}>Copy as curl</Copy>
          <button type="button" class="plain" disabled={!series.length} onClick={() => save("foliot.csv", "text/csv", csv(series))}>CSV</button>
          <button type="button" class="plain" disabled={!series.length} onClick={() => save("foliot.json", "application/json", JSON.stringify(series))}>JSON</button>
        </p>
      </div>
      {asked.error && <Failed error={asked.error} />}
      {!isAnyAsked && (
        <Empty title="Nothing is asked yet"><p>Type a part of a metric's name above, or choose one of <a href="#/metrics">all metrics</a>.</p></Empty>
      )}
      {isAnyAsked && !found && asked.isLoading && <Loading what="Asking…" />}
      {found && isAnyAsked && <Result found={found} explored={explored} set={set} />}
    </div>
  );
}

/** Metrics that a name which is none may have meant. */
function Nearest({ question, database, onChoose }: { question: Question; database: string; onChoose: (question: Question) => void }) {
  const form = question.language === "opentsdb" ? formOf(question.text) : null;
  const search = form?.metric.split(".").filter(Boolean).at(-1) ?? "";
  const asked = useAsked(`${database} ${search}`, async (signal) => (
    search ? (await catalogue("metrics", { db: database, search, limit: NEAREST_MAX }, signal)).names : []
  ));
  const names = (asked.answer ?? []).filter((name) => name !== form?.metric && isPlainName(name));
  if (!form || !names.length) return null;
  return (
    <p class="bar nearest">
      Others with “{search}” in their names:
      {names.map((name) => <button key={name} type="button" class="plain" onClick={() => onChoose({ ...question, text: textOf({ ...form, metric: name }) })}>{name}</button>)}
    </p>
  );
}

function Result({ found, explored, set }: { found: Outcomes; explored: Explored; set: (part: Partial<Explored>) => void }) {
  const [hidden, setHidden] = useState<Set<string>>(new Set());
  const [cursor, setCursor] = useState<{ values: (number | null)[]; time: number } | null>(null);
  const [focus, setFocus] = useState<number | null>(null);
  const answered = found.outcomes.filter(({ answer }) => answer);
  const all = useMemo(() => answered.flatMap(({ answer, question }) =>
    (answer?.series ?? []).map((series) => ({ series, isRate: isRate(question) }))), [found]);
  const unit = useMemo(() => {
    const units = new Set(all.map(({ series, isRate: rates }) => unitOf(`${series.name} ${series.field}`, rates)));
    return units.size === 1 ? [...units][0]! : "plain";
  }, [all]);
  const bare = useMemo(() => {
    const shared = sharedLabels(all.map(({ series }) => series));
    const seen = new Map<string, number>();
    return all.slice(0, LINES_MAX).map(({ series }): Line => {
      const name = title(series, shared);
      const count = (seen.get(name) ?? 0) + 1;
      seen.set(name, count);
      return { title: count > 1 ? `${name} (${count})` : name, times: series.times, values: numbers(series) };
    });
  }, [all]);
  const lines = useMemo(() => bare.map((line) => ({ ...line, isHidden: hidden.has(line.title) })), [bare, hidden]);
  if (!answered.length) return null;
  const samples = answered.reduce((sum, { answer }) => sum + (answer?.figures.samples ?? 0), 0);
  const read = answered.reduce((sum, { answer }) => sum + (answer?.figures.samples_read ?? 0), 0);
  const toggle = (name: string, isAlone: boolean) => setHidden((before) => {
    if (isAlone) {
      const others = lines.map((line) => line.title).filter((other) => other !== name);
      return new Set(others.every((other) => before.has(other)) ? [] : others);
    }
    const next = new Set(before);
    if (!next.delete(name)) next.add(name);
    return next;
  });
  return (
    <section class="card result">
      <p class="note">
        {all.length} series, {format(samples)} samples from {format(read)} read, in {Math.round(found.tookMs)} ms; steps of {durationText(found.stepMs)}
        {all.length > LINES_MAX && `; the first ${LINES_MAX} are drawn`}
      </p>
      {!all.length && (
        <Empty title="No samples in this range">
          <p>The question was answered, and there is nothing between {timeText(found.span.start, explored.zone)} and {timeText(found.span.end, explored.zone)}.
            Try <button type="button" onClick={() => set({ range: { start: "30d-ago", end: "now" } })}>30 days</button>.</p>
        </Empty>
      )}
      {all.length > 0 && explored.view === "table" && <Table all={all.map(({ series }) => series)} explored={explored} />}
      {all.length > 0 && explored.view === "graph" && (
        <>
          <Chart
            lines={lines} span={found.span} unit={unit} zone={explored.zone} height={360} isStacked={explored.isStacked}
            isLogarithmic={explored.isLogarithmic} focus={focus} label={`Graph of ${all.length} series`}
            onRange={({ start, end }) => set({ range: { start: String(start), end: String(end) } })}
            onCursor={(values, time) => setCursor(values && time !== null ? { values, time } : null)}
          />
          <Legend lines={lines} unit={unit} zone={explored.zone} cursor={cursor} onToggle={toggle} onFocus={setFocus} />
        </>
      )}
    </section>
  );
}

function Table({ all, explored }: { all: Series[]; explored: Explored }) {
  const rows = useMemo(() => {
    const made = all.flatMap((series) => series.times.map((time, index) => ({ series, time, value: series.values[index] })));
    return made.sort((a, b) => b.time - a.time).slice(0, ROWS_MAX);
  }, [all]);
  const shared = sharedLabels(all);
  return (
    <div class="scroll tall">
      <table>
        <thead><tr><th scope="col">Time</th><th scope="col">Series</th><th scope="col">Kind</th><th scope="col" class="number">Value</th></tr></thead>
        <tbody>
          {rows.map(({ series, time, value }, index) => (
            <tr key={index}>
              <td class="nowrap">{timeText(time, explored.zone)}</td><td>{title(series, shared)}</td><td>{series.kind}</td>
              <td class="number">{value === null ? "–" : String(value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === ROWS_MAX && <p class="note">The newest {ROWS_MAX}; CSV and JSON have all.</p>}
    </div>
  );
}

interface ToolbarProps {
  explored: Explored;
  names: string[];
  set: (part: Partial<Explored>) => void;
  isLoading: boolean;
  onRun: () => void;
}

function Toolbar({ explored, names, set, isLoading, onRun }: ToolbarProps) {
  const { range, zone } = explored;
  const [start, setStart] = useState(range.start);
  const [end, setEnd] = useState(range.end);
  const shown = (text: string) => (/^\d{11,}$/.test(text) ? timeText(Number(text), zone) : text);
  useEffect(() => {
    setStart(shown(range.start));
    setEnd(shown(range.end));
  }, [range.start, range.end, zone]);
  const isShort = (name: string) => range.end === "now" && range.start === `${name}-ago`;
  return (
    <form class="toolbar" onSubmit={(event) => {
      event.preventDefault();
      const next = { start: start.trim() || "1h-ago", end: end.trim() || "now" };
      if (next.start === shown(range.start) && next.end === shown(range.end)) onRun();
      else set({ range: next });
    }}>
      <div class="segments" role="group" aria-label="Range">
        {RANGES.map((name) => (
          <button key={name} type="button" aria-pressed={isShort(name)} onClick={() => set({ range: { start: `${name}-ago`, end: "now" } })}>{name}</button>
        ))}
      </div>
      <span class="between">
        <input type="text" aria-label="From" value={start} onInput={(event) => setStart(event.currentTarget.value)} />
        <span aria-hidden="true">–</span>
        <input type="text" aria-label="To" value={end} onInput={(event) => setEnd(event.currentTarget.value)} />
      </span>
      {names.length > 1 && (
        <select aria-label="Database" value={explored.database} onChange={(event) => set({ database: event.currentTarget.value })}>
          {[...new Set(["", ...names, explored.database])].map((name) => <option key={name} value={name}>{name || "(default)"}</option>)}
        </select>
      )}
      <select aria-label="Zone" value={zone} onChange={(event) => set({ zone: event.currentTarget.value === "utc" ? "utc" : "local" })}>
        <option value="local">{Intl.DateTimeFormat().resolvedOptions().timeZone || "local"}</option>
        <option value="utc">UTC</option>
      </select>
      <select aria-label="Refresh" value={String(explored.refresh)} onChange={(event) => set({ refresh: Number(event.currentTarget.value) })}>
        {[...new Set([0, 2, 10, 60, explored.refresh])].map((seconds) => <option key={seconds} value={String(seconds)}>{seconds ? `every ${seconds} s` : "no refresh"}</option>)}
      </select>
      <div class="segments" role="group" aria-label="View">
        <button type="button" aria-pressed={explored.view === "graph"} onClick={() => set({ view: "graph" })}>Graph</button>
        <button type="button" aria-pressed={explored.view === "table"} onClick={() => set({ view: "table" })}>Table</button>
      </div>
      <label class="check"><input type="checkbox" checked={explored.isStacked} onChange={(event) => set({ isStacked: event.currentTarget.checked })} />stacked</label>
      <label class="check"><input type="checkbox" checked={explored.isLogarithmic} onChange={(event) => set({ isLogarithmic: event.currentTarget.checked })} />log</label>
      <button type="submit" class="main" aria-busy={isLoading}>Run</button>
    </form>
  );
}
