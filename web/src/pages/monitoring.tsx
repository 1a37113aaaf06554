// Monitoring: what is scraped, which rules are followed, and which alerts that comes to.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Alert, type Configured, type Rule, type RuleGroup, type TargetState, type ScrapeTarget, alerts, rules, targets } from "../api";
import { useAsked, useInSight } from "../hooks";
import { Labels } from "../parts/labels";
import { Relabelling, relabelAddress } from "../parts/relabel";
import { Empty, Failed, Loading } from "../parts/small";
import { unexplored, write } from "../state";
import { agoText, durationText, spanText, timeText } from "../time";
import { format } from "../units";

const EVERY_MS = 5000;

const VIEWS = [["targets", "Targets"], ["rules", "Rules"], ["alerts", "Alerts"], ["relabelling", "Relabelling"]] as const;

export function Monitoring({ params }: { params: URLSearchParams }) {
  const view = VIEWS.find(([name]) => name === params.get("view"))?.[0] ?? "targets";
  useInSight(".scroller a[aria-current]", view);
  return (
    <div class="operations">
      <div class="scroller">
        <nav class="segments" aria-label="Views">
          {VIEWS.map(([name, title]) => <a key={name} href={`#/monitoring?view=${name}`} aria-current={name === view ? "true" : undefined}>{title}</a>)}
        </nav>
      </div>
      {view === "targets" && <Targets />}
      {view === "rules" && <Rules />}
      {view === "alerts" && <Alerts />}
      {view === "relabelling" && <Relabelling key={params.toString()} params={params} />}
    </div>
  );
}

const ago = (at: number | null) => (at === null ? "not yet" : agoText(at));

const took = (ms: number) => format(ms / 1000, "seconds");

/** Explore with an expression of PromQL. */
const asking = (text: string) => write({ ...unexplored(), questions: [{ language: "promql", text, isForm: false, isHidden: false }] });

/** A search that is asked when somebody pauses. */
function Search({ label, value, onChange }: { label: string; value: string; onChange: (text: string) => void }) {
  return <input type="search" aria-label={label} placeholder={label} value={value} onInput={(event) => onChange(event.currentTarget.value)} />;
}

/** What is said where no file is obeyed, or a bad one was not. */
function Obeyed({ config, nothing }: { config: Configured; nothing: string }) {
  if (!config.file) {
    return (
      <section class="card">
        <Empty title={nothing}>
          <p>Name a Prometheus configuration with <code>prometheus.config</code>: Foliot scrapes what it names and follows its rules. <code>foliot config check --prometheus FILE</code> says what is wrong with one.</p>
        </Empty>
      </section>
    );
  }
  if (config.is_good) return null;
  return <div class="failed" role="alert"><p>{config.file} could not be read again, and what was read {ago(config.read_ms)} is still obeyed. The <a href="#/operations?view=log">log</a> says line and key.</p></div>;
}

const STATES: [TargetState, string][] = [["down", "down"], ["up", "up"], ["unknown", "not yet scraped"], ["dropped", "dropped"]];

const State = ({ state, children }: { state: string; children: ComponentChildren }) => <span class={`state ${state}`}>{children}</span>;

function Targets() {
  const [search, setSearch] = useState("");
  const [state, setState] = useState("");
  const asked = useAsked(`targets ${search} ${state}`, (signal) => targets({ search, state }, signal), EVERY_MS);
  const found = asked.answer;
  const jobs = (found?.jobs ?? []).map((job) => ({ job, list: found!.targets.filter((target) => target.job === job.name) }));
  const isFiltered = search !== "" || state !== "";
  const shown = jobs.filter(({ list }) => list.length || !isFiltered);
  const sum = (of: TargetState) => jobs.reduce((all, { job }) => all + job.targets[of], 0);
  return (
    <>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!found && asked.isLoading && <section class="card"><Loading what="Asking the server…" /></section>}
      {found && <Obeyed config={found.config} nothing="Nothing is scraped" />}
      {found?.config.file && (
        <section class="card">
          <div class="bar filters">
            <Search label="Find a target by address, label or error" value={search} onChange={setSearch} />
            <span class="segments" role="group" aria-label="State">
              <button type="button" aria-pressed={state === ""} onClick={() => setState("")}>all</button>
              {STATES.map(([name, title]) => <button type="button" key={name} aria-pressed={state === name} onClick={() => setState(name)}>{title} {format(sum(name))}</button>)}
            </span>
          </div>
          {!found.is_whole && <p class="note">The first {found.targets.length} are listed; find others by a part of their addresses or labels.</p>}
          {!jobs.length && <Empty title="The configuration has no scrape_configs" />}
          {jobs.length > 0 && !shown.length && <Empty title="No target fits" />}
        </section>
      )}
      {shown.map(({ job, list }) => (
        <section class="card" key={job.name} aria-label={`Job ${job.name}`}>
          <div class="head">
            <h2 class="name">{job.name}</h2>
            <span class="states">{STATES.filter(([name]) => job.targets[name]).map(([name, title]) => <State key={name} state={name}>{format(job.targets[name])} {title}</State>)}</span>
          </div>
          {!list.length && <p class="note">{isFiltered ? "None fits." : "Nothing was found for it: its discovery names no target."}</p>}
          {list.length > 0 && <TargetTable job={job.name} list={list} />}
        </section>
      ))}
    </>
  );
}

/** Those that are down first. */
const ORDER: TargetState[] = ["down", "unknown", "up", "dropped"];

function TargetTable({ job, list }: { job: string; list: ScrapeTarget[] }) {
  const rank = ({ state }: ScrapeTarget) => ORDER.indexOf(state);
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label={`Targets of ${job}`}>
      <table class="targets">
        <thead>
          <tr>
            <th scope="col">State</th><th scope="col">Target</th><th scope="col" class="number">Last scrape</th><th scope="col" class="number">Took</th>
            <th scope="col" class="number"><abbr title="Samples that rules kept, of those that were exposed">Samples</abbr></th>
          </tr>
        </thead>
        <tbody>
          {[...list].sort((a, b) => rank(a) - rank(b)).map((target) => {
            const { state, url, error, at_ms = null, took_ms = 0, samples_scraped = 0, samples_kept = 0, labels, discovered, interval_ms = 0, timeout_ms = 0, new_series = 0 } = target;
            const name = url ?? discovered["__address__"] ?? "";
            return (
              <tr key={`${name}\0${JSON.stringify(labels ?? discovered)}`}>
                <td class="nowrap"><State state={state}>{state === "unknown" ? "not yet" : state}</State></td>
                <td>
                  <b class="code">{name}</b>
                  {error && <div class="failed slim">{error}</div>}
                  {labels && <Labels of={labels} without={["job"]} />}
                  <details>
                    <summary>{state === "dropped" ? "as it was found" : "before relabelling, and how it is scraped"}</summary>
                    <Labels of={discovered} />
                    <p><a href={relabelAddress(job, discovered)}>Try the rules of {job} on them</a></p>
                    {state !== "dropped" && <p class="note">every {durationText(interval_ms)}, {durationText(timeout_ms)} at most; {format(new_series)} series were new at the last scrape</p>}
                  </details>
                </td>
                <td class="number">{state === "dropped" ? "–" : ago(at_ms)}</td>
                <td class="number">{at_ms === null ? "–" : took(took_ms)}</td>
                <td class="number">{at_ms === null ? "–" : samples_kept === samples_scraped ? format(samples_kept) : `${format(samples_kept)} of ${format(samples_scraped)}`}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Rules() {
  const asked = useAsked("rules", (signal) => rules(signal), EVERY_MS);
  const [search, setSearch] = useState("");
  const [isOnlyBad, setIsOnlyBad] = useState(false);
  const low = search.toLowerCase();
  const fits = ({ name, text, health }: Rule) => (!isOnlyBad || health === "bad") && `${name} ${text}`.toLowerCase().includes(low);
  const found = asked.answer;
  const groups = (found?.groups ?? []).map((group) => ({ group, list: group.name.toLowerCase().includes(low) && !isOnlyBad ? group.rules : group.rules.filter(fits) })).filter(({ list }) => list.length);
  return (
    <>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!found && asked.isLoading && <section class="card"><Loading what="Asking the server…" /></section>}
      {found && <Obeyed config={found.config} nothing="No rules are followed" />}
      {found?.config.file && (
        <section class="card">
          <div class="bar filters">
            <Search label="Find a rule by name, group or expression" value={search} onChange={setSearch} />
            <label class="check"><input type="checkbox" checked={isOnlyBad} onChange={(event) => setIsOnlyBad(event.currentTarget.checked)} />only those that fail</label>
          </div>
          {!found.groups.length && <Empty title="The configuration names no rules"><p>Its <code>rule_files</code> are empty, or their patterns fit no file.</p></Empty>}
          {found.groups.length > 0 && !groups.length && <Empty title={isOnlyBad && !search ? "No rule fails" : "No rule fits"} />}
        </section>
      )}
      {groups.map(({ group, list }) => <Group key={`${group.file}\0${group.name}`} group={group} list={list} />)}
    </>
  );
}

const HEALTH = { good: "good", bad: "fails", unknown: "not yet" };

function Group({ group, list }: { group: RuleGroup; list: Rule[] }) {
  return (
    <section class="card" aria-label={`Group ${group.name}`}>
      <div class="head"><h2 class="name">{group.name}</h2><span class="note">every {durationText(group.interval_ms)}, {group.at_ms === null ? "not evaluated yet" : `${ago(group.at_ms)} in ${took(group.took_ms)}`}</span></div>
      <p class="note code">{group.file}</p>
      <ul class="entries">
        {list.map((rule, at) => (
          <li key={at}>
            <div class="head">
              <span><State state={rule.health}>{HEALTH[rule.health]}</State> <b>{rule.name}</b> <span class="note">{rule.alerting ? "alert" : "recording"}</span></span>
              <span class="note nowrap">{rule.at_ms === null ? "" : `in ${took(rule.took_ms)}`}</span>
            </div>
            <a class="code expression" href={asking(rule.text)} title="Open in Explore">{rule.text}</a>
            {rule.error && <div class="failed slim">{rule.error}</div>}
            {rule.alerting && (
              <p class="note">
                {rule.alerting.for_ms > 0 && `for ${durationText(rule.alerting.for_ms)}; `}
                {rule.alerting.firing || rule.alerting.pending ? <a href="#/monitoring?view=alerts">{[rule.alerting.firing && `${format(rule.alerting.firing)} firing`, rule.alerting.pending && `${format(rule.alerting.pending)} pending`].filter(Boolean).join(", ")}</a> : "no alert now"}
              </p>
            )}
            {Object.keys(rule.labels).length > 0 && <Labels of={rule.labels} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Alerts() {
  const asked = useAsked("alerts", (signal) => alerts(signal), EVERY_MS);
  const [search, setSearch] = useState("");
  const found = asked.answer;
  const low = search.toLowerCase();
  const fits = ({ rule, labels }: Alert) => `${rule} ${Object.entries(labels).map((pair) => pair.join("=")).join(" ")}`.toLowerCase().includes(low);
  const list = (found?.alerts ?? []).filter(fits).sort((a, b) => Number(b.stage === "firing") - Number(a.stage === "firing") || b.since_ms - a.since_ms);
  return (
    <>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!found && asked.isLoading && <section class="card"><Loading what="Asking the server…" /></section>}
      {found && <Obeyed config={found.config} nothing="There are no alerts without rules" />}
      {found?.config.file && (
        <section class="card">
          <Search label="Find an alert by name or label" value={search} onChange={setSearch} />
          {Object.entries(found.alertmanagers_failed).map(([url, reason]) => <p key={url} class="caution" role="status">{url} could not be told last: {reason}. It is tried again.</p>)}
          <p class="note told">{found.alertmanagers.length ? `Alerts that fire are told to ${found.alertmanagers.join(", ")}` : "No Alertmanager is told of them: the configuration names none."}</p>
          {!found.is_whole && <p class="note">The first {found.alerts.length} are listed.</p>}
          {!list.length && <Empty title={found.alerts.length ? "No alert fits" : "All is quiet"}>{!found.alerts.length && <p>No alert is pending or firing. <a href="#/monitoring?view=rules">The rules</a></p>}</Empty>}
          <ul class="entries">
            {list.map((alert, at) => (
              <li key={at}>
                <div class="head">
                  <span><State state={alert.stage}>{alert.stage}</State> <b>{alert.rule}</b></span>
                  <span class="note nowrap" title={timeText(alert.since_ms, "local")}>for {spanText(Math.max(0, Date.now() - alert.since_ms))}</span>
                </div>
                {Object.entries(alert.annotations).sort(([a], [b]) => Number(b === "summary") - Number(a === "summary")).map(([name, text]) => <p key={name}>{name !== "summary" && <span class="note">{name}: </span>}{text}</p>)}
                <p><span class="note">value</span> <b>{typeof alert.value === "number" ? format(alert.value) : alert.value}</b> <span class="note">of</span> <a class="code expression" href={asking(alert.text)} title="Open in Explore">{alert.text}</a></p>
                <Labels of={alert.labels} without={["alertname"]} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
