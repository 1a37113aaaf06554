import { describe, expect, it } from "vitest";
import { curl, javascript, link, python } from "../src/code";
import { halvesOf, withField } from "../src/metric";
import { about, asksStored, comparedOf, emptyForm, filteredOf, formOf, idleParts, influxqlOf, insteadOf, isRate, isShare, metricOf, patternOf, promqlOf, raw, selectText, textOf, withStep } from "../src/question";

describe("forms", () => {
  it.each([
    "avg:$step-avg:cpu.user", "sum:cpu.user", "sum:1m-max:rate:cpu.user{host=*}", "p99:$step-avg:rate{dropcounter}:net.bytes{iface=*}{host=a|b}",
    "none:m{}{host=wildcard(web*)}", "avg:$step-avg:",
  ])("show %s and write it back", (text) => {
    const form = formOf(text);
    expect(form).not.toBeNull();
    expect(textOf(form!)).toBe(text);
  });
  it.each(["sum:rate{counter,100,5}:m", "sum:1mc-avg:m", "sum:explicit_tags:m", "sum:percentiles[99]:m", "m", "sum:m{host}", ""])(
    "leave %s to its text", (text) => expect(formOf(text)).toBeNull());
  it("tell labels that split from those that only filter", () => {
    expect(formOf("sum:m{a=*}{b=x}")?.filters).toEqual([
      { label: "a", pattern: "*", splits: true }, { label: "b", pattern: "x", splits: false },
    ]);
  });
});

describe("first questions", () => {
  it("are forms where the name allows it", () => {
    expect(about("cpu.user").text).toBe("avg:$step-avg:cpu.user");
    expect(about("cpu.user", true).text).toBe("avg:$step-avg:rate{dropcounter}:cpu.user");
    expect(isRate(about("cpu.user", true))).toBe(true);
    expect(isRate(about("rate.of.change"))).toBe(false);
  });
  it("have names that are no plain ones in quotes, and stay forms", () => {
    expect(about("my room.temp").text).toBe("avg:$step-avg:my room.temp");
    for (const name of ["<img src=x onerror=window.__xss=1>", 'a "b"\\{c}\nd', "job:reqs:rate1m", '"', " x ", '"a"']) {
      const { text, language } = about(name, true, [{ label: "host", pattern: "a", splits: true }]);
      expect(language).toBe("opentsdb");
      expect(formOf(text)).toMatchObject({ metric: name, rate: "counter", filters: [{ label: "host" }] });
      expect(metricOf(text)).toBe(name);
      expect(idleParts(text)).toEqual([]);
      expect(withStep(text, "5m")).toBe(text.replace("$step", "5m"));
      expect(textOf(formOf(text)!)).toBe(text);
    }
    expect(about("job:reqs").text).toBe('avg:$step-avg:"job:reqs"');
    expect(about('a "b"\nd').text).toBe('avg:$step-avg:"a \\"b\\"\\nd"');
  });
  it("pass over what is no metric in quotes", () => {
    expect([metricOf("sum:job:reqs"), metricOf('sum:"job:reqs'), metricOf('sum:"a"b'), metricOf("sum:m{a=b}{c=d}")]).toEqual(["reqs", "reqs", '"a"b', "m"]);
    expect([idleParts("sum:job:reqs"), idleParts('sum:1m-avg:"job:reqs"{h=a:b}')]).toEqual([["job"], []]);
  });
});

describe("a form in InfluxQL", () => {
  const fieldsOf = async (measurement: string) => (measurement === "cpu" ? ["user"] : []);
  const of = async (text: string) => influxqlOf(formOf(text)!, await halvesOf(formOf(text)!.metric, fieldsOf));
  it("names the measurement and the field that the store has", async () => {
    expect(await of("avg:$step-avg:cpu.user")).toBe('SELECT mean("user") FROM "cpu" WHERE time >= $start AND time < $end GROUP BY time($step)');
    expect(await of("none:$step-avg:rate{dropcounter}:cpu.user")).toContain('SELECT non_negative_derivative(mean("user"), 1s) FROM "cpu"');
    expect(await of("sum:$step-avg:net.bytes")).toContain('SELECT mean(*) FROM "net.bytes" WHERE');
  });
  it("has one line, unless a label splits it, and combines series as the form does", async () => {
    const range = "WHERE time >= $start AND time < $end";
    expect(await of("max:5m-max:cpu.user{host=*}")).toBe(`SELECT max("user") FROM "cpu" ${range} GROUP BY time(5m), "host"`);
    expect(await of("sum:$step-avg:cpu.user{dc=*}")).toBe(`SELECT sum("v") FROM (SELECT mean("user") AS "v" FROM "cpu" ${range} GROUP BY time($step), *) ${range} GROUP BY time($step), "dc"`);
    expect(await of("sum:1m-avg:rate:cpu.user")).toBe(`SELECT sum("v") FROM (SELECT derivative(mean("user"), 1s) AS "v" FROM "cpu" ${range} GROUP BY time(1m), *) ${range} GROUP BY time(1m)`);
    expect(await of("p95:1m-avg:cpu.user")).toContain('SELECT percentile("v", 95) FROM (');
    expect(await of("none:1m-avg:cpu.user")).toBe(`SELECT mean("user") FROM "cpu" ${range} GROUP BY time(1m), *`);
  });
  it("names the one field, or the one that needs no name, where that is known", async () => {
    const field = async (...fields: string[]) => (await withField({ measurement: "m", field: "" }, async () => fields)).field;
    expect([await field("ph"), await field("ph", "value"), await field("ph", "water"), await field()]).toEqual(["ph", "value", "", ""]);
    expect((await withField({ measurement: "m", field: "x" }, async () => ["y"])).field).toBe("x");
  });
  it("keeps the labels that are wanted", async () => {
    expect(await of("sum:cpu.user{host=*}{rack=a.1}")).toContain(` AND "rack" = 'a.1' GROUP BY`);
    expect(await of("sum:cpu.user{host=web*|d.b}")).toContain(' AND "host" =~ /^(web.*|d\\.b)$/ GROUP BY');
  });
});

describe("a name that is none", () => {
  const form = formOf("sum:load.one{host=a|gone}{rack=*}")!;
  const texts = (of: "metrics" | "labels" | "values", name: string, ...names: string[]) => {
    const instead = insteadOf(form, { of, name });
    return instead && [instead.about, ...names.filter(instead.isPossible).map((other) => textOf(instead.form(other)))];
  };
  it("gives way to one that is", () => {
    expect(texts("metrics", "load.one", "load.two", "load.one", "a{b")).toEqual([{ search: "one" }, "sum:load.two{host=a|gone}{rack=*}", 'sum:"a{b"{host=a|gone}{rack=*}']);
    expect(texts("labels", "host", "hosts", "rack")).toEqual([{ metric: "load.one" }, "sum:load.one{hosts=a|gone}{rack=*}"]);
    expect(texts("values", "gone", "b", "x|y")).toEqual([{ metric: "load.one", label: "host" }, "sum:load.one{host=b}{rack=*}"]);
    expect(texts("values", "never")).toBeNull();
  });
});

describe("copies for a shell", () => {
  it("survive quotes", () => {
    const body = { language: "influxql", text: "SELECT v FROM m WHERE h = 'x'", start_ms: 1, end_ms: 2, step_ms: 1 } as const;
    const text = curl("http://localhost:4242", "a b", body);
    expect(text).toContain("query?db=a%20b'");
    expect(text).toContain("h = '\\''x'\\''");
  });
});

describe("questions for elsewhere", () => {
  const body = { language: "opentsdb" as const, text: "sum:$step-avg:m{h=*}", start_ms: 1000, end_ms: 2000, step_ms: 10 };
  it("are addresses of the door whose language they are in", () => {
    expect(link("http://h:1", "d", body)).toBe("http://h:1/api/query?start=1000&end=2000&ms=true&m=sum%3A10ms-avg%3Am%7Bh%3D*%7D&db=d");
    const text = "SELECT v FROM m WHERE time >= $start AND time < $end GROUP BY time($step)";
    const q = new URL(link("http://h:1", "", { ...body, language: "influxql", text })).searchParams.get("q");
    expect(q).toBe("SELECT v FROM m WHERE time >= 1000ms AND time < 2000ms GROUP BY time(10ms)");
  });
  it("leave alone what only looks like a bound", () => {
    const q = (language: "opentsdb" | "influxql" | "promql", text: string) => {
      const { searchParams } = new URL(link("http://h:1", "", { ...body, language, text }));
      return searchParams.get("m") ?? searchParams.get("q") ?? searchParams.get("query");
    };
    expect(q("opentsdb", "sum:$step-avg:rate{counter,1,2}:$step-of$step{h=a:$step-b}")).toBe("sum:10ms-avg:rate{counter,1,2}:$step-of$step{h=a:$step-b}");
    expect(q("promql", `rate({"a$step",b='$end'}[$step]) # $step`)).toBe(`rate({"a$step",b='$end'}[10ms]) # $step`);
    expect(q("influxql", `SELECT "$step" FROM m WHERE h = '$end' AND time < $end`)).toBe(`SELECT "$step" FROM m WHERE h = '$end' AND time < 2000ms`);
  });
  it("are programs that hold the text as it is", () => {
    const text = "a\"b'c\\d$step";
    for (const write of [python, javascript]) expect(write("http://h:1", "", { ...body, text })).toContain(JSON.stringify(text));
  });
});

describe("shares of PromQL", () => {
  it.each([
    ["rate(a[5m]) / rate(b[5m])", true], ["a_bytes/ignoring (x) b_bytes", true], ["sum(a) / 100", false], ["a_bytes / .5", false],
    ["rate(a{path=\"/x/y\"}[5m])", false], ["a # a / b", false],
  ])("%s: %s", (text, expected) => expect(isShare({ language: "promql", text, isForm: false, isHidden: false })).toBe(expected));
  it("are none in InfluxQL, whose slashes are of patterns", () => expect(isShare({ language: "influxql", text: "SELECT v FROM /x/", isForm: false, isHidden: false })).toBe(false));
});

describe("samples as they are stored", () => {
  it.each([
    ["opentsdb", "avg:$step-avg:m", true], ["opentsdb", "sum:1mc-avg:m", false], ["promql", "up{a=\"b\"}", true], ["promql", "up[5m]", true], ["promql", "rate(up[5m])", false],
    ["promql", "up / 2", false], ["influxql", "SELECT a, \"b(c)\" FROM m WHERE x = 1", true], ["influxql", "SELECT mean(a) FROM m", false], ["influxql", "SELECT a / 2 FROM m", false],
    ["influxql", "SELECT * FROM m", true], ["influxql", "SELECT a FROM (SELECT mean(a) FROM m)", false],
  ] as const)("are what %s asks by %s: %s", (language, text, expected) => expect(asksStored({ language, text, isForm: false, isHidden: false })).toBe(expected));

  it.each([["avg:$step-avg:rate:m{h=*}{d=x}", "none:m{h=*}{d=x}"], ["none:m", "none:m"], ["sum:1mc-avg:m", "sum:1mc-avg:m"]])("%s", (text, wanted) =>
    expect(raw({ language: "opentsdb", text, isForm: true, isHidden: false }).text).toBe(wanted));
});

describe("labels of a form", () => {
  it("are compared with values, with what they are not, and with regular expressions", () => {
    expect([comparedOf("a|b"), comparedOf("not_literal_or(a|b)"), comparedOf("regexp(web(1|2))")]).toEqual([{ by: "=", text: "a|b" }, { by: "≠", text: "a|b" }, { by: "~", text: "web(1|2)" }]);
    expect([patternOf("≠", "a"), patternOf("~", "a.*"), patternOf("=", "a"), patternOf("~", "")]).toEqual(["not_literal_or(a)", "regexp(a.*)", "a", "*"]);
    expect([comparedOf("not_regexp(a(b))"), patternOf("!~", "a(b)")]).toEqual([{ by: "!~", text: "a(b)" }, "not_regexp(a(b))"]);
    const filters = [{ label: "h", pattern: "not_literal_or(a|b.c)", splits: true }, { label: "d", pattern: "regexp(^x)", splits: false }];
    expect(filteredOf("m", filters)).toBe('m{h!~"a|b\\\\.c", d=~".*(^x).*"}');
    expect(selectText("m", "v", { filters })).toContain(" AND \"h\" !~ /^(a|b\\.c)$/ AND \"d\" =~ /^x/");
  });
  it("and what fills gaps are read from a text and written back", () => {
    for (const text of ["sum:1m-avg-zero:rate:m{h=not_literal_or(a)}", "avg:$step-max-nan:m"]) expect(textOf(formOf(text)!)).toBe(text);
    expect(formOf("sum:1m-avg-none:m")!.fill).toBe("");
    expect(influxqlOf({ ...emptyForm("m"), fill: "zero" }, { measurement: "m", field: "" })).toMatch(/ fill\(0\)$/);
  });
});

describe("the step of a row", () => {
  const halves = { measurement: "cpu", field: "user" };
  const form = (text: string) => formOf(text)!;
  it("goes along into InfluxQL, with how it is made one value", () => {
    expect(influxqlOf(form("max:5m-max:cpu.user"), halves)).toBe('SELECT max("user") FROM "cpu" WHERE time >= $start AND time < $end GROUP BY time(5m)');
    expect(influxqlOf(form("none:1h-p95:cpu.user"), halves)).toContain('SELECT percentile("user", 95) FROM');
    expect(influxqlOf(form("avg:cpu.user"), halves)).toBe('SELECT "user" FROM "cpu" WHERE time >= $start AND time < $end GROUP BY *');
  });
  it("goes along into PromQL, whose instants are of the page's", () => {
    expect(promqlOf(form("avg:5m-max:cpu.user"), "cpu_user")).toBe("avg (max_over_time(cpu_user[5m]))");
    expect(promqlOf(form("none:1h-p95:cpu.user"), "cpu_user")).toBe("quantile_over_time(0.95, cpu_user[1h])");
    expect(promqlOf(form("sum:1m-avg:rate{dropcounter}:cpu.user"), "cpu_user")).toBe("sum (rate(cpu_user[1m]))");
    expect(promqlOf(form("avg:$step-avg:cpu.user"), "cpu_user")).toBe("avg (cpu_user)");
  });
});

it("parts that mean nothing are told, and no others", () => {
  expect(idleParts("sum:rat:foo:1m-avg:m")).toEqual(["rat", "foo"]);
  for (const text of ["sum:m", "sum:$step-avg:rate{counter,,1}:sys.cpu{host=a}", "sum:0all-sum:m{a=b:c}", "none:explicit_tags:m", "sum:percentiles[99]:m", "m", ""]) expect(idleParts(text)).toEqual([]);
});
