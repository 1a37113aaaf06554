"""Asks two servers the same OpenTSDB questions and compares what they say.

opentsdb.py FOLIOT_URL OPENTSDB_URL [SEED [COUNT [SHOWN]]]

OpenTSDB has to answer once more what testdata/opentsdb-2.4.1 says. Both get the same points; then
questions are generated from a seeded random number generator, and every answer of the one is
compared with the other's: floats within 1e-12 relative, everything else exactly. What may differ,
and why, stands in EXPLAINED. Exits with 1 when a mark is missed.
"""
import collections
import json
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from opentsdb_questions import H, NAMES, REQUIRED, STORED, Generator, histograms, puts
from opentsdb_recorded import FILE, ask_all, wrong_answers

BODIES = puts()

FOLIOT, OPENTSDB = sys.argv[1], sys.argv[2]
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 3000
SHOWN = int(sys.argv[5]) if len(sys.argv) > 5 else 10
ASKED_TIMES_MIN = 15
# More questions without samples in their answers than this would compare too little.
EMPTY_SHARE_MAX = 0.3
UNORDERED = ("aggregateTags", "aggregatedTags", "filterTagKs")


def request(url, path, pairs=(), body=None):
    """The status and the answer: JSON, whose numbers with a fraction are pairs of "float" and text."""
    query = "?" + urllib.parse.urlencode(list(pairs)) if pairs else ""
    data = None if body is None else json.dumps(body).encode()
    try:
        asked = urllib.request.Request(url + path + query, data=data)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    try:
        return status, json.loads(text, parse_float=lambda digits: ("float", digits), object_pairs_hook=members)
    except json.JSONDecodeError:
        return status, text.decode(errors="replace")


def members(pairs):
    """An object; with a list of pairs where a name comes twice, as points of one second do."""
    return dict(pairs) if len(dict(pairs)) == len(pairs) else [list(pair) for pair in pairs]


def is_float(value):
    return isinstance(value, tuple)


def difference(a, b, path=""):
    """The first difference of two answers: where it is, and what stands there; None if there is none."""
    if is_float(a) and is_float(b):
        x, y = float(a[1]), float(b[1])
        return None if x == y or abs(x - y) <= 1e-12 * max(abs(x), abs(y)) else (path, a, b)
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            only_a, only_b = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
            return f"{path} keys", only_a, only_b
        return next(filter(None, (difference(a[key], b[key], f"{path}/{key}") for key in a)), None)
    if isinstance(a, list) and isinstance(b, list):
        found = next(filter(None, (difference(*pair, f"{path}/{i}") for i, pair in enumerate(zip(a, b)))), None)
        return found or (None if len(a) == len(b) else (f"{path} length", len(a), len(b)))
    return None if type(a) == type(b) and a == b else (path, a, b)


def settled(answer):
    """An answer without what has no order or is a matter of time."""
    if isinstance(answer, list):
        return [settled(each) for each in answer]
    if isinstance(answer, dict):
        if "error" in answer:
            # What follows a colon repeats the question in the server's own way.
            return answer["error"]["message"].split(":")[0]
        if answer.get("type") == "LOOKUP":
            answer["results"].sort(key=lambda result: result["tsuid"])
        return {name: sorted(value) if value and name in UNORDERED else settled(value)
                for name, value in answer.items() if name != "time" or not is_float(value)}
    return answer


def subs(question):
    """The sub-queries of a question as text."""
    path, pairs, body = question
    return [text for name, text in pairs if name in ("m", "tsuid")] + [
        json.dumps(sub) for sub in (body or {}).get("queries", [])]


def pairs_of(series):
    """The points of an answered series as pairs."""
    dps = series["dps"]
    return [list(pair) for pair in (dps.items() if isinstance(dps, dict) else dps)]


def same_but_dps(ours, theirs, differ):
    """Whether answers are the same but for the points of series, of which `differ` tells more."""
    if not (isinstance(ours[1], list) and isinstance(theirs[1], list)) or len(ours[1]) != len(theirs[1]):
        return False
    bare = lambda answer: [{**series, "dps": None} for series in answer[1]]
    return not difference(bare(ours), bare(theirs)) and all(
        differ(pairs_of(a), pairs_of(b)) for a, b in zip(ours[1], theirs[1]))


def made_up_rates(question, ours, theirs):
    same_times = lambda a, b: [time for time, _ in a] == [time for time, _ in b]
    return any("rate" in sub for sub in subs(question)) and same_but_dps(ours, theirs, same_times)


def cut_bucket(question, ours, theirs):
    """Only the last points differ, or only Foliot has them."""
    def last_only(a, b):
        return len(a) - len(b) in (0, 1) and not difference(a[:len(a) - 1], b[:len(a) - 1])
    if not any(re.search(r"[0-9][smhdwny]c-", sub) for sub in subs(question)) or ours[0] != theirs[0]:
        return False
    known = [series["tags"] for series in theirs[1]]
    only_ours = [series for series in ours[1] if series["tags"] not in known]
    both = [ours[0], [series for series in ours[1] if series not in only_ours]]
    return all(len(pairs_of(series)) <= 1 for series in only_ours) and same_but_dps(both, theirs, last_only)


def unnamed_rows(question, ours, theirs):
    """Theirs is the same but for tags that it leaves out."""
    if question[0] != "/api/query/exp" or not ours[0] == theirs[0] == 200:
        return False
    for mine, other in zip(ours[1]["outputs"], theirs[1]["outputs"]):
        for row, other_row in zip(mine.get("meta", []), other.get("meta", [])):
            if other_row.get("commonTags") == {}:
                row["commonTags"] = {}
    return not difference(ours, theirs)


def notes_of_formulas(question, ours, theirs):
    if question[0] != "/api/query/gexp" or not ours[0] == theirs[0] == 200:
        return False
    return not difference(ours[1], [{name: series[name] for name in series if name != "annotations"}
                                    for series in theirs[1]])


def rounded_integers(question, ours, theirs):
    """Integers that binary64 does not hold exactly."""
    def near(a, b):
        return isinstance(a, int) and isinstance(b, int) and abs(a - b) <= max(abs(a), abs(b)) // 10**12
    def rounded(a, b):
        return len(a) == len(b) and all(x[0] == y[0] and (near(x[1], y[1]) or not difference(x, y)) for x, y in zip(a, b))
    return same_but_dps(ours, theirs, rounded)


# Reasons for which answers may differ: what docs/protocols/opentsdb.md says differs on purpose.
EXPLAINED = [
    ("rates of merged series begin with one counted from 1970", made_up_rates),
    ("the last bucket of a calendar lacks what is behind its fixed length", cut_bucket),
    ("rows of a union that lack the first operand have no tags", unnamed_rows),
    ("answers of formulas carry annotations", notes_of_formulas),
    ("percentiles and deviations of large integers go through binary64", rounded_integers),
]


def explained(question, ours, theirs):
    return next((name for name, applies in EXPLAINED if applies(question, ours, theirs)), None)


def fill_in(url):
    assert request(url, "/api/uid/assign", [], NAMES)[0] in (200, 400), url
    for body in BODIES:
        status, answer = request(url, "/api/put?details", [], body)
        assert (status, answer["failed"]) == (200, 0), (url, status, answer)
    for body in histograms():
        status, answer = request(url, "/api/histogram", [], body)
        assert status == 204, (url, status, answer)


def tsuids_of(url):
    """The TSUIDs of every metric, in the order of its series. OpenTSDB writes them within seconds."""
    end = time.monotonic() + 20
    while True:
        try:
            return listed_tsuids(url)
        except KeyError:
            assert time.monotonic() < end, url
            time.sleep(0.5)


def listed_tsuids(url):
    found = {}
    for metric, series in STORED.items():
        status, answer = request(url, "/api/search/lookup", [("m", metric), ("limit", 100)])
        known = {json.dumps(each["tags"], sort_keys=True): each["tsuid"] for each in answer["results"]}
        found[metric] = [known[json.dumps(tags, sort_keys=True)] for tags, _ in series]
    return found


def is_empty(answer):
    status, value = answer
    series = value if isinstance(value, list) else []
    return status != 200 or not any(each.get("dps") for each in series if isinstance(each, dict))


def main():
    # Asked of both, so that both give the same numbers to the names that follow.
    recorded = json.loads(FILE.read_text())
    for _ in ask_all(FOLIOT, recorded):
        pass
    kept_wrong = wrong_answers(OPENTSDB)
    print(f"{len(recorded['cases'])} recorded answers, {kept_wrong} differ")
    for url in (FOLIOT, OPENTSDB):
        fill_in(url)
    tsuids = tsuids_of(OPENTSDB)
    assert tsuids_of(FOLIOT) == tsuids, (tsuids_of(FOLIOT), tsuids)
    for url in (FOLIOT, OPENTSDB):
        for note in [{"startTime": H + 60, "description": "of all"},
                     {"startTime": H + 90, "tsuid": tsuids["q.ints"][0], "description": "of one", "notes": "n"}]:
            status, answer = request(url, "/api/annotation", [], note)
            assert status == 200, (url, status, answer)
    generator = Generator(SEED, tsuids)
    features, reasons = collections.Counter(), collections.Counter()
    asked = empty = same = 0
    unexplained = []
    while asked < COUNT:
        question = generator.question()
        asked += 1
        features.update(generator.used)
        ours, theirs = request(FOLIOT, *question), request(OPENTSDB, *question)
        ours, theirs = settled(list(ours)), settled(list(theirs))
        empty += is_empty(theirs) and question[0] == "/api/query"
        differs = difference(ours, theirs)
        if not differs:
            same += 1
        elif reason := explained(question, ours, theirs):
            reasons[reason] += 1
        else:
            unexplained.append((question, differs))
    for question, (path, ours, theirs) in unexplained[:SHOWN]:
        print("> ", json.dumps(question))
        print(f"   at {path}\n     foliot: {json.dumps(ours)[:500]}\n   opentsdb: {json.dumps(theirs)[:500]}")
    rare = {name: features[name] for name in REQUIRED if features[name] < ASKED_TIMES_MIN}
    print(f"{COUNT} questions (seed {SEED}), {same} equal ({same / COUNT:.2%}), "
          f"{sum(reasons.values())} explained, {len(unexplained)} not; {empty / COUNT:.1%} empty or errors; "
          f"{len(REQUIRED)} features, each asked for {min(features[n] for n in REQUIRED)} times or more")
    for name, count in reasons.most_common():
        print(f"  explained {count}: {name}")
    if rare:
        print(f"  asked for fewer than {ASKED_TIMES_MIN} times:", rare)
    is_empty_often = empty / COUNT > EMPTY_SHARE_MAX
    if is_empty_often:
        print(f"  more than {EMPTY_SHARE_MAX:.0%} of the answers have no samples")
    is_good = not (unexplained or rare or kept_wrong or is_empty_often)
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
