// A graph: uPlot, with axes that know their unit, a crosshair, and a range that is dragged open.

import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { Note } from "../api";
import { stacked, withHoles } from "../series";
import { pause } from "../slices";
import { type Span, type Zone, tickTexts, timeText } from "../time";
import { type Unit, format, tickSteps, ticksOf, unitsText } from "../units";
import { Tip } from "./tip";

export interface Line {
  title: string;
  times: number[];
  values: (number | null)[];
  isHidden?: boolean;
  /** What it is measured in, where that is not the unit of the graph. */
  unit?: Unit;
  /** Whether the axis on the right is its own. */
  isRight?: boolean;
  /** What stands behind this time is of windows that are not over. */
  wholeUntil?: number;
}

/** The values of a line without those of windows that are not over. */
export const wholeValues = ({ times, values, wholeUntil }: Line) => (wholeUntil === undefined ? values : values.filter((_, at) => times[at]! <= wholeUntil));

interface Props {
  lines: Line[];
  span: Span;
  /** What the left axis is in. */
  unit: Unit;
  zone: Zone;
  height: number;
  isStacked?: boolean;
  isLogarithmic?: boolean;
  /** Whether the axis begins at zero wherever the values are. */
  fromZero?: boolean;
  /** Where the axis of values begins and ends, as far as that is chosen. */
  yRange?: [number | null, number | null];
  /** Nothing where the range cannot be changed. */
  onRange?: (span: Span) => void;
  /** The sample under the crosshair, as a position; null when there is none. */
  onCursor?: (values: (number | null)[] | null, time: number | null) => void;
  /** Notes at instants and over ranges. */
  notes?: Note[];
  /** A line to bring forward. */
  focus?: number | null;
  label: string;
}

export const COLORS = 10;

/** Lines beyond these would be a carpet, and slow to draw. */
export const LINES_MAX = 1000;

/** Lines beyond these have no dots under the crosshair. */
const LINES_LIVELY_MAX = 50;

/** With more points than these the line nearest to the crosshair is not brought forward: to draw them all again takes longer than a frame. */
const POINTS_LIVELY_MAX = 20_000;

const dense = (lines: Line[]) => lines.reduce((sum, { times }) => sum + times.length, 0) > POINTS_LIVELY_MAX;

/** Whether a graph of lines is drawn in several tasks, since one would hold up all else. */
const isHeavy = (lines: Line[]) => lines.length > LINES_LIVELY_MAX || dense(lines);

export const style = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The lines over one row of times: as they are, and as they are drawn. */
interface Aligned {
  values: uPlot.AlignedData;
  drawn: uPlot.AlignedData;
}

/** uPlot's name for holes that stay as wide as they are where other lines have times in them. */
const WIDE = 2;

export function aligned(lines: Line[], isStacked: boolean): Aligned {
  if (!lines.length) return { values: [[]], drawn: [[]] };
  const tables = lines.map((line) => withHoles(line.times, line.values) as unknown as uPlot.AlignedData);
  const values = tables.length === 1 ? tables[0]! : uPlot.join(tables, tables.map((table) => table.map(() => WIDE)));
  if (!isStacked) return { values, drawn: values };
  const [times, ...rows] = values;
  return { values, drawn: [times, ...stacked(rows as (number | null | undefined)[][])] as uPlot.AlignedData };
}

/** uPlot's names of the sides. */
const RIGHT = 1;
const BOTTOM = 2;
export const LEFT = 3;

/** The unit of the right axis; nothing where there is none, as under lines that stand on each other. */
const rightUnit = ({ lines, isStacked }: Props): Unit | null => (isStacked ? null : lines.find(({ isRight }) => isRight)?.unit ?? null);

/** The unit of the left axis: sums of several units have none. */
const leftUnit = ({ lines, isStacked, unit }: Props): Unit => (isStacked && lines.some((line) => line.isRight) ? "plain" : unit);

export const look = () => ({ stroke: style("--faint"), font: "12px system-ui, sans-serif", ticks: { show: false } });
export const grid = (show: boolean) => ({ stroke: style("--edge"), width: 1, show });

/** Pixels beside a graph for the texts of an axis. */
const AXIS_PX = 64;

/** More where texts are long: those of close neighbours have many digits. */
const roomFor: uPlot.Axis.Size = (_, texts) => Math.max(AXIS_PX, ...(texts ?? []).map((text) => 16 + 7 * String(text ?? "").length));

/** Texts of ticks, those that are none left empty. */
export function tickLabels(ticks: (number | null)[], unit: Unit): string[] {
  const texts = ticksOf(ticks.filter((tick) => tick !== null), unit);
  return ticks.map((tick) => (tick === null ? "" : texts.shift() ?? ""));
}

/** Values of lines that a logarithmic axis has no place for. */
export const belowLogarithm = (lines: Line[]): number =>
  lines.reduce((sum, { values, isHidden }) => sum + (isHidden ? 0 : values.filter((value) => value !== null && value <= 0).length), 0);

/** An axis of values; the lines of the right one would cross those of the left. */
function valueAxis(side: typeof LEFT | typeof RIGHT, unit: Unit): uPlot.Axis {
  return {
    ...look(), grid: grid(side === LEFT), side, scale: side === LEFT ? "y" : "right", size: roomFor, gap: 6, incrs: tickSteps(unit), space: 34,
    // On a logarithmic axis only some of its lines have texts: others are nothing here.
    values: (_, ticks) => tickLabels(ticks, unit),
  };
}

export const timeAxis = (zone: Zone): uPlot.Axis => ({
  ...look(), grid: grid(false), side: BOTTOM, size: 28, space: 72,
  values: (_, ticks) => tickTexts(ticks, zone),
});

/** Dates of a zone, for ticks at its hours and days. */
export const zoned = (zone: Zone) => (at: number) => (zone === "local" ? new Date(at) : uPlot.tzDate(new Date(at), zone === "utc" ? "Etc/UTC" : zone));

/** With Shift, dragging moves the range: it is shown at once, and asked when the button is let go. */
function panning(plot: uPlot, handlers: { current: Props }, shift: { ms: number }, usual: (event: MouseEvent) => null) {
  return (event: MouseEvent) => {
    if (!event.shiftKey || event.button !== 0 || !handlers.current.onRange) {
      return usual(event);
    }
    const from = event.clientX;
    const { start, end } = handlers.current.span;
    const each = (end - start) / Math.max(1, plot.over.clientWidth);
    const move = (at: MouseEvent) => {
      shift.ms = Math.round((from - at.clientX) * each);
      plot.setScale("x", { min: start + shift.ms, max: end + shift.ms });
    };
    const up = () => {
      document.removeEventListener("mousemove", move);
      const by = shift.ms;
      shift.ms = 0;
      if (by) handlers.current.onRange?.({ start: Math.round(start + by), end: Math.round(end + by) });
    };
    document.addEventListener("mousemove", move);
    document.addEventListener("mouseup", up, { once: true });
    return null;
  };
}

/** The units of lines that share the left axis, where that is in none of them: there are more than two, or they stand on each other. */
export function unitsInCommon({ lines, unit, isStacked }: Pick<Props, "lines" | "unit" | "isStacked">): Unit[] {
  const units = [...new Set(lines.flatMap((line) => (line.isRight && !isStacked ? [] : line.unit ?? unit)))];
  return units.length > 1 ? units : [];
}

/** The scale that a line is drawn by. */
const scaleOf = (line: Line, props: Props) => (line.isRight && rightUnit(props) ? "right" : "y");

/** What is under the crosshair: the values, which differ from what is drawn where lines stand on each other, and the box that tells them. */
interface Under {
  values: uPlot.AlignedData;
  tip: Tip | null;
}

const straight = uPlot.paths.linear!();

/** The last place of a row of times that does not stand behind a time. */
function lastUntil(times: ArrayLike<number>, until: number): number {
  let at = times.length - 1;
  while (at >= 0 && times[at]! > until) at -= 1;
  return at;
}

/** Draws a line as far as its windows are over. */
const whole = (handlers: { current: Props }): uPlot.Series.PathBuilder => (plot, series, from, to) => {
  const last = Math.min(to, lastUntil(plot.data[0], handlers.current.lines[series - 1]?.wholeUntil ?? Infinity));
  return last < from ? null : straight(plot, series, from, last);
};

/** Goes on with a line, dashed, where its windows are not over. */
function drawUnfinished(plot: uPlot, series: number, wholeUntil: number) {
  const { ctx, bbox } = plot;
  const [times, values, of] = [plot.data[0], plot.data[series]!, plot.series[series]!];
  // Where another line has a time this one may have none.
  let from = lastUntil(times, wholeUntil);
  while (from >= 0 && values[from] === undefined) from -= 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = of.alpha ?? 1;
  ctx.strokeStyle = (of.stroke as () => string)();
  ctx.lineWidth = (of.width ?? 1) * devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  let isGap = true;
  for (let at = Math.max(0, from); at < times.length; at += 1) {
    const value = values[at];
    if (value === undefined) continue;
    if (value !== null) ctx[isGap ? "moveTo" : "lineTo"](plot.valToPos(times[at]!, "x", true), plot.valToPos(value, of.scale ?? "y", true));
    isGap = value === null;
  }
  ctx.stroke();
  ctx.restore();
}

function options(props: Props, width: number, handlers: { current: Props }, under: Under): uPlot.Options {
  const colors = Array.from({ length: COLORS }, (_, index) => style(`--c${index}`));
  const shift = { ms: 0 };
  const fill = props.isStacked ? "66" : "";
  const isLively = props.lines.length <= LINES_LIVELY_MAX;
  const isDense = dense(props.lines);
  const isFocusing = Boolean(props.onCursor) && isLively && !isDense;
  // Where there are more points than pixels, thin lines show more, and are drawn much faster.
  const lineWidth = isDense ? 1 : 1.6;
  const right = rightUnit(props);
  const scale: uPlot.Scale = props.isLogarithmic ? { distr: 3 } : { range: (_, low, high) => chosen(yRange(low, high, Boolean(props.fromZero || props.isStacked)), handlers.current.yRange) };
  return {
    width, height: props.height, ms: 1, pxAlign: 0, padding: [10, right ? 6 : 30, 0, 0],
    tzDate: zoned(props.zone),
    legend: { show: false },
    focus: { alpha: 0.25 },
    cursor: {
      points: { show: isLively, size: 7 },
      bind: { mousedown: (plot, _, usual) => panning(plot, handlers, shift, usual as (event: MouseEvent) => null) },
      drag: { x: Boolean(props.onRange), y: false, setScale: false },
      focus: { prox: isFocusing ? 24 : -1 },
      sync: { key: "foliot", scales: ["x", null] },
    },
    scales: {
      x: { min: props.span.start, max: props.span.end, range: () => [handlers.current.span.start + shift.ms, handlers.current.span.end + shift.ms] },
      y: scale,
      ...(right ? { right: scale } : {}),
    },
    axes: [timeAxis(props.zone), valueAxis(LEFT, leftUnit(props)), ...(right ? [valueAxis(RIGHT, right)] : [])],
    series: [{}, ...props.lines.map((line, index) => {
      const color = colors[index % COLORS] ?? "";
      return {
        label: line.title, scale: scaleOf(line, props), stroke: color, width: lineWidth, show: !line.isHidden, fill: fill ? color + fill : undefined,
        points: { show: line.times.length < 3, size: 5 }, ...(line.wholeUntil === undefined ? {} : { paths: whole(handlers) }),
      } as uPlot.Series;
    })],
    bands: props.isStacked ? props.lines.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })) : [],
    hooks: {
      init: [(plot) => { under.tip = new Tip(plot.over); }],
      drawSeries: [(plot, series) => {
        const until = handlers.current.lines[series - 1]?.wholeUntil;
        if (until !== undefined) drawUnfinished(plot, series, until);
      }],
      draw: [(plot) => drawNotes(plot, handlers.current.notes ?? [])],
      setSelect: [(plot) => ranged(plot, handlers.current.onRange)],
      setCursor: [(plot) => {
        const at = plot.cursor.idx;
        const time = at === null || at === undefined ? null : plot.data[0][at] ?? null;
        if (at === null || at === undefined || time === null) {
          under.tip?.hide();
          handlers.current.onCursor?.(null, null);
          return;
        }
        const values = plot.series.slice(1).map((_, index) => nearest(under.values, index + 1, at));
        handlers.current.onCursor?.(values, time);
        const { lines, zone } = handlers.current;
        under.tip?.show(timeText(time, zone), lines.flatMap((line, index) => {
          const [value, drawn] = [values[index], nearest(plot.data, index + 1, at)];
          if (line.isHidden || value === null || value === undefined || drawn === null) return [];
          return [{ title: line.title, value: () => format(value, line.unit ?? handlers.current.unit), color: `c${index % COLORS}`, y: plot.valToPos(drawn, scaleOf(line, handlers.current)) }];
        }), plot.cursor);
      }],
    },
  };
}

/** A dashed line at each note, and a veil over its range. */
function drawNotes(plot: uPlot, notes: Note[]) {
  const { ctx, bbox } = plot;
  const color = style("--c3");
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  for (const { start_ms, end_ms } of notes) {
    const from = Math.round(plot.valToPos(start_ms, "x", true));
    if (end_ms !== null && end_ms > start_ms) {
      ctx.globalAlpha = 0.12;
      ctx.fillRect(from, bbox.top, plot.valToPos(end_ms, "x", true) - from, bbox.height);
    }
    ctx.globalAlpha = 0.9;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(from, bbox.top);
    ctx.lineTo(from, bbox.top + bbox.height);
    ctx.stroke();
    const side = 5 * devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(from - side, bbox.top);
    ctx.lineTo(from + side, bbox.top);
    ctx.lineTo(from, bbox.top + side * 1.4);
    ctx.fill();
  }
  ctx.restore();
}

/** The line's value there; a line that has none just there has that of the sample before. */
function nearest(data: uPlot.AlignedData, line: number, at: number): number | null {
  for (let back = 0; back <= 12; back += 1) {
    const value = data[line]?.[at - back];
    if (typeof value === "number") return value;
    if (value === null) return null;
  }
  return null;
}

/** From zero where the values are near enough to it, with some air above. */
/** The ends of an axis that somebody chose, and the others as they fit. */
function chosen([low, high]: [number, number], [from, to]: [number | null, number | null] = [null, null]): [number, number] {
  const [bottom, top] = [from ?? Math.min(low, to ?? low), to ?? Math.max(high, from ?? high)];
  return bottom < top ? [bottom, top] : [bottom, bottom + Math.max(1, Math.abs(bottom))];
}

function yRange(low: number | null, high: number | null, fromZero: boolean): [number, number] {
  if (low === null || high === null) return [0, 1];
  if (low === high) return low === 0 ? [0, 1] : [Math.min(0, low * 1.2), Math.max(0, high * 1.2)];
  const air = (high - low) * 0.08;
  const bottom = low >= 0 && (fromZero || low < (high - low) * 1.5) ? 0 : low - air;
  const top = high <= 0 && -high < (high - low) * 1.5 ? 0 : high + air;
  return [bottom, top];
}

/** Has a plot made, made again where its colours change, and as wide as its element is, until what is returned is called. */
export function living(element: HTMLElement, plot: { current: uPlot | null }, height: number, make: () => void): () => void {
  make();
  // It tells the size at once, too, which is no reason to draw again.
  const size = new ResizeObserver(() => {
    if (plot.current?.width !== element.clientWidth) plot.current?.setSize({ width: element.clientWidth, height });
  });
  size.observe(element);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", make);
  window.addEventListener("foliot-theme", make);
  return () => {
    size.disconnect();
    dark.removeEventListener("change", make);
    window.removeEventListener("foliot-theme", make);
    plot.current?.destroy();
    plot.current = null;
  };
}

/** What somebody has dragged open becomes the range. */
export function ranged(plot: uPlot, onRange: Props["onRange"]) {
  const { left, width } = plot.select;
  if (width > 4) onRange?.({ start: Math.round(plot.posToVal(left, "x")), end: Math.round(plot.posToVal(left + width, "x")) });
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

export function Chart(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  /** What the plot shows: to be told that again would draw all of it once more. */
  const shown = useRef<{ lines: Line[]; span: Span } | null>(null);
  const handlers = useRef(props);
  handlers.current = props;
  const under = useRef<Under>({ values: [[]], tip: null });
  const align = (lines: Line[], isStacked: boolean) => {
    const { values, drawn } = aligned(lines, isStacked);
    under.current.values = values;
    return drawn;
  };
  const shape = [
    dense(props.lines),
    props.lines.map((line) => `${line.title}\0${Boolean(line.isHidden)}\0${line.times.length < 3}\0${line.unit ?? ""}\0${Boolean(line.isRight)}\0${line.wholeUntil !== undefined}`).join("\n"),
    props.unit, props.zone, props.height, props.isStacked, props.isLogarithmic,
  ].join("\n");
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const make = () => {
      plot.current?.destroy();
      const { lines, span, isStacked = false } = handlers.current;
      const heavy = isHeavy(lines);
      const made = new uPlot(options(handlers.current, element.clientWidth || 300, handlers, under.current), heavy ? [[]] : align(lines, isStacked), element);
      plot.current = made;
      shown.current = { lines, span };
      if (heavy) fill(made, lines, isStacked);
    };
    // Another plot may be wanted meanwhile, or other lines, which are drawn then.
    const fill = async (made: uPlot, lines: Line[], isStacked: boolean) => {
      const isWanted = () => plot.current === made && shown.current?.lines === lines;
      await pause();
      if (!isWanted()) return;
      const data = align(lines, isStacked);
      await pause();
      if (isWanted()) made.setData(data);
    };
    return living(element, plot, props.height, make);
  }, [shape]);
  useEffect(() => {
    const { lines, span } = shown.current ?? {};
    if (lines === props.lines && span?.start === props.span.start && span.end === props.span.end) return;
    plot.current?.setData(align(props.lines, Boolean(props.isStacked)));
    shown.current = { lines: props.lines, span: props.span };
  }, [props.lines, props.span.start, props.span.end]);
  // A plot that was just made has drawn its notes, and brings no line forward.
  const isOld = useRef(false);
  useEffect(() => {
    if (isOld.current) plot.current?.redraw(false);
  }, [props.notes]);
  useEffect(() => {
    if (isOld.current) plot.current?.setSeries(props.focus === null || props.focus === undefined ? null : props.focus + 1, { focus: true });
    isOld.current = true;
  }, [props.focus]);
  const below = useMemo(() => (props.isLogarithmic ? belowLogarithm(props.lines) : 0), [props.lines, props.isLogarithmic]);
  const { lines } = props;
  const units = useMemo(() => unitsInCommon(props), [lines, props.unit, props.isStacked]);
  return (
    <>
      <div class="chart" ref={box} role="img" aria-label={props.label} />
      {units.length > 0 && <p class="note">Lines in {unitsText(units)} share an axis without a unit{props.isStacked ? ", as they stand on each other" : ": a graph has axes for two units"}. The figures below have theirs.</p>}
      {lines.some((line) => line.wholeUntil !== undefined && !line.isHidden) && <p class="note">Dashed: the last window is not over where the range ends, and has only a part in it.</p>}
      {below > 0 && <p class="note" role="status">{format(below)} {below === 1 ? "value" : "values"} of 0 or less {below === 1 ? "is" : "are"} not shown: a logarithmic axis has no place for {below === 1 ? "it" : "them"}.</p>}
    </>
  );
}
