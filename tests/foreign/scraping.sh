#!/usr/bin/env bash
# Foliot and Debian's Prometheus with one configuration: both scrape Debian's node exporter, follow
# the same rules and tell Debian's Alertmanager. Needs prometheus, prometheus-node-exporter,
# prometheus-alertmanager, python3 and curl.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)

node_port=$(free_port) manager_port=$(free_port) prometheus_port=$(free_port)
prometheus-node-exporter --web.listen-address="127.0.0.1:$node_port" >"$work/node.log" 2>&1 &
others+=($!)
echo '{route: {receiver: nobody}, receivers: [{name: nobody}]}' >"$work/manager.yml"
prometheus-alertmanager --config.file="$work/manager.yml" --storage.path="$work/manager" --cluster.listen-address= \
    --web.listen-address="127.0.0.1:$manager_port" >"$work/manager.log" 2>&1 &
others+=($!)

# configuration REGION: what both obey; the label tells their alerts apart.
configuration() {
    cat <<CONFIG
global: {scrape_interval: 1s, evaluation_interval: 1s, external_labels: {region: $1}}
rule_files: [rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ['127.0.0.1:$manager_port']}]}]}
scrape_configs:
- job_name: node
  static_configs: [{targets: ['127.0.0.1:$node_port'], labels: {env: prod}}]
  relabel_configs:
  - {source_labels: [__address__], regex: '(.*):.*', target_label: host, replacement: 'h-\$1'}
  - {source_labels: [__address__], modulus: 8, action: hashmod, target_label: shard}
  metric_relabel_configs:
  - {source_labels: [__name__], regex: 'go_.*', action: drop}
  - {source_labels: [device], regex: '(.+)', target_label: dev, replacement: 'd_\$1'}
CONFIG
}
cat >"$work/rules.yml" <<'RULES'
groups:
- name: g
  rules:
  - {record: 'env:load:max', expr: 'max by (env, shard) (node_load1)', labels: {k: v}}
  - alert: HasMemory
    expr: node_memory_MemTotal_bytes > 1
    for: 2s
    labels: {size: '{{ if gt $value 1e9 }}big{{ else }}small{{ end }}'}
    annotations:
      summary: '{{ $labels.instance }} {{ $value | humanize1024 }}B {{ printf "%.3f" 1.5 }} {{ with query "up" }}{{ . | first | label "job" }}{{ end }}'
RULES
configuration foliot >"$work/foliot.yml"
configuration prometheus >"$work/prometheus.yml"
"$foliot" config check --prometheus "$work/foliot.yml" >"$work/checked"
expect "$(cat "$work/checked")" '1 job, 1 group of rules'

prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/prometheus" --log.level=warn \
    --web.listen-address="127.0.0.1:$prometheus_port" >"$work/prometheus.log" 2>&1 &
others+=($!)
start_foliot --prometheus-config "$work/foliot.yml"
wait_for 60 "curl -sf http://127.0.0.1:$manager_port/api/v2/alerts | grep -q '\"region\":\"foliot\"'"
wait_for 60 "curl -sf http://127.0.0.1:$manager_port/api/v2/alerts | grep -q '\"region\":\"prometheus\"'"
python3 "$here/scraping.py" "http://127.0.0.1:$port/prometheus" "http://127.0.0.1:$prometheus_port" "http://127.0.0.1:$manager_port"
pass 'the same series, metadata, rules and alerts as Prometheus'
