"""InfluxQL statements for influxql.py: samples, and a grammar over them that is walked at random."""
import collections
import random

BASE = 1_700_000_000  # 2023-11-14T22:13:20Z, not at a whole minute on purpose
SECOND = 10**9

AGGREGATES = ["count", "mean", "sum", "median", "spread", "stddev", "mode", "integral"]
SELECTORS = ["min", "max", "first", "last", "percentile"]
TRANSFORMS = ["derivative", "non_negative_derivative", "difference", "non_negative_difference",
              "elapsed", "moving_average", "cumulative_sum"]
MATH = ["abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "exp", "floor", "ln", "log", "log2",
        "log10", "pow", "round", "sin", "sqrt", "tan"]
ANALYSIS = ["exponential_moving_average", "double_exponential_moving_average",
            "triple_exponential_moving_average", "relative_strength_index",
            "chande_momentum_oscillator", "kaufmans_efficiency_ratio",
            "kaufmans_adaptive_moving_average", "triple_exponential_derivative"]
FORECASTS = ["holt_winters", "holt_winters_with_fit"]
CASTS = ["float", "integer", "string", "boolean", "field"]
FILLS = ["null", "none", "previous", "linear", "number"]
OPERATORS = ["+", "-", "*", "/", "%"]
BITWISE = ["&", "|", "^"]
SHOWN = ["measurements", "series", "tag keys", "tag values", "field keys", "cardinality",
         "retention policies"]
CLAUSES = ["*", "*::field", "*::tag", "field regex", "::tag", "AS", "wildcard in function",
           "regex in function", "FROM several", "FROM regex", "FROM db.rp.m", "subquery",
           "subquery in subquery", "several subqueries", "WHERE time", "WHERE tag =",
           "WHERE tag !=", "WHERE tag regex", "WHERE field", "WHERE arithmetic", "WHERE OR",
           "WHERE outside", "GROUP BY time", "GROUP BY time with offset", "GROUP BY tag",
           "GROUP BY *", "GROUP BY regex", "ORDER BY", "LIMIT", "OFFSET", "SLIMIT", "SOFFSET",
           "tz", "INTO", "several statements"]

# Every feature that a run has to ask for often enough.
REQUIRED = (AGGREGATES + SELECTORS + ["distinct", "count distinct", "top", "bottom", "sample"]
            + TRANSFORMS + MATH + ANALYSIS + FORECASTS
            + [f"::{cast}" for cast in CASTS] + [f"fill({fill})" for fill in FILLS]
            + [f"operator {operator}" for operator in OPERATORS + BITWISE]
            + [f"SHOW {shown}" for shown in SHOWN] + CLAUSES)


def samples():
    """Lines of line protocol: floats, integers, booleans and strings, with gaps and ties."""
    rng = random.Random(7)
    lines = []
    hosts = [(f"h{i}", ["eu", "us", "ap"][i % 3], ["a", "b"][i % 2]) for i in range(6)]
    for step in range(240):
        at = (BASE + step * 10) * SECOND
        for i, (host, region, rack) in enumerate(hosts):
            if (step + i) % 17 == 0:
                continue
            usage = round(50 + 40 * rng.random(), 2)
            lines.append(
                f"cpu,host={host},region={region},rack={rack} usage={usage},"
                f"system={round(rng.random() * 10, 3)},idle={100 - usage:.2f},"
                f"ctx={rng.randrange(10**6)}i {at}")
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


# Numeric fields, each with values that divide its samples.
NUMBERS = {
    "cpu": {"usage": [55, 70, 85.5], "system": [1, 5, 8.25], "idle": [15, 30.5, 45],
            "ctx": [10**5, 5 * 10**5, 9 * 10**5]},
    "status": {"code": [-3, 0, 2], "load": [-2, 0, 1.5]},
    "gaps": {"v": [-3, 1, 4], "n": [-1, 0, 2]},
    "sparse": {"v": [1, 20, 60]},
    "tiny": {"v": [0, "0.000000003"], "w": [0, 3000000000000000]},
}
OTHERS = {"status": ["state", "up"]}
INTEGERS = {"cpu": "ctx", "status": "code", "gaps": "n", "sparse": "v"}
TAGS = {"cpu": ["host", "region", "rack"], "status": ["host"], "gaps": ["k"], "sparse": ["t"],
        "tiny": []}
VALUES = {"host": ["h0", "h1", "h2", "h3"], "region": ["eu", "us"], "rack": ["a", "b"],
          "k": ["x", "y"], "t": ["t0", "t1"]}
# Functions for which InfluxDB's choice among equals or its order is left to chance: they are asked for
# less often, since a difference says little.
CHANCY = ["integral", "mode", "percentile"]
# How long each measurement lasts, and windows that cut it into a few or some dozens.
SPANS = {"cpu": 2400, "status": 2400, "gaps": 2400, "sparse": 12 * 86400, "tiny": 12}
WIDTHS = {"cpu": ["1m", "5m", "90s", "10m", "30s"], "status": ["2m", "5m", "90s", "10m"],
          "gaps": ["1m", "5m", "90s", "10m", "30s"], "sparse": ["1d", "2d", "1w", "36h"],
          "tiny": ["1s", "2s", "5s"]}
OFFSETS = {"cpu": ["10s", "-7s", "1m"], "status": ["10s", "-7s"], "gaps": ["10s", "-7s", "1m"],
           "sparse": ["6h", "-1h", "1d"], "tiny": ["1s", "-1s"]}


class Generator:
    """Makes statements, and remembers which features each of them uses."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.used = set()
        self.counts = collections.Counter()
        self.targets = 0

    def statement(self):
        """A statement; what it uses is in `used`."""
        self.used = set()
        make = self.rng.choices(
            [self.show, self.raw, self.subquery, self.transformed, self.topped, self.calculated,
             self.mathematical, self.aggregated, self.several],
            [10, 17, 16, 22, 5, 10, 17, 25, 2])[0]
        text = make()
        self.counts.update(self.used)
        return text

    def pick(self, options):
        return self.rng.choice(options)

    def pick_rare(self, options, name=lambda option: option):
        """One of those that were used least."""
        least = min(self.counts[name(option)] for option in options)
        return self.pick([o for o in options if self.counts[name(o)] <= least + 3])

    def chance(self, share):
        return self.rng.random() < share

    def use(self, *features):
        self.used.update(features)

    def measurement(self):
        return self.pick(["cpu"] * 4 + ["status"] * 2 + ["gaps"] * 3 + ["sparse", "tiny"])

    def field(self, measurement):
        return self.pick(list(NUMBERS[measurement]))

    # Conditions.

    def times(self, measurement, bounded):
        """Conditions on time that leave a good part of the samples."""
        self.use("WHERE time")
        span = SPANS[measurement]
        start = BASE + int(span * self.pick([0, 0, 0.1, 0.25, 0.35]))
        end = BASE + int(span * self.pick([0.6, 0.8, 1, 1.05]))
        text = self.pick([f"{start}s", f"{start * SECOND}", f"{start * 1000}ms", rfc3339(start),
                          rfc3339(start).replace("T", " ").replace("Z", "")])
        parts = [f"time {self.pick(['>=', '>='  , '>'])} {text}"]
        if bounded or self.chance(0.7):
            parts.append(f"time {self.pick(['<', '<='])} {end}s")
        return parts

    def tag_condition(self, measurement):
        tag = self.pick(TAGS[measurement])
        value, other = self.rng.sample(VALUES[tag], 2)
        form = self.pick_rare(["WHERE tag =", "WHERE tag !=", "WHERE tag regex", "WHERE OR"])
        self.use(form)
        if form == "WHERE tag =":
            return f"{tag} = '{value}'"
        if form == "WHERE tag !=":
            return f"{tag} != '{value}'"
        if form == "WHERE tag regex":
            return f"{tag} {self.pick(['=~ /', '!~ /^'])}{value[:-1]}[{value[-1]}{other[-1]}]$/"
        if self.chance(0.3):
            field, bounds = self.pick(list(NUMBERS[measurement].items()))
            return f"({tag} = '{value}' OR {field} > {self.pick(bounds)})"
        return f"({tag} = '{value}' OR {tag} = '{other}')"

    def field_condition(self, measurement):
        self.use("WHERE field")
        if measurement == "status" and self.chance(0.4):
            return self.pick(["state = 'ok'", "up = true", "state != 'bad'", "state =~ /a/"])
        field, bounds = self.pick(list(NUMBERS[measurement].items()))
        bound = self.pick(bounds)
        if self.chance(0.3):
            self.use("WHERE arithmetic")
            return f"{field} {self.pick(['* 2 >', '+ 1 >=', '- 1 <='])} {bound}"
        return f"{field} {self.pick(['>', '>=', '<', '<=', '!='])} {bound}"

    def where(self, measurement, bounded=False):
        parts = self.times(measurement, bounded) if bounded or self.chance(0.6) else []
        if TAGS[measurement] and self.chance(0.35):
            parts.append(self.tag_condition(measurement))
        elif self.chance(0.2):
            parts.append(self.field_condition(measurement))
        return " WHERE " + " AND ".join(parts) if parts else ""

    # Dimensions, and what comes after them.

    def dimensions(self, measurement):
        if not TAGS[measurement] or self.chance(0.45):
            return []
        form = self.pick(["GROUP BY tag", "GROUP BY tag", "GROUP BY *", "GROUP BY regex"])
        self.use(form)
        if form == "GROUP BY tag":
            tags = TAGS[measurement]
            return self.rng.sample(tags, self.rng.randint(1, min(2, len(tags))))
        return ["*"] if form == "GROUP BY *" else ["/^[hkrt]/"]

    def window(self, measurement):
        self.use("GROUP BY time")
        width = self.pick(WIDTHS[measurement])
        if self.chance(0.25):
            self.use("GROUP BY time with offset")
            return f"time({width}, {self.pick(OFFSETS[measurement])})"
        return f"time({width})"

    def fill(self, fills=FILLS):
        fill = self.pick_rare(fills, lambda fill: f"fill({fill})")
        self.use(f"fill({fill})")
        return f" fill({self.pick(['0', '7', '-1.5']) if fill == 'number' else fill})"

    def group_by(self, window, dimensions):
        parts = ([window] if window else []) + dimensions
        return f" GROUP BY {', '.join(parts)}" if parts else ""

    def tail(self, grouped, rows=True):
        """Clauses at the end; `rows` says whether more than one row is to be expected."""
        text = ""
        if self.chance(0.25):
            self.use("ORDER BY")
            text += " ORDER BY time DESC" if self.chance(0.8) else " ORDER BY time ASC"
        if self.chance(0.2):
            self.use("LIMIT")
            text += f" LIMIT {self.pick([1, 2, 5, 20])}"
            if rows and self.chance(0.5):
                self.use("OFFSET")
                text += f" OFFSET {self.pick([1, 2, 3])}"
        if grouped and self.chance(0.3):
            self.use("SLIMIT")
            text += f" SLIMIT {self.pick([1, 2])}"
            if self.chance(0.5):
                self.use("SOFFSET")
                text += " SOFFSET 1"
        if self.chance(0.12):
            self.use("tz")
            zones = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]
            text += f" tz('{self.pick(zones)}')"
        return text

    def source(self, measurement):
        form = self.rng.random()
        if form < 0.1:
            self.use("FROM db.rp.m")
            return self.pick([f"db0.autogen.{measurement}", f"db0..{measurement}",
                              f"autogen.{measurement}"])
        if form < 0.16:
            self.use("FROM regex")
            return f"/^{measurement}$/"
        if form < 0.24 and measurement in ("gaps", "sparse"):
            self.use("FROM several")
            return "gaps, sparse"
        return measurement

    # Calls.

    def call(self, name, field):
        self.use(name)
        if name == "percentile":
            return f"percentile({field}, {self.pick([20, 50, 90, 99.5])})"
        if name == "integral" and self.chance(0.4):
            return f"integral({field}, {self.pick(['1m', '10s'])})"
        return f"{name}({field})"

    def fold(self, measurement, options=AGGREGATES + SELECTORS + ["count distinct"]):
        chancy = self.chance(0.06)
        name = self.pick_rare([name for name in options if (name in CHANCY) == chancy])
        if name == "count distinct":
            self.use("count distinct")
            return f"count(distinct({self.field(measurement)}))"
        return self.call(name, self.field(measurement))

    # Kinds of statements.

    def aggregated(self):
        measurement = self.measurement()
        columns = [self.fold(measurement) for _ in range(self.pick([1, 1, 1, 2, 3]))]
        form = self.rng.random()
        if form < 0.07:
            self.use("wildcard in function")
            columns = [f"{self.pick(['mean', 'max', 'count', 'sum', 'last'])}(*)"]
        elif form < 0.14:
            self.use("regex in function")
            columns = [f"{self.pick(['mean', 'min', 'first'])}(/{self.field(measurement)[0]}/)"]
        elif form < 0.2:
            self.use("distinct")
            columns = [f"distinct({self.field(measurement)})"]
        elif form < 0.28:
            # Of more samples than there are, all of them come: which is all that can be compared.
            self.use("sample")
            columns = [f"sample({self.field(measurement)}, 5000)"]
        if self.chance(0.2):
            self.use("AS")
            columns[0] += " AS out"
        into, then = "", ""
        window = self.window(measurement) if self.chance(0.7) else None
        grouped = self.dimensions(measurement)
        where = self.where(measurement, bounded=bool(window))
        if self.chance(0.1) and form >= 0.28:
            self.use("INTO")
            self.targets += 1
            into = f" INTO db1.autogen.copy{self.targets}"
            then = f"; SELECT * FROM db1.autogen.copy{self.targets}"
        text = f"SELECT {', '.join(columns)}{into} FROM {self.source(measurement)}{where}"
        text += self.group_by(window, grouped)
        text += self.fill() if window and self.chance(0.7) else ""
        return text + ("" if into else self.tail(bool(grouped), bool(window))) + then

    def transformed(self):
        measurement = self.pick(["cpu", "cpu", "gaps", "gaps", "status", "sparse"])
        field = self.field(measurement)
        name = self.pick_rare(TRANSFORMS + ANALYSIS + FORECASTS)
        self.use(name)
        nested = name in FORECASTS or self.chance(0.55)
        inner = field
        if nested:
            # A forecast follows the last bit of what it is given, which must therefore be exact.
            exact = ["max", "count", "last", "min", "first"]
            inner = self.call(self.pick(exact + ([] if name in FORECASTS else ["mean", "sum"])), field)
        arguments = {"derivative": ["", ", 1s", ", 10s", ", 1m"], "moving_average": [", 2", ", 3"],
                     "holt_winters": [", 2, 0", ", 4, 0", ", 3, 4"]}
        arguments["non_negative_derivative"] = arguments["elapsed"] = arguments["derivative"]
        arguments["holt_winters_with_fit"] = arguments["holt_winters"]
        options = [", 2", ", 3"] if name in ANALYSIS else arguments.get(name, [""])
        # Most of these need some rows to say anything.
        widths = {"sparse": "1d", "gaps": "30s"}
        width = widths.get(measurement, "1m")
        window = None
        if nested:
            window = f"time({width})" if self.chance(0.7) else self.window(measurement)
            self.use("GROUP BY time")
        grouped = self.dimensions(measurement) if self.chance(0.6) else []
        where = self.where(measurement, bounded=nested)
        text = f"SELECT {name}({inner}{self.pick(options)}) FROM {self.source(measurement)}{where}"
        text += self.group_by(window, grouped)
        if nested and name not in FORECASTS and self.chance(0.4):
            text += self.fill(["none", "number", "previous", "linear"])
        return text + self.tail(bool(grouped))

    def topped(self):
        measurement = self.pick(["cpu", "cpu", "status", "gaps"])
        field = self.field(measurement)
        name = self.pick_rare(["top", "bottom"])
        self.use(name)
        count = self.pick([1, 2, 3, 5])
        form = self.rng.random()
        call, extra = f"{name}({field}, {count})", ""
        if 0.4 <= form < 0.75:
            call = f"{name}({field}, {self.pick(TAGS[measurement])}, {count})"
        elif form >= 0.75:
            extra = ", " + self.pick(TAGS[measurement] + [self.field(measurement)])
        window = self.window(measurement) if self.chance(0.4) else None
        where = self.where(measurement, bounded=True)
        grouped = [] if extra else self.dimensions(measurement)
        text = f"SELECT {call}{extra} FROM {measurement}{where}{self.group_by(window, grouped)}"
        return text + (" ORDER BY time DESC" if self.chance(0.2) else "")

    def calculated(self):
        """Operators between fields, functions and numbers."""
        measurement = self.pick(["cpu", "cpu", "gaps", "status"])
        a, b = self.field(measurement), self.field(measurement)
        operator = self.pick_rare(OPERATORS + BITWISE, lambda operator: f"operator {operator}")
        self.use(f"operator {operator}")
        window = None
        if operator in BITWISE:
            integers = INTEGERS[measurement]
            expression = f"{integers} {operator} {self.pick(['3', integers, '255'])}"
        elif self.chance(0.4):
            expression = f"{a} {operator} {self.pick([b, '2', '0', '1.5'])}"
        else:
            other = self.pick([self.fold(measurement), "2", "100"])
            expression = f"{self.fold(measurement)} {operator} {other}"
            window = self.window(measurement) if self.chance(0.6) else None
        grouped = self.dimensions(measurement)
        where = self.where(measurement, bounded=True)
        text = f"SELECT {expression} FROM {measurement}{where}{self.group_by(window, grouped)}"
        text += self.fill() if window and self.chance(0.4) else ""
        return text + self.tail(bool(grouped), window is not None or "(" not in expression)

    def mathematical(self):
        """Functions of single values, of fields and of other functions."""
        name = self.pick_rare(MATH)
        self.use(name)
        # Infinite numbers cannot be compared: InfluxDB fails to write them.
        is_logarithm = name in ("ln", "log", "log2", "log10")
        measurement = "cpu" if is_logarithm else self.pick(["cpu", "cpu", "gaps", "status", "sparse"])
        window = self.window(measurement) if self.chance(0.3) else None
        value = lambda: self.fold(measurement) if window else self.field(measurement)
        argument = {"atan2": f", {value()}", "pow": f", {self.pick([2, 3])}",
                    "log": f", {self.pick([2, 10])}"}.get(name, "")
        inner = value()
        if name in ("acos", "asin", "exp"):
            self.use("operator /")
            inner = f"{inner} / 1000000"
        grouped = self.dimensions(measurement)
        where = self.where(measurement, bounded=True)
        text = f"SELECT {name}({inner}{argument}) FROM {self.source(measurement)}{where}"
        text += self.group_by(window, grouped)
        text += self.fill() if window and self.chance(0.4) else ""
        return text + self.tail(bool(grouped))

    def raw(self):
        measurement = self.measurement()
        field, tags = self.field(measurement), TAGS[measurement]
        grouped = self.dimensions(measurement)
        form = self.pick(["*", "*::field", "*::tag", "field regex", "cast", "cast", "cast", "list"])
        self.use(*([form] if form not in ("cast", "list") else []))
        columns = {"*": "*", "*::field": "*::field", "*::tag": f"*::tag, {field}",
                   "field regex": f"/{field[0]}/"}.get(form)
        if form == "cast":
            cast = self.pick_rare(CASTS, lambda cast: f"::{cast}")
            self.use(f"::{cast}")
            others = OTHERS.get(measurement, [])
            columns = f"{self.pick([field] + others)}::{cast}, {field}"
            if tags and self.chance(0.4):
                self.use("::tag")
                columns += f", {self.pick(tags)}::tag"
        elif form == "list":
            more = self.rng.sample(tags + OTHERS.get(measurement, []), self.rng.randint(0, len(tags)))
            columns = ", ".join([field] + more)
        where = self.where(measurement)
        if not where:
            where = f" WHERE time < {BASE + max(10, SPANS[measurement] // 6)}s"
        text = f"SELECT {columns} FROM {self.source(measurement)}{where}"
        return text + self.group_by(None, grouped) + self.tail(bool(grouped))

    def inner(self, measurement, tag):
        """A selection with a column `x`."""
        field = self.field(measurement)
        where = self.where(measurement, True)
        if self.chance(0.25):
            return f"SELECT {field} AS x FROM {measurement}{where}"
        if self.chance(0.15):
            self.use("subquery in subquery")
            call = self.call(self.pick(["mean", "max", "min"]), "y")
            nested = f"SELECT {field} AS y FROM {measurement}{where}"
            return f"SELECT {call} AS x FROM ({nested}) GROUP BY {tag}"
        call = self.call(self.pick(["mean", "max", "sum", "last", "count", "min"]), field)
        text = f"SELECT {call} AS x FROM {measurement}{where} GROUP BY "
        text += self.pick([f"{self.window(measurement)}, {tag}", tag])
        if "time(" in text and self.chance(0.3):
            text += self.fill(["none", "number", "previous"])
        return text

    def subquery(self):
        self.use("subquery")
        measurement = self.pick(["cpu", "cpu", "gaps", "status"])
        tag = self.pick(TAGS[measurement])
        inner = f"({self.inner(measurement, tag)})"
        if self.chance(0.12):
            self.use("several subqueries")
            inner += f", ({self.inner(measurement, tag)})"
        form = self.rng.random()
        window, grouped = None, []
        if form < 0.2:
            columns = self.pick(["x", "*", f"x, {tag}"])
        elif form < 0.35:
            columns = self.pick(["x + 1", "x * x", "x / 2", "abs(x)", "difference(x)"])
        else:
            names = ["mean", "max", "sum", "min", "count", "median", "spread", "first", "last"]
            columns = self.call(self.pick(names), "x")
            if self.chance(0.5):
                grouped = [tag]
            elif self.chance(0.5):
                window = self.window(measurement)
        conditions = []
        if self.chance(0.3):
            self.use("WHERE outside")
            conditions.append(self.pick(["x > 0", "x != 1", "x <= 70", f"{tag} != 'h3'"]))
        if window:
            conditions += [f"time >= {BASE}s", f"time < {BASE + SPANS[measurement]}s"]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        text = f"SELECT {columns} FROM {inner}{where}{self.group_by(window, grouped)}"
        return text + self.tail(False, window is not None or form < 0.35)

    def several(self):
        self.use("several statements")
        return "; ".join(self.pick([self.raw, self.aggregated, self.show])() for _ in range(2))

    def show(self):
        measurement = self.pick([m for m in TAGS if TAGS[m]])
        tag = self.pick(TAGS[measurement])
        source = self.pick(["", f" FROM {measurement}", f" FROM /{measurement[0]}/"])
        where = f" WHERE {tag} = '{self.pick(VALUES[tag])}'" if self.chance(0.3) else ""
        page = f" LIMIT {self.pick([1, 2, 5])}" if self.chance(0.25) else ""
        page += " OFFSET 1" if page and self.chance(0.3) else ""
        key = self.pick([f"= {tag}", f"!= {tag}", f"IN ({tag}, rack)", f"=~ /{tag[0]}/"])
        shown = self.pick_rare(SHOWN, lambda shown: f"SHOW {shown}")
        self.use(f"SHOW {shown}")
        return {
            "measurements": f"SHOW MEASUREMENTS{self.pick(['', f' WITH MEASUREMENT =~ /{measurement[1]}/'])}{where}{page}",
            "series": f"SHOW SERIES{source}{where}{page}",
            "tag keys": f"SHOW TAG KEYS{source}{where}{page}",
            "tag values": f"SHOW TAG VALUES FROM {measurement} WITH KEY {key}{where}{page}",
            "field keys": f"SHOW FIELD KEYS{source}{page}",
            "cardinality": self.pick([
                "SHOW SERIES CARDINALITY", f"SHOW SERIES EXACT CARDINALITY{source}{where}",
                "SHOW MEASUREMENT CARDINALITY", f"SHOW MEASUREMENT EXACT CARDINALITY{source}{where}",
                f"SHOW TAG KEY CARDINALITY{source}{where}", f"SHOW TAG KEY EXACT CARDINALITY{source}",
                f"SHOW FIELD KEY CARDINALITY{source}",
                f"SHOW TAG VALUES CARDINALITY FROM {measurement} WITH KEY = {tag}{where}",
                f"SHOW TAG VALUES EXACT CARDINALITY FROM {measurement} WITH KEY = {tag}"]),
            "retention policies": self.pick(["SHOW DATABASES", "SHOW RETENTION POLICIES ON db0"]),
        }[shown]


def rfc3339(seconds):
    import datetime
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("'%Y-%m-%dT%H:%M:%SZ'")
