// What is said where a range has no samples of what is asked: when there are some, or that they are texts.

import { useAsked } from "../hooks";
import { type Known, type Texts, knownOf } from "../lasting";
import { plain } from "../series";
import type { Question } from "../question";
import type { Explored } from "../state";
import { type Span, type Zone, roomy, timeText } from "../time";
import { Empty } from "./small";

interface Props {
  questions: Question[];
  database: string;
  /** The range that has none. */
  span: Span;
  zone: Zone;
  set: (part: Partial<Explored>) => void;
}

const useKnown = (questions: Question[], database: string): Known | null =>
  useAsked(JSON.stringify([database, questions.map(({ language, text }) => [language, text])]), (signal) => knownOf(questions, database, signal)).answer;

/** When there are samples. */
function When({ of: { start, end }, isOne, span, zone, set }: { of: Span; isOne: boolean } & Pick<Props, "span" | "zone" | "set">) {
  const it = isOne ? "What it is about" : "What they are about";
  // A wider range has no more of it.
  if (start >= span.start && end <= span.end) return <p>{it} has samples in this range, and what is asked of labels or values leaves out all of them.</p>;
  return (
    <p>{it} has samples {start === end ? `at ${timeText(start, zone)}` : `from ${timeText(start, zone)} to ${timeText(end, zone)}`}.{" "}
      <button type="button" onClick={() => set({ range: roomy({ start, end }) })}>Show that</button>
    </p>
  );
}

export function Lasting({ questions, database, ...shown }: Props) {
  const known = useKnown(questions, database);
  return known?.span ? <When of={known.span} isOne={questions.length === 1} {...shown} /> : null;
}

/** Where texts are asked for by a language that has none, and what shows them. */
function Instead({ all, explored, span, set }: { all: Texts[]; explored: Explored } & Pick<Props, "span" | "set">) {
  const show = (texts: Texts) => {
    const isAway = texts.span.end < span.start || texts.span.start > span.end;
    const questions = explored.questions.map((one) => (one.language === texts.question.language && one.text === texts.question.text ? texts.instead : one));
    set({ view: "samples", questions, ...(isAway ? { range: roomy(texts.span) } : {}) });
  };
  return <>{all.map((texts) => <p key={texts.question.text} role="status">The values of {plain(texts.metric)} are texts, which {explored.view === "samples" ? "OpenTSDB’s language does not have" : "no graph shows"}. <button type="button" onClick={() => show(texts)}>{explored.view === "samples" ? "Ask for them in InfluxQL" : "Show them as samples"}</button></p>)}</>;
}

interface NothingProps extends Props {
  explored: Explored;
}

/** What stands in the place of an answer that has no sample. */
export function Nothing({ questions, database, explored, ...shown }: NothingProps) {
  const known = useKnown(questions, database);
  const { span, zone } = shown;
  const instead = known && <Instead all={known.texts} explored={explored} {...shown} />;
  if (known && questions.length && known.texts.length === questions.length) return <Empty title="Texts have no graph">{instead}</Empty>;
  return (
    <Empty title="No samples in this range">
      <p>The question was answered, and there is nothing between {timeText(span.start, zone)} and {timeText(span.end, zone)}.</p>
      {known?.span && <When of={known.span} isOne={questions.length === 1} {...shown} />}
      {instead}
    </Empty>
  );
}

/** Which of the questions that have no lines beside those of others are about texts. */
export function NoLines({ questions, database, explored, span, set }: NothingProps) {
  const known = useKnown(questions, database);
  return known?.texts.length ? <div class="caution"><Instead all={known.texts} {...{ explored, span, set }} /></div> : null;
}
