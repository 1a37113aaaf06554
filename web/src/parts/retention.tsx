// How long samples are kept: by database, by rule; and a rule is tried before it is set.

import { useState } from "preact/hooks";
import { type Tried, retention, tryRetention } from "../api";
import { database } from "../database";
import { useAsked } from "../hooks";
import { seriesOf } from "../doomed";
import { halvesOf, storedFields } from "../metric";
import { timeText } from "../time";
import { format, many } from "../units";
import { Failed, Loading } from "./small";

export function Retention() {
  const asked = useAsked("retention", () => retention());
  const found = asked.answer;
  return (
    <>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!found && asked.isLoading && <Loading what="Asking the server…" />}
      {found && (
        <div class="halves">
          <section class="card">
            <h2>By database</h2>
            <p class="note">Where nothing else is said: {found.keeps} (<code>retention.time</code>){found.size !== "none" && <>; {found.size} in all (<code>retention.size</code>)</>}</p>
            <table>
              <thead><tr><th scope="col">Database</th><th scope="col">Policy</th><th scope="col" class="number">Keeps</th></tr></thead>
              <tbody>
                {found.databases.flatMap(({ name, policies }) => policies.map((policy) => (
                  <tr key={`${name}/${policy.name}`}><td>{name}</td><td>{policy.name}{policy.is_default && <span class="note"> default</span>}</td><td class="number">{policy.keeps}</td></tr>
                )))}
              </tbody>
            </table>
          </section>
          <section class="card">
            <h2>By rule</h2>
            <p class="note">The first that fits a series decides (<code>retention.rules</code>).</p>
            {found.rules.length
              ? <ol class="rules">{found.rules.map((rule) => <li key={rule} class="code">{rule}</li>)}</ol>
              : <p class="note">None is set. <code>{"cpu*{env=dev}=7d; audit=forever"}</code> would be two.</p>}
          </section>
        </div>
      )}
      <Tester rules={found?.rules.join("; ") ?? ""} />
    </>
  );
}

function Tester({ rules }: { rules: string }) {
  const [series, setSeries] = useState("");
  const [others, setOthers] = useState<string | null>(null);
  const [tried, setTried] = useState<(Tried & { measurement: string }) | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const test = async () => {
    try {
      const said = seriesOf(series);
      if (!said) throw new Error("A series is a measurement with labels, as cpu{host=web1, env=dev} or cpu,host=web1,env=dev; or a metric alone");
      // Rules are about measurements, and a metric may be a field of one.
      const { measurement } = await halvesOf(said.measurement, storedFields(database()));
      const about = { ...said, measurement };
      setTried({ ...await tryRetention(database(), { ...about, ...(others === null || others === rules ? {} : { rules: others }) }), measurement });
      setError(null);
    } catch (failed) {
      setTried(null);
      setError(failed as Error);
    }
  };
  return (
    <section class="card tester">
      <h2>Try a rule</h2>
      <p class="note">Nothing changes: it tells by which rule a series is kept, and what of it would go.</p>
      <form onSubmit={(event) => { event.preventDefault(); test(); }}>
        <label>Series or metric<input type="text" class="code" placeholder="cpu,host=web1,env=dev" value={series} onInput={(event) => setSeries(event.currentTarget.value)} /></label>
        <label>Rules<input type="text" class="code" placeholder="none" value={others ?? rules} onInput={(event) => setOthers(event.currentTarget.value)} /></label>
        <button type="submit" class="main">Try</button>
      </form>
      {error && <Failed error={error} />}
      {tried && (
        <dl class="facts">
          <dt>Measurement</dt><dd>{tried.measurement}</dd>
          <dt>Kept for</dt><dd><b>{tried.keeps}</b>{tried.by_rule.length > 1 && ", with these labels and no others"}</dd>
          <dt>By</dt><dd>{tried.rule === null ? "the policy of its database: no rule fits" : <>rule {tried.number}, <code>{tried.rule}</code></>}</dd>
          <dt>Stored</dt><dd>{tried.series ? `${many(tried.samples, "sample")} of ${format(tried.series)} series, ${format(tried.bytes, "bytes")}` : "no series with these labels: this is what one would be kept for"}</dd>
          <dt>Would go</dt>
          <dd>{tried.by_rule.every(({ keeps }) => keeps === "forever") && tried.expires_before_ms === null
            ? "nothing, ever"
            : `${many(tried.expired_samples, "sample")}, about ${format(tried.expired_bytes, "bytes")}${tried.by_rule.length < 2 && tried.expires_before_ms !== null ? `: those before ${timeText(tried.expires_before_ms, "local").slice(0, 16)}` : ""}`}</dd>
        </dl>
      )}
      {tried && tried.by_rule.length > 1 && (
        <table>
          <thead><tr><th scope="col">Stored series, each by its own labels</th><th scope="col" class="number">Kept for</th><th scope="col" class="number">Series</th><th scope="col" class="number">Samples</th><th scope="col" class="number">Would go</th></tr></thead>
          <tbody>
            {tried.by_rule.map(({ rule, number, keeps, series, samples, expired_samples }) => (
              <tr key={number}><td>{rule === null ? "no rule fits" : <>rule {number}, <code>{rule}</code></>}</td><td class="number">{keeps}</td><td class="number">{format(series)}</td><td class="number">{format(samples)}</td><td class="number">{format(expired_samples)}</td></tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
