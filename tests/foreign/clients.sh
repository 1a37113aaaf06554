#!/usr/bin/env bash
# Strangers' client libraries, unmodified, write through their own code; what they wrote is asked back.
# Needs curl and python3 with venv; installs the libraries from PyPI.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

python3 -m venv "$work/venv"
fetched "$work/venv/bin/pip" install --quiet --disable-pip-version-check \
    influxdb==5.3.2 influxdb-client==1.49.0 potsdb==1.0.3
start_foliot

"$work/venv/bin/python" - "$port" <<'PYTHON'
import sys, time
port = int(sys.argv[1])
now = int(time.time())

# InfluxDB's library for version 1: line protocol over /write.
from influxdb import InfluxDBClient
v1 = InfluxDBClient("127.0.0.1", port, database="default")
points = [
    {"measurement": "v1", "tags": {"host": f"h {i % 3}"}, "time": (now - 600 + i) * 10**9,
     "fields": {"load": i / 4, "count": i, "up": True, "note": 'a "quoted" word'}}
    for i in range(600)
]
assert v1.write_points(points, batch_size=100)

# InfluxDB's library for version 2: gzip, batches, bucket and org.
from influxdb_client import InfluxDBClient as V2, Point, WritePrecision
from influxdb_client.client.write_api import SYNCHRONOUS
with V2(f"http://127.0.0.1:{port}", token="any", org="any", enable_gzip=True) as v2:
    write = v2.write_api(write_options=SYNCHRONOUS)
    write.write("default", record=[
        Point("v2").tag("host", "h").field("load", 0.5 * i).time(now - 600 + i, WritePrecision.S)
        for i in range(600)])

# A client of OpenTSDB's telnet interface.
import potsdb
telnet = potsdb.Client("127.0.0.1", port=port, check_host=False)
for i in range(600):
    telnet.send("potsdb.metric", i, host="h", timestamp=now - 600 + i)
telnet.wait()
PYTHON

count() { curl -sg "http://127.0.0.1:$port/api/query?start=20m-ago&m=sum:0all-count:$1"; }
wait_for 10 "curl -sg 'http://127.0.0.1:$port/api/query?start=20m-ago&m=sum:0all-count:potsdb.metric' | grep -q 600.0"
expect "$(count v1.load)" ':600.0'
expect "$(count v1.count)" ':600.0'
expect "$(count v2.load)" ':600.0'
expect "$(curl -sg "http://127.0.0.1:$port/api/suggest?type=tagv&q=h")" '["h","h 0","h 1","h 2"]'
pass 'influxdb 5.3.2, influxdb-client 1.49.0, potsdb 1.0.3'
