"""Servers under attack: each is started in a folder of its own, asks everybody for a password, and is told to
keep within the same memory where it can be told."""
import base64
import http.client
import os
import shutil
import socket
import subprocess
import time
import urllib.parse

USER, PASSWORD = "root", "a-secret-of-attacks"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
TROUBLE = (OSError, http.client.HTTPException)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """What the attacks need to know of a server: how to write to it, what is a small and what a heavy question."""

    name = ""
    # Ports beside the main one that take bytes: TCP and UDP.
    tcp_ports, udp_ports = (), ()
    speaks_influxql = True

    def __init__(self, folder, memory_bytes):
        self.folder, self.memory_bytes = os.path.join(folder, self.name), memory_bytes
        os.makedirs(self.folder)
        self.host, self.port, self.process = "127.0.0.1", free_port(), None

    def start(self):
        log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if self.request("GET", self.ready_path)[0] < 300:
                    break
            except TROUBLE:
                time.sleep(0.05)
        else:
            raise SystemExit(f"{self.name} does not start; see {self.folder}/log")
        self.prepare()
        return self

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    @property
    def has_ended(self):
        return self.process.poll() is not None

    def reset_peak(self):
        """From now on the peak of the memory is counted anew (Linux, proc(5))."""
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as refs:
            refs.write("5")

    def peak_bytes(self):
        try:
            with open(f"/proc/{self.process.pid}/status") as status:
                return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))
        except (OSError, StopIteration):
            return 0

    def connect(self, port=None, patience=5.0, source=None):
        address = (self.host, port or self.port)
        return socket.create_connection(address, timeout=patience, source_address=(source, 0) if source else None)

    def request(self, method, path, body=None, headers=None, patience=5.0, authorization=BASIC):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=patience)
        try:
            connection.request(method, path, body, {"Authorization": authorization, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def write(self, lines, headers=None, patience=5.0):
        return self.request("POST", "/write?db=attacks", lines, headers, patience)

    def write_request(self, lines):
        """The bytes of a write on a connection that is kept."""
        head = ["POST /write?db=attacks HTTP/1.1", f"Host: {self.host}:{self.port}", f"Authorization: {BASIC}",
                f"Content-Length: {len(lines)}"]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + lines

    def ask(self, statement, patience=5.0):
        return self.request("GET", "/query?db=attacks&q=" + urllib.parse.quote(statement), patience=patience)

    def prepare(self):
        self.request("POST", "/query?q=" + urllib.parse.quote("CREATE DATABASE attacks"))
        self.fill()

    def fill(self):
        self.write(b"canary v=41.5")
        lines = "".join(f"load,host=h{n % 200} v={n} {1700000000 + n}000000000\n" for n in range(200_000))
        status, text = self.write(lines.encode(), patience=60)
        if status >= 300:
            raise SystemExit(f"{self.name} does not take the data: {status} {text[:200]}")

    def small(self):
        """Asks the canary's question: the status and whether the value is right."""
        status, text = self.ask("SELECT v FROM canary")
        return status, b"41.5" in text

    def heavy(self):
        return self.ask("SELECT mean(v), stddev(v), percentile(v, 99) FROM /.*/ GROUP BY *, time(1s)", patience=20)


class Foliot(Server):
    name, ready_path = "foliot", "/-/ready"

    def __init__(self, folder, memory_bytes):
        super().__init__(folder, memory_bytes)
        self.tcp_ports = self.udp_ports = (free_port(),)
        self.store = os.path.join(self.folder, "store")

    def command(self):
        binary = os.environ.get("TESTED_BINARY", "target/release/foliot")
        secret = PASSWORD.encode()
        make = [binary, "user", "add", USER, "--role", "admin", "--data-dir", self.store]
        subprocess.run(make, input=secret + b"\n", check=True, stdout=subprocess.DEVNULL)
        settings = [f"limits.memory_bytes={self.memory_bytes}", "access.write_from=127.0.0.0/8",
                    f"listen.ticktock=127.0.0.1:{self.tcp_ports[0]}", "listen.udp=true"]
        command = [binary, "serve", "--listen", f"127.0.0.1:{self.port}", "--access", "--data-dir", self.store]
        return command + [word for setting in settings for word in ("--set", setting)]

    def peak_limit_bytes(self):
        return self.memory_bytes


class InfluxDb(Server):
    name, ready_path = "influxdb", "/ping"

    def command(self):
        path = os.path.join(self.folder, "influxdb.conf")
        with open(path, "w") as conf:
            conf.write(f"""reporting-disabled = true
bind-address = "127.0.0.1:{free_port()}"
[meta]
dir = "{self.folder}/meta"
[data]
dir = "{self.folder}/data"
wal-dir = "{self.folder}/wal"
max-series-per-database = 0
max-values-per-tag = 0
query-log-enabled = false
[monitor]
store-enabled = false
[http]
bind-address = "127.0.0.1:{self.port}"
auth-enabled = true
log-enabled = false
""")
        return [shutil.which("influxd"), "run", "-config", path]

    def prepare(self):
        text = f"CREATE USER {USER} WITH PASSWORD '{PASSWORD}' WITH ALL PRIVILEGES"
        self.request("POST", "/query?q=" + urllib.parse.quote(text))
        super().prepare()

    def peak_limit_bytes(self):
        return None


class VictoriaMetrics(Server):
    name, ready_path, speaks_influxql = "victoriametrics", "/health", False

    def command(self):
        binary = os.environ.get("VICTORIA_BINARY") or shutil.which("victoria-metrics")
        return [binary, f"-storageDataPath={self.folder}/data", f"-httpListenAddr=127.0.0.1:{self.port}",
                "-retentionPeriod=100y", f"-memory.allowedBytes={self.memory_bytes}", "-search.latencyOffset=0s",
                f"-httpAuth.username={USER}", f"-httpAuth.password={PASSWORD}"]

    def prepare(self):
        self.fill()
        self.request("GET", "/internal/force_flush")

    def small(self):
        status, text = self.request("GET", "/api/v1/export?match[]=canary_v")
        return status, b"41.5" in text

    def heavy(self):
        query = urllib.parse.urlencode({"query": 'quantile_over_time(0.99, {__name__=~"load.*"}[10m])',
                                        "start": 1700000000, "end": 1700200000, "step": "20s"})
        return self.request("GET", "/api/v1/query_range?" + query, patience=20)

    def peak_limit_bytes(self):
        return self.memory_bytes


KINDS = {kind.name: kind for kind in (Foliot, InfluxDb, VictoriaMetrics)}
