import { describe, expect, it } from "vitest";
import { look } from "../src/looking";
import { arePoints, putLine, unpointed } from "../src/points";

const bytes = (text: string) => new TextEncoder().encode(text);
const POINT = '{"metric": "soil.ph", "timestamp": 1767225600, "value": 6.5, "tags": {"bed": "north", "row": "1"}}';
const LINE = "put soil.ph 1767225600 6.5 bed=north row=1";
const made = async (text: string) => (await unpointed(new File([text], "a.json"))).text();

describe("points of OpenTSDB as JSON", () => {
  it("are told by their members", () => {
    for (const text of [POINT, `[${POINT}]`, ` [\n  ${POINT},\n`, `${POINT}\n${POINT}\n`]) expect(arePoints(bytes(text)), text).toBe(true);
    for (const text of [
      "[]", '{"metric":"m","timestamp":1767225600,"value":1,"host":"a"}', '[{"metric":"m","tags":{},"aggregateTags":[],"dps":{"1767225600":1}}]',
      '{"metric":{"__name__":"up"},"values":[1],"timestamps":[1]}', "put m 1767225600 1 a=b",
    ]) expect(arePoints(bytes(text)), text).toBe(false);
  });
  it("are lines, one for each", async () => {
    expect(await made(POINT)).toBe(`${LINE}\n`);
    expect(await made(`[${POINT},\n ${POINT}]`)).toBe(`${LINE}\n${LINE}\n`);
    expect(await made(`${POINT}\n\n${POINT}\n`)).toBe(`${LINE}\n${LINE}\n`);
    expect(putLine({ metric: "m", timestamp: "1767225600123", value: "-1.5e3" })).toBe("put m 1767225600123 -1.5e3");
  });
  it("that are none are left to be refused", () => {
    for (const point of [{ metric: "m", value: "1" }, { metric: "a b", timestamp: "1", value: "1" }, { metric: "m", timestamp: "1", value: "1", tags: { a: ["b"] } }, null, "x", 7]) {
      expect(putLine(point)).toBe(JSON.stringify(point));
    }
  });
  it("are brought in as put lines, unless somebody says otherwise", async () => {
    const looked = await look(new File([`[${POINT}]`], "a.json"), "db");
    expect([looked.format, looked.plan?.format, looked.lines[0], looked.given.size, await looked.file.text()]).toEqual(["opentsdb", "opentsdb", LINE, POINT.length + 2, `${LINE}\n`]);
    expect((await look(new File([`${POINT}\n`], "a.json"), "", "json")).format).toBe("json");
    await expect(look(new File([`[${POINT}`], "a.json"), "")).rejects.toThrow("is not whole, or is no JSON");
  });
});
