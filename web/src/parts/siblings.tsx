// Metrics that belong to one: other fields of its measurement, and those whose names begin as its own does.

import { catalogue } from "../api";
import { database, here } from "../database";
import { useAsked } from "../hooks";
import { prefixOf, siblingFields, storedFields } from "../metric";
import { metricAddress } from "../scope";
import { plain } from "../series";

/** Names that are asked for, and that are listed. */
const ASKED = 200;
const LISTED = 40;

async function siblings(metric: string, signal: AbortSignal) {
  const prefix = prefixOf(metric);
  const [ofFields, like] = await Promise.all([
    siblingFields(metric, storedFields(database())), prefix ? catalogue("metrics", { search: prefix, limit: ASKED }, signal) : null,
  ]);
  const fields = new Set([metric, ...ofFields]);
  return { fields: ofFields, prefix, like: (like?.names ?? []).filter((name) => name.startsWith(prefix) && !fields.has(name)) };
}

function Names({ names, listed }: { names: string[]; listed: number }) {
  return <p class="values">{names.slice(0, listed).map((name) => <a key={name} class="code" href={metricAddress(name)}>{plain(name)}</a>)}</p>;
}

export function Siblings({ metric }: { metric: string }) {
  const found = useAsked(`siblings ${metric}`, (signal) => siblings(metric, signal)).answer;
  if (!found || (!found.fields.length && !found.like.length)) return null;
  const { fields, prefix, like } = found;
  return (
    <section class="card wide">
      <h2>Beside it</h2>
      {fields.length > 0 && <><p class="note">other fields of its measurement</p><Names names={fields} listed={ASKED} /></>}
      {like.length > 0 && (
        <>
          <p class="note">metrics that begin with {plain(prefix)}{like.length > LISTED && <>; the first {LISTED}. <a href={here(`#/metrics?${new URLSearchParams({ search: prefix })}`)}>All of them</a></>}</p>
          <Names names={like} listed={LISTED} />
        </>
      )}
    </section>
  );
}
