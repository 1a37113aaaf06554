// The zone in which times are shown and read: the browser's own, UTC, or any by its name.

import { useState } from "preact/hooks";
import { type Zone, zoneNamed, zones } from "../time";

/** The value of the choice of one that is not listed. */
const ANOTHER = "\0";

export function ZoneChoice({ zone, onChange }: { zone: Zone; onChange: (zone: Zone) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "local";
  if (typed === null) {
    return (
      <select aria-label="Zone" value={zone} onChange={(event) => (event.currentTarget.value === ANOTHER ? setTyped("") : onChange(event.currentTarget.value))}>
        <option value="local">{own === "UTC" ? "here, UTC" : own}</option>
        <option value="utc">UTC</option>
        {zone !== "local" && zone !== "utc" && <option value={zone}>{zone}</option>}
        <option value={ANOTHER}>another…</option>
      </select>
    );
  }
  const name = typed.trim();
  const found = zoneNamed(name);
  const take = () => {
    if (found && found !== zone) onChange(found);
    if (!name || found) setTyped(null);
  };
  return (
    <>
      <input
        type="text" class="short" aria-label="Zone" list="zones" placeholder="Berlin, or +02:00" value={typed} autocomplete="off" spellcheck={false}
        ref={(field) => { if (field && document.activeElement !== field && !typed) field.focus(); }} aria-invalid={Boolean(name) && !found}
        onInput={(event) => setTyped(event.currentTarget.value)} onChange={take} onBlur={take}
        onKeyDown={(event) => {
          if (event.key === "Escape") setTyped(null);
          if (event.key !== "Enter") return;
          event.preventDefault();
          take();
        }}
      />
      <datalist id="zones">{zones().map((one) => <option key={one} value={one} />)}</datalist>
      {name && found !== name && <span class="note" role="status">{found ? `Enter takes ${found === "utc" ? "UTC" : found}` : "no zone yet: as Berlin, Europe/Vienna, UTC or +02:00"}</span>}
    </>
  );
}
