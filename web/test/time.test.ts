import { describe, expect, it } from "vitest";
import { CALENDAR, belowMillis, calendarSpan, dateMs, durationMs, durationText, instant, isZone, moved, moves, nanoText, rangeFault, span, spanText, step, tickTexts, timeText, widened, zoneNamed, zones } from "../src/time";

const NOW = Date.UTC(2026, 2, 1, 12, 0, 0);

describe("dates", () => {
  it.each(["2026-11-28 24:30", "2026-11-28 03:00:60Z", "2026-11-28T03:00+24:00", "2026-11-28T03:00+02:60", "2026-02-30", "2026-13-01"])("are none: %s", (text) => {
    expect(instant(text, NOW, "utc")).toBe(null);
  });
  it("may end a day, and have years of two digits, which are not of the last century", () => {
    expect(dateMs("2026-11-28 24:00", "utc")).toBe(Date.UTC(2026, 10, 29));
    expect(dateMs("0026-11-28", "utc")).toBe(Date.parse("0026-11-28T00:00:00Z"));
    expect(dateMs("0001-01-01 00:00", "utc")).toBe(Date.parse("0001-01-01T00:00:00Z"));
  });
  it("keep what is below a millisecond", () => {
    expect(["12:00:00.123456789Z", "12:00:00,1234", "12:00:00.5", "12:00"].map((clock) => belowMillis(`2026-03-01T${clock}`))).toEqual(["456789", "400000", "000000", "000000"]);
  });
});

describe("what a person asks for", () => {
  it.each([
    ["now", NOW], ["", NOW], ["1h-ago", NOW - 3_600_000], ["90s-ago", NOW - 90_000], ["1.5d-ago", NOW - 129_600_000],
    ["1h30m-ago", NOW - 5_400_000], ["now-1d12h", NOW - 129_600_000], ["2026-03-01 13:30:00+01:30", NOW], ["2026-03-01T04:00-0800", NOW], ["now-1h", NOW - 3_600_000], ["now - 90s", NOW - 90_000], ["now() - 2d", NOW - 2 * 86_400_000], ["now+5m", NOW + 300_000], ["now-1M", NOW - 30 * 86_400_000],
    ["1767225600", 1767225600000], ["1767225600123", 1767225600123], ["0", 0],
    ["2026/03/01", Date.UTC(2026, 2, 1)], ["2026/03/01-08:15", Date.UTC(2026, 2, 1, 8, 15)],
    ["2026-03-01 08:15:30", Date.UTC(2026, 2, 1, 8, 15, 30)], ["2026-03-01T08:15:30.25Z", Date.UTC(2026, 2, 1, 8, 15, 30, 250)],
  ])("%s is an instant", (text, expected) => expect(instant(text, NOW, "utc")).toBe(expected));

  it("moves with the clock, or does not", () => {
    expect(["now", "", "1h-ago", "now-7d", "now+1h", "2026-03-01", "1700000000", "soon", "1x-ago"].filter(moves)).toEqual(["now", "", "1h-ago", "now-7d", "now+1h"]);
  });
  it.each(["yesterday", "1x-ago", "-ago", "1h30-ago", "2026/03", "2026-02-30", "2026-03-01 25:00", "1h", "now-", "now-1", "now-x", "now1h", "9000y-ago", "99999999999999999999", "1e300"])("%s is none", (text) => expect(instant(text, NOW, "utc")).toBeNull());

  it("has a beginning before its end", () => {
    expect(span({ start: "1h-ago", end: "now" }, NOW, "utc")).toEqual({ start: NOW - 3_600_000, end: NOW });
    expect(span({ start: "now", end: "1h-ago" }, NOW, "utc")).toBeNull();
    expect(span({ start: "x", end: "now" }, NOW, "utc")).toBeNull();
    const fault = (start: string, end: string) => rangeFault({ start, end }, NOW, "utc");
    expect(fault("x", "now")).toMatch(/^the beginning, “x”, is no time/);
    expect(fault("1h-ago", "2026-02-30")).toMatch(/^the end, “2026-02-30”, is no time/);
    expect(fault("2026/03/02", "now")).toBe("the beginning, “2026/03/02”, lies in the future, and the end, “now”, does not.");
    expect(fault("2026/03/03", "2026/03/02")).toBe("the beginning, “2026/03/03”, lies in the future, and behind the end, “2026/03/02”.");
    expect(fault("now", "1h-ago")).toBe("the end, “1h-ago”, must lie behind the beginning, “now”.");
    expect(fault("1h-ago", "now")).toBe("");
  });
});

describe("durations", () => {
  it("are read and written in the largest unit that fits", () => {
    for (const text of ["1ms", "15s", "5m", "6h", "7d"]) expect(durationText(durationMs(text)!)).toBe(text);
    expect(durationText(90_000)).toBe("90s");
    expect(durationMs("1 h")).toBeNull();
  });
  it("are said in two words at most", () => {
    expect(spanText(90_061_000)).toBe("1 d 1 h");
    expect(spanText(3_605_000)).toBe("1 h");
    expect(spanText(250)).toBe("250 ms");
  });
});

describe("steps", () => {
  it.each([[3_600_000, 400, 10_000], [3_600_000, 360, 10_000], [86_400_000, 400, 300_000], [1000, 400, 5], [1, 400, 1]])(
    "%d ms in %d are %d ms each", (range, steps, expected) => expect(step(range, steps)).toBe(expected));
  it("never make more than was asked for", () => {
    for (let range = 1; range < 1e12; range *= 3) expect(range / step(range, 400)).toBeLessThanOrEqual(400);
  });
});

describe("zones", () => {
  const vienna = "Europe/Vienna";
  it("are those that the browser knows by name", () => {
    expect(["utc", "local", vienna, "Asia/Kathmandu", "America/St_Johns"].every(isZone)).toBe(true);
    expect(["", "Europe/Vienne", "now", "<b>", "UTC+25"].some(isZone)).toBe(false);
    expect(zones()).toContain(vienna);
  });
  it("have clocks of their own, before and after they are set", () => {
    expect(timeText(NOW, vienna)).toBe("2026-03-01 13:00:00");
    expect(timeText(Date.UTC(2026, 6, 1, 12, 0, 0, 7), vienna)).toBe("2026-07-01 14:00:00.007");
    expect(timeText(NOW, "Asia/Kathmandu")).toBe("2026-03-01 17:45:00");
    expect(timeText(Date.UTC(2026, 0, 1), "America/St_Johns")).toBe("2025-12-31 20:30:00");
    expect(nanoText("1767225600123456789", vienna)).toBe("2026-01-01 01:00:00.123456789");
    expect(timeText(-1, vienna)).toBe("1970-01-01 00:59:59.999");
    expect(tickTexts([Date.UTC(2026, 2, 1, 23), Date.UTC(2026, 2, 2, 5)], vienna)).toEqual(["03-02", "06:00"]);
  });
  it("are found by a part of their names, and by how far they are from UTC", () => {
    expect(["berlin", "Europe/berlin", "new york", "utc", "GMT", "kath", "nosuch", ""].map(zoneNamed))
      .toEqual(["Europe/Berlin", "Europe/Berlin", "America/New_York", "utc", "utc", zones().find((name) => /\/Kath?mandu$|\/Katmandu$/.test(name) && name.toLowerCase().includes("kath")) ?? null, null, null]);
    expect(["kolkata", "ho chi minh"].map((city) => timeText(0, zoneNamed(city)!).slice(11, 16))).toEqual(["05:30", "08:00"]);
    for (const text of ["+02:00", "+2", "utc+2", "+0200"]) expect(instant("2026-07-01 14:00", NOW, zoneNamed(text)!)).toBe(Date.UTC(2026, 6, 1, 12));
  });
  it("say when a date is", () => {
    expect(instant("2026/03/01-13:00", NOW, vienna)).toBe(NOW);
    expect(instant("2026-07-01 14:00", NOW, vienna)).toBe(Date.UTC(2026, 6, 1, 12));
    expect(instant("2026-07-01 14:00Z", NOW, vienna)).toBe(Date.UTC(2026, 6, 1, 14));
    // The clock is set forward on 29 March, and back on 25 October: an hour that is not, and one that is twice.
    expect(instant("2026-03-29 02:30", NOW, vienna)).toBe(Date.UTC(2026, 2, 29, 1, 30));
    expect(instant("2026-10-25 02:30", NOW, vienna)).toBe(Date.UTC(2026, 9, 25, 0, 30));
    expect(instant("2026-10-25 03:30", NOW, vienna)).toBe(Date.UTC(2026, 9, 25, 2, 30));
  });
  it("agree with the browser's own", () => {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const at of [0, NOW, Date.UTC(1999, 5, 5), Date.UTC(2026, 6, 1)]) {
      expect(timeText(at, own)).toBe(timeText(at, "local"));
      expect(instant(timeText(at, "local"), NOW, "local")).toBe(at);
      expect(instant(timeText(at, own), NOW, own)).toBe(at);
    }
  });
});

describe("clocks", () => {
  it("show the zone they are in, and milliseconds where there are any", () => {
    expect(timeText(NOW, "utc")).toBe("2026-03-01 12:00:00Z");
    expect(timeText(NOW + 5, "utc")).toBe("2026-03-01 12:00:00.005Z");
  });
  it("show the date where a day begins", () => {
    const noon = Date.UTC(2026, 2, 1, 12);
    const sixHours = 6 * 3_600_000;
    expect(tickTexts([noon, noon + sixHours, noon + 2 * sixHours], "utc")).toEqual(["12:00", "18:00", "03-02"]);
    expect(tickTexts([noon, noon + 15_000], "utc")).toEqual(["12:00:00", "12:00:15"]);
    expect(tickTexts([noon, noon + 100], "utc")).toEqual(["00:00.000", "00:00.100"]);
    expect(tickTexts([noon, noon + 86_400_000], "utc")).toEqual(["03-01", "03-02"]);
  });
});

describe("ranges that move", () => {
  it("stay as long as they are, and do not pass now", () => {
    expect(moved({ start: 0, end: 100 }, -0.5, 1000)).toEqual({ start: -50, end: 50 });
    expect(moved({ start: 0, end: 100 }, 0.5, 1000)).toEqual({ start: 50, end: 150 });
    expect(moved({ start: 0, end: 100 }, 0.5, 120)).toEqual({ start: 20, end: 120 });
    expect(moved({ start: 0, end: 100 }, 0.5, 90)).toEqual({ start: 0, end: 100 });
  });
  it("become twice as long around their middle, or before now", () => {
    expect(widened({ start: 100, end: 200 }, 1000)).toEqual({ start: 50, end: 250 });
    expect(widened({ start: 100, end: 200 }, 210)).toEqual({ start: 10, end: 210 });
  });
});

describe("nanoseconds", () => {
  it.each([
    ["1767225600123456789", "2026-01-01 00:00:00.123456789Z"], ["0", "1970-01-01 00:00:00.000000000Z"], ["-1", "1969-12-31 23:59:59.999999999Z"],
  ])("%s", (nanos, text) => expect(nanoText(nanos, "utc")).toBe(text));
});

describe("days of the calendar", () => {
  const said = (name: (typeof CALENDAR)[number], now: number, zone: string) => {
    const { start, end } = calendarSpan(name, now, zone);
    return [start, end].map((at) => timeText(at, zone).slice(0, 16)).join(" ");
  };
  it("begin and end where the clock of the zone does, weeks with Monday", () => {
    // A Sunday; half past eleven in the evening of Saturday in New York.
    const now = Date.UTC(2026, 2, 1, 4, 30);
    expect(CALENDAR.map((name) => said(name, now, "utc"))).toEqual([
      "2026-03-01 00:00 2026-03-02 00:00", "2026-02-28 00:00 2026-03-01 00:00", "2026-02-23 00:00 2026-03-02 00:00",
      "2026-02-16 00:00 2026-02-23 00:00", "2026-03-01 00:00 2026-04-01 00:00", "2026-02-01 00:00 2026-03-01 00:00",
    ]);
    expect(said("today", now, "America/New_York")).toBe("2026-02-28 00:00 2026-03-01 00:00");
    expect(said("last month", Date.UTC(2026, 0, 15), "utc")).toBe("2025-12-01 00:00 2026-01-01 00:00");
  });
  it("may have 23 hours", () => {
    const { start, end } = calendarSpan("today", Date.UTC(2026, 2, 29, 12), "Europe/Vienna");
    expect(end - start).toBe(23 * 3_600_000);
  });
});
