// A field that suggests names as one types, by mouse and by keyboard.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { catalogue } from "../api";
import { plain } from "../series";

export interface Suggestion {
  name: string;
  /** What is known of it. */
  note?: string;
}

interface Props {
  value: string;
  /** What was typed on this value before, and not said. */
  begun?: string | undefined;
  label: string;
  placeholder?: string;
  className?: string;
  /** Whether it is to be typed into as soon as it is there. */
  isFirst?: boolean;
  /** Whether its names wait then until they are wanted, as they would lie on what stands below. */
  isQuiet?: boolean;
  /** Names for what was typed. */
  suggest: (typed: string, signal: AbortSignal) => Promise<Suggestion[]>;
  onChange: (value: string) => void;
  /** Hears what is typed, and not said yet. */
  onType?: (typed: string) => void;
}

const NAMES_SUGGESTED = 30;

/** Names that are looked at for the best of them. */
const NAMES_LOOKED_AT = 200;

/** What this server writes about itself. */
const OWN = /^foliot[._]/;

/** Names that hold what was typed: first those that begin with it, and those last that the server writes about itself. */
export function bestFirst(names: string[], typed: string): string[] {
  const low = typed.toLowerCase();
  const rank = (name: string) => (low && name.toLowerCase().startsWith(low) ? 0 : OWN.test(name) ? 2 : 1);
  return [...names].sort((a, b) => rank(a) - rank(b));
}

/** Suggests names of the catalogue. */
export const named = (of: string, params: Record<string, string>) => async (typed: string, signal: AbortSignal) => {
  const search = typed.replace(/[*|].*$/, "");
  const asked = { ...params, search, limit: NAMES_LOOKED_AT, ...(of === "metrics" ? { help: "true" } : {}) };
  const { names, help } = await catalogue(of, asked, signal);
  return bestFirst(names, search).slice(0, NAMES_SUGGESTED).map((name) => {
    const note = help?.[name]?.help;
    return note ? { name, note } : { name };
  });
};

/** The name that a text means: itself where it is one, or a pattern; else the first of those that hold it, if these are all of them. */
export function meant(typed: string, names: string[]): string {
  const said = typed.trim();
  if (!said || /[*|]/.test(said) || names.includes(said) || names.length >= NAMES_SUGGESTED) return typed;
  return names.find((name) => name.toLowerCase().includes(said.toLowerCase())) ?? typed;
}

export function Suggest({ value, begun, label, placeholder, className, isFirst = false, isQuiet = false, suggest, onChange, onType }: Props) {
  const id = useId();
  const [typed, setTyped] = useState(begun ?? value);
  const [offers, setOffers] = useState<Suggestion[]>([]);
  const names = offers.map(({ name }) => name);
  const [isOpen, setIsOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const list = useRef<HTMLUListElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!isFirst) return;
    field.current?.focus();
    field.current?.select();
    if (isQuiet) setIsOpen(false);
  }, [isFirst]);
  // What was typed on a value and not said stands there again where that comes back.
  const half = useRef(begun === undefined ? null : { value, typed: begun });
  useEffect(() => setTyped(half.current?.value === value ? half.current.typed : value), [value]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      suggest(typed, abort.signal).then((found) => {
        if (!abort.signal.aborted) setOffers(found);
      }, () => undefined);
    }, 80);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [typed, isOpen]);
  useEffect(() => list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  // What was chosen is said once, also where the field goes away for it, and so loses the focus.
  const isSaid = useRef(false);
  const choose = (name: string) => {
    isSaid.current = true;
    half.current = null;
    setTyped(name);
    setIsOpen(false);
    setAt(-1);
    if (name !== value) onChange(name);
  };
  const onKey = (event: KeyboardEvent) => {
    if (!event.ctrlKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      setIsOpen(true);
      const move = event.key === "ArrowDown" ? 1 : -1;
      setAt(names.length ? (at + move + names.length) % names.length : -1);
    } else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      const chosen = isOpen ? names[at] : undefined;
      // A form around it is sent by the next one.
      if ((chosen ?? typed) !== value) event.preventDefault();
      if (chosen !== undefined || typed === value) choose(chosen ?? typed);
      // Who types fast is there before the names are.
      else suggest(typed, new AbortController().signal).then((found) => choose(meant(typed, found.map(({ name }) => name))), () => choose(typed));
    } else if (event.key === "Escape") {
      setIsOpen(false);
    }
  };
  const isShown = isOpen && names.length > 0;
  return (
    <div class={`suggest ${className ?? ""}`}>
      <input
        ref={field} type="text" role="combobox" aria-label={label} aria-expanded={isShown} aria-controls={id} aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        placeholder={placeholder} value={typed} autocomplete="off" spellcheck={false}
        onInput={(event) => { isSaid.current = false; half.current = { value, typed: event.currentTarget.value }; setTyped(event.currentTarget.value); onType?.(event.currentTarget.value); setIsOpen(true); setAt(-1); }}
        onFocus={() => setIsOpen(true)} onClick={() => setIsOpen(true)}
        onBlur={() => { setIsOpen(false); half.current = null; if (typed !== value && !isSaid.current) onChange(typed); }}
        onKeyDown={onKey}
      />
      {isShown && (
        <ul id={id} role="listbox" ref={list} aria-label={label}>
          {names.map((name, index) => (
            <li
              key={name} id={`${id}-${index}`} role="option" aria-selected={index === at}
              onMouseDown={(event) => { event.preventDefault(); choose(name); }}
            >{plain(name)}{offers[index]?.note && <span class="note">{offers[index]?.note}</span>}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
