// A part of the page that is fetched when somebody comes to it.

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failed, Loading } from "./small";

type Files = Omit<typeof import("../pages/files"), "completed">;

type Props<Which extends keyof Files> = { which: Which } & (Files[Which] extends (props: infer Given) => unknown ? Given : unknown);

/** Where the server has them. */
const FILE = "/s/files.js";

/** How soon they are fetched again where that failed. */
const AGAIN_MS = 2000;

/** How long a page has been there at least that is loaded anew for it. */
const LOADED_AFTER_MS = 60_000;

/** What reads and writes Parquet, which few need. */
export const fetchedParquet = () => import("../parquet").catch(() => {
  throw new Error("The server does not answer, and what knows Parquet is to be fetched from it: try again.");
});

/** Once they are there, they are there. */
let fetched: Files | null = null;

export function Later<Which extends keyof Files>({ which, ...rest }: Props<Which>) {
  const [files, setFiles] = useState(fetched);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    if (files) return undefined;
    let timer = 0;
    let isHere = true;
    let failures = 0;
    const get = () => import("../pages/files").then((found) => {
      fetched = found;
      if (!isHere) return;
      setFiles(found);
      setError(null);
    }, async () => {
      // Some browsers remember that a file could not be fetched until the page is loaded anew.
      const isThere = await fetch(FILE).then(({ ok }) => ok, () => false);
      if (!isHere) return;
      if (isThere && failures > 0 && performance.now() > LOADED_AFTER_MS) return location.reload();
      failures += 1;
      setError(new Error("The server does not answer, and this part of the page is to be fetched. It is asked again."));
      timer = window.setTimeout(get, AGAIN_MS);
    });
    get();
    return () => {
      isHere = false;
      clearTimeout(timer);
    };
  }, []);
  if (error) return <Failed error={error} />;
  if (!files) return <Loading what="Fetching the page…" />;
  const It = files[which] as FunctionComponent<typeof rest>;
  return <It {...rest} />;
}
