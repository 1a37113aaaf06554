// Small parts that every page has: what is said when there is nothing, copying, meters.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { adviceOn } from "../advice";
import { Refusal } from "../api";

/** A line, and a mark under one of its letters. What stands before it may be blanks in the place of other statements, which tell nothing. */
export function pointed(line: string, column: number): string {
  const said = line.trimStart();
  return `${said}\n${" ".repeat(Math.max(0, column - 1 - (line.length - said.length)))}^`;
}

interface FailedProps {
  error: Error;
  /** What was asked, where the error may lie in it. */
  text?: string;
  /** Asks again, where that may help. */
  again?: () => void;
}

/** Why there is no answer, where in the text, and what to do about it. */
export function Failed({ error, text, again }: FailedProps) {
  const advice = adviceOn(error);
  const position = error instanceof Refusal ? error.position : null;
  const line = position && text ? text.split("\n")[position.line - 1] : undefined;
  return (
    <div class="failed" role="alert">
      <p>{error.message}</p>
      {line !== undefined && position && (
        <pre>{pointed(line, position.column)}</pre>
      )}
      {advice && <p class="advice">{advice}</p>}
      {again && <p class="bar"><button type="button" onClick={again}>Retry</button></p>}
    </div>
  );
}

/** Letters of a text that names its answer. */
const NAMED_MAX = 90;

/** A text on one line, and no longer than a caption is. */
export function shortened(text: string, most = NAMED_MAX): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** Nothing to show, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <svg viewBox="0 0 48 24" aria-hidden="true"><path d="M2 20h44M6 16l9-6 8 4 9-10 10 6" /></svg>
      <p><strong>{title}</strong></p>
      {children}
    </div>
  );
}

export const Loading = ({ what }: { what: string }) => (
  <div class="loading" role="status"><span aria-hidden="true" />{what}</div>
);

/** Puts a text on the clipboard. Without TLS browsers keep that shut, but for who copies on the page. */
async function copied(text: string) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const put = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("copy", put, { capture: true, once: true });
  const isCopied = document.execCommand("copy");
  document.removeEventListener("copy", put, { capture: true });
  if (!isCopied) throw new Error("the browser copies nothing");
}

/** A button that puts a text on the clipboard and says so. */
export function Copy({ text, children }: { text: () => string; children: ComponentChildren }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await copied(text());
      setSaid("Copied");
    } catch {
      setSaid("Select and copy by hand");
    }
    setTimeout(() => setSaid(""), 1500);
  };
  return <button type="button" class="plain" onClick={copy} aria-live="polite">{said || children}</button>;
}

interface TileProps {
  name: string;
  value: string;
  note: string;
  children?: ComponentChildren;
}

/** A figure with its name, and what is to be said of it. */
export function Tile({ name, value, note, children }: TileProps) {
  return <section class="card tile"><h3>{name}</h3><p class="value">{value}</p>{children}<p class="note">{note}</p></section>;
}

export function Meter({ value, max, label }: { value: number; max: number; label: string }) {
  const isHigh = max > 0 && value / max > 0.9;
  return <progress class={isHigh ? "high" : ""} value={value} max={Math.max(1, max)} aria-label={label} />;
}

/** Saves pieces as a file. */
export function save(name: string, kind: string, pieces: (string | ArrayBuffer)[]) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(pieces, { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
