// Operations: how the server fares, in nine views: what comes in, who sends it, queries and other work, storage,
// backups, retention, who took samples away, settings, and the log.

import { type Status, status } from "../api";
import { useAsked, useInSight } from "../hooks";
import { Failed, Loading } from "../parts/small";
import { Later } from "../parts/later";
import { Overview } from "../parts/overview";

const EVERY_MS = 2000;

const VIEWS = [
  ["overview", "Overview"], ["senders", "Senders"], ["queries", "Queries"], ["storage", "Storage"], ["backups", "Backups"], ["retention", "Retention"], ["audit", "Audit"], ["settings", "Settings"], ["log", "Log"],
] as const;

export function Operations({ params }: { params: URLSearchParams }) {
  const asked = useAsked("status", () => status(), EVERY_MS);
  const view = VIEWS.find(([name]) => name === params.get("view"))?.[0] ?? "overview";
  const now = asked.answer;
  useInSight(".scroller a[aria-current]", view);
  return (
    <div class="operations">
      <div class="scroller">
        <nav class="segments" aria-label="Views">
          {VIEWS.map(([name, title]) => (
            <a key={name} href={`#/operations?view=${name}`} aria-current={name === view ? "true" : undefined}>{title}</a>
          ))}
        </nav>
      </div>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!now && asked.isLoading && <Loading what="Asking the server…" />}
      {now && <Alarms now={now} />}
      {view === "overview" && now && <Overview now={now} />}
      {view === "senders" && <Later which="Senders" />}
      {view === "queries" && <Later which="Queries" />}
      {view === "storage" && now && <Later which="Storage" now={now} />}
      {view === "backups" && <Later which="Backups" />}
      {view === "retention" && <Later which="Retention" />}
      {view === "audit" && <Later which="Audit" />}
      {view === "settings" && <Later which="Settings" />}
      {view === "log" && <Later which="Log" />}
    </div>
  );
}

/** What is wrong now, whichever view is looked at. */
function Alarms({ now }: { now: Status }) {
  return (
    <>
      {now.troubles?.map((trouble) => <div class="failed" role="alert" key={trouble}><p>{trouble}</p></div>)}
      {now.store?.lacks_space && <div class="failed" role="alert"><p>The disk is all but full: writes are refused. Free some room, or keep samples for less long (retention.time).</p></div>}
      {now.store?.is_poisoned && <div class="failed" role="alert"><p>The log has failed and nothing is acknowledged: check the disk, then restart Foliot.</p></div>}
      {Boolean(now.store?.parts_absent) && <div class="failed" role="alert"><p>{now.store?.parts_absent} parts are missing or damaged, and nothing of them is seen: run foliot check --repair, or take them from a backup.</p></div>}
    </>
  );
}
