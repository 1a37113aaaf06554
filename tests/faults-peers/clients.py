"""The rows in which clients are slow, hostile or gone."""

import collections
import gzip
import os
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from load import Load
from servers import BEGIN_MS, TROUBLE, Influx, Prometheus, snappy, varint


class Canary(threading.Thread):
    """Asks for readiness and a small answer all the time."""

    def __init__(self, peer):
        super().__init__(daemon=True)
        self.peer, self.ends, self.times_s, self.failed = peer, False, [], 0
        self.start()

    def run(self):
        while not self.ends:
            began = time.monotonic()
            try:
                status = self.peer.question(
                    "SELECT v FROM m WHERE s = '1' LIMIT 1" if isinstance(self.peer, Influx) else 'm{s="1"}',
                    patience=10,
                )[0]
                self.failed += status != 200
            except TROUBLE:
                self.failed += 1
            self.times_s.append(time.monotonic() - began)
            time.sleep(0.05)

    def said(self):
        self.ends = True
        self.join(12)
        state = "lived" if self.peer.lives() else "died"
        memory = f", {self.peer.memory_mb()} MB" if self.peer.lives() else ""
        return f"{state}, canary {len(self.times_s) - self.failed} of {len(self.times_s)}, slowest {max(self.times_s, default=0):.2f} s{memory}"


def filled(peer):
    peer.start()
    return Load(peer).run(2)


def begun(peer):
    path = "/api/v1/write" if isinstance(peer, Prometheus) else "/write?db=d"
    return f"POST {path} HTTP/1.1\r\nHost: {peer.host}\r\n".encode()


def connect(peer):
    return socket.create_connection((peer.host, peer.port), timeout=5)


def crawl(peer, seconds):
    """500 connections that send a byte of a head or of a body every second."""
    filled(peer)
    canary, held, until = Canary(peer), [], time.monotonic() + seconds
    for number in range(500):
        try:
            held.append(connect(peer))
            held[-1].sendall(begun(peer) + (b"X: " if number % 2 else b"Content-Length: 100000\r\n\r\n"))
        except OSError:
            break
    closed = set()
    while time.monotonic() < until:
        time.sleep(1)
        for one in held:
            try:
                one.sendall(b"a")
            except OSError:
                closed.add(one)
    [one.close() for one in held]
    return f"{len(held)} opened, {len(closed)} closed by the server in {seconds:.0f} s; {canary.said()}"


def vanish(peer, seconds):
    """Clients go in the middle of a body, with a reset, and in the middle of an answer; nothing of theirs may stay."""
    filled(peer)
    canary, cut, until = Canary(peer), 0, time.monotonic() + seconds / 2
    count = lambda: len(os.listdir(f"/proc/{peer.process.pid}/fd"))
    before = count()
    question = "SELECT v FROM m GROUP BY s" if isinstance(peer, Influx) else "m[1h]"
    path = "/query?db=d&q=" if isinstance(peer, Influx) else "/api/v1/query?query="
    while time.monotonic() < until:
        with connect(peer) as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            body = b"m,s=9 v=1 %d\n" % (BEGIN_MS + 1) * 20
            ask = f"GET {path}{urllib.parse.quote(question)} HTTP/1.1\r\nHost: {peer.host}\r\n\r\n".encode()
            one.sendall(ask if cut % 2 else begun(peer) + b"Content-Length: 100000\r\n\r\n" + body)
            time.sleep(0.002)
        cut += 1
    said = canary.said()
    time.sleep(2)
    return f"{cut} cut; {said}; {max(0, count() - before)} descriptors more" if peer.lives() else said


def giant(peer, seconds):
    """A body said to be of 10 GB, a line of 100 MB, a name of 1 MB, a question of 20 MB."""
    filled(peer)
    canary, said = Canary(peer), []
    with connect(peer) as one:
        one.settimeout(seconds / 6)
        try:
            one.sendall(begun(peer) + b"Content-Length: 10000000000\r\n\r\n")
            for _ in range(200):
                one.sendall(b"a" * (1 << 20))
            said.append("10 GB: 200 MB taken, no answer yet")
        except OSError:
            said.append("10 GB: closed")
        try:
            said[-1] = "10 GB: " + one.recv(100).split(b"\r")[0].decode()[9:30]
        except OSError:
            pass
    tries = [
        ("line of 100 MB", "POST", None, b"m,s=1 v=1,x=" + b"1" * (100 << 20)),
        ("name of 1 MB", "POST", None, b"m,s=1 " + b"v" * (1 << 20) + b"=1 1\n"),
        (
            "question of 20 MB",
            "ask",
            "/query?db=d" if isinstance(peer, Influx) else "/api/v1/query",
            b"q=SELECT" + b"+v" * (10 << 20),
        ),
    ]
    for name, _, path, body in tries:
        if isinstance(peer, Prometheus) and not path:
            body = snappy(b"\x0a" + varint(len(body)) + body)
        headers = (
            {"Content-Type": "application/x-www-form-urlencoded"}
            if path
            else {"Content-Encoding": "snappy"} if isinstance(peer, Prometheus) else {}
        )
        try:
            if path and not isinstance(peer, Influx):
                body = b"query=" + b"m%2B" * (5 << 20) + b"m"
            status = peer.ask("POST", path or begun(peer).split()[1].decode(), body, headers, patience=15)[0]
        except TROUBLE:
            status = "closed"
        said.append(f"{name}: {status}")
    return ", ".join(said) + "; " + canary.said()


def bombs(peer, seconds):
    """512 MB packed by gzip, a block of snappy that says 4 GB, and one that says 1 GB and has 64 MB of copies; 8 at once."""
    filled(peer)
    canary, counts = Canary(peer), collections.Counter()
    copies = varint(1 << 30) + b"\x00a" + b"\xfe\x01\x00" * (1 << 20)
    path = begun(peer).split()[1].decode()
    remote = not isinstance(peer, Influx)
    packed = (
        [("snappy", "/api/v1/write", varint((1 << 32) - 1) + b"\x00a"), ("snappy copies", "/api/v1/write", copies)]
        if remote
        else []
    )
    if not isinstance(peer, Prometheus):
        packed.append(("gzip", path, gzip.compress(b"m,s=1 v=1 1\n" * (44 << 20), 1)))
    begin_mb = peer.memory_mb()

    def send(name, path, body):
        try:
            status = peer.ask("POST", path, body, {"Content-Encoding": name.split()[0]}, patience=25)[0]
        except TROUBLE:
            status = "no answer"
        counts[f"{name}: {status}"] += 1

    for bomb in packed:
        threads = [threading.Thread(target=send, args=bomb) for _ in range(8)]
        [one.start() for one in threads]
        [one.join() for one in threads]
    return ", ".join(f"{count} x {what}" for what, count in counts.items()) + f"; {canary.said()}, {begin_mb} MB before"


def malformed(peer, seconds):
    """Seeded changes of a good write and of random heads."""
    filled(peer)
    dice, counts, until = random.Random(7), collections.Counter(), time.monotonic() + seconds
    good = b'm,s=1 v=1,w="a",x=3i,y=true 1700000000000\n' * 3
    if isinstance(peer, Prometheus):
        good = snappy(b"\x0a\x21\x0a\x0d\x0a\x08__name__\x12\x01m\x0a\x06\x0a\x01s\x12\x011\x12\x08\x09abcdefgh")
    while time.monotonic() < until and peer.lives():
        body = bytearray(good)
        for _ in range(dice.randrange(1, 6)):
            body[dice.randrange(len(body))] = dice.randrange(256)
        body = bytes(body[: dice.randrange(1, len(body) + 1)])
        headers = (
            {"Content-Encoding": "snappy"}
            if isinstance(peer, Prometheus)
            else {"Content-Encoding": "gzip"} if dice.random() < 0.1 else {}
        )
        try:
            counts[f"{peer.ask('POST', begun(peer).split()[1].decode(), body, headers, patience=5)[0] // 100}xx"] += 1
            if dice.random() < 0.2:
                with connect(peer) as one:
                    one.sendall(dice.randbytes(dice.randrange(1, 500)))
        except TROUBLE:
            counts["no answer"] += 1
    panics = sum("panic" in line.lower() for line in peer.complaints())
    answered = ", ".join(f"{count} x {what}" for what, count in sorted(counts.items()))
    return f"{answered}; {'lived' if peer.lives() else 'died'}, {panics} panics in the log"


HOSTILE = {
    True: [
        "SELECT mean(v) FROM m WHERE time > 0 AND time < {now} GROUP BY time(1ms) fill(0)",
        "SELECT v FROM /.*/",
        "SELECT * FROM m ORDER BY time DESC",
        "SELECT percentile(v, 99.9) FROM m GROUP BY time(1ns), *",
        "SELECT count(distinct(v)) FROM m",
        "SELECT " + "(" * 20000 + "v" + ")" * 20000 + " FROM m",
        "SELECT v FROM " + "(SELECT v FROM " * 2000 + "m" + ")" * 2000,
        "SELECT top(v, 1000000) FROM m",
        "SELECT v FROM m WHERE " + " OR ".join(f"s = '{n}'" for n in range(10000)),
        "SELECT derivative(mean(v), 1ns) FROM m WHERE time > 0 GROUP BY time(1s) fill(linear)",
        "SELECT holt_winters(mean(v), 1000000, 4) FROM m WHERE time > 0 GROUP BY time(1s)",
    ],
    False: [
        "m[99999999999999999999y]",
        '{__name__=~".+"}',
        "sum_over_time(m[1000y:1ms])",
        "sum_over_time(sum_over_time(m[1h:1s])[1d:1s])",
        "-" * 20000 + "1",
        "(" * 20000 + "1" + ")" * 20000,
        'count_values("x", m)',
        "m * on(s) group_left m",
        "quantile_over_time(0.9, m[100y])",
        "sort(m or m offset 1y)",
        'label_replace(m, "a", "$1", "s", "(.*)*(.*)*")',
        "rate(m[1h]) " + "+ m" * 5000,
        "topk(1e18, m)",
        "m @ 1e300",
        "predict_linear(m[1y:1s], 1e18)",
    ],
}
PATTERNS = [
    "(a+)+$",
    "(x{{1000}}){{1000}}".replace("{{", "{").replace("}}", "}"),
    "(.*)*(.*)*(.*)*x",
    "|".join(f"a{n}" for n in range(50000)),
    "\\p{L}{500}\\p{N}{500}",
    "(?:(?:(?:a?){50}){50}){50}",
    "(" * 5000 + "a" + ")" * 5000,
    ".{1000}" * 50,
    "[",
    "(?i)" + "é" * 10000,
]


def asked(peer, questions, seconds):
    filled(peer)
    canary, counts, slowest_s, deaths = Canary(peer), collections.Counter(), 0.0, []
    for question in questions:
        began = time.monotonic()
        try:
            status = str(peer.question(question, patience=seconds / 3)[0])
        except TROUBLE as trouble:
            status = "no answer" if isinstance(trouble, TimeoutError) else "closed"
        counts[status] += 1
        slowest_s = max(slowest_s, time.monotonic() - began)
        if not peer.lives():
            deaths.append(question[:40])
            peer.start()
    died = f"died {len(deaths)} times, of {deaths[0]}; " if deaths else ""
    return (
        died
        + ", ".join(f"{count} x {what}" for what, count in sorted(counts.items()))
        + f", slowest {slowest_s:.1f} s; {canary.said()}"
    )


def queries(peer, seconds):
    return asked(
        peer, [text.replace("{now}", f"{time.time_ns()}") for text in HOSTILE[isinstance(peer, Influx)]], seconds
    )


def patterns(peer, seconds):
    form = "SELECT v FROM m WHERE s =~ /{}/" if isinstance(peer, Influx) else 'm{{s=~"{}"}}'
    escaped = [text if isinstance(peer, Influx) else text.replace("\\", "\\\\") for text in PATTERNS]
    return asked(peer, [form.format(text) for text in escaped], seconds)


def halves(peer, seconds):
    """Connections whose other end is gone without a word: a namespace whose link goes down. Waited for: 150 s."""
    name, other = f"f{os.getpid() % 100000}a", f"f{os.getpid() % 100000}b"
    net = f"10.213.{os.getpid() % 250}"
    peer.host = f"{net}.1"
    for words in (
        f"ip netns add {name}",
        f"ip link add {name} type veth peer name {other} netns {name}",
        f"ip addr add {net}.1/30 dev {name}",
        f"ip link set {name} up",
        f"ip -n {name} addr add {net}.2/30 dev {other}",
        f"ip -n {name} link set {other} up",
    ):
        subprocess.run(words.split(), check=True)
    try:
        if not peer.start():
            return f"does not start: {peer.last_words()}"
        Load(peer).run(2)
        question = (
            "/query?db=d&q=" + urllib.parse.quote("SELECT v FROM m GROUP BY s")
            if isinstance(peer, Influx)
            else "/api/v1/query?query=m%5B1h%5D"
        )
        kinds = [
            b"",
            begun(peer) + b"Content-Length: 100000\r\n\r\nm",
            f"GET /ping HTTP/1.1\r\nHost: {peer.host}\r\n\r\n".encode(),
            f"GET {question} HTTP/1.1\r\nHost: {peer.host}\r\n\r\n".encode(),
        ]
        code = (
            f"import socket,time\nkept=[]\nfor n in range(200):\n one=socket.create_connection(('{peer.host}',{peer.port}))\n one.sendall({kinds!r}[n%4] or b'GET')\n kept.append(one)\n"
            "print('ready',flush=True)\ntime.sleep(600)"
        )
        client = subprocess.Popen(["ip", "netns", "exec", name, sys.executable, "-c", code], stdout=subprocess.PIPE)
        client.stdout.readline()
        time.sleep(1)
        subprocess.run(["ip", "-n", name, "link", "set", other, "down"], check=True)
        client.kill()
        client.wait()
        began, said, left = time.monotonic(), [], 200
        while time.monotonic() - began < max(seconds, 150) and left:
            out = subprocess.run(
                ["ss", "-Htn", "state", "established", f"( sport = :{peer.port} )", "and", "dst", f"{net}.2"],
                capture_output=True,
                text=True,
            ).stdout
            if len(out.splitlines()) != left:
                left = len(out.splitlines())
                said.append(f"{left} after {time.monotonic() - began:.0f} s")
            time.sleep(1)
        return (
            "200 half-open connections: "
            + (", ".join(said[-6:]) or f"200 after {time.monotonic() - began:.0f} s")
            + f"; {'lived' if peer.lives() else 'died'}"
        )
    finally:
        peer.kill()
        subprocess.run(["ip", "link", "del", name], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "del", name], check=True)


CLIENT_ROWS = (crawl, vanish, giant, bombs, malformed, queries, patterns, halves)
