"""The rows about series: one bad label that makes them without end, and series that come and go."""

import statistics
import time

from load import Load
from servers import BEGIN_MS, TROUBLE, Influx

NEW_OF_BATCH = 2000
LIVE, SAMPLES_OF_ROUND = 1000, 10
ROUND_MS = 1000
ASKED_OF_ROUND = 5


def explosion(peer, seconds):
    """Series that are known are written alone, then beside new ones without end."""
    if not peer.start():
        return f"does not start: {peer.last_words()}"
    load, made, refused = Load(peer), 0, 0
    load.run(seconds / 4)
    alone, load.slowest_s = len(load.answered), 0.0
    load.begin()
    until, began = time.monotonic() + seconds / 2, time.monotonic()
    while time.monotonic() < until and peer.lives():
        names = range(1000 + made + refused, 1000 + made + refused + NEW_OF_BATCH)
        try:
            status = peer.write([(s, BEGIN_MS + 5, 1.5) for s in names], patience=20)[0]
        except TROUBLE:
            status = 0
        made, refused = (made + NEW_OF_BATCH, refused) if 200 <= status < 300 else (made, refused + NEW_OF_BATCH)
    beside = (len(load.answered) - alone) / (time.monotonic() - began)
    load.end()
    lives, memory = peer.lives(), peer.memory_mb() if peer.lives() else 0
    return (
        f"{made} new series stored, {refused} not; {'lived' if lives else 'died'}, {memory} MB; batches of known series: "
        f"{alone / (seconds / 4):.0f} a second alone, {beside:.0f} beside them, the slowest {load.slowest_s:.2f} s"
    )


def ask_of(peer, series, instant):
    """One series in the last round; how long the answer took, in milliseconds, and whether it is right."""
    began = time.monotonic()
    if isinstance(peer, Influx):
        text = f"SELECT count(v) FROM m WHERE s = '{series}' AND time > {instant - ROUND_MS}ms AND time <= {instant}ms"
        status, answer = peer.question(text)
        wanted = f",{SAMPLES_OF_ROUND}]".encode()
    else:
        text = f'count_over_time({peer.selector}{{s="{series}"}}[{ROUND_MS}ms])'
        status, answer = peer.instant(text, instant / 1000)
        wanted = f'"{SAMPLES_OF_ROUND}"]'.encode()
    return (time.monotonic() - began) * 1000, status == 200 and wanted in answer


def churn(peer, seconds):
    """In each round all series are replaced; some of the newest are asked for, as dashboards do."""
    if not peer.start():
        return f"does not start: {peer.last_words()}"
    step_ms, took_ms, wrong, rounds = ROUND_MS // SAMPLES_OF_ROUND, [], 0, 0
    until = time.monotonic() + seconds
    while time.monotonic() < until and rounds < 1000 and peer.lives():
        begin, names = BEGIN_MS + rounds * ROUND_MS // 4, range(rounds * LIVE, (rounds + 1) * LIVE)
        for sample in range(1, SAMPLES_OF_ROUND + 1):
            peer.write([(s, begin + sample * step_ms, 1.5) for s in names], patience=30)
        peer.settle()
        for asked in range(ASKED_OF_ROUND):
            one_ms, is_right = ask_of(peer, names[asked * 199], begin + ROUND_MS)
            took_ms.append(one_ms)
            wrong += not is_right
        rounds += 1
    few = max(len(took_ms) // 10, 1)
    first, last = statistics.median(took_ms[:few]), statistics.median(took_ms[-few:])
    memory = peer.memory_mb() if peer.lives() else 0
    return (
        f"{rounds * LIVE} series, {LIVE} at a time; {'lived' if peer.lives() else 'died'}, {memory} MB; the last round of one series: "
        f"{first:.1f} ms at first, {last:.1f} ms in the end; {wrong} of {len(took_ms)} answers wrong"
    )


SERIES_ROWS = (explosion, churn)
