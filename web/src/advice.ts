// What to do about an answer that is none, where the server's own words do not say it already.

import { Refusal } from "./api";
import { FUNCTIONS } from "./influxql";
import { nearest } from "./nearest";
import { PROMQL_HELP } from "./promqlfunctions";
import { AGGREGATORS, FOLDS, type Question, TO_FILL_IN, idleParts } from "./question";

/** What OpenTSDB's door says of a name that it does not know. */
const UNKNOWN = /^No such name for '(metrics|tagk|tagv)': '(.*)'$/s;

export interface UnknownName {
  of: "metrics" | "labels" | "values";
  name: string;
}

/** The name that is none, if that is what an error says. */
export function unknownName(error: Error): UnknownName | null {
  const found = UNKNOWN.exec(error.message);
  if (!found) return null;
  return { of: found[1] === "tagk" ? "labels" : found[1] === "tagv" ? "values" : "metrics", name: found[2] ?? "" };
}

const OF_NAMES: Record<UnknownName["of"], (name: string) => string> = {
  metrics: (name) => `No metric of this database is called “${name}”. The field of the form finds metrics by any part of their names, and Metrics lists all.`,
  labels: (name) => `No series of this database has a label “${name}”. “+ label” in the form lists the labels that the metric has.`,
  values: (name) => `“${name}” is the value of no label. The label's field in the form lists the values that it has; * stands for all of them, and a|b for several.`,
};

/** Names that are offered for a function that is none. */
const OFFERED = 4;

/** What is said of a function that is none: those that are called like it. */
function ofFunction(name: string, all: string[], documents: string): string {
  const near = nearest(name, all, OFFERED);
  return `${near.length ? `Did you mean ${near.join(", ")}? ` : ""}The editor offers all functions, with what they do; docs/${documents} has them, too.`;
}

/** What to do about a text before it is asked, or although it is answered; nothing where it is whole, or what is typed in its place is. */
export function hintOn({ language, text }: Question, typed: string | null = null): string {
  if (text.includes(TO_FILL_IN) && typed !== null && !typed.includes(TO_FILL_IN)) return "";
  if (text.includes(TO_FILL_IN)) return `A ${language === "sql" ? "table" : "measurement"} is missing: put its name where “${TO_FILL_IN}” stands. Until then this is not asked.`;
  if (language === "influxql" && /^\s*select\s+\*\s+from\b/i.test(text) && !/\b(group|limit)\b/i.test(text)) return "Without GROUP BY * the rows of all series are one line, and their labels are columns. Samples have the series apart.";
  const idle = language === "opentsdb" ? idleParts(text) : [];
  if (!idle.length) return "";
  return `${idle.map((part) => `“${part}”`).join(" and ")} between the aggregator and the metric ${idle.length === 1 ? "means" : "mean"} nothing, and ${idle.length === 1 ? "is" : "are"} passed over: a step is 1m-avg or $step-avg, and a rate rate or rate{counter}.`;
}

/** What to do next; nothing where the error says so itself. */
export function adviceOn(error: Error): string {
  const unknown = unknownName(error);
  if (unknown) return OF_NAMES[unknown.of](unknown.name);
  if (/^No such aggregation function/.test(error.message)) return `There are ${AGGREGATORS.join(", ")}, and more: docs/protocols/opentsdb.`;
  const ofInfluxql = /undefined function (\w+)\(\)/.exec(error.message);
  if (ofInfluxql) return ofFunction(ofInfluxql[1]!, FUNCTIONS, "protocols/influx");
  const ofPromql = /unknown function with name "([^"]*)"/.exec(error.message);
  if (ofPromql) return ofFunction(ofPromql[1]!, Object.keys(PROMQL_HELP), "protocols/prometheus");
  if (/^Parameter value is NaN/.test(error.message)) return "topk, bottomk and limitk take how many series they leave before the first comma, as topk(5, up): give a number there, and no expression that is none at some instants.";
  if (/missing parameter/.test(error.message)) return "The page fills in $start, $end and $step: the ends of the range, and the step of the graph.";
  if (/^database not found/.test(error.message)) return "The choice in the head of the page lists those that there are.";
  if (/same labelset/.test(error.message)) return "Two series would have the same labels: keep a label that tells them apart, or combine them first, as sum by (host) (…).";
  if (/^No such downsampling function/.test(error.message)) return `There are ${FOLDS.join(", ")}, and more: docs/protocols/opentsdb.`;
  if (/^only statements that change nothing/.test(error.message)) return "foliot query asks them, and so does curl -d 'q=…' at /query, InfluxDB's door. Deletes with a count before are on the metric's own page.";
  if (!(error instanceof Refusal)) return "";
  switch (error.status) {
    case 401: return "Load the page again: the browser asks for a name and a password then.";
    case 403: return "Whoever administers this server may give that right: foliot user token makes a token that has it, and GRANT in InfluxQL gives it to a user.";
    case 404: return "It may be deleted, or of another database.";
    case 429: return "Others are asking, too. Try again in a moment.";
    case 500: return "The server's log says more: Operations, Log.";
    default: return "";
  }
}
