"""Samples to whoever takes Prometheus' remote write 1.0, without a library."""

import struct
import urllib.request


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def message(number, body):
    return varint(number << 3 | 2) + varint(len(body)) + body


def snappy(body):
    """A block of literals only."""
    out = varint(len(body))
    for at in range(0, len(body), 60):
        piece = body[at : at + 60]
        out += bytes([(len(piece) - 1) << 2]) + piece
    return out


def write(url, all_series):
    body = b""
    for labels, points in all_series:
        one = b"".join(
            message(1, message(1, name.encode()) + message(2, value.encode()))
            for name, value in sorted(labels.items())
        )
        for at, value in points:
            one += message(2, b"\x09" + struct.pack("<d", value) + b"\x10" + varint(at))
        body += message(1, one)
    headers = {
        "Content-Encoding": "snappy",
        "Content-Type": "application/x-protobuf",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }
    request = urllib.request.Request(url + "/api/v1/write", snappy(body), headers)
    urllib.request.urlopen(request, timeout=30).read()
