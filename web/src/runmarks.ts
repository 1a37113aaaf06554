// Marks beside the statements of a text that has several: a click asks one of them.

import { type Extension, RangeSet } from "@codemirror/state";
import { type EditorView, GutterMarker, gutter } from "@codemirror/view";
import { type PlacedStatement, statementAt, statementsIn } from "./cursor";
import type { Language } from "./question";

class RunMark extends GutterMarker {
  constructor(private readonly index: number, private readonly isAt: boolean) {
    super();
  }

  override eq(other: RunMark) {
    return other.index === this.index && other.isAt === this.isAt;
  }

  override toDOM() {
    const mark = document.createElement("span");
    mark.className = this.isAt ? "cm-run cm-run-at" : "cm-run";
    mark.dataset["statement"] = String(this.index);
    mark.title = this.isAt ? "Ask this statement alone (Ctrl Enter)" : "Ask this statement alone";
    mark.textContent = "▶";
    return mark;
  }
}

const textOf = (view: EditorView) => view.state.doc.toString();

/** Statements of the text as it was last looked at. */
function looker(language: Language) {
  let seen: { text: string; all: PlacedStatement[] } = { text: "", all: [] };
  return (text: string): PlacedStatement[] => {
    if (seen.text !== text) seen = { text, all: statementsIn(language, text) };
    return seen.all.length > 1 ? seen.all : [];
  };
}

export function runMarks(language: Language, onRun: (text: string) => void): Extension {
  const found = looker(language);
  return gutter({
    class: "cm-runs",
    markers(view) {
      const text = textOf(view);
      const all = found(text);
      const at = statementAt(all, text, view.state.selection.main.head);
      return RangeSet.of(all.map((one, index) => new RunMark(index, one === at).range(view.state.doc.lineAt(one.from).from)), true);
    },
    lineMarkerChange: ({ docChanged, selectionSet }) => docChanged || selectionSet,
    domEventHandlers: {
      mousedown(view, _, event) {
        const index = event.target instanceof HTMLElement ? event.target.dataset["statement"] : undefined;
        const statement = index === undefined ? undefined : found(textOf(view))[Number(index)];
        if (!statement) return false;
        // The editor keeps the focus: what it has is asked as a whole when it loses that.
        event.preventDefault();
        view.dispatch({ selection: { anchor: statement.from } });
        view.focus();
        onRun(statement.text);
        return true;
      },
    },
  });
}
