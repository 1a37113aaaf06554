// The two halves of a metric's name, which only the store can tell apart: a point may be part of either.

import { fields } from "./api";

export interface Halves {
  measurement: string;
  /** "" where the measurement has one field that needs no name. */
  field: string;
}

/** Names of a measurement's fields. */
export type FieldsOf = (measurement: string) => Promise<string[]>;

/** Knows the fields of each measurement once it has asked for them. */
export function storedFields(database: string): FieldsOf {
  const known = new Map<string, Promise<string[]>>();
  return (measurement) => {
    const asked = known.get(measurement) ?? fields(measurement, { db: database }).then((found) => found.fields.map(({ name }) => name), () => []);
    known.set(measurement, asked);
    return asked;
  };
}

/** Points of a name behind which its field is looked for, from the last one on. */
const POINTS_MAX = 6;

export async function halvesOf(metric: string, fieldsOf: FieldsOf): Promise<Halves> {
  const points = [...metric.matchAll(/\./g)].map(({ index }) => index).filter((at) => at > 0).reverse().slice(0, POINTS_MAX);
  for (const at of points) {
    const [measurement, field] = [metric.slice(0, at), metric.slice(at + 1)];
    if ((await fieldsOf(measurement)).includes(field)) return { measurement, field };
  }
  return { measurement: metric, field: "" };
}

/** The halves with a field that needs no name, as far as it is known which one that is. */
export async function withField({ measurement, field }: Halves, fieldsOf: FieldsOf): Promise<Halves> {
  if (field) return { measurement, field };
  const all = await fieldsOf(measurement);
  return { measurement, field: all.includes("value") ? "value" : all.length === 1 ? all[0]! : "" };
}

/** What PromQL calls it. */
export const promqlName = ({ measurement, field }: Halves) => (field ? `${measurement}_${field}` : measurement);

/** Metrics that are other fields of the same measurement. */
export async function siblingFields(metric: string, fieldsOf: FieldsOf): Promise<string[]> {
  const { measurement, field } = await halvesOf(metric, fieldsOf);
  const all = await fieldsOf(measurement);
  // A field that needs no name is called as its measurement is.
  return all.filter((name) => name !== (field || "value")).map((name) => (name === "value" ? measurement : `${measurement}.${name}`)).sort();
}

/** What names that belong to this one begin with: all but its last part; nothing where it has one part. */
export const prefixOf = (metric: string): string => /^.+[._:/-](?=[^._:/-]+$)/.exec(metric)?.[0] ?? "";
