// A dashboard is made of a file; where its name is taken, another is asked for.

import { useEffect, useState } from "preact/hooks";
import { keepSaved } from "../api";
import { NAME_CHARS_MAX, mustBeFree } from "../board";
import { type BoardFile, readBoard } from "../boardfile";
import { dashboardAddress } from "../state";
import { Failed, Loading } from "./small";

interface Props {
  file: File;
  /** Names that others have. */
  taken: string[];
  onDone: () => void;
  onCancel: () => void;
}

export function BoardImport({ file, taken, onDone, onCancel }: Props) {
  const [found, setFound] = useState<BoardFile | null>(null);
  const [name, setName] = useState("");
  const [error, setError] = useState<Error | null>(null);
  const make = async (title: string, { panels }: BoardFile) => {
    mustBeFree(title, taken);
    await keepSaved({ name: title, panels, was_changed_ms: 0 });
    location.hash = dashboardAddress(title);
    onDone();
  };
  useEffect(() => {
    setFound(null);
    setError(null);
    readBoard(file).then((read) => {
      setFound(read);
      setName(read.name);
      return make(read.name, read);
    }).catch(setError);
  }, [file]);
  if (!error) return <Loading what={`Reading ${file.name}…`} />;
  return (
    <form class="bar new-board" onSubmit={(event) => { event.preventDefault(); if (found) make(name.trim(), found).catch(setError); }}>
      {found && (
        <>
          <input type="text" aria-label="Name of the dashboard of the file" required maxLength={NAME_CHARS_MAX} value={name} onInput={(event) => setName(event.currentTarget.value)} />
          <button type="submit" class="main">Make</button>
        </>
      )}
      <button type="button" class="plain" onClick={onCancel}>Cancel</button>
      <Failed error={error} />
    </form>
  );
}
