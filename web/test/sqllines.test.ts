import { describe, expect, it } from "vitest";
import { sqlWords } from "../src/sql";
import { sqlLines } from "../src/sqllines";

const solid = (text: string) => sqlWords(text).filter((word) => word.class !== "blank").map((word) => word.text.trim());

describe("SQL in lines", () => {
  it("begins one with each clause, and with each statement", () => {
    expect(sqlLines("select  a, b from \"t from\" where a = 'x  where' group by a having b > 1 order by 1 limit 5 offset 2;select 1 from u;"))
      .toBe("select a, b\nfrom \"t from\"\nwhere a = 'x  where'\ngroup by a\nhaving b > 1\norder by 1\nlimit 5\noffset 2;\nselect 1\nfrom u;");
  });
  it("leaves what stands in parentheses, comparisons and lists of tables as they are", () => {
    for (const text of ["SELECT extract(epoch FROM time) AS s\nFROM t", "SELECT a IS DISTINCT FROM b\nFROM t", "SHOW COLUMNS FROM t", "SELECT x\nFROM (SELECT x FROM t WHERE y = 1) AS q"]) expect(sqlLines(text)).toBe(text);
    expect(sqlLines("SELECT DISTINCT host FROM t")).toBe("SELECT DISTINCT host\nFROM t");
  });
  it("goes on in another line where one is long, and not within BETWEEN", () => {
    const lines = sqlLines(`SELECT a FROM t WHERE name_of_a_thing = 'a rather long text that fills a line' AND time BETWEEN 'another long text here' AND 'b' OR c = 1`).split("\n");
    expect(lines.slice(3)).toEqual(["  OR c = 1"]);
  });
  it("changes nothing but blanks, and nothing when it is done again", () => {
    for (const text of ["SELECT a -- why\n, b FROM t -- end", "/* x\n y */ SELECT 'a\n b' FROM t", "SELECT 1 -- a;\n; SELECT 2 -- b", ";", "", "SELEC (", `SELECT ${Array.from({ length: 30 }, (_, at) => `column_${at}`).join(", ")} FROM t`]) {
      const once = sqlLines(text);
      expect(solid(once).join(" ")).toBe(solid(text).join(" "));
      expect(sqlLines(once)).toBe(once);
    }
  });
});
