"""Writers, what they were answered, and what is there of it afterwards."""

import collections
import http.client
import threading
import time

from servers import BEGIN_MS, TROUBLE

WRITERS, ROWS = 4, 20


def value(series, number):
    return (series * 7919 + number * 104729) % 1000003 / 8


class Load:
    """Writers and what they were answered. `check` says what of the answered is not there, and what is there wrongly."""

    def __init__(self, peer, pause_s=0.002, patience_s=35):
        self.peer, self.pause_s, self.patience_s, self.ends = peer, pause_s, patience_s, True
        self.sent, self.answered, self.other = [0] * WRITERS, [], collections.Counter()
        self.slowest_s, self.threads, self.deleted = 0.0, [], set()

    def begin(self):
        self.ends = False
        self.threads = [threading.Thread(target=self.writes, args=(writer,), daemon=True) for writer in range(WRITERS)]
        [thread.start() for thread in self.threads]
        return self

    def end(self):
        self.ends = True
        [thread.join(40) for thread in self.threads]
        return self

    def run(self, seconds):
        self.begin()
        time.sleep(seconds)
        return self.end()

    def batch(self, writer, number):
        return [(writer * ROWS + one, BEGIN_MS + number, value(writer * ROWS + one, number)) for one in range(ROWS)]

    def writes(self, writer):
        connection = None
        while not self.ends:
            connection = connection or http.client.HTTPConnection(
                self.peer.host, self.peer.port, timeout=self.patience_s
            )
            self.sent[writer] += 1
            number, began = self.sent[writer], time.monotonic()
            try:
                status, _ = self.peer.write(self.batch(writer, number), connection=connection)
                self.slowest_s = max(self.slowest_s, time.monotonic() - began)
                if status < 300:
                    self.answered.append((writer, number))
                else:
                    self.other[status] += 1
            except TROUBLE:
                self.other["no answer"] += 1
                connection.close()
                connection = None
                time.sleep(0.05)
            time.sleep(self.pause_s)

    def check(self):
        """(answered points, lost, wrong)"""
        found = self.peer.read()
        answered = [
            (s, at, number) for one in self.answered for s, at, number in self.batch(*one) if s not in self.deleted
        ]
        lost = sum(at not in found.get(s, {}) for s, at, _ in answered)
        return len(answered), lost, self.wrong(found)

    def wrong(self, found):
        """Points with another value than was sent, or that were never sent."""
        return sum(1 for _ in self.wrong_points(found))

    def wrong_points(self, found):
        for s, points in found.items():
            for at, number in points.items():
                if (
                    s >= WRITERS * ROWS
                    or number != value(s, at - BEGIN_MS)
                    or not 0 < at - BEGIN_MS <= self.sent[s // ROWS]
                ):
                    yield s, at - BEGIN_MS, number

    def example(self, found):
        return next(((s, at, number, value(s, at)) for s, at, number in self.wrong_points(found)), "")

    def verdict(self):
        try:
            points, lost, wrong = self.check()
        except TROUBLE as trouble:
            return f"cannot be read: {str(trouble)[:120]}"
        refused = "".join(
            f", {count} x {status}" for status, count in sorted(self.other.items(), key=str) if status != "no answer"
        )
        return f"{lost} of {points} answered points lost" + (f", {wrong} wrong" if wrong else "") + refused


def attempt(work):
    """Whether it can be done at all."""
    try:
        work()
        return True
    except TROUBLE:
        return False
