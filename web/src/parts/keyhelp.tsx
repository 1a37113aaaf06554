// The keys of the page, shown by "?".

import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["/", "the first field of a page"], ["h", "Explore: what was asked before"],
  ["Ctrl ↑, Ctrl ↓", "in a query: what it asked before, and back to what is typed; Enter asks it"],
  ["Enter", "ask, or take the offer that the arrows have chosen; in SQL it begins a line, elsewhere Shift Enter does"], ["Tab", "take the offer that is chosen, else the first"],
  ["Ctrl Enter", "ask what is selected of a text; of several statements, the one at the cursor"], ["Ctrl Shift Enter", "ask all of a text"],
  ["Ctrl /", "in a query: make its lines a comment, or none any more"], ["Ctrl F, Ctrl H", "in a query: find, find and replace; F3 goes on, Escape closes it"],
  ["↑ ↓ ← →", "in a table: choose a cell; with Shift several, Shift and the space bar whole rows, Ctrl A all"], ["Ctrl C", "in a table: copy the chosen cells"],
  ["Shift and drag", "move the range of a graph"], ["Ctrl and click", "hide all other lines"], ["?", "these keys"],
];

export function KeyHelp({ pages, onClose }: { pages: string[]; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="card keys" aria-label="Keys" ref={dialog} onClose={onClose} onClick={(event) => { if (event.target === dialog.current) dialog.current?.close(); }}>
      <div class="head"><h2>Keys</h2><button type="button" class="plain" aria-label="Close" onClick={() => dialog.current?.close()}>×</button></div>
      <dl class="facts">
        <dt><kbd>1</kbd> to <kbd>{pages.length}</kbd></dt><dd>{pages.join(", ")}</dd>
        {KEYS.flatMap(([key, what]) => [<dt key={key}><kbd>{key}</kbd></dt>, <dd key={`${key} does`}>{what}</dd>])}
      </dl>
    </dialog>
  );
}
