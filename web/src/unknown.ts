// Names in questions that the store does not have: what is asked about them is answered with nothing.

import { catalogue, fields } from "./api";
import { type LabelTest, asText, comparedNames, namedIn, quotedValue, renamed, testsIn, withValue } from "./influxql";
import { halvesOf, promqlName, storedFields } from "./metric";
import { nearest, partsOf } from "./nearest";
import * as promql from "./promql";
import { metricsIn, quotedMetricsIn, withMetric } from "./promql";
import { type Language, type Question, formOf, metricOf, selectorOf, textOf } from "./question";
import { bareSql, quotedSql, sqlWords, tablesIn } from "./sql";

/** Names that are offered for one that is none. */
export const NEAREST_MAX = 6;

/** Names among which the nearest is looked for. */
export const LOOKED_AT = 1000;

/** A name that the store does not have, and those that are near. */
export interface Unknown {
  said: string;
  name: string;
  others: string[];
  /** What the name is of, where it is no metric, measurement, table or field. */
  of?: "label" | "value" | "text";
}

/** Which label, or which value of one, no series of a metric or measurement has. */
async function unknownTest(tests: LabelTest[], about: Record<string, string>, database: string, signal: AbortSignal): Promise<Unknown | null> {
  const called = Object.values(about)[0];
  for (const { label, value } of tests) {
    // What has not got a label is asked for by an empty value.
    if (!value || label.startsWith("__")) continue;
    const labels = await catalogue("labels", { db: database, ...about, limit: LOOKED_AT }, signal);
    if (!labels.names.length || !labels.is_whole) continue;
    if (!labels.names.includes(label)) {
      const near = nearest(label, labels.names, NEAREST_MAX);
      return { said: `No series of ${called} has a label “${label}”.`, name: label, others: near.length ? near : labels.names.slice(0, NEAREST_MAX), of: "label" };
    }
    const of = { db: database, ...about, label, limit: LOOKED_AT };
    const same = await catalogue("values", { ...of, search: value }, signal);
    if (same.names.includes(value) || !same.is_whole) continue;
    const all = await catalogue("values", of, signal);
    const near = nearest(value, all.names, NEAREST_MAX);
    return { said: `No series of ${called} has ${label} “${value}”.`, name: value, others: near.length ? near : all.names.slice(0, NEAREST_MAX), of: "value" };
  }
  return null;
}

/** Which name of a statement of InfluxQL the store does not have: there, what has no samples is no error. */
async function unknownIn(text: string, database: string, signal: AbortSignal): Promise<Unknown | null> {
  const named = namedIn(text);
  if (!named) return null;
  const { measurement, columns } = named;
  const known = await fields(measurement, { db: database }, signal);
  if (!known.fields.length) {
    const all = await catalogue("measurements", { db: database, limit: LOOKED_AT }, signal);
    return { said: `No measurement of this database is called “${measurement}”.`, name: measurement, others: nearest(measurement, all.names, NEAREST_MAX) };
  }
  const { names: labels } = await catalogue("labels", { db: database, measurement, limit: LOOKED_AT }, signal);
  const all = known.fields.map(({ name }) => name);
  const unknown = columns.find((name) => !all.includes(name) && !labels.includes(name));
  const compared = unknown === undefined ? comparedNames(text).find(({ value }) => !all.includes(value) && !labels.includes(value)) : undefined;
  if (compared) return { said: `“${compared.value}” in double quotes is a name, and no field or label of ${measurement}. A text stands in single quotes:`, name: compared.value, others: [quotedValue(compared.value)], of: "text" };
  // A condition may be about a field that holds texts.
  if (unknown === undefined) return unknownTest(testsIn(text).filter(({ label }) => !all.includes(label)), { measurement }, database, signal);
  const near = nearest(unknown, all, NEAREST_MAX);
  return { said: `${measurement} has no field “${unknown}”.`, name: unknown, others: near.length ? near : all.slice(0, NEAREST_MAX) };
}

/** What PromQL spells a name with. */
export const bare = (name: string) => name.replace(/[^\w:]/g, "_");

/** Names of metrics that have a part of one in theirs, where there are too many to look at all. */
export async function resembling(name: string, database: string, signal?: AbortSignal): Promise<string[]> {
  const searched = await Promise.all(partsOf(name).map((search) => catalogue("metrics", { db: database, limit: LOOKED_AT, search }, signal)));
  return [...new Set(searched.flatMap(({ names }) => names))];
}

/** Which metric of an expression of PromQL the store does not have. */
async function unknownMetric(text: string, database: string, signal: AbortSignal): Promise<Unknown | null> {
  const named = [...metricsIn(text), ...quotedMetricsIn(text)];
  if (!named.length) return null;
  const all = await catalogue("metrics", { db: database, limit: LOOKED_AT }, signal);
  // Only the store knows whether what stands behind a point is a field, which makes it an underscore here.
  const fieldsOf = storedFields(database);
  for (const name of named) {
    const known = all.is_whole ? all.names : await resembling(name, database, signal);
    const like = known.filter((other) => bare(other) === bare(name));
    const called = async (metrics: string[]) => [...new Set(await Promise.all(metrics.map(async (other) => promqlName(await halvesOf(other, fieldsOf)))))];
    const real = await called(like);
    if (like.length && !real.includes(name)) return { said: `PromQL has another name for “${like[0]}”:`, name, others: real.map(selectorOf) };
    const spelled = [...new Set(known.map(bare))];
    const [metric] = like;
    if (metric && like.length === 1) {
      const unknown = await unknownTest(promql.testsIn(text).filter((test) => test.metric === name), { metric }, database, signal);
      if (unknown) return unknown;
    }
    // A field stands behind its measurement, which is a metric by itself where the field is `value`.
    if (like.length || spelled.includes(bare(name)) || spelled.includes(`${name}_value`)) continue;
    const near = nearest(bare(name), spelled, NEAREST_MAX).flatMap((spelling) => known.filter((other) => bare(other) === spelling));
    return { said: `No metric of this database is called “${name}”.`, name, others: (await called(near)).slice(0, NEAREST_MAX).map(selectorOf) };
  }
  return null;
}

/** Which metric of OpenTSDB's text the store does not have. */
const unknownInOpentsdb = (text: string, database: string, signal: AbortSignal) => unknownAs(metricOf(text), database, signal);

/** A metric's name, if the store has none that is called so. */
export async function unknownAs(name: string, database: string, signal?: AbortSignal): Promise<Unknown | null> {
  if (!name) return null;
  const { names, is_whole } = await catalogue("metrics", { db: database, limit: LOOKED_AT, search: name }, signal);
  if (names.includes(name) || !is_whole) return null;
  const all = await catalogue("metrics", { db: database, limit: LOOKED_AT }, signal);
  const known = all.is_whole ? all.names : await resembling(name, database, signal);
  return { said: `No metric of this database is called “${name}”.`, name, others: nearest(name, known, NEAREST_MAX) };
}

/** Which table of SQL's text the store does not have. */
async function unknownTable(text: string, database: string, signal: AbortSignal): Promise<Unknown | null> {
  for (const name of tablesIn(text)) {
    const known = await fields(name, { db: database }, signal);
    if (known.fields.length) continue;
    const all = await catalogue("measurements", { db: database, limit: LOOKED_AT }, signal);
    return { said: `No table of this database is called “${name}”.`, name, others: nearest(name, all.names, NEAREST_MAX) };
  }
  return null;
}

/** Which name of a text the store does not have, if it is one that matters. */
export const unknownOf: Record<Language, (text: string, database: string, signal: AbortSignal) => Promise<Unknown | null>> = {
  opentsdb: unknownInOpentsdb, influxql: unknownIn, promql: unknownMetric, sql: unknownTable,
};

/** A question in which another name stands for one. */
export function renamedIn(question: Question, { name, of }: Pick<Unknown, "name" | "of">, other: string): Question {
  const { language, text } = question;
  if (of === "text") return { ...question, text: asText(text, name) };
  if (of === "value") return { ...question, text: (language === "promql" ? promql.withValue : withValue)(text, name, other) };
  if (of === "label" && language === "promql") return { ...question, text: promql.withLabel(text, name, other) };
  if (language === "promql") return { ...question, text: withMetric(text, name, other) };
  if (language === "influxql") return { ...question, text: renamed(text, name, other) };
  if (language === "sql") return { ...question, text: sqlWords(text).map((word) => (word.class === "name" && bareSql(word.text) === name ? quotedSql(other) : word.text)).join("") };
  const form = formOf(text);
  return { ...question, text: form ? textOf({ ...form, metric: other }) : text.replaceAll(name, () => other) };
}
