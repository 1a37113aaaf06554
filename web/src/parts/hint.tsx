// What to do about a question before it is asked, or although it is answered.

import { useEffect, useRef, useState } from "preact/hooks";
import { hintOn } from "../advice";
import { draftOf, onTyped } from "../drafts";
import type { Question } from "../question";

/** The hint on what a row asks. It follows what is typed there: a name that was missing is there before it is asked. */
export function Hint({ question, index }: { question: Question; index: number }) {
  const typed = () => hintOn(question, draftOf(index, question));
  const hint = typed();
  const shown = useRef(hint);
  shown.current = hint;
  const [, setTurn] = useState(0);
  useEffect(() => onTyped(() => { if (typed() !== shown.current) setTurn((turn) => turn + 1); }), [question, index]);
  return hint ? <p class="hint" role="status">{hint}</p> : null;
}
