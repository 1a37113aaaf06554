import { describe, expect, it } from "vitest";
import { look } from "../src/looking";

const file = (text: BlobPart, name = "a.txt") => new File([text], name);
const packed = async (text: string) => new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();

const CSV = "time,bed,ph\n1767225600,north,6.5\n";
const JSONL = '{"time":1767225600,"bed":"north","ph":6.5}\n';

describe("a file that is looked at", () => {
  it.each([["csv", CSV], ["json", JSONL], ["influx", "soil,bed=north ph=6.5 1767225600\n"], ["opentsdb", "put soil.ph 1767225600 6.5 bed=north\n"], ["prometheus", "# TYPE up gauge\nup 1\n"]])("is %s by its lines", async (format, text) => {
    const looked = await look(file(text), "db");
    expect([looked.format, looked.plan?.format, looked.plan?.database, looked.fault]).toEqual([format, format, "db", ""]);
    expect(Boolean(looked.plan?.sheet)).toBe(["csv", "json"].includes(format));
  });
  it("is unpacked, and keeps the name that it was given", async () => {
    const looked = await look(file(await packed(JSONL), "a.jsonl.gz"), "");
    expect([looked.given.name, looked.file.name, looked.plan?.format, looked.plan?.measurement]).toEqual(["a.jsonl.gz", "a", "json", "a"]);
  });
  it("is nothing that is told, and what somebody says then", async () => {
    const odd = file(`not yet\n${JSONL}`);
    const looked = await look(odd, "");
    expect([looked.format, looked.plan, looked.lines[0]]).toEqual([null, null, "not yet"]);
    expect(looked.fault).toMatch(/cannot be told: choose above/);
    expect((await look(odd, "", "json")).plan?.sheet?.columns.map(({ role }) => role)).toEqual(["time", "label", "value"]);
    expect((await look(odd, "", "influx")).plan).toMatchObject({ format: "influx", sheet: null });
  });
  it("may be none of what somebody says, which is told", async () => {
    expect(await look(file("lorem\nipsum\n"), "", "csv")).toMatchObject({ format: "csv", plan: null, fault: expect.stringMatching(/one column at most/) });
    expect(await look(file("lorem\n"), "", "json")).toMatchObject({ format: "json", plan: null, fault: expect.stringMatching(/No line of this file is an object/) });
    expect(await look(file('{"a":7}\n'), "")).toMatchObject({ format: "json", plan: null, fault: expect.stringMatching(/one column at most/) });
  });
  it.each([["", "This file is empty."], ["\n \n", "nothing but blank lines"], ["a\0b", "no text"]])("may be nothing at all", async (text, said) => {
    await expect(look(file(text), "")).rejects.toThrow(said);
  });
  it("that is called Parquet and is none says so", async () => {
    await expect(look(file("a\0b", "a.parquet"), "")).rejects.toThrow("does not begin as such a file does");
  });
});

describe("a document of JSON", () => {
  it.each(['[{"name":"m","values":[1]}]', "[]", '{\n  "a": 1\n}', `[{"times":[${"1,".repeat(99_999)}1]}]`])("is none that comes in, and says which do", async (text) => {
    await expect(look(file(text, "a.json"), "")).rejects.toThrow("one document of JSON");
  });
});

describe("columns of a table", () => {
  const roles = async (...rows: string[]) => (await look(file(["time,a", ...rows].join("\n"), "a.csv"), "")).plan?.sheet?.columns[1]?.role;
  it("of whole numbers are floats, unless these would lose digits", async () => {
    expect(await roles("1767225600,7", "1767225601,-8")).toBe("value");
    expect(await roles("1767225600,7", "1767225601,9007199254740993")).toBe("integer");
    expect(await roles("1767225600,18446744073709551615", "1767225601,1")).toBe("unsigned");
    expect(await roles("1767225600,9007199254740993", "1767225601,1.5")).toBe("value");
  });
  it("of times are of the browser's zone, but for those that programs write to the microsecond", async () => {
    const zone = async (text: string) => (await look(file(`time,a\n${text},1\n`, "a.csv"), "")).plan?.sheet?.zone;
    expect(await zone("2026-11-29T02:44:52.000000123")).toBe("utc");
    for (const text of ["2026-11-29T02:44:52", "2026-11-29 02:44:52.5", "2026-11-29T02:44:52.000000123Z"]) expect(await zone(text)).toBe("local");
  });
  it("of texts are labels, unless each is another one that somebody wrote", async () => {
    const rows = (text: (at: number) => string) => Array.from({ length: 10 }, (_, at) => `${1767225600 + at},${text(at)}`);
    expect(await roles(...rows((at) => `host${at}`))).toBe("label");
    expect(await roles(...rows((at) => `bed ${at % 2}`))).toBe("label");
    expect(await roles(...rows((at) => `disk ${at} was full`))).toBe("text");
    expect(await roles(...rows((at) => `${at}f9c2d1e-1111-2222-3333-444455556666`))).toBe("text");
  });
});
