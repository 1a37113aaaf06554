// Names that one which is none may have meant.

import { unknownName } from "../advice";
import { catalogue } from "../api";
import type { Outcome } from "../asking";
import { useAsked } from "../hooks";
import { nearest } from "../nearest";
import { type Question, formOf, insteadOf, textOf } from "../question";
import { type Explored, write } from "../state";
import { LOOKED_AT, NEAREST_MAX, type Unknown, renamedIn, unknownOf } from "../unknown";

interface Props {
  question: Question;
  database: string;
  onChoose: (question: Question) => void;
}

/** Of OpenTSDB's questions, whose door says which name it does not know. */
export function Nearest({ question, error, database, onChoose }: Props & { error: Error }) {
  const form = question.language === "opentsdb" ? formOf(question.text) : null;
  const unknown = unknownName(error);
  const instead = form && unknown ? insteadOf(form, unknown) : null;
  const asked = useAsked(`${database} ${question.text} ${error.message}`, async (signal) => (
    instead ? (await catalogue(instead.of, { db: database, limit: LOOKED_AT, ...instead.about }, signal)).names : []
  ));
  const possible = (asked.answer ?? []).filter((name) => instead?.isPossible(name));
  // Those that are near come first, and where none is, any that there are.
  const near = unknown ? nearest(unknown.name, possible, NEAREST_MAX) : [];
  const names = near.length ? near : possible.slice(0, NEAREST_MAX);
  if (!instead || !names.length) return null;
  return (
    <p class="bar nearest">
      {instead.said}
      {names.map((name) => <button key={name} type="button" class="plain" onClick={() => onChoose({ ...question, text: textOf(instead.form(name)) })}>{name}</button>)}
    </p>
  );
}

/** Of questions that were answered with nothing, because what they name is nowhere. */
export function NearestOfNothing({ question, database, onChoose }: Props) {
  // These say by themselves which name they do not know.
  const look = ["opentsdb", "sql"].includes(question.language) ? null : unknownOf[question.language];
  const asked = useAsked(`${database} ${question.language} ${question.text}`, (signal) => (look ? look(question.text, database, signal) : Promise.resolve(null)));
  const unknown = asked.answer;
  return unknown && <Choices unknown={unknown} onChoose={(name) => onChoose(renamedIn(question, unknown, name))} />;
}

/** A name that is none, and those that may be meant. */
export const Choices = ({ unknown: { said, others }, onChoose }: { unknown: Unknown; onChoose: (name: string) => void }) => (
  <p class="bar nearest" role="status">
    {said}{others.length > 0 && !said.endsWith(":") && " There are:"}
    {others.map((name) => <button key={name} type="button" class="plain" onClick={() => onChoose(name)}>{name}</button>)}
  </p>
);

/** Of a panel whose questions name what is not there: what is chosen is asked in Explore. */
export function Misnamed({ outcomes, explored }: { outcomes: Outcome[]; explored: Explored }) {
  return (
    <>
      {outcomes.map(({ question, answer, error }, at) => {
        const shared = { key: at, question, database: explored.database, onChoose: (next: Question) => { location.hash = write({ ...explored, questions: explored.questions.map((one) => (one.text === question.text ? next : one)) }); } };
        if (error) return <Nearest {...shared} error={error} />;
        return answer && !answer.series.length && !answer.tables?.length ? <NearestOfNothing {...shared} /> : null;
      })}
    </>
  );
}
