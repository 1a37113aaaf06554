// Reports of `foliot bench`: report.json, read and compared.

export interface ReportTable {
  name: string;
  /** How many columns tell the rows apart. */
  keys: number;
  columns: string[];
  rows: { cells: string[]; source: string | null; void: string | null }[];
}

export interface Plot {
  title: string;
  x: string;
  y: string;
  shape: "Lines" | "Bars";
  /** What stands at some places of the lower axis, in place of numbers. */
  x_names?: [number, string][];
  /** Whether each step of the left axis is a multiple of the one before. */
  multiplies?: boolean;
  lines: { name: string; points: [number, number][]; labels: string[] }[];
}

export interface Report {
  schema_version: number;
  tool_version: string;
  title: string;
  command: string;
  machine: [string, string][];
  sections: { heading: string; words: string[]; tables: ReportTable[]; plots: Plot[] }[];
  right: boolean;
  /** The server that was measured, and those that refused or answered wrongly; reports of before do not have them. */
  subject?: string;
  at_fault?: string[];
}

/** What is said of answers that were checked: a peer's fault is none of the server under test. */
export function verdict({ right, subject = "", at_fault: names = [] }: Pick<Report, "right" | "subject" | "at_fault">): { said: string; isBad: boolean } | null {
  if (right) return null;
  if (!names.length) return { said: "something was refused or answered wrongly", isBad: true };
  // The same server at another durability is the same server.
  const server = (name: string) => name.split(" (")[0];
  const isOwn = names.some((name) => server(name) === server(subject));
  const wrong = `refused or answered wrongly: ${names.join(", ")}`;
  return isOwn || !subject ? { said: wrong, isBad: true } : { said: `${subject}: every checked answer right; ${wrong}`, isBad: false };
}

/** Version of report.json that is read here. */
const SCHEMA_VERSION = 2;

/** A report out of a file's text; a sentence where it is none. */
export function reportOf(text: string): Report | string {
  let found: Partial<Report> | null;
  try {
    found = JSON.parse(text) as Partial<Report>;
  } catch {
    return "This is no JSON: choose the report.json that foliot bench has written.";
  }
  if (!found || !Array.isArray(found.sections) || typeof found.title !== "string") return "This is no report of foliot bench: it has no title and sections.";
  if (found.schema_version !== SCHEMA_VERSION) return `This report is of version ${found.schema_version}; this page reads version ${SCHEMA_VERSION}. foliot bench report shows it.`;
  return found as Report;
}

const PREFIXES: Record<string, number> = { k: 1e3, M: 1e6, G: 1e9, "µ": 1e-6, m: 1e-3, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, n: 1e-9 };

/** The number that a cell begins with, in its plain unit; nothing where it is none. */
export function numberOf(cell: string): number | null {
  const found = /^\s*(-?[\d][\d,' ]*\.?\d*(?:e[-+]?\d+)?)\s*([a-zA-Zµ/%]*)/.exec(cell);
  if (!found?.[1]) return null;
  const number = Number(found[1].replace(/[,' ]/g, ""));
  const unit = found[2] ?? "";
  const prefix = Object.keys(PREFIXES).sort((a, b) => b.length - a.length).find((one) => unit.startsWith(one) && unit.length > one.length);
  return Number.isFinite(number) ? number * (prefix ? PREFIXES[prefix]! : 1) : null;
}

/** What a column's name says of which is better: of rates more, of times, sizes and faults less. */
const MORE_IS_BETTER = /\/ ?s\b|\ba second\b|\bper second\b|\bachieved\b|\bcompression\b/i;
const LESS_IS_BETTER = /\b(ns|us|µs|ms|s|min|seconds?|mean|median|max|p\d+|late|latency|stalls?|bytes|[KMG]i?B|memory|RSS|disk|CPU|wrong|errors?|faults?|refused|lost|failed|misses)\b/i;

/** Whether more of a column is better, or less; nothing where neither can be told from its name or the unit of its cells. */
export function betterOf(column: string, cell: string): "more" | "less" | null {
  const unit = cell.replace(/^[-\d.,'e ]+/, "");
  // How often a disk is written and synced is a cost, a rate though it is.
  if (/\b(syncs|disk writes|disk reads|switches|calls)\b/i.test(column)) return "less";
  for (const said of [column, unit]) {
    if (MORE_IS_BETTER.test(said)) return "more";
    if (LESS_IS_BETTER.test(said)) return "less";
  }
  return null;
}

export interface ComparedRow {
  keys: string[];
  cells: { before: string; after: string; ratio: number | null; better: "more" | "less" | null }[];
}

export interface Compared {
  heading: string;
  name: string;
  keys: string[];
  columns: string[];
  rows: ComparedRow[];
  /** Rows that only one of the two has. */
  alone: number;
}

/** Tables that both reports have, row by row. */
export function compared(before: Report, after: Report): Compared[] {
  const tables = (report: Report) => report.sections.flatMap(({ heading, tables: all }) => all.map((table) => ({ heading, table })));
  const others = tables(after);
  return tables(before).flatMap(({ heading, table }) => {
    const other = others.find((one) => one.table.name === table.name && one.heading === heading)?.table;
    if (!other) return [];
    const keyOf = (cells: string[]) => cells.slice(0, table.keys).join("\0");
    const byKey = new Map(other.rows.map((row) => [keyOf(row.cells), row]));
    const shared = table.columns.slice(table.keys).filter((column) => other.columns.includes(column));
    const rows = table.rows.flatMap((row): ComparedRow[] => {
      const match = byKey.get(keyOf(row.cells));
      if (!match) return [];
      const cells = shared.map((column): ComparedRow["cells"][number] => {
        const [was, is] = [row.cells[table.columns.indexOf(column)] ?? "", match.cells[other.columns.indexOf(column)] ?? ""];
        const [a, b] = [numberOf(was), numberOf(is)];
        return { before: was, after: is, ratio: a && b !== null && a > 0 ? b / a : null, better: betterOf(column, is) };
      });
      return [{ keys: row.cells.slice(0, table.keys), cells }];
    });
    const alone = table.rows.length + other.rows.length - 2 * rows.length;
    return rows.length ? [{ heading, name: table.name, keys: table.columns.slice(0, table.keys), columns: shared, rows, alone }] : [];
  });
}

/** What compared tables are called: of several with one name, by their sections, too. */
export const titlesOf = (all: Pick<Compared, "heading" | "name">[]): string[] =>
  all.map(({ heading, name }) => (heading !== name && all.filter((other) => other.name === name).length > 1 ? `${heading}: ${name}` : name));

/** Pictures of latency by percentile that both reports have, with the lines of both. */
export function comparedPercentiles(before: Report, after: Report): Plot[] {
  const plots = (report: Report) => report.sections.flatMap((section) => section.plots).filter(({ x_names }) => x_names?.length);
  const others = new Map(plots(after).map((plot) => [plot.title, plot]));
  return plots(before).flatMap((plot): Plot[] => {
    const other = others.get(plot.title);
    if (!other) return [];
    const of = (lines: Plot["lines"], which: string) => lines.filter(({ points }) => points.length).map((line) => ({ ...line, name: `${line.name}, ${which}` }));
    return [{ ...plot, lines: [...of(plot.lines, "before"), ...of(other.lines, "after")] }];
  });
}
