"""Generated expressions of PromQL over awkward series, asked of Foliot and of Prometheus; beside it
another Prometheus, whose own engine reads Foliot's samples by remote read.

Usage: prometheus.py FOLIOT PROMETHEUS READER [COUNT [SEED]]

Debian's Prometheus is 2.42. What its language does otherwise than that of 3.0, which Foliot speaks,
is kept out of the questions, in this table and nowhere else:

  ranges and look-back        2.42 closes their left end: no sample and no step of a subquery lies
                              on the left end of any range asked about (INSTANT, JITTER_MS)
  rate near 0                 2.42 extrapolates to 0 before it looks how far the first sample is
                              from the range's beginning: counters begin far above 0, and those
                              that restart have no gaps and little jitter; nothing else has a rate
  sums with infinities        2.42 makes NaN of them where it carries what is lost: no sample is
                              infinite, or has a square that is
  predict_linear(x[5m] @ 1)   2.42 moves the range with the instants of a range: @ is not asked there
  stddev of one NaN           2.42 says 0: what has a deviation is a number
  dates of NaN                Go says whatever the machine makes of it, Foliot NaN: not asked
  the name behind atan2       2.42 keeps it: nobody looks at it
  digits behind the last      libraries of mathematics differ in them: counted values are rounded,
                              and nobody asks for the sine of what is huge
  comparisons that filter     2.42 counts second matches only where they hold: none are one to one
                              by fewer labels than there are
  a minus sign                Prometheus refuses two names that never have a value at the same
                              time, Foliot joins them: what is negated has no name
  timestamp(x @ 1 offset 5m)  Prometheus forgets the offset: not both are asked
  ties in topk and bottomk    neither says which of equal values goes first: only series with
                              values of their own are ranked
"""

import json
import math
import random
import struct
import sys
import urllib.error
import urllib.parse
import urllib.request

from remote_write import write

FOLIOT, PROMETHEUS, READER = sys.argv[1:4]
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 5000
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else 1
RANDOM = random.Random(SEED)

BEGIN = 1_700_000_000 // 3600 * 3600
STEPS = 240
INTERVAL = 15
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
# Questions are asked 7 s behind a whole minute; samples lie little more than a second behind a quarter.
INSTANT = 7
JITTER_MS = (1000, 1300)
# Not empty while a subquery is made.
WITHIN = []


def series():
    """Series by their labels: lists of milliseconds and values."""
    data = RANDOM
    for metric in ("requests_total", "load"):
        for job in ("api", "db"):
            for instance in range(4):
                labels = {"__name__": metric, "job": job, "instance": f"i{instance}"}
                if instance % 2:
                    labels["zone"] = "east"
                yield labels, list(samples(data, metric, instance))
    for instance in range(3):
        counts = [1e6] * 5
        buckets = [[] for _ in counts]
        for step in range(STEPS):
            at = time_ms(data, step)
            for place in range(5):
                counts[place] += data.randrange(3)
            for place in range(5):
                buckets[place].append((at, sum(counts[: place + 1])))
        for bound, points in zip(("0.1", "0.5", "1", "5", "+Inf"), buckets):
            yield {"__name__": "took_bucket", "instance": f"i{instance}", "le": bound}, points


def time_ms(data, step):
    return (BEGIN + step * INTERVAL) * 1000 + data.randrange(*JITTER_MS)


def samples(data, metric, instance):
    """0 is plain, 1 has gaps, 2 resets or odd values, 3 comes and goes."""
    value = 1e6 + instance * 0.125
    for step in range(STEPS):
        at = time_ms(data, step)
        if metric == "load":
            value = data.gauss(0, 10) + instance * 1e-3
            if instance == 2 and data.random() < 0.2:
                value = data.choice([math.nan, -0.0, 1e20, -1e-20])
        elif instance == 2 and data.random() < 0.05:
            value = data.random()
        else:
            value += data.randrange(20) + data.random()
        if instance == 1 and step % 60 in range(20, 45) or instance == 1 and data.random() < 0.2:
            continue
        if instance == 3 and step % 50 >= 30:
            if step % 50 == 30:
                yield at, STALE
            continue
        yield at, value


def pick(*choices):
    return RANDOM.choice(choices)


def selector(metric=None):
    metric = metric or pick("requests_total", "load")
    conditions = pick(
        "", "", "", '{job="api"}', '{job!="api"}', '{instance=~"i[02]"}', '{zone=""}',
        '{zone!=""}', '{instance!~"i1|i3",job="db"}', '{nothing="x"}',
    )
    return metric + conditions


def shift():
    at = BEGIN + 60 * RANDOM.randrange(10, 60) + INSTANT
    return pick("", "", "", "", " offset 4m", " offset -3m", f" @ {at}", " @ end()", f" @ {at} offset 2m")


def length():
    return pick("1m", "2m", "5m", "7m", "20m", "45s")


def ranged(metric=None, depth=0):
    if depth > 0 and not WITHIN and RANDOM.random() < 0.3:
        # Steps lie 7 s beside the ends of the range, unless they are those of another subquery.
        WITHIN.append(True)
        inner = vector(depth - 1)
        WITHIN.pop()
        return f"{inner}[{pick('5m', '10m', '20m')}:{pick('1m', '30s', '')}]{shift()}"
    return f"{selector(metric)}[{length()}]{shift()}"


def scalar(depth):
    if depth <= 0 or RANDOM.random() < 0.6:
        return pick("2", "-1.5", "0.5", "1e3", "Inf", "NaN", "0", "time()", "pi()")
    return pick(
        lambda: f"scalar({vector(depth - 1)})",
        lambda: f"({scalar(depth - 1)} {pick('+', '-', '*', '/', '%', '^')} {scalar(depth - 1)})",
        lambda: f"({scalar(depth - 1)} {pick('<', '>=', '==')} bool {scalar(depth - 1)})",
    )()


def by():
    return pick("", "", "by (job) ", "by (job, instance) ", "without (instance) ", "by (zone) ", "by (nothing) ")


def matching():
    return pick("", "", "on (job, instance) ", "ignoring (zone) ", "on (instance) group_left (zone) ",
                "on (job) group_right () ", "on (job) group_left () ", "on () ")


def ranked():
    return pick('load{instance!="i2"}', selector("requests_total"), f"rate({selector('requests_total')}[5m])")


def grouped():
    return pick("", "on (instance) group_left (zone) ", "on (job) group_right () ", "on (job) group_left () ")


RANGE = ("delta", "irate", "idelta", "avg_over_time", "sum_over_time", "min_over_time",
         "max_over_time", "count_over_time", "last_over_time", "present_over_time", "stddev_over_time",
         "stdvar_over_time", "changes", "resets", "deriv", "absent_over_time")
DATES = ("minute", "hour", "day_of_week", "day_of_month", "day_of_year", "days_in_month", "month", "year")
MATH = ("abs", "ceil", "floor", "exp", "sqrt", "ln", "log2", "log10", "asin", "acos", "atan",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "deg", "rad", "sgn", "round", "absent")


def vector(depth):
    if depth <= 0:
        return pick(lambda: selector() + shift(), lambda: f"rate({selector('requests_total')}[{length()}])")()
    inner = depth - 1
    return RANDOM.choice([
        lambda: selector() + shift(),
        lambda: f"{pick('rate', 'increase')}({selector('requests_total')}[{length()}]{shift()})",
        lambda: f"timestamp({selector()}{pick('', ' offset 4m', ' @ end()')})",
        lambda: f"{RANDOM.choice(DATES)}({vector(inner)} > 0 < 1e10)",
        lambda: f"abs({vector(inner)} atan2 {matching()}{vector(inner)})",
        lambda: f"{RANDOM.choice(RANGE)}({ranged(depth=inner)})",
        lambda: f"{RANDOM.choice(MATH)}({vector(inner)})",
        lambda: f"{pick('sin', 'cos', 'tan')}(clamp({vector(inner)}, -1e3, 1e3))",
        lambda: f"{pick('sum', 'avg', 'min', 'max', 'count', 'group')} {by()}({vector(inner)})",
        lambda: f"{pick('stddev', 'stdvar')} {by()}({vector(inner)} > -1e15 < 1e15)",
        lambda: f"{pick('sum', 'avg', 'min', 'max', 'count')} {by()}({vector(inner)})",
        lambda: f"quantile {by()}({pick('0.3', '0.99', '-1', '2', 'NaN', '0.5')}, {vector(inner)})",
        lambda: f"{pick('topk', 'bottomk')} {by()}({pick('1', '2', '3', '0')}, {ranked()})",
        lambda: f'count_values {by()}("v", clamp(round({vector(inner)}), -1e6, 1e6))',
        lambda: f"{vector(inner)} {pick('+', '-', '*', '/', '%', '^')} {matching()}{vector(inner)}",
        lambda: f"{vector(inner)} {pick('<', '>', '<=', '>=', '==', '!=')} bool {matching()}{vector(inner)}",
        lambda: f"{vector(inner)} {pick('<', '>', '<=', '>=', '==', '!=')} {grouped()}{vector(inner)}",
        lambda: f"({vector(inner)} {pick('+', '-', '*', '/', '%', '^')} {scalar(inner)})",
        lambda: f"({scalar(inner)} {pick('+', '-', '*', '/', '%', '^')} {vector(inner)})",
        lambda: f"({vector(inner)} {pick('<', '>', '<=', '>=', '==', '!=')} {pick('', 'bool ')}{scalar(inner)})",
        lambda: f"({vector(inner)} {pick('and', 'or', 'unless')} {pick('', 'on (job) ', 'ignoring (zone) ')}{vector(inner)})",
        lambda: f"-abs({vector(inner)})",
        lambda: f"({vector(inner)})",
        lambda: f"vector({scalar(inner)})",
        lambda: f"clamp({vector(inner)}, {pick('-1', '0')}, {pick('1', '-5', '20')})",
        lambda: f"clamp_min({vector(inner)}, {scalar(inner)})",
        lambda: f"round({vector(inner)}, {pick('0.1', '5', '0.25')})",
        lambda: f'label_replace({vector(inner)}, "to", "$1-x", "{pick("job", "instance", "zone")}", "(.).*")',
        lambda: f'label_join({vector(inner)}, "{pick("to", "zone")}", "/", "job", "nothing", "instance")',
        lambda: f"predict_linear({selector()}[{length()}]{pick('', ' offset 4m')}, {pick('60', '-300', '0')})",
        lambda: f"quantile_over_time({pick('0.5', '0.9', '1.5')}, {ranged(depth=inner)})",
        lambda: f"histogram_quantile({pick('0.5', '0.9', '0', '1', '-1', '2')}, {pick('', 'sum by (le) ')}(rate(took_bucket[{length()}])))",
        lambda: f"histogram_quantile(0.7, took_bucket{shift()})",
    ])()


def ask(url, path, form):
    data = urllib.parse.urlencode(form).encode()
    try:
        with urllib.request.urlopen(url + path, data, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        if error.code not in (400, 422):
            raise SystemExit(f"{url}: {error.code} {text} for {form['query']}")
        return json.loads(text)


def same_number(left, right):
    left, right = float(left), float(right)
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    if math.isinf(left) or math.isinf(right):
        return left == right
    return abs(left - right) <= 1e-6 + 1e-7 * max(abs(left), abs(right))


def table(answer):
    """Samples by labels and time."""
    if answer["status"] != "success":
        return None
    data = answer["data"]
    if data["resultType"] in ("scalar", "string"):
        return {((), data["result"][0]): data["result"][1]}
    found = {}
    for one in data["result"]:
        labels = tuple(sorted(one["metric"].items()))
        for at, value in one.get("values") or [one["value"]]:
            if (labels, at) in found:
                return {"twice": str(labels)}
            found[labels, at] = value
    return found


def difference(ours, theirs):
    if ours is None or theirs is None:
        return None if ours is theirs else "one of them refuses"
    for key in sorted(ours.keys() | theirs.keys(), key=str):
        if key not in ours or key not in theirs:
            return f"only one of them has {key}"
        if not same_number(ours[key], theirs[key]):
            return f"at {key} {ours[key]} and {theirs[key]}"
    return None


def main():
    all_series = list(series())
    write(FOLIOT, all_series)
    write(PROMETHEUS, all_series)
    here = FOLIOT + "/prometheus/api/v1/"
    failures, answered, refused = [], 0, 0
    for number in range(COUNT):
        text = vector(RANDOM.randrange(1, 4)) if RANDOM.random() < 0.95 else scalar(3)
        start = BEGIN + 60 * RANDOM.randrange(5, 55) + INSTANT
        if RANDOM.random() < 0.5:
            path, form = "query", {"query": text, "time": start}
        else:
            path = "query_range"
            form = {"query": text, "start": start, "end": start + 600, "step": pick(60, 120)}
        ours = ask(here, path, form)
        others = {"Prometheus": PROMETHEUS}
        # Every tenth is also asked of the one that reads our samples.
        if number % 10 == 0:
            others["Prometheus over remote read"] = READER
        for who, url in others.items():
            theirs = ask(url + "/api/v1/", path, form)
            found = difference(table(ours), table(theirs))
            answered += ours["status"] == "success"
            refused += ours["status"] != "success"
            if found:
                failures.append((len(text), f"{who}: {found}\n  {path} {form}\n  {ours.get('error')} | {theirs.get('error')}"))
    failures.sort()
    for _, failure in failures[:20]:
        print(failure)
    print(f"{answered} answers and {refused} refusals compared, {len(failures)} differ (seed {SEED})")
    sys.exit(bool(failures))


main()
