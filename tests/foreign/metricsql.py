"""Generated expressions of MetricsQL over awkward series, asked of Foliot and of VictoriaMetrics.

Usage: metricsql.py FOLIOT VICTORIAMETRICS [COUNT [SEED]]

Debian's VictoriaMetrics is 1.79.5. What is not asked, or asked so that it cannot differ:

  NaN                          VictoriaMetrics keeps no other than the mark of staleness
  ceil, floor, %               make whole steps of the last digit: asked of series as they are stored
  precision                    it keeps 64 bits of a decimal number, and sums as they come: values
                               are compared to nine digits
  empty series                 it forgets that a selected series is there when nothing of it lies
                               in the range; so does Foliot, by the same range
  limitk, any, outliersk       which series they take of equal ones is left to either: any is asked
                               of groups of one only
  labels of what is aggregated 1.79 gives a label that is set to nothing the bytes of another one:
                               label functions are asked of series as they are stored
  default, ifnot               1.79 applies conditions that stand on one side only to both: there
                               both sides have the same, or none
  absent_over_time             1.79 forgets the offset of it where no series is there, and counts each
                               series in sum(absent_over_time(x)): without either
  sum(f(1, x)) without a range 1.79 loses the other arguments of f: ranges are written out there
  absent_over_time(x{y=""})    1.79 answers with an empty label: not asked
  quantiles_over_time          it makes no series without values, which `default` would fill: summed up
  sgn                          that of a gap is 0 there and a gap here
  ranks of equal series        neither says which goes first: what is ranked has values of its own
  round of negative halves     away from 0 there, upwards here, as Prometheus does
  many and one at gaps         `a == bool b` has a value there where b has none
  deviations of times          they lie in the last digits, which the order of adding changes there from run to run

One that knows functions which 1.79.5 does not know yet is asked of histograms only: what else is said
above is of 1.79.5. At one instant it takes the sample before a range from as far away as a step, and is
not asked for rates then.
"""

import json
import math
import random
import re
import struct
import sys
import urllib.error
import urllib.parse
import urllib.request

from remote_write import write

FOLIOT, VICTORIA = sys.argv[1:3]
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
RANDOM = random.Random(SEED)

BEGIN = 1_700_000_000 // 3600 * 3600
STEPS = 240
INTERVAL = 15
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]


def series():
    """Series by their labels: lists of milliseconds and values."""
    for metric in ("requests_total", "load"):
        for job in ("api", "db"):
            for instance in range(4):
                labels = {"__name__": metric, "job": job, "instance": f"i{instance}"}
                if instance % 2:
                    labels["zone"] = "east"
                yield labels, list(samples(metric, instance))
    for instance, interval in enumerate((1, 7, 61)):
        labels = {"__name__": "uneven", "job": "odd", "instance": f"i{instance}"}
        at, points = BEGIN * 1000, []
        while at < (BEGIN + STEPS * INTERVAL) * 1000:
            points.append((at, RANDOM.randrange(-40, 40) / 4))
            at += int(interval * 1000 * RANDOM.choice((1, 1, 1, 0.5, 3)))
        yield labels, points


def samples(metric, instance):
    """0 is plain, 1 has gaps, 2 resets, 3 comes and goes with marks."""
    value = 1e4 * (instance + 1)
    for step in range(STEPS):
        at = (BEGIN + step * INTERVAL) * 1000 + RANDOM.randrange(1000, 1300)
        if metric == "load":
            value = RANDOM.randrange(-400, 400) / 16 + instance * 1e-3
        elif instance == 2 and RANDOM.random() < 0.05:
            value = RANDOM.randrange(100) if RANDOM.random() < 0.7 else value * 19 // 20
        else:
            value += RANDOM.randrange(20)
        if instance == 1 and (step % 60 in range(20, 45) or RANDOM.random() < 0.2):
            continue
        if instance == 3 and step % 50 >= 30:
            if step % 50 == 30:
                yield at, STALE
            continue
        yield at, value


def pick(*choices):
    return RANDOM.choice(choices)


def selector(metric=None):
    metric = metric or pick("requests_total", "load", "uneven")
    return metric + pick("", "", "", '{job="api"}', '{instance=~"i[02]",}', '{zone=""}', '{instance!~"i1|i3"}')


def shift():
    return pick("", "", "", "", " offset 4m", " offset -3m", f" @ {BEGIN + 1800}", " offset 2i")


def length():
    return pick("1m", "2m", "5m", "7m", "20m", "45s", "1.5m", "2i", "1i", "10s")


def ranged(depth=0, metric=None):
    if depth > 0 and RANDOM.random() < 0.25:
        return f"({vector(depth - 1)})[{pick('5m', '10m', '3i')}:{pick('1m', '30s', '', '1i')}]{shift()}"
    if RANDOM.random() < 0.4:
        return selector(metric) + shift()
    return f"{selector(metric)}[{length()}]{shift()}"


def bracketed():
    return f"{selector()}[{length()}]{shift()}"


# 1.79.5 does not know rate_prometheus yet.
COUNTERS = ("rate", "increase", "irate", "increase_pure", "increase_prometheus", "resets")
RANGES = (
    "delta", "idelta", "ideriv", "deriv_fast", "delta_prometheus", "changes_prometheus",
    "avg_over_time", "sum_over_time",
    "min_over_time", "max_over_time", "count_over_time", "last_over_time", "first_over_time",
    "present_over_time", "stddev_over_time", "stdvar_over_time", "changes", "resets", "deriv",
    "lag", "lifetime", "scrape_interval", "tfirst_over_time", "tlast_over_time", "tmin_over_time",
    "tmax_over_time", "timestamp", "mode_over_time", "range_over_time", "distinct_over_time",
    "integrate", "zscore_over_time", "sum2_over_time", "increases_over_time", "ascent_over_time",
    "descent_over_time", "rate_over_sum", "default_rollup", "tlast_change_over_time",
)
ROLLUPS = ("rollup", "rollup_rate", "rollup_increase", "rollup_delta", "rollup_deriv",
           "rollup_scrape_interval", "rollup_candlestick")
PATHS = ("running_sum", "running_avg", "running_min", "running_max", "range_sum", "range_avg", "range_min",
         "range_max", "range_first", "range_last", "keep_last_value", "keep_next_value", "interpolate",
         "remove_resets")
AGGREGATES = ("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar", "median", "distinct", "sum2", "mode")


def by():
    return pick("", "", "by (job) ", "by (job, instance,) ", "without (instance) ", "by (zone) ")


def keep():
    return pick("", "", " keep_metric_names")


def stored():
    return pick(selector() + shift(), f"rollup_rate({selector('requests_total')})", f"last_over_time({ranged()})")


def alike():
    """Series that nothing is said of."""
    return pick("load", "requests_total offset 4m", "rate(requests_total)", "max_over_time(load[2m])")


def vector(depth):
    if depth <= 0:
        return pick(lambda: selector() + shift(), lambda: f"rate({selector('requests_total')})")()
    inner = depth - 1
    return RANDOM.choice([
        lambda: selector() + shift(),
        lambda: f"{RANDOM.choice(COUNTERS)}({ranged(metric='requests_total')}){keep()}",
        lambda: f"{RANDOM.choice(RANGES)}({ranged(inner)}){keep()}",
        lambda: f"{RANDOM.choice(RANGES)}({ranged(inner)})",
        lambda: f"{RANDOM.choice(ROLLUPS)}({ranged(metric='requests_total')})",
        lambda: f"{pick('count', 'share')}_{pick('gt', 'le')}_over_time({bracketed()}, {pick('0', '3', '-1')})",
        lambda: f"count_{pick('eq', 'ne')}_over_time({bracketed()}, {pick('0', '3', '-1')})",
        lambda: f"quantile_over_time({pick('0.5', '0.9')}, {bracketed()})",
        lambda: f'sum(quantiles_over_time("q", 0.5, 0.9, {bracketed()})) by (q, job)',
        lambda: f"predict_linear({bracketed()}, {pick('60', '-300')})",
        lambda: f"histogram_over_time({bracketed()})",
        lambda: f"{RANDOM.choice(PATHS)}({vector(inner)})",
        lambda: f"smooth_exponential({vector(inner)}, {pick('0.3', '0.8')})",
        lambda: f"range_quantile({pick('0.3', '0.8')}, {vector(inner)})",
        lambda: f"{pick('abs', 'sqrt', 'ln')}({vector(inner)}){keep()}",
        lambda: f"{RANDOM.choice(AGGREGATES)} {by()}({vector(inner)})",
        lambda: f"quantile({pick('0.3', '0.99')}, {vector(inner)}) {by()}",
        lambda: f"{pick('topk', 'bottomk')}_{pick('avg', 'min', 'max', 'last', 'median')}({pick('1', '2', '3')}, load) {by()}",
        lambda: f"any({alike()}) by (job, instance)",
        lambda: f'label_set({stored()}, "to", "x", "zone", "")',
        lambda: f'label_del({stored()}, "zone", "__name__")',
        lambda: f'label_keep({stored()}, "job", "instance", "rollup", "q", "__name__")',
        lambda: f'label_{pick("copy", "move")}({stored()}, "zone", "area", "nothing", "job")',
        lambda: f'label_map({stored()}, "job", "api", "a-p-i", "db", "")',
        lambda: f'label_transform({stored()}, "instance", "i(.)", "x$1-")',
        lambda: f'label_{pick("match", "mismatch")}({stored()}, "instance", "i[12]")',
        lambda: f'label_{pick("uppercase", "lowercase")}({stored()}, "job", "zone")',
        lambda: f'label_value(label_transform({stored()}, "instance", "i", ""), "instance")',
        lambda: f"({vector(inner)}) default 0",
        lambda: f"({alike()} default {alike()})",
        lambda: f"({vector(inner)}) if ({vector(inner)} > {pick('0', '5')})",
        lambda: f"({alike()} ifnot ({alike()} > 0))",
        lambda: f"({vector(inner)}) {pick('and', 'or', 'unless')} ({vector(inner)})",
        lambda: f"({vector(inner)} {pick('+', '-', '*', '/')} {pick('2', '0.5', '1Ki', '3M', '5m')})",
        lambda: f"({pick('2', '0.5', 'time()')} {pick('+', '-', '*', '/')} {vector(inner)})",
        lambda: f"({vector(inner)} {pick('>', '<', '>=', '<=', '!=', '==')} {pick('', 'bool ')}{pick('0', '2.5', '1e4')})",
        lambda: f"(sum({vector(inner)}) {pick('+', '*', '-')} {vector(inner)})",
        lambda: f"({selector('load')} {pick('+', '/', '-')} {pick('', 'on (job, instance) ')}{selector('requests_total')})",
        lambda: f"({vector(inner)} / on (job) group_left () sum by (job) ({vector(inner)}))",
        lambda: f"union({vector(inner)}, {vector(inner)})",
        lambda: f"({vector(inner)}, {vector(inner)},)",
        lambda: f"WITH (x = {vector(inner)}, f(a, b) = a + b) f(x, {pick('1', 'step()', 'end() - start()')})",
        lambda: f'WITH (cond = {{job="api"}}) rate(requests_total{{cond}})',
        lambda: f"-({vector(inner)})",
        lambda: f"({pick('ceil', 'floor')}({selector()}){keep()} % {pick('7', '0.5')})",
        lambda: f"clamp({vector(inner)}, -5, 20)",
        lambda: f"scalar({selector('load')}) + {vector(inner)}",
    ])()


def counted():
    """Series of counts within ranges, or up to bounds."""
    what = pick("load", "requests_total", "uneven", "rate(requests_total)", "max_over_time(load[2m])", "load * 1e-12")
    return pick(f"histogram({what}) {by()}", f"histogram_over_time({bracketed()})")


def figure():
    """What histograms come to."""
    bounds = pick("", ', "bounds"')
    return RANDOM.choice([
        counted,
        lambda: f"prometheus_buckets({counted()})",
        lambda: f"buckets_limit({pick('1', '4', '8')}, {counted()})",
        lambda: f"histogram_quantile({pick('0', '0.5', '0.9', '1', '2', '-1')}, {counted()}{bounds})",
        lambda: f"histogram_share({pick('-1', '0', '3', '100', '2e4', 'Inf')}, {counted()}{bounds})",
        lambda: f"histogram_fraction({pick('-1', '0', '3')}, {pick('5', '100', '2e4')}, {counted()})",
        lambda: f'histogram_quantiles("phi", 0.1, 0.9, {counted()})',
        lambda: f"histogram_{pick('avg', 'stdvar', 'stddev')}({counted()})",
        lambda: f"histogram_quantile(0.5, sum by (vmrange) (histogram_over_time({bracketed()})))",
        lambda: f'count_values_over_time("v", {bracketed()}){keep()}',
    ])()


def ask(url, path, form):
    data = urllib.parse.urlencode(form).encode()
    try:
        with urllib.request.urlopen(url + path, data, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        if error.code not in (400, 422, 503):
            raise SystemExit(f"{url}: {error.code} {text} for {form['query']}")
        return json.loads(text)


def same_number(left, right):
    left, right = float(left), float(right)
    if math.isinf(left) or math.isinf(right):
        return left == right
    return abs(left - right) <= 1e-6 + 1e-7 * max(abs(left), abs(right))


def table(answer):
    """Samples by labels and time."""
    if answer["status"] != "success":
        return None
    found = {}
    for one in answer["data"]["result"]:
        labels = tuple(sorted(one["metric"].items()))
        for at, value in one.get("values") or [one["value"]]:
            found[labels, at] = value
    return found


def difference(ours, theirs):
    if ours is None or theirs is None:
        return None if ours is theirs else "one of them refuses"
    for key in sorted(ours.keys() | theirs.keys(), key=str):
        if key not in ours or key not in theirs:
            who = "Foliot" if key in ours else "VictoriaMetrics"
            return f"only {who} has {key}: {ours.get(key, theirs.get(key))}"
        if not same_number(ours[key], theirs[key]):
            return f"at {key} {ours[key]} and {theirs[key]}"
    return None


def main():
    all_series = list(series())
    write(FOLIOT, all_series)
    write(VICTORIA, all_series)
    urllib.request.urlopen(VICTORIA + "/internal/force_flush", timeout=30).read()
    failures, answered, refused = [], 0, 0
    probe = ask(VICTORIA + "/api/v1/", "query", {"query": 'count_values_over_time("v", load)'})
    is_newer = probe["status"] == "success"
    for _ in range(COUNT):
        text = figure() if is_newer else vector(RANDOM.randrange(1, 4))
        if not is_newer and RANDOM.random() < 0.01:
            text = f"absent_over_time({pick('load', 'uneven')}[{length()}])"
        start = BEGIN + 60 * RANDOM.randrange(5, 55)
        if RANDOM.random() < 0.3 and not (is_newer and "rate(" in text):
            path, form = "query", {"query": text, "time": start, "nocache": 1}
        else:
            path = "query_range"
            form = {"query": text, "start": start, "end": start + 600, "step": pick(15, 60, 120), "nocache": 1}
        if re.search(r"std(dev|var)", text) and re.search(r"t(first|last|min|max)\w*_over_time|timestamp|time\(\)", text):
            continue
        ours = ask(FOLIOT + "/api/v1/", path, form)
        theirs = ask(VICTORIA + "/api/v1/", path, form)
        found = difference(table(ours), table(theirs))
        answered += ours["status"] == "success"
        refused += ours["status"] != "success"
        if found:
            failures.append((len(text), f"{found}\n  {path} {form}\n  {ours.get('error')} | {theirs.get('error')}"))
    failures.sort()
    for _, failure in failures[:20]:
        print(failure)
    print(f"{answered} answers and {refused} refusals compared, {len(failures)} differ (seed {SEED})")
    sys.exit(bool(failures))


main()
