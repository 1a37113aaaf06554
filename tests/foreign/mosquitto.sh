#!/usr/bin/env bash
# Debian's mosquitto as the broker: messages of every format, those that came while Foliot was down, and an edge node
# of Sparkplug B (pysparkplug, on Tahu's definition) whose birth Foliot did not hear. Needs curl, mosquitto,
# mosquitto_pub and python3 with venv; installs the library from PyPI.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

broker=$(free_port)
printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$broker" > "$work/mosquitto.conf"
mosquitto -c "$work/mosquitto.conf" >"$work/mosquitto.log" 2>&1 &
mosquitto_pid=$!
others+=("$mosquitto_pid")
publish() { mosquitto_pub -h 127.0.0.1 -p "$broker" -q 1 -t "$1" -m "$2"; }
subscribed() { wait_for 10 "grep -q 'connected to the MQTT broker' '$work/foliot.log'"; sleep 0.5; }
flags=(--mqtt-broker "127.0.0.1:$broker" --mqtt-topics 'sensors/#, spBv1.0/#')

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

python3 -m venv "$work/venv"
fetched "$work/venv/bin/pip" install --quiet --disable-pip-version-check pysparkplug==0.6.1
timeout 60 "$work/venv/bin/python" - "$broker" <<'PYTHON'
import sys, threading, time
from pysparkplug import Client, DataType, DBirth, DData, EdgeNode, Message, MessageType, Metric, NBirth, NData, QoS, Topic

SENT = 1_700_002_800_000
TYPES = {"Level": DataType.INT16, "Inlet temperature": DataType.FLOAT, "Running": DataType.BOOLEAN,
         "Batch": DataType.STRING, "Count": DataType.UINT64, "Energy": DataType.DOUBLE}
BORN = {"Level": -7, "Inlet temperature": 21.3, "Running": True, "Batch": "a b", "Count": 2**53 - 1, "Energy": 0.1}
asked = threading.Event()

def publish(kind, payload, types, device=None):
    topic = Topic(message_type=kind, group_id="plant", edge_node_id="line 1", device_id=device)
    client.publish(Message(topic=topic, payload=payload, qos=QoS.AT_MOST_ONCE, retain=False), include_dtypes=types)

def births(_, message):
    if any(metric.name == "Node Control/Rebirth" and metric.value for metric in message.payload.metrics):
        metrics = tuple(Metric(timestamp=SENT, name=name, datatype=TYPES[name], value=BORN[name], alias=alias)
                        for alias, name in enumerate(TYPES))
        publish(MessageType.NBIRTH, NBirth(timestamp=SENT, seq=0, metrics=()), True)
        publish(MessageType.DBIRTH, DBirth(timestamp=SENT, seq=1, metrics=metrics), True, "press")
        asked.set()

def changed(values, time_ms):
    numbers = {name: alias for alias, name in enumerate(TYPES)}
    metrics = tuple(Metric(timestamp=time_ms, name=None, datatype=TYPES[name], value=value, alias=numbers[name])
                    for name, value in values.items())
    publish(MessageType.DDATA, DData(timestamp=time_ms, seq=2, metrics=metrics), False, "press")

client = Client()
node = EdgeNode("plant", "line 1", (), client=client, cmd_callback=births)
node.connect("127.0.0.1", port=int(sys.argv[1]))
time.sleep(1)
changed({"Level": 1}, SENT + 1000)
assert asked.wait(20), "nobody asked for the birth"
changed({"Level": -32768, "Inlet temperature": -0.5, "Running": False}, SENT + 2000)
time.sleep(1)
node.disconnect()
PYTHON
plant() { curl -s --get "http://127.0.0.1:$port/query" -d db=default -d epoch=ms --data-urlencode "q=$1"; }
wait_for 10 "curl -s http://127.0.0.1:$port/metrics | grep -q '^foliot_mqtt_rebirths_total 1'"
expect "$(plant 'SELECT * FROM sparkplug')" \
    '[1700002800000,"a b",9007199254740991,0.1,21.3,-7,true,"press","plant","line 1"],[1700002802000,null,null,null,-0.5,-32768,false,"press","plant","line 1"]]'
pass "pysparkplug 0.6.1"
pass "mosquitto $(mosquitto -h | head -n 1 | grep -oE '[0-9][0-9.]*' | head -n 1)"
