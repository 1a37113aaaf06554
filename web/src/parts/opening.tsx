// What is shown while the store is being opened: how far that is.

import type { Opening } from "../api";
import { spanText } from "../time";
import { format } from "../units";

/** How long the rest takes at the pace so far, once there is a pace. */
function left({ for_ms, read_bytes, total_bytes }: Opening): string {
  if (!read_bytes || read_bytes >= total_bytes) return "";
  return `, about ${spanText((for_ms * (total_bytes - read_bytes)) / read_bytes)} left`;
}

export function OpeningCard({ opening }: { opening: Opening }) {
  const { for_ms, read_bytes, total_bytes } = opening;
  return (
    <section class="card opening" aria-label="The store is being opened">
      <h2>The store is being opened</h2>
      <progress value={total_bytes ? read_bytes : undefined} max={Math.max(1, total_bytes)} aria-label="Read of the log" />
      <p role="status">
        {total_bytes
          ? <><b>{format(read_bytes, "bytes")}</b> of {format(total_bytes, "bytes")} of the log are read{left(opening)}</>
          : <>Files are looked at, for {spanText(for_ms)} so far</>}
      </p>
      <p class="note">What was stored since the last flush is read from the log again. Senders and questions wait until that is done, and this page goes on by itself. <code>wal.replay_target</code> bounds how long it takes.</p>
    </section>
  );
}
