import { describe, expect, it, vi } from "vitest";
import { cells, cellMs, markedBy, precisionOf, rowsOf, sheetOf, timedBy } from "../src/csv";
import { seriesOf } from "../src/doomed";
import { formatOf, influxPrecision, linesOf } from "../src/importing";
import { lineOf } from "../src/rowline";

describe("files", () => {
  it.each([
    ["time,host,load\n1700000000,a,1.5", "csv"], ["put sys.cpu 1700000000 1 host=a", "opentsdb"], ["sys.cpu 1700000000 1.5 host=a dc=b", "opentsdb"],
    ["cpu,host=a load=1.5 1700000000", "influx"], ["cpu load=1i,name=\"a b\"", "influx"], ["# TYPE up gauge\nup{job=\"a\"} 1", "prometheus"],
    ["up 1 1700000000000", "prometheus"],
  ])("like %s are told by their lines", (text, format) => expect(formatOf(text.split("\n"))).toBe(format));
  it("are told by their names, where those say so", () => {
    expect(formatOf(["m,a=b v=1 1795870000000000000", "m,a=b v="], "a.lp")).toBe("influx");
    expect(formatOf(["up 1"], "x.PROM")).toBe("prometheus");
    expect(formatOf(["time,v", "1700000000,1"], "a.lp.csv")).toBe("csv");
  });
  it("that are none of these are nothing", () => expect(formatOf(["lorem ipsum dolor", "sit amet"])).toBeNull());
  it("of Influx lines tell their unit by its size", () => {
    expect(["1700000000", "1700000000000", "1700000000000000", "1700000000000000000"].map((time) => influxPrecision([`m v=1 ${time}`]))).toEqual(["s", "ms", "us", "ns"]);
    expect(influxPrecision(["m v=1"])).toBe("ns");
  });
});

// Dates without a zone are of the browser's, also those without a clock.
vi.stubEnv("TZ", "America/New_York");

describe("dates", () => {
  it.each([
    ["2026-11-27T10:00:00Z", 1795773600000], ["2026-11-27 10:00:00.5+01:00", 1795770000500], ["2026-11-27", Date.UTC(2026, 10, 27, 5)],
    ["2024-02-29T00:00:00Z", 1709164800000], ["Fri, 27 Nov 2026 10:00:00 GMT", 1795773600000], ["Thu, 01 Jan 1970 00:00:00 GMT", 0],
  ])("like %s are those that programs write", (text, ms) => expect(cellMs(text)).toBe(ms));
  it.each(["web-1", "room 3", "unknown 5", "n/a-7", "2026-02-30T10:00:00Z", "2026-13-01", "12", "may", ""])(
    "are not %s", (text) => expect(cellMs(text)).toBeNull());
  it("make a column of times, and names do not", () => {
    const sheet = sheetOf(["host,measured_at,v", "web-1,2026-11-27T10:00:00Z,1", "web-2,2026-11-27T10:00:01Z,2"]);
    expect(sheet?.columns.map(({ role }) => role)).toEqual(["label", "time", "value"]);
  });
});

describe("tables", () => {
  it("have cells that may be quoted", () => {
    expect(cells('a,"b ""c"", d",,e\r', ",")).toEqual(["a", 'b "c", d', "", "e"]);
  });
  it("are guessed column by column, whatever divides them", () => {
    const sheet = sheetOf(["when;bed;temp;;note", "2026-03-01T08:00:00Z;north;20,5;1;x", "2026-03-01T08:01:00Z;south;;2;y"]);
    expect(sheet?.separator).toBe(";");
    expect(sheet?.precision).toBe("date");
    expect(sheet?.decimal).toBe(",");
    expect(sheet?.columns.map(({ role }) => role)).toEqual(["time", "label", "value", "none", "label"]);
    expect(sheetOf(["1,2", "3,4"])).toBeNull();
    expect(sheetOf(["a,b"])).toBeNull();
  });
  it("may say before their header what divides cells", () => {
    for (const first of ["sep=;", "SEP=;\r", '"sep=;"']) {
      const lines = [first, "time;a,b;c,d,e", "1700000000;1;x"];
      const sheet = sheetOf(lines)!;
      expect([sheet.header, sheet.separator, sheet.columns.map(({ role }) => role)]).toEqual([2, ";", ["time", "value", "label"]]);
      expect(linesOf(lines.join("\n"), sheet, "m", 1)).toMatchObject({ sent: "\n\nm,c\\,d\\,e=x a\\,b=1 1700000000000000000", empty: 0 });
    }
    expect(sheetOf(["sep=;"])).toBeNull();
  });
  it("have values that are true or false", () => {
    const lines = ["time,door,open", "1700000000,front,true", "1700000001,back,False", "1700000002,back,maybe"];
    const sheet = sheetOf(lines)!;
    expect(sheet.columns.map(({ role }) => role)).toEqual(["time", "label", "value"]);
    expect(lineOf(lines[2]!, sheet, "m")).toBe("m,door=back open=False 1700000001000000000");
  });
  it("name the lines of rows that are none", () => {
    const lines = ["time;a;v", "2026-11-28 10:00;x;1", "foo;bar", "2026-11-28 10:01;x;", "baz", ";x;7", "2026-11-28 10:02;x;3;4;5", "2026-11-28 10:03;x;3;;", ""];
    const sheet = sheetOf(lines)!;
    const { wrong, empty, sent } = linesOf(lines.join("\n"), sheet, "m", 1);
    expect(wrong).toEqual([
      { line: 3, field: "time", message: "bad timestamp", text: "foo;bar" }, { line: 5, field: "time", message: "bad timestamp", text: "baz" }, { line: 6, field: "time", message: "has no time", text: ";x;7" },
      { line: 7, field: "row", message: "has 5 cells, and the header 3; a cell that holds “;” is written in quotes", text: "2026-11-28 10:02;x;3;4;5" },
    ]);
    expect([empty, sent.split("\n").map((line) => line.replace(/ \d+$/, ""))]).toEqual([1, ["", "m,a=x v=1", "", "", "", "", "", "m,a=x v=3", ""]]);
  });
  it("have values of the kinds that are chosen", () => {
    const sheet = sheetOf(["time,n,note,v", "1700000000,1,a,1"])!;
    const chosen = { ...sheet, columns: sheet.columns.map((column) => ({ ...column, role: ({ n: "integer", note: "text" } as const)[column.name] ?? column.role })) };
    expect(lineOf('1700000000,"+1,234",say \\ ""no"" 5,2', chosen, "m")).toBe('m n=1234i,note="say \\\\ \\"\\"no\\"\\" 5",v=2 1700000000000000000');
    expect(lineOf("1700000000,1.5,,2", chosen, "m")).toBe("m n=1.5i,v=2 1700000000000000000");
  });
  it("have dates of a zone that is chosen", () => {
    const sheet = { ...sheetOf(["time,v", "2026-07-01 12:00,1"])!, zone: "Europe/Vienna" };
    expect(lineOf("2026-07-01 12:00,1", sheet, "m")).toBe(`m v=1 ${Date.UTC(2026, 6, 1, 10)}000000`);
    expect(lineOf("2026-07-01T12:00:00Z,1", sheet, "m")).toBe(`m v=1 ${Date.UTC(2026, 6, 1, 12)}000000`);
  });
  it("may have a comma before decimals, which is told, and can be said", () => {
    const rows = ["t;v", "1700000000;1.234,5", "1700000001;-2", "1700000002;7,25"];
    const sheet = sheetOf(rows)!;
    expect([sheet.decimal, sheet.columns.map(({ role }) => role)]).toEqual([",", ["time", "value"]]);
    expect(rows.slice(1).map((row) => lineOf(row, sheet, "m"))).toEqual(["m v=1234.5 1700000000000000000", "m v=-2 1700000001000000000", "m v=7.25 1700000002000000000"]);
    const points = sheetOf(["t;v", "1700000000;1.5", "1700000001;1.234"])!;
    expect([points.decimal, lineOf("1700000001;1.234", points, "m")]).toEqual([".", "m v=1.234 1700000001000000000"]);
    expect(sheetOf(["t,v", '1700000000,"1,234"'])!.decimal).toBe(".");
    // In quotes where commas divide cells: thousands, unless one of them is none.
    const thousands = sheetOf(["t,v", '1700000000,"1,234"', '1700000001,"12,345.5"'])!;
    expect([thousands.columns[1]?.role, lineOf('1700000001,"12,345.5"', thousands, "m")]).toEqual(["value", "m v=12345.5 1700000001000000000"]);
    const commas = sheetOf(["t,v", '1700000000,"1,234"', '1700000001,"21,5"'])!;
    expect([commas.decimal, lineOf('1700000001,"21,5"', commas, "m")]).toEqual([",", "m v=21.5 1700000001000000000"]);
    expect(sheetOf(["t,v", '1700000000,"1,234"'], ",")!.columns.map(({ role }) => role)).toEqual(["time", "value"]);
  });
  it("are what most of their cells are: a bad one is for the dry run to name", () => {
    const rows = Array.from({ length: 30 }, (_, at) => `${at === 7 ? "yesterday" : 1700000000 + at},h${at % 3},${at === 8 ? "abc" : at}`);
    const sheet = sheetOf(["timestamp,host,cpu", ...rows]);
    expect(sheet?.columns.map(({ role }) => role)).toEqual(["time", "label", "value"]);
    expect(sheet?.precision).toBe("s");
    expect(sheetOf(["timestamp,cpu", "soon,1", "1700000000,x"])?.columns.map(({ role }) => role)).toEqual(["label", "label"]);
  });
  it("become Influx lines, with exact times and no more names than they have", () => {
    const sheet = sheetOf(["ts,host name,load", "1700000000.123456789,a b,1.5"])!;
    expect(lineOf("1700000000.123456789,\"a, b\",1.5", sheet, "my cpu")).toBe("my\\ cpu,host\\ name=a\\,\\ b load=1.5 1700000000123456789");
    expect(lineOf("1700000000,,2", sheet, "m")).toBe("m load=2 1700000000000000000");
    expect(lineOf("1700000000,a,", sheet, "m")).toBe("");
    expect(lineOf("soon,a,wet", sheet, "m")).toBe("m,host\\ name=a load=wet soon");
  });
  it("have rows of several lines where those are in quotes", () => {
    expect(rowsOf('a,"b\nc\n",d\ne,5" pipe,f\n', ",", 1)).toEqual({ rows: ['a,"b\nc\n",d', null, null, 'e,5" pipe,f', ""], rest: "" });
    expect(rowsOf('a\nb,"c\nd', ",", 1)).toEqual({ rows: ["a"], rest: 'b,"c\nd' });
    expect(() => rowsOf(`a\n"${"b\n".repeat(1000)}`, ",", 7)).toThrow("Line 8 opens a quote");
  });
  it("keep the numbers of lines, count rows without a value, and leave what goes on", () => {
    const sheet = sheetOf(["time,host,load", "1700000000,a,1"])!;
    const text = 'time,host,load\n1700000000,"a\nb",1\n1700000001,c,\n1700000002,d\n\n1700000003,"e';
    expect(linesOf(text, sheet, "m", 1)).toMatchObject({ sent: "\nm,host=a\\ b load=1 1700000000000000000\n\n\n\n", empty: 2, lines: 6, rest: '1700000003,"e' });
    expect(linesOf("1700000003,e,1\n", sheet, "m", 7)).toMatchObject({ sent: "m,host=e load=1 1700000003000000000\n", empty: 0, lines: 1, rest: "" });
  });
  it("keep backslashes, and make no field of a comma in quotes", () => {
    const sheet = sheetOf(["time,path,load", "1700000000,a,1"])!;
    expect(lineOf("1700000000,C:\\temp,1", sheet, "m")).toBe("m,path=C:\\temp load=1 1700000000000000000");
    expect(lineOf('1700000000,"a\\,b","1,evil=2"', sheet, "m")).toBe("m,path=a\\\\,b load=1\\,evil\\=2 1700000000000000000");
  });
  it("have columns that most of their cells are, and tell rows as they stand", () => {
    const lines = ["time;room;temp", "28.11.2026 04:00;a;21,5", "28.11.2026 05:00;b;21,7", "31.13.2026 06:00;c;abc"];
    const sheet = sheetOf(lines)!;
    expect([sheet.columns.map(({ role }) => role), sheet.decimal, sheet.precision]).toEqual([["time", "label", "value"], ",", "date"]);
    expect(linesOf(lines.join("\n"), sheet, "m", 1).rows[3]).toBe("31.13.2026 06:00;c;abc");
    expect(sheetOf(["t,v", "1700000000,n/a", "1700000001,2", "1700000002,3"])!.columns[1]?.role).toBe("value");
  });
  it("keep the nanoseconds of dates", () => {
    const sheet = sheetOf(["time,v", "2026-11-28T03:00:00.123456789Z,1"])!;
    const at = `${Date.UTC(2026, 10, 28, 3, 0, 0, 123)}456789`;
    expect(lineOf("2026-11-28T03:00:00.123456789Z,1", sheet, "m")).toBe(`m v=1 ${at}`);
    expect(lineOf("28.11.2026 03:00:00.000250,1", sheet, "m")).toBe(`m v=1 ${new Date(2026, 10, 28, 3).getTime()}250000`);
  });
  it("may have dates with slashes, with the day or the month first", () => {
    const of = (...dates: string[]) => sheetOf(["time,v", ...dates.map((date) => `${date},1`)])!;
    expect([of("28/11/2026 04:00:00").slashed, of("11/28/2026 04:00").slashed, of("01/02/2026").slashed]).toEqual(["day", "month", "day"]);
    const at = (date: string, slashed: "day" | "month") => lineOf(`${date},1`, { ...of(date), slashed }, "m");
    const stored = (...date: [number, number, number, number]) => `m v=1 ${new Date(...date).getTime()}000000`;
    expect(at("28/11/2026 04:00:00", "day")).toBe(stored(2026, 10, 28, 4));
    expect(at("11/28/2026 04:00", "month")).toBe(stored(2026, 10, 28, 4));
    expect([at("01/02/2026 05:00", "day"), at("01/02/2026 05:00", "month")]).toEqual([stored(2026, 1, 1, 5), stored(2026, 0, 2, 5)]);
  });
  it("know units of times by their size", () => {
    expect(["1700000000", "1700000000000", "1700000000000000", "1700000000000000000", "2026-01-01"].map(precisionOf)).toEqual(["s", "ms", "us", "ns", "date"]);
  });
});

describe("series", () => {
  it.each([["cpu", {}], ["cpu,host=a,env=dev", { host: "a", env: "dev" }], ["cpu{host=a, env=\"dev\"}", { host: "a", env: "dev" }]])(
    "as %s are read", (text, labels) => expect(seriesOf(text)).toEqual({ measurement: "cpu", labels }));
  it.each(["", "cpu{host}", "{a=b}", "cpu host=a"])("as %s are none", (text) => expect(seriesOf(text)).toBeNull());
});

describe("times of a sheet", () => {
  const lines = ["Zeit;ort;temp", "28.11.2026 00:10:00;Süd;21,5", "28.11.2026 00:20:00;Süd;22,5", "nie;Süd;1,5"];
  it("are dates with the day first, where points stand between", () => {
    const sheet = sheetOf(lines.slice(0, 3))!;
    expect([sheet.precision, sheet.columns.map(({ role }) => role), sheet.decimal]).toEqual(["date", ["time", "label", "value"], ","]);
    const at = new Date(2026, 10, 28, 0, 10).getTime();
    expect(lineOf(lines[1]!, sheet, "m")).toBe(`m,ort=Süd temp=21.5 ${at}000000`);
  });
  it("that are none are not read as the number that they begin with", () => {
    const sheet = { ...sheetOf(lines)!, precision: "ns" as const };
    const timed = { ...sheet, columns: sheet.columns.map((column, at) => ({ ...column, role: (["time", "label", "value"] as const)[at]! })) };
    expect(lineOf(lines[1]!, timed, "m")).toBe("m,ort=Süd temp=21.5 28.11.2026\\ 00:10:00");
  });
  it("tell their unit when their column is chosen", () => {
    const sheet = sheetOf(["a,b", "x,2026-11-28T00:10:00Z", "y,2", "z,3"])!;
    expect(sheet.columns.some(({ role }) => role === "time")).toBe(false);
    const timed = timedBy(sheet, 1, ["a,b", "x,2026-11-28T00:10:00Z"]);
    expect([timed.precision, timed.columns[1]!.role]).toEqual(["date", "time"]);
    expect(timedBy(sheet, 1, ["a,b", "x,1700000000"]).precision).toBe("s");
  });
  it("and other columns stay as they were chosen when decimals have another mark", () => {
    const sheet = sheetOf(["when;a;b", "1700000000;1,5;2,5"])!;
    const mine = { ...sheet, columns: sheet.columns.map((column, at) => (at === 2 ? { ...column, role: "label" as const } : column)) };
    expect(markedBy(mine, ".", ["when;a;b", "1700000000;1,5;2,5"]).columns.map(({ role }) => role)).toEqual(["time", "label", "label"]);
    expect(markedBy(mine, ",", ["when;a;b", "1700000000;1,5;2,5"]).columns.map(({ role }) => role)).toEqual(["time", "value", "label"]);
  });
});
