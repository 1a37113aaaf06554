// A button that opens a small list.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

interface Props {
  title: string;
  /** What is in the list; it is made when the list opens. */
  children: (close: () => void) => ComponentChildren;
}

export function Menu({ title, children }: Props) {
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
  return (
    <span
      class="menu" ref={box}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return;
        setIsOpen(false);
        button.current?.focus();
      }}
      onFocusOut={(event) => {
        if (event.relatedTarget && !box.current?.contains(event.relatedTarget as Node)) setIsOpen(false);
      }}
    >
      <button type="button" class="plain" ref={button} aria-expanded={isOpen} aria-controls={id} onClick={() => setIsOpen(!isOpen)}>{title} <span aria-hidden="true">▾</span></button>
      {isOpen && <span class="menu-list" id={id}>{children(() => setIsOpen(false))}</span>}
    </span>
  );
}
