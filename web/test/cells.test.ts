import { describe, expect, it } from "vitest";
import { type Chosen, boundsOf, cell, chosenBy, isIn, lines } from "../src/cells";

const size = { rows: 100, columns: 3, page: 20 };
const first = { row: 7, column: 0 };
const one = (row: number, column: number): Chosen => ({ from: { row, column }, to: { row, column } });
const key = (name: string, more: { shiftKey?: boolean; ctrlKey?: boolean } = {}) => ({ key: name, shiftKey: false, ctrlKey: false, metaKey: false, ...more });
const after = (name: string, before: Chosen | null, more = {}) => chosenBy(key(name, more), before, size, first);

describe("cells", () => {
  it("are chosen by keys, as in a spreadsheet", () => {
    expect(after("ArrowDown", null)).toEqual(one(7, 0));
    expect(after("ArrowDown", one(7, 0))).toEqual(one(8, 0));
    expect(after("ArrowRight", one(7, 2))).toEqual(one(7, 2));
    expect(after("ArrowUp", one(0, 1))).toEqual(one(0, 1));
    expect(after("ArrowDown", one(7, 0), { ctrlKey: true })).toEqual(one(99, 0));
    expect(after("PageDown", one(7, 0))).toEqual(one(27, 0));
    expect(after("PageUp", one(7, 0))).toEqual(one(0, 0));
    expect(after("End", one(7, 0))).toEqual(one(7, 2));
    expect(after("Home", one(7, 2), { ctrlKey: true })).toEqual(one(0, 0));
    expect(after("a", null, { ctrlKey: true })).toEqual({ from: { row: 0, column: 0 }, to: { row: 99, column: 2 } });
  });
  it("are more with Shift, and whole rows with Shift and blank", () => {
    const two = after("ArrowDown", one(7, 1), { shiftKey: true })!;
    expect(two).toEqual({ from: { row: 7, column: 1 }, to: { row: 8, column: 1 } });
    expect(after(" ", two, { shiftKey: true })).toEqual({ from: { row: 7, column: 0 }, to: { row: 8, column: 2 } });
    expect(boundsOf({ from: { row: 8, column: 2 }, to: { row: 7, column: 0 } })).toEqual({ top: 7, bottom: 8, left: 0, right: 2 });
    expect([isIn(boundsOf(two), 8, 1), isIn(boundsOf(two), 8, 0), isIn(boundsOf(two), 9, 1)]).toEqual([true, false, false]);
  });
  it("are chosen no longer after Escape; other keys mean nothing", () => {
    expect(after("Escape", one(1, 1))).toBeNull();
    expect([after("Escape", null), after("x", one(1, 1)), after("a", one(1, 1)), after(" ", one(1, 1))]).toEqual([undefined, undefined, undefined, undefined]);
  });
  it("become lines that a spreadsheet reads as they are, and no formula", () => {
    expect(lines([["a", 1.5], [null, true]], "\t")).toBe("a\t1.5\n\ttrue");
    expect(lines([["a\tb", 'say "x"'], ["two\nlines", "a,b"]], "\t")).toBe('"a\tb"\t"say ""x"""\n"two\nlines"\ta,b');
    expect(lines([["a,b", "-5"], ["=1+1", "@x"]], ",")).toBe("\"a,b\",-5\n'=1+1,'@x");
    expect(cell("9007199254740993")).toBe("9007199254740993");
  });
  it("are a text as it is where there is one alone", () => {
    expect([lines([["=x\t\"y\""]], "\t"), lines([[null]], "\t"), lines([[12]], ",")]).toEqual(['=x\t"y"', "", "12"]);
  });
});
