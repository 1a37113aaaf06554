// What a file of samples says of itself, so that it comes in again as what it was: the column `kind` has the kind of each
// sample. To others it is a column like any other.

/** Kinds of values, as answers tell them. */
export const KINDS = new Set(["float", "integer", "unsigned", "boolean", "string", "histogram"]);

/** Names of columns that a file of samples has for itself. */
const OWN = new Set(["time", "time_ms", "time_ns", "name", "measurement", "field", "value", "kind", "labels"]);

/** What stands in front of a name, as often as it must, that a file has for itself. */
const ASIDE = "label_";

const bare = (name: string) => name.replace(/^(label_)+/, "");

/** What the column of a label is called: no label takes the name of another column. */
export const columnOfLabel = (label: string): string => (OWN.has(bare(label)) ? ASIDE + label : label);

export const labelOfColumn = (name: string): string => (name.startsWith(ASIDE) && OWN.has(bare(name)) ? name.slice(ASIDE.length) : name);

/** A text as a cell that is no formula to a spreadsheet. */
export const guarded = (text: string): string => (/^'*[=+\-@\t\r]/.test(text) && (text.startsWith("'") || Number.isNaN(Number(text))) ? `'${text}` : text);

export const unguarded = (text: string): string => (/^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text);

/** Where a file has times, and in which unit. */
export interface Said {
  time: number;
  unit: "ns" | "ms" | "date";
}

/** What a file of these columns says that was saved here, or by `foliot export --format csv`; nothing where it is somebody else's. */
export function saidBy(names: string[], rows: string[][]): Said | null {
  const kind = names.indexOf("kind");
  const isExport = names.includes("time") && names.includes("measurement");
  const time = isExport ? names.indexOf("time") : names.findIndex((name) => name === "time_ns" || name === "time_ms");
  const isSaved = time >= 0 && kind >= 0 && [isExport ? "measurement" : "name", "field", "value"].every((name) => names.includes(name)) && rows.every((row) => !row[kind] || KINDS.has(row[kind]));
  return isSaved ? { time, unit: isExport ? "date" : names[time] === "time_ns" ? "ns" : "ms" } : null;
}
