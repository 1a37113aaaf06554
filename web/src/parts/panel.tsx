// A panel of a dashboard: the graph, the map, the table or the numbers that its address asks for.

import { useMemo } from "preact/hooks";
import type { Panel } from "../api";
import { type Drawn, askAll, drawn, firstError } from "../asking";
import { exploredOf, lastText } from "../board";
import { database } from "../database";
import { areBuckets, heat } from "../heat";
import { useAsked } from "../hooks";
import { isGrowth } from "../question";
import { shownIn } from "../relation";
import { figures } from "../series";
import { write } from "../state";
import { type Range, moves, timeText } from "../time";
import { format } from "../units";
import { COLORS, Chart, wholeValues } from "./chart";
import { Later } from "./later";
import { Failed, Loading } from "./small";

/** Steps of a panel, which is narrower than Explore's graph. */
const STEPS = 200;

/** Lines that are named under a panel, and numbers of one. */
const NAMED = 6;

const EVERY_MS = 10_000;

interface Props {
  panel: Panel;
  /** The range of all panels, if they have one. */
  over: Range | null;
}

export function PanelCard({ panel, over }: Props) {
  const saved = exploredOf(panel.address);
  // A panel that names no database is about that of its dashboard.
  const explored = { ...saved, database: saved.database || database(), range: over ?? saved.range };
  const { range, view, zone } = explored;
  const asked = useAsked(JSON.stringify([panel.address, over]), (signal) => askAll(explored, signal, STEPS), moves(range.start) || moves(range.end) ? EVERY_MS : 0);
  const outcomes = useMemo(() => (asked.answer ? shownIn(asked.answer, explored) : []), [asked.answer, view]);
  const found = useMemo(() => drawn(outcomes, explored.top, view === "table" && outcomes.length > 1), [outcomes]);
  const buckets = useMemo(() => (view === "heatmap" && areBuckets(found.series) ? heat(found.series, outcomes.every(({ question, answer }) => !answer || isGrowth(question))) : null), [found]);
  const zoom = ({ start, end }: { start: number; end: number }) => { location.hash = write({ ...explored, range: { start: String(start), end: String(end) } }); };
  const tables = outcomes.flatMap(({ answer }) => answer?.tables ?? []);
  const failed = outcomes.map(firstError).find(Boolean) ?? asked.error;
  return (
    <article class="card panel">
      <div class="head">
        <h2><a href={write(explored)}>{panel.title}</a></h2>
        <span class="note nowrap">{over ? "" : [range.start, range.end].filter((text) => text !== "now").map((text) => (/^\d{11,}$/.test(text) ? timeText(Number(text), "local").slice(5, 16) : text)).join(" – ")}</span>
      </div>
      {failed && <Failed error={failed} again={asked.again} />}
      {!asked.answer && asked.isLoading && <Loading what="Asking…" />}
      {asked.answer && !tables.length && (failed || !found.lines.length) && <Later which="Misnamed" outcomes={outcomes} explored={explored} />}
      {asked.answer && !failed && !found.lines.length && !tables.length && <p class="note">No samples in this range.</p>}
      {tables.length > 0 && <Later which="Tables" all={tables} zone={zone} />}
      {found.lines.length > 0 && view === "table" && <Later which="Values" of={found} zone={zone} label={panel.title} />}
      {found.lines.length > 0 && view === "samples" && <Later which="Samples" all={found.series} titleIn={found.titleIn} zone={zone} label={panel.title} />}
      {found.lines.length > 0 && view === "number" && <Numbers of={found} />}
      {asked.answer && buckets && <Later which="Heatmap" heat={buckets} span={asked.answer.span} unit={found.unit} zone={zone} height={200} label={panel.title} onRange={zoom} />}
      {asked.answer && found.lines.length > 0 && !buckets && (view === "graph" || view === "heatmap") && (
        <>
          <Chart
            lines={found.lines} span={asked.answer.span} unit={found.unit} zone={zone} height={200} isStacked={explored.isStacked}
            isLogarithmic={explored.isLogarithmic} yRange={explored.yRange} label={panel.title} onRange={zoom}
          />
          <ul class="key">
            {shortNames(found).map((name, index) => {
              const line = found.lines[index]!;
              return <li key={line.title} class={`c${index % COLORS}`}>{name} <b>{format(figures(wholeValues(line)).last, line.unit ?? found.unit)}</b></li>;
            })}
            <More of={found} />
          </ul>
        </>
      )}
    </article>
  );
}

/** The last value of each line. */
function Numbers({ of }: { of: Drawn }) {
  return (
    <ul class="numbers">
      {shortNames(of).map((name, index) => {
        const [series, line] = [of.series[index]!, of.lines[index]!];
        return <li key={line.title}><b>{lastText({ ...series, values: series.values.slice(0, wholeValues(line).length) }, of.unitIn(series))}</b><span>{name}</span></li>;
      })}
      <More of={of} />
    </ul>
  );
}

const More = ({ of: { lines } }: { of: Drawn }) => (lines.length > NAMED ? <li class="more">{lines.length - NAMED} more</li> : null);

/** The names of the first lines; one that all have in common is the panel's title. */
function shortNames({ lines }: Drawn): string[] {
  const isCommon = new Set(lines.map(({ title }) => title.split(" {")[0])).size === 1 && lines.length > 1;
  return lines.slice(0, NAMED).map(({ title }) => (isCommon ? / (\{.*\})$/.exec(title)?.[1] ?? title : title));
}
