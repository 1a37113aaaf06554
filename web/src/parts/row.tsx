// One question of Explore: as a form, or as text in its language.

import type { TargetedKeyboardEvent } from "preact";
import { useRef } from "preact/hooks";
import { check } from "../api";
import { letterOf } from "../asking";
import { isCalledCounter } from "../described";
import { draftOf, keepDraft } from "../drafts";
import { type Walk, kept, textsOf, walked } from "../history";
import { stepOf } from "../keys";
import { halvesOf, promqlName, storedFields, withField } from "../metric";
import {
  AGGREGATORS, FOLDS, type Form, type Language, type Question, TO_FILL_IN, bodyOf, emptyForm, formOf, influxqlOf, promqlOf, textOf,
} from "../question";
import { sqlOf } from "../sql";
import { windowOf, withWindow } from "../windows";
import { Filters } from "./filters";
import { Suggest, named } from "./suggest";
import { Text } from "./text";

/** Letters of an expression that may want lines. */
const FORMATTED_FROM = 40;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Props {
  question: Question;
  database: string;
  index: number;
  canRemove: boolean;
  /** Whether it was just added, so that one means to type. */
  isNew: boolean;
  /** Whether it is the first one that tables stand beside. */
  isFirstOfTables: boolean;
  /** How far the points of its answer lie apart; nothing where it has none, or no steps. */
  step: string;
  onChange: (question: Question) => void;
  onRemove: () => void;
  /** Shows this question alone, or what was shown before where it is. */
  onAlone: () => void;
  /** Hides this question, or shows it again. */
  onHide: () => void;
  onRun: () => void;
  /** Asks a part of a text, which stays as it is. */
  onRunPart: (of: string, text: string) => void;
}

/** What a row was asked, as far as it knows: its text now and before, and the last one in each language. */
interface Told {
  by: string[];
  texts: Partial<Record<Language, string>>;
}

export function Row({ question, database, index, canRemove, isNew, isFirstOfTables, step, onChange, onRemove, onAlone, onHide, onRun, onRunPart }: Props) {
  const form = question.language === "opentsdb" ? formOf(question.text) : null;
  const mode = question.language !== "opentsdb" ? question.language : question.isForm && form ? "form" : "text";
  // What was asked in the other languages comes back with them, unless the question came from elsewhere meanwhile.
  const told = useRef<Told>({ by: [question.text], texts: {} });
  if (!told.current.by.includes(question.text)) told.current = { by: [question.text], texts: {} };
  const change = (next: Question) => {
    told.current.by = [question.text, next.text];
    keepDraft(index, question, question.text);
    onChange(next);
  };
  const run = (text: string, part = "") => {
    if (part.trim() && part.trim() !== text.trim()) onRunPart(text, part);
    else if (text === question.text) onRun();
    if (text !== question.text) change({ ...question, text });
  };
  // The way through what the row asked before, from what stands there now.
  const walk = useRef<Walk | null>(null);
  const earlier = (now: string, by: 1 | -1): string | null => {
    const next = walked(walk.current, now, by, () => textsOf(kept(), index, question.language).filter((text) => mode !== "form" || formOf(text)));
    if (next) walk.current = next;
    return next && next.texts[next.at]!;
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const by = stepOf(event);
    if (!by || mode !== "form" || event.target instanceof HTMLSelectElement) return;
    event.preventDefault();
    const text = earlier(question.text, by);
    if (text !== null) change({ ...question, text });
  };
  // What is wrong with a text is said where it is typed.
  const format = async () => {
    // What few need comes with the editor.
    if (question.language === "sql") return import("../editor").then(({ sqlLines }) => change({ ...question, text: sqlLines(question.text) }), () => undefined);
    const { formatted } = await check(database, bodyOf(question, { start: 0, end: HOUR_MS }, MINUTE_MS), new AbortController().signal).catch(() => ({ formatted: undefined }));
    if (formatted && formatted !== question.text) change({ ...question, text: formatted });
  };
  const canFormat = question.text.length > FORMATTED_FROM && (question.language === "sql" || (question.language === "promql" && !question.text.includes("$")));
  const translated = async (language: Language, origin: Form | null): Promise<string> => {
    if (language === "opentsdb") return textOf(emptyForm());
    if (!origin?.metric) return language === "promql" ? "" : language === "sql" ? sqlOf(emptyForm(), { measurement: TO_FILL_IN, field: "" }) : `SELECT mean(*) FROM "${TO_FILL_IN}" WHERE time >= $start AND time < $end GROUP BY time($step)`;
    const halves = await halvesOf(origin.metric, storedFields(database));
    return language === "influxql" ? influxqlOf(origin, await withField(halves, storedFields(database))) : language === "sql" ? sqlOf(origin, halves) : promqlOf(origin, promqlName(halves));
  };
  // A list that is gone through by keys keeps them.
  const isByKey = useRef(false);
  const isChosen = useRef(isNew);
  const choose = async (next: string) => {
    isChosen.current = !isByKey.current;
    const language: Language = next === "influxql" || next === "promql" || next === "sql" ? next : "opentsdb";
    // A form that was changed since is translated anew.
    if (form?.metric && language !== "opentsdb" && told.current.texts.opentsdb !== question.text) told.current.texts = {};
    const { texts } = told.current;
    texts[question.language] = question.text;
    // The step goes along, whichever text names it.
    const window = windowOf(question);
    const before = texts[language];
    if (before !== undefined) return change({ ...question, language, isForm: next === "form", text: window ? withWindow(language, before, window) : before });
    // From one text to another language the way leads over the form that the text came from.
    const origin = formOf(texts.opentsdb ?? "");
    return change({ ...question, language, isForm: next === "form", text: await translated(language, origin && window ? { ...origin, window } : origin) });
  };
  return (
    <section class={`row ${question.isHidden ? "off" : ""}`} aria-label={`Query ${index + 1}`} onKeyDown={onKey}>
      <div class="row-head">
        <button
          type="button" class="plain letter" aria-pressed={!question.isHidden} title={`Click: ${question.isHidden ? "show" : "hide"}. With Ctrl: this one alone.`}
          onClick={(event) => (event.ctrlKey || event.metaKey ? onAlone() : onHide())}
        >{letterOf(index)}</button>
        <select aria-label="Language" value={mode} onPointerDown={() => { isByKey.current = false; }} onKeyDown={({ key }) => { isByKey.current = key !== "Enter"; }} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="form" disabled={question.language === "opentsdb" && !form}>Form</option>
          <option value="text">OpenTSDB</option>
          <option value="influxql">InfluxQL</option>
          <option value="promql">PromQL</option>
          <option value="sql">SQL</option>
        </select>
      </div>
      {mode === "form" && form
        ? <FormFields form={form} isNew={isNew} begun={formOf(draftOf(index, question) ?? "")?.metric} onType={(next) => keepDraft(index, question, textOf(next))} database={database} step={step} onChange={(next) => change({ ...question, text: textOf(next) })} />
        // Another language begins with another text.
        : <Text key={question.language} question={question} index={index} database={database} isFirstOfTables={isFirstOfTables} onRun={run} earlier={earlier} isChosen={isChosen} />}
      {step && mode !== "form" && <span class="note row-step" title="Between the points of this question">steps of {step}</span>}
      {question.language === "sql" && <span class="note" title="Enter begins a line. Of several statements Ctrl Enter asks the one at the cursor, Ctrl Shift Enter all.">Ctrl Enter asks</span>}
      {canFormat && <button type="button" class="plain" title={question.language === "sql" ? "A line for each clause" : "In lines, as Prometheus writes it"} onClick={format}>Format</button>}
      {canRemove && <button type="button" class="plain remove" aria-label={`Remove query ${index + 1}`} onClick={onRemove}>×</button>}
    </section>
  );
}

interface FieldsProps {
  form: Form;
  isNew: boolean;
  /** A metric's name that was half typed before. */
  begun: string | undefined;
  database: string;
  step: string;
  /** Hears of a name that is half typed. */
  onType: (form: Form) => void;
  onChange: (form: Form) => void;
}

function FormFields({ form, isNew, begun, database, step, onType, onChange }: FieldsProps) {
  const set = (part: Partial<Form>) => onChange({ ...form, ...part });
  // Another metric has other labels, and a rate where it counts.
  const withMetric = (metric: string): Form => (metric === form.metric ? form : { ...form, metric, filters: [], rate: isCalledCounter(database, metric) ? "counter" : form.rate === "counter" && isCalledCounter(database, form.metric) ? "" : form.rate });
  const of = { db: database, metric: form.metric };
  const windows = [...new Set(["$step", "", "10s", "1m", "5m", "1h", "1d", form.window])];
  return (
    <div class="form">
      <Suggest
        className="metric" label="Metric" placeholder="Metric, by any part of its name" value={form.metric} begun={begun} isFirst={isNew} isQuiet
        suggest={named("metrics", { db: database })} onType={(metric) => onType(withMetric(metric))} onChange={(metric) => onChange(withMetric(metric))}
      />
      <label>series
        <select value={form.aggregator} onChange={(event) => set({ aggregator: event.currentTarget.value })}>
          {[...new Set([...AGGREGATORS, form.aggregator])].map((name) => <option key={name}>{name}</option>)}
        </select>
      </label>
      <label>step
        <select value={form.window} onChange={(event) => set({ window: event.currentTarget.value })}>
          {windows.map((window) => <option key={window} value={window}>{window === "$step" ? `auto${step && form.window === "$step" ? `, ${step}` : ""}` : window || "as stored"}</option>)}
        </select>
      </label>
      {form.window && (
        <label>by
          <select value={form.fold} onChange={(event) => set({ fold: event.currentTarget.value })}>
            {[...new Set([...FOLDS, form.fold])].map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
      )}
      {form.window && (
        <label>gaps
          <select value={form.fill} onChange={(event) => set({ fill: event.currentTarget.value as Form["fill"] })}>
            <option value="">stay</option><option value="zero">are 0</option><option value="nan">are NaN</option><option value="null">are null</option>
          </select>
        </label>
      )}
      <label>show
        <select value={form.rate} onChange={(event) => set({ rate: event.currentTarget.value as Form["rate"] })}>
          <option value="">values</option>
          <option value="counter">rate of counter</option>
          <option value="rate">change a second</option>
        </select>
      </label>
      {form.metric && <Filters filters={form.filters} of={of} onChange={(filters) => set({ filters })} />}
    </div>
  );
}
