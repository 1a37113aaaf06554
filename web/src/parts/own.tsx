// This server's own metrics, which one may want to see or not.

/** How metrics begin that this server writes about itself. */
export const OWN = "foliot.";

export function HideOwn({ isHidden, onChange }: { isHidden: boolean; onChange: (isHidden: boolean) => void }) {
  return <label class="check note"><input type="checkbox" checked={isHidden} onChange={(event) => onChange(event.currentTarget.checked)} />hide own metrics,&nbsp;<code>{OWN}*</code></label>;
}
