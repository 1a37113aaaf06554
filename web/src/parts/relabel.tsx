// Relabelling is tried: rules, labels, and what each rule makes of them. Nothing changes.

import { useEffect, useState } from "preact/hooks";
import { type Relabelled, targets, tryRelabel } from "../api";
import { useAsked } from "../hooks";
import { changesOf, shownLabels, typedLabels } from "../relabelling";
import { Failed } from "./small";

const EXAMPLE = `- source_labels: [__address__]
  regex: "(.*):.*"
  target_label: host
- source_labels: [env]
  regex: live
  action: keep`;

const WAYS = [["targets", "relabel_configs, of targets"], ["samples", "metric_relabel_configs, of samples"]] as const;

type Of = (typeof WAYS)[number][0];

/** Where a target's labels are tried by the rules of its job. */
export const relabelAddress = (job: string, labels: Record<string, string>) => `#/monitoring?${new URLSearchParams({ view: "relabelling", job, labels: shownLabels(labels) })}`;

export function Relabelling({ params }: { params: URLSearchParams }) {
  const [of, setOf] = useState<Of>("targets");
  const [labels, setLabels] = useState(params.get("labels") ?? "");
  const [rules, setRules] = useState("");
  const [tried, setTried] = useState<(Relabelled & { before: Record<string, string> }) | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const asked = useAsked("jobs", (signal) => targets({ limit: 1 }, signal));
  const jobs = (asked.answer?.jobs ?? []).map(({ name }) => name);
  const said = async (work: () => Promise<void>) => {
    try {
      await work();
      setError(null);
    } catch (failed) {
      setTried(null);
      setError(failed as Error);
    }
  };
  const tryOn = async (typed: string, text: string) => {
    const before = typedLabels(typed);
    if (!before) throw new Error("Labels are names and values, as __address__=web1:9100, env=dev, or up{job=\"web\"}");
    setTried({ ...await tryRelabel({ labels: before, rules: text, of }), before });
  };
  const take = (job: string, way: Of) => said(async () => {
    const { rules: found } = await tryRelabel({ labels: {}, job, of: way });
    if (!found.length) throw new Error(`The job ${job} has no ${way === "targets" ? "relabel_configs" : "metric_relabel_configs"}.`);
    const text = found.map((rule) => `- ${rule}\n`).join("");
    setRules(text);
    // Without others, the labels are those of a target of the job; a sample has more than the page knows.
    const target = way === "targets" && !labels ? (await targets({ job, limit: 1 })).targets[0] : undefined;
    const typed = labels || shownLabels(target?.discovered ?? {});
    setLabels(typed);
    if (typed) await tryOn(typed, text);
  });
  const begun = params.get("job") ?? "";
  useEffect(() => { if (begun) take(begun, of); }, [begun]);
  return (
    <>
      <section class="card tester">
        <h2>Try relabelling</h2>
        <p class="note">Nothing changes: it tells, rule by rule, what becomes of labels.</p>
        <form onSubmit={(event) => { event.preventDefault(); said(() => tryOn(labels, rules)); }}>
          <label>Rules are<select value={of} onChange={(event) => setOf(event.currentTarget.value as Of)}>{WAYS.map(([name, title]) => <option key={name} value={name}>{title}</option>)}</select></label>
          {jobs.length > 0 && (
            <label>Take those of<select value="" onChange={(event) => take(event.currentTarget.value, of)}><option value="">a job…</option>{jobs.map((name) => <option key={name}>{name}</option>)}</select></label>
          )}
          <label class="whole">Labels<input type="text" class="code" placeholder={of === "targets" ? "__address__=web1:9100, env=dev" : 'up{job="web", env="dev"}'} value={labels} onInput={(event) => setLabels(event.currentTarget.value)} /></label>
          <label class="whole">Rules, as a configuration has them<textarea class="code" rows={10} spellcheck={false} placeholder={EXAMPLE} value={rules} onInput={(event) => setRules(event.currentTarget.value)} /></label>
          <button type="submit" class="main" disabled={!rules.trim()}>Try</button>
        </form>
        {error && <Failed error={error} />}
      </section>
      {tried && <Made tried={tried} of={of} />}
    </>
  );
}

function Made({ tried: { before, rules, steps, is_kept, labels }, of }: { tried: Relabelled & { before: Record<string, string> }; of: Of }) {
  return (
    <section class="card" aria-label="What the rules make of it">
      <ol class="rules steps">
        {steps.map((step, at) => {
          const changes = changesOf(steps[at - 1]?.labels ?? before, step.labels);
          const isIdle = step.is_kept && changes.every(({ kind }) => kind === "same");
          return (
            <li key={step.number}>
              <code>{rules[step.number - 1]}</code>
              {!step.is_kept && <p><span class="state bad">dropped here</span></p>}
              {isIdle && <p class="note">changes nothing</p>}
              {!isIdle && step.is_kept && (
                <p class="labels">
                  {changes.map(({ name, value, kind }) => (
                    <code key={name} class={kind} title={{ same: "", new: "new", other: "changed", gone: "taken away" }[kind]}><b>{name}</b>={value}</code>
                  ))}
                </p>
              )}
            </li>
          );
        })}
      </ol>
      {is_kept
        ? <dl class="facts"><dt>{of === "targets" ? "Series of this target have" : "The sample is stored with"}</dt><dd class="code">{shownLabels(labels ?? {}) || "no labels"}</dd></dl>
        : <p>{of === "targets" ? "This target is not scraped." : "This sample is not stored."}</p>}
    </section>
  );
}
