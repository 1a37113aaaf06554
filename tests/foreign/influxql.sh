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

# What InfluxDB has is brought over, and is the same here: all of it, in the same order.
influx_url=http://127.0.0.1:$influx_port foliot_url=http://127.0.0.1:$port
curl -sf "$foliot_url/query" --data-urlencode 'q=DROP DATABASE db0' -o /dev/null
"$foliot" import influx --from "$influx_url" --db db0 --url "$foliot_url" 2>"$work/import.out" || fail "$(cat "$work/import.out")"
expect "$(cat "$work/import.out")" ', 0 refused'
for statement in 'SELECT * FROM /.*/ GROUP BY *' 'SHOW FIELD KEYS' 'SHOW SERIES'; do
    for url in "$foliot_url" "$influx_url"; do
        curl -sf "$url/query?db=db0&epoch=ns" --data-urlencode "q=$statement" | md5sum
    done >"$work/sums"
    [ "$(sort -u "$work/sums" | wc -l)" = 1 ] || fail "after the import: $statement"
done
pass 'import from a running InfluxDB'
