// A part of the page that is fetched when somebody comes to it.

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failed, Loading } from "./small";

type Files = typeof import("../pages/files");

type Props<Which extends keyof Files> = { which: Which } & (Files[Which] extends (props: infer Given) => unknown ? Given : unknown);

/** Once they are there, they are there. */
let fetched: Files | null = null;

export function Later<Which extends keyof Files>({ which, ...rest }: Props<Which>) {
  const [files, setFiles] = useState(fetched);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    if (files) return;
    import("../pages/files").then((found) => setFiles(fetched = found), () => setError(new Error("This part of the page could not be fetched. Load the page again when the server answers.")));
  }, []);
  if (error) return <Failed error={error} />;
  if (!files) return <Loading what="Fetching the page…" />;
  const It = files[which] as FunctionComponent<typeof rest>;
  return <It {...rest} />;
}
