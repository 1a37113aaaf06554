#!/usr/bin/env bash
# The InfluxDB door with InfluxDB's own shell and client libraries. Needs influx and python3 with venv;
# installs the libraries from PyPI.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
# The Python client creates continuous queries by GET.
start_foliot --set http.changes_by_get=true

shell() { influx -host 127.0.0.1 -port "$port" -execute "$1" "${@:2}"; }
shell 'CREATE DATABASE shell'
shell 'INSERT m,h=a v=1.5,s="x y" 1000000000' -database shell
expect "$(shell 'SHOW DATABASES')" shell
expect "$(shell 'SELECT * FROM m' -database shell -precision s)" '1    a x y 1.5'
expect "$(shell 'SELECT * FROM m' -database shell -format csv)" 'm,1000000000,a,x y,1.5'
expect "$(shell 'SHOW FIELD KEYS' -database shell)" 'float'
expect "$(shell 'SELECT nosuch(v) FROM m' -database shell 2>&1 || true)" 'undefined function nosuch()'
shell 'DROP DATABASE shell'
pass "the shell: $(influx -version)"

python3 -m venv "$work/venv"
fetched "$work/venv/bin/pip" install --quiet --disable-pip-version-check influxdb==5.3.2 influxdb-client==1.49.0
"$work/venv/bin/python" - "$port" <<'PYTHON'
import sys
from datetime import datetime, timezone
port = int(sys.argv[1])

from influxdb import InfluxDBClient
v1 = InfluxDBClient("127.0.0.1", port, "any", "any", "one")
v1.create_database("one")
assert {"name": "one"} in v1.get_list_database()
v1.create_retention_policy("week", "7d", 1, database="one", default=False)
assert "week" in [policy["name"] for policy in v1.get_list_retention_policies("one")]
points = [{"measurement": "m", "tags": {"h": f"h{i % 3}"}, "time": i * 10**9,
           "fields": {"v": i / 2, "n": i}} for i in range(3000)]
assert v1.write_points(points, batch_size=500)
answer = v1.query("SELECT mean(v), count(n) FROM m WHERE time < 3000s GROUP BY h")
means = {tags["h"]: list(rows) for (_, tags), rows in answer.items()}
assert {tag: rows[0]["count"] for tag, rows in means.items()} == {"h0": 1000, "h1": 1000, "h2": 1000}, means
assert abs(means["h1"][0]["mean"] - 749.5 - 0.25) < 1e-9, means
chunks = list(v1.query("SELECT v FROM m", chunked=True, chunk_size=100).get_points())
assert len(chunks) == 3000 and chunks[-1]["v"] == 1499.5
bound = v1.query("SELECT v FROM m WHERE h = $h LIMIT 1", bind_params={"h": "h2"})
assert list(bound.get_points())[0]["v"] == 1.0
v1.create_user("me", "a long secret")
v1.grant_privilege("read", "one", "me")
assert v1.get_list_privileges("me") == [{"database": "one", "privilege": "READ"}]
v1.create_continuous_query("c", "SELECT mean(v) INTO hourly FROM m GROUP BY time(1h)", "one")
v1.delete_series(measurement="m", tags={"h": "h0"})
assert len(list(v1.query("SELECT v FROM m").get_points())) == 2000
v1.drop_measurement("m")
v1.drop_user("me")
v1.drop_database("one")
assert {"name": "one"} not in v1.get_list_database()

from influxdb_client import BucketRetentionRules, InfluxDBClient as V2, Point, WritePrecision
from influxdb_client.client.write_api import SYNCHRONOUS
with V2(f"http://127.0.0.1:{port}", token="any", org="me", enable_gzip=True) as v2:
    assert v2.ping() and v2.health().status == "pass"
    buckets = v2.buckets_api()
    made = buckets.create_bucket(bucket_name="two", org="me",
                                 retention_rules=BucketRetentionRules(type="expire", every_seconds=10**9))
    assert buckets.find_bucket_by_name("two").id == made.id
    v2.write_api(write_options=SYNCHRONOUS).write("two", record=[
        Point("m").tag("h", f"h{i % 2}").field("v", i).time(10**9 + i, WritePrecision.S) for i in range(100)])
    v2.delete_api().delete(datetime(2000, 1, 1, tzinfo=timezone.utc), datetime(2030, 1, 1, tzinfo=timezone.utc),
                           '_measurement="m" AND h="h1"', bucket="two", org="me")
    left = InfluxDBClient("127.0.0.1", port, database="two").query("SELECT count(v) FROM m")
    assert list(left.get_points())[0]["count"] == 50, left
    buckets.delete_bucket(made)
    assert buckets.find_bucket_by_name("two") is None
PYTHON
pass 'influxdb 5.3.2 and influxdb-client 1.49.0: write, ask, delete, databases, buckets'
