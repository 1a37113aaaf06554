#!/usr/bin/env bash
# TSBS' loader and queries for VictoriaMetrics, unmodified, against Foliot and Debian's VictoriaMetrics:
# the same answers. Needs victoria-metrics, curl, python3 and Go; fetches TSBS as a module.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

go_ready
module_of github.com/timescale/tsbs@v0.0.0-20230921131859-37fced794d56 "$work/tsbs"
(cd "$work/tsbs" && go build -o "$work/bin/" ./cmd/tsbs_generate_data ./cmd/tsbs_generate_queries \
    ./cmd/tsbs_load_victoriametrics ./cmd/tsbs_run_queries_victoriametrics) 2>"$work/tsbs.log"

its_port=$(free_port) metricsql_port=$(free_port)
start_foliot --listen-victoriametrics "127.0.0.1:$metricsql_port"
# It moves instants to multiples of the step where it may keep answers.
victoria-metrics -storageDataPath="$work/victoria" -httpListenAddr="127.0.0.1:$its_port" -retentionPeriod=100y \
    -search.latencyOffset=0 -search.disableCache -loggerLevel=ERROR >"$work/victoria.log" 2>&1 &
others+=($!)
wait_for 30 "curl -sf http://127.0.0.1:$its_port/health"

# 20 hosts of ten fields, a sample every 30 s for 13 hours.
span=(--timestamp-start=2016-01-01T00:00:00Z --use-case=cpu-only --seed=1 --scale=20 --format=victoriametrics)
"$work/bin/tsbs_generate_data" "${span[@]}" --timestamp-end=2016-01-01T13:00:00Z --log-interval=30s >"$work/points"
for to in "$metricsql_port" "$its_port"; do
    "$work/bin/tsbs_load_victoriametrics" --urls="http://127.0.0.1:$to/write" --file="$work/points" --workers=2 >"$work/loaded" 2>&1 ||
        fail "$(cat "$work/loaded")"
    expect "$(cat "$work/loaded")" 'loaded 312000 metrics'
done
curl -sf "http://127.0.0.1:$its_port/internal/force_flush"

# answers PORT KIND: those of five questions.
answers() {
    "$work/bin/tsbs_run_queries_victoriametrics" --urls="http://127.0.0.1:$1" --file="$work/questions" --workers=1 --print-responses \
        >"$work/ran" 2>"$work/answers.$1" || fail "$2: $(tail -n 3 "$work/ran" "$work/answers.$1")"
}
# All kinds that TSBS has for VictoriaMetrics.
kinds=({single-groupby-{1-1-1,1-1-12,1-8-1,5-1-1,5-1-12,5-8-1},cpu-max-all-{1,8},double-groupby-{1,5,all}})
for kind in "${kinds[@]}"; do
    "$work/bin/tsbs_generate_queries" "${span[@]}" --timestamp-end=2016-01-01T13:00:01Z --queries=5 --query-type="$kind" \
        >"$work/questions" 2>"$work/questions.log"
    answers "$metricsql_port" "$kind"
    answers "$its_port" "$kind"
    python3 - "$kind" "$work/answers.$metricsql_port" "$work/answers.$its_port" <<'PYTHON'
import json, re, sys

kind, *files = sys.argv[1:]


def answers(file):
    """Each answer: its values by labels and time."""
    text = re.sub(r"^ID \d+: ", "", open(file).read(), flags=re.M)
    read, at, decoder = [], 0, json.JSONDecoder()
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        one, at = decoder.raw_decode(text, at)
        read.append({json.dumps(row["metric"], sort_keys=True): [(at, float(value)) for at, value in row["values"]]
                     for row in one["data"]["result"]})
    return read


ours, theirs = map(answers, files)
if len(ours) != 5 or not all(ours) or [set(one) for one in ours] != [set(one) for one in theirs]:
    sys.exit(f"{kind}: {len(ours)} and {len(theirs)} answers, or other series")
for one, other in zip(ours, theirs):
    for labels, values in one.items():
        near = len(values) == len(other[labels]) and all(
            at == when and abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1) for (at, a), (when, b) in zip(values, other[labels]))
        if not near:
            sys.exit(f"{kind}, {labels}:\nFoliot          {values[:5]}\nVictoriaMetrics {other[labels][:5]}")
PYTHON
done
pass "TSBS: ${#kinds[@]} kinds of questions, the same answers as VictoriaMetrics"
