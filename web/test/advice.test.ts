import { describe, expect, it } from "vitest";
import { adviceOn, hintOn, unknownName } from "../src/advice";
import { Refusal } from "../src/api";

const refused = (status: number, message: string) => new Refusal(status, message, null);

describe("hints", () => {
  const of = (language: "influxql" | "opentsdb" | "sql", text: string) => hintOn({ language, text, isForm: false, isHidden: false });
  it("tell what is missing, and what means nothing", () => {
    expect(of("influxql", 'SELECT mean(*) FROM "…"')).toMatch(/^A measurement is missing/);
    expect(of("sql", "SELECT value FROM …")).toMatch(/^A table is missing/);
    expect(of("opentsdb", "sum:rat:m")).toMatch(/^“rat” between .* means nothing/);
    expect(of("opentsdb", "sum:rat:foo:m")).toMatch(/^“rat” and “foo” between .* mean nothing, and are/);
    expect([of("opentsdb", "sum:rate:m"), of("influxql", "SELECT a FROM m")]).toEqual(["", ""]);
  });
  it("say no more that a name is missing once one is typed in its place", () => {
    const template = { language: "sql" as const, text: "SELECT value FROM …", isForm: false, isHidden: false };
    expect([hintOn(template, "SELECT value FROM p"), hintOn(template, "")]).toEqual(["", ""]);
    expect(hintOn(template, "SELECT ph FROM …")).toMatch(/^A table is missing/);
  });
});

describe("advice", () => {
  it("names the name that is none, and where those stand that are", () => {
    expect(unknownName(refused(400, "No such name for 'metrics': 'it's \n'"))).toEqual({ of: "metrics", name: "it's \n" });
    expect(unknownName(refused(400, "No such name for 'tagk': 'hots'"))).toEqual({ of: "labels", name: "hots" });
    expect(adviceOn(refused(400, "No such name for 'tagv': 'web9'"))).toMatch(/^“web9” is the value of no label\. .*lists the values/);
    expect(unknownName(refused(400, "found FORM, expected FROM"))).toBeNull();
  });
  it("leaves alone what says itself what to do", () => {
    expect(adviceOn(refused(413, "more than limits.query_samples"))).toBe("");
    expect(adviceOn(new Error("Write 1h-ago."))).toBe("");
  });
  it("tells what may be done about rights", () => expect(adviceOn(refused(403, "lacks the role operator"))).toContain("foliot user token"));
});

describe("an answer that is none", () => {
  it("may pass where it is not the question's fault", () => {
    expect([0, 408, 429, 500, 503].map((status) => refused(status, "").mayPass)).toEqual([true, true, true, true, true]);
    expect([400, 401, 403, 404, 413].some((status) => refused(status, "").mayPass)).toBe(false);
  });
  it("names the functions that one which is none may have meant", () => {
    const on = (message: string) => adviceOn(new Refusal(400, message, null));
    expect(on("undefined function meen()")).toMatch(/^Did you mean mean.*\?/);
    expect(on('1:1: parse error: unknown function with name "rat"')).toMatch(/^Did you mean rate.*\?/);
    expect(on('1:1: parse error: unknown function with name "foo"')).toMatch(/^(Did you mean floor\? )?The editor offers all functions/);
    expect(adviceOn(new Refusal(422, "Parameter value is NaN", null))).toContain("topk(5, up)");
  });
});
