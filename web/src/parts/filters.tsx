// Labels that series must have, each with a value of its own, and which of them tell lines apart.

import { useState } from "preact/hooks";
import { type Filter, bracesOf } from "../question";
import { Suggest, named } from "./suggest";

interface Props {
  filters: Filter[];
  /** What labels and values are looked for in. */
  of: Record<string, string>;
  onChange: (filters: Filter[]) => void;
}

/** The conditions that labels and values are looked for within: those of all filters but the one that is typed. */
function within(filters: Filter[], typed?: Filter): { filters?: string } {
  const others = filters.filter((filter) => filter !== typed && filter.pattern && filter.pattern !== "*");
  return others.length ? { filters: bracesOf(others) } : {};
}

export function Filters({ filters, of, onChange }: Props) {
  const [adding, setAdding] = useState(false);
  // The label that was just added, whose value is typed next.
  const [added, setAdded] = useState("");
  const set = (at: number, part: Partial<Filter> | null) =>
    onChange(filters.flatMap((filter, index) => (index !== at ? [filter] : part ? [{ ...filter, ...part }] : [])));
  return (
    <>
      {filters.map((filter, at) => (
        <span class="filter" key={filter.label}>
          <b>{filter.label}</b>
          <Suggest
            label={`Value of ${filter.label}`} value={filter.pattern} placeholder="*" isFirst={filter.label === added}
            suggest={named("values", { ...of, label: filter.label, ...within(filters, filter) })} onChange={(pattern) => set(at, { pattern: pattern || "*" })}
          />
          {/[*]/.test(filter.pattern) && filter.pattern.includes("|") && <span class="note">* is a letter beside |</span>}
          <label title="A line for each value">
            <input type="checkbox" checked={filter.splits} onChange={(event) => set(at, { splits: event.currentTarget.checked })} />split
          </label>
          <button type="button" class="plain" aria-label={`Remove ${filter.label}`} onClick={() => set(at, null)}>×</button>
        </span>
      ))}
      {adding
        ? <Suggest
            className="label" label="Label" placeholder="Label" value="" isFirst suggest={named("labels", { ...of, ...within(filters) })}
            onChange={(label) => {
              setAdding(false);
              setAdded(label);
              if (label) onChange([...filters.filter((filter) => filter.label !== label), { label, pattern: "*", splits: true }]);
            }}
          />
        : <button type="button" class="plain" onClick={() => setAdding(true)}>+ label</button>}
    </>
  );
}
