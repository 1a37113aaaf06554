import { describe, expect, it } from "vitest";
import { bestFirst, durations, matching } from "../src/offers";
import { promqlExpected } from "../src/promqlexpected";

/** The cursor is where the bar stands. */
const at = (marked: string) => promqlExpected(marked.replace("|", ""), marked.indexOf("|"));

/** The words that are offered there, as they stand once something is typed. */
const offered = (marked: string) => {
  const { words, typed } = at(marked);
  return bestFirst(matching(words.map((label) => ({ label })), typed), typed).map(({ label }) => label);
};

const OPERATORS = ["and", "or", "unless", "+", "-", "*", "/", "%", "^", "atan2", "==", "!=", ">", "<", ">=", "<="];

describe("an expression may begin", () => {
  it.each([
    ["|", "", []], ["ra|", "ra", []], ["(|", "", []], ["(u|", "u", []], ["-u|", "u", []], ["sum(|", "", []], ["sum(ra|", "ra", []], ["sum by (job) (u|", "u", []], ["topk(5, u|", "u", []],
    ["abs(u|", "u", []], ["label_replace(u|", "u", []], ["quantile_over_time(u|", "u", []], ["predict_linear(up[5m], u|", "u", []], ["up + -u|", "u", []], ["(up) + (u|", "u", []],
    ["up + u|", "u", ["on", "ignoring"]], ["up and u|", "u", ["on", "ignoring"]], ["up > bo|", "bo", ["bool", "on", "ignoring"]], ["up == |", "", ["bool", "on", "ignoring"]], ["up>=u|", "u", ["bool", "on", "ignoring"]],
    ["up > bool o|", "o", ["on", "ignoring"]], ["2 * o|", "o", ["on", "ignoring"]], ["sum(up) / su|", "su", ["on", "ignoring"]], ["up offset 5m + u|", "u", ["on", "ignoring"]],
    ["a / on(job) group_|", "group_", ["group_left", "group_right"]], ["a / ignoring(job) |", "", ["group_left", "group_right"]], ["a > bool on (job) g|", "g", ["group_left", "group_right"]],
    ["a and on(job) g|", "g", []], ["a / on(job) group_left |", "", ["("]], ["a / on(job) group_left(x) u|", "u", []], ["a / on (job) group_right () u|", "u", []],
    ["up{a=\"}\"} # (\n+ u|", "u", ["on", "ignoring"]],
  ])("in %s", (marked, typed, words) => {
    expect(at(marked)).toMatchObject({ of: "expression", typed, words, from: marked.indexOf("|") - typed.length });
  });
  it.each([["rate(|", ""], ["rate(htt|", "htt"], ["sum(rate(h|", "h"], ["quantile_over_time(0.9, u|", "u"], ["sum by (a) (increase(u|", "u"]])("of a range in %s", (marked, typed) => {
    expect(at(marked)).toMatchObject({ of: "range expression", typed });
  });
});

describe("words may follow", () => {
  it.each([
    // An aggregation's name, and its parentheses.
    ["sum |", ["by", "without", "("]], ["sum b|", ["by"]], ["SUM wi|", ["without"]], ["sum by |", ["("]], ["sum by (job) |", ["("]], ["sum(up) b|", ["by"]], ["sum(up)b|", ["by"]],
    ["sum(up) |", ["by", "without", ...OPERATORS, "["]], ["sum(up) by |", ["("]], ["sum(up) by (job) |", [...OPERATORS, "["]], ["sum by (job) (up) |", [...OPERATORS, "["]],
    ["topk(5, sum(up) b|", ["by"]], ["sum(rate(up[5m])) wi|", ["without"]], ["1 + sum(up) b|", ["by"]], ["count_values(\"a\", up) b|", ["by"]],
    // A selector.
    ["up |", [...OPERATORS, "[", "{", "offset", "@"]], ["up{job=\"a\"} |", [...OPERATORS, "[", "offset", "@"]], ["{\"sys.cpu.user\"} |", [...OPERATORS, "[", "offset", "@"]], ["(up |", [...OPERATORS, "[", "{", "offset", "@"]],
    ["up of|", ["offset"]], ["up !|", ["!="]], ["up =|", ["=="]], ["up u|", ["unless"]], ["sys.cpu.user of|", ["offset"]], ["job:up:sum5m of|", ["offset"]],
    ["up offset 5m |", [...OPERATORS, "[", "@"]], ["up @ start() |", [...OPERATORS, "[", "offset"]], ["up @ 17 offset -1h |", [...OPERATORS, "["]], ["up offset $step |", [...OPERATORS, "[", "@"]],
    ["sum > |", ["bool", "on", "ignoring"]],
    // A range, for which nothing is reckoned.
    ["up[5m] |", ["offset", "@"]], ["up[1h:5m] |", ["offset", "@"]], ["rate(up[5m] o|", ["offset"]], ["rate(up |", ["[", "{", "offset", "@"]], ["up[5m] @ end() |", ["offset"]],
    // Calls, parentheses and numbers.
    ["abs(up) |", [...OPERATORS, "["]], ["rate(up[$step]) |", [...OPERATORS, "["]], ["(up) |", [...OPERATORS, "["]], ["1 |", OPERATORS], ["Inf |", OPERATORS], ["up + 1 an|", ["and", "atan2"]],
    // A range's length.
    ["up[5m |", [":"]], ["sum(up)[$step |", [":"]],
  ])("%s", (marked, words) => {
    expect(offered(marked).slice(0, words.length)).toEqual(words);
    if (!marked.endsWith("> |")) expect(at(marked).of).toBe("words");
    if (at(marked).typed === "") expect(at(marked).words).toEqual(words);
  });
  it("behind a vector begin as what is typed first", () => expect(offered("up o|").slice(0, 2).sort()).toEqual(["offset", "or"]));
});

describe("in braces and brackets", () => {
  it.each([
    ["up{|", "labels", "", "up", ""], ["up{jo|", "labels", "jo", "up", ""], ["up{job=\"a\", ins|", "labels", "ins", "up", ""], ["up{\"jo|", "labels", "jo", "up", ""], ["sys.cpu{|", "labels", "", "sys.cpu", ""],
    ["{\"net.b|", "quoted names", "net.b", "", ""], ["rate({'net|", "quoted names", "net", "", ""], ["{|", "labels", "", "", ""],
    ["{\"net.bytes\", \"ho|", "labels", "ho", "net.bytes", ""], ["{\"net.bytes\", |", "labels", "", "net.bytes", ""], ["{__name__=\"up\", |", "labels", "", "up", ""],
    ["up{job |", "match operators", "", "up", ""], ["up{job!|", "match operators", "!", "up", ""], ["up{on |", "match operators", "", "up", ""], ["{\"a b\" |", "match operators", "", "", ""],
    ["up{job=|", "values", "", "up", "job"], ["up{job=\"|", "values", "", "up", "job"], ["up{job=~\"a|", "values", "a", "up", "job"], ["up{job!=\"a|", "values", "a", "up", "job"], ["up{a=\"b\", job !~ '|", "values", "", "up", "job"],
    ["{\"net.bytes\", \"host.name\"=\"|", "values", "", "net.bytes", "host.name"], ["sum(up) + x{job=\"|", "values", "", "x", "job"],
    ["up{job=\"a\" |", "nothing", "", "", ""], ["up{job=\"a\"|", "nothing", "", "", ""],
    ["up[|", "ranges", "", "", ""], ["rate(up[|", "ranges", "", "", ""], ["rate(up[5|", "ranges", "5", "", ""], ["rate(up[5m|", "ranges", "5m", "", ""], ["up{a=\"b\"}[$|", "ranges", "$", "", ""], ["up[$st|", "ranges", "$st", "", ""],
    ["sum(up)[|", "subqueries", "", "", ""], ["rate(sum(up)[5|", "subqueries", "5", "", ""], ["up offset 1h[1|", "subqueries", "1", "", ""],
    ["up[1h:|", "steps", "", "", ""], ["up[1h:5|", "steps", "5", "", ""], ["up[1h : 5|", "steps", "5", "", ""], ["sum(up)[$step:1|", "steps", "1", "", ""],
    ["up offset |", "durations", "", "", ""], ["up offset 5|", "durations", "5", "", ""], ["up offset -5|", "durations", "5", "", ""], ["rate(up[5m] offset 1|", "durations", "1", "", ""], ["up{a=\"b\"} @ 1 offset 1|", "durations", "1", "", ""],
    ["up @ |", "instants", "", "", ""], ["up @ st|", "instants", "st", "", ""], ["up[5m] @ e|", "instants", "e", "", ""],
    ["5|", "nothing", "", "", ""], ["up + 5|", "nothing", "", "", ""], ["label_replace(up, \"|", "nothing", "", "", ""], ["up # o|", "nothing", "", "", ""], ["'up|", "nothing", "", "", ""], ["label_replace(up, \"a\" |", "nothing", "", "", ""],
    ["up @ start(|", "nothing", "", "", ""],
  ])("%s: %s", (marked, of, typed, metric, label) => {
    const found = at(marked);
    const isThere = marked.slice(found.from, marked.indexOf("|")).replace(/^["']/, "");
    if (of !== "nothing") expect([found.typed, isThere]).toEqual([typed, typed]);
    expect({ of: found.of, label: found.label }).toEqual({ of, label });
    if (metric) expect(found.metrics).toEqual([metric]);
  });
});

describe("labels in parentheses are those of the metrics around", () => {
  it.each([
    ["sum(up) by (jo|", ["up"]], ["sum(up) by (|)", ["up"]], ["sum by (|) (rate(http_total{a=\"b\"}[5m]))", ["http_total"]], ["sum by (jo|) ({\"sys.cpu.user\"})", ["sys.cpu.user"]],
    ["x + sum(up + y) by (job, |", ["up", "y"]], ["sum by (|", []], ["x + sum by (|", ["x"]], ["x + sum by (jo|) (up) + y", ["up"]], ["sum(up) without (jo|) + y", ["up"]],
    ["a / on(|", ["a"]], ["a / on(jo|) b", ["a", "b"]], ["a / on(x) group_left (|) b", ["a", "b"]], ["abs(a / ignoring (|) b) + c", ["a", "b"]], ["c + (a and on (x, |) b)", ["a", "b"]],
    ["sum(up) by (\"jo|", ["up"]],
  ])("%s", (marked, metrics) => expect(at(marked)).toMatchObject({ of: "labels", metrics }));
  it("and commas alone follow one", () => expect(at("sum(up) by (job |").of).toBe("nothing"));
});

const named = (...labels: string[]) => labels.map((label) => ({ label }));

const labels = (offers: { label: string }[]) => offers.map(({ label }) => label);

describe("offers", () => {
  it.each([
    ["up", ["a_up", "upper", "up", "foliot_up"], ["up", "upper", "a_up", "foliot_up"]], ["sum", ["summary", "sum()", "a_sum"], ["sum()", "summary", "a_sum"]],
    ["sys_cpu", ["x_sys_cpu", "{\"sys.cpu.user\"}", "{\"sys.cpu\"}"], ["{\"sys.cpu\"}", "{\"sys.cpu.user\"}", "x_sys_cpu"]], ["", ["foliot_a", "b"], ["b", "foliot_a"]], ["foliot_a", ["b_foliot_a", "foliot_a"], ["foliot_a", "b_foliot_a"]],
    ["5m", ["15m]", "5m]", "5m:"], ["5m]", "5m:", "15m]"]],
  ])("of %s are the name itself, and then those that begin so", (typed, given, sorted) => expect(labels(bestFirst(named(...given), typed))).toEqual(sorted));
  it("hold what was typed, or its letters in their order", () => {
    expect(labels(matching(named("up", "{\"sys.cpu\"}", "down"), "sys_c"))).toEqual(["{\"sys.cpu\"}"]);
    expect(labels(matching(named("http_requests", "up"), "hrq"))).toEqual(["http_requests"]);
  });
  it.each([["", ["$step", "1m", "5m"]], ["5", ["5m", "5h", "5d", "5s"]], ["1h3", ["1h3m", "1h3s", "1h3ms"]], ["5m", ["5m"]], ["$st", ["$step"]]])("of a length of time behind %s begin with %s", (typed, first) => {
    expect(durations(typed).slice(0, first.length)).toEqual(first);
  });
});
