#!/usr/bin/env bash
# PromQL beside Debian's Prometheus: the same samples, the same generated expressions; and a
# Prometheus that has Foliot's samples by remote read. Another scrapes Foliot and sends it what it
# finds; and samples go to Debian's VictoriaMetrics and back. Needs prometheus, victoria-metrics and curl.
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

# What a Prometheus scrapes of Foliot it writes to Foliot, and has it back by federation.
start_prometheus sender "{global: {scrape_interval: 1s}, remote_write: [{url: '$foliot_url/api/v1/write'}], scrape_configs: [
  {job_name: own, static_configs: [{targets: ['127.0.0.1:$port']}]},
  {job_name: federated, metrics_path: /prometheus/federate, honor_labels: true, params: {'match[]': ['foliot_rows_total']},
   static_configs: [{targets: ['127.0.0.1:$port']}]}]}"
asked() { curl -sf "$1/api/v1/query" --data-urlencode "query=$2"; }
export -f asked
wait_for 30 "asked $foliot_url/prometheus 'up{job=\"own\"} == 1' | grep -q '\"value\"'"
wait_for 30 "asked $prometheus_url 'scrape_samples_post_metric_relabeling{job=\"federated\"} > 5' | grep -q '\"value\"'"
expect "$(asked "$prometheus_url" 'count(foliot_rows_total{job="own"})')" '"value"'
pass 'a Prometheus scrapes, sends and federates'

# Lines of JSON to VictoriaMetrics, and back into another database.
its_port=$(free_port)
victoria_url=http://127.0.0.1:$its_port
victoria-metrics -storageDataPath="$work/victoria" -httpListenAddr="127.0.0.1:$its_port" -retentionPeriod=100y \
    -search.latencyOffset=0 -loggerLevel=ERROR >"$work/victoria.log" 2>&1 &
others+=($!)
wait_for 30 "curl -sf $victoria_url/health"
exported() { curl -sf "$1/api/v1/export" -d 'match[]=took_bucket' "${@:2}"; }
exported "$foliot_url" >"$work/there"
curl -sf -X POST -T "$work/there" "$victoria_url/api/v1/import"
curl -sf "$victoria_url/internal/force_flush"
exported "$victoria_url" >"$work/victoria.json"
[ "$(wc -l <"$work/victoria.json")" = 15 ] || fail "$(wc -l <"$work/victoria.json") series at VictoriaMetrics"
curl -sf -X POST -T "$work/victoria.json" "$foliot_url/api/v1/import?db=back"
exported "$foliot_url" -d db=back | sort | cmp - <(sort "$work/there") || fail 'what came back differs'
pass 'to VictoriaMetrics and back'
