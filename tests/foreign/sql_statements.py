"""Rows and statements for sql.py."""
import random

START = 1767225600


def rows():
    """Rows of three hosts, some without a label, each with at least one field."""
    dice, made = random.Random(7), []
    for host, dc in (("a", "eu"), ("b", "us"), ("c", None), (None, "eu")):
        for step in range(40):
            if dice.random() < 0.15:
                continue
            row = {
                "time": START + step * 37,
                "host": host,
                "dc": dc,
                "usage": round(dice.uniform(-5, 100), 2) if dice.random() < 0.8 else None,
                "load": dice.randint(-3, 20) if dice.random() < 0.7 else None,
                "up": dice.random() < 0.5 if dice.random() < 0.5 else None,
                "note": dice.choice(["ok", "web-1", "Web 2", "100%", "x_y"]) if dice.random() < 0.5 else None,
            }
            if any(row[name] is not None for name in ("usage", "load", "up", "note")):
                made.append(row)
    return made


ORIGIN = "TIMESTAMP '2026-01-01'"
STATEMENTS = [
    "SELECT time, host, dc, usage, load, up, note FROM m ORDER BY time, host, dc",
    "SELECT count(*), count(usage), count(load), count(up), count(note), count(DISTINCT host) FROM m",
    "SELECT sum(load), avg(load), min(usage), max(usage), min(time), max(time) FROM m",
    "SELECT host, count(*) FROM m GROUP BY host ORDER BY host",
    "SELECT host, dc, avg(usage) AS u FROM m GROUP BY 1, 2 ORDER BY u DESC NULLS LAST, 1, 2",
    f"SELECT date_bin('5 minutes', time, {ORIGIN}) AS t, avg(usage), sum(load), count(*) FROM m GROUP BY t ORDER BY t",
    f"SELECT date_bin('5 minutes', time, {ORIGIN}) AS t, host, max(usage) FROM m WHERE host IS NOT NULL GROUP BY t, host ORDER BY t, host",
    f"SELECT date_bin('90 seconds', time, {ORIGIN} + INTERVAL '7 seconds') AS t, min(load) FROM m GROUP BY 1 ORDER BY 1 DESC",
    "SELECT date_trunc('minute', time) AS t, count(*) FROM m GROUP BY 1 ORDER BY 1",
    "SELECT date_trunc('hour', time), date_trunc('day', time), date_trunc('week', time), date_trunc('month', time), date_trunc('quarter', time), date_trunc('year', time) FROM m ORDER BY time LIMIT 3",
    "SELECT extract(hour FROM time), extract(minute FROM time), extract(dow FROM time), extract(doy FROM time), extract(week FROM time), extract(epoch FROM time) FROM m ORDER BY time, host LIMIT 5",
    "SELECT host FROM m WHERE time >= '2026-01-01 00:05:00' AND time < TIMESTAMP '2026-01-01' + INTERVAL '6 minutes' ORDER BY time, host",
    "SELECT host FROM m WHERE time BETWEEN '2026-01-01 00:05' AND '2026-01-01 00:06' ORDER BY time, host",
    "SELECT count(*) FROM m WHERE NOT (host = 'a')",
    "SELECT count(*) FROM m WHERE host <> 'a' OR dc = 'eu'",
    "SELECT count(*) FROM m WHERE host IN ('a', 'c') AND dc NOT IN ('us')",
    "SELECT count(*) FROM m WHERE host NOT IN ('a', NULL)",
    "SELECT count(*) FROM m WHERE host LIKE '_' AND note LIKE 'web%'",
    "SELECT count(*) FROM m WHERE note ILIKE 'WEB%' AND note NOT LIKE '%\\%'",
    "SELECT count(*) FROM m WHERE note ~ '^[a-z]+-' OR note ~* '^WEB' OR note !~ 'o'",
    "SELECT count(*) FROM m WHERE host ~ 'a|b'",
    "SELECT count(*) FROM m WHERE host !~ 'a|b'",
    "SELECT count(*) FROM m WHERE up",
    "SELECT count(*) FROM m WHERE up IS NOT TRUE",
    "SELECT count(*) FROM m WHERE up IS UNKNOWN OR up IS FALSE",
    "SELECT count(*) FROM m WHERE load BETWEEN 1 AND 5 OR usage > 90.5",
    "SELECT count(*) FROM m WHERE usage IS DISTINCT FROM load",
    "SELECT count(*) FROM m WHERE load = NULL",
    "SELECT DISTINCT host, dc FROM m ORDER BY dc NULLS FIRST, host DESC",
    "SELECT DISTINCT up FROM m ORDER BY up",
    "SELECT host FROM m UNION SELECT dc FROM m ORDER BY host",
    "SELECT host, load FROM m WHERE load > 15 UNION ALL SELECT dc, usage FROM m WHERE usage > 95 ORDER BY 2, 1",
    "SELECT n FROM (SELECT load AS n FROM m UNION ALL SELECT load FROM m UNION SELECT 100) AS u ORDER BY n NULLS FIRST LIMIT 5 OFFSET 1",
    "WITH x AS (SELECT host, load FROM m WHERE load IS NOT NULL), y AS (SELECT * FROM x UNION ALL SELECT host, -load FROM x) SELECT host, sum(load), count(*) FROM y GROUP BY host ORDER BY host",
    "SELECT time, host, row_number() OVER (PARTITION BY host ORDER BY time) AS n FROM m ORDER BY time, host",
    "SELECT time, host, rank() OVER (ORDER BY load) AS r, dense_rank() OVER (PARTITION BY host ORDER BY load DESC) AS d FROM m ORDER BY time, host",
    "SELECT time, host, load - lag(load) OVER (PARTITION BY host ORDER BY time) AS a, lead(load, 2, -1) OVER (PARTITION BY host ORDER BY time) AS b FROM m ORDER BY time, host",
    "SELECT time, host, sum(load) OVER (PARTITION BY host ORDER BY time) AS s, avg(load) OVER (PARTITION BY host) AS a, count(load) OVER (ORDER BY host) AS c FROM m ORDER BY time, host",
    "SELECT time, host, min(usage) OVER (PARTITION BY host ORDER BY time ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS a, max(usage) OVER (PARTITION BY host ORDER BY time ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS b FROM m ORDER BY time, host",
    "SELECT time, host, first_value(load) OVER (PARTITION BY host ORDER BY time ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS a, last_value(note) OVER (PARTITION BY host ORDER BY time) AS b FROM m ORDER BY time, host",
    "SELECT host, usage FROM (SELECT host, usage, row_number() OVER (PARTITION BY host ORDER BY time DESC) AS n FROM m) AS x WHERE n <= 2 ORDER BY host, usage NULLS FIRST",
    "SELECT avg(n) > 9e18, sum(n) > 1.8e19 FROM (SELECT 9223372036854775807 AS n UNION ALL SELECT 9223372036854775807) AS u",
    "SELECT DISTINCT date_trunc('day', time, 'Europe/Berlin'), date_trunc('month', time, 'America/Havana'), date_trunc('hour', time, 'Asia/Kathmandu') FROM m ORDER BY 3",
    "SELECT time, extract(hour FROM time AT TIME ZONE 'Europe/Berlin'), extract(dow FROM time AT TIME ZONE 'America/Havana') FROM m ORDER BY time, host LIMIT 5",
    "SELECT host, count(*) AS n, count(*) - lag(count(*)) OVER (ORDER BY host) AS more, rank() OVER (ORDER BY sum(load) DESC) AS r FROM m GROUP BY host ORDER BY host",
    "SELECT date_trunc('minute', time) AS t, sum(sum(load)) OVER (ORDER BY date_trunc('minute', time)) AS s FROM m GROUP BY 1 HAVING count(load) > 1 ORDER BY 1",
    "SELECT load / 3, load % 3, load * 2 - 1, -load, abs(load) FROM m ORDER BY time, host LIMIT 20",
    "SELECT usage / 3, round(usage), floor(usage), ceil(usage), sqrt(abs(usage)) FROM m ORDER BY time, host LIMIT 20",
    "SELECT load + usage, load > usage, load = 3 AND usage > 1 FROM m ORDER BY time, host LIMIT 30",
    "SELECT load::double precision / 4, usage::bigint, up::int, load::text, up::text FROM m ORDER BY time, host LIMIT 30",
    "SELECT CASE WHEN load > 10 THEN 'high' WHEN load > 5 THEN 'mid' ELSE 'low' END AS level, count(*) FROM m GROUP BY 1 ORDER BY 1",
    "SELECT CASE host WHEN 'a' THEN 1 WHEN 'b' THEN 2 END, coalesce(load, -1), nullif(load, 3) FROM m ORDER BY time, host LIMIT 20",
    "SELECT greatest(load, 3, usage), least(load, 5) FROM m ORDER BY time, host LIMIT 20",
    "SELECT lower(note), upper(note), length(note), replace(note, 'e', '--'), substr(note, 2, 3), left(note, 2), right(note, 2) FROM m ORDER BY time, host LIMIT 30",
    "SELECT note || '!' , concat(host, '-', load), trim(note), split_part(note, '-', 2), strpos(note, 'b') FROM m ORDER BY time, host LIMIT 30",
    "SELECT stddev(usage), stddev_pop(usage), variance(load), var_pop(load) FROM m",
    "SELECT host, percentile_cont(0.9) WITHIN GROUP (ORDER BY usage), percentile_cont(0.5) WITHIN GROUP (ORDER BY load) FROM m GROUP BY host ORDER BY host",
    "SELECT bool_and(up), bool_or(up), every(load > -10) FROM m",
    "SELECT count(*) FILTER (WHERE up), sum(load) FILTER (WHERE host = 'a'), avg(usage) FILTER (WHERE usage > 50) FROM m",
    "SELECT count(DISTINCT load), sum(DISTINCT load) FROM m",
    "SELECT host, avg(usage) FROM m GROUP BY host HAVING avg(usage) > 40 AND count(*) > 10 ORDER BY host",
    "SELECT avg(usage) FROM m WHERE host = 'nobody'",
    "SELECT host, avg(usage) FROM m WHERE host = 'nobody' GROUP BY host",
    "SELECT count(*), sum(load), max(note) FROM m WHERE 1 = 0",
    "SELECT sum(load) + count(*) * 2, max(usage) - min(usage) FROM m",
    "SELECT host, max(usage) - min(usage) AS spread FROM m GROUP BY host ORDER BY spread DESC NULLS LAST",
    "SELECT load % 2 AS odd, count(*) FROM m GROUP BY load % 2 ORDER BY odd NULLS FIRST",
    "SELECT upper(host) AS h, sum(load) FROM m GROUP BY h ORDER BY h",
    "SELECT h, max(u) FROM (SELECT host AS h, avg(usage) AS u FROM m GROUP BY host, dc) AS s GROUP BY h ORDER BY h",
    "SELECT avg(c) FROM (SELECT count(*) AS c FROM m GROUP BY host) AS s",
    "SELECT * FROM (SELECT time, load FROM m WHERE load > 5 ORDER BY load DESC, time LIMIT 5) AS s ORDER BY time, load",
    "WITH s AS (SELECT host, sum(load) AS l FROM m GROUP BY host) SELECT host FROM s WHERE l > 100 ORDER BY l",
    "SELECT s.host, s.load FROM m AS s WHERE s.load > 15 ORDER BY s.time, s.host",
    "SELECT time, usage FROM m ORDER BY usage DESC NULLS LAST, time LIMIT 7 OFFSET 2",
    "SELECT time, usage FROM m ORDER BY usage NULLS FIRST, time, host LIMIT 7",
    "SELECT time, load FROM m ORDER BY load * -1, time, host LIMIT 7",
    "SELECT 1, 'text', NULL, TRUE, 1.5, -3",
    "SELECT 7 / 2, -7 / 2, 7 % -2, 2 ^ 3, 7.0 / 2",
    "SELECT 1 / 0",
    "SELECT load / 0 FROM m",
    "SELECT 9223372036854775807 + 1",
    "SELECT NULL AND FALSE, NULL OR TRUE, NOT NULL, NULL = 1, 1 IN (2, NULL), 1 IN (1, NULL)",
    "SELECT 'a' < 'b', 'a' = 'A', 'x' || 'y' || 'z', 'abc' LIKE 'a_c', 'abc' ~ 'b'",
    "SELECT length(''), coalesce(NULL, NULL, 3), nullif(1, 1), greatest(1, NULL, 2)",
    "SELECT TIMESTAMP '2026-03-31' + INTERVAL '1 month', TIMESTAMP '2026-01-31 12:00' - INTERVAL '1 day 2 hours'",
    "SELECT extract(epoch FROM TIMESTAMP '2026-01-02' - TIMESTAMP '2026-01-01')",
    "SELECT extract(epoch FROM max(time) - min(time)) FROM m",
    "SELECT host FROM m GROUP BY host HAVING count(*) > 1000",
    "SELECT nothing FROM m",
    "SELECT * FROM nothing",
    "SELECT host, usage FROM m GROUP BY host",
    "SELECT avg(note) FROM m",
    "SELECT load + note FROM m",
    "SELECT host FROM m WHERE avg(load) > 1",
    "SELECT host FROM m ORDER BY 2",
    "SELECT sum(max(load)) FROM m",
    "SELECT load::int::boolean, 'true'::boolean, '12'::int FROM m WHERE load IS NOT NULL ORDER BY time, host LIMIT 5",
    "SELECT 'x'::int",
    "SELECT usage FROM m WHERE usage > 'x'",
    "SELECT count(*) FROM m WHERE load > '3'",
]


class Generator:
    """Statements whose answers have one order."""

    def __init__(self, dice):
        self.dice = dice

    def one(self, *choices):
        return self.dice.choice(choices)

    def number(self, deep=2):
        if deep == 0 or self.dice.random() < 0.3:
            return self.one("load", "usage", "load", "usage", str(self.dice.randint(-4, 12)), f"{self.dice.uniform(0, 9):.2f}")
        a, b = self.number(deep - 1), self.number(deep - 1)
        return self.one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"abs({a})", f"coalesce({a}, {b})",
            f"CASE WHEN {self.truth(deep - 1)} THEN {a} ELSE {b} END", f"greatest({a}, {b})", f"-({a})",
            f"(load / {self.one(2, 3, -4)})", f"(load % {self.one(2, 3, 5)})", f"nullif({a}, {b})", "length(note)",
        )

    def text(self):
        return self.one("host", "dc", "note", "upper(note)", "coalesce(host, 'none')", "host || dc", "left(note, 3)", "load::text")

    def truth(self, deep=2):
        if deep > 0 and self.dice.random() < 0.5:
            a, b = self.truth(deep - 1), self.truth(deep - 1)
            return self.one(f"({a} AND {b})", f"({a} OR {b})", f"NOT ({a})", f"({a}) IS NOT TRUE", f"({a}) IS NULL")
        compare = self.one("=", "<>", "<", "<=", ">", ">=")
        return self.one(
            f"{self.number(0)} {compare} {self.number(1)}",
            f"{self.text()} {compare} '{self.one('a', 'b', 'eu', 'ok', '')}'",
            f"{self.one('host', 'dc', 'note', 'load', 'up')} IS {self.one('', 'NOT ')}NULL",
            f"{self.one('host', 'dc')} {self.one('', 'NOT ')}IN ('a', 'eu', 'x')",
            f"note {self.one('', 'NOT ')}LIKE '{self.one('%e%', 'web%', '_k', '%1')}'",
            f"{self.one('host', 'note')} {self.one('~', '!~')} '{self.one('a', '^[b-z]', '[0-9]', 'a|b')}'",
            f"load BETWEEN {self.dice.randint(-3, 5)} AND {self.dice.randint(3, 20)}",
            "up", "up = true",
            f"time {self.one('<', '>=')} '2026-01-01 00:{self.dice.randint(2, 20):02}:{self.one('00', '37')}'",
            f"load {compare} usage",
        )

    def fold(self):
        number = self.one("load", "usage", "usage", self.number(1))
        return self.one(
            "count(*)", f"count({self.one('usage', 'note', 'up', 'host')})", f"sum({number})", f"avg({number})",
            f"min({number})", f"max({number})", f"min({self.text()})", f"max({self.text()})", "max(time)",
            f"stddev({number})", f"count(DISTINCT {self.text()})", f"sum({number}) FILTER (WHERE {self.truth(1)})",
            f"percentile_cont({self.one(0.1, 0.5, 0.9)}) WITHIN GROUP (ORDER BY {number})", f"bool_or({self.truth(1)})",
        )

    def key(self):
        return self.one(
            "host", "dc", "host", "up", "note", "load % 3", self.text(),
            f"date_bin('{self.one(1, 3, 7)} minutes', time, {ORIGIN})", "date_trunc('minute', time)", self.truth(0),
        )

    def where(self):
        return f" WHERE {self.truth()}" if self.dice.random() < 0.7 else ""

    def statement(self):
        if self.dice.random() < 0.35:
            shown = [self.one(self.number(), self.text(), self.truth()) for _ in range(self.dice.randint(1, 3))]
            limit = self.one("", " LIMIT 9", " LIMIT 5 OFFSET 3")
            way = self.one("", " DESC")
            return f"SELECT {', '.join(shown)} FROM m{self.where()} ORDER BY time{way}, host, dc{limit}"
        if self.dice.random() < 0.2:
            folds = [self.fold() for _ in range(self.dice.randint(1, 3))]
            return f"SELECT {', '.join(folds)} FROM m{self.where()}"
        keys = list(dict.fromkeys(self.key() for _ in range(self.dice.randint(1, 2))))
        shown = keys + [self.fold() for _ in range(self.dice.randint(0, 3))]
        order = ", ".join(f"{at + 1}{self.one('', ' DESC', ' NULLS FIRST')}" for at in range(len(keys)))
        having = f" HAVING {self.fold_test()}" if self.dice.random() < 0.3 else ""
        if len(shown) == len(keys) and not having and self.dice.random() < 0.5:
            return f"SELECT DISTINCT {', '.join(keys)} FROM m{self.where()} ORDER BY {order}"
        by = ", ".join(str(at + 1) for at in range(len(keys)))
        return f"SELECT {', '.join(shown)} FROM m{self.where()} GROUP BY {by}{having} ORDER BY {order}"

    def fold_test(self):
        return self.one("count(*) > 3", "avg(usage) > 30", "max(load) IS NOT NULL", "sum(load) < 100 OR count(*) < 5")
