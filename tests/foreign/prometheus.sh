#!/usr/bin/env bash
# PromQL beside Debian's Prometheus: the same samples, the same generated expressions; and a
# Prometheus that has Foliot's samples by remote read. Needs prometheus.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$(dirname "$0")

# start_prometheus NAME CONFIGURATION: sets $prometheus_url.
start_prometheus() {
    local its_port
    its_port=$(free_port)
    echo "$2" >"$work/$1.yml"
    prometheus --config.file="$work/$1.yml" --storage.tsdb.path="$work/$1" --storage.tsdb.retention.time=100y \
        --web.listen-address="127.0.0.1:$its_port" --web.enable-remote-write-receiver --log.level=error \
        >"$work/$1.log" 2>&1 &
    others+=($!)
    prometheus_url=http://127.0.0.1:$its_port
    wait_for 30 "curl -sf $prometheus_url/-/ready"
}

start_foliot
foliot_url=http://127.0.0.1:$port
start_prometheus own 'global: {evaluation_interval: 1m}'
own_url=$prometheus_url
start_prometheus reader "{global: {evaluation_interval: 1m}, remote_read: [{url: '$foliot_url/prometheus/api/v1/read', read_recent: true}]}"

python3 "$here/prometheus.py" "$foliot_url" "$own_url" "$prometheus_url" "$@"
pass 'the same expressions, the same answers'
