#!/usr/bin/env bash
# Debian's collectd with its write_tsdb plugin, unmodified: doubled blanks, CRLF, never reading.
# Needs curl and collectd.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

start_foliot
cat > "$work/collectd.conf" <<CONF
BaseDir "$work"
PIDFile "$work/collectd.pid"
Hostname "stranger"
Interval 1
LoadPlugin load
LoadPlugin memory
LoadPlugin write_tsdb
<Plugin write_tsdb>
  <Node>
    Host "127.0.0.1"
    Port "$port"
    HostTags "site=test"
  </Node>
</Plugin>
CONF
timeout 12 collectd -f -C "$work/collectd.conf" >"$work/collectd.log" 2>&1 || true
metrics=$(curl -s "http://127.0.0.1:$port/api/suggest?type=metrics&max=100")
expect "$metrics" 'load'
metric=$(printf '%s' "$metrics" | tr -d '[]"' | tr ',' '\n' | grep -m1 load)
answer=$(curl -sg "http://127.0.0.1:$port/api/query?start=5m-ago&m=none:$metric{fqdn=stranger}")
expect "$answer" '"site":"test"'
expect "$answer" '"dps":{"'
pass "collectd $(collectd -h | grep -oE 'collectd [0-9][0-9.]*' | head -n 1)"
