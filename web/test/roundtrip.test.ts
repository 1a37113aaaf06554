import { describe, expect, it } from "vitest";
import type { Table } from "../src/api";
import { columnsOf, csv, jsonLines, tableColumnsOf, tablesCsv, tablesJsonLines } from "../src/download";
import { linesOf } from "../src/importing";
import { unjsoned } from "../src/jsonlines";
import { readAs } from "../src/looking";
import { parquetOf, unparquet } from "../src/parquet";
import type { Series } from "../src/series";
import type { Typed } from "../src/typed";

const series = (part: Partial<Series>): Series => ({ name: "m", field: "v", labels: {}, varying: [], kind: "float", times: [1], nanos: ["1000001"], values: [1], ...part });

/** Lines that come of a file's text. */
async function broughtOf(text: string, typed: Typed | null): Promise<string[]> {
  const lines = text.split("\n");
  const sheet = readAs(lines, typed);
  expect(sheet).not.toBeNull();
  expect(sheet!.isExact).toBe(true);
  const { sent, wrong } = linesOf(text, sheet!, "file", 1);
  expect(wrong).toEqual([]);
  return sent.split("\n").filter(Boolean);
}

const ofTyped = async (typed: Typed) => broughtOf(await typed.file.text(), typed);

/** Node before 21 does not tell how a number was written. */
const keepsDigits = JSON.parse("9007199254740993", ((_: string, value: unknown, context?: { source?: string }) => context?.source ?? value) as never) === "9007199254740993";

const WAYS: [string, (all: Series[]) => Promise<string[]>][] = [
  ["CSV", async (all) => broughtOf((await csv(all)).join(""), null)],
  ["lines of JSON", async (all) => ofTyped(await unjsoned(new File([(await jsonLines(all)).join("")], "a.jsonl")))],
  ["Parquet", async (all) => ofTyped(await unparquet(new File([parquetOf(columnsOf(all))], "a.parquet")))],
];

describe.each(WAYS)("an answer that is saved as %s and brought in again", (way, brought) => {
  it("has the kinds that it had, of each sample", async () => {
    expect(await brought([
      series({ values: [6] }), series({ field: "i", kind: "integer", values: [6] }), series({ field: "u", kind: "unsigned", values: [6] }),
      series({ field: "b", kind: "boolean", values: [true] }), series({ field: "s", kind: "string", values: ["6"] }),
      series({ field: "x", kind: "mixed", kinds: ["integer", "float"], times: [1, 2], nanos: ["1000001", "2000002"], values: [6, 6] }),
    ])).toEqual(["m v=6 1000001", "m i=6i 1000001", "m u=6u 1000001", "m b=true 1000001", 'm s="6" 1000001', "m x=6i 1000001", "m x=6 2000002"]);
  });
  it("has its numbers to the last digit", async () => {
    if (!keepsDigits && way === "lines of JSON") return;
    expect(await brought([
      series({ times: [1, 2, 3, 4, 5], nanos: ["-1", "2", "3", "4", "1795870000000000001"], values: [-0, "NaN", "Infinity", "-Infinity", 1.7976931348623157e308] }),
      series({ field: "i", kind: "integer", times: [1, 2], nanos: ["1", "2"], values: ["-9223372036854775808", "9007199254740993"] }),
      series({ field: "u", kind: "unsigned", values: ["18446744073709551615"] }),
    ])).toEqual([
      "m v=-0 -1", "m v=NaN 2", "m v=Infinity 3", "m v=-Infinity 4", "m v=1.7976931348623157e+308 1795870000000000001",
      "m i=-9223372036854775808i 1", "m i=9007199254740993i 2", "m u=18446744073709551615u 1000001",
    ]);
  });
  it("has its texts, whatever is in them", async () => {
    const values = ["", " a ", 'say "hi", or not', "two\nlines\r\nand\ttabs", "C:\\new\\e", "=1+1", "'=1+1", "-5", "true", "NaN", "\\"];
    const times = values.map((_, at) => at);
    expect(await brought([series({ kind: "string", times, nanos: times.map(String), values })])).toEqual([
      'm v="" 0', 'm v=" a " 1', 'm v="say \\qhi\\q, or not" 2', 'm v="two\\nlines\\r\\nand\ttabs" 3', 'm v="C:\\bnew\\be" 4', 'm v="=1+1" 5', "m v=\"'=1+1\" 6", 'm v="-5" 7', 'm v="true" 8', 'm v="NaN" 9', 'm v="\\b" 10',
    ]);
  });
  it("has its names and labels, whatever they are called", async () => {
    const labels = { time: "a", label_time: "b", kind: "c", name: "d", value: "e", " x ": " y ", "q\"": "1,2", "n\nl": "\n", "=f": "\\", "#": "#", toString: "t", kinds: "k", labels: "l", time_ns: "n" };
    const expected = new Set([
      "time=a", "label_time=b", "kind=c", "name=d", "value=e", "\\sx\\s=\\sy\\s", "q\\q=1\\c2", "n\\nl=\\n", "\\ef=\\b", "\\h=\\h", "toString=t", "kinds=k", "labels=l", "time_ns=n",
    ]);
    const [first, second] = await brought([series({ name: "#so il,\n", field: "p=h", labels }), series({ name: "plain" })]);
    const [key, rest] = [first!.slice(0, first!.indexOf(" ")), first!.slice(first!.indexOf(" "))];
    const [name, ...pairs] = key.split(",");
    expect([name, rest]).toEqual(["\\hso\\sil\\c\\n", " p\\eh=1 1000001"]);
    expect(new Set(pairs)).toEqual(expected);
    expect(second).toBe("plain v=1 1000001");
  });
  it("is stored as it was stored, also where it was called otherwise", async () => {
    expect(await brought([series({ name: "soil.ph", field: "", stored: { measurement: "soil", field: "ph" } }), series({ name: "soil_ph", field: "" })])).toEqual(["soil ph=1 1000001", "soil_ph value=1 1000001"]);
  });
  it("leaves gaps out", async () => {
    expect(await brought([series({ times: [1, 2], nanos: ["1", "2"], values: [null, 2] })])).toEqual(["m v=2 2"]);
  });
});

describe("an answer of windows", () => {
  it("has times in milliseconds", async () => {
    for (const [, brought] of WAYS) expect(await brought([{ name: "m", field: "", labels: {}, varying: [], kind: "float", times: [1767225600000], values: [1.5] }])).toEqual(["m value=1.5 1767225600000000000"]);
  });
  it("that holds a histogram says so by its row", async () => {
    const text = (await csv([series({ kind: "histogram", values: [null] })])).join("");
    expect(linesOf(text, readAs(text.split("\n"), null)!, "m", 1).wrong).toMatchObject([{ line: 2, field: "v", message: "is a histogram, which files of answers do not hold" }]);
  });
});

describe("a file that says kinds", () => {
  const of = (...rows: string[]) => {
    const text = ["time_ns,name,field,value,kind", ...rows].join("\n");
    return linesOf(text, readAs(text.split("\n"), null)!, "m", 1).wrong.map(({ line, message }) => [line, message]);
  };
  it("has rows refused whose value is of another", () => {
    expect(of("1,m,v,1.5,integer", "1,m,v,-1,unsigned", "1,m,v,yes,boolean", "1,m,v,x,float", "1,m,v,1,")).toEqual([
      [2, "is no value of the kind “integer”, as its row says"], [3, "is no value of the kind “unsigned”, as its row says"], [4, "is no value of the kind “boolean”, as its row says"],
      [5, "is no value of the kind “float”, as its row says"], [6, "has no kind, and the others have"],
    ]);
  });
  it("is somebody else's where its kinds are none", () => {
    expect(readAs(["time_ns,name,field,value,kind", "1767225600000000000,m,v,1,pod"], null)!.isExact).toBe(false);
    expect(readAs(["time,value,kind", "1767225600,1,float"], null)!.isExact).toBe(false);
  });
});

describe("a table that is saved", () => {
  const table: Table = {
    name: "", labels: {}, columns: ["time", "bed", "n", "u", "ok", "ph"], kinds: ["time", "string", "integer", "unsigned", "boolean", "float"],
    rows: [["1767225600000000001", "0123", "9007199254740993", 7, true, 6], ["1767225600000000002", "no\nrth", 1, null, false, null]],
  };
  it("has its columns and no other in CSV and in lines of JSON", () => {
    expect(tablesCsv([table]).split("\n").slice(0, 2)).toEqual(["time,bed,n,u,ok,ph", "1767225600000000001,0123,9007199254740993,7,true,6"]);
    expect(tablesJsonLines([table]).split("\n")[1]).toBe('{"time":"1767225600000000002","bed":"no\\nrth","n":1,"u":null,"ok":false,"ph":null}');
  });
  it("has the kinds of its columns in Parquet", async () => {
    const typed = await unparquet(new File([parquetOf(tableColumnsOf([table]))], "a.parquet"));
    expect(typed.kinds).toEqual(["time", "text", "integer", "unsigned", "value", "value"]);
  });
});
