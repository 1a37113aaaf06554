// Labels that series must have, each with a value of its own, and which of them tell lines apart.

import { useState } from "preact/hooks";
import { type Compared, type Filter, bracesOf, comparedOf, patternOf } from "../question";
import { Suggest, named } from "./suggest";

interface Props {
  filters: Filter[];
  /** Whether lines are drawn, which a label may tell apart. */
  areLines?: boolean;
  /** What labels and values are looked for in. */
  of: Record<string, string>;
  onChange: (filters: Filter[]) => void;
}

/** The conditions that labels and values are looked for within: those of all filters but the one that is typed. */
function within(filters: Filter[], typed?: Filter): { filters?: string } {
  const others = filters.filter((filter) => filter !== typed && filter.pattern && filter.pattern !== "*");
  return others.length ? { filters: bracesOf(others) } : {};
}

/** What OpenTSDB's own filters are called, for who writes one out. */
const CALLED = /^(not_)?(i?literal_or|i?wildcard|regexp)\(/;

interface FieldProps {
  filter: Filter;
  areLines: boolean;
  /** Whether it was just added, and its value is typed next. */
  isNew: boolean;
  /** What its values are looked for in. */
  of: Record<string, string>;
  /** Another pattern or split; nothing where the filter goes. */
  onChange: (part: Partial<Filter> | null) => void;
}

function Field({ filter: { label, pattern, splits }, areLines, isNew, of, onChange }: FieldProps) {
  const said = comparedOf(pattern);
  // How it is compared may be chosen before there is a value.
  const [chosen, setChosen] = useState<Compared>(said.by);
  const { by, text } = pattern === "*" ? { by: chosen, text: pattern } : said;
  const compare = (next: Compared) => {
    setChosen(next);
    if (text !== "*") onChange({ pattern: patternOf(next, text) });
  };
  return (
    <span class="filter">
      <b>{label}</b>
      <select
        aria-label={`How ${label} is compared`} title="=: a value, several as a|b, or a pattern as web*. ≠: none of these values. ~: a regular expression. !~: none that fits it." value={by}
        onChange={(event) => compare(event.currentTarget.value as Compared)}
      >
        <option>=</option><option>≠</option><option>~</option><option>!~</option>
      </select>
      <Suggest
        label={`Value of ${label}`} value={text} placeholder="*" isFirst={isNew}
        suggest={named("values", { ...of, label })} onChange={(value) => onChange({ pattern: CALLED.test(value) ? value : patternOf(by, value) })}
      />
      {by === "=" && text.includes("*") && text.includes("|") && <span class="note">* is a letter beside |</span>}
      {areLines && (
        <label title="A line for each value">
          <input type="checkbox" checked={splits} onChange={(event) => onChange({ splits: event.currentTarget.checked })} />split
        </label>
      )}
      <button type="button" class="plain" aria-label={`Remove ${label}`} onClick={() => onChange(null)}>×</button>
    </span>
  );
}

export function Filters({ filters, areLines = true, of, onChange }: Props) {
  const [adding, setAdding] = useState(false);
  const [added, setAdded] = useState("");
  const set = (at: number, part: Partial<Filter> | null) =>
    onChange(filters.flatMap((filter, index) => (index !== at ? [filter] : part ? [{ ...filter, ...part }] : [])));
  return (
    <>
      {filters.map((filter, at) => (
        <Field key={filter.label} filter={filter} areLines={areLines} isNew={filter.label === added} of={{ ...of, ...within(filters, filter) }} onChange={(part) => set(at, part)} />
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
