// A button that opens a small list.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { isTyped, useKeys } from "../keys";

interface Props {
  title: string;
  /** The key that opens it. */
  hotkey?: string;
  /** What is in the list; it is made when the list opens. */
  children: (close: () => void) => ComponentChildren;
}

export function Menu({ title, hotkey, children }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const id = useId();
  const box = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const onPress = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setIsOpen(false);
    };
    document.addEventListener("pointerdown", onPress);
    return () => document.removeEventListener("pointerdown", onPress);
  }, [isOpen]);
  useKeys((event) => {
    if (event.key !== hotkey || event.ctrlKey || event.metaKey || event.altKey || isTyped(event)) return;
    event.preventDefault();
    setIsOpen(true);
    button.current?.focus();
  });
  const close = () => {
    setIsOpen(false);
    button.current?.focus();
  };
  const move = (by: 1 | -1) => {
    const items = [...box.current?.querySelectorAll<HTMLElement>(".menu-list :is(a, button)") ?? []];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[at < 0 ? (by > 0 ? 0 : items.length - 1) : (at + by + items.length) % items.length]?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    if (!isOpen || event.ctrlKey || event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    }
  };
  return (
    <span
      class="menu" ref={box}
      onKeyDown={(event) => { if (event.key === "Escape" && isOpen) close(); else onKey(event); }}
      onFocusOut={(event) => {
        if (event.relatedTarget && !box.current?.contains(event.relatedTarget as Node)) setIsOpen(false);
      }}
    >
      <button type="button" class="plain" ref={button} aria-expanded={isOpen} aria-controls={id} aria-keyshortcuts={hotkey} onClick={() => setIsOpen(!isOpen)}>{title} <span aria-hidden="true">▾</span></button>
      {isOpen && <span class="menu-list" id={id}>{children(() => setIsOpen(false))}</span>}
    </span>
  );
}
