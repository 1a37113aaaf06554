// Benchmarks: reports of `foliot bench`, opened from files; two of them are compared. Nothing of
// them leaves the browser.

import { useEffect, useRef, useState } from "preact/hooks";
import { keepReports, keptReports } from "../keptreports";
import { Empty, Failed } from "../parts/small";
import { COLORS } from "../parts/chart";
import { type Plot, type Report, type ReportTable, compared, comparedPercentiles, reportOf, titlesOf, verdict } from "../report";
import { format, tickSteps } from "../units";

/** A report, and the text that it was, which the browser keeps. */
interface Opened {
  report: Report;
  text: string;
}

export function Reports() {
  const [opened, setOpened] = useState<Opened[]>([]);
  const [isForgotten, setIsForgotten] = useState(false);
  useEffect(() => {
    keptReports().then((texts) => {
      const kept = texts.flatMap((text): Opened[] => {
        const report = reportOf(text);
        return typeof report === "string" ? [] : [{ report, text }];
      });
      // Who has opened one meanwhile means that.
      setOpened((before) => (before.length ? before : kept));
    }, () => setIsForgotten(true));
  }, []);
  const show = (next: Opened[]) => {
    setOpened(next);
    keepReports(next.map(({ text }) => text)).then(() => setIsForgotten(false), () => setIsForgotten(true));
  };
  const reports = opened.map(({ report }) => report);
  const [error, setError] = useState<Error | null>(null);
  const [isOver, setIsOver] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const open = async (files: FileList | null | undefined) => {
    const found: Opened[] = [];
    for (const file of [...(files ?? [])]) {
      const text = await file.text();
      const report = reportOf(text);
      if (typeof report === "string") {
        setError(new Error(`${file.name}: ${report}`));
        return;
      }
      found.push({ report, text });
    }
    setError(null);
    if (found.length) show([...opened, ...found].slice(-2));
  };
  const [first, second] = reports;
  return (
    <div class="reports">
      <section
        class={`card drop ${isOver ? "over" : ""}`}
        onDragOver={(event) => { event.preventDefault(); setIsOver(true); }} onDragLeave={() => setIsOver(false)}
        onDrop={(event) => { event.preventDefault(); setIsOver(false); open(event.dataTransfer?.files); }}
      >
        <input ref={field} type="file" multiple accept=".json" class="unseen" aria-label="Reports to open" tabIndex={-1} onChange={(event) => open(event.currentTarget.files)} />
        {!first && (
          <Empty title="Drop a report.json here, or two to compare">
            <p><code>foliot bench suite --out report</code> writes one. It stays in this browser, and is there again until it is closed.</p>
            <p><button type="button" class="main" onClick={() => field.current?.click()}>Open reports</button></p>
          </Empty>
        )}
        {first && (
          <p class="bar">
            <span>{reports.map(({ title }) => title).join(" → ")}</span><span class="grow" />
            <button type="button" onClick={() => field.current?.click()}>{second ? "Open others" : "Compare with another"}</button>
            <button type="button" class="plain" onClick={() => show([])}>Close</button>
          </p>
        )}
      </section>
      {error && <Failed error={error} />}
      {first && isForgotten && <p class="note" role="status">This browser keeps nothing of it, as a private window or its settings want it, or has no room: after the page is loaded anew, open the file again.</p>}
      {first && second && <Comparison before={first} after={second} />}
      {first && !second && <Whole report={first} />}
    </div>
  );
}

/** Sections from which on a list of them is of use. */
const LISTED_FROM = 2;

const placeOf = (at: number) => `section-${at}`;

/** Where a long report goes on: the headings of its sections. */
function Contents({ headings }: { headings: string[] }) {
  if (headings.length < LISTED_FROM) return null;
  const show = (at: number) => {
    const section = document.getElementById(placeOf(at));
    section?.scrollIntoView({ block: "start" });
    section?.focus({ preventScroll: true });
  };
  return (
    <nav class="card contents" aria-label="Sections">
      {headings.map((heading, at) => <button key={at} type="button" class="plain" onClick={() => show(at)}>{heading}</button>)}
    </nav>
  );
}

function Head({ report, which }: { report: Report; which?: "Before" | "After" }) {
  const told = verdict(report);
  return (
    <section class="card">
      <div class="head"><h2>{which && `${which}: `}{report.title}</h2>{told && <b class={told.isBad ? "quiet" : "note"}>{told.said}</b>}</div>
      <pre class="command" tabIndex={0}>{report.command}</pre>
      <dl class="facts">{report.machine.flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} is`}>{value}</dd>])}<dt>foliot</dt><dd>{report.tool_version}</dd></dl>
    </section>
  );
}

function Whole({ report }: { report: Report }) {
  return (
    <>
      <Head report={report} />
      <Contents headings={report.sections.map(({ heading }) => heading)} />
      {report.sections.map((section, index) => (
        <section class="card" key={index} id={placeOf(index)} tabIndex={-1}>
          <h2>{section.heading}</h2>
          {section.words.map((words, at) => <p key={at}>{words}</p>)}
          {section.plots.length > 0 && <div class="plots">{section.plots.map((plot, at) => <PlotView key={at} plot={plot} />)}</div>}
          {section.tables.map((table, at) => <TableView key={at} table={table} />)}
        </section>
      ))}
    </>
  );
}

function TableView({ table }: { table: ReportTable }) {
  const hasReasons = table.rows.some((row) => row.void || row.source);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label={table.name}>
      <h3 class="title">{table.name}</h3>
      <table>
        <thead><tr>{table.columns.map((column, at) => <th key={at} scope="col" class={at >= table.keys ? "number" : ""}>{column}</th>)}{hasReasons && <th scope="col">note</th>}</tr></thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index} class={row.source || row.void ? "aside" : ""}>
              {row.cells.map((cell, at) => <td key={at} class={at >= table.keys ? "number" : ""}>{cell}</td>)}
              {hasReasons && <td>{row.void ? `no verdict: ${row.void}` : row.source ? `not measured here: ${row.source}` : ""}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** How much one differs from the other before it is said in colour: runs on one machine differ by so much. */
const NOTED = 0.05;

function Comparison({ before, after }: { before: Report; after: Report }) {
  const tables = compared(before, after);
  const titles = titlesOf(tables);
  const plots = comparedPercentiles(before, after);
  return (
    <>
      <div class="halves"><Head report={before} which="Before" /><Head report={after} which="After" /></div>
      <Contents headings={titles} />
      {!tables.length && <Empty title="They have no table in common"><p>Compare two runs of the same experiment.</p></Empty>}
      {plots.length > 0 && (
        <section class="card">
          <h2>Latency by percentile</h2>
          <div class="plots">{plots.map((plot) => <PlotView key={plot.title} plot={plot} />)}</div>
        </section>
      )}
      {tables.length > 0 && <p class="note compared-key"><b class="better">✓ better</b> <b class="worse">✗ worse</b> by more than {100 * NOTED} %: of rates more is better, of times, sizes and faults less. Other changes have no colour.</p>}
      {tables.map((table, index) => (
        <section class="card" key={index} id={placeOf(index)} tabIndex={-1}>
          <div class="head"><h2>{titles[index]}</h2><span class="note">{table.heading}{table.alone > 0 && `; ${table.alone} rows are in one of them only`}</span></div>
          <div class="scroll tall" tabIndex={0} role="region" aria-label={titles[index]}>
            <table>
              <thead><tr>{table.keys.map((column) => <th key={column} scope="col">{column}</th>)}{table.columns.map((column) => <th key={column} scope="col" class="number">{column}</th>)}</tr></thead>
              <tbody>
                {table.rows.map((row, at) => (
                  <tr key={at}>
                    {row.keys.map((key, column) => <td key={column}>{key}</td>)}
                    {row.cells.map((cell, column) => (
                      <td key={column} class="number">
                        {cell.before === cell.after ? cell.after : <>{cell.before} → {cell.after}</>}
                        {cell.ratio !== null && Math.abs(cell.ratio - 1) > NOTED && <Change ratio={cell.ratio} better={cell.better} />}
                        {cell.ratio !== null && <Ratio of={cell.ratio} better={cell.better} />}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </section>
      ))}
    </>
  );
}

/** A ratio of more than so many fills its bar. */
const RATIO_MAX = 4;

interface ChangeProps {
  ratio: number;
  /** Whether more of it is better, or less. */
  better: "more" | "less" | null;
}

/** Whether a change is one for the better, which colour tells; nothing where it is none of either, or too small. */
const changeOf = ({ ratio, better }: ChangeProps) => (!better || Math.abs(ratio - 1) <= NOTED ? "" : ratio > 1 === (better === "more") ? "better" : "worse");

/** How much one is of the other, with a sign of whether that is better: colours alone are not told apart by all. */
function Change(props: ChangeProps) {
  const change = changeOf(props);
  return <b class={change}> ×{props.ratio.toPrecision(3).replace(/\.?0+$/, "")}{change && <> <span aria-hidden="true">{change === "better" ? "✓" : "✗"}</span><span class="unseen">{change}</span></>}</b>;
}

/** How the second is to the first, as a bar from the middle: to the right where it is more, each half a factor of four. */
function Ratio({ of, better }: { of: number; better: ChangeProps["better"] }) {
  const share = Math.max(-1, Math.min(1, Math.log(Math.max(of, 1e-9)) / Math.log(RATIO_MAX)));
  return (
    <svg class="ratio" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="base" width="100" height="8" />
      <rect class={changeOf({ ratio: of, better }) || "bar"} x={share < 0 ? 50 + 50 * share : 50} width={Math.max(0.6, 50 * Math.abs(share))} height="8" />
      <path d="M50 0V8" />
    </svg>
  );
}

const [WIDE, HIGH, LEFT, BOTTOM] = [560, 240, 56, 34];

/** A picture of a report, drawn as it stands there: the x of lines is a number, that of bars a label. */
function PlotView({ plot }: { plot: Plot }) {
  const points = plot.lines.flatMap((line) => line.points);
  if (!points.length) return null;
  const isBars = plot.shape === "Bars";
  const labels = plot.lines.find((line) => line.labels.length)?.labels ?? [];
  const highest = Math.max(...points.map(([, y]) => y), 0) || 1;
  const xs = points.map(([x]) => x);
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const step = tickSteps("plain").find((size) => highest / size <= 5) ?? highest;
  const least = Math.min(...points.map(([, y]) => y).filter((y) => y > 0));
  const isLogarithmic = Boolean(plot.multiplies) && !isBars && Number.isFinite(least);
  const [bottom, top] = isLogarithmic ? [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(highest))] : [0, Math.ceil(highest / step) * step];
  const slots = Math.max(1, labels.length || new Set(xs).size);
  const share = (value: number) => (isLogarithmic ? Math.log(Math.max(bottom, value) / bottom) / Math.log(Math.max(10, top / bottom)) : Math.max(0, value) / top);
  const y = (value: number) => HIGH - BOTTOM - share(value) * (HIGH - BOTTOM - 12);
  const x = (value: number) => LEFT + (isBars ? ((value + 0.5) / slots) * (WIDE - LEFT - 8) : ((value - low) / Math.max(1e-12, high - low)) * (WIDE - LEFT - 12));
  const bar = Math.min(34, ((WIDE - LEFT) / slots) * 0.8 / plot.lines.length);
  const decades = Math.round(Math.log10(top / Math.max(bottom, Number.MIN_VALUE)));
  const ticks = isLogarithmic ? Array.from({ length: Math.max(1, decades) + 1 }, (_, index) => bottom * 10 ** index) : Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  const names = (plot.x_names ?? []).filter(([at]) => at >= low && at <= high);
  return (
    <figure>
      <figcaption>{plot.title} <span class="note">{plot.y}</span></figcaption>
      <svg viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={plot.title} class="plot">
        {ticks.map((tick) => (
          <g key={tick}><path class="grid" d={`M${LEFT} ${y(tick)}H${WIDE}`} /><text x={LEFT - 6} y={y(tick) + 4} text-anchor="end">{format(tick)}</text></g>
        ))}
        {isBars && labels.map((label, at) => <text key={at} x={x(at)} y={HIGH - BOTTOM + 16} text-anchor="middle">{label.length > 14 ? `${label.slice(0, 13)}…` : label}</text>)}
        {names.map(([at, name]) => <text key={name} x={x(at)} y={HIGH - BOTTOM + 16} text-anchor={at === low ? "start" : at === high ? "end" : "middle"}>{name}</text>)}
        {!isBars && !names.length && [low, (low + high) / 2, high].map((at, index) => <text key={index} x={x(at)} y={HIGH - BOTTOM + 16} text-anchor={index === 2 ? "end" : index ? "middle" : "start"}>{format(at)}</text>)}
        {plot.lines.map((line, at) => (isBars
          ? line.points.map(([px, py], index) => <rect key={`${at} ${index}`} class={`bar-mark c${at % COLORS}`} x={x(px) + (at - plot.lines.length / 2) * bar} y={y(py)} width={bar - 1} height={Math.max(0, HIGH - BOTTOM - y(py))} />)
          : <polyline key={at} class={`line-mark c${at % COLORS}`} points={line.points.map(([px, py]) => `${x(px)},${y(py)}`).join(" ")} />))}
        <text x={(WIDE + LEFT) / 2} y={HIGH - 2} text-anchor="middle">{plot.x}</text>
      </svg>
      <ul class="key">{plot.lines.map((line, at) => <li key={at} class={`c${at % COLORS}`}>{line.name}</li>)}</ul>
    </figure>
  );
}
