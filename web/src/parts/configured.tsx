// Settings with where they came from, and what the server said last.

import { useState } from "preact/hooks";
import { type Level, logs, settings } from "../api";
import { useAsked } from "../hooks";
import { timeText } from "../time";
import { Empty, Failed, Loading } from "./small";

/** A text in which what stands between backticks is code. */
const Words = ({ text }: { text: string }) => <>{text.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part))}</>;

export function Settings() {
  const asked = useAsked("settings", () => settings());
  const [search, setSearch] = useState("");
  const [isOnlySet, setIsOnlySet] = useState(false);
  const low = search.toLowerCase();
  const all = asked.answer?.settings ?? [];
  const found = all.filter(({ name, help, is_default }) => (!isOnlySet || !is_default) && (name.includes(low) || help.toLowerCase().includes(low)));
  return (
    <section class="card">
      <div class="bar filters">
        <input type="search" aria-label="Find a setting" placeholder="Find a setting by name or by what it does" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        <label class="check"><input type="checkbox" checked={isOnlySet} onChange={(event) => setIsOnlySet(event.currentTarget.checked)} />only those that were set</label>
      </div>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!asked.answer && asked.isLoading && <Loading what="Asking the server…" />}
      {asked.answer && !found.length && <Empty title={isOnlySet && !search ? "Nothing was set: all is as it comes" : "No setting is called so"} />}
      {found.length > 0 && (
        <div class="scroll full" tabIndex={0} role="region" aria-label="Settings">
          <table class="settings">
            <thead><tr><th scope="col">Setting</th><th scope="col">Value, and where it came from</th></tr></thead>
            <tbody>
              {found.map(({ name, value, origin, is_default, help }) => (
                <tr key={name}>
                  <td><b class="code">{name}</b><div class="note"><Words text={help} /></div></td>
                  <td><span class="code">{value || <span class="note">empty</span>}</span><div class={is_default ? "note" : "origin"}>{origin}</div></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

const LEVELS: Level[] = ["error", "warn", "info", "debug", "trace"];

const LINES = 500;

const EVERY_MS = 3000;

export function Log() {
  const asked = useAsked("logs", () => logs(LINES), EVERY_MS);
  const [least, setLeast] = useState<Level>("trace");
  const [search, setSearch] = useState("");
  const low = search.toLowerCase();
  const lines = (asked.answer?.lines ?? []).filter(({ level, target, message }) =>
    LEVELS.indexOf(level) <= LEVELS.indexOf(least) && `${target} ${message}`.toLowerCase().includes(low));
  return (
    <section class="card">
      <div class="bar filters">
        <input type="search" aria-label="Find in the log" placeholder="Find in the newest lines" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        <select aria-label="Least level" value={least} onChange={(event) => setLeast(event.currentTarget.value as Level)}>
          <option value="trace">all levels</option><option value="info">info and worse</option><option value="warn">warnings and errors</option><option value="error">errors</option>
        </select>
      </div>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!asked.answer && asked.isLoading && <Loading what="Asking the server…" />}
      {asked.answer && !lines.length && <Empty title={asked.answer.lines.length ? "No line fits" : "The server has said nothing"}><p>How much it says is set by <code>log.level</code>.</p></Empty>}
      {lines.length > 0 && (
        <div class="scroll full" tabIndex={0} role="region" aria-label="Log">
          <table class="log">
            <thead class="unseen"><tr><th scope="col">Time</th><th scope="col">Level</th><th scope="col">Message</th></tr></thead>
            <tbody>
              {lines.map(({ at_ms, level, target, message }, index) => (
                <tr key={index}>
                  <td class="nowrap note">{timeText(at_ms, "local").slice(5)}</td><td><span class={`level ${level}`}>{level}</span></td>
                  <td class="code">{message} <span class="note">{target}</span></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
