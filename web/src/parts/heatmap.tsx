// A map of a histogram: time to the right, buckets upwards, and the more fell into one the stronger its colour.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { type Heat, bucketText } from "../heat";
import { type Span, type Zone, timeText } from "../time";
import { type Unit, format } from "../units";
import { LEFT, grid, living, look, ranged, style, timeAxis, zoned } from "./chart";
import { Tip } from "./tip";

interface Props {
  heat: Heat;
  span: Span;
  /** What a cell counts in. */
  unit: Unit;
  zone: Zone;
  height: number;
  onRange?: (span: Span) => void;
  label: string;
}

/** Faintest and darkest shade of a cell that holds something. */
const SHADES = [0.12, 1] as const;

/** The width of a cell in milliseconds: from one time to the next, as most are apart. */
function widthOf(times: number[]): number {
  const gaps = times.slice(1).map((time, at) => time - times[at]!).sort((a, b) => a - b);
  return gaps[Math.floor(gaps.length / 2)] ?? 0;
}

function draw(plot: uPlot, { heat: { times, cells, most } }: Props) {
  const { ctx, bbox } = plot;
  const width = widthOf(times);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = style("--c0");
  cells.forEach((row, at) => {
    const top = Math.round(plot.valToPos(at + 1, "y", true));
    const tall = Math.round(plot.valToPos(at, "y", true)) - top;
    row.forEach((value, index) => {
      if (!value) return;
      const right = Math.round(plot.valToPos(times[index]!, "x", true));
      const left = Math.round(plot.valToPos(times[index]! - width, "x", true));
      // Square roots show what is rare beside what is frequent.
      ctx.globalAlpha = SHADES[0] + (SHADES[1] - SHADES[0]) * Math.sqrt(value / most);
      ctx.fillRect(left, top, Math.max(1, right - left), tall);
    });
  });
  ctx.restore();
}

function options(width: number, handlers: { current: Props }): uPlot.Options {
  const { heat: { bounds, cells, times }, height, onRange, zone } = handlers.current;
  const cellMs = widthOf(times);
  let tip: Tip | null = null;
  return {
    width, height, ms: 1, pxAlign: 0, padding: [10, 22, 0, 0], tzDate: zoned(zone),
    legend: { show: false },
    cursor: { points: { show: false }, drag: { x: Boolean(onRange), y: false, setScale: false }, sync: { key: "foliot", scales: ["x", null] } },
    scales: { x: { range: () => [handlers.current.span.start, handlers.current.span.end] }, y: { range: () => [0, bounds.length] } },
    axes: [timeAxis(zone), {
      ...look(), grid: grid(false), side: LEFT, size: 64, gap: 6, space: 18, incrs: [1, 2, 5, 10, 20, 50, 100],
      // A tick is the upper bound of the bucket below it.
      values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) && tick > 0 ? bounds[tick - 1] ?? "" : "")),
    }],
    series: [{}, { show: true, stroke: "transparent", points: { show: false } }],
    hooks: {
      init: [(plot) => { tip = new Tip(plot.over); }],
      draw: [(plot) => draw(plot, handlers.current)],
      setSelect: [(plot) => ranged(plot, handlers.current.onRange)],
      setCursor: [(plot) => {
        const { left = -1, top = -1 } = plot.cursor;
        const at = Math.floor(plot.posToVal(top, "y"));
        // A cell ends at its time.
        const time = plot.posToVal(left, "x");
        const index = times.findIndex((end) => end >= time);
        const value = cells[at]?.[index];
        if (left < 0 || value === undefined || value === null || time < times[index]! - cellMs) return tip?.hide();
        return tip?.show(timeText(times[index]!, zone), [{ title: bucketText(bounds, at), value: () => format(value, handlers.current.unit), color: "c0", y: top }], plot.cursor);
      }],
    },
  };
}

export function Heatmap(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const handlers = useRef(props);
  handlers.current = props;
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    return living(element, plot, props.height, () => {
      plot.current?.destroy();
      const { times } = handlers.current.heat;
      plot.current = new uPlot(options(element.clientWidth || 300, handlers), [times, times.map(() => 0)], element);
    });
  }, [props.heat, props.span.start, props.span.end, props.zone, props.height, props.unit]);
  return <div class="chart" ref={box} role="img" aria-label={props.label} />;
}
