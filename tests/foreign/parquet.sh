#!/usr/bin/env bash
# Parquet with PyArrow, which reads what Foliot writes and writes what Foliot reads. Needs python3 with
# venv; installs PyArrow from PyPI.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$root/tests/foreign

python3 -m venv "$work/venv"
fetched "$work/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==25.0.0 pandas==2.3.3
arrow() { "$work/venv/bin/python" "$here/parquet.py" "$@"; }

cat >"$work/lines" <<'LINES'
cpu,host=a,region=us usage=0.1,cores=-4i 1
cpu,host=b usage=1e300,bytes=18446744073709551615u,up=true,note="x, \"y\"" 1767268800000000000
bare v=2 -5
LINES
"$foliot" import influx "$work/lines" --data-dir "$work/first" 2>/dev/null
"$foliot" export --format parquet --data-dir "$work/first" "$work/samples.parquet" 2>/dev/null
arrow check "$work/samples.parquet"
pass 'PyArrow reads an export'

"$foliot" import parquet "$work/samples.parquet" --data-dir "$work/second" 2>/dev/null
for store in first second; do
    "$foliot" export --format line --data-dir "$work/$store" "$work/$store.lines" 2>/dev/null
done
cmp <(sort "$work/first.lines") <(sort "$work/second.lines") || fail 'an export that is imported is another'
pass 'an export comes back as it was'

# The same columns as PyArrow writes them: other encodings, pages and compression.
"$work/venv/bin/python" -c 'import sys, pyarrow.parquet as pq; pq.write_table(pq.read_table(sys.argv[1]), sys.argv[2], compression="gzip", data_page_version="2.0")' \
    "$work/samples.parquet" "$work/again.parquet"
"$foliot" import parquet "$work/again.parquet" --data-dir "$work/third" 2>/dev/null
"$foliot" export --format line --data-dir "$work/third" "$work/third.lines" 2>/dev/null
cmp <(sort "$work/first.lines") <(sort "$work/third.lines") || fail 'what PyArrow wrote again is another'
pass 'what PyArrow wrote again comes back as it was'

arrow write "$work/weather.parquet"
"$foliot" import parquet "$work/weather.parquet" --measurement weather --text note --without spare.list.element \
    --data-dir "$work/weather" 2>"$work/said" || true
expect "$(cat "$work/said")" '5 rows stored, 1 refused'
pass 'Foliot reads what PyArrow writes'

start_foliot
curl -sf "http://127.0.0.1:$port/write?db=default" --data-binary @"$work/lines"
FOLIOT_URL=http://127.0.0.1:$port "$foliot" query --format parquet \
    'SELECT usage, cores, up FROM cpu WHERE time <= 1767268800000000000 GROUP BY host' >"$work/answer.parquet"
arrow answer "$work/answer.parquet"
pass 'PyArrow reads an answer'
