#!/usr/bin/env bash
# Prometheus' own suite for receivers of remote write, unmodified, and its own client of remote read.
# Needs curl, python3 and Go; fetches the suite, which has Prometheus' code with it, as a module.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

go_ready
module_of github.com/prometheus/compliance/remotewrite/receiver@v0.0.0-20260806071727-67b8327a2e93 "$work/suite"
cd "$work/suite"
go test -c -o "$work/receiver" . 2>"$work/suite.log"
mkdir reader && cp "$here/remote_read.go" reader/
# What the suite does not need of that code is looked up as it is built.
go build -mod=mod -o "$work/reader" ./reader 2>>"$work/suite.log"

start_foliot
url=http://127.0.0.1:$port
echo "remote_write: [{name: foliot, url: '$url/api/v1/write'}]" >"$work/receiver.yml"
tests=$("$work/receiver" -test.list . | wc -l)
PROMETHEUS_RW2_COMPLIANCE_CONFIG_FILE=$work/receiver.yml timeout 120 "$work/receiver" -test.v >"$work/receiver.log" 2>&1 ||
    { grep -B12 -- '--- FAIL' "$work/receiver.log" >&2; fail 'the suite of receivers'; }
expect_empty "$(grep -e '--- FAIL' -e '--- SKIP' "$work/receiver.log" || true)"
passed=$(grep -c '^--- PASS' "$work/receiver.log")
[ "$passed" = "$tests" ] && [ "$tests" -ge 39 ] || fail "$passed of $tests tests passed"
pass "the suite for receivers of remote write: $passed of $tests"

# What the suite wrote is there, histograms too, and read the same in chunks and by itself.
now=$(date +%s)
told=$("$work/reader" "$url/prometheus/api/v1/read" $((now - 7200))000 $((now + 7200))000 '.+')
case $told in '0 numbers'*|*' 0 histograms') fail "what was written is not read: $told" ;; esac
python3 - "$url" <<'PYTHON'
import random, sys, urllib.request
drawn = random.Random(1)
values = lambda at: drawn.choice([at, at * 0.1, drawn.random(), float("nan"), float("inf"), -0.0])
lines = [f'awkward{{host="h{host}"}} {values(at)} {1700000000000 + at * 15000 + drawn.randrange(9000)}'
         for host in range(40) for at in range(500)]
body = "\n".join(lines).encode()
urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/api/v1/import/prometheus", body, method="POST"))
PYTHON
expect "$("$work/reader" "$url/prometheus/api/v1/read" 1700000000000 1700010000000 awkward)" '20000 numbers'
pass "Prometheus' client of remote read: $told, and 20000 more, in chunks as by themselves"
