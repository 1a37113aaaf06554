import { describe, expect, it } from "vitest";
import { doomed, labelsOf, seriesOf } from "../src/doomed";

describe("what is to be deleted", () => {
  const is = (label: string, pattern: string) => ({ label, pattern, splits: false });
  const meant = { metric: "m" };
  it("is all of a metric that was there when it was counted, where nothing else is said", () =>
    expect(doomed(meant, [], " ", "", 7_200_000)).toEqual({ metric: "m", end_ms: 7_200_000 }));
  it("is what labels and times say: exactly where no pattern is among them", () =>
    expect(doomed(meant, [is("host", "a"), is("rack", "r=1, {2 (x)"), is("dc", "a|b"), is("of", "not_literal_or(x)")], "2h-ago", "now", 7_200_000))
      .toEqual({ metric: "m", labels: { host: "a", rack: "r=1, {2 (x)" }, filters: { dc: "a|b", of: "not_literal_or(x)" }, start_ms: 0, end_ms: 7_200_000 }));
  it("is of all metrics that have a label, whatever its letters", () => {
    expect(doomed({ labels: { room: "a|b*" } }, [is("by", "*")], "", "", 1)).toEqual({ labels: { room: "a|b*" }, filters: { by: "*" }, end_ms: 1 });
    expect(doomed({ labels: { room: "a" } }, [is("room", "b")], "", "", 1)).toEqual({ labels: { room: "a" }, filters: { room: "b" }, end_ms: 1 });
    expect(JSON.stringify(doomed({}, [is("__proto__", "b")], "", "", 1))).toBe('{"labels":{"__proto__":"b"},"end_ms":1}');
  });
  it.each([["yesterday", ""], ["", "soon"], ["1h-ago", "2h-ago"]])(
    "is refused from %s to %s", (from, to) => expect(typeof doomed(meant, [], from, to, 1e12)).toBe("string"));
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

describe("a line that is pasted for its series", () => {
  it("leaves its fields and its time", () => {
    expect(seriesOf("fleet,zone=z1 load=1 5")).toEqual({ measurement: "fleet", labels: { zone: "z1" } });
    expect(seriesOf("fleet,zone=z1,a=b load=1,b=2")).toEqual({ measurement: "fleet", labels: { zone: "z1", a: "b" } });
  });
});
