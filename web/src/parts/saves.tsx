// What people keep in the store: questions by name, and panels of dashboards.

import { useState } from "preact/hooks";
import { type Saved, keepSaved, saved } from "../api";
import { useAsked } from "../hooks";
import { here } from "../database";
import { exploredOf } from "../board";
import { dashboardAddress } from "../state";
import { Menu } from "./menu";
import { Failed } from "./small";

/** What an address asks, in a line. */
export const textsOf = (address: string) => exploredOf(address).questions.map(({ text }) => text).join(" · ");

interface Props {
  address: string;
  isAsked: boolean;
  /** Letters of questions that the server could not read. */
  refused: string[];
}

export function SaveMenu(props: Props) {
  return <Menu title="Saved">{(close) => <Saves {...props} close={close} />}</Menu>;
}

function Saves({ address, isAsked, refused, close }: Props & { close: () => void }) {
  const asked = useAsked("saved", saved);
  const all: Saved[] = asked.answer?.saved ?? [];
  const queries = all.filter(({ kind }) => kind === "query");
  const boards = all.filter(({ kind }) => kind === "dashboard");
  const [name, setName] = useState("");
  const [board, setBoard] = useState("");
  const [said, setSaid] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const keep = async () => {
    try {
      const title = name.trim();
      const taken = all.find((one) => one.name === title);
      // A name is of one thing: the other would be gone.
      if (taken && board === (taken.kind === "query" ? "\0" : "")) {
        throw new Error(`“${title}” is a ${taken.kind} already: choose another name.`);
      }
      if (!board) {
        await keepSaved({ name: title, address, was_changed_ms: taken?.changed_ms ?? 0 });
        setSaid(`Saved as “${title}”.`);
      } else {
        const into = board === "\0" ? title : board;
        const before = boards.find((one) => one.name === into);
        const panels = [...(before?.panels ?? []), { title, address }];
        await keepSaved({ name: into, panels, was_changed_ms: before?.changed_ms ?? 0 });
        setSaid(`“${title}” is on the dashboard “${into}”.`);
      }
      setError(null);
      setName("");
      asked.again();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <>
      {asked.error && <Failed error={asked.error} again={asked.again} />}
      {queries.map((one) => (
        <a key={one.name} href={here(one.address ?? "")} onClick={close}><span>{one.name}</span><span class="note code">{textsOf(one.address ?? "")}</span></a>
      ))}
      {boards.map((one) => (
        <a key={one.name} href={dashboardAddress(one.name)} onClick={close}><span>{one.name}</span><span class="note">dashboard of {one.panels?.length}</span></a>
      ))}
      {asked.answer && !all.length && <span class="note">Nothing is saved yet. What you save here, everybody sees who may read this database.</span>}
      {isAsked && (
        <form class="bar keep" onSubmit={(event) => { event.preventDefault(); keep(); }}>
          <input type="text" aria-label="Name to save it under" placeholder="Name" required value={name} onInput={(event) => setName(event.currentTarget.value)} />
          <select aria-label="Save to" value={board} onChange={(event) => setBoard(event.currentTarget.value)}>
            <option value="">as a query</option>
            {boards.map((one) => <option key={one.name} value={one.name}>on {one.name}</option>)}
            <option value={"\0"}>on a new dashboard</option>
          </select>
          <button type="submit">Save</button>
        </form>
      )}
      {isAsked && refused.length > 0 && <span class="note">{refused.join(", ")} {refused.length === 1 ? "is" : "are"} refused as {refused.length === 1 ? "it stands" : "they stand"}, and will be when opened: mend before you save.</span>}
      {error && <Failed error={error} />}
      {said && <span class="note" role="status">{said}</span>}
    </>
  );
}
