#!/usr/bin/env bash
# Telegraf's outputs, unmodified: for InfluxDB 1 and 2, for OpenTSDB by telnet and by HTTP, for
# Prometheus one that Foliot scrapes and one that writes as Prometheus does. Needs curl, python3 and
# Go; fetches Telegraf as a module and builds what is tried.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

go_ready
module_of github.com/influxdata/telegraf@v1.37.2 "$work/telegraf"
parts=inputs.mem,inputs.cpu,outputs.prometheus_client,outputs.http,serializers.prometheusremotewrite
parts+=,outputs.influxdb,outputs.influxdb_v2,outputs.opentsdb
(cd "$work/telegraf" && go build -tags "custom,$parts" -o "$work/bin/" ./cmd/telegraf) 2>"$work/build.log"

telegraf_port=$(free_port)
cat >"$work/scrape.yml" <<CONFIG
global: {scrape_interval: 1s}
scrape_configs:
- {job_name: telegraf, static_configs: [{targets: ['127.0.0.1:$telegraf_port']}]}
CONFIG
start_foliot --prometheus-config "$work/scrape.yml"
url=http://127.0.0.1:$port

cat >"$work/telegraf.conf" <<CONF
[agent]
  interval = "1s"
  flush_interval = "1s"
  hostname = "stranger"
[[inputs.mem]]
[[inputs.cpu]]
[[outputs.prometheus_client]]
  listen = "127.0.0.1:$telegraf_port"
  metric_version = 2
[[outputs.http]]
  url = "$url/api/v1/write?db=written"
  data_format = "prometheusremotewrite"
  [outputs.http.headers]
    Content-Type = "application/x-protobuf"
    Content-Encoding = "snappy"
    X-Prometheus-Remote-Write-Version = "0.1.0"
[[outputs.influxdb]]
  urls = ["$url"]
  database = "telegraf"
[[outputs.influxdb_v2]]
  urls = ["$url"]
  organization = "any"
  bucket = "second"
[[outputs.opentsdb]]
  prefix = "telnet."
  host = "127.0.0.1"
  port = $port
[[outputs.opentsdb]]
  prefix = "http."
  host = "http://127.0.0.1"
  port = $port
  http_batch_size = 50
  http_path = "/api/put"
CONF
"$work/bin/telegraf" --config "$work/telegraf.conf" >"$work/telegraf.log" 2>&1 &
others+=($!)

# asked DATABASE QUERY: an answer at this instant.
asked() { curl -sf "$url/prometheus/api/v1/query" -d "db=$1" --data-urlencode "query=$2"; }
export -f asked
export url
for from in 'default {job="telegraf",host="stranger"' 'written {host="stranger"'; do
    read -r database labels <<<"$from"
    wait_for 30 "asked $database 'count_over_time(mem_total$labels}[1m]) > 2' | grep -q '\"value\"'"
    wait_for 30 "asked $database 'cpu_usage_idle$labels,cpu=\"cpu-total\"}' | grep -q '\"value\"'"
done

# counted DATABASE STATEMENT: what InfluxQL counts of it.
counted() { curl -sfG "$url/query?db=$1" --data-urlencode "q=$2" | python3 -c 'import json, sys
series = json.load(sys.stdin)["results"][0].get("series") or [{"values": [[0, 0]]}]
print(series[0]["values"][0][1])'; }
export -f counted
for database in telegraf second; do
    wait_for 30 "test \"\$(counted $database 'SELECT count(total) FROM mem WHERE host = '\\''stranger'\\')\" -gt 2"
    wait_for 30 "test \"\$(counted $database 'SELECT count(usage_idle) FROM cpu WHERE cpu = '\\''cpu-total'\\')\" -gt 2"
done
for prefix in telnet http; do
    wait_for 30 "curl -sfg '$url/api/query?start=1m-ago&m=sum:10s-count:$prefix.mem_total{host=stranger}' | grep -q '\"dps\":{\"'"
done
expect_empty "$(grep 'E!' "$work/telegraf.log" || true)"
pass 'Telegraf 1.37.2: for InfluxDB 1 and 2, for OpenTSDB by telnet and HTTP, scraped, and by remote write'
