/// <reference types="vite/client" />
import { describe, expect, it } from "vitest";
import { sheetOf, typedBy } from "../src/csv";
import { columnsOf } from "../src/download";
import { parquetOf, unparquet } from "../src/parquet";
import type { Series } from "../src/series";
import kinds from "./files/kinds.parquet?url&inline";
import gzip from "./files/gzip.parquet?url&inline";
import snappy from "./files/snappy.parquet?url&inline";
import lz4 from "./files/lz4.parquet?url&inline";
import empty from "./files/empty.parquet?url&inline";
import { lineOf } from "../src/rowline";

const WRITTEN = { kinds, gzip, snappy, lz4, empty };

/** Files that PyArrow wrote. */
const written = (name: keyof typeof WRITTEN) => new File([Uint8Array.from(atob(WRITTEN[name].split(",")[1]!), (letter) => letter.charCodeAt(0))], `${name}.parquet`);

describe("a file of Parquet", () => {
  it("becomes CSV with exact values, and its types tell what columns are", async () => {
    const { file, kinds, time, left } = await unparquet(written("kinds"));
    expect(file.name).toBe("kinds");
    expect((await file.text()).split("\n")).toEqual([
      "when,bed,ph,n,u,ok,f32,day,price,pos.x,pos.y",
      "1767225600000001000,north,6.5,1,18446744073709551615,true,0.10000000149011612,1767225600000000000,1.1,1,k",
      '1767225660000002000,"a ""b"", c",,-9007199254740993,0,,2,1767225600000000000,-2.05,,',
      ",,7.25,,1,false,,1767225600000000000,,2,l",
      "",
    ]);
    expect(kinds).toEqual(["time", "text", "value", "integer", "unsigned", "value", "value", "time", "value", "integer", "text"]);
    expect([time, left]).toEqual([0, ["list", "raw"]]);
  });
  it("becomes Influx lines by these types, whatever its values look like", async () => {
    const typed = await unparquet(written("kinds"));
    const lines = (await typed.file.text()).split("\n");
    const sheet = typedBy(sheetOf(lines)!, typed, lines);
    expect([sheet.columns[0]!.role, sheet.precision]).toEqual(["time", "ns"]);
    expect(lineOf(lines[1]!, sheet, "soil")).toBe("soil,bed=north,pos.y=k ph=6.5,n=1i,u=18446744073709551615u,ok=true,f32=0.10000000149011612,price=1.1,pos.x=1i 1767225600000001000");
  });
  it.each(["gzip", "snappy"] as const)("may be packed by %s", async (name) => {
    expect(await (await unparquet(written(name))).file.text()).toBe("a,t\nx,1\ny,2\nz,3\n");
  });
  it.each([
    ["packed in a way that is not known", () => written("lz4"), /LZ4/],
    ["empty", () => written("empty"), /it has no rows/],
    ["cut off", () => new File([written("kinds").slice(0, 900)], "a.parquet"), /^This file of Parquet cannot be read: its end is missing, .* or write it anew\.$/],
    ["nothing but its mark", () => new File(["PAR1"], "a.parquet"), /its end is missing/],
    ["without its beginning", () => new File(["PAR1", written("kinds").slice(-200)], "a.parquet"), /bytes of it are missing: at its end it says that \d+ bytes stand before it, and the whole file has 204/],
    ["damaged in its footer", () => { const all = written("kinds"); return new File([all.slice(0, -400), new Uint8Array(300).fill(0xff), all.slice(-100)], "a.parquet"); }, /its footer is damaged, .* or write it anew\.$/],
    ["damaged", () => new File([written("snappy").slice(0, 20), new Uint8Array(40), written("snappy").slice(60)], "a.parquet"), /its column “a” is damaged in rows 1 to 3: /],
  ])("that is %s is refused with the reason", async (_, file, said) => {
    await expect(unparquet(file())).rejects.toThrow(said);
  });
  it("that becomes too much text is refused", async () => {
    await expect(unparquet(written("kinds"), 100)).rejects.toThrow("foliot import parquet");
  });
});

describe("what foliot export writes", () => {
  it("has measurements, names of fields and kinds of values in its columns", () => {
    const lines = ["time,measurement,field,bed,value_float,value_integer,value_unsigned,value_boolean,value_text", "1767225600000000001,soil,ph,north,6.5,,,,", "1767225600000000002,so il,n,,,7,,,"];
    const sheet = typedBy(sheetOf(lines)!, { kinds: ["time", "text", "text", "label", "value", "integer", "unsigned", "value", "text"], time: 0, isExact: false }, lines);
    expect(lines.slice(1).map((line) => lineOf(line, sheet, "file"))).toEqual(["soil,bed=north ph=6.5 1767225600000000001", "so\\ il n=7i 1767225600000000002"]);
  });
});

describe("an answer as Parquet", () => {
  const series = (part: Partial<Series>): Series => ({ name: "soil.ph", field: "", labels: {}, varying: [], kind: "float", times: [1767225600000], values: [6.5], ...part });
  it("is read again as what it was", async () => {
    const all = [series({ labels: { bed: 'a "b", c', time: "x" } }), series({ times: [1, 2, 3], nanos: ["1000001", "2000002", "3"], values: [null, "NaN", -0.1] })];
    const { file, kinds, isExact } = await unparquet(new File([parquetOf(columnsOf(all))], "a.parquet"));
    expect(await file.text()).toBe('time,measurement,field,bed,time,value_float\n1767225600000000000,soil.ph,value,"a ""b"", c",x,6.5\n1000001,soil.ph,value,,,\n2000002,soil.ph,value,,,NaN\n3,soil.ph,value,,,-0.1\n');
    expect([kinds, isExact]).toEqual([["time", "text", "text", "label", "label", "value"], true]);
  });
  it("has columns of the kinds that values have", () => {
    const kinds = (...all: Series[]) => columnsOf(all).slice(3).map(({ name, kind, values }) => [name, kind, values]);
    expect(kinds(series({ kind: "integer", values: [7] }))).toEqual([["value_integer", "integer", [7n]]]);
    expect(kinds(series({ kind: "boolean", values: [true] }))).toEqual([["value_boolean", "boolean", [true]]]);
    expect(kinds(series({ values: [6] }), series({ values: ["Infinity"] }))).toEqual([["value_float", "float", [6, Infinity]]]);
    expect(kinds(series({ values: [6] }), series({ kind: "string", values: ["on"] }))).toEqual([["value_float", "float", [6, null]], ["value_text", "text", [null, "on"]]]);
  });
});
