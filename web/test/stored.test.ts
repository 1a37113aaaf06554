import { afterEach, describe, expect, it, vi } from "vitest";
import type { Maker, Series } from "../src/series";
import { completed, withKinds, withMakers } from "../src/stored";

afterEach(() => vi.unstubAllGlobals());

const series = (part: Partial<Series>): Series => ({ name: "gate.open", field: "", labels: { door: "a" }, varying: [], kind: "integer", times: [1, 2], values: [1, 0], stored: { measurement: "gate", field: "open" }, ...part });

const from = (address: string, at_ms = 5): Maker => ({ protocol: "telnet", from: "address", address, at_ms });

describe("samples of a form", () => {
  it("have the kinds of their fields, also those that OpenTSDB has no word for", () => {
    const kinds: Record<string, string> = { open: "boolean", count: "unsigned", n: "integer", temp: "float" };
    const of = (field: string, part: Partial<Series> = {}) => withKinds([series({ stored: { measurement: "gate", field }, ...part })], (_, name) => kinds[name])[0]!;
    expect([of("open").kind, of("open", { values: [1, 0, null] }).values]).toEqual(["boolean", [true, false, null]]);
    expect([of("count").kind, of("count", { values: [7, "18446744073709551615"] }).values]).toEqual(["unsigned", [7, "18446744073709551615"]]);
    const untouched = [of("n"), of("none"), of("temp", { kind: "float" }), of("open", { kind: "float" })];
    expect(untouched.map(({ kind, values }) => [kind, ...values])).toEqual([["integer", 1, 0], ["integer", 1, 0], ["float", 1, 0], ["float", 1, 0]]);
    const { stored: _, ...untold } = series({});
    expect(withKinds([untold], () => "boolean")).toEqual([untold]);
  });
  it("have them from the catalogue, which is asked once for each measurement", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (url: string) => {
      asked.push(url);
      return new Response(JSON.stringify({ fields: [{ name: "open", kind: "boolean" }] }));
    });
    const question = (language: "opentsdb" | "promql", text: string) => ({ language, text, isForm: false, isHidden: false });
    const of = (text: string, language: "opentsdb" | "promql" = "opentsdb") => completed([series({}), series({ labels: { door: "b" } })], question(language, text), "d", new AbortController().signal);
    expect((await of("sum:gate.open")).map(({ kind, values }) => [kind, values])).toEqual([["boolean", [true, false]], ["boolean", [true, false]]]);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/of=fields&measurement=gate&db=d/);
    expect((await of("gate_open", "promql")).map(({ kind }) => kind)).toEqual(["integer", "integer"]);
    expect(asked).toHaveLength(1);
  });
});

describe("samples of InfluxQL", () => {
  const line = (labels: Record<string, string>, field = "open") => series({ name: "gate", field, labels });
  const made = (labels: Record<string, string>, made_by: Maker | null, metric = "gate.open") => ({ metric, labels, made_by });
  it("tell who made their series, by measurement, field and labels", () => {
    const known = [made({ door: "a" }, from("1.1.1.1")), made({ door: "b" }, from("2.2.2.2")), made({ door: "a" }, from("3.3.3.3"), "gate")];
    expect(withMakers([line({ door: "b" }), line({ door: "a" }), line({ door: "a" }, "value"), line({ door: "c" }), line({ door: "a" }, "shut")], known).map(({ made_by }) => made_by?.address)).toEqual(["2.2.2.2", "1.1.1.1", "3.3.3.3", undefined, undefined]);
  });
  it("tell it of lines of several series, where these have one and the same", () => {
    const known = [made({ door: "a", side: "l" }, from("1.1.1.1", 9)), made({ door: "a", side: "r" }, from("1.1.1.1", 4)), made({ door: "b", side: "l" }, from("1.1.1.1")), made({ door: "b" }, from("2.2.2.2")), made({ door: "c" }, null)];
    expect(withMakers([line({ door: "a" }), line({ door: "b" }), line({ door: "c" }), line({})], known).map(({ made_by }) => made_by)).toEqual([from("1.1.1.1", 4), undefined, undefined, undefined]);
    // A label that a series does not have is an empty text to InfluxQL.
    expect(withMakers([line({ door: "b", side: "" })], known)[0]!.made_by).toEqual(from("2.2.2.2"));
  });
  it("do not tell it where not all series are known, or where something is computed", async () => {
    let is_whole = false;
    vi.stubGlobal("fetch", async () => new Response(JSON.stringify({ series: [made({ door: "a" }, from("1.1.1.1"))], is_whole, total: 2 })));
    const of = (text: string) => completed([line({ door: "a" })], { language: "influxql", text, isForm: false, isHidden: false }, "", new AbortController().signal);
    expect((await of("SELECT open FROM gate"))[0]!.made_by).toBeUndefined();
    is_whole = true;
    expect((await of("SELECT open FROM gate"))[0]!.made_by).toEqual(from("1.1.1.1"));
    expect((await of("SELECT max(open) FROM gate"))[0]!.made_by).toBeUndefined();
  });
});
