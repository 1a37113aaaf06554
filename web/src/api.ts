// Foliot's API, see docs/api.md. The page speaks nothing else.

import type { Body } from "./question";
import type { Series } from "./series";

const ROOT = "/api/foliot/v1";

export interface Position {
  line: number;
  column: number;
}

/** An answer that is none, with the server's own words. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly position: Position | null) {
    super(message);
  }
}

async function ask<T>(path: string, params: Record<string, string | number>, init: RequestInit = {}): Promise<T> {
  const given = Object.entries(params).filter(([, value]) => value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  let answer: Response;
  try {
    answer = await fetch(`${ROOT}/${path}?${query}`, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refusal(0, "The server does not answer. Is it running, and is the network there?", null);
  }
  const text = await answer.text();
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // What is no JSON is somebody else's answer, or a sentence.
  }
  if (answer.ok) return body as T;
  const error = (body as { error?: { message?: string; position?: Position } } | null)?.error;
  throw new Refusal(answer.status, error?.message ?? (text.trim() || answer.statusText), error?.position ?? null);
}

export interface Answer {
  series: Series[];
  figures: { series: number; samples: number; series_read: number; samples_read: number; memory_peak_bytes: number; took_ms: number };
}

export const query = (database: string, body: Body, signal?: AbortSignal) =>
  ask<Answer>("query", { db: database }, { method: "POST", body: JSON.stringify(body), signal: signal ?? null });

export interface Names {
  names: string[];
  is_whole: boolean;
}

export const catalogue = (of: string, params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<Names>("catalogue", { of, ...params }, { signal: signal ?? null });

export const fields = (measurement: string, params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<{ fields: { name: string; kind: string }[] }>("catalogue", { of: "fields", measurement, ...params }, { signal: signal ?? null });

export const databases = () =>
  ask<{ databases: { name: string }[] }>("catalogue", { of: "databases" });

export interface Cardinality {
  series: number;
  metrics_total: number;
  labels_total: number;
  metrics: { name: string; series: number }[];
  labels: { name: string; values: number; series: number }[];
}

export const cardinality = (params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<Cardinality>("cardinality", params, { signal: signal ?? null });

export interface Reporter {
  metric: string;
  labels: Record<string, string>;
  last_ms: number;
}

/** Series with their last samples, which have been quiet longest first. */
export const reporters = (params: Record<string, string | number>, signal?: AbortSignal) =>
  ask<{ series: Reporter[]; total: number; is_whole: boolean }>("series", params, { signal: signal ?? null });

export interface Doomed {
  metric: string;
  labels?: Record<string, string>;
  start_ms?: number;
  end_ms?: number;
}

export interface Taken {
  series: number;
  samples: number;
  bytes: number;
}

/** Takes samples away, or tells what would go. */
export const take = (database: string, doomed: Doomed, isPreview: boolean) =>
  ask<Taken>("delete", { db: database }, { method: "POST", body: JSON.stringify({ ...doomed, is_preview: isPreview }) });

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
  rejects: { at_ms: number; protocol: string; reason: string; line: number; message: string }[];
  memory: { resident_bytes: number; limit_bytes: number | null };
  queries: { running: number; total: number; refused: number; failed: number; cancelled: number; samples_read: number };
  troubles?: string[];
  store?: {
    series: number; samples: number; rows_rejected: number; registry_bytes: number; head_bytes: number;
    wal_bytes: number; wal_unsynced_bytes: number; is_poisoned: boolean; parts: number; parts_absent: number;
    part_bytes: number; part_samples: number; merge_debt_parts: number; merge_debt_bytes: number;
    disk_free_bytes: number | null; lacks_space: boolean;
  };
}

export const status = () => ask<Status>("status", {});

export interface Running {
  id: number;
  text: string;
  database: string;
  runs_for_ms: number;
  is_cancelled: boolean;
}

export const queries = () => ask<{ queries: Running[] }>("queries", {});

export const cancel = (id: number) =>
  ask<{ cancelled: number }>("queries/cancel", {}, { method: "POST", body: JSON.stringify({ id }) });
