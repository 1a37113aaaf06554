// Labels that series must have, each with a value of its own, and which of them tell lines apart.

import { useState } from "preact/hooks";
import { type Compared, type Filter, bracesOf, comparedOf, patternOf } from "../question";
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
  // How a label is compared whose value comes next.
  const [chosen, setChosen] = useState<Record<string, Compared>>({});
  const compared = ({ label, pattern }: Filter) => (pattern === "*" ? { by: chosen[label] ?? "=", text: pattern } : comparedOf(pattern));
  const compare = (at: number, by: Compared) => {
    const { label } = filters[at]!;
    const { text } = compared(filters[at]!);
    setChosen({ ...chosen, [label]: by });
    if (text !== "*") set(at, { pattern: patternOf(by, text) });
  };
  const set = (at: number, part: Partial<Filter> | null) =>
    onChange(filters.flatMap((filter, index) => (index !== at ? [filter] : part ? [{ ...filter, ...part }] : [])));
  return (
    <>
      {filters.map((filter, at) => { const { by, text } = compared(filter); return (
        <span class="filter" key={filter.label}>
          <b>{filter.label}</b>
          <select
            aria-label={`How ${filter.label} is compared`} title="=: a value, several as a|b, or a pattern as web*. ≠: none of these values. ~: a regular expression." value={by}
            onChange={(event) => compare(at, event.currentTarget.value as Compared)}
          >
            <option>=</option><option>≠</option><option>~</option>
          </select>
          <Suggest
            label={`Value of ${filter.label}`} value={text} placeholder="*" isFirst={filter.label === added}
            suggest={named("values", { ...of, label: filter.label, ...within(filters, filter) })} onChange={(value) => set(at, { pattern: /^(not_)?(literal_or|iliteral_or|wildcard|iwildcard|regexp)\(/.test(value) ? value : patternOf(by, value) })}
          />
          {by === "=" && /[*]/.test(filter.pattern) && filter.pattern.includes("|") && <span class="note">* is a letter beside |</span>}
          <label title="A line for each value">
            <input type="checkbox" checked={filter.splits} onChange={(event) => set(at, { splits: event.currentTarget.checked })} />split
          </label>
          <button type="button" class="plain" aria-label={`Remove ${filter.label}`} onClick={() => set(at, null)}>×</button>
        </span>
      ); })}
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
