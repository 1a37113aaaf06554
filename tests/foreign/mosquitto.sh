#!/usr/bin/env bash
# Debian's mosquitto as the broker: messages of every format, and those that came while Foliot was down.
# Needs curl, mosquitto and mosquitto_pub.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

broker=$(free_port)
printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$broker" > "$work/mosquitto.conf"
mosquitto -c "$work/mosquitto.conf" >"$work/mosquitto.log" 2>&1 &
mosquitto_pid=$!
trap 'kill "$mosquitto_pid" 2>/dev/null || true; stop_all' EXIT
publish() { mosquitto_pub -h 127.0.0.1 -p "$broker" -q 1 -t "$1" -m "$2"; }
subscribed() { wait_for 10 "grep -q 'connected to the MQTT broker' '$work/foliot.log'"; sleep 0.5; }
flags=(--mqtt-broker "127.0.0.1:$broker" --mqtt-topics 'sensors/#')

start_foliot "${flags[@]}"
subscribed
publish sensors/put "put mq $(date +%s) 1.5 room=a"
publish sensors/line "mq,room=b value=2.5"
publish sensors/json "[{\"metric\":\"mq\",\"timestamp\":$(date +%s),\"value\":3.5,\"tags\":{\"room\":\"c\"}}]"
wait_for 10 "curl -s http://127.0.0.1:$port/metrics | grep -q '^foliot_mqtt_messages_total 3'"
answer=$(curl -sg "http://127.0.0.1:$port/api/query?start=5m-ago&m=none:mq")
for value in 1.5 2.5 3.5; do expect "$answer" "$value"; done

kill "$foliot_pid"; wait "$foliot_pid" 2>/dev/null || true
publish sensors/put "put mq $(date +%s) 4.5 room=d"
start_foliot "${flags[@]}"
subscribed
wait_for 10 "curl -sg 'http://127.0.0.1:$port/api/query?start=5m-ago&m=none:mq{room=d}' | grep -q 4.5"
pass "mosquitto $(mosquitto -h | head -n 1 | grep -oE '[0-9][0-9.]*' | head -n 1)"
