// This server's own metrics, which one may want to see or not.

/** How metrics begin that this server writes about itself, and that a scrape of it brings. */
export const OWN = ["foliot.", "foliot_"];

/** The same, as the catalogue is told to leave them out. */
export const WITHOUT_OWN = OWN.join(",");

export const isOwn = (metric: string) => OWN.some((begin) => metric.startsWith(begin));

export function HideOwn({ isHidden, onChange }: { isHidden: boolean; onChange: (isHidden: boolean) => void }) {
  return <label class="check note"><input type="checkbox" checked={isHidden} onChange={(event) => onChange(event.currentTarget.checked)} />hide own metrics&nbsp;<code>{OWN.map((begin) => `${begin}*`).join(" ")}</code></label>;
}
