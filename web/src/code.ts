// Questions for elsewhere: for a shell, a program, or another database's client.

import { type Word, nextWord } from "./influxql";
import { nextPromqlWord } from "./promql";
import { nextSqlWord } from "./sql";
import { type Body, withStep } from "./question";

/** What the page wants beside the answer, others need not ask for; nor the blanks that stand for other statements. */
const asked = ({ explain: _explain, makers: _makers, exact: _exact, ...body }: Body) => ({ ...body, text: body.text.trim() });

const shell = (text: string) => `'${text.replace(/'/g, "'\\''")}'`;

const address = (origin: string, database: string) =>
  `${origin}/api/foliot/v1/query${database ? `?db=${encodeURIComponent(database)}` : ""}`;

export function curl(origin: string, database: string, body: Body): string {
  return `curl -s ${shell(address(origin, database))} -d ${shell(JSON.stringify(asked(body)))}`;
}

const PYTHON_SERIES = `for series in json.load(urllib.request.urlopen(request))["series"]:
    print(series["name"], series["labels"], list(zip(series["times"], series["values"])))
`;

const PYTHON_ROWS = `for table in json.load(urllib.request.urlopen(request))["tables"]:
    for row in table["rows"]:
        print(dict(zip(table["columns"], row)))
`;

const JAVASCRIPT_SERIES = `for (const { name, labels, times, values } of (await answer.json()).series) {
  console.log(name, labels, times.map((time, index) => [time, values[index]]));
}
`;

const JAVASCRIPT_ROWS = `for (const { columns, rows } of (await answer.json()).tables) {
  console.log(columns, rows);
}
`;

export function python(origin: string, database: string, body: Body): string {
  // What JSON writes as a text is one to Python, too; the body holds texts and numbers only.
  return `import json, urllib.request

question = ${JSON.stringify(asked(body), null, 4)}
request = urllib.request.Request(${JSON.stringify(address(origin, database))}, json.dumps(question).encode())
${body.language === "sql" ? PYTHON_ROWS : PYTHON_SERIES}`;
}

export function javascript(origin: string, database: string, body: Body): string {
  return `const answer = await fetch(${JSON.stringify(address(origin, database))}, {
  method: "POST",
  body: JSON.stringify(${JSON.stringify(asked(body), null, 2).replace(/\n/g, "\n  ")}),
});
${body.language === "sql" ? JAVASCRIPT_ROWS : JAVASCRIPT_SERIES}`;
}

/** A text with its bounds as what they are, but for those in names and strings. */
function bound(text: string, next: (text: string) => Word, values: Record<string, string>): string {
  let said = "";
  for (let rest = text; rest;) {
    const word = next(rest);
    said += (word.class === "bound" && values[word.text]) || word.text;
    rest = rest.slice(word.text.length);
  }
  return said;
}

/** An address of the door whose language it is, for clients that speak that; SQL's knows several formats. */
export function link(origin: string, database: string, body: Body, format: "json" | "jsonl" | "csv" = "json"): string {
  const named: [string, string][] = database ? [["db", database]] : [];
  if (body.language === "opentsdb") {
    const m = withStep(body.text, `${body.step_ms}ms`);
    const params = new URLSearchParams([["start", String(body.start_ms)], ["end", String(body.end_ms)], ["ms", "true"], ["m", m], ...named]);
    return `${origin}/api/query?${params}`;
  }
  if (body.language === "promql") {
    const seconds = (ms: number) => (ms / 1000).toFixed(3);
    const text = bound(body.text, nextPromqlWord, { $step: `${body.step_ms}ms`, $range: `${body.end_ms - body.start_ms}ms`, $start: seconds(body.start_ms), $end: seconds(body.end_ms) });
    const params = new URLSearchParams([...named, ["query", text], ["start", seconds(body.start_ms)], ["end", seconds(body.end_ms)], ["step", `${body.step_ms}ms`]]);
    return `${origin}/prometheus/api/v1/query_range?${params}`;
  }
  if (body.language === "sql") {
    const time = (ms: number) => `TIMESTAMP '${new Date(ms).toISOString()}'`;
    const q = bound(body.text.trim(), nextSqlWord, { $step: `INTERVAL '${body.step_ms} milliseconds'`, $start: time(body.start_ms), $end: time(body.end_ms) });
    return `${origin}/api/v3/query_sql?${new URLSearchParams([...named, ["q", q], ["format", format]])}`;
  }
  const q = bound(body.text, nextWord, { $step: `${body.step_ms}ms`, $start: `${body.start_ms}ms`, $end: `${body.end_ms}ms` });
  return `${origin}/query?${new URLSearchParams([...named, ["epoch", "ms"], ["q", q]])}`;
}
