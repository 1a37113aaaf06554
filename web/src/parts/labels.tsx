// Labels as they stand beside one another, each a small piece of its own.

import { plain } from "../series";

export const Labels = ({ of, without = [] }: { of: Record<string, string>; without?: string[] }) => (
  <span class="labels">
    {Object.entries(of).filter(([name]) => !without.includes(name)).map(([name, value]) => <code key={name}><b>{plain(name)}</b>={plain(value)}</code>)}
  </span>
);
