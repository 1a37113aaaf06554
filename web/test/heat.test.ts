import { describe, expect, it } from "vitest";
import { areBuckets, bucketText, heat } from "../src/heat";
import type { Series } from "../src/series";

const series = (labels: Record<string, string>, values: (number | null)[], times = values.map((_, at) => at * 10)): Series =>
  ({ name: "", field: "", labels, varying: [], kind: "float", times, values });

describe("buckets", () => {
  it("are series that all tell an upper bound", () => {
    expect(areBuckets([series({ le: "1" }, []), series({ le: "+Inf" }, [])])).toBe(true);
    expect(areBuckets([series({ le: "1" }, []), series({}, [])])).toBe(false);
    expect(areBuckets([series({ le: "1", host: "a" }, []), series({ le: "1", host: "b" }, [])])).toBe(false);
    expect(areBuckets([series({ le: "low" }, []), series({ le: "1" }, [])])).toBe(false);
    expect(areBuckets([])).toBe(false);
  });
  it("hold what those below do not, in the order of their bounds, whoever told them", () => {
    const all = [series({ le: "+Inf", host: "a" }, [9, 9]), series({ le: "10", host: "a" }, [5, 6]), series({ le: "2", host: "a" }, [1, 6]), series({ le: "10", host: "b" }, [1, null])];
    expect(heat(all, true)).toEqual({ times: [0, 10], bounds: ["2", "10", "+Inf"], cells: [[1, 6], [5, 0], [3, 3]], most: 6 });
  });
  it("of counters tell how much came from time to time, also where they began anew", () =>
    expect(heat([series({ le: "1" }, [5, 7, 2]), series({ le: "2" }, [5, 10, 4])], false)).toEqual({ times: [10, 20], bounds: ["1", "2"], cells: [[2, 2], [3, 2]], most: 3 }));
  it("of counters with fewer samples than steps are gathered, so that no column is empty", () => {
    const one = (top: number) => series({ le: String(top) }, Array.from({ length: 17 }, (_, at) => Math.floor(at / 2) * top));
    const made = heat([one(1), one(2)], false);
    expect(made.times.length).toBe(4);
    expect(made.cells).toEqual([[2, 2, 2, 2], [2, 2, 2, 2]]);
    // Buckets that grow seldom have the columns of those that grow often.
    const seldom = heat([series({ le: "1" }, Array.from({ length: 17 }, (_, at) => Math.floor(at / 8))), one(2)], false);
    expect([seldom.times.length, seldom.cells]).toEqual([4, [[0, 1, 0, 1], [4, 3, 4, 3]]]);
  });
  it("are called by their bounds", () => expect([bucketText(["1", "2"], 0), bucketText(["1", "2"], 1)]).toEqual(["up to 1", "1 – 2"]));
});
