// Links to the pages of Prometheus and VictoriaMetrics, `g0.expr=…&g0.range_input=1h`, as addresses of Explore.

import { durationMs, durationText, instant } from "./time";

/** Panels that a link may have. */
const PANELS_MAX = 20;

/** Whether an address is such a link. */
export const isForeign = (params: URLSearchParams) => params.has("g0.expr");

/** A step as Explore has it, of one in seconds or with a unit. */
function stepOf(text: string): string {
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : durationMs(text);
  return ms && ms >= 1 ? durationText(ms) : "";
}

/** What Explore's address says of such a link: its expressions, and the range and the view of the first. */
export function translated(params: URLSearchParams): URLSearchParams {
  const found = new URLSearchParams();
  const of = (name: string) => (params.get(`g0.${name}`) ?? "").trim();
  const length = durationMs(of("range_input")) === null ? "1h" : of("range_input");
  // These pages write the end in UTC, whatever zone they show.
  const end = of("end_input");
  const endMs = end ? instant(end, 0, "utc") : null;
  found.set("start", endMs === null ? `${length}-ago` : String(endMs - durationMs(length)!));
  if (endMs !== null) found.set("end", String(endMs));
  if (["1", "table"].includes(of("tab"))) found.set("view", "table");
  const step = stepOf(of("step_input") || (of("res_type") === "auto" ? "" : of("res_step")));
  if (step) found.set("step", step);
  if (of("stacked") === "1" || of("display_mode") === "stacked") found.set("stacked", "1");
  const db = params.get("db");
  if (db !== null) found.set("db", db);
  for (let panel = 0; panel < PANELS_MAX; panel += 1) {
    const text = params.get(`g${panel}.expr`);
    if (text) found.append("p", text);
  }
  return found;
}
