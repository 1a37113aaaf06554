import { afterEach, describe, expect, it, vi } from "vitest";
import { testsIn as influxqlTestsIn } from "../src/influxql";
import { testsIn as promqlTestsIn } from "../src/promql";
import type { Language } from "../src/question";
import { renamedIn, unknownOf } from "../src/unknown";

afterEach(() => vi.unstubAllGlobals());

/** A store with the metrics sys.cpu.user, whose halves are sys.cpu and user, and up. */
function stored() {
  const metrics = ["sys.cpu.user", "up"];
  vi.stubGlobal("fetch", async (url: string) => {
    const params = new URL(url, "http://h").searchParams;
    const search = (params.get("search") ?? "").toLowerCase();
    const about = params.get("metric") ?? params.get("measurement");
    const lists: Record<string, string[]> = {
      metrics, measurements: ["sys.cpu", "up"], labels: about === "nope" ? [] : ["host", "zone"], values: params.get("label") === "host" ? ["alpha", "beta"] : ["z1"],
    };
    const names = (lists[params.get("of") ?? ""] ?? []).filter((name) => name.toLowerCase().includes(search));
    const fields = params.get("measurement") === "sys.cpu" ? [{ name: "user", kind: "float" }, { name: "note", kind: "string" }] : params.get("measurement") === "up" ? [{ name: "value", kind: "float" }] : [];
    return new Response(JSON.stringify({ names, fields, is_whole: true }));
  });
}

describe("what a text names that is not there", () => {
  const find = (language: Language, text: string) => {
    stored();
    return unknownOf[language](text, "", new AbortController().signal);
  };
  it("has near names that PromQL knows", async () => {
    expect((await find("promql", 'sum({"sys.cpu_usr"})'))?.others).toEqual(["sys.cpu_user"].map((name) => `{"${name}"}`));
    expect((await find("promql", "sys_cpu_usr"))?.others).toEqual(['{"sys.cpu_user"}']);
    expect((await find("promql", "upp"))?.others).toEqual(["up"]);
  });
  it.each<[Language, string, string, string[], string]>([
    ["promql", 'up{hst="alpha"}', "hst", ["host"], 'up{host="alpha"}'],
    ["promql", 'rate(up{zone="z1",host="alphaa"}[5m])', "alphaa", ["alpha"], 'rate(up{zone="z1",host="alpha"}[5m])'],
    ["promql", '{"sys.cpu_user", host="gamma"}', "gamma", ["alpha", "beta"], '{"sys.cpu_user", host="alpha"}'],
    ["influxql", `SELECT "user" FROM "sys.cpu" WHERE hst = 'alpha'`, "hst", ["host"], `SELECT "user" FROM "sys.cpu" WHERE host = 'alpha'`],
    ["influxql", `SELECT "user" FROM "sys.cpu" WHERE host = "alpha"`, "alpha", ["'alpha'"], `SELECT "user" FROM "sys.cpu" WHERE host = 'alpha'`],
    ["influxql", `SELECT "user" FROM "sys.cpu" WHERE time > now() - 1h AND host = 'alph'`, "alph", ["alpha"], `SELECT "user" FROM "sys.cpu" WHERE time > now() - 1h AND host = 'alpha'`],
  ])("may be a label or a value: in %s %s", async (language, text, name, others, mended) => {
    const unknown = await find(language, text);
    expect([unknown?.name, unknown?.others]).toEqual([name, others]);
    expect(renamedIn({ language, text, isForm: false, isHidden: false }, unknown!, others[0]!).text).toBe(mended);
  });
  it.each<[Language, string]>([
    ["promql", 'up{host="alpha"}'], ["promql", 'up{missing=""}'], ["promql", 'up{hst!="a"}'], ["promql", 'up{hst=~"a.*"}'],
    ["influxql", `SELECT "user" FROM "sys.cpu" WHERE note = 'any'`], ["influxql", `SELECT "user" FROM "sys.cpu" WHERE host =~ /q/`],
  ])("is none in %s %s", async (language, text) => expect(await find(language, text)).toBeNull());
});

describe("conditions of labels", () => {
  it("belong to the selector that they stand in", () => {
    expect(promqlTestsIn(`a{x="1"} / on (y) {"b.c",z='q"'} + d{e!="2",f=~"3"} > bool 4`)).toEqual([{ metric: "a", label: "x", value: "1" }, { metric: "b.c", label: "z", value: 'q"' }]);
  });
  it("are equalities with texts behind WHERE", () => {
    expect(influxqlTestsIn(`SELECT a FROM m WHERE "b c" = 'it\\'s' AND d = 5 AND time >= '2026-01-01' AND e != 'x'`)).toEqual([{ label: "b c", value: "it's" }]);
  });
});
