// Where it is told how questions were carried out, once somebody wants to know.

import { held } from "../hooks";
import type { Props } from "./explained";
import { Later } from "./later";

/** It stays open until somebody closes it, whatever is asked. */
const useOpen = held(false);

export function Explain(props: Props) {
  const [isOpen, setIsOpen] = useOpen();
  return (
    <details class="cost" open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Explain: how it was answered, and what that cost</summary>
      {isOpen && <Later which="Explained" {...props} />}
    </details>
  );
}
