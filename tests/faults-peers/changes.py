"""The rows that change what is stored: deletes, and what is delivered again."""

import os
import random
import tempfile
import time
import urllib.parse

from load import Load, attempt
from servers import BEGIN_MS, TROUBLE, Influx, Prometheus


def deletes(peer, seconds):
    """Series are deleted while others are written, and the server is killed right after an answer."""
    load, done, rounds, deadline = Load(peer), {}, 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not peer.start():
            return f"does not start after kill {rounds}: {peer.last_words()}"
        names = range(1000 + rounds * 10, 1010 + rounds * 10)
        written = attempt(lambda: peer.write([(s, BEGIN_MS + at, 1.5) for s in names for at in range(5)]))
        load.begin()
        time.sleep(random.uniform(1, 2))
        attempt(peer.read)
        for s in names[:8]:
            try:
                done[s] = peer.delete(s) < 300 and written
            except TROUBLE:
                pass
        time.sleep(random.choice([0, 0, 0.3]))
        peer.kill()
        load.end()
        rounds += 1
    peer.start()
    found = peer.read()
    asked_for = [s for s, good in done.items() if good]
    back = sum(s in found for s in asked_for)
    verdict = load.answered and Load.check(Kept(load, found))
    return f"{rounds} kills, {back} of {len(asked_for)} deleted series came back; {verdict[1]} of {verdict[0]} other points lost"


class Kept(Load):
    """A load whose series are looked for in what was read already, without those that were deleted."""

    def __init__(self, load, found):
        self.__dict__.update(load.__dict__)
        self.found = {s: points for s, points in found.items() if s < 1000}
        self.peer = self

    def read(self):
        return self.found


def twice(peer, seconds):
    """Each batch is sent again; then with another value."""
    peer.start()
    rows = [(s, BEGIN_MS + at, 1.5) for s in range(20) for at in range(50)]
    rows.sort(key=lambda row: row[1])
    statuses = [peer.write(rows)[0], peer.write(rows)[0], peer.write([(s, at, 2.5) for s, at, _ in rows])[0]]
    time.sleep(1)
    if isinstance(peer, Influx):
        text = peer.question("SELECT count(v), max(v), min(v) FROM m")[1].decode()
        return f"statuses {statuses}; asked for count, newest: {text[text.find('values'):][:60]}"
    if not isinstance(peer, Prometheus):
        peer.ask("GET", "/internal/force_flush")
    ask = lambda text: peer.ask(
        "GET", "/api/v1/query?" + urllib.parse.urlencode({"query": text, "time": BEGIN_MS / 1000 + 60})
    )[1].decode()
    name = peer.selector
    got = [ask(f"{how}({how}_over_time({name}[10m]))".replace("count(", "sum(", 1)) for how in ("count", "max", "min")]
    return f"statuses {statuses}; 1000 points counted as {[text[text.find('value'):][:60].split(',')[-1].split(']')[0] for text in got]} (count, max, min)"


def backups(peer, seconds):
    """A backup is made while others write; what was answered before it began is in a server made of it."""
    if not peer.start():
        return f"does not start: {peer.last_words()}"
    load, made, points, lost, wrong = Load(peer), 0, 0, 0, 0
    load.begin()
    deadline, slowest_s = time.monotonic() + seconds, 0.0
    while time.monotonic() < deadline:
        time.sleep(random.uniform(1, 3))
        known, began = list(load.answered), time.monotonic()
        copy = os.path.join(peer.folder, f"copy-{made}")
        if failed := peer.back_up(copy):
            load.end()
            return f"backup {made}: {failed}"
        slowest_s, made = max(slowest_s, time.monotonic() - began), made + 1
    load.end()
    folder = tempfile.mkdtemp(prefix="restored-", dir=peer.folder)
    second = type(peer)(folder)
    try:
        failed = second.place(copy) or (not second.start() and second.last_words()) or second.restore(copy)
        if failed:
            return f"{made} backups; the last one cannot be restored: {failed}"
        load.peer, load.answered = second, known
        points, lost, wrong = load.check()
    finally:
        second.process and second.kill()
    return (
        f"{made} backups, {slowest_s:.1f} s at most; in the last one {lost} of {points} points are missing that were "
        f"answered before it began, {wrong} wrong"
    )


CHANGE_ROWS = (deletes, twice, backups)
