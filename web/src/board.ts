// Dashboards as they are kept: what a panel is, which its address alone says; the range of all of
// them; a dashboard as a file; and what was changed and is not yet stored.

import type { Panel, Saved } from "./api";
import { database } from "./database";
import { type Series, type Value, isExact } from "./series";
import { type Explored, place, read, write } from "./state";
import { type Range, instant, moves } from "./time";
import { type Unit, format } from "./units";

/** Letters that the server takes for a name or a title. */
export const NAME_CHARS_MAX = 100;

/** What a panel, or a question that is saved, shows. */
export const exploredOf = (address: string): Explored => read(place(address).params);

/** The panel with another range, another look, or other questions. */
export const changed = (panel: Panel, part: Partial<Explored>): Panel => ({ ...panel, address: write({ ...exploredOf(panel.address), ...part }) });

/** The panel with another text of one of its questions. */
export const reworded = (panel: Panel, which: number, text: string): Panel =>
  changed(panel, { questions: exploredOf(panel.address).questions.map((question, at) => (at === which ? { ...question, text } : question)) });

/** The panel as it is stored: a question without a text is none. */
export function settled({ title, address }: Panel): Panel {
  const { questions } = exploredOf(address);
  const asked = questions.filter(({ text }) => text.trim());
  const panel = { title: title.trim(), address };
  return asked.length === questions.length ? panel : changed(panel, { questions: asked });
}

/** The range with instants for dates, which are of the browser's zone in all panels, whatever zone each shows. */
export function fixed({ start, end }: Range): Range {
  const said = (text: string) => (moves(text) ? text : String(instant(text, 0, "local") ?? text));
  return { start: said(start), end: said(end) };
}

/** The newest value of a series as a person reads it; its times rise or fall. */
export function lastText(series: Pick<Series, "times" | "values" | "kind" | "kinds">, unit: Unit): string {
  const { times, values } = series;
  const isFalling = (times[0] ?? 0) > (times.at(-1) ?? 0);
  const indexes = [...values.keys()].filter((index) => values[index] !== null);
  const at = (isFalling ? indexes[0] : indexes.at(-1)) ?? 0;
  const last: Value = values[at] ?? null;
  return typeof last === "string" && !isExact(series, at) ? last : format(last === null ? null : Number(last), unit);
}

/** The member by which a file says that it is a dashboard, and which form it has. */
export const FILE_MARK = "foliot_dashboard";
export const FILE_VERSION = 1;

/** A dashboard as a file. */
export const boardText = ({ name, panels = [] }: Pick<Saved, "name" | "panels">): string =>
  `${JSON.stringify({ [FILE_MARK]: FILE_VERSION, name, panels: panels.map(({ title, address }) => ({ title, address })) }, null, 2)}\n`;

/** What such a file is called. */
export const fileName = (name: string): string => `${name.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[._]+/, "") || "dashboard"}.json`;

/** Refuses a name that is another's. */
export function mustBeFree(name: string, taken: string[]) {
  if (taken.includes(name)) throw new Error(`There is a “${name}” already; choose another name.`);
}

export interface Draft {
  /** When what it changes was changed. */
  of_ms: number;
  name: string;
  panels: (Panel & { key: number })[];
}

/** A draft stays until it is stored or taken back, also where somebody has changed the dashboard meanwhile. */
const draftKey = (name: string) => `foliot.draft ${JSON.stringify([database(), name])}`;

/** Drafts of a browser that keeps nothing. */
const drafts = new Map<string, Draft>();

/** What somebody was about to make of a dashboard in this tab, also before the page was loaded anew. */
export function draftOf(name: string): Draft | undefined {
  const key = draftKey(name);
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? "null") as Draft | null;
    if (kept && Array.isArray(kept.panels)) return kept;
  } catch {
    // It may be known all the same.
  }
  return drafts.get(key);
}

export function keepDraft(name: string, draft: Draft) {
  const key = draftKey(name);
  drafts.set(key, draft);
  try {
    sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // It is kept as long as the page is open.
  }
}

export function dropDraft(name: string) {
  const key = draftKey(name);
  drafts.delete(key);
  try {
    sessionStorage.removeItem(key);
  } catch {
    // It was not kept either.
  }
}
