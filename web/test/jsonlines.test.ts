import { describe, expect, it } from "vitest";
import { sheetOf, typedBy } from "../src/csv";
import { jsonLines } from "../src/download";
import { linesOf } from "../src/importing";
import { isJsonLines, unjsoned } from "../src/jsonlines";
import { readAs } from "../src/looking";
import { lineOf } from "../src/rowline";
import { unreadLine } from "../src/typed";

/** Node of before 21 does not tell how a number was written. */
const great = JSON.parse("9007199254740993", ((_: string, value: unknown, context?: { source?: string }) => context?.source ?? String(value)) as never);

const file = (text: string) => new File([text], "a.jsonl");
const bytes = (text: string) => new TextEncoder().encode(text);

/** The Influx lines that come of a file. */
async function brought(text: string): Promise<string[]> {
  const typed = await unjsoned(file(text));
  const lines = (await typed.file.text()).split("\n");
  const sheet = typedBy(sheetOf(lines, undefined, true)!, typed, lines);
  return lines.slice(1).filter(Boolean).map((line) => lineOf(line, sheet, "file"));
}

describe("lines of JSON", () => {
  it("are told by their first line", () => {
    for (const text of ['{"a":1}\n{"a":2}', ' {"a":{}}\r\n', "{}", `{"a":"${"x".repeat(9000)}`]) expect(isJsonLines(bytes(text))).toBe(true);
    for (const text of ['{\n"a":1}', "[1]", "up{a=\"b\"} 1", "", '{"a":1},\n']) expect(isJsonLines(bytes(text))).toBe(false);
  });
  it("of which some have a nested value keep its column, and these lines are wrong", async () => {
    const { file: made, left } = await unjsoned(file('{"time":1767225600000,"v":1}\n{"time":1767225601000,"v":{"x":1}}\n{"time":1767225602000,"v":2.5}\n'));
    expect(left).toEqual([]);
    const lines = (await made.text()).split("\n");
    expect([lines[0], lines[1], lines[3]]).toEqual(["time,v", "1767225600000,1", "1767225602000,2.5"]);
    expect(unreadLine(lines[2]!)).toBe('{"time":1767225601000,"v":{"x":1}}');
  });
  it("become a table, whose members are what their kinds say", async () => {
    const { file: made, kinds, left } = await unjsoned(file('{"time":1767225600000,"bed":"north, 1","ph":6.5,"ok":true}\n\n{"time":1767225660000,"bed":"a\\nb","n":9007199254740993,"list":[1]}\n'));
    expect((await made.text()).split("\n")).toEqual(["time,bed,ph,ok,n", '1767225600000,"north, 1",6.5,true,', "", `1767225660000,a\\nb,,,${great}`, "", ""]);
    expect([made.name, kinds, left]).toEqual(["a", ["value", "text", "value", "value", "value"], ["list"]]);
  });
  it("may have members that are called as what every object has", async () => {
    const typed = await unjsoned(file('{"time":1767225600000,"v":1}\n{"time":1767225600000,"constructor":"x","toString":"y","v":2}\n'));
    expect((await typed.file.text()).split("\n").slice(1, 3)).toEqual(["1767225600000,1,,", "1767225600000,2,x,y"]);
  });
  it("that were saved here are what they were", async () => {
    const series = { name: "so il", field: "ph", labels: { bed: "a b" }, varying: [], kind: "float", times: [1767225600000], nanos: ["1767225600000000001"], values: [6.5] };
    expect(await brought((await jsonLines([series])).join(""))).toEqual(["so\\sil,bed=a\\sb ph=6.5 1767225600000000001"]);
  });
  it("that are no objects are told by their numbers, and the others are kept", async () => {
    const bad = ['{"time":1767225720000,"ph":', "[1]", 'he said "no, never', "null"];
    const text = ['{"time":1767225600000,"ph":6.5}', ...bad, '{"time":1767225660000,"ph":7}', ""].join("\n");
    const typed = await unjsoned(file(text));
    const lines = (await typed.file.text()).split("\n");
    const { sent, wrong, empty } = linesOf(lines.join("\n"), readAs(lines, typed)!, "m", 1);
    // The header stands before them.
    expect(wrong).toEqual(bad.map((text, at) => ({ line: at + 3, field: "line", message: "is no object of JSON with plain values", text })));
    expect([sent.split("\n").filter(Boolean), empty]).toEqual([["m ph=6.5 1767225600000000000", "m ph=7 1767225660000000000"], 0]);
  });
  it.each([
    ["[1]\nnull", "No line of this file is an object of JSON"],
    ['{"metric":{"__name__":"up"},"values":[1],"timestamps":[1]}', "export of VictoriaMetrics"],
  ])("that are none say why: %s", async (text, said) => {
    await expect(unjsoned(file(text))).rejects.toThrow(said);
  });
});
