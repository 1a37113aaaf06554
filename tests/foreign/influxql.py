"""Asks two servers the same InfluxQL and compares what they say.

influxql.py FOLIOT_URL INFLUX_URL [SEED [COUNT]]

Both get the same samples; then statements are generated, each from a seeded random number generator,
and every answer of the one is compared with the other's: numbers within 1e-12 relative, everything
else exactly. What may differ, and why, stands in EXPLAINED.
"""
import collections
import json
import random
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

FOLIOT, INFLUX = sys.argv[1], sys.argv[2]
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 2500
BASE = 1_700_000_000  # 2023-11-14T22:13:20Z, not at a whole minute on purpose
SECOND = 10**9


def request(url, path, data=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, data=data), timeout=60) as r:
            return r.status, r.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def ask(url, statement, **parameters):
    body = urllib.parse.urlencode(dict(q=statement, **parameters)).encode()
    status, text = request(url, "/query", body)
    try:
        return status, json.loads(text)
    except json.JSONDecodeError:
        return status, {"broken": text.decode(errors="replace")}


def samples():
    """Lines of line protocol: floats, integers, booleans and strings, with gaps, ties and one late."""
    rng = random.Random(7)
    lines = []
    hosts = [(f"h{i}", ["eu", "us", "ap"][i % 3], ["a", "b"][i % 2]) for i in range(6)]
    for step in range(240):
        at = (BASE + step * 10) * SECOND
        for i, (host, region, rack) in enumerate(hosts):
            if (step + i) % 17 == 0:
                continue
            user = round(50 + 40 * rng.random(), 2)
            lines.append(
                f"cpu,host={host},region={region},rack={rack} user={user},"
                f"system={round(rng.random() * 10, 3)},idle={100 - user:.2f},ctx={rng.randrange(10**6)}i {at}")
        if step % 3 == 0:
            state = rng.choice(["ok", "warn", "bad"])
            lines.append(
                f'status,host=h{step % 4} up={rng.choice(["true", "false"])},state="{state}",'
                f"code={rng.randrange(-5, 6)}i,load={rng.randrange(-4, 5)} {at + step % 7}")
        if step % 29 < 12:
            lines.append(f"gaps,k=x v={step % 11},n={step % 5}i {at}")
        if step % 13 == 0:
            lines.append(f"gaps,k=y v={-(step % 7)}.5,n={-(step % 3)}i {at}")
    for i in range(12):
        lines.append(f"sparse,t=t{i % 3} v={i * i}i {(BASE + i * 86400) * SECOND}")
        lines.append(f"tiny v={i}e-9,w={i}e15 {(BASE + i) * SECOND}")
    lines.append(f"untagged v=1.5 {BASE * SECOND}")
    lines.append(f"untagged v=2.5,s=\"with \\\"quotes\\\" and \\\\\" {(BASE + 60) * SECOND}")
    return "\n".join(lines).encode()


class Generator:
    """Makes statements and remembers which features each of them uses."""

    NUMBERS = {
        "cpu": ["user", "system", "idle", "ctx"],
        "status": ["code", "load"],
        "gaps": ["v", "n"],
        "sparse": ["v"],
        "tiny": ["v", "w"],
    }
    OTHERS = {"status": ["state", "up"]}
    TAGS = {"cpu": ["host", "region", "rack"], "status": ["host"], "gaps": ["k"], "sparse": ["t"],
            "tiny": []}
    VALUES = {"host": ["h0", "h1", "h2", "h3"], "region": ["eu", "us"], "rack": ["a", "b"],
              "k": ["x", "y"], "t": ["t0", "t1"]}
    AGGREGATES = ["count", "mean", "sum", "median", "spread", "stddev", "mode", "integral"]
    SELECTORS = ["min", "max", "first", "last"]
    TRANSFORMS = ["derivative", "non_negative_derivative", "difference", "non_negative_difference",
                  "elapsed", "moving_average", "cumulative_sum"]
    MATH = ["abs", "sin", "cos", "tan", "exp", "floor", "ceil", "round", "sqrt", "ln", "log2",
            "log10", "pow", "atan", "log", "atan2"]
    ANALYSIS = ["exponential_moving_average", "double_exponential_moving_average",
                "triple_exponential_moving_average", "relative_strength_index",
                "chande_momentum_oscillator", "kaufmans_efficiency_ratio",
                "kaufmans_adaptive_moving_average", "triple_exponential_derivative"]
    FILLS = ["null", "none", "previous", "linear", "0", "7", "-1.5"]

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.used = set()

    def pick(self, options):
        return self.rng.choice(options)

    def chance(self, share):
        return self.rng.random() < share

    def use(self, feature):
        self.used.add(feature)

    def statement(self):
        self.used = set()
        kind = self.rng.random()
        if kind < 0.14:
            return self.show()
        if kind < 0.30:
            return self.raw()
        if kind < 0.42:
            return self.subquery()
        if kind < 0.54:
            return self.transformed()
        if kind < 0.60:
            return self.topped()
        if kind < 0.68:
            return self.calculated()
        return self.aggregated()

    def field(self, measurement):
        return self.pick(self.NUMBERS[measurement])

    def times(self, bounded):
        """A condition on time."""
        start = BASE + self.pick([0, 5, 100, 600, 1000])
        end = BASE + self.pick([1200, 1800, 2400, 2405])
        form = self.rng.random()
        if form < 0.25:
            start = f"'2023-11-14T22:{13 + (start - BASE) // 60:02}:20Z'"
        elif form < 0.4:
            start = f"{start}s"
        else:
            start = f"{start * SECOND}"
        parts = [f"time {self.pick(['>=', '>'])} {start}"]
        if bounded or self.chance(0.7):
            parts.append(f"time {self.pick(['<', '<='])} {end}s")
        self.use("where time")
        return parts

    def tag_condition(self, measurement):
        tags = self.TAGS[measurement]
        if not tags:
            return None
        tag = self.pick(tags)
        value = self.pick(self.VALUES[tag])
        form = self.rng.random()
        if form < 0.45:
            self.use("where tag =")
            return f"{tag} = '{value}'"
        if form < 0.65:
            self.use("where tag !=")
            return f"{tag} != '{value}'"
        if form < 0.9:
            self.use("where tag regex")
            return f"{tag} {self.pick(['=~', '!~'])} /{value[0]}[{value[-1]}0-2]/"
        other = self.pick(self.VALUES[tag])
        self.use("where or")
        return f"({tag} = '{value}' OR {tag} = '{other}')"

    def field_condition(self, measurement):
        self.use("where field")
        if measurement == "status" and self.chance(0.4):
            return self.pick(["state = 'ok'", "up = true", "state != 'bad'", "state =~ /a/"])
        field = self.field(measurement)
        bound = self.pick([0, 1, 3, 50, 60.5])
        if self.chance(0.15):
            self.use("where arithmetic")
            return f"{field} * 2 {self.pick(['>', '<='])} {bound}"
        return f"{field} {self.pick(['>', '>=', '<', '<=', '!='])} {bound}"

    def where(self, measurement, bounded=False, force_time=False):
        parts = []
        # Measurements over days need a wide range, or none.
        wide = measurement == "sparse"
        if force_time or bounded or self.chance(0.6):
            if wide:
                parts += [f"time >= {BASE}s", f"time < {BASE + 12 * 86400}s"]
                self.use("where time")
            else:
                parts += self.times(bounded)
        if self.chance(0.35):
            condition = self.tag_condition(measurement)
            if condition:
                parts.append(condition)
        if self.chance(0.15):
            parts.append(self.field_condition(measurement))
        return " WHERE " + " AND ".join(parts) if parts else ""

    def dimensions(self, measurement):
        if not self.TAGS[measurement]:
            return []
        form = self.rng.random()
        if form < 0.45:
            return []
        if form < 0.75:
            self.use("group by tag")
            return self.rng.sample(self.TAGS[measurement],
                                   self.rng.randint(1, min(2, len(self.TAGS[measurement]))))
        if form < 0.9:
            self.use("group by *")
            return ["*"]
        self.use("group by regex")
        return ["/^[hkrt]/"]

    def interval(self, measurement):
        if measurement == "sparse":
            width = self.pick(["1d", "2d", "1w", "36h"])
        elif measurement == "tiny":
            width = self.pick(["2s", "5s"])
        else:
            width = self.pick(["1m", "5m", "90s", "10m", "30s"])
        if self.chance(0.25):
            self.use("group by time offset")
            return f"time({width}, {self.pick(['10s', '-7s', '1s'])})"
        return f"time({width})"

    def tail(self, grouped):
        text = ""
        if self.chance(0.25):
            self.use("order by")
            text += " ORDER BY time DESC" if self.chance(0.8) else " ORDER BY time ASC"
        if self.chance(0.2):
            self.use("limit")
            text += f" LIMIT {self.pick([1, 2, 5, 20])}"
            if self.chance(0.5):
                self.use("offset")
                text += f" OFFSET {self.pick([1, 3, 10])}"
        if grouped and self.chance(0.2):
            self.use("slimit")
            text += f" SLIMIT {self.pick([1, 2])}"
            if self.chance(0.5):
                self.use("soffset")
                text += f" SOFFSET {self.pick([1, 2])}"
        if self.chance(0.1):
            self.use("tz")
            text += f" tz('{self.pick(['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'UTC'])}')"
        return text

    def measurement(self):
        return self.pick(["cpu"] * 4 + ["status"] * 2 + ["gaps"] * 3 + ["sparse", "tiny"])

    def source(self, measurement):
        form = self.rng.random()
        if form < 0.08:
            self.use("db.rp.m")
            return self.pick([f"db0.autogen.{measurement}", f"db0..{measurement}", f"autogen.{measurement}"])
        if form < 0.13:
            self.use("measurement regex")
            return f"/^{measurement}$/"
        if form < 0.17 and measurement in ("gaps", "sparse"):
            self.use("several measurements")
            return "gaps, sparse"
        return measurement

    def call(self, name, field):
        self.use(name)
        if name == "integral" and self.chance(0.4):
            return f"integral({field}, {self.pick(['1m', '10s'])})"
        return f"{name}({field})"

    def fold(self, measurement):
        field = self.field(measurement)
        form = self.rng.random()
        if form < 0.1:
            self.use("percentile")
            return f"percentile({field}, {self.pick([5, 50, 90, 99.5])})"
        if form < 0.15:
            self.use("count distinct")
            return f"count(distinct({field}))"
        if form < 0.6:
            return self.call(self.pick(self.AGGREGATES), field)
        return self.call(self.pick(self.SELECTORS), field)

    def aggregated(self):
        measurement = self.measurement()
        form = self.rng.random()
        if form < 0.07:
            self.use("wildcard in function")
            columns = [f"{self.pick(['mean', 'max', 'count', 'sum', 'last'])}(*)"]
        elif form < 0.12:
            self.use("regex in function")
            columns = [f"{self.pick(['mean', 'min', 'first'])}(/{self.field(measurement)[0]}/)"]
        else:
            columns = [self.fold(measurement) for _ in range(self.pick([1, 1, 1, 2, 3]))]
        if len(columns) == 1 and self.chance(0.08):
            self.use("distinct")
            columns = [f"distinct({self.field(measurement)})"]
        if self.chance(0.2):
            self.use("alias")
            columns[0] += " AS out"
        grouped = self.dimensions(measurement)
        time = self.chance(0.7)
        dimensions = ([self.interval(measurement)] if time else []) + grouped
        where = self.where(measurement, bounded=time, force_time=time)
        text = f"SELECT {', '.join(columns)} FROM {self.source(measurement)}{where}"
        if dimensions:
            text += f" GROUP BY {', '.join(dimensions)}"
        if time:
            self.use("group by time")
            if self.chance(0.7):
                fill = self.pick(self.FILLS)
                self.use(f"fill({'number' if fill[-1].isdigit() else fill})")
                text += f" fill({fill})"
        return text + self.tail(bool(grouped))

    def transformed(self):
        measurement = self.pick(["cpu", "cpu", "gaps", "gaps", "status", "sparse"])
        field = self.field(measurement)
        name = self.pick(self.TRANSFORMS * 2 + self.ANALYSIS + ["holt_winters"])
        self.use(name)
        nested = self.chance(0.55) or name == "holt_winters"
        inner = self.call(self.pick(["mean", "max", "sum", "count", "last", "min"]), field) if nested else field
        if name in ("derivative", "non_negative_derivative", "elapsed"):
            argument = self.pick(["", ", 1s", ", 10s", ", 1m"])
        elif name == "moving_average":
            argument = f", {self.pick([2, 3, 5])}"
        elif name in self.ANALYSIS:
            argument = f", {self.pick([2, 3, 5])}"
        elif name == "holt_winters":
            argument = f", {self.pick([2, 4])}, {self.pick([0, 4])}"
        else:
            argument = ""
        call = f"{name}({inner}{argument})"
        grouped = self.dimensions(measurement)
        where = self.where(measurement, bounded=nested, force_time=nested)
        text = f"SELECT {call} FROM {self.source(measurement)}{where}"
        dimensions = ([self.interval(measurement)] if nested else []) + grouped
        if nested:
            self.use("group by time")
        if dimensions:
            text += f" GROUP BY {', '.join(dimensions)}"
        if nested and self.chance(0.4) and name != "holt_winters":
            fill = self.pick(["none", "0", "previous", "linear"])
            self.use(f"fill({'number' if fill[-1].isdigit() else fill})")
            text += f" fill({fill})"
        return text + self.tail(bool(grouped))

    def topped(self):
        measurement = self.pick(["cpu", "cpu", "status", "gaps"])
        field = self.field(measurement)
        name = self.pick(["top", "bottom"])
        self.use(name)
        count = self.pick([1, 2, 3, 5])
        form = self.rng.random()
        extra = ""
        if form < 0.4:
            call = f"{name}({field}, {count})"
        elif form < 0.75:
            call = f"{name}({field}, {self.pick(self.TAGS[measurement])}, {count})"
        else:
            call = f"{name}({field}, {count})"
            extra = ", " + self.pick(self.TAGS[measurement] + [self.field(measurement)])
        where = self.where(measurement, bounded=True, force_time=True)
        grouped = [] if "," in extra else self.dimensions(measurement)
        dimensions = ([self.interval(measurement)] if self.chance(0.4) else []) + grouped
        text = f"SELECT {call}{extra} FROM {measurement}{where}"
        if dimensions:
            text += f" GROUP BY {', '.join(dimensions)}"
        return text + self.tail(False)

    def calculated(self):
        """Arithmetic, on raw fields or on functions."""
        measurement = self.pick(["cpu", "cpu", "gaps", "status"])
        a, b = self.field(measurement), self.field(measurement)
        op = self.pick(["+", "-", "*", "/", "%"])
        self.use(f"operator {op}")
        form = self.rng.random()
        if form < 0.3:
            expression = f"{a} {op} {self.pick([b, '2', '0', '1.5'])}"
            time = False
        elif form < 0.45:
            integers = {"cpu": "ctx", "gaps": "n", "status": "code"}[measurement]
            op = self.pick(["&", "|", "^"])
            self.use(f"operator {op}")
            expression = f"{integers} {op} {self.pick(['3', integers, '255'])}"
            time = False
        elif form < 0.6:
            name = self.pick(self.MATH)
            self.use(name)
            self.use("math")
            argument = f", {self.pick([2, 3])}" if name in ("pow", "log") else ""
            argument = f", {b}" if name == "atan2" else argument
            expression = f"{name}({a}{argument})"
            time = False
        else:
            expression = f"{self.fold(measurement)} {op} {self.pick([self.fold(measurement), '2', '100'])}"
            time = self.chance(0.6)
        grouped = self.dimensions(measurement)
        where = self.where(measurement, bounded=True, force_time=True)
        text = f"SELECT {expression} FROM {measurement}{where}"
        dimensions = ([self.interval(measurement)] if time else []) + grouped
        if dimensions:
            text += f" GROUP BY {', '.join(dimensions)}"
        if time and self.chance(0.4):
            fill = self.pick(self.FILLS)
            self.use(f"fill({'number' if fill[-1].isdigit() else fill})")
            text += f" fill({fill})"
        return text + self.tail(bool(grouped))

    def raw(self):
        measurement = self.measurement()
        form = self.rng.random()
        grouped = self.dimensions(measurement)
        if form < 0.2:
            self.use("*")
            columns = "*" if self.chance(0.6) else self.pick(["*::field", "*::tag, " + self.field(measurement)])
        elif form < 0.3:
            self.use("field regex")
            columns = f"/{self.field(measurement)[0]}/"
        elif form < 0.6:
            cast = self.pick(["float", "integer", "string", "boolean", "field"])
            self.use(f"::{cast}")
            columns = f"{self.field(measurement)}::{cast}, {self.field(measurement)}"
            if self.TAGS[measurement] and self.chance(0.4):
                self.use("::tag")
                columns += f", {self.pick(self.TAGS[measurement])}::tag"
        else:
            columns = ", ".join([self.field(measurement)] +
                                self.rng.sample(self.TAGS[measurement] + self.OTHERS.get(measurement, []),
                                                self.rng.randint(0, len(self.TAGS[measurement]))))
        where = self.where(measurement)
        if not where:
            where = f" WHERE time < {BASE + 300 if measurement != 'sparse' else BASE + 5 * 86400}s"
        text = f"SELECT {columns} FROM {self.source(measurement)}{where}"
        if grouped:
            text += f" GROUP BY {', '.join(grouped)}"
        return text + self.tail(bool(grouped))

    def subquery(self):
        self.use("subquery")
        measurement = self.pick(["cpu", "cpu", "gaps", "status"])
        field = self.field(measurement)
        inner_call = f"{self.call(self.pick(['mean', 'max', 'sum', 'last', 'count', 'min']), field)} AS x"
        if self.chance(0.25):
            inner = f"SELECT {field} AS x FROM {measurement}{self.where(measurement, True, True)}"
        else:
            tags = self.rng.sample(self.TAGS[measurement], 1)
            self.use("group by time")
            inner = (f"SELECT {inner_call} FROM {measurement}{self.where(measurement, True, True)} "
                     f"GROUP BY {self.interval(measurement)}, {tags[0]}")
            if self.chance(0.3):
                fill = self.pick(["none", "0", "previous"])
                self.use(f"fill({'number' if fill[-1].isdigit() else fill})")
                inner += f" fill({fill})"
        form = self.rng.random()
        if form < 0.25:
            columns = "x"
        elif form < 0.4:
            columns = self.pick(["x + 1", "x * x", "x / 2"])
        else:
            columns = self.call(self.pick(["mean", "max", "sum", "min", "count", "median", "spread"]), "x")
        text = f"SELECT {columns} FROM ({inner})"
        if self.chance(0.3):
            text += f" WHERE x {self.pick(['>', '<='])} {self.pick([1, 30, 60])}"
        if columns.endswith(")") and self.chance(0.5):
            dimension = self.pick([self.interval(measurement)] + self.TAGS[measurement])
            if dimension.startswith("time") and "WHERE" not in text.split(")")[-1]:
                text += f" WHERE time >= {BASE}s AND time < {BASE + 2400}s"
            elif dimension.startswith("time"):
                text += f" AND time >= {BASE}s AND time < {BASE + 2400}s"
            text += f" GROUP BY {dimension}"
        return text + self.tail(False)

    def show(self):
        measurement = self.measurement()
        tags = self.TAGS[measurement] or ["host"]
        tag = self.pick(tags)
        source = self.pick(["", f" FROM {measurement}", f" FROM /{measurement[0]}/"])
        condition = self.tag_condition(measurement) if self.chance(0.4) else None
        where = f" WHERE {condition}" if condition else ""
        page = f" LIMIT {self.pick([1, 2, 5])}" if self.chance(0.25) else ""
        page += f" OFFSET {self.pick([1, 2])}" if page and self.chance(0.5) else ""
        key = self.pick([f"= {tag}", f"!= {tag}", f"IN ({tag}, rack)", f"=~ /{tag[0]}/"])
        kinds = {
            "show measurements": f"SHOW MEASUREMENTS{self.pick(['', ' WITH MEASUREMENT =~ /a/'])}{where}{page}",
            "show series": f"SHOW SERIES{source}{where}{page}",
            "show tag keys": f"SHOW TAG KEYS{source}{where}{page}",
            "show tag values": f"SHOW TAG VALUES{source} WITH KEY {key}{where}{page}",
            "show field keys": f"SHOW FIELD KEYS{source}{page}",
            "show cardinality": self.pick([
                "SHOW SERIES CARDINALITY", f"SHOW SERIES EXACT CARDINALITY{source}{where}",
                "SHOW MEASUREMENT CARDINALITY", f"SHOW MEASUREMENT EXACT CARDINALITY{source}{where}",
                f"SHOW TAG KEY CARDINALITY{source}{where}", f"SHOW TAG KEY EXACT CARDINALITY{source}",
                f"SHOW FIELD KEY CARDINALITY{source}",
                f"SHOW TAG VALUES CARDINALITY{source} WITH KEY = {tag}{where}",
                f"SHOW TAG VALUES EXACT CARDINALITY{source} WITH KEY = {tag}"]),
            "show databases": "SHOW DATABASES",
            "show retention policies": "SHOW RETENTION POLICIES ON db0",
        }
        kind = self.pick(list(kinds))
        self.use(kind)
        return kinds[kind]


def equal(a, b):
    """Whether two answers are the same, numbers within 1e-12 relative."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


def is_empty(answer):
    if "broken" in answer:
        return True
    results = answer.get("results", [{}])
    return "error" in answer or any("error" in r or "series" not in r for r in results)


# Reasons for which answers may differ: each a defect of InfluxDB 1.6.7, or a difference from 1.8.
EXPLAINED = [
]


def explained(statement, ours, theirs):
    for name, applies in EXPLAINED:
        if applies(statement, ours, theirs):
            return name
    return None


def main():
    lines = samples()
    for url in (FOLIOT, INFLUX):
        ask(url, "DROP DATABASE db0")
        ask(url, "CREATE DATABASE db0")
        status, text = request(url, "/write?db=db0", lines)
        assert status == 204, (url, status, text[:300])
    generator = Generator(SEED)
    features = collections.Counter()
    reasons = collections.Counter()
    combined = empty = same = 0
    statements = set()
    unexplained = []
    while len(statements) < COUNT:
        statement = generator.statement()
        if statement in statements:
            if statement.startswith("SHOW"):
                continue
        statements.add(statement)
        parameters = {"db": "db0"}
        if generator.chance(0.2):
            parameters["epoch"] = generator.pick(["ns", "u", "ms", "s", "m", "h"])
            generator.use("epoch")
        ours = ask(FOLIOT, statement, **parameters)
        theirs = ask(INFLUX, statement, **parameters)
        features.update(generator.used)
        combined += len(generator.used) >= 2
        empty += is_empty(theirs[1])
        if equal(list(ours), list(theirs)):
            same += 1
            continue
        reason = explained(statement, ours[1], theirs[1])
        if reason:
            reasons[reason] += 1
        else:
            unexplained.append((statement, parameters, ours, theirs))
    total = len(statements)
    for statement, parameters, ours, theirs in unexplained[: int(SHOWN)]:
        print(f"> {statement}   {parameters}")
        print("   foliot:", json.dumps(ours)[:1500])
        print("   influx:", json.dumps(theirs)[:1500])
    rare = {name: count for name, count in features.items() if count < 20}
    print(f"{total} statements (seed {SEED}), {same} equal ({same / total:.2%}), "
          f"{sum(reasons.values())} explained, {len(unexplained)} not; "
          f"{combined / total:.0%} combine features, {empty / total:.1%} empty or errors")
    for name, count in reasons.items():
        print(f"  explained {count}: {name}")
    if rare:
        print("  used fewer than 20 times:", rare)
    is_good = (same / total >= 0.98 and not unexplained and len(reasons) <= 10 and not rare
               and combined / total >= 0.3 and empty / total <= 0.15)
    sys.exit(0 if is_good else 1)


SHOWN = sys.argv[5] if len(sys.argv) > 5 else 10
main()
