// What an answer of stored samples leaves out: OpenTSDB's has numbers for values of all kinds, and InfluxQL's does not
// say who made the series. Other members of the API tell both.

import { type Reporter, fields, reporters } from "./api";
import { type Question, asksStored } from "./question";
import type { Maker, Series, Value } from "./series";

/** Values of kinds that OpenTSDB has no word for, made of the whole numbers that it answers with. */
const MADE_OF_WHOLE: Record<string, (value: Value) => Value> = {
  boolean: (value) => (value === null ? null : Number(value) !== 0),
  unsigned: (value) => value,
};

/** The series with the kinds that their fields have. */
export function withKinds(all: Series[], kindOf: (measurement: string, field: string) => string | undefined): Series[] {
  return all.map((one) => {
    const kind = one.kind === "integer" && one.stored ? kindOf(one.stored.measurement, one.stored.field) ?? "" : "";
    const made = MADE_OF_WHOLE[kind];
    return made ? { ...one, kind, values: one.values.map(made) } : one;
  });
}

/** Asks for the kinds of the fields that whole numbers may stand for. */
async function kindsTold(all: Series[], database: string, signal: AbortSignal): Promise<Series[]> {
  const measurements = [...new Set(all.flatMap(({ kind, stored }) => (kind === "integer" && stored ? [stored.measurement] : [])))];
  const told = new Map(await Promise.all(measurements.map(async (measurement) => {
    const found = await fields(measurement, { db: database }, signal);
    return [measurement, new Map(found.fields.map(({ name, kind }) => [name, kind]))] as const;
  })));
  return withKinds(all, (measurement, field) => told.get(measurement)?.get(field));
}

/** Measurements whose series are asked for, and series of each. */
const [MEASUREMENTS_MAX, SERIES_MAX] = [8, 10_000];

/** What a field of a measurement is called as a metric. */
const metricOf = ({ name, field }: Series) => (field === "value" ? name : `${name}.${field}`);

const keyOf = (metric: string, names: string[], labels: Record<string, string>) => JSON.stringify([metric, ...names.map((name) => labels[name] ?? "")]);

/** Who made all of these, if that was one and the same. */
function oneOf(makers: (Maker | null)[]): Maker | null {
  const [first] = makers;
  const isSame = (other: Maker | null) => other !== null && first !== null && other.protocol === first?.protocol && other.from === first.from && other.address === first.address;
  return first && makers.every(isSame) ? { ...first, at_ms: Math.min(...makers.map((maker) => maker!.at_ms)) } : null;
}

/** The series with those who made the stored series that have their labels, where that is one and the same. */
export function withMakers(all: Series[], known: Pick<Reporter, "metric" | "labels" | "made_by">[]): Series[] {
  // Lines of one answer mostly have labels of the same names, by which stored series are found at once.
  const byNames = new Map<string, Map<string, (Maker | null)[]>>();
  const found = (names: string[]) => {
    const key = JSON.stringify(names);
    const before = byNames.get(key);
    if (before) return before;
    const makers = new Map<string, (Maker | null)[]>();
    for (const { metric, labels, made_by } of known) {
      const of = keyOf(metric, names, labels);
      const others = makers.get(of);
      if (others) others.push(made_by);
      else makers.set(of, [made_by]);
    }
    byNames.set(key, makers);
    return makers;
  };
  return all.map((one) => {
    const names = Object.keys(one.labels).sort();
    const maker = oneOf(found(names).get(keyOf(metricOf(one), names, one.labels)) ?? []);
    return maker ? { ...one, made_by: maker } : one;
  });
}

/** Asks who made the series, as far as all of them can be told. */
async function makersTold(all: Series[], database: string, signal: AbortSignal): Promise<Series[]> {
  const measurements = [...new Set(all.map(({ name }) => name))].slice(0, MEASUREMENTS_MAX);
  const told = await Promise.all(measurements.map((measurement) => reporters({ db: database, measurement, limit: SERIES_MAX }, signal)));
  // Where some are left out, one of them may have another maker.
  return withMakers(all, told.flatMap(({ series, is_whole }) => (is_whole ? series : [])));
}

/** Samples of a question as they are stored, with what their answer leaves out. */
export async function completed(all: Series[], question: Question, database: string, signal: AbortSignal): Promise<Series[]> {
  if (!all.length || !asksStored(question)) return all;
  switch (question.language) {
    case "opentsdb": return kindsTold(all, database, signal);
    case "influxql": return makersTold(all, database, signal);
    default: return all;
  }
}
