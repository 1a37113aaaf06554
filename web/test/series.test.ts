import { describe, expect, it } from "vitest";
import type { Outcome } from "../src/asking";
import { columnsOf, csv, filed, json, jsonLines, tablesCsv } from "../src/download";
import { about } from "../src/question";
import { type Series, beyond, figures, greatest, isExact, isCounter, newest, numbers, plain, sharedLabels, stacked, title, withHoles } from "../src/series";

const series = (part: Partial<Series>): Series =>
  ({ name: "m", field: "", labels: {}, varying: [], kind: "float", times: [], values: [], ...part });

describe("what goes up and down", () => {
  const of = (values: number[], kind = "integer") => isCounter([{ name: "m", labels: {}, kind, times: values.map((_, at) => at), values } as unknown as Series], "proc.group.count");
  it("is no counter, though it falls to little", () => {
    expect(of([0, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).toBe(false);
    expect(of([0, 3, 7, 9, 0, 2, 5, 6, 9, 12])).toBe(true);
  });
});

describe("an answer as a file", () => {
  it("has labels that are called as what every object has", async () => {
    const all = [series({ labels: JSON.parse('{"constructor":"Ferrari","__proto__":"p"}'), times: [1], values: [1] }), series({ labels: { host: "b" }, times: [2], values: [2] })];
    expect((await csv(all)).join("")).toBe("time_ms,name,field,__proto__,constructor,host,value,kind\n1,m,,p,Ferrari,,1,float\n2,m,,,,b,2,float\n");
    const group = columnsOf(all).find(({ name }) => name === "labels")!;
    expect(group).toMatchObject({ kind: "group", within: ["__proto__", "constructor", "host"] });
    expect((group.values as Record<string, string | null>[]).map((labels) => JSON.stringify(labels))).toEqual(['{"__proto__":"p","constructor":"Ferrari","host":null}', '{"__proto__":null,"constructor":null,"host":"b"}']);
    expect((await jsonLines(all)).join("")).toBe('{"time_ms":1,"name":"m","field":"","__proto__":"p","constructor":"Ferrari","value":1,"kind":"float"}\n{"time_ms":2,"name":"m","field":"","host":"b","value":2,"kind":"float"}\n');
  });
});

describe("samples outside of a range", () => {
  it("are told from first to last, unless one is inside", () => {
    const range = { start: 100, end: 200 };
    expect(beyond([series({ times: [10, 20] }), series({ times: [5] })], range)).toEqual({ start: 5, end: 20 });
    expect(beyond([series({ times: [10, 250] })], range)).toEqual({ start: 10, end: 250 });
    expect([beyond([series({ times: [10, 200] })], range), beyond([series({})], range), beyond([], range)]).toEqual([null, null, null]);
  });
});

describe("titles", () => {
  it("leave out what all series share", () => {
    const all = [series({ labels: { dc: "x", host: "a" } }), series({ labels: { dc: "x", host: "b" } })];
    const shared = sharedLabels(all);
    expect(all.map((one) => title(one, shared))).toEqual(["m {host=a}", "m {host=b}"]);
    expect(title(all[0]!, sharedLabels([all[0]!]))).toBe("m {dc=x, host=a}");
    expect(title(series({ field: "mean" }), new Set())).toBe("m mean");
  });
  it("say letters that nobody sees, or that turn the direction, by their numbers", () => {
    expect(title(series({ name: "\u202eevil", labels: { "t\u200b": "ok\u202eabc", z: "שלום é\n\0" } }), new Set())).toBe("\\u202eevil {t\\u200b=ok\\u202eabc, z=שלום é\\n\\u0000}");
    expect(plain("plain <b> ‘text’ 日本 🌡")).toBe("plain <b> ‘text’ 日本 🌡");
  });
});

describe("figures", () => {
  it("pass over gaps", () => expect(figures([null, 2, 4, null])).toEqual({ last: 4, min: 2, mean: 3, max: 4 }));
  it("of nothing are nothing", () => expect(figures([]).mean).toBeNull());
  it("take numbers and truths, no texts", () => {
    expect(numbers(series({ values: [1, "NaN", true, null, "x"] }))).toEqual([1, null, 1, null, null]);
  });
});

describe("holes", () => {
  it("are made where samples are missing", () => {
    expect(withHoles([0, 10, 20, 100, 110], [1, 2, 3, 4, 5])).toEqual([[0, 10, 20, 30, 100, 110], [1, 2, 3, null, 4, 5]]);
  });
  it("are not made of jitter", () => expect(withHoles([0, 10, 22, 31], [1, 2, 3, 4])[1]).toEqual([1, 2, 3, 4]));
});

describe("stacks", () => {
  it("add up what is there", () => expect(stacked([[1, null, 2], [undefined, 3, 1]])).toEqual([[1, 0, 2], [1, 3, 3]]));
});

describe("counters", () => {
  const counts = (values: number[], kind = "integer", metric = "m") => isCounter([series({ kind, values, times: values })], metric);
  it("only grow, but for restarts", () => {
    expect(counts([1, 2, 2, 5, 9])).toBe(true);
    expect(counts([...Array(60).keys(), 0, 1])).toBe(true);
    expect(counts([1, 2, 1, 2, 1])).toBe(false);
    expect(counts([3, 3, 3, 3, 3])).toBe(false);
    expect(counts([1, 2, 3, 4, 5], "float")).toBe(false);
    expect(counts([1, 2])).toBe(false);
    // Whole floats that grow with each of many samples, and others.
    const many = Array.from({ length: 40 }, (_, at) => 50 * (at % 30));
    expect([counts(many, "float"), counts(many.map((value) => value + 0.5), "float"), counts([...many, many.at(-1)!], "float")]).toEqual([true, false, false]);
    // One that begins again every six samples, and one whose name says as little as a disk's size.
    expect(counts(Array.from({ length: 60 }, (_, at) => at % 6))).toBe(true);
    expect(counts([0, 9, 0, 8, 0, 9, 0, 7])).toBe(false);
    expect(counts([7, 7, 7, 7, 7], "integer", "df.bytes.total")).toBe(false);
    expect(counts([1, 2, 3, 5, 7], "integer", "requests.total")).toBe(true);
  });
  it("are known by what Prometheus calls them, unless they fall", () => {
    expect(counts([1, 2.5, 3, 4, 5], "float", "sent_bytes_total")).toBe(true);
    expect(counts([], "float", "sent_bytes_total")).toBe(true);
    expect(counts([5, 4, 3, 2, 1], "float", "sent_bytes_total")).toBe(false);
  });
});

describe("files", () => {
  it("quote what must be quoted, and hold no formulas", async () => {
    const all = [
      series({ name: 'a,"b"', labels: { h: "=cmd()" }, times: [1, 2], values: [1.5, null] }),
      series({ labels: { z: "-3" }, times: [3], values: [-2] }),
    ];
    expect((await csv(all)).join("")).toBe('time_ms,name,field,h,z,value,kind\n1,"a,""b""",,\'=cmd(),,1.5,float\n2,"a,""b""",,\'=cmd(),,,\n3,m,,,-3,-2,float\n');
    expect(JSON.parse((await json(all)).join(""))).toEqual(all);
    expect(JSON.parse((await json([])).join(""))).toEqual([]);
  });
});

describe("some of many", () => {
  const of = (name: string, times: number[], values: number[]) => series({ name, times, values });
  it("are the greatest by their means", () => {
    const all = [of("a", [1, 2], [1, 1]), of("b", [1], [9]), of("c", [], []), of("d", [1, 2], [0, 6])];
    expect(greatest(all, 2).map(({ name }) => name)).toEqual(["b", "d"]);
    expect(greatest(all, 0)).toEqual(all);
  });
  it("are the newest, whichever way a series runs", () => {
    const all = [of("up", [1, 3, 5], [10, 30, 50]), of("down", [6, 4, 2], [60, 40, 20])];
    expect(newest(all, 4).map(({ series: one, index }) => one.values[index])).toEqual([60, 50, 40, 30]);
  });
  it("are the same as of all samples that are sorted", () => {
    const lengths = [0, 1, 40, 7, 300];
    const all = lengths.map((length, at) => of(`s${at}`, Array.from({ length }, (_, index) => (index * (at + 3)) % 1000).sort((a, b) => a - b), Array(length).fill(1)));
    const times = all.flatMap((one) => one.times).sort((a, b) => b - a);
    for (const count of [1, 5, 100, 1000]) {
      expect(newest(all, count).map(({ series: one, index }) => one.times[index])).toEqual(times.slice(0, count));
    }
  });
  it("stand as their series do where their times are equal", () => {
    const all = Array.from({ length: 50 }, (_, at) => of(`s${at}`, [1, 2], [at, at]));
    expect(newest(all, 60).map(({ series: one, index }) => `${one.name} ${index}`)).toEqual([...all.map(({ name }) => `${name} 1`), ...all.slice(0, 10).map(({ name }) => `${name} 0`)]);
  });
  it("are told apart by nanoseconds", async () => {
    const one = series({ times: [1, 1], nanos: ["1000001", "1000002"], values: [1, 2] });
    expect(newest([one], 2).map(({ index }) => index)).toEqual([1, 0]);
    expect((await csv([one])).join("")).toBe("time_ns,name,field,value,kind\n1000001,m,,1,float\n1000002,m,,2,float\n");
  });
});

describe("tables as files", () => {
  it("stand one after another, with their headers, and hold no formulas", () => {
    const table = (name: string, columns: string[], rows: (string | number | null)[][]) => ({ name, labels: {}, columns, rows });
    expect(tablesCsv([table("", ["key", "n"], [["a,b", 1], ["=1+1", null]])])).toBe('key,n\n"a,b",1\n\'=1+1,\n');
    // One header, whatever stands in it.
    expect(tablesCsv([table("one", ["key"], [["a"]]), table("two", ["key", "n"], [["b", 2]])])).toBe("name,key,n\none,a,\ntwo,b,2\n");
  });
  it("is one for each statement, and one for all series", () => {
    const of = (text: string, rows: number) => ({ text, answer: rows ? { series: [], tables: [{ name: "", labels: {}, columns: ["n"], rows: [[1]] }], notes: [], figures: {} } : null, error: null, tookMs: 1 });
    const statements = [of("a", 1), of(" b", 0), of(" c", 1)];
    const outcomes = [{ question: about("m"), answer: { series: [series({})] }, error: null }, { question: about("s"), answer: { series: [], statements, tables: [] }, error: null }, { question: about("x"), answer: null, error: new Error("no") }];
    expect(filed(outcomes as unknown as Outcome[]).map(({ title, statement, series: lines, tables }) => [title, statement, lines.length, tables.length])).toEqual([["All series", null, 1, 0], ["a", "a", 0, 1], ["c", " c", 0, 1]]);
  });
});

describe("whole numbers that a browser has no digits for", () => {
  const big = "9007199254740993";
  const one = series({ kind: "integer", times: [1, 2], values: [7, big] });
  it("come as texts, and are numbers in a graph", () => {
    expect(numbers(one)).toEqual([7, 9007199254740992]);
    expect([isExact(one, 0), isExact(one, 1)]).toEqual([false, true]);
    const mixed = series({ kind: "mixed", kinds: ["string", "unsigned"], times: [1, 2], values: [big, big] });
    expect(numbers(mixed)).toEqual([null, 9007199254740992]);
    expect(isExact(series({ values: ["NaN"] }), 0)).toBe(false);
  });
  it("keep their digits in files", async () => {
    expect((await csv([one])).join("")).toContain(`2,m,,${big},integer\n`);
    expect((await json([one])).join("")).toContain(`"values":[7,${big}]`);
    expect((await jsonLines([one])).join("")).toContain(`"value":${big},"kind":"integer"}`);
    expect(columnsOf([one]).at(-1)).toEqual({ name: "value_integer", kind: "integer", values: [7n, 9007199254740993n] });
    const unsigned = series({ kind: "unsigned", times: [1], values: ["18446744073709551615"] });
    expect(columnsOf([unsigned]).at(-1)).toEqual({ name: "value_unsigned", kind: "unsigned", values: [18446744073709551615n] });
    expect(columnsOf([series({ kind: "string", times: [1], values: [big] })]).at(-1)!.kind).toBe("text");
  });
});
