// How many series a metric may have: set where one sees who has too many, and taken away again.

import { useState } from "preact/hooks";
import { type Limit, Refusal, limitSeries, limits, unlimitSeries } from "../api";
import { useAsked, useGuarded } from "../hooks";
import { plain } from "../series";
import { metricAddress } from "../scope";
import { format } from "../units";
import { Failed } from "./small";

export interface Limits {
  /** By metric; nothing for those who may not see them. */
  of: Map<string, Limit> | null;
  error: Error | null;
  again: () => void;
}

/** The limits of this database; who is no operator sees none, and is not told so on every page. */
export function useLimits(): Limits {
  const asked = useAsked("limits", limits);
  const isForOthers = asked.error instanceof Refusal && asked.error.status === 403;
  return { of: asked.answer && !isForOthers ? new Map(asked.answer.limits.map((limit) => [limit.metric, limit])) : null, error: isForOthers ? null : asked.error, again: asked.again };
}

interface FormProps {
  metric: string;
  /** How many series it has, which is what is offered. */
  series: number;
  limit: Limit | undefined;
  onDone: () => void;
}

export function LimitForm({ metric, series, limit, onDone }: FormProps) {
  const [text, setText] = useState(String(limit?.series_max ?? series));
  const { error, guarded } = useGuarded(onDone);
  const set = () => guarded(async () => {
    if (!/^\d{1,15}$/.test(text.trim())) throw new Error(`“${text}” is no number of series: write 0 or more.`);
    return limitSeries(metric, Number(text));
  });
  return (
    <form class="bar limit" onSubmit={(event) => { event.preventDefault(); set(); }}>
      <label class="check">No new series beyond&nbsp;<input type="text" inputMode="numeric" size={9} value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <button type="submit">{limit ? "Change" : "Set the limit"}</button>
      {limit && <button type="button" onClick={() => guarded(() => unlimitSeries(metric))}>Take it away</button>}
      <span class="note">{limit ? `${format(limit.series)} count now` : "Those that are there stay and take samples; rows that need more are refused."}</span>
      {error && <Failed error={error} />}
    </form>
  );
}

/** The limit of one metric, for those who may set it. */
export function LimitCard({ metric, series }: { metric: string; series: number }) {
  const { of, error, again } = useLimits();
  if (error) return <section class="card wide"><h2>Limit</h2><Failed error={error} again={again} /></section>;
  if (!of) return null;
  const limit = of.get(metric);
  return (
    <section class="card wide">
      <h2>Limit</h2>
      <LimitForm key={limit?.series_max ?? -1} metric={metric} series={series} limit={limit} onDone={again} />
    </section>
  );
}

/** All limits that are set. */
export function LimitsCard({ limits: { of, again } }: { limits: Limits }) {
  if (!of?.size) return null;
  return (
    <section class="card">
      <h2>Limits</h2>
      <p class="note">rows that need more series are refused; <a href="#/operations">Operations</a> shows them</p>
      <ul class="ranks">
        {[...of.values()].map((limit) => (
          <li key={limit.metric}>
            <a href={metricAddress(limit.metric)}>{plain(limit.metric)}</a><span>{format(limit.series)} of {format(limit.series_max)}</span>
            <progress value={limit.series} max={Math.max(1, limit.series_max)} class={limit.series >= limit.series_max ? "high" : ""} aria-hidden="true" />
            <LimitForm metric={limit.metric} series={limit.series} limit={limit} onDone={again} />
          </li>
        ))}
      </ul>
    </section>
  );
}
