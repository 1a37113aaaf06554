"""Questions for opentsdb.py: points, and a grammar over them that is walked at random."""
import random
import time

H = 1_700_002_800  # 2023-11-14T23:00:00Z, a full hour
DAY = 86_400

AGGREGATORS = """sum min max avg none median mult dev diff count zimsum mimmin mimmax first last pfsum
squareSum p50 p75 p90 p95 p99 p999 ep50r3 ep75r3 ep90r3 ep95r3 ep99r3 ep999r3 ep50r7 ep75r7 ep90r7 ep95r7
ep99r7 ep999r7""".split()
FILLS = ["none", "nan", "null", "zero"]
ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"]
FILTERS = ["literal_or", "iliteral_or", "not_literal_or", "not_iliteral_or", "wildcard", "iwildcard",
           "regexp"]
RATES = ["rate", "counter", "counterMax", "resetValue", "dropResets"]
CALENDARS = ["calendar minutes", "calendar hours", "calendar days", "calendar weeks",
             "calendar months", "calendar years"]
CLAUSES = ["GET", "POST", "several sub-queries", "tags", "filter only", "two filters on one key",
           "explicitTags", "tsuids", "arrays", "msResolution", "showTSUIDs", "showQuery",
           "noAnnotations", "globalAnnotations", "0all", "fixed interval", "times as dates",
           "times in seconds", "last", "lookup", "suggest", "exp", "gexp", "histogram percentiles",
           "histogram buckets"]

# Every feature that a run has to ask for often enough.
REQUIRED = (AGGREGATORS + [f"downsample {name}" for name in AGGREGATORS if name != "none"]
            + [f"fill {fill}" for fill in FILLS] + [f"zone {zone}" for zone in ZONES] + FILTERS
            + RATES + CALENDARS + CLAUSES)

HOSTS = ["web02", "WEB01", "db1", "web01", "a", "cache"]
CENTRES = ["nyc", "ams", "Lga"]
# Numbers are given to names in this order, which is not that of the alphabet.
NAMES = {
    "metric": ["q.mixed", "q.ints", "q.tags", "q.floats", "q.long", "q.counter", "q.tiny", "q.ms",
               "q.lonely", "q.big", "q.hist", "q.now"],
    "tagk": ["host", "dc", "rack", "os"],
    "tagv": HOSTS + CENTRES + ["r1", "r2", "r/3", "linux", "bsd.14_2", "grün"],
}


def metrics():
    """Every metric with its series: tags, and points in milliseconds and values."""
    rng = random.Random(7)
    stored = {}
    for metric in ["q.ints", "q.floats", "q.mixed"]:
        stored[metric] = []
        for i, host in enumerate(HOSTS):
            tags = {"host": host} if i == 4 else {"host": host, "dc": CENTRES[i % 3]}
            step = rng.choice([10, 15, 30, 60, 61, 300])
            at, end = (H - 5000 + rng.randrange(900)) * 1000, (H + rng.choice([-500, 1000, 3700, 9000])) * 1000
            level, points = rng.randrange(1000), []
            while at < end:
                level = rng.randrange(50) if rng.random() < 0.08 else max(0, level + rng.randrange(60) - 15)
                is_float = {"q.ints": 0, "q.floats": 1, "q.mixed": 0.3}[metric] > rng.random()
                points.append((at, level + rng.choice([0.0, 0.25, 0.5, 0.1]) if is_float else level))
                at += step * 1000 * (7 if rng.random() < 0.1 else 1) + (250 if rng.random() < 0.05 else 0)
            stored[metric].append((tags, points))
    stored["q.ms"] = [({"host": host}, [((H + 5) * 1000 + i * step + i * i % 97, i * 3)
                                        for i in range(400)])
                      for host, step in [("web01", 100), ("db1", 450), ("a", 733)]]
    stored["q.long"] = []
    for host, centre, step in [("web01", "nyc", 5), ("db1", "ams", 11), ("a", "nyc", 31)]:
        count = 80 * 24 // step
        stored["q.long"].append(({"host": host, "dc": centre}, [
            ((H - 60 * DAY + i * step * 3600 + i * 61 % 3600) * 1000,
             i * i % 101 + (0.5 if i % 7 == 3 else 0)) for i in range(count)]))
    stored["q.counter"] = []
    for i, host in enumerate(["web01", "web02", "cache"]):
        top = [1000, 2**32, 2**63 - 1][i]
        level, points = top // 2, []
        for step in range(150):
            level += rng.randrange(top // 11 + 1)
            level = rng.randrange(20) if rng.random() < 0.03 else level
            level = level - top if level > top else level
            points.append(((H - 900 + step * 20 + i) * 1000, level))
        stored["q.counter"].append(({"host": host}, points))
    # At the same times: Foliot interpolates such numbers without overflow.
    stored["q.big"] = [({"host": host}, [((H + i * 30) * 1000,
                                         rng.randrange(-2**62, 2**62) if i % 5 else 2**53 + i)
                                        for i in range(40)]) for host in ["web01", "db1"]]
    stored["q.tiny"] = [({"host": host}, [((H + i * 30 + shift) * 1000,
                                          (i + 1) * 1.37 * 10.0 ** (i % 31 - 15)) for i in range(60)])
                        for host, shift in [("web01", 0), ("db1", 0), ("a", 7)]]
    stored["q.tags"] = [
        (tags, [((H + i * 60 + shift) * 1000, i * shift) for i in range(30)]) for shift, tags in enumerate([
            {"host": "web01", "dc": "nyc", "rack": "r1", "os": "linux"},
            {"host": "web02", "dc": "nyc", "rack": "r2", "os": "linux"},
            {"host": "db1", "dc": "ams", "rack": "r1", "os": "bsd.14_2"},
            {"host": "a", "dc": "ams", "rack": "r/3"}, {"host": "cache", "os": "linux"},
            {"dc": "Lga", "os": "grün"}, {"host": "web01"}], 1)]
    stored["q.lonely"] = [({"host": "a"}, [((H + 60) * 1000, 42)])]
    return stored


STORED = metrics()


def puts():
    """Bodies of `/api/put`."""
    points = [{"metric": metric, "timestamp": at if at % 1000 else at // 1000, "value": value, "tags": tags}
              for metric, series in STORED.items() for tags, points in series for at, value in points]
    now = int(time.time())
    points += [{"metric": "q.now", "timestamp": now - i, "value": i * 1.5, "tags": {"host": host}}
               for host in ["web01", "db1"] for i in range(3)]
    return [points[i:i + 500] for i in range(0, len(points), 500)]


def histograms():
    """Bodies of `/api/histogram`."""
    return [{"metric": "q.hist", "timestamp": H + i * 30, "tags": {"host": host},
             "overflow": i % 3, "underflow": i % 2,
             "buckets": {f"{low},{low + 10}": (i + low * shift) % 9 for low in range(0, 60, 10)}}
            for shift, host in [(1, "web01"), (3, "db1")] for i in range(40)]


class Generator:
    def __init__(self, seed, tsuids):
        self.random = random.Random(seed)
        self.tsuids = tsuids
        self.used = set()

    def pick(self, choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    def use(self, feature):
        self.used.add(feature)
        return feature

    def question(self):
        """A path, its parameters as pairs, and a body or None."""
        self.used = set()
        draw = self.random.random()
        if draw < 0.80:
            return self.query()
        return self.pick([self.last, self.lookup, self.suggest, self.exp, self.gexp, self.histogram])()

    def span(self, metric):
        """Start and end, in milliseconds."""
        if metric == "q.long":
            start = H - self.pick([70, 45, 20, 12, 9, 3]) * DAY + self.pick([0, 0, 3600, 1234, 40000])
            return start * 1000, (start + self.pick([1, 2, 7, 15, 40]) * DAY) * 1000
        starts = [-600, 0, 0, 7, 60, 600]
        if metric in ("q.ints", "q.floats", "q.mixed"):
            starts += [-3600, -1800, 3599]
        start = (H + self.pick(starts)) * 1000 + self.pick([0, 0, 0, 500])
        return start, start + self.pick([30, 600, 900, 1800, 1800, 3600, 5400]) * 1000

    def filters(self, metric):
        keys = sorted({key for tags, _ in STORED[metric] for key in tags}, key=NAMES["tagk"].index)
        found = []
        for key in keys:
            if not self.chance(0.35):
                continue
            # OpenTSDB forgets all but the last list of values of later keys.
            for _ in range(2 if not found and self.chance(0.15) else 1):
                found.append(self.filter(metric, key))
        if len({f["tagk"] for f in found}) < len(found):
            self.use("two filters on one key")
        return found

    def filter(self, metric, key):
        values = sorted({tags[key] for tags, _ in STORED[metric] if key in tags})
        kind = self.use(self.pick(FILTERS))
        a, b = self.pick(values), self.pick(values)
        if kind == "regexp":
            text = self.pick(["b0", "a", "1", "y", "^w", "[0-9]$", ".*", "web.*|db1", "^.{1,3}$"])
        elif kind.endswith("wildcard"):
            text = self.pick(["*", "*", "web*", "*1", "w*0*", "*A*", "*m*s", "Web*"])
        else:
            text = self.pick([a, f"{a}|{b}"])
            text = text.swapcase() if "iliteral" in kind else text
        groups = self.chance(0.6)
        if not groups:
            self.use("filter only")
        return {"tagk": key, "type": kind, "filter": text, "groupBy": groups}

    def downsample(self, metric, span_ms):
        function = self.pick([name for name in AGGREGATORS if name not in ("none", "mult")]
                             + (["mult"] * 6 if metric in ("q.lonely", "q.tags", "q.ms") else []))
        self.use(f"downsample {function}")
        draw = self.random.random()
        fill = ""
        if self.chance(0.45):
            fill = "-" + self.pick(FILLS)
            self.use(f"fill{fill}".replace("-", " "))
        if draw < 0.08:
            self.use("0all")
            return f"0all-{function}", None
        if draw < (0.7 if metric == "q.long" else 0.25):
            if metric == "q.long":
                kind, texts = self.pick([("hours", ["1h", "6h", "12h"]), ("days", ["1d", "1d", "2d", "10d"]),
                                         ("weeks", ["1w", "2w"]), ("months", ["1n", "3n"]), ("years", ["1y"])])
            else:
                kind, texts = self.pick([("minutes", ["1m", "5m", "15m", "30s"]), ("hours", ["1h", "2h"]),
                                         ("days", ["1d"])])
            self.use(f"calendar {kind}")
            # In OpenTSDB hours go on as they are when clocks change, until the first sample is another.
            return f"{self.pick(texts)}c-{function}{fill}", ["UTC"] if kind == "hours" else ZONES
        self.use("fixed interval")
        if metric == "q.long":
            return f"{self.pick(['1h', '5h', '1d', '7h', '1w', '1n'])}-{function}{fill}", None
        texts = ["10s", "7s", "1m", "90s", "5m", "1h", "7m"]
        if span_ms < 2_000_000:
            texts += ["2500ms", "700ms"]
        return f"{self.pick(texts)}-{function}{fill}", None

    def rate(self):
        self.use("rate")
        options = {}
        if self.chance(0.5):
            options["counter"] = True
            self.use("counter")
            if self.chance(0.6):
                options["counterMax"] = self.pick([5000, 2**32, 65535])
                self.use("counterMax")
                if self.chance(0.5):
                    options["resetValue"] = self.pick([1, 20, 1000])
                    self.use("resetValue")
            elif self.chance(0.5):
                options["dropResets"] = True
                self.use("dropResets")
        return options

    def sub_query(self, metric, span_ms):
        """A sub-query as JSON, and the zones that it can be asked in."""
        sub = {"metric": metric, "aggregator": self.use(self.pick(AGGREGATORS))}
        if sub["aggregator"] == "mult" and metric not in ("q.lonely", "q.tags"):
            sub["aggregator"] = self.use("sum")
        zones = None
        if self.chance(0.55):
            sub["downsample"], zones = self.downsample(metric, span_ms)
        # Counters are not below 0.
        if metric == "q.counter" or metric != "q.big" and self.chance(0.25):
            sub["rate"] = True
            options = self.rate()
            if options:
                sub["rateOptions"] = options
        if self.chance(0.06):
            self.use("tsuids")
            del sub["metric"]
            sub["tsuids"] = self.random.sample(self.tsuids[metric], min(2, len(self.tsuids[metric])))
            return sub, zones
        filters = self.filters(metric)
        if filters:
            sub["filters"] = filters
            if self.chance(0.15):
                sub["explicitTags"] = True
                self.use("explicitTags")
        elif self.chance(0.25):
            key = self.pick(["host", "dc"])
            values = sorted({tags[key] for tags, _ in STORED[metric] if key in tags})
            if values:
                self.use("tags")
                sub["tags"] = {key: self.pick(["*", values[0], "|".join(values[:2]), "w*", "*1"])}
        return sub, zones

    def query(self):
        metric = self.pick(sorted(name for name in STORED) + ["q.ints", "q.floats", "q.mixed", "q.long"])
        start_ms, end_ms = self.span(metric)
        subs = [self.sub_query(metric, end_ms - start_ms)]
        while self.chance(0.15):
            self.use("several sub-queries")
            subs.append(self.sub_query(metric, end_ms - start_ms))
        zone = None
        if any(zones for _, zones in subs):
            zone = self.pick([zone for zone in ZONES if all(zone in zones for _, zones in subs if zones)])
            self.use(f"zone {zone}")
        subs = [sub for sub, _ in subs]
        flags = {}
        for name, post, get, share in [
                ("msResolution", "msResolution", "ms", 0.5), ("showTSUIDs", "showTSUIDs", "show_tsuids", 0.1),
                ("showQuery", "showQuery", "show_query", 0.1),
                ("noAnnotations", "noAnnotations", "no_annotations", 0.1),
                ("globalAnnotations", "globalAnnotations", "global_annotations", 0.1)]:
            if self.chance(share):
                self.use(name)
                flags[post] = get
        arrays = [("arrays", "true")] if self.chance(0.5) and self.use("arrays") else []
        start, end = start_ms, end_ms
        if start_ms % 1000 == 0 and self.chance(0.3):
            start, end = start_ms // 1000, end_ms // 1000
            self.use("times in seconds")
        elif start_ms % 1000 == 0 and not zone and self.chance(0.1):
            start, end = (time.strftime("%Y/%m/%d-%H:%M:%S", time.gmtime(ms // 1000)) for ms in (start_ms, end_ms))
            self.use("times as dates")
        # A question whose filters do not fit into the text of a GET is a POST.
        if zone or self.chance(0.5) or any("{" in f["filter"] or ":" in f["filter"]
                                           for sub in subs for f in sub.get("filters", [])):
            self.use("POST")
            body = {"start": start, "end": end, "queries": subs, **{name: True for name in flags}}
            if zone:
                body["timezone"] = zone
            return "/api/query", arrays, body
        self.use("GET")
        pairs = [("start", start), ("end", end)] + arrays + [(get, "true") for get in flags.values()]
        return "/api/query", pairs + [self.as_text(sub) for sub in subs], None

    def as_text(self, sub):
        parts = []
        if "downsample" in sub:
            parts.append(sub["downsample"])
        if "rate" in sub:
            options = sub.get("rateOptions", {})
            numbers = [str(options[name]) for name in ("counterMax", "resetValue") if name in options]
            word = "dropcounter" if "dropResets" in options else "counter"
            parts.append("rate{" + ",".join([word] + numbers) + "}" if options else "rate")
        if "explicitTags" in sub:
            parts.append("explicit_tags")
        self.random.shuffle(parts)
        if "tsuids" in sub:
            return "tsuid", ":".join([sub["aggregator"]] + parts + [",".join(sub["tsuids"])])
        text = ":".join([sub["aggregator"]] + parts + [sub["metric"]])
        if "tags" in sub:
            text += "{" + ",".join(f"{key}={value}" for key, value in sub["tags"].items()) + "}"
        if "filters" in sub:
            for groups in (True, False):
                chosen = [f for f in sub["filters"] if f["groupBy"] == groups]
                if chosen or groups:
                    text += "{" + ",".join(f"{f['tagk']}={f['type']}({f['filter']})" for f in chosen) + "}"
        return "m", text

    def histogram(self):
        start = H + self.pick([0, 30, 300])
        sub = {"metric": "q.hist", "aggregator": self.pick(["sum", "none"])}
        if self.chance(0.4):
            sub["showHistogramBuckets"] = True
            self.use("histogram buckets")
        else:
            sub["percentiles"] = self.random.sample([0.5, 10, 50.0, 75, 95, 99.9, 100, 101], 2)
            self.use("histogram percentiles")
        if self.chance(0.3):
            sub["downsample"] = self.pick(["1m-sum", "5m-sum"])
        if self.chance(0.3):
            sub["filters"] = [{"tagk": "host", "type": "wildcard", "filter": "*", "groupBy": self.chance(0.7)}]
        return "/api/query", [], {"start": start, "end": start + 1200, "queries": [sub]}

    def tags_of(self, metric):
        tags = self.pick(STORED[metric])[0]
        return {key: self.pick([value, value, "*"]) for key, value in tags.items() if self.chance(0.6)}

    def braces(self, tags):
        return "{" + ",".join(f"{key}={value}" for key, value in tags.items()) + "}" if tags else ""

    def last(self):
        self.use("last")
        host = self.pick(["web01", "db1"])
        resolve = self.chance(0.5)
        if self.chance(0.4):
            query = {"metric": "q.now", "tags": {"host": host}}
            return "/api/query/last", [], {"queries": [query], "resolveNames": resolve, "backScan": 2}
        pairs = ([("resolve", "true")] if resolve else []) + [("back_scan", 2)]
        return "/api/query/last", pairs + [("timeseries", "q.now" + self.braces({"host": host}))], None

    def lookup(self):
        self.use("lookup")
        metric = self.pick(sorted(STORED) + ["", "*"])
        tags = self.tags_of(metric if metric in STORED else "q.tags")
        if metric not in STORED and not tags:
            tags = {"host": "web01"}
        if self.chance(0.15):
            tags = {"*": "web01"}
        return "/api/search/lookup", [("m", metric + self.braces(tags)), ("limit", 1000)], None

    def suggest(self):
        self.use("suggest")
        kind = self.pick(["metrics", "tagk", "tagv"])
        body = {"type": kind, "q": self.pick(["", "q.", "q.m", "w", "W", "h", "zz", "r", "g"])}
        if self.chance(0.7):
            body["max"] = str(self.pick([0, 1, 3, 100]))
        if self.chance(0.3):
            return "/api/suggest", [], body
        return "/api/suggest", list(body.items()), None

    def exp(self):
        self.use("exp")
        metrics = self.random.sample(["q.ints", "q.floats", "q.mixed", "q.tags", "q.tiny"], 2)
        start = H + self.pick([0, 600])
        body = {"time": {"start": str(start), "end": str(start + self.pick([600, 1800])),
                         "aggregator": self.pick(["sum", "avg", "max", "zimsum"])},
                "filters": [{"id": "f1", "tags": [{"type": "wildcard", "tagk": "host", "filter": self.pick(["*", "web*"]),
                                                   "groupBy": self.chance(0.7)}]}],
                "metrics": [{"id": name, "metric": metric, "filter": "f1"} for name, metric in zip("ab", metrics)],
                "expressions": [{"id": "e", "expr": self.pick(
                    ["a + b", "a - b", "a * 2", "a / b", "(a + b) * 100", "-a", "a > b ? a : b"]),
                    "join": {"operator": self.pick(["union", "intersection"]), "useQueryTags": self.chance(0.5),
                             "includeAggTags": self.chance(0.5)}}]}
        for metric in body["metrics"]:
            metric["id"] = "m" + metric["id"]
            if self.chance(0.4):
                metric["fillPolicy"] = {"policy": self.pick(["nan", "zero", "null"])}
        body["expressions"][0]["expr"] = (body["expressions"][0]["expr"].replace("a", "ma").replace("b", "mb"))
        if self.chance(0.6):
            body["time"]["downsampler"] = {"interval": self.pick(["1m", "5m"]), "aggregator": self.pick(["avg", "sum", "max"])}
        if self.chance(0.4):
            body["outputs"] = [{"id": name, "alias": "out " + name} for name in self.random.sample(["ma", "e"], self.pick([1, 2]))]
        return "/api/query/exp", [], body

    def gexp(self):
        self.use("gexp")
        metric = self.pick(["q.ints", "q.floats", "q.tags"])
        start = H + self.pick([0, 600])
        inner = f"{self.pick(['sum', 'avg'])}:{self.pick(['1m', '5m'])}-{self.pick(['avg', 'sum'])}:{metric}{self.pick(['', '{host=*}'])}"
        text = self.pick([f"scale({inner},{self.pick([2, 0.5, 100])})", f"absolute({inner})",
                          f"movingAverage({inner},{self.pick([2, 3])})", f"scale(absolute({inner}),3)"])
        return "/api/query/gexp", [("start", start), ("end", start + 1800), ("exp", text)], None
