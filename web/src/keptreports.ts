// Reports that are open, kept by this browser until somebody closes them: they are too long for its other store.

const [NAME, TABLE, KEY] = ["foliot", "reports", "open"];

const done = <T>(asked: IDBRequest<T>): Promise<T> => new Promise((resolve, reject) => {
  asked.onsuccess = () => resolve(asked.result);
  asked.onerror = () => reject(asked.error);
});

async function table(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  const opened = indexedDB.open(NAME, 1);
  opened.onupgradeneeded = () => { opened.result.createObjectStore(TABLE); };
  const base = await done(opened);
  const change = base.transaction(TABLE, mode);
  // Another page may want to change what the browser keeps.
  change.oncomplete = () => base.close();
  return change.objectStore(TABLE);
}

/** The texts of the reports that were open. */
export async function keptReports(): Promise<string[]> {
  const kept: unknown = await done((await table("readonly")).get(KEY));
  return Array.isArray(kept) ? kept.filter((text) => typeof text === "string") : [];
}

export async function keepReports(texts: string[]): Promise<void> {
  await done((await table("readwrite")).put(texts, KEY));
}
