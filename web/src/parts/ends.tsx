// A range by its ends, as one types them.

import { useState } from "preact/hooks";
import { type Range, timeText } from "../time";

/** Where nothing is typed there is no range. */
export function Ends({ range, onChange }: { range: Range | null; onChange: (range: Range | null) => void }) {
  const shown = (text = "") => (/^\d{11,}$/.test(text) ? timeText(Number(text), "local") : text);
  const [start, setStart] = useState(shown(range?.start));
  const [end, setEnd] = useState(shown(range?.end));
  const [from, to] = [start.trim(), end.trim()];
  return (
    <form class="between" onSubmit={(event) => { event.preventDefault(); onChange(from || to ? { start: from || "1h-ago", end: to || "now" } : null); }}>
      <input type="text" class="short" aria-label="From" placeholder="from" value={start} onInput={(event) => setStart(event.currentTarget.value)} />
      <span aria-hidden="true">–</span>
      <input type="text" class="short" aria-label="To" placeholder="to" value={end} onInput={(event) => setEnd(event.currentTarget.value)} />
      <button type="submit">Show</button>
    </form>
  );
}
