// The audit log: who took samples away, when, which and how many; and who changed what others may do.

import { type Act, acts } from "../api";
import { concerns, overOf, tookOf, whatOf, whoOf } from "../audit";
import { database } from "../database";
import { useAsked } from "../hooks";
import { timeText } from "../time";
import { Empty, Failed, Loading } from "./small";

const EVERY_MS = 10_000;

/** Lines that are asked for. */
const ASKED = 1000;

function Acts({ all, label }: { all: Act[]; label: string }) {
  return (
    <div class="scroll tall" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead><tr><th scope="col">When</th><th scope="col">Who</th><th scope="col">What</th><th scope="col" class="number">How many</th></tr></thead>
        <tbody>
          {all.map((act, at) => (
            <tr key={at}>
              <td class="nowrap">{timeText(act.at_ms, "local").slice(0, 19)}</td>
              <td>{whoOf(act)}</td>
              <td class="what"><b>{act.act}</b> <span class="code">{whatOf(act)}</span>{act.database && <span class="note"> in {act.database}</span>}{overOf(act) && <div class="note">{overOf(act)}</div>}</td>
              <td class="number">{tookOf(act)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** All that it says. */
export function Audit() {
  const asked = useAsked("audit", () => acts(ASKED), EVERY_MS);
  const found = asked.answer;
  return (
    <section class="card">
      <h2>Who took what away, and who may do what</h2>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!found && asked.isLoading && <Loading what="Reading the audit log…" />}
      {found && !found.acts.length && <Empty title="The audit log is empty"><p>Deletes by any door, drops, renames, changed retention, and changes of users and tokens stand here before they happen.</p></Empty>}
      {found && found.acts.length > 0 && <Acts all={found.acts} label="Audit log" />}
      {found && !found.is_whole && <p class="note">The newest {found.acts.length}; the files audit.log and audit.log.1 beside the store have more.</p>}
    </section>
  );
}

/** What was taken away of a metric. Who does not administer the server may not know who did it, and sees nothing here. */
export function AuditOf({ metric, turn }: { metric: string; turn: number }) {
  const asked = useAsked(`audit ${metric} ${turn}`, () => acts(ASKED));
  const all = (asked.answer?.acts ?? []).filter((act) => (!database() || act.database === database()) && concerns(act, metric));
  if (!asked.answer) return null;
  return (
    <>
      <h3>What was deleted of it before</h3>
      {!all.length && <p class="note">Nothing, as far as the audit log goes back.</p>}
      {all.length > 0 && <Acts all={all} label={`What was deleted of ${metric}`} />}
    </>
  );
}
