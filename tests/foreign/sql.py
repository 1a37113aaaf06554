"""Asks Foliot and PostgreSQL the same SQL and compares what they say.

sql.py FOLIOT_URL POSTGRES_PORT [SEED [COUNT]]

Both get the same rows; then the statements in STATEMENTS are asked, and COUNT more that are generated
from a seeded random number generator. Answers are compared row by row: numbers within 1e-9 relative,
everything else exactly. What is an error to one has to be one to the other. What may differ, and why,
stands in EXPLAINED. Exits with 1 when anything differs.
"""
import collections
import csv
import io
import random
import re
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

from sql_statements import STATEMENTS, Generator, rows

FOLIOT, PORT = sys.argv[1], sys.argv[2]
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 2000
PSQL = ["psql", "-h", "127.0.0.1", "-p", PORT, "-U", "tester", "-d", "postgres", "--csv", "-q", "-X"]
COLUMNS = ["host", "dc", "usage", "load", "up", "note"]


def in_foliot(statement):
    query = urllib.parse.urlencode({"db": "d", "format": "csv", "q": statement})
    try:
        with urllib.request.urlopen(f"{FOLIOT}/api/v3/query_sql?{query}", timeout=60) as answer:
            return None, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode(), ""


def in_postgres(statements):
    """The answers, or errors, of all statements, by one connection."""
    script = "SET timezone = 'UTC';\n"
    for at, statement in enumerate(statements):
        script += f"\\echo -- {at} --\n{statement};\n\\warn -- {at} --\n"
    asked = subprocess.run(PSQL, input=script, capture_output=True, text=True, timeout=600)
    answers = re.split(r"^-- \d+ --\n", asked.stdout, flags=re.M)[1:]
    errors = re.split(r"^-- \d+ --\n?", asked.stderr, flags=re.M)
    return [(error.strip() or None, answer) for error, answer in zip(errors, answers)]


def cell(text):
    """A value as both spell it."""
    if text in ("t", "f"):
        return text == "t"
    if text in ("true", "false"):
        return text == "true"
    moment = re.fullmatch(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d+)?(\+00)?", text)
    if moment:
        return f"{moment[1]}T{moment[2]}{(moment[3] or '').rstrip('0').rstrip('.')}"
    try:
        return float(text)
    except ValueError:
        return text


def table(text):
    return [[cell(value) for value in row] for row in csv.reader(io.StringIO(text)) if row][1:]


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or a != a and b != b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return type(a) is type(b) and a == b


# What may differ: a pattern of PostgreSQL's error, and why Foliot has an answer there.
EXPLAINED = [
    ("division by zero", "floats are divided by zero as IEEE 754 says"),
    ("(out of range|overflow)", "numerics of PostgreSQL are floats here"),
]


def main():
    written = rows()
    lines, values = [], []
    for row in written:
        tags = "".join(f",{name}={row[name]}" for name in ("host", "dc") if row[name] is not None)
        spelled = {"usage": str, "load": lambda v: f"{v}i", "up": str, "note": lambda v: f'"{v}"'}
        fields = ",".join(f"{k}={f(row[k])}" for k, f in spelled.items() if row[k] is not None)
        lines.append(f"m{tags} {fields} {row['time']}")
        quoted = ["NULL" if row[name] is None else f"'{row[name]}'" for name in COLUMNS]
        values.append(f"(to_timestamp({row['time']}), {', '.join(quoted)})")
    url = f"{FOLIOT}/write?db=d&precision=s"
    urllib.request.urlopen(urllib.request.Request(url, data="\n".join(lines).encode())).read()
    make = "CREATE TABLE m (time timestamptz, host text, dc text, usage float8, load int8, up boolean, note text)"
    subprocess.run(PSQL, input=f"{make};\nINSERT INTO m VALUES {', '.join(values)};", text=True, check=True)

    generator = Generator(random.Random(SEED))
    statements = STATEMENTS + [generator.statement() for _ in range(COUNT)]
    counts, failures = collections.Counter(), []
    for statement, (expected_error, expected) in zip(statements, in_postgres(statements)):
        error, found = in_foliot(statement)
        if expected_error or error:
            kind = "both refuse" if expected_error and error else "one refuses"
            explained = [why for pattern, why in EXPLAINED if re.search(pattern, expected_error or "")]
            if kind == "one refuses" and explained:
                kind = explained[0]
            elif kind == "one refuses":
                failures.append((statement, expected_error or expected, error or found))
            counts[kind] += 1
            continue
        a, b = table(expected), table(found)
        rows_same = len(a) == len(b) and all(
            len(x) == len(y) and all(map(same, x, y)) for x, y in zip(a, b)
        )
        counts["same" if rows_same else "differs"] += 1
        if not rows_same:
            failures.append((statement, expected, found))
    for statement, expected, found in failures[:12]:
        print(f"{statement}\n  PostgreSQL: {expected[:400]}\n  Foliot:     {found[:400]}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    enough = counts["same"] > len(statements) * 0.6
    sys.exit(1 if failures or not enough else 0)


main()
