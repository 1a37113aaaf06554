"""The servers: how each is started, written to, read and told to delete. Their settings are those they come with."""

import collections
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
import urllib.parse

TROUBLE = (OSError, http.client.HTTPException, ValueError)
BEGIN_MS = int(time.time() * 1000) - 600_000


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def said(*words):
    """What a program that failed said last; nothing when it did what it should."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    lines = (done.stderr + done.stdout).strip().splitlines() or ["nothing said"]
    return lines[-1][-200:] if done.returncode else ""


class Peer:
    """A server in a folder: how it is started, written to, read and told to delete."""

    name, program, ready_path = "", "", "/ready"

    def __init__(self, folder):
        self.folder, self.process, self.host, self.port = folder, None, "127.0.0.1", free_port()
        self.data, self.log = os.path.join(folder, "data"), os.path.join(folder, "log")
        os.makedirs(self.data, exist_ok=True)

    def start(self, wrap=(), patience=30, data=None):
        """True when it answers that it is ready; False when it ended or did not get there."""
        self.port = free_port()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*wrap, *self.command(data or self.data)], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and self.lives():
            try:
                if self.ask("GET", self.ready_path, patience=2)[0] < 300:
                    self.prepare()
                    return True
            except TROUBLE:
                pass
            time.sleep(0.05)
        return False

    def prepare(self):
        pass

    def settle(self):
        """Until what was written can be read."""

    def place(self, copy):
        return ""

    def lives(self):
        return self.process.poll() is None

    def kill(self, number=signal.SIGKILL, patience=30):
        if self.lives():
            self.process.send_signal(number)
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def ask(self, method, path, body=None, headers=None, patience=10, connection=None):
        deadline = time.monotonic() + patience
        one = connection or http.client.HTTPConnection(self.host, self.port, timeout=patience)
        try:
            one.request(method, path, body, headers or {})
            answer, pieces = one.getresponse(), []
            while piece := answer.read1(1 << 20):
                pieces.append(piece)
                if time.monotonic() > deadline:
                    raise TimeoutError("the answer does not end")
            return answer.status, b"".join(pieces)
        finally:
            if not connection:
                one.close()

    def write(self, rows, **more):
        lines = "".join(f"m,s={series} v={number} {instant}\n" for series, instant, number in rows)
        return self.ask("POST", "/write?db=d&precision=ms", lines.encode(), **more)

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next((int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM")), 0)

    def complaints(self):
        words = ("panic", "fatal", "error", "err=", "warn", "cannot", "corrupt", "lock", "skip")
        with open(self.log, errors="replace") as log:
            return [line.strip() for line in log if any(word in line.lower() for word in words)]

    def last_words(self):
        """What it did instead of answering, and what it said last of it."""
        with open(self.log, errors="replace") as log:
            lines = self.complaints() or [line.strip() for line in log if line.strip()] or ["nothing said"]
        return ("hangs: " if self.lives() else "ends: ") + lines[-1][-230:]


class Influx(Peer):
    name, program, ready_path = "InfluxDB", "influxd", "/ping"

    def command(self, data):
        path, self.backup_port = os.path.join(self.folder, "influxdb.conf"), free_port()
        with open(path, "w") as conf:
            conf.write(
                f'reporting-disabled = true\nbind-address = "127.0.0.1:{self.backup_port}"\n[meta]\ndir = "{data}/meta"\n'
                f'[data]\ndir = "{data}/data"\nwal-dir = "{data}/wal"\nquery-log-enabled = false\n[monitor]\nstore-enabled = false\n'
                f'[http]\nbind-address = "{self.host}:{self.port}"\nlog-enabled = false\n'
            )
        return [self.program, "run", "-config", path]

    def prepare(self):
        self.ask("POST", "/query?q=" + urllib.parse.quote("CREATE DATABASE d"))

    def question(self, text, patience=60):
        return self.ask("POST", "/query?db=d&epoch=ms&q=" + urllib.parse.quote(text), patience=patience)

    def read(self):
        status, text = self.question("SELECT v FROM m GROUP BY s")
        if status != 200:
            raise OSError(f"read: {status} {text[:100]}")
        result = json.loads(text)["results"][0]
        if "error" in result:
            raise OSError(result["error"])
        return {int(one["tags"]["s"]): dict(map(tuple, one["values"])) for one in result.get("series", [])}

    def delete(self, series):
        return self.question(f"DROP SERIES FROM m WHERE s = '{series}'")[0]

    def back_up(self, into):
        """Why there is no backup; nothing when there is one. Then `restore` makes a server of it."""
        return said(self.program, "backup", "-portable", "-host", f"127.0.0.1:{self.backup_port}", into)

    def restore(self, copy):
        # A server that runs takes it in, if it has no database of that name.
        self.question("DROP DATABASE d")
        wrong = said(self.program, "restore", "-portable", "-host", f"127.0.0.1:{self.backup_port}", "-db", "d", copy)
        # What it took in is not there at once.
        deadline = time.monotonic() + 10
        while not wrong and not self.read() and time.monotonic() < deadline:
            time.sleep(0.2)
        return wrong


class Foliot(Influx):
    name, program, ready_path = "Foliot", os.environ.get("TESTED_BINARY", "foliot"), "/-/ready"
    more = []

    def command(self, data):
        more = ([] if self.host == "127.0.0.1" else ["--insecure"]) + self.more
        return [
            self.program,
            "serve",
            "--listen",
            f"{self.host}:{self.port}",
            "--data-dir",
            os.path.join(data, "store"),
            *more,
        ]

    def back_up(self, into):
        return said(self.program, "backup", "--data-dir", os.path.join(self.data, "store"), into)

    def place(self, copy):
        """Puts a backup where a server that is started next finds it."""
        copies = sorted(os.listdir(copy))
        store = os.path.join(self.data, "store")
        return said(self.program, "restore", os.path.join(copy, copies[-1]), "--data-dir", store)

    def restore(self, copy):
        return ""


class Victoria(Peer):
    name, program, ready_path = "VictoriaMetrics", "victoria-metrics", "/health"
    selector = "m_v"

    def command(self, data):
        return [
            self.program,
            f"-storageDataPath={data}/store",
            f"-httpListenAddr={self.host}:{self.port}",
            "-retentionPeriod=100y",
        ]

    def read(self):
        self.ask("GET", "/internal/force_flush", patience=60)
        status, text = self.ask("GET", "/api/v1/export?match[]=m_v", patience=60)
        if status != 200:
            raise OSError(f"read: {status} {text[:100]}")
        found = collections.defaultdict(dict)
        for line in text.splitlines():
            one = json.loads(line)
            found[int(one["metric"]["s"])].update(zip(one["timestamps"], one["values"]))
        return found

    def question(self, text, patience=60):
        words = {"query": text, "start": BEGIN_MS / 1000, "end": BEGIN_MS / 1000 + 900, "step": 1}
        return self.ask("GET", "/api/v1/query_range?" + urllib.parse.urlencode(words), patience=patience)

    def instant(self, text, at_s):
        return self.ask("GET", "/api/v1/query?" + urllib.parse.urlencode({"query": text, "time": at_s}), patience=60)

    def settle(self):
        self.ask("GET", "/internal/force_flush", patience=60)

    snapshot_path = ("GET", "/snapshot/create")

    def back_up(self, into):
        status, text = self.ask(*self.snapshot_path, patience=60)
        if status >= 300:
            return f"{status} {text[:100]}"
        answer = json.loads(text)
        name = answer.get("snapshot") or answer["data"]["name"]
        # VictoriaMetrics' have links to the files of its own.
        shutil.copytree(os.path.join(self.data, "store", "snapshots", name), into)
        return ""

    def place(self, copy):
        shutil.copytree(copy, os.path.join(self.data, "store"))
        return ""

    def restore(self, copy):
        return ""

    def delete(self, series):
        selector = urllib.parse.quote(f'{self.selector}{{s="{series}"}}')
        return self.ask("POST", f"/api/v1/admin/tsdb/delete_series?match[]={selector}")[0]


class Prometheus(Victoria):
    name, program, ready_path, selector = "Prometheus", "prometheus", "/-/ready", "m"
    snapshot_path = ("POST", "/api/v1/admin/tsdb/snapshot")

    def settle(self):
        pass

    def command(self, data):
        path = os.path.join(self.folder, "prometheus.yml")
        open(path, "w").close()
        return [
            self.program,
            f"--config.file={path}",
            f"--storage.tsdb.path={data}/store",
            f"--web.listen-address={self.host}:{self.port}",
            "--web.enable-remote-write-receiver",
            "--web.enable-admin-api",
        ]

    def write(self, rows, **more):
        def field(number, text):
            return bytes([number << 3 | 2]) + varint(len(text)) + text

        by_series, body = collections.defaultdict(list), b""
        for series, instant, number in rows:
            by_series[series].append((instant, number))
        for series, samples in by_series.items():
            labels = b"".join(
                field(1, field(1, name) + field(2, text))
                for name, text in ((b"__name__", b"m"), (b"s", b"%d" % series))
            )
            body += field(
                1,
                labels
                + b"".join(
                    field(2, b"\x09" + struct.pack("<d", number) + b"\x10" + varint(instant))
                    for instant, number in samples
                ),
            )
        headers = {
            "Content-Encoding": "snappy",
            "Content-Type": "application/x-protobuf",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
        }
        return self.ask("POST", "/api/v1/write", snappy(body), headers, **more)

    def read(self):
        words = urllib.parse.urlencode({"query": "m[2h]", "time": time.time() + 3000})
        status, text = self.ask("GET", "/api/v1/query?" + words, patience=60)
        if status != 200:
            raise OSError(f"read: {status} {text[:100]}")
        return {
            int(one["metric"]["s"]): {round(at * 1000): float(number) for at, number in one["values"]}
            for one in json.loads(text)["data"]["result"]
        }


PEERS = {peer.name: peer for peer in (Victoria, Influx, Prometheus, Foliot)}


def varint(number):
    text = b""
    while number > 127:
        text, number = text + bytes([number & 127 | 128]), number >> 7
    return text + bytes([number])


def snappy(body):
    """A block of literals alone, which the format allows."""
    pieces = [body[at : at + 65536] for at in range(0, len(body), 65536)]
    return varint(len(body)) + b"".join(b"\xf4" + struct.pack("<H", len(piece) - 1) + piece for piece in pieces)
