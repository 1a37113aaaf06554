// Work in slices: what somebody clicks, and the next frame, go first.

/** How long one slice may take: half a frame. */
const SLICE_MS = 8;

interface Scheduler {
  yield?: () => Promise<void>;
}

/** Goes on after what waits already: input, drawing, timers. */
export function pause(): Promise<void> {
  const { scheduler } = globalThis as { scheduler?: Scheduler };
  if (scheduler?.yield) return scheduler.yield();
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(null);
  });
}

/** What `each` makes of all, in order, with pauses between. Whoever gives up says so by the signal. */
export async function mapped<T, U>(all: T[], each: (one: T) => U, signal?: AbortSignal): Promise<U[]> {
  const made: U[] = [];
  let began = performance.now();
  for (const one of all) {
    made.push(each(one));
    if (performance.now() - began < SLICE_MS) continue;
    await pause();
    signal?.throwIfAborted();
    began = performance.now();
  }
  return made;
}

/** What `each` makes of all, in order, while so many are under way at a time. */
export async function pooled<T, U>(all: T[], most: number, each: (one: T) => Promise<U>): Promise<U[]> {
  const made: U[] = new Array(all.length);
  let next = 0;
  const work = async () => {
    while (next < all.length) {
      const at = next;
      next += 1;
      made[at] = await each(all[at]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, all.length) }, work));
  return made;
}
