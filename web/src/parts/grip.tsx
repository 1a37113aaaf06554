// An edge that makes what is above it higher or lower, by mouse and by keys.

import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { useRef } from "preact/hooks";

interface Props {
  /** How high it is now. */
  px: () => number;
  least: number;
  most: number;
  /** What a key makes of it. */
  step: number;
  label: string;
  onChange: (px: number) => void;
  /** Makes it as high as it is by itself. */
  onUsual: () => void;
}

export function Grip({ px, least, most, step, label, onChange, onUsual }: Props) {
  const held = useRef<{ y: number; px: number } | null>(null);
  const change = (to: number) => onChange(Math.max(least, Math.min(most, to)));
  const onMove = (event: TargetedPointerEvent<HTMLDivElement>) => {
    if (held.current) change(held.current.px + event.clientY - held.current.y);
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const by = event.key === "ArrowUp" ? -step : event.key === "ArrowDown" ? step : 0;
    if (event.ctrlKey || event.altKey || event.metaKey || (!by && event.key !== "Escape")) return;
    event.preventDefault();
    if (by) change(px() + by);
    else onUsual();
  };
  return (
    <div
      class="grip" role="separator" aria-orientation="horizontal" aria-label={label} aria-valuenow={Math.round(px()) || least} aria-valuemin={least} aria-valuemax={most} tabIndex={0}
      title="Drag, or ↑ and ↓: higher or lower. Double click, or Esc: as high as the text."
      onMouseDown={(event) => event.preventDefault()}
      onPointerDown={(event) => { held.current = { y: event.clientY, px: px() }; event.currentTarget.setPointerCapture(event.pointerId); }}
      onPointerMove={onMove} onPointerUp={() => { held.current = null; }} onPointerCancel={() => { held.current = null; }}
      onDblClick={onUsual} onKeyDown={onKey}
    />
  );
}
