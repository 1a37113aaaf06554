// Names that one which is none may have meant.

import { unknownName } from "../advice";
import { catalogue, fields } from "../api";
import { useAsked } from "../hooks";
import { namedIn, renamed } from "../influxql";
import { nearest, partsOf } from "../nearest";
import { halvesOf, promqlName, storedFields } from "../metric";
import { metricsIn, quotedMetricsIn, withMetric } from "../promql";
import { type Question, formOf, insteadOf, selectorOf, textOf } from "../question";

/** Names that are offered for one that is none. */
const NEAREST_MAX = 6;

/** Names among which the nearest is looked for. */
const LOOKED_AT = 1000;

interface Props {
  question: Question;
  database: string;
  onChoose: (question: Question) => void;
}

/** Of OpenTSDB's questions, whose door says which name it does not know. */
export function Nearest({ question, error, database, onChoose }: Props & { error: Error }) {
  const form = question.language === "opentsdb" ? formOf(question.text) : null;
  const unknown = unknownName(error);
  const instead = form && unknown ? insteadOf(form, unknown) : null;
  const asked = useAsked(`${database} ${question.text} ${error.message}`, async (signal) => (
    instead ? (await catalogue(instead.of, { db: database, limit: LOOKED_AT, ...instead.about }, signal)).names : []
  ));
  const possible = (asked.answer ?? []).filter((name) => instead?.isPossible(name));
  // Those that are near come first, and where none is, any that there are.
  const near = unknown ? nearest(unknown.name, possible, NEAREST_MAX) : [];
  const names = near.length ? near : possible.slice(0, NEAREST_MAX);
  if (!instead || !names.length) return null;
  return (
    <p class="bar nearest">
      {instead.said}
      {names.map((name) => <button key={name} type="button" class="plain" onClick={() => onChoose({ ...question, text: textOf(instead.form(name)) })}>{name}</button>)}
    </p>
  );
}

interface Unknown {
  said: string;
  name: string;
  others: string[];
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
  if (unknown === undefined) return null;
  const near = nearest(unknown, all, NEAREST_MAX);
  return { said: `${measurement} has no field “${unknown}”.`, name: unknown, others: near.length ? near : all.slice(0, NEAREST_MAX) };
}

/** What PromQL spells a name with. */
const bare = (name: string) => name.replace(/[^\w:]/g, "_");

/** Names of metrics that have a part of one in theirs, where there are too many to look at all. */
async function resembling(name: string, database: string, signal: AbortSignal): Promise<string[]> {
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
    const real = await Promise.all(like.map(async (other) => promqlName(await halvesOf(other, fieldsOf))));
    if (like.length && !real.includes(name)) return { said: `PromQL has another name for “${like[0]}”:`, name, others: [...new Set(real)].map(selectorOf) };
    const spelled = [...new Set(known.map(bare))];
    // A field stands behind its measurement, which is a metric by itself where the field is `value`.
    if (like.length || spelled.includes(bare(name)) || spelled.includes(`${name}_value`)) continue;
    return { said: `No metric of this database is called “${name}”.`, name, others: nearest(name, spelled, NEAREST_MAX) };
  }
  return null;
}

const unknownOf = { opentsdb: null, influxql: unknownIn, promql: unknownMetric };

/** Of questions that were answered with nothing, because what they name is nowhere. */
export function NearestOfNothing({ question, database, onChoose }: Props) {
  const look = unknownOf[question.language];
  const asked = useAsked(`${database} ${question.language} ${question.text}`, (signal) => (look ? look(question.text, database, signal) : Promise.resolve(null)));
  const unknown = asked.answer;
  if (!unknown) return null;
  return (
    <p class="bar nearest" role="status">
      {unknown.said}{unknown.others.length > 0 && !unknown.said.endsWith(":") && " There are:"}
      {unknown.others.map((name) => <button key={name} type="button" class="plain" onClick={() => onChoose({ ...question, text: question.language === "promql" ? withMetric(question.text, unknown.name, name) : renamed(question.text, unknown.name, name) })}>{name}</button>)}
    </p>
  );
}
