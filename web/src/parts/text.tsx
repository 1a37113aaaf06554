// A question as text in its language. It gets an editor as soon as that is there; until
// then, and where it does not come, they are a plain field.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Editing, Editor } from "../editor";
import { useShowsTables } from "../hooks";
import type { Language, Question } from "../question";
import { Later } from "./later";

const HINTS: Record<Language, string> = {
  opentsdb: "sum:$step-avg:rate:proc.net.bytes{iface=*}",
  influxql: "SELECT mean(usage) FROM cpu WHERE time >= $start AND time < $end GROUP BY time($step), host",
  sql: "SELECT date_bin($step, time) AS time, host, avg(usage) FROM cpu WHERE time >= $start AND time < $end GROUP BY 1, host",
  promql: "sum by (status) (rate(shop_requests_total[5m]))",
};

interface Props {
  question: Question;
  database: string;
  /** Asks the text, or what of it is selected. */
  onRun: (text: string, selected?: string) => void;
}

type Edit = (host: HTMLElement, editing: Editing) => Editor;

export function Text({ question, database, onRun }: Props) {
  const [text, setText] = useState(question.text);
  const [edit, setEdit] = useState<{ it: Edit } | null>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const loaded = useRef<Edit | null>(null);
  useEffect(() => setText(question.text), [question.text]);
  // A field that somebody types in is not taken away.
  const swap = () => {
    if (loaded.current && document.activeElement !== plain.current) setEdit({ it: loaded.current });
  };
  useEffect(() => {
    let isHere = true;
    import("../editor").then((module) => {
      loaded.current = module.edit;
      if (isHere) swap();
    }, () => undefined);
    return () => { isHere = false; };
  }, [question.language]);
  const label = `Text in ${question.language}`;
  const leave = (now: string) => {
    if (now !== question.text) onRun(now);
  };
  if (edit) {
    return <Edited key={question.language} language={question.language} edit={edit.it} begun={text} asked={question.text} label={label} database={database} onRun={onRun} onLeave={leave} />;
  }
  const rows = Math.min(8, Math.max(1, text.split("\n").length, Math.ceil(text.length / 110)));
  return (
    <textarea
      class="code" ref={plain} aria-label={label} rows={rows} spellcheck={false} placeholder={HINTS[question.language]}
      value={text} onInput={(event) => setText(event.currentTarget.value)} onBlur={() => { leave(text); setTimeout(swap); }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey || !event.shiftKey)) {
          event.preventDefault();
          const { selectionStart: from, selectionEnd: to } = event.currentTarget;
          onRun(text, event.ctrlKey || event.metaKey ? text.slice(from, to) : "");
        }
      }}
    />
  );
}

interface EditedProps {
  language: Language;
  edit: Edit;
  /** What was typed before the editor came. */
  begun: string;
  asked: string;
  label: string;
  database: string;
  onRun: (text: string, selected?: string) => void;
  onLeave: (text: string) => void;
}

function Edited(props: EditedProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  // What is typed is the editor's until it is asked: put back by a later drawing of the page, it
  // would lose the letters that came meanwhile.
  const latest = useRef(props);
  const now = useRef(props.begun);
  // What was asked from here is what stands here, or stood before more was typed.
  const sent = useRef<string | null>(null);
  latest.current = props;
  useEffect(() => {
    if (!host.current) return undefined;
    const made = props.edit(host.current, {
      language: props.language, text: props.begun, label: props.label, hint: HINTS[props.language], database: () => latest.current.database,
      onText: (text) => { now.current = text; },
      onRun: (selected) => {
        sent.current = now.current;
        latest.current.onRun(now.current, selected);
      },
      onLeave: () => latest.current.onLeave(now.current),
    });
    editor.current = made;
    return () => made.destroy();
  }, []);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current && props.asked !== sent.current) {
      now.current = props.asked;
      editor.current?.set(props.asked);
    }
    isFirst.current = false;
    sent.current = null;
  }, [props.asked]);
  return (
    <div class="edited">
      <div class="editor" ref={host} />
      {props.language === "sql" && <Tables database={props.database} onInsert={(name) => editor.current?.insert(name)} />}
    </div>
  );
}

/** The tables beside the editor of SQL, as long as somebody wants them. */
function Tables(props: { database: string; onInsert: (name: string) => void }) {
  const [isShown, show] = useShowsTables();
  return (
    <aside class={`tables ${isShown ? "open" : ""}`} aria-label="Tables">
      <button type="button" class="plain" aria-expanded={isShown} title="Tables and their columns, whose names a click inserts" onClick={() => show(!isShown)}>Tables <span aria-hidden="true">{isShown ? "▾" : "▸"}</span></button>
      {isShown && <Later which="Columns" {...props} />}
    </aside>
  );
}
