"""How long work goes on after somebody ended it, or after its client left, in milliseconds."""
import json
import socket
import threading
import time
import urllib.parse

from servers import BASIC, TROUBLE

SERIES = 1_000_000
ROUNDS = 20
# How work ends.
KILL, LEAVE, WAIT = range(3)


def works():
    """Kinds of Foliot's work: a name, the method, the path, the body, and what the list shows of it."""
    start, big = 1699999990, "sum:stop.v%7Bhost=*%7D"
    ql = lambda text: "/query?db=default&q=" + urllib.parse.quote(text)
    gap = "time > 1700000005000000000 AND time < 1700000006000000000"
    exp = {"time": {"start": "1700000000", "aggregator": "sum"},
           "filters": [{"id": "f", "tags": [{"type": "wildcard", "tagk": "host", "filter": "*", "groupBy": True}]}],
           "metrics": [{"id": "a", "metric": "stop.v", "filter": "f"}],
           "expressions": [{"id": "e", "expr": "a + a"}], "outputs": [{"id": "e"}]}
    deletion = {"start": "2023-11-14T22:13:25Z", "stop": "2023-11-14T22:13:26Z", "predicate": '_measurement="stop"'}
    return [
        ("SELECT", "POST", ql("SELECT mean(v) FROM stop GROUP BY host"), None, "SELECT mean"),
        ("SHOW SERIES", "POST", ql("SHOW SERIES"), None, "SHOW SERIES"),
        ("SHOW TAG VALUES", "POST", ql("SHOW TAG VALUES WITH KEY = host"), None, "SHOW TAG"),
        ("DELETE", "POST", ql(f"DELETE FROM stop WHERE {gap}"), None, "DELETE FROM"),
        ("EXPLAIN DELETE", "POST", ql(f"EXPLAIN DELETE FROM stop WHERE {gap}"), None, "EXPLAIN DELETE"),
        ("/api/v2/delete", "POST", "/api/v2/delete?bucket=default", deletion, "/api/v2/delete"),
        ("/api/query", "GET", f"/api/query?start={start}&m={big}", None, "sum:stop"),
        ("/api/query/gexp", "GET", f"/api/query/gexp?start={start}&exp=scale({big},2)", None, "scale"),
        ("/api/query/exp", "POST", "/api/query/exp", exp, "a + a"),
        ("/api/suggest", "GET", "/api/suggest?type=tagv&max=1000000", None, "tagv"),
        ("/api/search/lookup", "GET", "/api/search/lookup?m=stop.v&limit=1000000", None, "lookup"),
        ("/api/query/last", "GET", "/api/query/last?timeseries=stop.v", None, "/api/query/last"),
        ("cardinality", "GET", "/api/foliot/v1/cardinality", None, "cardinality"),
        ("/api/uid/rename", "POST", "/api/uid/rename", {"metric": "stop.v", "name": "stopped"}, "/api/uid/rename"),
    ]


def fill(server):
    for first in range(0, SERIES, 20_000):
        lines = "".join(f"stop,host=h{n:06} v={n}.5 1700000000\n" for n in range(first, first + 20_000))
        server.request("POST", "/write?db=default&precision=s", lines.encode(), {"X-Foliot-Ack": "memory"}, 60)


def running(server, shows):
    queries = json.loads(server.request("GET", "/api/foliot/v1/queries")[1])["queries"]
    return next((query["id"] for query in queries if shows in query["text"]), None)


def begin(server, method, path, body):
    text = json.dumps(body).encode() if body else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {BASIC}\r\nContent-Length: {len(text)}\r\n\r\n"
    one = server.connect(patience=30)
    one.sendall(head.encode() + text)
    return one


def stop_ms(server, work, how):
    """Begins work and ends it; how long it goes on then, or nothing when it was done before."""
    _, method, path, body, shows = work
    one = begin(server, method, path, body)
    # Whoever reads nothing holds what streams; what is being worked at is what is measured.
    threading.Thread(target=drain, args=(one,), daemon=True).start()
    deadline, found = time.monotonic() + 2, None
    while found is None and time.monotonic() < deadline:
        found = running(server, shows)
    if found is None:
        return None
    began = time.monotonic()
    if how == KILL:
        server.request("POST", "/api/foliot/v1/queries/cancel", json.dumps({"id": found}))
    elif how == LEAVE:
        one.shutdown(socket.SHUT_RDWR)
    while running(server, shows) is not None:
        if time.monotonic() - began > 60:
            return float("inf")
    return (time.monotonic() - began) * 1000


def drain(one):
    try:
        while one.recv(1 << 20):
            pass
    except TROUBLE:
        pass


def table(server):
    print("\n| work | ended by KILL, ms at most | by its client leaving | left alone, ms at least |\n|---|---|---|---|")
    fill(server)
    for work in works():
        cells = []
        # Left alone last: a rename that is done leaves nothing to rename.
        for how, rounds, pick in ((KILL, ROUNDS, max), (LEAVE, ROUNDS, max), (WAIT, 3, min)):
            took = [stop_ms(server, work, how) for _ in range(rounds)]
            took = [ms for ms in took if ms is not None]
            cells.append(f"{pick(took):.0f} ({len(took)} times)" if took else "done too soon")
        print(f"| {work[0]} | {' | '.join(cells)} |", flush=True)
