// The editor of texts in the four languages: CodeMirror, in a file of its own that is fetched when the first
// such text is shown. It lives in a shadow root, where its styles come without a <style> element,
// which the page's policy would refuse.

import { type Completion, type CompletionContext, type CompletionResult, acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, completionStatus, insertCompletionText, moveCompletionSelection, pickedCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { closeSearchPanel, findNext, findPrevious, getSearchQuery, openSearchPanel, search } from "@codemirror/search";
import { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { Annotation, EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, type KeyBinding, type Tooltip, keymap, placeholder, showTooltip } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Position, catalogue, fields } from "./api";
import { FUNCTIONS, type Word, type WordClass, nextWord, quotedName, quotedValue } from "./influxql";
import { CLAUSES, type Expected, INFLUXQL_HELP, expected } from "./influxqlexpected";
import { OPENTSDB_AGGREGATORS, OPENTSDB_PARTS, type OpentsdbExpected, foldsOf, nextOpentsdbWord, opentsdbExpected } from "./opentsdb";
import { halvesOf, promqlName, storedFields } from "./metric";
import { nextPromqlWord } from "./promql";
import { type PromqlExpected, promqlExpected } from "./promqlexpected";
import { PROMQL_HELP, isOfSeries, promqlCall, promqlSignature } from "./promqlfunctions";
import { bestFirst, durations, matching } from "./offers";
import { nextSqlWord, quotedSql, quotedSqlValue } from "./sql";
import { type SqlExpected, sqlExpected } from "./sqlexpected";
import { SQL_CLAUSES, SQL_HELP, SQL_SIGNATURES, SQL_WINDOW } from "./sqlfunctions";
import { OWN, WITHOUT_OWN } from "./parts/own";
import { type Language, TO_FILL_IN, bodyOf, metricText, selectorOf } from "./question";
import { partAt } from "./cursor";
import { runMarks } from "./runmarks";
import { checked } from "./statements";

export { sqlLines } from "./sqllines";

const NAMES_OFFERED = 50;

const TAGS: Partial<Record<WordClass, string>> = {
  keyword: "keyword", function: "typeName", string: "string", number: "number", bound: "atom", comment: "comment", mark: "operator", name: "variableName",
};

/** The words of a language, and what begins a line of it that is a comment. */
const coloured = (next: (text: string) => Word, comment?: string) => StreamLanguage.define({
  token(stream) {
    const word = next(stream.string.slice(stream.pos));
    stream.pos += word.text.length;
    return TAGS[word.class] ?? null;
  },
  ...(comment ? { languageData: { commentTokens: { line: comment } } } : {}),
});

const COLOURED: Record<Language, ReturnType<typeof coloured>> = { influxql: coloured(nextWord, "--"), promql: coloured(nextPromqlWord, "#"), opentsdb: coloured(nextOpentsdbWord), sql: coloured(nextSqlWord, "--") };

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--c3)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.atom], color: "var(--number)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { font: "13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace", color: "var(--text)", background: "var(--card)", border: "1px solid var(--edge)", borderRadius: "0.4rem", flex: "1", minWidth: "0" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { font: "inherit", lineHeight: "inherit", maxHeight: "var(--editor-most, 16rem)" },
  ".cm-content": { padding: "0.3rem 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 0.6rem" },
  ".cm-placeholder": { color: "var(--faint)" },
  ".cm-matchingBracket": { background: "var(--hover)", color: "inherit" },
  ".cm-tooltip": { background: "var(--card)", color: "var(--text)", border: "1px solid var(--edge)", borderRadius: "0.4rem", boxShadow: "0 6px 20px rgb(0 0 0 / 18%)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { font: "inherit", maxHeight: "18rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.2rem 0.7rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--hover)", color: "var(--accent)" },
  ".cm-tooltip.cm-completionInfo": { padding: "0.4rem 0.7rem", maxWidth: "22rem", font: "13px/1.45 system-ui, sans-serif" },
  ".cm-signature": { padding: "0.15rem 0.6rem", fontSize: "12px", color: "var(--faint)" },
  ".cm-signature b": { color: "var(--text)" },
  ".cm-wrong": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-gutters": { background: "none", border: "none" },
  ".cm-run": { padding: "0 0.1rem 0 0.45rem", color: "var(--faint)", fontSize: "10px", cursor: "pointer" },
  ".cm-run-at, .cm-run:hover": { color: "var(--accent)" },
  ".cm-completionDetail": { color: "var(--faint)", fontStyle: "normal" },
  ".cm-panels": { background: "var(--ground)", color: "var(--text)", zIndex: "4" },
  ".cm-panels-top": { borderBottom: "1px solid var(--edge)" },
  ".cm-panel.cm-search": { padding: "0.3rem 1.8rem 0.3rem 0.5rem", font: "13px/1.5 system-ui, sans-serif" },
  ".cm-panel.cm-search label": { fontSize: "inherit", whiteSpace: "nowrap" },
  ".cm-panel.cm-search [name=close]": { top: "0.2rem", right: "0.4rem", color: "inherit", fontSize: "1.1rem", cursor: "pointer" },
  // There is one selection, which all matches cannot be.
  ".cm-panel.cm-search [name=select]": { display: "none" },
  ".cm-textfield, .cm-button": { font: "inherit", color: "inherit", background: "var(--card)", border: "1px solid var(--edge)", borderRadius: "0.3rem" },
  ".cm-searchMatch": { background: "color-mix(in srgb, var(--accent) 22%, transparent)" },
  ".cm-searchMatch-selected": { background: "color-mix(in srgb, var(--accent) 45%, transparent)" },
});

const INFLUXQL_WORDS = CLAUSES.map((label) => ({ label, detail: "" }));

const INFLUXQL_FUNCTIONS = FUNCTIONS.map((name) => ({ label: `${name}()`, detail: INFLUXQL_HELP[name] ?? "function" }));

const PROMQL_FUNCTIONS = Object.entries(PROMQL_HELP).map(([name, detail]) => ({ label: `${name}()`, detail, info: promqlSignature(name)! }));

const PROMQL_NUMBERS = ["Inf", "NaN"].map((label) => ({ label, detail: "number" }));

/** What words and marks of PromQL do; those that are not here are operators. */
const PROMQL_WORDS: Record<string, string> = {
  by: "for each value of these labels", without: "for each value of all other labels", on: "where these labels are equal", ignoring: "where all other labels are equal",
  group_left: "many series on the left", group_right: "many series on the right", bool: "0 or 1", offset: "as it was before", "@": "as it was at a time",
  "[": "range", "{": "labels", "(": "", ":": "subquery",
};

const MATCHES: Offer[] = [["=", "is"], ["!=", "is not"], ["=~", "matches"], ["!~", "does not match"]].map(([label, detail]) => ({ label: label!, detail: detail! }));

const PROMQL_INSTANTS: Offer[] = ["start()", "end()"].map((label) => ({ label, detail: "of the range", text: label }));

const SQL_FUNCTIONS: Offer[] = Object.entries(SQL_HELP).map(([name, detail]) => ({ label: `${name}()`, detail, ...(SQL_SIGNATURES[name] ? { info: SQL_SIGNATURES[name] } : {}) }));

const SQL_WORDS: Offer[] = SQL_CLAUSES.map((label) => ({ label, detail: "" }));

const asDurations = (typed: string, ends: string, detail: string): Offer[] => durations(typed).map((length) => ({ label: `${length}${ends}`, detail: length === "$step" ? "the step of the graph" : detail }));

interface Offer {
  label: string;
  detail: string;
  /** What it is for, in more words than there is room for beside its name. */
  info?: string;
  /** What is put in, where that is not its name. */
  text?: string;
}

/** Names as a language writes them. */
type Spelling = (name: string) => string;

const asItIs: Spelling = (name) => name;

const inQuotes: Spelling = (name) => JSON.stringify(name);

/** Metrics with what their targets say of them; the server's own stand last, unless they are meant. */
async function described(database: string, search: string, spelled: Spelling): Promise<Offer[]> {
  const ask = (without: string) => catalogue("metrics", { db: database, search, limit: NAMES_OFFERED, help: "true", ...(without ? { without } : {}) });
  const [others, all] = await Promise.all([search && OWN.some((own) => own.startsWith(search.toLowerCase()) || search.startsWith(own)) ? null : ask(WITHOUT_OWN), ask("")]);
  const names = [...new Set([...others?.names ?? [], ...all.names])].slice(0, NAMES_OFFERED);
  const help = { ...all.help, ...others?.help };
  return names.map((name): Offer => {
    const about = help?.[name];
    return { label: spelled(name), detail: about?.kind || "metric", ...(about?.help ? { info: about.help } : {}) };
  });
}

/** Measurements whose fields are looked up before one is named. */
const MEASUREMENTS_ASKED = 6;

/** Fields of whatever measurement, for who names the field first: metrics that have fields end with them. */
async function fieldsAnywhere(database: string, search: string, spelled: Spelling): Promise<Offer[]> {
  const { names } = await catalogue("metrics", { db: database, search, limit: NAMES_OFFERED });
  const before = names.map((name) => name.slice(0, Math.max(0, name.lastIndexOf("."))));
  const measurements = [...new Set(before.filter(Boolean))].slice(0, MEASUREMENTS_ASKED);
  const found = await Promise.all(measurements.map(async (measurement) => (
    (await fields(measurement, { db: database })).fields.map((field) => ({ ...field, measurement }))
  )));
  const offers = new Map<string, Offer>();
  for (const { name, kind, measurement } of found.flat()) {
    const known = offers.get(name);
    offers.set(name, { label: spelled(name), detail: known ? `${known.detail}, ${measurement}` : `${kind} of ${measurement}` });
  }
  return [...offers.values()];
}

/** Names of the catalogue for what may stand at the cursor. */
async function offers(wanted: Expected, database: string): Promise<Offer[]> {
  const { measurement, typed: search } = wanted;
  const names = async (of: string, detail: string, params = {}) => {
    const found = await catalogue(of, { db: database, search, limit: NAMES_OFFERED, measurement, ...params });
    return found.names.map((name): Offer => ({ label: of === "values" ? quotedValue(name) : quotedName(name), detail }));
  };
  const fieldNames = async () => (measurement
    ? (await fields(measurement, { db: database })).fields.map(({ name, kind }): Offer => ({ label: quotedName(name), detail: kind }))
    : fieldsAnywhere(database, search, quotedName));
  switch (wanted.of) {
    case "measurements": return names("measurements", "measurement", { measurement: "" });
    case "labels": return [...await names("labels", "label"), { label: "time($step)", detail: "window" }];
    case "values": return wanted.label ? names("values", "value", { label: wanted.label }) : [];
    case "fields": return [...await fieldNames(), ...INFLUXQL_FUNCTIONS];
    case "fields and labels": return [...await names("labels", "label"), ...await fieldNames(), { label: "time >= $start AND time < $end", detail: "range" }];
    case "windows": return [{ label: "$step", detail: "the step of the graph" }, ...["10s", "1m", "5m", "1h", "1d"].map((label) => ({ label, detail: "window" }))];
    case "times": return [{ label: "$start", detail: "where the range begins" }, { label: "$end", detail: "where it ends" }, { label: "now()", detail: "now" }, { label: "now() - 1h", detail: "an hour ago" }];
    case "nothing": return [];
    case "shown": return wanted.shown.map((label) => ({ label, detail: "" }));
    default: return INFLUXQL_WORDS;
  }
}

/** Underscores of what was typed of a name of PromQL that may stand where a metric has a point. */
const POINTS_TRIED = 3;

/** What may be looked for in the catalogue to find names of PromQL: there, a field stands behind its measurement with an underscore. */
function searchesOf(typed: string): string[] {
  const at = [...typed.matchAll(/_/g)].map(({ index }) => index).slice(-POINTS_TRIED);
  return [...new Set([typed, ...at.map((index) => `${typed.slice(0, index)}.${typed.slice(index + 1)}`), typed.replaceAll("_", ".")])];
}

/** Metrics by the names that PromQL has for them. */
async function promqlMetrics(database: string, typed: string, spelled: Spelling = selectorOf): Promise<Offer[]> {
  const found = (await Promise.all(searchesOf(typed).map((search) => described(database, search, asItIs)))).flat();
  const fieldsOf = storedFields(database);
  const offers = new Map<string, Offer>();
  const once = [...new Map(found.map((offer) => [offer.label, offer])).values()];
  for (const offer of once.slice(0, NAMES_OFFERED)) {
    const label = spelled(promqlName(await halvesOf(offer.label, fieldsOf)));
    offers.set(label, { ...offer, label });
  }
  return [...offers.values()];
}

/** Metrics around the cursor whose labels are looked up. */
const METRICS_ASKED = 4;

/** The same for PromQL. */
async function promqlOffers({ of, typed: search, words, metrics, label }: PromqlExpected, database: string): Promise<Offer[]> {
  const ask = async (what: string, params: Record<string, string>) => (await catalogue(what, { db: database, search, limit: NAMES_OFFERED, ...params })).names;
  // A metric may be stored by another name than PromQL has for it.
  const ofMetric = async (metric: string, what: string, params: Record<string, string>) => {
    for (const name of searchesOf(metric)) {
      const found = await ask(what, { metric: name, ...params });
      if (found.length) return found;
    }
    return [];
  };
  const names = async (what: string, params: Record<string, string> = {}) => {
    const found = (await Promise.all(metrics.slice(0, METRICS_ASKED).map((metric) => ofMetric(metric, what, params)))).flat();
    // Where none of them is found, any will do.
    return found.length ? [...new Set(found)] : ask(what, params);
  };
  const labels = async (spelled: Spelling) => (await names("labels")).map((name) => ({ label: spelled(name), detail: "label" }));
  const said = words.map((word) => ({ label: word, detail: PROMQL_WORDS[word] ?? "operator" }));
  switch (of) {
    case "expression": return [...said, ...await promqlMetrics(database, search), ...PROMQL_FUNCTIONS, ...PROMQL_NUMBERS];
    case "range expression": return [...await promqlMetrics(database, search), ...PROMQL_FUNCTIONS.filter(({ label: name }) => isOfSeries(name.slice(0, -2)))];
    case "words": return said;
    case "quoted names": return [...await promqlMetrics(database, search, inQuotes), ...await labels(inQuotes)];
    case "labels": return labels((name) => (/^[a-zA-Z_]\w*$/.test(name) ? name : inQuotes(name)));
    case "match operators": return MATCHES;
    case "values": return label ? (await names("values", { label })).map((name) => ({ label: inQuotes(name), detail: "value" })) : [];
    case "ranges": return [...asDurations(search, "]", "range"), ...(search ? asDurations(search, ":", "subquery") : [])];
    case "subqueries": return asDurations(search, ":", "subquery");
    case "steps": return asDurations(search, "]", "step");
    case "durations": return asDurations(search, "", "before");
    case "instants": return PROMQL_INSTANTS;
    default: return [];
  }
}

/** The same for OpenTSDB's texts. */
async function opentsdbOffers({ of, typed: search, metric, label }: OpentsdbExpected, database: string): Promise<Offer[]> {
  const names = async (what: string, params = {}) =>
    (await catalogue(what, { db: database, search: search.replace(/\*/g, ""), limit: NAMES_OFFERED, ...(metric ? { metric } : {}), ...params })).names;
  switch (of) {
    case "aggregators": return Object.entries(OPENTSDB_AGGREGATORS).map(([name, detail]) => ({ label: `${name}:`, detail }));
    case "folds": return foldsOf(search).map(([label, detail]) => ({ label, detail }));
    case "parts": return [...await described(database, search, metricText), ...OPENTSDB_PARTS.map(([part, detail]) => ({ label: part, detail }))];
    case "labels": return (await names("labels")).map((name) => ({ label: `${name}=`, detail: "label" }));
    case "values": return [...(await names("values", { label })).map((name) => ({ label: name, detail: "value" })), { label: "*", detail: "a line for each value" }];
    default: return [];
  }
}

/** The same for SQL: tables are measurements, and their columns the time, labels and fields. */
async function sqlOffers({ of, typed: search, table, label, isSelected, aliases }: SqlExpected, database: string): Promise<Offer[]> {
  const names = async (what: string, spelled: Spelling, detail: string, params = {}) =>
    (await catalogue(what, { db: database, search, limit: NAMES_OFFERED, measurement: table, ...params })).names.map((name): Offer => ({ label: spelled(name), detail }));
  switch (of) {
    case "tables": return [...aliases.map((name): Offer => ({ label: quotedSql(name), detail: "of WITH" })), ...await names("measurements", quotedSql, "table", { measurement: "" })];
    case "values": return names("values", quotedSqlValue, "value", { label });
    case "columns": {
      const own = table ? (await fields(table, { db: database })).fields.map(({ name, kind }): Offer => ({ label: quotedSql(name), detail: kind })) : await fieldsAnywhere(database, search, quotedSql);
      const columns = [{ label: "time", detail: "when" }, ...await names("labels", quotedSql, "label"), ...own, ...SQL_FUNCTIONS, ...(isSelected ? [{ label: SQL_WINDOW, detail: "window" }] : [])];
      const selected = aliases.map((name): Offer => ({ label: quotedSql(name), detail: "selected" }));
      return [...selected, ...columns.filter((one) => !selected.some((other) => other.label === one.label))];
    }
    case "members": {
      if (aliases.length) return aliases.map((name) => ({ label: quotedSql(name), detail: "column" }));
      const own = table ? (await fields(table, { db: database })).fields.map(({ name, kind }): Offer => ({ label: quotedSql(name), detail: kind })) : [];
      return [{ label: "time", detail: "when" }, ...await names("labels", quotedSql, "label"), ...own];
    }
    default: return SQL_WORDS;
  }
}

/** What may stand at the cursor, and how it is found. */
function wantedAt(language: Language, text: string, cursor: number, database: string) {
  switch (language) {
    case "promql": {
      const wanted = promqlExpected(text, cursor);
      return { wanted, ask: () => promqlOffers(wanted, database) };
    }
    case "opentsdb": {
      const wanted = opentsdbExpected(text, cursor);
      return { wanted, ask: () => opentsdbOffers(wanted, database) };
    }
    case "sql": {
      const wanted = sqlExpected(text, cursor);
      return { wanted, ask: () => sqlOffers(wanted, database) };
    }
    default: {
      const wanted = expected(text, cursor);
      return { wanted, ask: () => offers(wanted, database) };
    }
  }
}

/** Puts an offer in the place of what is there already. The editor closes a quote or bracket as soon as it is opened: that is replaced, too. */
const taken = (text: string) => (view: EditorView, completion: Completion, from: number, to: number) => {
  const [opened, next] = [view.state.sliceDoc(from, from + 1), view.state.sliceDoc(to, to + 1)];
  const isClosed = (/["'`]/.test(opened) && next === opened) || (next === "]" && text.endsWith("]"));
  view.dispatch({ ...insertCompletionText(view.state, text, from, isClosed ? to + 1 : to), annotations: pickedCompletion.of(completion) });
};

/** What is offered only to who asks for it, as long as nothing of it is typed: it may stand in most places. */
const isAskedFor = (of: string) => ["words", "expression", "range expression"].includes(of);

const completing = (language: Language, database: () => string) => async (context: CompletionContext): Promise<CompletionResult | null> => {
  const text = context.state.doc.toString();
  const { wanted, ask } = wantedAt(language, text, context.pos, database());
  if (!context.explicit && isAskedFor(wanted.of) && !wanted.typed && !(wanted.of === "expression" && text.trim() === "")) return null;
  const found = await ask().catch(() => []);
  // Whoever has gone elsewhere meanwhile wants nothing here.
  if (context.view && !context.view.hasFocus) return null;
  const options = bestFirst(matching(found, wanted.typed), wanted.typed)
    .map(({ label, detail, info, text: said }) => ({ label, detail, ...(info ? { info } : {}), apply: taken(said ?? (label.endsWith("()") ? label.slice(0, -1) : label)) }));
  return { from: wanted.from, options: options.slice(0, NAMES_OFFERED), filter: false };
};

const setFocused = StateEffect.define<boolean>();

/** Whether the editor has the cursor. */
const focused = StateField.define<boolean>({
  create: () => false,
  update: (is, { effects }) => effects.filter((effect) => effect.is(setFocused)).at(-1)?.value ?? is,
  provide: () => EditorView.focusChangeEffect.of((_, is) => setFocused.of(is)),
});

/** What the call around the cursor takes, above it; what stands there is in bold. Without a cursor nothing is told. */
const signature = StateField.define<Tooltip | null>({
  create: () => null,
  update(told, { state, startState, docChanged, selection }) {
    const isFocused = state.field(focused);
    if (!docChanged && !selection && isFocused === startState.field(focused)) return told;
    const { head, empty } = state.selection.main;
    const call = isFocused && empty ? promqlCall(state.doc.toString(), head) : null;
    const takes = call && promqlSignature(call.name);
    if (!call || !takes) return null;
    return { pos: call.from, above: true, create: () => ({ dom: signatureDom(takes, call.at) }) };
  },
  provide: (field) => showTooltip.from(field),
});

function signatureDom(takes: string, at: number): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "cm-signature";
  const [, name = "", inner = ""] = /^([^(]*)\((.*)\)$/.exec(takes) ?? [];
  const parts = inner.split(", ");
  dom.append(`${name}(`);
  parts.forEach((part, index) => {
    const said = document.createElement(index === Math.min(at, parts.length - 1) ? "b" : "span");
    said.textContent = part;
    dom.append(index ? ", " : "", said);
  });
  dom.append(")");
  return dom;
}

/** Tab takes the offer that is chosen, else the first one; without offers it leaves the editor. */
const take: KeyBinding = {
  key: "Tab",
  run: (view) => acceptCompletion(view)
    || (completionStatus(view.state) === "active" && moveCompletionSelection(true)(view) && acceptCompletion(view)),
};

/** Opens what finds and replaces, with the cursor in the first field that is to be filled in. */
function openReplacing(view: EditorView): boolean {
  openSearchPanel(view);
  if (getSearchQuery(view.state).search) view.dom.querySelector<HTMLInputElement>(".cm-search [name=replace]")?.select();
  return true;
}

/** Keys that find and replace, in the editor and in the fields for that. */
const FINDING: KeyBinding[] = [
  { key: "Mod-f", run: openSearchPanel }, { key: "Mod-h", mac: "Mod-Alt-f", run: openReplacing },
  { key: "F3", run: findNext, shift: findPrevious, preventDefault: true }, { key: "Escape", run: closeSearchPanel },
].map((binding) => ({ ...binding, scope: "editor search-panel" }));

export interface Editing {
  language: Language;
  text: string;
  label: string;
  hint: string;
  database: () => string;
  onText: (text: string) => void;
  /** Asks the text, or a part of it. */
  onRun: (part: string) => void;
  onLeave: () => void;
}

/**
 * Puts what is typed in the place of what is selected. The browser would keep the style of that in an attribute of
 * its own, which the page's policy refuses.
 */
function typeOver(event: InputEvent, view: EditorView): boolean {
  const { main } = view.state.selection;
  if (event.inputType !== "insertText" || !event.data || main.empty || view.composing) return false;
  const text = event.data;
  const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type", scrollIntoView: true });
  event.preventDefault();
  if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, main.from, main.to, text, insert))) view.dispatch(insert());
  return true;
}

/** A first click on a text with a name to fill in leaves all of it selected; the next one places the cursor. */
function chooseWhole(event: MouseEvent, view: EditorView): boolean {
  if (view.hasFocus || !view.state.doc.toString().includes(TO_FILL_IN)) return false;
  event.preventDefault();
  view.dispatch({ selection: { anchor: 0, head: view.state.doc.length } });
  view.focus();
  return true;
}

/** What is wrong in a text, and from where to where. */
interface Wrong {
  from: number;
  to: number;
  message: string;
}

const setWrong = StateEffect.define<Wrong | null>();

/** Underlines what is wrong, and says why under the mouse. */
const wrongs = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, change) {
    const told = change.effects.filter((effect) => effect.is(setWrong)).at(-1);
    if (!told) return set.map(change.changes);
    if (!told.value) return Decoration.none;
    const { from, to, message } = told.value;
    return Decoration.set([Decoration.mark({ class: "cm-wrong", attributes: { title: message } }).range(from, to)]);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** How long nobody has typed when a text is looked at. */
const LOOKED_AT_AFTER_MS = 600;

/** Where a text is wrong: one word, or its last letter where it ends too soon; all of it where no place is told. */
function wrongOf(text: string, { position, message }: { position?: Position | null; message: string }): Wrong {
  if (!position) return { from: 0, to: text.length, message };
  const before = text.split("\n").slice(0, position.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
  const from = Math.max(0, Math.min(text.length - 1, before + position.column - 1));
  const word = /^[\w.:]+/.exec(text.slice(from))?.[0].length ?? 1;
  return { from, to: from + word, message };
}

/** An offer of a label ends with "=": who types that, too, means the one that is there. */
const typedOnce = EditorView.inputHandler.of(({ state }, from, to, text) =>
  text === "=" && from === to && from > 0 && state.sliceDoc(from - 1, from) === "=");

/** Has a text looked at when nobody has typed for a while. */
function looker(view: EditorView, { language, database }: Editing) {
  let timer = 0;
  let abort = new AbortController();
  const look = async () => {
    const text = view.state.doc.toString();
    const tell = (wrong: Wrong | null) => {
      if (view.state.doc.toString() === text) view.dispatch({ effects: setWrong.of(wrong) });
    };
    if (!text.trim()) return tell(null);
    abort = new AbortController();
    const now = Date.now();
    const body = bodyOf({ language, text, isForm: false, isHidden: false }, { start: now - HOUR_MS, end: now }, MINUTE_MS);
    try {
      const { wrong } = await checked(database(), body, abort.signal);
      return tell(wrong ? wrongOf(text, wrong) : null);
    } catch {
      // Who does not answer says it where something is asked.
      return undefined;
    }
  };
  const end = () => {
    clearTimeout(timer);
    abort.abort();
  };
  return { end, later() { end(); timer = window.setTimeout(look, LOOKED_AT_AFTER_MS); } };
}

const [HOUR_MS, MINUTE_MS] = [3_600_000, 60_000];

const fromOutside = Annotation.define<boolean>();

export interface Editor {
  /** Puts another text in the place of what is there, with the cursor at its end. */
  set: (text: string) => void;
  /** Puts a name where the cursor is, apart from what stands before it. */
  insert: (name: string) => void;
  focus: () => void;
  destroy: () => void;
}

/** What is selected of a text that comes: all of one with a name to fill in, so that what is typed takes its place; else the cursor is at its end. */
const selectionIn = (text: string) => ({ anchor: text.includes(TO_FILL_IN) ? 0 : text.length, head: text.length });

export function edit(host: HTMLElement, editing: Editing): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const run = () => {
    editing.onRun("");
    return true;
  };
  const runPart = ({ state: { doc, selection } }: EditorView) => {
    const { from, to } = selection.main;
    editing.onRun(partAt(editing.language, doc.toString(), from, to));
    return true;
  };
  const state = EditorState.create({
    doc: editing.text, selection: selectionIn(editing.text),
    extensions: [
      Prec.highest(keymap.of([{ key: "Mod-Enter", run: runPart, shift: run }, take])),
      // Statements of SQL have lines: there Enter begins one, as it does in every editor of it.
      keymap.of([...completionKeymap, ...FINDING, ...(editing.language === "sql" ? [] : [{ key: "Enter", run }]), ...closeBracketsKeymap, ...historyKeymap, ...defaultKeymap]),
      history(), search({ top: true }), bracketMatching(), closeBrackets(), EditorView.lineWrapping, placeholder(editing.hint), COLOURED[editing.language], syntaxHighlighting(colours), look,
      EditorView.contentAttributes.of({ "aria-label": editing.label, spellcheck: "false" }),
      autocompletion({ override: [completing(editing.language, editing.database)], icons: false, defaultKeymap: false, selectOnOpen: false, interactionDelay: 0, activateOnTypingDelay: 120 }),
      wrongs, runMarks(editing.language, editing.onRun), ...(editing.language === "promql" ? [focused, signature] : []), ...(editing.language === "opentsdb" ? [typedOnce] : []),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) looking.later();
        if (update.docChanged && !update.transactions.some((one) => one.annotation(fromOutside))) editing.onText(update.state.doc.toString());
      }),
      EditorView.domEventHandlers({ beforeinput: typeOver, mousedown: chooseWhole }),
    ],
  });
  const view = new EditorView({ state, root, parent: root });
  const looking = looker(view, editing);
  // What came by a link, or back, may be wrong, too.
  if (editing.text) looking.later();
  // What finds and replaces is a part of it.
  view.dom.addEventListener("focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && view.dom.contains(relatedTarget))) editing.onLeave();
  });
  return {
    focus: () => view.focus(),
    set(text) {
      if (text === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: selectionIn(text), annotations: fromOutside.of(true) });
    },
    insert(name) {
      const { from } = view.state.selection.main;
      const isApart = !/[\w"')]$/.test(view.state.sliceDoc(0, from));
      view.dispatch(view.state.replaceSelection(isApart ? name : ` ${name}`), { scrollIntoView: true });
      view.focus();
    },
    destroy() {
      looking.end();
      view.destroy();
    },
  };
}
