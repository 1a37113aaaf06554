import { describe, expect, it, test } from "vitest";
import { foldsOf, nextOpentsdbWord, opentsdbExpected } from "../src/opentsdb";

/** What may stand where the bar is, what is typed of it, and whose it is. */
const at = (text: string) => {
  const { of, typed, metric, label } = opentsdbExpected(text.replace("|", ""), text.indexOf("|"));
  return [of, typed, metric, label].join(" ").trim();
};

test("what may stand at the cursor", () => {
  expect(at("su|")).toBe("aggregators su");
  expect(at("sum:|")).toBe("parts");
  expect(at("sum:1m-avg:sys.c|")).toBe("parts sys.c");
  expect(at("sum:sys.cpu{ho|")).toBe("labels ho sys.cpu");
  expect(at("sum:sys.cpu{host=w|}")).toBe("values w sys.cpu host");
  expect(at("sum:sys.cpu{host=web,dc=|}")).toBe("values  sys.cpu dc");
  expect(at("sum:rate{count|")).toBe("nothing count");
  expect(at("sum:rate{counter}:sys|")).toBe("parts sys");
  expect(at("sum:m{a=b}{c|}")).toBe("labels c m");
  expect(at('sum:1m-avg:"job:re|')).toBe("parts job:re");
  expect(opentsdbExpected('sum:"job:re', 11).from).toBe(4);
  expect(at('sum:"job:reqs"{host=w|}')).toBe("values w job:reqs host");
});

test("each word has its class, and words make the text again", () => {
  const text = "sum:$step-avg:rate{counter}:sys.cpu{host=*,dc=a|b}";
  const found: [string, string][] = [];
  for (let from = 0; from < text.length;) {
    const word = nextOpentsdbWord(text.slice(from));
    found.push([word.class, word.text]);
    from += word.text.length;
  }
  expect(found.map(([, part]) => part).join("")).toBe(text);
  const of = (name: string) => found.filter(([kind]) => kind === name).map(([, part]) => part);
  expect(of("function")).toEqual(["sum"]);
  expect(of("bound")).toEqual(["$step"]);
  expect(of("keyword")).toEqual(["rate"]);
  expect(nextOpentsdbWord("1h-max:").class).toBe("number");
  expect(nextOpentsdbWord("<img").text).toBe("<img");
  expect(nextOpentsdbWord('"a:b{c}"{host=x}')).toEqual({ class: "name", text: '"a:b{c}"' });
});

describe("steps and ends of OpenTSDB's texts", () => {
  it("offer what a step is folded by, and nothing behind braces", () => {
    expect(opentsdbExpected("sum:5m-", 7).of).toBe("folds");
    expect(opentsdbExpected("sum:$step-m", 11).of).toBe("folds");
    expect(foldsOf("5m-m").map(([label]) => label)).toContain("5m-max:");
    expect(opentsdbExpected("sum:a.b{h=*}", 12).of).toBe("nothing");
    expect(opentsdbExpected("sum:rate{counter}:a", 19).of).toBe("parts");
  });
});
