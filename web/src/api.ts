// Foliot's API, see docs/api.md. The page speaks nothing else.

import { database } from "./database";
import { hearKinds } from "./described";
import { parsed } from "./parsing";
import type { Body, Language } from "./question";
import type { Maker, Series, Value } from "./series";
import type { Span } from "./time";

const ROOT = "/api/foliot/v1";

export interface Position {
  line: number;
  column: number;
}

/** How far the store is on its way, while it is being opened. */
export interface Opening {
  for_ms: number;
  read_bytes: number;
  total_bytes: number;
}

/** What is known of a question that has no answer: the steps that were begun, and what it had taken until then. */
export interface Done {
  tree?: TreeNode | undefined;
  figures: Figures;
}

/** An answer that is none, with the server's own words. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly position: Position | null, readonly opening: Opening | null = null, readonly done: Done | null = null) {
    super(message);
  }

  /** Whether nobody was there to answer. */
  get isSilence(): boolean {
    return this.status === 0;
  }

  /** Whether the same question may be answered a while later. */
  get mayPass(): boolean {
    return this.isSilence || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

const NOT_FOLIOT = "What answers here is not Foliot, or its answer broke off. Is there a proxy in between, or a page to log in at?";

/** Asks. The answer is an object that has a member of this name, unless it is a stranger's. */
async function ask<T>(path: string, member: keyof T | null, params: Record<string, string | number>, init: RequestInit = {}): Promise<T> {
  const given = Object.entries(params).filter(([, value]) => value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(`${ROOT}/${path}?${query}`, init);
    text = await answer.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refusal(0, "The server does not answer. Is it running, and is the network there?", null);
  }
  let body: unknown = null;
  try {
    body = await parsed(text, init.signal);
  } catch {
    init.signal?.throwIfAborted();
    // What is no JSON is somebody else's answer, or a sentence.
  }
  const isObject = body !== null && typeof body === "object" && !Array.isArray(body);
  if (answer.ok) {
    if (!isObject || (member !== null && !(member in (body as object)))) throw new Refusal(0, NOT_FOLIOT, null);
    return body as T;
  }
  // What only stands in the way of all that Foliot answers may go away.
  if (!isObject && answer.status >= 502 && answer.status <= 504) {
    throw new Refusal(0, `What stands between this page and Foliot answers ${answer.status}${answer.statusText ? `, ${answer.statusText}` : ""}. Is the server running?`, null);
  }
  const { error, opening, tree, figures } = (isObject ? body : {}) as { error?: unknown; opening?: Opening; tree?: TreeNode; figures?: Figures };
  const told = typeof error === "object" && error !== null ? error as { message?: unknown; position?: Position } : {};
  const message = typeof told.message === "string" ? told.message : isObject ? `${NOT_FOLIOT} It says ${answer.status}: ${text.slice(0, 200)}` : text.trim() || `${answer.status} ${answer.statusText}`;
  throw new Refusal(answer.status, message, told.position ?? null, opening ?? null, figures ? { tree, figures } : null);
}

/** What is about the database that the page looks into, unless another is said. */
const inside = () => ({ db: database() });

/** What a step took, with all that stands in it. */
export interface Took {
  ms: number;
  /** Without what stands in it; a file of before does not tell it. */
  own_ms?: number;
  series: number;
  samples: number;
  /** Of a step that comes to rows: how many, of how many that what stands in it came to. */
  rows?: number;
  rows_in?: number;
}

/** A step of a question: a node of an expression of PromQL, as Prometheus' parse_query has it, or an operator. */
export type TreeNode = { type: string; took?: Took; error?: string; [member: string]: unknown };

/** What a statement tells that is no samples, as SHOW. */
export interface Table {
  name: string;
  labels: Record<string, string>;
  columns: string[];
  /** Of each column, where all its values are of one: times are texts of nanoseconds. */
  kinds?: string[];
  rows: Value[][];
}

/** What a question took. */
export interface Figures {
  series: number; samples: number; series_read: number; samples_read: number; memory_peak_bytes: number; took_ms: number;
  blocks_read: number; blocks_summed: number; blocks_skipped: number; bytes_read: number; pages_cached: number; pages_loaded: number;
  /** Where the time went, which files of before do not tell. */
  waited_ms?: number; planning_ms?: number; steps_ms?: number; printing_ms?: number;
}

export interface Answer {
  series: Series[];
  tables?: Table[];
  /** Rows of tables that there was no room for. */
  rows_left_out?: number;
  /** Warnings and hints of the language. */
  notes: string[];
  tree?: TreeNode;
  figures: Figures;
  /** What each statement of a text came to, where a text may have several. */
  statements?: Stated[];
}

/** What one statement of a text came to: an answer, or why there is none. */
export interface Stated {
  text: string;
  answer: Answer | null;
  error: Error | null;
  tookMs: number;
  /** Where its samples lie, if it is no graph because none of them lies in the range. */
  outside?: Span;
}

export const query = (database: string, body: Body, signal?: AbortSignal) =>
  ask<Answer>("query", "series", { db: database }, { method: "POST", body: JSON.stringify(body), signal: signal ?? null });

/** Has a question read and not asked. */
export const check = (database: string, body: Body, signal: AbortSignal) =>
  ask<{ wrong?: { message: string; position?: Position | null }; formatted?: string }>("query", null, { db: database }, { method: "POST", body: JSON.stringify({ ...body, check: true }), signal });

/** What is known of a metric. */
export interface Help {
  kind: string;
  help: string;
  unit: string;
}

export interface Names {
  names: string[];
  is_whole: boolean;
  /** By name, where it was asked. */
  help?: Record<string, Help>;
}

export async function catalogue(of: string, params: Record<string, string | number>, signal?: AbortSignal): Promise<Names> {
  const within = { of, ...inside(), ...params };
  const found = await ask<Names>("catalogue", "names", within, { signal: signal ?? null });
  if (found.help) hearKinds(String(within.db), found.help);
  return found;
}

export const fields = (measurement: string, params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<{ fields: { name: string; kind: string }[] }>("catalogue", "fields", { of: "fields", measurement, ...inside(), ...params }, { signal: signal ?? null });

/** `own` is the database that is meant where none is named. */
export const databases = () =>
  ask<{ databases: { name: string }[]; own: string }>("catalogue", "databases", { of: "databases" });

/** How a metric was asked for since the start; nothing where nobody did. */
export type Demand = { last_ms: number; count: number } | null;

export interface Cardinality {
  series: number;
  metrics_total: number;
  labels_total: number;
  /** With the size of each, and the time of its last sample, where these were asked. */
  metrics: { name: string; series: number; asked: Demand; samples?: number; bytes?: number; last_ms?: number | null }[];
  labels: { name: string; values: number; series: number }[];
  pairs: { name: string; value: string; series: number }[];
}

export const cardinality = (params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<Cardinality>("cardinality", "metrics", { ...inside(), ...params }, { signal: signal ?? null });

export interface Reporter {
  metric: string;
  labels: Record<string, string>;
  last_ms: number;
  made_by: Maker | null;
}

/** Series with their last samples, which have been quiet longest first. */
export const reporters = (params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<{ series: Reporter[]; total: number; is_whole: boolean }>("series", "series", { ...inside(), ...params }, { signal: signal ?? null });

export interface Facts {
  series: number;
  samples: number;
  bytes: number;
  plain_bytes: number;
  first_ms: number | null;
  last_ms: number | null;
  kinds: string[];
  kept: { rule: string | null; keeps: string }[];
  /** Since the start: samples that came, and those that were older than the newest of their series. */
  arrived: { samples: number; late: number };
  asked: Demand;
  help: Help | null;
  is_whole: boolean;
}

/** What is stored of a metric. */
export const facts = (params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<Facts>("metric", "samples", { ...inside(), ...params }, { signal: signal ?? null });

export interface Doomed {
  /** All metrics where it is not said. */
  metric?: string;
  labels?: Record<string, string>;
  /** Labels by patterns, as OpenTSDB's language has them. */
  filters?: Record<string, string>;
  start_ms?: number;
  end_ms?: number;
}

export interface Taken {
  series: number;
  samples: number;
  bytes: number;
  /** Of a count: how many metrics would lose samples, and those that would lose most. */
  metrics_total?: number;
  metrics?: { name: string; series: number; samples: number; bytes: number }[];
}

/** Takes samples away, or tells what would go. */
export const take = (database: string, doomed: Doomed, isPreview: boolean, signal: AbortSignal) =>
  ask<Taken>("delete", "samples", { db: database }, { method: "POST", body: JSON.stringify({ ...doomed, is_preview: isPreview }), signal });

export interface Ingest {
  bytes?: number;
  rows?: number;
  samples?: number;
  rejected?: Record<string, number>;
}

export interface Status {
  version: string;
  host: string;
  now_ms: number;
  uptime_ms: number;
  database: string;
  is_ready: boolean;
  collects_host: boolean;
  connections: number;
  ingest: Record<string, Ingest>;
  rejects: { at_ms: number; protocol: string; address: string | null; reason: string; line: number; message: string; text: string }[];
  memory: { resident_bytes: number; limit_bytes: number | null; parts: { name: string; bytes: number; limit_bytes: number | null; setting: string }[] };
  queries: { running: number; total: number; refused: number; failed: number; cancelled: number; samples_read: number };
  troubles?: string[];
  /** Until the store is there. */
  opening?: Opening;
  store?: {
    series: number; samples: number; rows_rejected: number; registry_bytes: number; head_bytes: number;
    wal_bytes: number; wal_unsynced_bytes: number; is_poisoned: boolean; parts: number; parts_absent: number;
    part_bytes: number; part_samples: number; merge_debt_parts: number; merge_debt_bytes: number;
    disk_free_bytes: number | null; disk_reserve_bytes: number; disk_seconds_left: number | null; lacks_space: boolean;
    wal_syncs: number; wal_sync_us: number; wal_sync_max_us: number;
    flushes: number; flushes_failed: number; merges: number; merges_failed: number; write_amplification: number;
    deletes: number; samples_deleted: number; samples_expired: number; cache_hits: number; cache_misses: number;
  };
}

/** A server that takes longer to say how it is does not answer. */
const STATUS_MS = 8000;

export const status = () => ask<Status>("status", "version", {}, { signal: AbortSignal.timeout(STATUS_MS) });

/** What asks the same again, in its language; without texts where they are too long to be kept. */
export interface AskedQuestion {
  language: Language;
  texts: string[];
  start_ms: number | null;
  end_ms: number | null;
  step_ms: number | null;
}

/** What is told of a question, whether it runs or has ended. */
export interface Told {
  text: string;
  database: string;
  owner: string;
  address: string | null;
  question: AskedQuestion | null;
}

export interface Running extends Told {
  id: number;
  memory_bytes: number;
  samples_read: number;
  runs_for_ms: number;
  is_cancelled: boolean;
}

export const queries = () => ask<{ queries: Running[] }>("queries", "queries", {});

export const cancel = (id: number) =>
  ask<{ cancelled: number }>("queries/cancel", "cancelled", {}, { method: "POST", body: JSON.stringify({ id }) });

export interface Job {
  id: number | null;
  may_cancel: boolean;
  kind: string;
  text: string;
  database: string;
  owner: string;
  began_ms: number;
  ended_ms: number | null;
  state: "running" | "done" | "failed" | "cancelled" | "silent";
  progress: { done: number; total: number | null; unit: "bytes" | "samples" } | null;
  outcome: string;
}

/** Work that takes long and is no question; what ended stands last. */
export const jobs = () => ask<{ jobs: Job[] }>("jobs", "jobs", {});

export const cancelJob = (id: number) =>
  ask<{ cancelled: number }>("jobs/cancel", "cancelled", {}, { method: "POST", body: JSON.stringify({ id }) });

export interface Backup {
  to: string;
  state: "running" | "done" | "failed" | "lost";
  error: string | null;
  began_ms: number;
  ended_ms: number | null;
  files_copied: number;
  bytes_copied: number;
  files_shared: number;
  bytes_shared: number;
  damages_mended: number;
  wal_damaged_bytes: number;
}

/** The last backups, newest first. */
export const backups = () => ask<{ backups: Backup[]; data_dir: string }>("backups", "backups", {});

export interface Cost extends Told {
  by_itself: boolean;
  count: number;
  /** How many of them had no answer, and why the last of those. */
  failed: number;
  error: string | null;
  took_ms: number;
  took_max_ms: number;
  samples_read: number;
  memory_peak_bytes: number;
  ended_ms: number;
}

/** What questions cost since the start, or in the last so many milliseconds; `since_ms` is from when on they are counted. */
export const costs = (withinMs: number | null) =>
  ask<{ costs: Cost[]; since_ms: number }>("queries/costs", "costs", withinMs === null ? {} : { within_ms: withinMs });

/** A line of the audit log: what took samples away, or changed who may do what. */
export interface Act {
  at_ms: number;
  door: string;
  from: string;
  by?: string;
  act: string;
  database?: string;
  subject?: string;
  selector?: string;
  /** What was asked for, where it was by patterns. */
  asked?: string;
  to?: string;
  /** Of a delete: the range, null where that has no end. */
  first_ms?: number | null;
  last_ms?: number | null;
  series?: number;
  samples?: number;
  bytes?: number;
  kept_s?: number | null;
  keep_s?: number | null;
}

/** What the audit log says, newest first. */
export const acts = (limit: number) => ask<{ acts: Act[]; is_whole: boolean }>("audit", "acts", { limit });

export interface Moment {
  at_ms: number;
  samples: Record<string, number>;
  rejected: number;
  disk_bytes: number;
  series: number;
  memory_bytes: number;
}

/** The last day, a moment each minute. */
export const pastDay = () => ask<{ moments: Moment[] }>("history", "moments", {});

export interface Sender {
  protocol: string;
  from: "address" | "itself" | "others";
  address: string | null;
  rows: number;
  samples: number;
  bytes: number;
  refused: number;
  new_series: number;
  last_ms: number;
}

export const senders = (params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<{ senders: Sender[]; total: number; is_whole: boolean }>("senders", "senders", params, { signal: signal ?? null });

/** The file of Prometheus' that is obeyed, if there is one. */
export interface Configured {
  file: string | null;
  read_ms: number | null;
  is_good: boolean;
}

export type TargetState = "up" | "down" | "unknown" | "dropped";

export interface ScrapeTarget {
  job: string;
  state: TargetState;
  discovered: Record<string, string>;
  url?: string;
  labels?: Record<string, string>;
  error?: string;
  at_ms?: number | null;
  took_ms?: number;
  samples_scraped?: number;
  samples_kept?: number;
  new_series?: number;
  interval_ms?: number;
  timeout_ms?: number;
}

export const targets = (params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<{ config: Configured; jobs: { name: string; targets: Record<TargetState, number> }[]; targets: ScrapeTarget[]; is_whole: boolean }>("targets", "targets", params, { signal: signal ?? null });

export interface Rule {
  name: string;
  text: string;
  labels: Record<string, string>;
  health: "good" | "bad" | "unknown";
  error: string;
  at_ms: number | null;
  took_ms: number;
  alerting: { for_ms: number; keep_firing_ms: number; annotations: Record<string, string>; pending: number; firing: number } | null;
}

export interface RuleGroup {
  name: string;
  file: string;
  interval_ms: number;
  at_ms: number | null;
  took_ms: number;
  rules: Rule[];
}

export const rules = (signal?: AbortSignal) => ask<{ config: Configured; groups: RuleGroup[] }>("rules", "groups", {}, { signal: signal ?? null });

export interface Alert {
  rule: string;
  group: string;
  file: string;
  text: string;
  stage: "pending" | "firing";
  since_ms: number;
  fired_ms: number | null;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  value: number | string;
}

export const alerts = (signal?: AbortSignal) =>
  ask<{ config: Configured; alerts: Alert[]; alertmanagers: string[]; alertmanagers_failed: Record<string, string>; is_whole: boolean }>("alerts", "alerts", {}, { signal: signal ?? null });

/** What rules make of labels. */
export interface Relabelled {
  rules: string[];
  steps: { number: number; is_kept: boolean; labels: Record<string, string> }[];
  is_kept: boolean;
  labels: Record<string, string> | null;
}

export const tryRelabel = (body: { labels: Record<string, string>; rules?: string; job?: string; of: "targets" | "samples" }) =>
  ask<Relabelled>("relabel", "steps", {}, { method: "POST", body: JSON.stringify(body) });

export interface Setting {
  name: string;
  value: string;
  origin: string;
  is_default: boolean;
  help: string;
}

export const settings = () => ask<{ settings: Setting[] }>("settings", "settings", {});

export type Level = "error" | "warn" | "info" | "debug" | "trace";

export const logs = (limit: number) =>
  ask<{ lines: { at_ms: number; level: Level; target: string; message: string }[] }>("logs", "lines", { limit });

export interface Retention {
  keeps: string;
  size: string;
  rules: string[];
  databases: { name: string; policies: { name: string; is_default: boolean; keeps: string }[] }[];
}

export const retention = () => ask<Retention>("retention", "databases", {});

export interface Tried {
  rule: string | null;
  number: number | null;
  keeps: string;
  expires_before_ms: number | null;
  series: number;
  samples: number;
  bytes: number;
  expired_samples: number;
  expired_bytes: number;
  /** Stored series by the rule that decides for each. */
  by_rule: { rule: string | null; number: number | null; keeps: string; series: number; samples: number; expired_samples: number }[];
}

/** By which rule a series is kept, and what of it would go. */
export const tryRetention = (database: string, body: { measurement: string; labels: Record<string, string>; rules?: string }) =>
  ask<Tried>("retention/test", "keeps", { db: database }, { method: "POST", body: JSON.stringify(body) });

export interface Panel {
  title: string;
  address: string;
}

export interface Saved {
  name: string;
  kind: "query" | "dashboard";
  address?: string;
  panels?: Panel[];
  by: string;
  changed_ms: number;
}

export const saved = (signal?: AbortSignal) => ask<{ saved: Saved[] }>("saved", "saved", inside(), { signal: signal ?? null });

/** `was_changed_ms` is when what is replaced was changed, 0 where there is nothing yet: where that is no longer so, nothing is saved. */
export const keepSaved = (what: { name: string; was_changed_ms: number } & ({ address: string } | { panels: Panel[] })) =>
  ask<Saved>("saved", "name", inside(), { method: "POST", body: JSON.stringify(what) });

export const forgetSaved = ({ name, changed_ms: was_changed_ms }: Saved) => ask<unknown>("saved", null, { ...inside(), name, was_changed_ms }, { method: "DELETE" });

export interface Note {
  start_ms: number;
  end_ms: number | null;
  text: string;
  details: string;
}

/** Notes that are drawn: more would hide what they are about. */
const NOTES_MAX = 200;

/** Notes of a range, those that begin last; they are OpenTSDB's, which knows no time before 1970. */
export const annotations = (database: string, start: number, end: number, signal?: AbortSignal) =>
  ask<{ annotations: Note[]; is_whole: boolean }>("annotations", "annotations", { db: database, limit: NOTES_MAX, start_ms: Math.max(0, Math.floor(start)), end_ms: Math.max(0, Math.ceil(end)) }, { signal: signal ?? null });

export const annotate = (database: string, note: { start_ms: number; end_ms?: number; text: string }) =>
  ask<Note>("annotations", "start_ms", { db: database }, { method: "POST", body: JSON.stringify(note) });

export const forgetNote = (database: string, start_ms: number) =>
  ask<unknown>("annotations", null, { db: database, start_ms }, { method: "DELETE" });

export interface Imported {
  /** The number of the job that a piece of a file belongs to. */
  job?: number;
  rows: number;
  samples: number;
  refused: number;
  faults: { line: number; field: string; message: string; text: string }[];
  found: { metrics: { name: string; kind: string; samples: number }[]; labels: string[]; start_ms: number | null; end_ms: number | null; is_whole: boolean } | null;
}

/** Stores lines, or only looks at them. */
export const bring = (params: Record<string, string | number>, lines: string | Blob, signal?: AbortSignal) =>
  ask<Imported>("import", "rows", params, { method: "POST", body: lines, signal: signal ?? null });

/** How many series a metric may have before new ones are refused, and how many count now. */
export interface Limit {
  metric: string;
  series: number;
  series_max: number;
}

export const limits = (signal?: AbortSignal) => ask<{ limits: Limit[] }>("limits", "limits", inside(), { signal: signal ?? null });

export const limitSeries = (metric: string, series_max: number) => ask<Limit>("limits", "metric", inside(), { method: "POST", body: JSON.stringify({ metric, series_max }) });

export const unlimitSeries = (metric: string) => ask<unknown>("limits", null, { ...inside(), metric }, { method: "DELETE" });
