// Where it is told how questions were carried out, once somebody wants to know.

import { useState } from "preact/hooks";
import type { Props } from "./explained";
import { Later } from "./later";

export function Explain(props: Props) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details class="cost" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Explain: how it was answered, and what that cost</summary>
      {isOpen && <Later which="Explained" {...props} />}
    </details>
  );
}
