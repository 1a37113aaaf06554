#!/usr/bin/env bash
# A real browser opens the page at / and finds this machine's series drawn, with nothing fetched from
# anywhere else and nothing complained about. Needs curl, python3, chromium and chromedriver.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

start_foliot --set agent.host=true --set agent.interval=1s
# A label as hostile as a client can make it must end up as text.
curl -s "http://127.0.0.1:$port/write?db=default" --data-binary \
    'df.bytes,mount=/<img\ src\=x\ onerror\=document.title\=1> total=5,used=1'
# The page draws ten-second means: two of them make a line.
sleep 21
driver_port=$(free_port)
chromedriver --port="$driver_port" >"$work/chromedriver.log" 2>&1 &
driver_pid=$!
python3 - "$port" "$driver_port" "$work" <<'PYTHON' || { kill "$driver_pid"; fail 'the page is not as it should be'; }
import base64, json, sys, time, urllib.request
port, driver_port, work = sys.argv[1:]

def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    url = f"http://127.0.0.1:{driver_port}{path}"
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    return json.load(urllib.request.urlopen(request, timeout=60))["value"]

for _ in range(100):
    try:
        call("GET", "/status")
        break
    except OSError:
        time.sleep(0.1)
flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={work}/profile", "--window-size=1200,1400"]
session = call("POST", "/session", {"capabilities": {"alwaysMatch": {
    "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
    "goog:chromeOptions": {"args": flags}}}})["sessionId"]
root = f"/session/{session}"
run = lambda script: call("POST", f"{root}/execute/sync", {"script": script, "args": []})
try:
    call("POST", f"{root}/url", {"url": f"http://127.0.0.1:{port}/"})
    for _ in range(50):
        lines = run("return document.querySelectorAll('svg polyline').length")
        if lines >= 5:
            break
        time.sleep(0.2)
    assert lines >= 5, f"only {lines} lines drawn"
    hosts = run("return performance.getEntriesByType('resource').map(e => new URL(e.name).host)")
    assert set(hosts) == {f"127.0.0.1:{port}"}, hosts
    title = run("return document.title")
    assert title.startswith("Foliot"), title
    assert run("return document.querySelectorAll('img').length") == 0
    log = [entry["message"] for entry in call("POST", f"{root}/se/log", {"type": "browser"})]
    assert not log, log
    print(f"{lines} lines drawn")
finally:
    call("DELETE", root)
PYTHON
kill "$driver_pid"
pass 'chromium draws this machine'
