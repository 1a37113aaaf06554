// What is known of backups, and the commands about them.

import type { Backup } from "./api";

/** The newest backup that can be restored. */
export const lastGood = (list: Backup[]): Backup | undefined => list.find(({ state }) => state === "done");

/** A word of a command, quoted where a shell would take it apart. */
export const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const parent = (path: string) => path.replace(/\/[^/]+\/?$/, "") || "/";

/** Commands for the next backup, and to check and restore the last good one. */
export function backupCommands(list: Backup[], dataDir: string): { title: string; text: string }[] {
  const good = lastGood(list);
  const into = word(good ? parent(good.to) : "/backups");
  const next = { title: "The next backup, which shares with the one before what has not changed", text: `foliot backup --data-dir ${word(dataDir)} ${into}` };
  if (!good) return [next];
  return [
    next,
    { title: "Check the last good one", text: `foliot check --data-dir ${word(good.to)}` },
    { title: "Restore it to an empty directory, and look at it beside this server", text: `foliot restore ${word(good.to)} --data-dir ${word(`${dataDir}.restored`)}\nfoliot serve --data-dir ${word(`${dataDir}.restored`)} --listen 127.0.0.1:4343` },
  ];
}
