#!/usr/bin/env bash
# MetricsQL beside Debian's VictoriaMetrics, or the program that VICTORIA names: the same samples, the
# same generated expressions. Needs victoria-metrics and curl.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$(dirname "$0")

its_port=$(free_port)
metricsql_port=$(free_port)
start_foliot --listen-victoriametrics "127.0.0.1:$metricsql_port"
victoria_url=http://127.0.0.1:$its_port
"${VICTORIA:-victoria-metrics}" -storageDataPath="$work/victoria" -httpListenAddr="127.0.0.1:$its_port" -retentionPeriod=100y \
    -search.latencyOffset=0 -loggerLevel=ERROR >"$work/victoria.log" 2>&1 &
others+=($!)
wait_for 30 "curl -sf $victoria_url/health"

python3 "$here/metricsql.py" "http://127.0.0.1:$metricsql_port" "$victoria_url" "$@"
pass 'the same expressions of MetricsQL, the same answers'
