"""What Foliot and Prometheus made of one configuration: FOLIOT PROMETHEUS ALERTMANAGER."""

import json
import sys
import time
import urllib.parse
import urllib.request

foliot, prometheus, manager = sys.argv[1:]


def get(url):
    return json.load(urllib.request.urlopen(url))


def series(base):
    now = time.time()
    asked = urllib.parse.urlencode({"match[]": '{__name__!=""}', "start": now - 60, "end": now})
    return {json.dumps(one, sort_keys=True) for one in get(f"{base}/api/v1/series?{asked}")["data"]}


def without(value, *names):
    return {name: one for name, one in value.items() if name not in names}


def rules(base):
    group = get(f"{base}/api/v1/rules")["data"]["groups"][0]
    times = "lastEvaluation", "evaluationTime"
    rules = [without(rule, *times) for rule in group["rules"]]
    for rule in rules:
        rule["alerts"] = [without(alert, "activeAt") for alert in rule.get("alerts", [])]
    return without(group, *times) | {"rules": rules}


def targets(base):
    # The URL for others names the machine there.
    differs = "lastScrape", "lastScrapeDuration", "globalUrl"
    return [without(one, *differs) for one in get(f"{base}/api/v1/targets")["data"]["activeTargets"]]


def told(region):
    alerts = get(f"{manager}/api/v2/alerts")
    mine = [one for one in alerts if one["labels"]["region"] == region]
    return [(without(one["labels"], "region"), one["annotations"]) for one in mine]


def same(what, one, other):
    if one != other:
        sys.exit(f"{what} differ:\nFoliot     {one}\nPrometheus {other}")


# A device may come or go between two scrapes, so that one look may be between two.
for _ in range(10):
    one, other = series(foliot), series(prometheus)
    if one == other:
        break
    time.sleep(1)
same("series", sorted(one - other), sorted(other - one))
if len(one) < 100:
    sys.exit(f"only {len(one)} series")
same("metadata", *(get(f"{base}/api/v1/metadata")["data"] for base in (foliot, prometheus)))
same("targets", targets(foliot), targets(prometheus))
same("rules", rules(foliot), rules(prometheus))
same("alerts", told("foliot"), told("prometheus"))
print(f"{len(one)} series")
