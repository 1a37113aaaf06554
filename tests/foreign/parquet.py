"""Parquet files between Foliot and PyArrow: `write FILE` makes the file of testdata/parquet, `check FILE` reads an
export of the lines that tests/foreign/parquet.sh imported, `answer FILE` an answer of `foliot query`, `again OPTIONS FILE TARGET` writes a file once more, in other ways."""
import json
import sys
from datetime import datetime, timezone
import pyarrow as pa
import pyarrow.parquet as pq

NOON = 1767268800 * 10**9  # 2026-01-01T12:00:00Z


def write(path):
    rows = 6
    table = pa.table({
        "at": pa.array([NOON // 1000 + i * 60_000_000 for i in range(rows)], pa.timestamp("us")),
        "site": pa.array(["hill", "hill", "lake", "lake", None, "hill"]).dictionary_encode(),
        "temp": pa.array([1.5, float("nan"), -2.25, None, 7.0, None], pa.float64()),
        "wind": pa.array([3, 4, 5, 6, 7, None], pa.int32()),
        "gusts": pa.array([2**64 - 1, 1, 2, 3, 4, None], pa.uint64()),
        "ok": pa.array([True, False, True, None, True, None]),
        "note": pa.array(["a \"b\"", None, "c\nd", None, "e", None]),
        "half": pa.array([0.5, 0.25, 0.125, None, 1.0, None], pa.float32()),
        "spare": pa.array([[1], [2], [], None, [3], [4]], pa.list_(pa.int64())),
    })
    pq.write_table(table, path, compression={"at": "gzip", "site": "snappy", "temp": "zstd"},
                   row_group_size=4, data_page_version="2.0", use_dictionary=["site", "note"])


def check(path):
    table = pq.read_table(path)
    schema = table.schema
    assert schema.field("time").type == pa.timestamp("ns", tz="UTC"), schema
    assert schema.field("labels").type.field("host").type == pa.string(), schema
    assert schema.field("value_unsigned").type == pa.uint64(), schema
    rows = []
    for row in table.to_pylist():
        value = [v for name, v in row.items() if name.startswith("value_") and v is not None]
        labels = {name: v for name, v in row["labels"].items() if v is not None}
        rows.append((row["measurement"], row["field"], labels, row["time"].value, *value))
    rows.sort(key=str)
    expected = sorted([
        ("cpu", "usage", {"host": "a", "region": "us"}, 1, 0.1),
        ("cpu", "usage", {"host": "b"}, NOON, 1e300),
        ("cpu", "cores", {"host": "a", "region": "us"}, 1, -4),
        ("cpu", "bytes", {"host": "b"}, NOON, 2**64 - 1),
        ("cpu", "up", {"host": "b"}, NOON, True),
        ("cpu", "note", {"host": "b"}, NOON, "x, \"y\""),
        ("bare", "v", {}, -5, 2.0),
    ], key=str)
    assert rows == expected, rows


def answer(path):
    rows = pq.read_table(path).to_pylist()
    noon = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    assert [row["measurement"] for row in rows] == ["cpu", "cpu"], rows
    assert rows[0]["labels"] == {"host": "a"} and rows[1]["labels"] == {"host": "b"}, rows
    assert rows[0]["usage"] == 0.1 and rows[0]["cores"] == -4 and rows[0]["up"] is None, rows
    assert rows[1]["time"].to_pydatetime() == noon and rows[1]["up"] is True, rows


def again(how, path, target):
    pq.write_table(pq.read_table(path), target, **json.loads(how))


{"write": write, "check": check, "answer": answer, "again": again}[sys.argv[1]](*sys.argv[2:])
