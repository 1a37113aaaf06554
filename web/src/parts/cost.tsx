// What the answers cost, question by question: what was read, what came of it, and what it took.

import type { Answer } from "../api";
import type { Question } from "../question";
import { format } from "../units";

interface Props {
  asked: { question: Question; answer: Answer | null }[];
  /** From the first question's sending to the last answer's end. */
  tookMs: number;
}

export function Cost({ asked, tookMs }: Props) {
  const answered = asked.flatMap(({ question, answer }, index) => (answer ? [{ question, index, figures: answer.figures }] : []));
  const most = Math.max(1, ...answered.map(({ figures }) => figures.samples_read));
  return (
    <details class="cost">
      <summary>What it cost</summary>
      <ul>
        {answered.map(({ question, index, figures }) => (
          <li key={index}>
            <p><b>{String.fromCharCode(65 + (index % 26))}</b> <span class="code">{question.text}</span></p>
            <progress value={figures.samples_read} max={most} aria-label={`Samples read for query ${index + 1}`} />
            <dl>
              <dt>selected</dt><dd>{format(figures.series_read)} stored series</dd>
              <dt>read</dt><dd>{format(figures.samples_read)} samples</dd>
              <dt>answered</dt><dd>{format(figures.samples)} samples of {format(figures.series)} series</dd>
              <dt>memory</dt><dd>{format(figures.memory_peak_bytes, "bytes")} at most</dd>
              <dt>time</dt><dd>{format(figures.took_ms / 1000, "seconds")} in the server</dd>
            </dl>
          </li>
        ))}
      </ul>
      <p class="note">Asked, sent and read in {format(tookMs / 1000, "seconds")}.</p>
    </details>
  );
}
