"""The newest forms in which metrics come, taken by Foliot and by Prometheus: messages and native
histograms of a target, exemplars, and OpenTelemetry's metrics in JSON.

Usage: forms.py serve PORT MAJOR
       forms.py compare FOLIOT PROMETHEUS

`serve` is a target for a Prometheus of that version: /text in OpenMetrics' text, /messages in messages. `compare` waits until both
have scraped it, sends both the same of OpenTelemetry's where Prometheus takes that (from 3.0 on), and
compares series, values and exemplars.
"""

import http.server
import json
import struct
import sys
import time
import urllib.parse
import urllib.request

from remote_write import message, varint

TEXT = "application/openmetrics-text; version=1.0.0; charset=utf-8"
MESSAGES = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
BEGUN = int(time.time())


def text(is_new):
    """Version 2 refuses a text in which a gauge has an exemplar."""
    of_gauge = f' # {{trace_id="t4"}} 0.5 {BEGUN - 40}' if is_new else ""
    return f"""# TYPE calls counter
calls_total{{path="/a"}} 7 # {{trace_id="t1"}} 1 {BEGUN - 60}.25
calls_created{{path="/a"}} {BEGUN - 600}
# TYPE took_seconds histogram
took_seconds_bucket{{le="0.1"}} 3 # {{trace_id="t2",span_id="s2"}} 0.05 {BEGUN - 50}
took_seconds_bucket{{le="1.0"}} 5 # {{trace_id="t3"}} 0.5
took_seconds_bucket{{le="+Inf"}} 6
took_seconds_sum 4.5
took_seconds_count 6
# TYPE free gauge
free 0.5{of_gauge}
# TYPE size summary
size{{quantile="0.5"}} 3
size_sum 30
size_count 9
# EOF
""".encode()


def number(field, value):
    return bytes([field << 3]) + varint(value & (1 << 64) - 1)


def double(field, value):
    return bytes([field << 3 | 1]) + struct.pack("<d", value)


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def pair(name, value):
    return message(1, message(1, name.encode()) + message(2, value.encode()))


def exemplar(trace, value, seconds=None):
    at = b"" if seconds is None else message(3, number(1, seconds) + number(2, 250_000_000))
    return pair("trace_id", trace) + double(2, value) + at


def family(name, kind, *metrics):
    body = message(1, name.encode()) + message(2, b"what it is") + number(3, kind)
    body += b"".join(message(4, metric) for metric in metrics)
    return varint(len(body)) + body


def span(field, offset, length):
    return message(field, number(1, zigzag(offset)) + number(2, length))


def deltas(field, *values):
    return message(field, b"".join(varint(zigzag(value)) for value in values))


def doubles(field, *values):
    return message(field, struct.pack(f"<{len(values)}d", *values))


def messages(is_new):
    """Version 2.42 knows no exemplars of native histograms, and no counts of them that are no whole numbers."""
    bucket = lambda bound, count, more=b"": message(3, number(1, count) + double(2, bound) + more)
    classic = number(1, 6) + double(2, 4.5) + bucket(0.1, 3, message(3, exemplar("m2", 0.05, BEGUN - 50)))
    classic += bucket(1.0, 5)
    # Schema 2 and 3 below zero; 2 around it; 1, 2, 1 above.
    native = number(1, 9) + double(2, 12.5) + number(5, zigzag(2)) + double(6, 0.001) + number(7, 2)
    native += span(9, -1, 2) + deltas(10, 1, 1) + span(12, 0, 2) + span(12, 3, 1) + deltas(13, 1, 1, -1)
    native += message(16, exemplar("m3", 1.5, BEGUN - 45)) if is_new else b""
    both = classic + number(5, zigzag(0)) + double(6, 0.001) + number(7, 0)
    both += span(12, -3, 1) + span(12, 2, 2) + deltas(13, 3, -1, -1)
    gauge = double(4, 3.5) + double(2, -1) + number(5, zigzag(1)) + double(8, 0.5) + span(12, 2, 2) + doubles(14, 1, 2)
    families = (
        family("m_calls_total", 0, pair("path", "/a") + message(3, double(1, 7) + message(2, exemplar("m1", 1, BEGUN - 60)))),
        family("m_free", 1, message(2, double(1, 0.5))),
        family("m_took_seconds", 4, message(7, classic)),
        family("m_native_seconds", 4, message(7, native)),
        family("m_both_seconds", 4, message(7, both)),
        family("m_size", 2, message(4, number(1, 9) + double(2, 30) + message(3, double(1, 0.5) + double(2, 3)))),
        family("m_any", 3, message(5, double(1, 4))),
    )
    return b"".join(families) + (family("m_waiting", 5, pair("a", "b") + message(7, gauge)) if is_new else b"")


class Target(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_new = int(sys.argv[3]) >= 3
        kind, body = (TEXT, text(is_new)) if self.path == "/text" else (MESSAGES, messages(is_new))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def asked(base, path, **form):
    url = f"{base}/api/v1/{path}?{urllib.parse.urlencode(form, doseq=True)}"
    return json.load(urllib.request.urlopen(url, timeout=30))["data"]


def rounded(value):
    """Numbers to twelve digits: servers calculate bounds of buckets differently."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    try:
        return f"{float(value):.12g}"
    except (TypeError, ValueError):
        return value


def values(base, expression):
    found = {}
    for row in asked(base, "query", query=expression, time=time.time())["result"]:
        is_number = "value" in row
        key = json.dumps(row["metric"], sort_keys=True)
        found[key] = rounded(row["value"][1] if is_number else row["histogram"][1])
    return found


def exemplars(base):
    """Those of each series. One that says no time is of the scrape that showed it."""
    found = {}
    for row in asked(base, "query_exemplars", query='{job=~".+"}', start=BEGUN - 3600, end=time.time() + 60):
        told = []
        for one in row["exemplars"]:
            ids = one["labels"].get("trace_id", "")
            told.append((ids, one["labels"], rounded(one["value"]), None if ids == "t3" else one["timestamp"]))
        found[json.dumps(row["seriesLabels"], sort_keys=True)] = sorted(told, key=str)
    return found


def same(what, one, other):
    if one == other:
        return len(one)
    for key in sorted(set(one) | set(other)):
        if one.get(key) != other.get(key):
            print(f"{key}\n  Foliot     {one.get(key)}\n  Prometheus {other.get(key)}")
    sys.exit(f"{what} differ")


OWN = '{__name__!~"scrape_.*|up",job="%s"}'


def expressions(is_new):
    """Version 2 multiplies no histograms, and goes straight from bound to bound within a bucket, where 3
    goes by powers."""
    yield from (OWN % job for job in ("text", "messages"))
    functions = ["histogram_count(%s)", "histogram_sum(%s)", "sum(%s)"]
    if is_new:
        yield OWN % "forms"
        functions += ["2 * %s", "histogram_quantile(0.3, %s)", "histogram_quantile(0.9, %s)", "histogram_fraction(0, 2, %s)"]
    for name in ("m_native_seconds", "m_both_seconds", "m_waiting"):
        yield from (function % name for function in functions)


def otlp():
    at = str(BEGUN * 1_000_000_000)
    attribute = lambda key, value: {"key": key, "value": {"stringValue": value}}
    point = lambda **more: {"timeUnixNano": at, "attributes": [attribute("http.route", "/a")], **more}
    told = {"timeUnixNano": at, "asDouble": 0.5, "traceId": "01" * 16, "spanId": "ab" * 8}
    total = {"aggregationTemporality": 2, "isMonotonic": True}
    metrics = [
        {"name": "otlp.free", "unit": "By", "gauge": {"dataPoints": [point(asDouble=0.5)]}},
        {"name": "otlp.share", "unit": "1", "gauge": {"dataPoints": [point(asInt="2")]}},
        {"name": "otlp.calls", "unit": "{call}", "sum": {"dataPoints": [point(asInt="7", exemplars=[told])], **total}},
        {"name": "otlp.took", "unit": "s", "histogram": {"aggregationTemporality": 2, "dataPoints": [
            point(count="6", sum=4.5, bucketCounts=["3", "2", "1"], explicitBounds=[0.1, 1], exemplars=[told])]}},
        {"name": "otlp.wide", "unit": "ms", "exponentialHistogram": {"aggregationTemporality": 2, "dataPoints": [
            point(count="9", sum=12.5, scale=2, zeroCount="2",
                  positive={"offset": -1, "bucketCounts": ["1", "2", "0", "1"]},
                  negative={"offset": 0, "bucketCounts": ["3"]})]}},
        {"name": "otlp.size", "summary": {"dataPoints": [
            point(count="9", sum=30, quantileValues=[{"quantile": 0.5, "value": 3}])]}},
    ]
    resource = {"attributes": [attribute("service.name", "forms"), attribute("service.instance.id", "i1"), attribute("host.name", "h")]}
    scope = {"scope": {"name": "lib", "version": "1"}, "metrics": metrics}
    return json.dumps({"resourceMetrics": [{"resource": resource, "scopeMetrics": [scope]}]}).encode()


def compare(foliot, prometheus):
    version = asked(prometheus, "status/buildinfo")["version"]
    both = foliot, prometheus
    is_new = int(version.split(".")[0]) >= 3
    if is_new:
        for base in both:
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{base}/api/v1/otlp/v1/metrics", otlp(), headers)
            assert urllib.request.urlopen(request, timeout=30).status == 200
    end = time.time() + 30
    while any(len(values(base, 'up{job=~"text|messages"} == 1')) < 2 for base in both):
        if time.time() > end:
            told = [asked(base, "targets")["activeTargets"] for base in both]
            sys.exit(f"both were not scraped in 30 s: {[(one['scrapePool'], one['lastError']) for of in told for one in of]}")
        time.sleep(0.5)
    count, asked_of = 0, list(expressions(is_new))
    for expression in asked_of:
        found = [values(base, expression) for base in both]
        count += same(expression, *found)
    told = same("exemplars", *(exemplars(base) for base in both))
    print(f"Prometheus {version}: {count} values of {len(asked_of)} expressions, exemplars of {told} series are the same")


if sys.argv[1] == "serve":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Target).serve_forever()
else:
    compare(*sys.argv[2:])
