import { describe, expect, it } from "vitest";
import { doomed, labelsOf, seriesOf } from "../src/doomed";

describe("what is to be deleted", () => {
  it("is all of a metric that was there when it was counted, where nothing else is said", () =>
    expect(doomed("m", "", " ", "", 7_200_000)).toEqual({ metric: "m", end_ms: 7_200_000 }));
  it("is what labels and times say", () =>
    expect(doomed("m", "host=a, rack = r=1 ", "2h-ago", "now", 7_200_000)).toEqual({ metric: "m", labels: { host: "a", rack: "r=1" }, start_ms: 0, end_ms: 7_200_000 }));
  it.each([["host", "", ""], ["host=", "", ""], ["=a", "", ""], ["host=*", "", ""], ["host=a|b", "", ""], ["", "yesterday", ""], ["", "", "soon"], ["", "1h-ago", "2h-ago"]])(
    "is refused as %s from %s to %s", (labels, from, to) => expect(typeof doomed("m", labels, from, to, 1e12)).toBe("string"));
  it("takes no label for granted", () => expect(labelsOf("a=1,,b=2")).toEqual({ a: "1", b: "2" }));
  it("knows marks in names and values, in quotes or behind a backslash", () => {
    expect(labelsOf('host="a,b", rack=r\\,2')).toEqual({ host: "a,b", rack: "r,2" });
    expect(labelsOf('"l 1"="v\\",\'=z", c\\=d=e=f')).toEqual({ "l 1": "v\",'=z", "c=d": "e=f" });
    for (const wrong of ["a=b,a=c", 'a="b', 'a="b"c', "a=b c=d,=e", '"a"']) expect(labelsOf(wrong)).toBe(null);
  });
  it("is of a series as it is written in either way", () => {
    const a = { measurement: "cpu", labels: { host: "web1", env: "dev" } };
    expect([seriesOf("cpu,host=web1,env=dev"), seriesOf('cpu{host="web1", env=dev}'), seriesOf(" cpu { host=web1,env=dev } ")]).toEqual([a, a, a]);
    expect(seriesOf("a\\,b,c=d")).toEqual({ measurement: "a,b", labels: { c: "d" } });
    expect(seriesOf("cpu")).toEqual({ measurement: "cpu", labels: {} });
    expect([seriesOf("cpu{host=a"), seriesOf("cpu}x"), seriesOf(""), seriesOf("cpu,host")]).toEqual([null, null, null, null]);
  });
});

describe("labels of a delete", () => {
  it("are exact: what compares otherwise is refused, not taken as part of a name", () => {
    for (const text of ["host!=a", "host==a", "host=~a.*", "host~=a", "host=a*"]) expect(labelsOf(text)).toBeNull();
    expect(labelsOf("ho!st=a=b")).toEqual({ "ho!st": "a=b" });
  });
});
