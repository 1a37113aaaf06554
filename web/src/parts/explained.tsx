// How questions were carried out, question by question: as a tree of steps, from what is shown down
// to what was read, and what that took. It is fetched when somebody opens it.

import { useRef, useState } from "preact/hooks";
import { type Answer, type Figures, Refusal, type Took, type TreeNode } from "../api";
import { type Outcome, letterOf } from "../asking";
import type { Question } from "../question";
import { format, many } from "../units";
import { Copy, Failed, save, shortened } from "./small";

export interface Props {
  asked: Outcome[];
  /** From the first question's sending to the last answer's end. */
  tookMs: number;
}

/** Letters of a statement that name its step. */
const NAMED_MAX = 80;

/** Questions that are explained. */
const EXPLAINED_MAX = 20;

export interface Step {
  depth: number;
  what: string;
  detail: string;
  took?: Took;
  /** Why it came to nothing. */
  error?: string;
}

const text = (value: unknown) => (typeof value === "string" ? value : typeof value === "number" ? String(value) : "");

const CHILDREN = ["param", "lhs", "rhs", "expr", "args", "steps"];

interface Matcher {
  name: string;
  type: string;
  value: string;
}

function selector(node: TreeNode): string {
  // A name that stands before the braces is not said twice.
  const matchers = (node["matchers"] as Matcher[] | undefined ?? []).filter(({ name }) => name !== "__name__" || !text(node["name"]));
  const told = matchers.map(({ name, type, value }) => `${name}${type}${JSON.stringify(value)}`).join(", ");
  return `${text(node["name"])}${told ? `{${told}}` : ""}`;
}

const time = (ms: number) => format(ms / 1000, "seconds");

const millis = (value: unknown) => time(Number(value ?? 0));

function told(node: TreeNode): [string, string] {
  const grouping = (node["grouping"] as string[] | undefined ?? []).join(", ");
  switch (node.type) {
    // A statement is named by how it begins.
    case "step": return [text(node["what"]), text(node["what"]).startsWith("statement ") ? shortened(text(node["detail"]), NAMED_MAX) : text(node["detail"])];
    case "aggregation": return [text(node["op"]), grouping ? `${node["without"] ? "without" : "by"} (${grouping})` : "of all series"];
    case "call": return [text((node["func"] as { name?: string } | undefined)?.name), ""];
    case "binaryExpr": return [text(node["op"]), "of two sides"];
    case "unaryExpr": return [text(node["op"]), ""];
    case "subquery": return ["subquery", `of ${millis(node["range"])}`];
    case "matrixSelector": return ["read", `${selector(node)} over ${millis(node["range"])} before each instant`];
    case "vectorSelector": return ["read", selector(node)];
    case "numberLiteral": return ["number", text(node["val"])];
    case "stringLiteral": return ["text", text(node["val"])];
    default: return [node.type, ""];
  }
}

/** A tree as steps, the outermost first. */
export function stepsOf(node: TreeNode, depth = 0): Step[] {
  const below = CHILDREN.flatMap((name) => node[name] ?? []).flat() as TreeNode[];
  // Parentheses do nothing, and statements stand in the answer, which is told above them.
  if (node.type === "parenExpr" || (node.type === "step" && node["what"] === "answer" && !node.took)) return below.flatMap((child) => stepsOf(child, depth));
  const [what, detail] = told(node);
  const own = { depth, what, detail, ...(node.took ? { took: node.took } : {}), ...(typeof node.error === "string" ? { error: node.error } : {}) };
  return [own, ...below.flatMap((child) => stepsOf(child, depth + 1))];
}

/** How many rows a step was given, and how many it came to. */
const rowsText = (rows: number, given?: number) => (given === undefined ? many(rows, "row") : `${many(given, "row")} in, ${format(rows)} out`);

/** What a step took: "12 rows in, 3 out, from 400 samples, 2 ms, 0.5 ms by itself". */
function tookText({ series, rows, rows_in: given, samples, ms, own_ms: own = ms }: Took): string {
  // Rows of one table have no series.
  const found = [...(series > 0 || rows === undefined ? [`${format(series)} series`] : []), ...(rows === undefined ? [] : [rowsText(rows, given)])].join(", ");
  return `${found}${samples > 0 ? `${given === undefined ? "" : ","} from ${format(samples)} samples` : ""}, ${time(ms)}${own < ms ? `, ${time(own)} by itself` : ""}`;
}

/** Where the time went: the parts, which add up to all of it. */
function timesOf(figures: Figures, steps: Step[]): [string, string][] {
  const { planning_ms: planning, steps_ms: carried, printing_ms: printing, waited_ms: waited, took_ms: took } = figures;
  const all = `${time(took)} in the server`;
  // Files of before tell no more.
  if (planning === undefined || carried === undefined || printing === undefined || waited === undefined) return [["time", all]];
  const operators = steps.filter(({ what, took: of }) => of && !what.startsWith("statement "));
  const outer = Math.min(...operators.map(({ depth }) => depth));
  const known = operators.reduce((sum, { depth, took: of }) => sum + (depth === outer ? of!.ms : 0), 0);
  const threads = known > carried * 1.05 ? `, ${time(known)} of all threads together` : "";
  return [["waited", `${time(waited)} before it was begun`], ["time", `${time(planning)} planning + ${time(carried)} steps${threads} + ${time(printing)} printing = ${all}`]];
}

const answerText = (figures: Figures, rows?: number) => (rows === undefined ? `${format(figures.samples)} samples of ${format(figures.series)} series` : many(rows, "row"));

/** What the whole question took, by name. */
function costsOf(figures: Figures, steps: Step[]): [string, string][] {
  // A file of before does not tell what was skipped.
  const { blocks_skipped: skipped = 0 } = figures;
  const blocks = figures.blocks_read + figures.blocks_summed + skipped;
  const pages = figures.pages_cached + figures.pages_loaded;
  const costs: [string, string][] = [
    ["read", `${format(figures.samples_read)} samples${figures.series_read > 0 ? ` of ${format(figures.series_read)} stored series` : ""}`],
    ["blocks", blocks
      ? `${format(figures.blocks_read)} decoded (${format(figures.bytes_read, "bytes")}), ${format(figures.blocks_summed)} answered by their summaries, ${format(skipped)} skipped, outside of the range`
      : "none: all of it was still in memory"],
  ];
  if (pages > 0) costs.push(["cache", `${format(figures.pages_cached)} of ${format(pages)} pages were in memory (${Math.floor((100 * figures.pages_cached) / pages)} %)`]);
  costs.push(["memory", `${format(figures.memory_peak_bytes, "bytes")} at most`], ...timesOf(figures, steps));
  return costs;
}

/** A question, its steps and what they took, to be pasted into a message. */
export function explained({ text, figures, rows, error }: Pick<Saved, "text" | "figures" | "rows" | "error">, steps: Step[]): string {
  const tree = steps.map(({ depth, what, detail, took, error: failed }) => `${"  ".repeat(depth + 1)}${[what, detail].filter(Boolean).join(" ")}${took ? ` (${tookText(took)})` : ""}${failed ? `: no answer: ${failed}` : ""}`);
  return [text, error ? `no answer: ${error}` : `answer: ${answerText(figures, rows)}`, ...tree, ...costsOf(figures, steps).map(([name, said]) => `${name}: ${said}`)].join("\n") + "\n";
}

/** A question, how it was answered, and what that took, as it is saved. */
export interface Saved {
  language: string;
  text: string;
  figures: Figures;
  tree?: TreeNode | undefined;
  /** Rows that were answered, where that is a table. */
  rows?: number;
  /** Why it has no answer; then steps are those that had begun. */
  error?: string;
}

/** What a file says that was saved here; an error where it is something else. */
export function savedOf(content: string): Saved {
  let saved: Partial<Saved> | null = null;
  try {
    saved = JSON.parse(content);
  } catch {
    // What is said below is true of this, too.
  }
  if (typeof saved?.text !== "string" || typeof saved.language !== "string" || typeof saved.figures?.took_ms !== "number" || (saved.tree && typeof saved.tree.type !== "string")) {
    throw new Error("This file does not tell how a question was answered: choose one that Explain saved as JSON.");
  }
  const isWhole = Object.values(saved.figures).every((figure) => typeof figure === "number");
  let steps = 0;
  try {
    steps = saved.tree ? stepsOf(saved.tree).length : 0;
  } catch {
    steps = Infinity;
  }
  if (!isWhole || steps > STEPS_MAX) throw new Error("This file tells of steps that cannot be shown: choose one that Explain saved as JSON.");
  return saved as Saved;
}

/** Steps that a saved question may have. */
const STEPS_MAX = 2000;

/** One question's steps. `letter` stands before the question. */
function Steps({ letter, saved }: { letter: string; saved: Saved }) {
  const { text, figures, tree, error, rows } = saved;
  const steps = tree ? stepsOf(tree) : [];
  return (
    <li>
      <div class="head">
        <p class="asked"><b>{letter}</b> <span class="code">{text}</span></p>
        <span class="nowrap">
          <Copy text={() => explained(saved, steps)}>Copy as text</Copy>
          <button type="button" class="plain" aria-label={`Save how ${letter} was answered as JSON`} onClick={() => save("foliot-explain.json", "application/json", [JSON.stringify(saved)])}>JSON</button>
        </span>
      </div>
      <ol class="tree">
        <li class="d0">{error ? <><b class="quiet">no answer</b> <span>{error}</span></> : <><b>answer</b> <span>{answerText(figures, rows)}</span></>}</li>
        {steps.map(({ depth, what, detail, took, error: failed }, at) => (
          <li key={at} class={`d${Math.min(depth + 1, 8)}`}>
            <b>{what}</b> <span class="code">{detail}</span>
            {took && <span class="took">{tookText(took)}<progress value={took.own_ms ?? took.ms} max={Math.max(figures.took_ms, took.ms, 1e-9)} aria-hidden="true" /></span>}
            {failed && <> <b class="quiet">no answer</b> <span>{failed}</span></>}
          </li>
        ))}
      </ol>
      {error && steps.length > 0 && <p class="note">These steps had begun; what they took until then stands beside them, where that is known.</p>}
      <dl>{costsOf(figures, steps).flatMap(([name, said]) => [<dt key={name}>{name}</dt>, <dd key={`${name} said`}>{said}</dd>])}</dl>
    </li>
  );
}

const doneOf = (error: Error | null) => (error instanceof Refusal ? error.done : null);

/** What is told of a question that was answered, or that was begun and failed. */
function savedFrom({ language, text }: Question, answer: Answer | null, error: Error | null): Saved | null {
  if (answer) return { language, text, figures: answer.figures, tree: answer.tree, ...(answer.tables ? { rows: answer.tables.reduce((sum, { rows }) => sum + rows.length, 0) } : {}) };
  const done = doneOf(error);
  return done && { language, text, ...done, error: error!.message };
}

/** Files are small. */
const SAVED_BYTES_MAX = 16 << 20;

export function Explained({ asked, tookMs }: Props) {
  const [opened, setOpened] = useState<Saved | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const told = asked.flatMap(({ question, answer, error: failed }, index) => {
    const saved = savedFrom(question, answer, failed);
    return saved ? [{ index, saved }] : [];
  });
  // What could not be read has no steps.
  const unread = asked.flatMap(({ answer, error: failed }, index) => (!answer && failed && !doneOf(failed) ? [{ index, message: failed.message }] : []));
  const shown = told.slice(0, EXPLAINED_MAX);
  const open = async (file: File | undefined) => {
    if (!file) return;
    try {
      setOpened(savedOf(await file.slice(0, SAVED_BYTES_MAX).text()));
      setError(null);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <>
      <ul>
        {shown.map(({ index, saved }) => <Steps key={index} letter={letterOf(index)} saved={saved} />)}
        {unread.map(({ index, message }) => <li key={`unread ${index}`}><p class="asked"><b>{letterOf(index)}</b> <span class="quiet">was not begun:</span> {message}</p></li>)}
        {opened && <Steps letter="opened" saved={opened} />}
      </ul>
      {error && <Failed error={error} />}
      {told.length > EXPLAINED_MAX && <p class="note">The first {EXPLAINED_MAX} of {told.length} questions.</p>}
      <p class="note">Asked, sent and read in {format(tookMs / 1000, "seconds")}. <button type="button" class="plain" onClick={() => field.current?.click()}>Open a saved one</button></p>
      <input ref={field} type="file" class="unseen" accept=".json" aria-label="Saved explanation" tabIndex={-1} onChange={(event) => open(event.currentTarget.files?.[0])} />
    </>
  );
}
