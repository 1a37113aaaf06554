// Series with their last samples, and who made them.

import { reporters } from "../api";
import { useAsked } from "../hooks";
import { plain } from "../series";
import { spanText, timeText } from "../time";
import { format } from "../units";
import { who } from "./senders";
import { Failed, Loading } from "./small";

const SERIES_LISTED = 200;

/** A series that has been silent for this long beside others that report is said to be quiet. */
const QUIET_MS = 3_600_000;

/** Series by their last samples: what has stopped reporting stands first. `of` says which, in the words of the API. */
export function Reporters({ of }: { of: Record<string, string> }) {
  const asked = useAsked(`series ${JSON.stringify(of)}`, (signal) => reporters({ ...of, limit: SERIES_LISTED }, signal));
  const found = asked.answer;
  const now = Date.now();
  const quiet = (found?.series ?? []).filter(({ last_ms }) => now - last_ms > QUIET_MS).length;
  return (
    <section class="card wide">
      <h2>Last samples</h2>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {!found && asked.isLoading && <Loading what="Looking for last samples…" />}
      {found && (
        <p class="note">
          {format(found.total)} series {found.total === 1 ? "has" : "have"} samples, {quiet ? `${format(quiet)}${quiet === SERIES_LISTED ? " or more" : ""} of them none in the last hour` : "all of them in the last hour"}
          {!found.is_whole && `; the ${SERIES_LISTED} that were quiet longest`}
        </p>
      )}
      {found && found.series.length > 0 && (
        <div class="scroll lasts" tabIndex={0} role="region" aria-label="Last samples">
          <table>
            <thead><tr><th scope="col">Series</th><th scope="col">Last sample</th><th scope="col" class="number">Ago</th><th scope="col">Made by</th></tr></thead>
            <tbody>
              {found.series.map(({ metric, labels, last_ms, made_by }) => {
                const told = Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(", ");
                const name = of["metric"] ? told || "no labels" : `${metric} {${told}}`;
                return (
                  <tr key={name}>
                    <td>{plain(name)}</td><td class="nowrap">{timeText(last_ms, "local")}</td>
                    <td class={`number ${now - last_ms > QUIET_MS ? "quiet" : ""}`}>{last_ms > now ? "ahead" : spanText(now - last_ms)}</td>
                    <td class={made_by ? "nowrap" : "note"}>{made_by ? `${who(made_by)}, ${made_by.protocol}` : "not known"}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
