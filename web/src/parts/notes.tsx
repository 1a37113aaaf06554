// Notes in the range that is shown, and one more.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Note, annotate, forgetNote } from "../api";
import { useGuarded } from "../hooks";
import { type Span, type Zone, instant, timeText } from "../time";
import { Failed } from "./small";

interface Props {
  notes: Note[];
  /** Whether these are all of the range. */
  isWhole: boolean;
  database: string;
  span: Span;
  zone: Zone;
  onChange: () => void;
}

export function Notes({ notes, isWhole, database, span, zone, onChange }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const [text, setText] = useState("");
  const [at, setAt] = useState("now");
  const { error, guarded } = useGuarded(onChange);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => { if (isOpen) field.current?.focus(); }, [isOpen]);
  const add = () => guarded(async () => {
    const start = instant(at, Date.now(), zone);
    if (start === null) throw new Error("When must be a time, as now, 5m-ago or 2026/03/01-08:00.");
    await annotate(database, { start_ms: Math.round(start), text });
    setText("");
    setIsOpen(false);
  });
  return (
    <div class="notes">
      {!isWhole && <span class="note">The last {notes.length} of more notes in this range:</span>}
      {notes.map(({ start_ms, end_ms, text: said }) => (
        <span class="pill" key={start_ms}>
          <time>{timeText(start_ms, zone).slice(span.end - span.start > 86_400_000 ? 5 : 11, 16)}{end_ms ? ` – ${timeText(end_ms, zone).slice(11, 16)}` : ""}</time> {said}
          <button type="button" class="plain" aria-label={`Delete the note ${said}`} onClick={() => guarded(() => forgetNote(database, start_ms))}>×</button>
        </span>
      ))}
      {!isOpen && <button type="button" class="plain" onClick={() => setIsOpen(true)}>+ note</button>}
      {isOpen && (
        <form class="bar" onSubmit={(event) => { event.preventDefault(); add(); }}>
          <input ref={field} type="text" aria-label="Note" placeholder="What happened?" value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <input type="text" class="short" aria-label="When" value={at} onInput={(event) => setAt(event.currentTarget.value)} />
          <button type="submit">Add note</button>
          <button type="button" class="plain" onClick={() => setIsOpen(false)}>Cancel</button>
        </form>
      )}
      {error && <Failed error={error} />}
    </div>
  );
}
