"""The rows in which something is short, slow or in the way: room, descriptors, memory, time, a second server."""

import os
import random
import signal
import socket
import subprocess
import time

from load import Load, attempt
from machine import NAME_CALLS, SYNC_CALLS, Disk, detach, strace
from servers import BEGIN_MS, TROUBLE


def errors(peer, seconds):
    """Calls that open, make, rename and remove files fail; writes cannot be told from those to sockets."""
    load, died = Load(peer, patience_s=2), 0
    kinds = [(calls, error) for calls in NAME_CALLS for error in ("ENOSPC", "EIO", "EMFILE", "EROFS")]
    peer.start()
    for calls, error in kinds:
        load.begin()
        tracer = strace(f"{calls}:error={error}", peer.process.pid)
        time.sleep(seconds / len(kinds))
        detach(tracer)
        load.end()
        if not peer.lives():
            died += 1
            if not peer.start():
                return f"does not start after {error}: {peer.last_words()}"
    peer.kill()
    said = f"{len(kinds)} rules: died {died} times; "
    return said + (load.verdict() if peer.start() else f"does not start: {peer.last_words()}")


def readonly(peer, seconds):
    """The file system gives up and is read-only, as ext4 is after an error."""
    disk, load = Disk(peer), Load(peer)
    try:
        peer.start()
        load.run(seconds / 4)
        disk.settle()
        subprocess.run(["mount", "-o", "remount,abort", peer.data], check=True)
        before = len(load.answered)
        load.run(seconds / 3)
        said = f"{len(load.answered) - before} batches answered afterwards; "
        said += "died; " if not peer.lives() else "reads go on; " if attempt(load.check) else "reads fail; "
        peer.kill()
        disk.unmount()
        subprocess.run(["e2fsck", "-fy", disk.image], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        disk.mount()
        return said + "killed, mended: " + (load.verdict() if peer.start() else f"does not start: {peer.last_words()}")
    finally:
        peer.kill()
        disk.unmount()


def descriptors(peer, seconds):
    """256 descriptors and 1000 connections that do nothing."""
    load, idle = Load(peer), []
    if not peer.start(["prlimit", "--nofile=256:256"]):
        return f"does not start: {peer.last_words()}"
    load.run(2)
    for _ in range(1000):
        try:
            idle.append(socket.create_connection((peer.host, peer.port), timeout=0.2))
        except OSError:
            break
    before = len(load.answered)
    load.run(seconds / 4)
    during = len(load.answered) - before
    [one.close() for one in idle]
    lived, before, began = peer.lives(), len(load.answered), time.monotonic()
    load.begin()
    while lived and time.monotonic() - began < 15 and len(load.answered) == before:
        time.sleep(0.05)
    after = f"{time.monotonic() - began:.1f} s" if len(load.answered) > before else "not in 15 s"
    load.end()
    peer.kill(signal.SIGTERM)
    said = f"{len(idle)} opened, {during} batches answered beside them, {'lived' if lived else 'died'}, answers again after {after}; "
    return said + (load.verdict() if peer.start() else f"does not start: {peer.last_words()}")


def slow(peer, seconds):
    """Each sync takes 1 s, then one stalls 10 s."""
    load, health_s = Load(peer), []
    peer.start()
    load.run(1)
    load.begin()
    for delay_ms in (1000, 10_000):
        tracer = strace(
            f"{SYNC_CALLS}:delay_exit={delay_ms}ms" + (":when=1" if delay_ms > 1000 else ""), peer.process.pid
        )
        until = time.monotonic() + seconds / 2
        while time.monotonic() < until:
            began = time.monotonic()
            attempt(lambda: peer.ask("GET", peer.ready_path, patience=30))
            health_s.append(time.monotonic() - began)
            time.sleep(0.1)
        detach(tracer)
    load.end()
    memory = peer.memory_mb()
    peer.kill(signal.SIGTERM)
    peer.start()
    return f"slowest answer {load.slowest_s:.1f} s, slowest health {max(health_s):.2f} s, {memory} MB; {load.verdict()}"


def clocks(peer, seconds):
    """The monotonic clock alone: ten years ahead of the last run's, then at its beginning again."""
    load = Load(peer)
    for words in ([], ["unshare", "--time", "--monotonic", "315360000", "--boottime", "315360000"], []):
        if not peer.start(words):
            return f"does not start {' '.join(words)}: {peer.last_words()}"
        load.run(seconds / 6)
        peer.kill(signal.SIGTERM)
    peer.start()
    return f"monotonic +10 y and back: {load.verdict()}"


def memory(peer, seconds):
    """A control group of 256 MiB; new series, 2000 in a batch, until 300 000 or the time are over."""
    group, load, begun, answered = f"/sys/fs/cgroup/memory/faults-peers-{os.getpid()}", Load(peer), 1000, []
    os.mkdir(group)
    try:
        with open(os.path.join(group, "memory.limit_in_bytes"), "w") as limit:
            limit.write(str(256 << 20))
        join = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
        if not peer.start(join):
            return "does not start"
        load.run(2)
        until = time.monotonic() + seconds
        while time.monotonic() < until and begun < 301_000 and peer.lives():
            names = range(begun, begun + 2000)
            begun += 2000
            try:
                if peer.write([(s, BEGIN_MS + 5, 1.5) for s in names], patience=20)[0] < 300:
                    answered += names
            except TROUBLE:
                pass
        peak = peer.memory_mb() if peer.lives() else 0
        said = f"{len(answered)} of {begun - 1000} new series answered, {'lived' if peer.lives() else 'killed for memory'}, {peak} MB; "
        peer.kill(signal.SIGTERM)
        began, started = time.monotonic(), peer.start(join)
        if not started:
            return said + f"does not start within 256 MiB again: {peer.last_words()}"
        said += f"starts again in {time.monotonic() - began:.1f} s; "
        peer.kill(signal.SIGTERM)
        # Foliot by default refuses a question whose answer is this large.
        peer.more = ["--set", "limits.query_memory_bytes=1GiB"]
        peer.start()
        found = peer.read()
        return said + f"{sum(s not in found for s in answered)} of the answered lost"
    finally:
        peer.process and peer.kill()
        time.sleep(0.2)
        os.rmdir(group)


def address_space(peer, seconds):
    """400 MB of address space."""
    if not peer.start(["prlimit", f"--as={400 << 20}"], patience=10):
        return f"400 MB of address space: does not start: {peer.last_words()[-90:]}"
    load = Load(peer).run(seconds / 3)
    said = "lived" if peer.lives() else "died"
    peer.kill(signal.SIGTERM)
    peer.start()
    return f"400 MB of address space: {said}; {load.verdict()}"


def stop(peer, seconds):
    load, codes, slowest_s, deadline = Load(peer), set(), 0.0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        peer.start()
        load.begin()
        time.sleep(random.uniform(0.5, 2.5))
        began = time.monotonic()
        codes.add(str(peer.kill(signal.SIGTERM)))
        slowest_s = max(slowest_s, time.monotonic() - began)
        load.end()
    peer.start()
    return f"ends within {slowest_s:.1f} s with status {', '.join(codes)}; {load.verdict()}"


def two(peer, seconds):
    """A second server on the directory of the first, then a start after the first was killed."""
    load = Load(peer)
    peer.start()
    load.begin()
    second = type(peer)(os.path.join(peer.folder, "second"))
    starts = second.start(data=peer.data, patience=seconds / 3)
    said = (
        "the second one starts as well"
        if starts
        else "the second one is refused" if not second.lives() else "the second one waits"
    )
    words = "" if starts else f": {second.last_words()[-140:]}"
    time.sleep(2)
    second.kill()
    load.end()
    peer.kill()
    return f"{said}{words}; after a kill: " + (
        load.verdict() if peer.start() else f"does not start: {peer.last_words()}"
    )


def network(peer, seconds):
    """Two machines on one directory of the network: two mounts by sshfs, each over an SFTP server of its own."""
    shared, mounts, tunnels = os.path.join(peer.folder, "shared"), [], []
    os.mkdir(shared)
    second = type(peer)(os.path.join(peer.folder, "second"))
    try:
        for place in (peer.data, second.data):
            ours, theirs = socket.socketpair()
            tunnels.append(subprocess.Popen(["/usr/lib/openssh/sftp-server"], stdin=theirs, stdout=theirs))
            mounts.append(
                subprocess.Popen(["sshfs", "-f", "-o", "passive", f"peer:{shared}", place], stdin=ours, stdout=ours)
            )
            ours.close()
            theirs.close()
            until = time.monotonic() + 5
            while not os.path.ismount(place) and time.monotonic() < until:
                time.sleep(0.1)
            if not os.path.ismount(place):
                return "no mount by sshfs here"
        if not peer.start():
            return f"sshfs: does not start: {peer.last_words()}"
        starts = second.start(patience=seconds / 3)
        words = "" if starts else f": {second.last_words()[-140:]}"
        return f"sshfs, two mounts of one directory: the second server {'starts as well' if starts else 'is refused'}{words}"
    finally:
        for server in (peer, second):
            server.process and server.kill()
        for place, mount in zip((peer.data, second.data), mounts):
            subprocess.run(["umount", place], stderr=subprocess.DEVNULL)
            mount.wait(10)
        [one.terminate() for one in tunnels]


def downgrade(peer, seconds):
    """An older program, OLDER_BINARY, on what the newer one wrote."""
    older = os.environ.get("OLDER_BINARY")
    if peer.name != "Foliot" or not older:
        return "one version is packaged" if older else "no OLDER_BINARY"
    load, newer = Load(peer), peer.program
    for ends in (signal.SIGTERM, signal.SIGKILL):
        peer.start()
        load.run(seconds / 6)
        peer.kill(ends)
    peer.program = older
    if not peer.start():
        return f"the older one does not start: {peer.last_words()}"
    said = "the older one starts: " + load.verdict()
    load.run(seconds / 6)
    peer.kill()
    peer.program = newer
    peer.start()
    return f"{said}; the newer one again: {load.verdict()}"


def restart(peer, seconds):
    """Killed after so many seconds of batches of 2000 rows."""
    until, made = time.monotonic() + seconds / 2, 0
    peer.start()
    while time.monotonic() < until:
        rows = [(one % 200, BEGIN_MS + made // 200 + one // 200, 1.5) for one in range(2000)]
        made += 2000 if attempt(lambda: peer.write(rows)) else 0
    peer.kill()
    began = time.monotonic()
    started = peer.start(patience=60)
    took_s = time.monotonic() - began
    found = sum(map(len, peer.read().values())) if started else 0
    return f"{made / 1e6:.2f} M points, killed: ready after {took_s:.2f} s, {made - found} of them lost"


LIMIT_ROWS = (
    errors,
    readonly,
    descriptors,
    slow,
    clocks,
    memory,
    address_space,
    stop,
    two,
    network,
    downgrade,
    restart,
)
