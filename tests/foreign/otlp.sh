#!/usr/bin/env bash
# OpenTelemetry's metrics with OpenTelemetry's own library for Python.
# Needs curl and python3 with venv; installs the library from PyPI.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

python3 -m venv "$work/venv"
fetched "$work/venv/bin/pip" install --quiet --disable-pip-version-check \
    opentelemetry-sdk==1.45.2 opentelemetry-exporter-otlp-proto-http==1.45.2

# send PATH COMPRESSION: one export of every kind of instrument.
send() {
    timeout 60 "$work/venv/bin/python" - "http://127.0.0.1:$port$1" "$2" <<'PYTHON'
import sys
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource

exporter = OTLPMetricExporter(endpoint=sys.argv[1], compression=Compression(sys.argv[2]))
reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
view = View(instrument_type=Histogram, instrument_name="took.fine",
            aggregation=ExponentialBucketHistogramAggregation())
resource = Resource({"service.name": "shop", "service.instance.id": "a:1", "host.name": "h1"})
provider = MeterProvider([reader], resource=resource, views=[view])
meter = provider.get_meter("foreign")
meter.create_counter("requests", unit="1").add(3, {"http.route": "/a"})
meter.create_up_down_counter("queue.length").add(-2)
meter.create_observable_gauge("memory.usage", [lambda _: [Observation(1.5, {"kind": "used"})]], unit="By")
for value in (0.2, 0.3, 4.0):
    meter.create_histogram("took", unit="s", explicit_bucket_boundaries_advisory=[0.25, 1]).record(value)
    meter.create_histogram("took.fine", unit="s").record(value)
assert provider.force_flush(), "the export failed"
provider.shutdown()
PYTHON
}

# asked QUERY: labels and value of what it comes to.
asked() {
    curl -sf "http://127.0.0.1:$port/prometheus/api/v1/query" --data-urlencode "query=$1" |
        python3 -c 'import json, sys
for one in json.load(sys.stdin)["data"]["result"]: print(json.dumps(one["metric"]), one["value"][1])'
}

start_foliot
send /v1/metrics gzip
expect "$(asked requests_total)" '"http_route": "/a", "instance": "a:1", "job": "shop"} 3'
expect "$(asked queue_length)" '"job": "shop"} -2'
expect "$(asked 'memory_usage_bytes{kind="used"}')" '1.5'
expect "$(asked 'took_seconds_bucket{le="0.25"}')" '} 1'
expect "$(asked 'took_seconds_bucket{le="+Inf"}')" '} 3'
expect "$(asked took_seconds_count)" '} 3'
expect "$(asked 'round(took_seconds_sum, 0.1)')" '} 4.5'
expect "$(asked 'histogram_count(took_fine_seconds)')" '} 3'
expect "$(asked 'round(histogram_sum(took_fine_seconds), 0.1)')" '} 4.5'
expect "$(asked 'target_info')" '"host_name": "h1"'
pass 'every kind of instrument, named as Prometheus names it'

send /opentelemetry/v1/metrics deflate
expect "$(asked '{"requests"}')" '"host.name": "h1", "http.route": "/a", "service.instance.id": "a:1"'
expect "$(asked 'histogram_count({"took.fine"})')" '} 3'
pass 'named as VictoriaMetrics names it'
