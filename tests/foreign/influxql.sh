#!/usr/bin/env bash
# InfluxQL beside Debian's InfluxDB 1.6.7: the same generated statements to both. Needs influxd.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$(dirname "$0")

influx_port=$(free_port)
cat >"$work/influxdb.conf" <<CONF
reporting-disabled = true
bind-address = "127.0.0.1:$(free_port)"
[meta]
  dir = "$work/influx/meta"
[data]
  dir = "$work/influx/data"
  wal-dir = "$work/influx/wal"
  query-log-enabled = false
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:$influx_port"
  log-enabled = false
[logging]
  level = "error"
CONF
influxd run -config "$work/influxdb.conf" >"$work/influxd.log" 2>&1 &
others+=($!)
wait_for 20 "curl -sf http://127.0.0.1:$influx_port/ping -o /dev/null"
start_foliot

python3 "$here/influxql.py" "http://127.0.0.1:$port" "http://127.0.0.1:$influx_port"
pass 'the same statements, the same answers'
