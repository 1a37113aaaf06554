// The choice of the database that all pages look into; there is none where there is one database.

import { useEffect } from "preact/hooks";
import { databases } from "../api";
import { addressIn, database, isGone, leavesOpen } from "../database";
import { useAsked } from "../hooks";
import type { Place } from "../state";

/** Databases are made by who writes to them. */
const EVERY_MS = 10_000;

export function DatabaseChoice({ at }: { at: Place }) {
  const asked = useAsked("databases", () => databases(), EVERY_MS);
  const own = asked.answer?.own ?? "";
  const names = asked.answer?.databases.map(({ name }) => name) ?? [];
  const chosen = database() || own;
  // Also where no page is, whose name is looked at.
  const page = /^#\/?([^?]+)/.exec(location.hash)?.[1] ?? "home";
  const go = (name: string) => { location.hash = addressIn(name === own ? "" : name, page, at.params); };
  // Who may read others only looks into the first of them, unless the address says otherwise.
  const [first] = names;
  const mayNotOwn = first !== undefined && chosen === own && !names.includes(own) && leavesOpen(at.params);
  useEffect(() => { if (mayNotOwn) go(first); }, [mayNotOwn]);
  // One that was looked into last time may have been dropped since.
  const isDropped = asked.answer !== null && isGone(names);
  useEffect(() => { if (isDropped) go(own); }, [isDropped]);
  if (!asked.answer || (names.length < 2 && chosen === own && names.every((name) => name === own))) return null;
  return (
    <select class="database" aria-label="Database" title="The database that all pages look into" value={chosen} onChange={(event) => go(event.currentTarget.value)}>
      {[...new Set([...names, own, chosen])].map((name) => <option key={name} value={name}>{name}</option>)}
    </select>
  );
}
