"""The rows in which the server is killed or its disk fails. Each says in a few words what came of it."""

import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from load import Load, attempt
from machine import DISK_CALLS, SYNC_CALLS, Disk, strace
from servers import TROUBLE


def kills(peer, seconds):
    load, rounds, deadline = Load(peer), 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not peer.start():
            return f"does not start after kill {rounds}: {peer.last_words()}"
        load.begin()
        time.sleep(random.uniform(0.5, 2.5))
        peer.kill()
        load.end()
        rounds += 1
    peer.start()
    return f"{rounds} kills: {load.verdict()}"


def calls(peer, seconds):
    load, rounds, killed, deadline = Load(peer), 0, 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        rounds += 1
        begun = peer.start(strace(f"{DISK_CALLS}:signal=KILL:when={rounds * 3}"), 8)
        load.begin()
        until = time.monotonic() + (2 if begun else 0)
        while time.monotonic() < until and peer.lives():
            time.sleep(0.02)
        killed += not peer.lives()
        peer.kill()
        load.end()
    return (
        f"{killed} kills at a call of their own: {load.verdict()}"
        if peer.start()
        else f"does not start: {peer.last_words()}"
    )


def recovery(peer, seconds):
    load, rounds, deadline = Load(peer), 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not peer.start():
            return f"does not start: {peer.last_words()}"
        load.run(2)
        peer.kill()
        for _ in range(3):
            peer.start(patience=random.uniform(0.02, 0.6))
            peer.kill()
            rounds += 1
    peer.start()
    return f"{rounds} starts killed, three in a row: {load.verdict()}"


def cuts(peer, seconds, lie=False, settled=True):
    disk, load, rounds, deadline = Disk(peer), Load(peer), 0, time.monotonic() + seconds
    points, lost, wrong, refused, words = 0, 0, 0, 0, ""
    try:
        while time.monotonic() < deadline:
            peer.start()
            if settled:
                load.run(1)
                disk.settle()
            tracer = strace(f"{SYNC_CALLS}:retval=0", peer.process.pid) if lie else None
            load.begin()
            time.sleep(random.uniform(4, 9))
            disk.cut()
            load.end()
            tracer and tracer.wait()
            rounds += 1
            found = load.check() if peer.start(patience=15) else None
            if found:
                points, lost, wrong = points + found[0], lost + found[1], wrong + found[2]
            else:
                refused, words = refused + 1, f" ({peer.last_words()})"
            peer.kill()
            # Each cut has a disk of its own, so that one that cannot be started from does not hide the next.
            disk.unmount()
            disk, load = Disk(peer), Load(peer)
        return f"{rounds} cuts: {refused} without a start{words}; else {lost} of {points} answered points lost, {wrong} wrong"
    finally:
        peer.kill()
        disk.unmount()


def young(peer, seconds):
    """Power cuts of a store that was made some seconds before."""
    return cuts(peer, seconds, settled=False)


def lies(peer, seconds):
    return cuts(peer, seconds, True)


def syncs(peer, seconds):
    """Every sync fails for a while; then the power is cut."""
    disk, load = Disk(peer), Load(peer)
    try:
        peer.start()
        load.run(3)
        disk.settle()
        tracer = strace(f"{SYNC_CALLS}:error=EIO", peer.process.pid)
        before = len(load.answered)
        load.begin()
        time.sleep(seconds / 3)
        answered, lived = len(load.answered) - before, peer.lives()
        disk.cut()
        load.end()
        tracer.wait()
        said = f"{answered} batches answered while syncs failed, {'lived' if lived else 'died'}; then a power cut: "
        return said + (load.verdict() if peer.start() else f"does not start: {peer.last_words()}")
    finally:
        peer.kill()
        disk.unmount()


def damaged(peer, seconds, change):
    """A store of flushed and unflushed data; each time a copy of it is damaged in one place."""
    load, sound = Load(peer), peer.data + ".sound"
    for _ in range(2):
        peer.start()
        load.run(2)
        peer.kill(signal.SIGTERM)
    peer.start()
    load.run(2)
    peer.kill()
    shutil.copytree(peer.data, sound)
    # What a sound copy shows is what damage can take: servers differ in what a kill takes.
    open(peer.log, "w").close()
    peer.start()
    there, usual = peer.read(), peer.complaints()
    peer.kill()
    counts, silent, deadline, dice = collections.Counter(), [], time.monotonic() + seconds, random.Random(1)
    files = sorted(
        os.path.join(at, name)[len(sound) :]
        for at, _, names in os.walk(sound)
        for name in names
        if os.path.getsize(os.path.join(at, name))
    )
    while time.monotonic() < deadline:
        shutil.rmtree(peer.data)
        shutil.copytree(sound, peer.data)
        file = dice.choice(files)
        change(peer.data + file, dice, peer.data + dice.choice(files))
        open(peer.log, "w").close()
        counts["tries"] += 1
        if not peer.start(patience=8):
            counts["no start"] += 1
        else:
            try:
                found = peer.read()
                lost = sum(at not in found.get(s, {}) for s, points in there.items() for at in points)
                said = "told" if len(peer.complaints()) > len(usual) else "nothing told"
                if load.wrong(found) or lost and said != "told":
                    silent.append(f"{file}: {lost} lost, {load.wrong(found)} wrong: {load.example(found)}")
                counts["wrong" if load.wrong(found) else f"some lost, {said}" if lost else "all there"] += 1
            except TROUBLE:
                counts["died" if not peer.lives() else "not readable"] += 1
        peer.kill()
    shutil.rmtree(sound)
    print(*silent, sep="\n", file=sys.stderr)
    return ", ".join(f"{count} {what}" for what, count in counts.items())


def tails(peer, seconds):
    return damaged(peer, seconds, lambda path, dice, _: os.truncate(path, dice.randrange(os.path.getsize(path))))


def flips(peer, seconds):
    def flip(path, dice, _):
        with open(path, "r+b") as file:
            at = dice.randrange(os.path.getsize(path))
            file.seek(at)
            byte = file.read(1)[0] ^ 1 << dice.randrange(8)
            file.seek(at)
            file.write(bytes([byte]))

    return damaged(peer, seconds, flip)


def files(peer, seconds):
    def change(path, dice, other):
        os.remove(path) if dice.random() < 0.5 else path == other or shutil.copy(other, path)

    return damaged(peer, seconds, change)


def full(peer, seconds):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "none", peer.data], check=True)
    ballast, load, said = os.path.join(peer.data, "ballast"), Load(peer), []

    def fill():
        try:
            with open(ballast, "ab", buffering=0) as file:
                while True:
                    file.write(b"\0" * 65536)
        except OSError:
            pass

    def free():
        if os.path.exists(ballast):
            os.remove(ballast)

    try:
        if not peer.start():
            return f"does not start: {peer.last_words()}"
        load.run(3)
        fill()
        before = len(load.answered)
        load.run(seconds / 3)
        said.append(f"{len(load.answered) - before} batches answered while full")
        said.append("died" if not peer.lives() else "reads go on" if attempt(load.check) else "reads fail")
        free()
        load.begin()
        before, began = len(load.answered), time.monotonic()
        while time.monotonic() - began < 20 and len(load.answered) == before and peer.lives():
            time.sleep(0.1)
        if peer.lives():
            said.append(
                f"resumed after {time.monotonic() - began:.1f} s"
                if len(load.answered) > before
                else "did not resume in 20 s"
            )
        fill()
        time.sleep(2)
        peer.kill()
        load.end()
        said.append("killed and started while full: " + ("starts" if peer.start(patience=10) else "does not start"))
        peer.kill()
        free()
        said.append("with room again: " + (load.verdict() if peer.start() else f"does not start: {peer.last_words()}"))
        return "; ".join(said)
    finally:
        peer.kill()
        subprocess.run(["umount", peer.data], check=True)


DISK_ROWS = (kills, calls, recovery, cuts, young, lies, syncs, tails, flips, files, full)
