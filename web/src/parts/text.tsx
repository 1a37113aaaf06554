// A question as text in its language. It gets an editor as soon as that is there; until
// then, and where it does not come, they are a plain field.

import type { RefObject, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { partAt } from "../cursor";
import { draftOf, keepDraft } from "../drafts";
import type { Editing, Editor } from "../editor";
import { held, useEditorHeight, useShowsTables } from "../hooks";
import { stepOf } from "../keys";
import { type Language, type Question, hasTables } from "../question";
import { Grip } from "./grip";
import { Later } from "./later";

const HINTS: Record<Language, string> = {
  opentsdb: "sum:$step-avg:rate:proc.net.bytes{iface=*}",
  influxql: "SELECT mean(usage) FROM cpu WHERE time >= $start AND time < $end GROUP BY time($step), host",
  sql: "SELECT date_bin($step, time) AS time, host, avg(usage) FROM cpu WHERE time >= $start AND time < $end GROUP BY 1, host",
  promql: "sum by (status) (rate(shop_requests_total[5m]))",
};

/** The row that somebody wants tables beside; without one it is the first that may have some. Of several rows one has room for them. */
const useRowOfTables = held<number | null>(null);

/** Heights that somebody may give the editor, and how much a key makes of it. */
const [HEIGHT_MIN, HEIGHT_MAX, HEIGHT_STEP] = [60, 900, 24];

interface Props {
  question: Question;
  index: number;
  database: string;
  isFirstOfTables: boolean;
  /** Asks the text, or a part of it. */
  onRun: (text: string, part?: string) => void;
  /** What the row asked before, from what stands there now; nothing at either end of that. */
  earlier: (now: string, by: 1 | -1) => string | null;
  /** Whether the language was just chosen, so that one means to type; heard once. */
  isChosen: RefObject<boolean>;
}

/** Whether a part of a row may have the cursor: whoever has gone elsewhere is left there. */
function isFree(part: HTMLElement | null): boolean {
  const at = document.activeElement;
  return at === document.body || !!part?.closest(".row")?.contains(at);
}

type Edit = (host: HTMLElement, editing: Editing) => Editor;

export function Text({ question, index, database, isFirstOfTables, onRun, earlier, isChosen }: Props) {
  const begun = () => draftOf(index, question) ?? question.text;
  const [text, setText] = useState(begun);
  // What was typed before this row was there: only of that it is said.
  const before = useRef(draftOf(index, question));
  const [edit, setEdit] = useState<{ it: Edit } | null>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const loaded = useRef<Edit | null>(null);
  useEffect(() => {
    before.current = draftOf(index, question);
    setText(begun());
  }, [question.text]);
  // Whether the plain field has the cursor for who means to type, and nothing is typed yet.
  const isWaiting = useRef(false);
  // A field that somebody types in is not taken away.
  const swap = () => {
    if (loaded.current && (isWaiting.current || document.activeElement !== plain.current)) setEdit({ it: loaded.current });
  };
  useEffect(() => {
    let isHere = true;
    // Who means to type need not wait for the editor, unless what is there is to be replaced.
    isWaiting.current = isChosen.current && text === "" && isFree(plain.current);
    if (isWaiting.current) plain.current?.focus();
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
  const type = (now: string) => {
    isWaiting.current = false;
    isChosen.current = false;
    setText(now);
    keepDraft(index, question, now);
  };
  if (edit) {
    return <Edited key={question.language} edit={edit.it} begun={text} cameBack={text === before.current} label={label} onType={(now) => keepDraft(index, question, now)} onLeave={leave} {...{ question, index, database, isFirstOfTables, onRun, earlier, isChosen }} />;
  }
  const rows = Math.min(8, Math.max(1, text.split("\n").length, Math.ceil(text.length / 110)));
  return (
    <textarea
      class="code" ref={plain} aria-label={label} rows={rows} spellcheck={false} placeholder={HINTS[question.language]}
      value={text} onInput={(event) => type(event.currentTarget.value)} onBlur={() => { isWaiting.current = false; leave(text); setTimeout(swap); }}
      onKeyDown={(event) => {
        const by = stepOf(event);
        if (by) {
          event.preventDefault();
          setText(earlier(text, by) ?? text);
        } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey || (!event.shiftKey && question.language !== "sql"))) {
          event.preventDefault();
          const { selectionStart: from, selectionEnd: to } = event.currentTarget;
          onRun(text, (event.ctrlKey || event.metaKey) && !event.shiftKey ? partAt(question.language, text, from, to) : "");
        }
      }}
    />
  );
}

interface EditedProps extends Props {
  edit: Edit;
  /** What was typed before the editor came. */
  begun: string;
  /** Whether that was there when the row came. */
  cameBack: boolean;
  label: string;
  onType: (text: string) => void;
  onLeave: (text: string) => void;
}

function Edited(props: EditedProps) {
  const { question: { language, text: asked }, database } = props;
  const edited = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [height, setHeight] = useEditorHeight();
  const isSized = language === "sql" && height > 0;
  // What is typed is the editor's until it is asked: put back by a later drawing of the page, it
  // would lose the letters that came meanwhile.
  const latest = useRef(props);
  const now = useRef(props.begun);
  // Whether what stands here was typed before this row was there, and is not asked yet.
  const [found, setFound] = useState(props.cameBack && props.begun !== asked);
  // What was asked from here is what stands here, or stood before more was typed.
  const sent = useRef<string | null>(null);
  latest.current = props;
  const put = (text: string) => {
    now.current = text;
    editor.current?.set(text);
  };
  const run = (part = "") => {
    setFound(false);
    sent.current = now.current;
    latest.current.onRun(now.current, part);
  };
  useEffect(() => {
    if (!host.current) return undefined;
    const made = props.edit(host.current, {
      language, text: props.begun, label: props.label, hint: HINTS[language], database: () => latest.current.database,
      onText: (text) => {
        now.current = text;
        setFound(false);
        latest.current.onType(text);
      },
      onRun: run,
      onLeave: () => latest.current.onLeave(now.current),
    });
    editor.current = made;
    if (props.isChosen.current && isFree(host.current)) made.focus();
    props.isChosen.current = false;
    return () => made.destroy();
  }, []);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) {
      if (asked !== sent.current) put(draftOf(props.index, props.question) ?? asked);
      setFound(asked !== sent.current && now.current !== asked);
    }
    isFirst.current = false;
    sent.current = null;
  }, [asked]);
  // The policy lets no markup say how a thing looks.
  useLayoutEffect(() => {
    host.current?.style.setProperty("height", isSized ? `${height}px` : "");
    edited.current?.style.setProperty("--editor-most", isSized ? "none" : "");
  }, [isSized, height]);
  const onKey = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const by = stepOf(event);
    if (!by) return;
    event.preventDefault();
    const text = props.earlier(now.current, by);
    if (text === null) return;
    put(text);
    setFound(false);
  };
  return (
    <div class={`edited ${language}`} ref={edited}>
      <div class="written">
        <div class="editor" ref={host} onKeyDown={onKey} />
        {language === "sql" && (
          <Grip
            px={() => host.current?.offsetHeight ?? 0} least={HEIGHT_MIN} most={HEIGHT_MAX} step={HEIGHT_STEP}
            label="Height of the editor" onChange={setHeight} onUsual={() => setHeight(0)}
          />
        )}
        {found && (
          <p class="hint" role="status">This was typed before, and is not asked yet.{" "}
            <button type="button" class="plain" onClick={() => run()}>Ask it</button>
            <button type="button" class="plain" onClick={() => { put(asked); props.onType(asked); setFound(false); }}>Drop it</button>
          </p>
        )}
      </div>
      {hasTables(language) && <Tables row={props.index} isFirst={props.isFirstOfTables} language={language} reads={asked} database={database} onInsert={(name) => editor.current?.insert(name)} />}
    </div>
  );
}

/** The tables beside the editor of SQL, or the measurements beside that of InfluxQL, as long as somebody wants them. */
function Tables({ row, isFirst, ...props }: { row: number; isFirst: boolean; language: "sql" | "influxql"; reads: string; database: string; onInsert: (name: string) => void }) {
  const [isWanted, show] = useShowsTables();
  const [wanted, setWanted] = useRowOfTables();
  const isShown = isWanted && (wanted === null ? isFirst : wanted === row);
  const toggle = () => {
    setWanted(row);
    show(!isShown);
  };
  const [title, parts] = props.language === "sql" ? ["Tables", "columns"] : ["Measurements", "labels and fields"];
  return (
    <aside class={`tables ${isShown ? "open" : ""}`} aria-label={title}>
      <button type="button" class="plain" aria-expanded={isShown} title={`${title} and their ${parts}, whose names a click inserts`} onClick={toggle}>{title} <span aria-hidden="true">{isShown ? "▾" : "▸"}</span></button>
      {isShown && <Later which="Columns" {...props} />}
    </aside>
  );
}
