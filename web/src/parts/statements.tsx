// What each statement of a text came to: its table, an error in its place, or how many lines it has in the graph.

import type { Stated } from "../api";
import type { Outcomes } from "../asking";
import type { Question } from "../question";
import type { Explored } from "../state";
import { AllRows } from "./download";
import { Lasting } from "./lasting";
import { Outside } from "./outside";
import { Failed, shortened } from "./small";
import { Tables } from "./tables";

/** What there is of an answer: "20 rows, 12 ms". */
function told({ answer, tookMs }: Stated, view: Explored["view"]): string {
  const rows = (answer?.tables ?? []).reduce((sum, table) => sum + table.rows.length, 0);
  const lines = answer?.series.length ?? 0;
  const more = answer?.rows_left_out ?? 0;
  const drawn = view === "table" || view === "samples" ? "series" : `${lines === 1 ? "line" : "lines"} in the graph`;
  const count = lines ? `${lines} ${drawn}${more ? `, without ${more} more rows` : ""}` : more ? `the first ${rows} of ${rows + more} rows` : `${rows} ${rows === 1 ? "row" : "rows"}`;
  return `${count}, ${tookMs < 1 ? "less than 1" : Math.round(tookMs)} ms`;
}

/** Whether it was answered, and with no row. */
const isEmpty = ({ answer }: Stated) => Boolean(answer && !answer.series.length && !answer.tables?.some(({ rows }) => rows.length));

interface Props {
  question: Question;
  all: Stated[];
  found: Outcomes;
  explored: Explored;
  set: (part: Partial<Explored>) => void;
  letter: string;
}

export function Statements({ question, all, found, explored: { zone, database, view }, set, letter }: Props) {
  return (
    <>
      {all.map((one, at) => {
        const more = one.answer?.rows_left_out ?? 0;
        const allRows = more > 0 && question.language === "sql" && <AllRows statement={one.text} found={found} database={database} />;
        return (
          <section key={at} class="stated">
            <div class="caption bar"><span>{letter} <span class="code" title={one.text.trim()}>{shortened(one.text)}</span> {one.answer && <span class="note nowrap">{told(one, view)}</span>}</span> {allRows}</div>
            {one.error && <Failed error={one.error} text={one.text} />}
            {one.outside && <Outside of={one.outside} span={found.span} zone={zone} set={set} lead="No graph: " />}
            {isEmpty(one) && /\$(start|end)\b/.test(one.text) && <Lasting questions={[{ ...question, text: one.text }]} database={database} span={found.span} zone={zone} set={set} />}
            <Tables all={one.answer?.tables ?? []} zone={zone} end={more > 0 && <div class="bar end note">Here the answer is cut: {more} rows follow. {allRows || "LIMIT and OFFSET give others."}</div>} />
          </section>
        );
      })}
    </>
  );
}
