// The same questions for elsewhere: as commands, programs, or addresses of the doors whose languages they are in.

import { asBody, isAsked, wantedOf } from "../asking";
import { curl, javascript, link, python } from "../code";
import type { Body } from "../question";
import type { Explored } from "../state";
import { partsOf } from "../statements";
import { Copy } from "./small";

export function CopyAs({ explored }: { explored: Explored }) {
  const as = (write: (origin: string, database: string, body: Body) => string) => () => {
    try {
      const wanted = wantedOf(explored);
      return explored.questions.filter(isAsked).flatMap((question) => partsOf(asBody(question, explored.view, wanted.span, wanted.stepMs))).map((body) => write(location.origin, explored.database, body)).join("\n");
    } catch {
      // The page says what is wrong with it.
      return "";
    }
  };
  return (
    <>
      <Copy text={as(curl)}>curl</Copy><Copy text={as(link)}>address</Copy>
      <Copy text={as(python)}>Python</Copy><Copy text={as(javascript)}>JavaScript</Copy>
    </>
  );
}
