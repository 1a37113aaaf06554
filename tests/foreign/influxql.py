"""Asks two servers the same InfluxQL and compares what they say.

influxql.py FOLIOT_URL INFLUX_URL [SEED [COUNT [SHOWN]]]

Both get the same samples; then statements are generated from a seeded random number generator, and
every answer of the one is compared with the other's: numbers within 1e-12 relative, everything else
exactly. What may differ, and why, stands in EXPLAINED. Exits with 1 when a mark is missed.
"""
import collections
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

from influxql_statements import REQUIRED, Generator, samples

FOLIOT, INFLUX = sys.argv[1], sys.argv[2]
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 3000
SHOWN = int(sys.argv[5]) if len(sys.argv) > 5 else 10
ASKED_TIMES_MIN = 20


def request(url, path, data=None, headers={}):
    try:
        asked = urllib.request.Request(url + path, data=data, headers=headers)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def ask(url, statement, csv=False, **parameters):
    """The status and the answer: JSON, or rows of text."""
    body = urllib.parse.urlencode(dict(q=statement, **parameters)).encode()
    status, text = request(url, "/query", body, {"Accept": "application/csv"} if csv else {})
    text = text.decode(errors="replace")
    if csv:
        return status, [[number(cell) for cell in row.split(",")] for row in text.split("\n")]
    try:
        return status, json.loads(text)
    except json.JSONDecodeError:
        return status, {"broken": text}


def number(cell):
    try:
        return float(cell) if re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", cell) else cell
    except ValueError:
        return cell


def equal(a, b):
    """Whether two answers are the same, numbers within 1e-12 relative."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= 1e-12 * max(abs(a), abs(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    return a == b


def is_empty(answer):
    """Whether an answer is an error, or says nothing."""
    if isinstance(answer, list):
        return len(answer) < 3
    results = answer.get("results", [{}])
    return "broken" in answer or "error" in answer or any(
        "error" in result or "series" not in result for result in results)


def rows(answer, drop_time=False):
    """The rows of all series, with the series' name and tags, sorted."""
    if isinstance(answer, list):
        return sorted(answer, key=repr)
    found = []
    for result in answer.get("results", []):
        for series in result.get("series", []):
            head = [series.get("name"), sorted(series.get("tags", {}).items())]
            for row in series["values"]:
                found.append(head + (row[1:] if drop_time else row))
    return sorted(found, key=repr)


def is_broken(statement, ours, theirs):
    return "broken" in theirs and "unsupported value" in theirs["broken"]


def calls(*names):
    pattern = re.compile(r"\b(" + "|".join(names) + r")\(")
    return lambda statement, ours, theirs: bool(pattern.search(statement))


def both(*tests):
    return lambda *answers: all(test(*answers) for test in tests)


def same_but_times(statement, ours, theirs):
    return equal(rows(ours, True), rows(theirs, True))


def same_but_values(statement, ours, theirs):
    """The same series and rows in the same order, whatever their values are."""
    heads = lambda answer: [[(s.get("name"), s.get("tags"), [row[0] for row in s["values"]])
                             for s in result.get("series", [])] for result in answer["results"]]
    return isinstance(ours, dict) and heads(ours) == heads(theirs)


def same_but_signs(statement, ours, theirs):
    def bare(value):
        if isinstance(value, (list, tuple)):
            return [bare(each) for each in value]
        if isinstance(value, dict):
            return {key: bare(each) for key, each in value.items()}
        return abs(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    return equal(bare(ours), bare(theirs))


def has_more(statement, ours, theirs):
    """Every row of theirs is ours too; a statement that writes says how many it wrote."""
    known = [row for row in rows(theirs) if "result" not in row]
    mine = rows(ours)
    return len(known) < len(mine) and all(any(equal(row, other) for other in mine) for row in known)


# Reasons for which answers may differ: each a defect of InfluxDB 1.6.7, or a difference from 1.8.
EXPLAINED = [
    ("it cannot write infinite numbers as JSON", is_broken),
    ("integral(): last windows come in random order, and of integers lack the piece up to the edge",
     calls("integral")),
    ("mode(): which of equally frequent values is chosen depends on an unstable sort",
     both(calls("mode"), lambda statement, ours, theirs:
          isinstance(ours, list) or same_but_values(statement, ours, theirs))),
    ("percentile(): which of equal values is chosen, and so its time, depends on an unstable sort",
     both(calls("percentile"), lambda statement, ours, theirs:
          isinstance(ours, list) or same_but_times(statement, ours, theirs))),
    ("a window without a result of percentile() or holt_winters() ends the whole answer",
     both(calls("percentile", "holt_winters", "holt_winters_with_fit"), has_more)),
    ("abs() of a negative integer stays negative", both(calls("abs"), same_but_signs)),
    ("first() and last() in a subquery choose by chance among the rows of one instant",
     both(calls("first", "last"), lambda statement, *answers: "(SELECT" in statement,
          same_but_values)),
    ("rows of subqueries that are not in order of time, several of them or filled ones, are folded "
     "as they come",
     lambda statement, *answers: bool(re.search(r"\), \(SELECT|fill\(previous\)\) ", statement))),
]


def explained(statement, ours, theirs):
    return next((name for name, applies in EXPLAINED if applies(statement, ours, theirs)), None)


def fill_in():
    for url in (FOLIOT, INFLUX):
        for database in ("db0", "db1"):
            ask(url, f"DROP DATABASE {database}")
            ask(url, f"CREATE DATABASE {database} WITH SHARD DURATION 104w")
        status, text = request(url, "/write?db=db0", samples())
        assert status == 204, (url, status, text[:300])


def main():
    fill_in()
    generator = Generator(SEED)
    features, reasons, statements = collections.Counter(), collections.Counter(), set()
    asked = combined = empty = same = 0
    unexplained = []
    while asked < COUNT:
        statement = generator.statement()
        # There are not many different ways to say SHOW.
        if statement in statements and not statement.startswith("SHOW"):
            continue
        statements.add(statement)
        asked += 1
        features.update(generator.used)
        combined += len(generator.used) >= 2
        parameters = {"db": "db0"}
        if generator.chance(0.2):
            parameters["epoch"] = generator.pick(["ns", "u", "ms", "s", "m", "h"])
        parameters["csv"] = statement.startswith("SELECT") and generator.chance(0.05)
        ours, theirs = ask(FOLIOT, statement, **parameters), ask(INFLUX, statement, **parameters)
        empty += is_empty(theirs[1])
        if equal(ours, theirs):
            same += 1
        elif reason := explained(statement, ours[1], theirs[1]):
            reasons[reason] += 1
        else:
            unexplained.append((statement, parameters, ours, theirs))
    for statement, parameters, ours, theirs in unexplained[:SHOWN]:
        print(f"> {statement}   {parameters}")
        print("   foliot:", json.dumps(ours)[:20000])
        print("   influx:", json.dumps(theirs)[:20000])
    rare = {name: features[name] for name in REQUIRED if features[name] < ASKED_TIMES_MIN}
    print(f"{COUNT} statements (seed {SEED}), {same} equal ({same / COUNT:.2%}), "
          f"{sum(reasons.values())} explained, {len(unexplained)} not; "
          f"{combined / COUNT:.0%} combine features, {empty / COUNT:.1%} empty or errors; "
          f"{len(REQUIRED)} features, each asked for {min(features[n] for n in REQUIRED)} times or more")
    for name, count in reasons.most_common():
        print(f"  explained {count}: {name}")
    if rare:
        print(f"  asked for fewer than {ASKED_TIMES_MIN} times:", rare)
    is_good = (same / COUNT >= 0.98 and not unexplained and len(EXPLAINED) <= 10 and not rare
               and combined / COUNT >= 0.3 and empty / COUNT <= 0.15)
    sys.exit(0 if is_good else 1)


main()
