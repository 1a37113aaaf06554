// What Explore shows, as the part of the address behind "#", so that an address shares it. The
// names are OpenTSDB's: links made for its page, `/#start=…&m=…`, open here.

import { database, here } from "./database";
import { isForeign, translated } from "./links";
import { type Language, type Question, about, formOf, storedTexts } from "./question";
import type { Scope } from "./scope";
import { type Range, type Zone, durationMs, isZone } from "./time";

export interface Explored {
  range: Range;
  zone: Zone;
  /** Between the points of an answer, as "1m"; "" for what fits the range. */
  step: string;
  /** Seconds between refreshes; 0 for none. */
  refresh: number;
  /** A number is a panel's; Explore shows its graph. */
  view: "graph" | "heatmap" | "table" | "samples" | "number";
  /** Whether a graph was chosen, so that rows of whatever statement are drawn. */
  isDrawn: boolean;
  database: string;
  isStacked: boolean;
  isLogarithmic: boolean;
  /** Where the axis of values begins and ends; null for what fits. */
  yRange: [number | null, number | null];
  /** How many lines are shown, the greatest by their means; 0 for all. */
  top: number;
  questions: Question[];
}

export const unexplored = (): Explored => ({
  range: { start: "1h-ago", end: "now" }, zone: "local", step: "", refresh: 0, view: "graph", isDrawn: false, database: "",
  isStacked: false, isLogarithmic: false, yRange: [null, null], top: 0, questions: [],
});

export type PageName = "home" | "explore" | "metrics" | "dashboards" | "monitoring" | "import" | "operations" | "reports" | "unknown";

/** What stands before a question of each language. */
const LETTERS: Record<Language, string> = { opentsdb: "m", influxql: "i", promql: "p", sql: "s" };

/** Languages that have no form, by what stands before their questions. */
const TEXTS: Record<string, Language> = { i: "influxql", p: "promql", s: "sql" };

export interface Place {
  page: PageName;
  params: URLSearchParams;
}

export const PAGES: PageName[] = ["home", "explore", "metrics", "dashboards", "monitoring", "import", "operations", "reports"];

/** Pages whose addresses are not what they are called. */
const CALLED: Record<string, PageName> = { benchmarks: "reports" };

/** The page that an address leads to. */
export function place(hash: string): Place {
  const text = hash.replace(/^#/, "");
  if (!text.startsWith("/")) {
    // OpenTSDB's own addresses, also those of /q, which the server sends here.
    const params = new URLSearchParams(text);
    return { page: params.has("m") || params.has("start") ? "explore" : "home", params };
  }
  const [path = "", query = ""] = text.slice(1).split(/\/?\?(.*)/s);
  const params = new URLSearchParams(query);
  if (isForeign(params)) return { page: "explore", params: translated(params) };
  const name = path.replace(/\/$/, "");
  const called = CALLED[name.toLowerCase()] ?? PAGES.find((page) => page === name);
  return { page: name ? called ?? "unknown" : "home", params };
}

/** The zone that an address names, the browser's own where none; nothing where the browser does not know it. */
export function zoneOf(params: URLSearchParams): Zone | null {
  const named = (params.get("zone") ?? params.get("tz") ?? "").trim();
  // A "+" in an address is a blank to who reads it.
  const zone = /^(utc|etc\/utc|gmt)$/i.test(named) ? "utc" : named.replace(/^(?=\d\d:\d\d$)/, "+") || "local";
  return isZone(zone) ? zone : null;
}

/** Seconds, as a number or with a unit: 2, 2s, 5m. */
const secondsOf = (text: string): number => Number(text) || (durationMs(text.trim()) ?? 0) / 1000;

/** The ends of an axis, as OpenTSDB's links say them: `[0:100]`, `[0:]`. */
export function yRangeOf(text: string): [number | null, number | null] {
  const ends = /^\[([^:]*):([^:]*)\]$/.exec(text.trim());
  const end = (said = "") => (said.trim() && Number.isFinite(Number(said)) ? Number(said) : null);
  const [low, high] = [end(ends?.[1]), end(ends?.[2])];
  return low !== null && high !== null && low >= high ? [null, null] : [low, high];
}

export function read(params: URLSearchParams): Explored {
  const explored = unexplored();
  const listed = (name: string) => new Set((params.get(name) ?? "").split(",").filter(Boolean).map(Number));
  const [hidden, asText] = [listed("off"), listed("text")];
  for (const [name, value] of params) {
    const isHidden = hidden.has(explored.questions.length);
    if (name === "m") {
      explored.questions.push({ language: "opentsdb", text: value, isForm: formOf(value) !== null && !asText.has(explored.questions.length), isHidden });
    } else if (Object.hasOwn(TEXTS, name)) {
      explored.questions.push({ language: TEXTS[name]!, text: value, isForm: false, isHidden });
    }
  }
  explored.range = { start: params.get("start") || "1h-ago", end: params.get("end") || "now" };
  explored.zone = zoneOf(params) ?? "local";
  explored.step = (params.get("step") ?? "").trim();
  explored.refresh = Math.max(0, Math.min(3600, secondsOf(params.get("refresh") ?? params.get("autoreload") ?? "")));
  explored.view = (["heatmap", "table", "samples", "number"] as const).find((view) => view === params.get("view")) ?? "graph";
  explored.isDrawn = params.get("view") === "graph";
  explored.top = Math.max(0, Math.min(1000, Math.floor(Number(params.get("top")) || 0)));
  explored.database = params.get("db") ?? "";
  explored.isStacked = params.has("stacked");
  explored.isLogarithmic = params.has("log") || params.has("ylog");
  explored.yRange = yRangeOf(params.get("yrange") ?? "");
  return explored;
}

export function write(explored: Explored): string {
  const params = new URLSearchParams();
  params.set("start", explored.range.start);
  if (explored.range.end !== "now") params.set("end", explored.range.end);
  if (explored.zone !== "local") params.set("zone", explored.zone);
  if (explored.step) params.set("step", explored.step);
  if (explored.refresh) params.set("refresh", String(explored.refresh));
  if (explored.view !== "graph" || explored.isDrawn) params.set("view", explored.view);
  if (explored.top) params.set("top", String(explored.top));
  if (explored.database) params.set("db", explored.database);
  if (explored.isStacked) params.set("stacked", "1");
  if (explored.isLogarithmic) params.set("log", "1");
  if (explored.yRange.some((end) => end !== null)) params.set("yrange", `[${explored.yRange.map((end) => end ?? "").join(":")}]`);
  for (const question of explored.questions) {
    params.append(LETTERS[question.language], question.text);
  }
  const list = (name: string, is: (question: Question) => boolean) => {
    const places = explored.questions.flatMap((question, index) => (is(question) ? [index] : []));
    if (places.length) params.set(name, places.join(","));
  };
  list("off", ({ isHidden }) => isHidden);
  // What a form can show is shown as one, unless somebody wants its text.
  list("text", ({ language, text, isForm }) => language === "opentsdb" && !isForm && formOf(text) !== null);
  return `#/explore?${params}`;
}

/** The address of Explore with a first question about a metric. */
export const exploring = (metric: string, counts = false, scope: Partial<Scope> = {}) =>
  write({ ...unexplored(), database: database(), ...(scope.range ? { range: scope.range } : {}), questions: [about(metric, counts, scope.filters)] });

/** The address of a metric's texts, as a table. */
export const textsAddress = (metric: string) =>
  write({ ...unexplored(), database: database(), view: "table", questions: [storedTexts(metric)] });

/** The address of the page about a label, or about one of its values. */
export const labelAddress = (label: string, value = "") =>
  here(`#/metrics?${new URLSearchParams({ label, ...(value ? { value } : {}) })}`);

/** The address of a dashboard, over a range if one is said: by its name, as "1h", or by its ends. */
export const dashboardAddress = (name: string, over: { range: string } | Range | null = null) =>
  here(`#/dashboards?${new URLSearchParams({ name, ...over })}`);
