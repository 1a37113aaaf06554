import { describe, expect, it } from "vitest";
import { nextPromqlWord, metricsIn, quotedMetricsIn, withMetric } from "../src/promql";
import { halvesOf, promqlName } from "../src/metric";
import { formOf, promqlOf, raw, selectorOf } from "../src/question";

const classes = (text: string) => {
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    const word = nextPromqlWord(text.slice(at));
    if (word.class !== "blank") found.push(`${word.text}:${word.class}`);
    at += word.text.length;
  }
  return found;
};

describe("words of PromQL", () => {
  it("are told apart", () => {
    expect(classes("sum by (a) (rate(x{b=\"c\"}[5m])) > 2 # end")).toEqual([
      "sum:function", "by:keyword", "(:mark", "a:name", "):mark", "(:mark", "rate:function", "(:mark", "x:name", "{:mark", "b:name", "=:mark", "\"c\":string",
      "}:mark", "[:mark", "5m:number", "]:mark", "):mark", "):mark", ">:mark", "2:number", "# end:comment",
    ]);
    expect(classes("rate_total")).toEqual(["rate_total:name"]);
  });
});

describe("questions", () => {
  it("of a form are said in PromQL", () => {
    expect(promqlOf(formOf("sum:$step-avg:rate{dropcounter}:http.requests{host=*}{code=5*}")!, "http_requests"))
      .toBe('sum by (host) (rate(http_requests{code=~"5.*"}[5m]))');
    expect(promqlOf(formOf("sum:a.b{code=5*}")!, "a.b")).toBe('sum by (code) ({"a.b", code=~"5.*"})');
    expect(promqlOf(formOf("none:up{job=a}")!, "up")).toBe('up{job="a"}');
  });
  it("about samples as they are stored take a range", () => {
    const promql = (text: string) => raw({ language: "promql", text, isForm: false, isHidden: false }).text;
    expect(promql(" up{job=\"a\"} ")).toBe("up{job=\"a\"}[$range]");
    expect(promql("rate(up[5m])")).toBe("rate(up[5m])");
  });
  it("quote names that are none", () => {
    expect(["a:b", 'a."b', "a b", "a.b"].map(selectorOf)).toEqual(["a:b", '{"a.\\"b"}', '{"a b"}', '{"a.b"}']);
  });
  it("say a field behind its measurement, which only the store knows", async () => {
    const fieldsOf = async (measurement: string) => (measurement === "cpu" || measurement === "my.app" ? ["usage_user"] : []);
    const said = (metric: string) => halvesOf(metric, fieldsOf).then(promqlName);
    expect([await said("cpu.usage_user"), await said("my.app.usage_user"), await said("sys.load"), await said("up"), await said(".usage_user")])
      .toEqual(["cpu_usage_user", "my.app_usage_user", "sys.load", "up", ".usage_user"]);
  });
});

describe("metrics of an expression", () => {
  it.each([
    ["up", ["up"]],
    ['sum by (job) (rate(http_requests_total{code="a b"}[5m])) / on (job) group_left (x) job:all:rate', ["http_requests_total", "job:all:rate"]],
    ['{__name__="x"} and a unless (b offset 5m) > bool 2', ["a", "b"]],
    ["histogram_quantile(0.9, sum(rate(x_bucket[$range])) without (le)) # not", ["x_bucket"]],
    ["1 + 2", []],
  ])("%s are these", (text, names) => expect(metricsIn(text)).toEqual(names));
});

describe("another name of a metric", () => {
  it.each([
    ['{"air.temp"}', "air.temp", "air_temp", "air_temp"], ['rate({"air.temp", bed="n"}[5m])', "air.temp", "air_temp", 'rate(air_temp{bed="n"}[5m])'],
    ['sum(web_requests) / web_requests_total', "web_requests", '{"web.requests"}', 'sum({"web.requests"}) / web_requests_total'],
    ['web_requests{host="a"}', "web_requests", '{"web.requests"}', '{"web.requests", host="a"}'], ["cpuu + cpu", "cpuu", "cpu", "cpu + cpu"],
    ['{"a.b"} + {"a.c"}', "a.b", '{"a.d"}', '{"a.d"} + {"a.c"}'],
  ])("in %s", (text, name, selector, made) => expect(withMetric(text, name, selector)).toBe(made));
  it("is looked for in quotes, too", () => expect(quotedMetricsIn('{"a.b"} + {"c", d="e"} + x{y="z"} + {f="g"}')).toEqual(["a.b", "c"]));
});
