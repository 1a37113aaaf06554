#!/usr/bin/env bash
# What stands around Prometheus and VictoriaMetrics: their tools, agents and libraries, unmodified.
# Needs prometheus (for promtool), victoria-metrics (for vmagent and vmctl), collectd, curl and python3
# with venv; installs the libraries from PyPI.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

collectd_port=$(free_port) agent_port=$(free_port) its_port=$(free_port) prometheus_port=$(free_port)
cat >"$work/scrape.yml" <<CONFIG
global: {scrape_interval: 1s}
scrape_configs:
- {job_name: collectd, static_configs: [{targets: ['127.0.0.1:$collectd_port']}]}
CONFIG
start_foliot --prometheus-config "$work/scrape.yml" --listen-prometheus "127.0.0.1:$prometheus_port"
url=http://127.0.0.1:$port

# asked QUERY: an answer at this instant.
asked() { curl -sf "$url/prometheus/api/v1/query" --data-urlencode "query=$1"; }
export -f asked
export url

# collectd exposes, Foliot scrapes.
cat >"$work/collectd.conf" <<CONF
BaseDir "$work"
PIDFile "$work/collectd.pid"
Hostname "stranger"
Interval 1
LoadPlugin load
LoadPlugin write_prometheus
<Plugin write_prometheus>
  Host "127.0.0.1"
  Port "$collectd_port"
</Plugin>
CONF
collectd -f -C "$work/collectd.conf" >"$work/collectd.log" 2>&1 &
others+=($!)
wait_for 30 "asked 'collectd_load_shortterm{exported_instance=\"stranger\"}' | grep -q '\"value\"'"
pass 'collectd by write_prometheus, scraped'

# vmagent scrapes Foliot and writes to it, packed by zstd.
cat >"$work/agent.yml" <<CONFIG
global: {scrape_interval: 1s}
scrape_configs:
- {job_name: agent, static_configs: [{targets: ['127.0.0.1:$port']}]}
CONFIG
vmagent -promscrape.config="$work/agent.yml" -remoteWrite.url="$url/api/v1/write" -remoteWrite.tmpDataPath="$work/agent" \
    -httpListenAddr="127.0.0.1:$agent_port" >"$work/agent.log" 2>&1 &
others+=($!)
wait_for 30 "asked 'foliot_rows_total{job=\"agent\"}' | grep -q '\"value\"'"
expect "$(curl -sf "http://127.0.0.1:$agent_port/metrics" | grep 'vmagent_remotewrite_requests_total.*status_code="2XX"')" '2XX'
pass 'vmagent'

# vmctl brings the blocks of a Prometheus and what VictoriaMetrics has.
python3 - "$work" <<'PYTHON'
import sys
with open(sys.argv[1] + "/moved.txt", "w") as out:
    out.write("# TYPE moved counter\n")
    for step in range(240):
        out.write(f'moved_total{{host="a"}} {step * 2} {1700000000 + step * 15}\n')
    out.write("# EOF\n")
PYTHON
mkdir -p "$work/blocks/snapshots"
promtool tsdb create-blocks-from openmetrics "$work/moved.txt" "$work/blocks/snapshots/one" >"$work/promtool.log" 2>&1
# It draws a bar of progress, for which it wants a terminal; `script` ends with its input. Now and then it
# says that it has finished before it has sent anything.
move() {
    script -qec "vmctl prometheus -s --prom-snapshot=$work/blocks/snapshots/one --vm-addr=$url" /dev/null \
        >"$work/vmctl.log" 2>&1 < <(sleep 15)
    grep -q 'total samples: 240' "$work/vmctl.log"
}
move || move || move || fail 'vmctl sends nothing'
expect "$(curl -sf "$url/prometheus/api/v1/query" -d 'query=count_over_time(moved_total[2h])' -d time=1700003600)" '"240"'
"$foliot" import prometheus "$work/blocks/snapshots/one" --data-dir "$work/imported" >"$work/import.log" 2>&1
expect "$(cat "$work/import.log")" '240 samples stored, 0 refused'
pass 'vmctl prometheus; promtool tsdb create-blocks-from'

# promtool asks.
told=$(promtool query instant --time=1700003585 "$url/prometheus" 'moved_total')
expect "$told" 'moved_total{host="a"} => 478 @[1700003585]'
expect "$(promtool query range --start=1700000000 --end=1700003585 --step=15m "$url/prometheus" 'rate(moved_total[5m])')" '0.13333'
expect "$(promtool query series --match='moved_total' --start=1700000000 --end=1700003585 "$url/prometheus")" 'host="a"'
expect "$(promtool query labels --start=1700000000 --end=1700003585 "$url/prometheus" host)" 'a'
curl -sf "$url/metrics" | promtool check metrics >"$work/linted" 2>&1 || true
case $(cat "$work/linted") in *error*) fail "promtool check metrics: $(cat "$work/linted")" ;; esac
pass 'promtool'

# Libraries for Python: one that asks, and Prometheus' own, which pushes as to a Pushgateway.
python3 -m venv "$work/venv"
fetched "$work/venv/bin/pip" install --quiet --disable-pip-version-check \
    prometheus-api-client==0.7.2 prometheus-client==0.23.1
timeout 120 "$work/venv/bin/python" - "$url" "http://127.0.0.1:$prometheus_port" <<'PYTHON'
import sys
from datetime import datetime, timezone

url, prometheus = sys.argv[1:]

from prometheus_api_client import PrometheusConnect

asked = PrometheusConnect(url=prometheus, disable_ssl=True)
assert asked.check_prometheus_connection()
assert PrometheusConnect(url=url + "/prometheus", disable_ssl=True).check_prometheus_connection()
assert "moved_total" in asked.all_metrics(params={"start": "1700000000", "end": "1700003600"})
assert asked.get_label_values("host", params={"start": "1700000000", "end": "1700003600"}) == ["a"]
at = lambda seconds: datetime.fromtimestamp(seconds, timezone.utc)
[row] = asked.custom_query("moved_total", params={"time": 1700003585})
assert row["value"][1] == "478", row
[row] = asked.custom_query_range("moved_total", at(1700000000), at(1700003585), "60s")
assert len(row["values"]) == 60, len(row["values"])
[row] = asked.get_metric_range_data("moved_total", start_time=at(1700000000), end_time=at(1700003585))
assert len(row["values"]) == 239, len(row["values"])
[row] = asked.get_current_metric_value("foliot_rows_total", {"job": "agent", "protocol": "remote_write"})
assert float(row["value"][1]) > 0

from prometheus_client import CollectorRegistry, Counter, Gauge, push_to_gateway, pushadd_to_gateway

registry = CollectorRegistry()
Gauge("pushed_bytes", "How much", registry=registry).set(7e9)
Counter("pushed_runs", "How often", ["disk"], registry=registry).labels("a").inc(3)
gateway = url + "/api/v1/import/prometheus"
push_to_gateway(gateway, job="backup", registry=registry, grouping_key={"path": "/var/tmp"})
pushadd_to_gateway(gateway, job="backup", registry=registry)
rows = asked.custom_query("pushed_bytes")
assert sorted(row["metric"].get("path", "") for row in rows) == ["", "/var/tmp"], rows
[row] = asked.custom_query('pushed_runs_total{path=""}')
assert row["metric"] == {"__name__": "pushed_runs_total", "job": "backup", "disk": "a"}, row
PYTHON
pass 'prometheus-api-client 0.7.2; prometheus-client 0.23.1 pushes'

# Graphite's pickle, of all its protocols.
graphite_port=$(free_port)
"$foliot" serve --data-dir "$work/graphite" --listen "127.0.0.1:$its_port" --listen-graphite "127.0.0.1:$graphite_port" \
    >"$work/graphite.out" 2>"$work/graphite.log" &
others+=($!)
wait_for 20 "curl -sf http://127.0.0.1:$its_port/-/ready"
for protocol in 0 1 2 3 4 5; do
    python3 - "$graphite_port" "$protocol" <<'PYTHON'
import pickle, socket, struct, sys
port, protocol = map(int, sys.argv[1:])
points = [(f"pickled.p{protocol};host=h{i % 7}", (1700000000 + i, i / 4)) for i in range(500)]
body = pickle.dumps(points, protocol=protocol)
with socket.create_connection(("127.0.0.1", port)) as wire:
    wire.sendall(struct.pack("!L", len(body)) + body)
PYTHON
done
for protocol in 0 1 2 3 4 5; do
    wait_for 10 "curl -sf http://127.0.0.1:$its_port/prometheus/api/v1/query -d time=1700000500 --data-urlencode 'query=sum(count_over_time({__name__=\"pickled.p$protocol\"}[10m]))' | grep -q '\"500\"'"
done
pass "Python's pickle of protocols 0 to 5"
