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
again() { arrow again "$1" "$work/samples.parquet" "$work/again.parquet"; }
encodings='{"time": "DELTA_BINARY_PACKED", "measurement": "DELTA_LENGTH_BYTE_ARRAY", "value_float": "BYTE_STREAM_SPLIT"}'
for how in '{"compression": "gzip", "data_page_version": "2.0"}' '{"compression": "snappy"}' '{"compression": "none", "use_dictionary": false}' \
    '{"compression": "zstd", "use_dictionary": false, "data_page_version": "2.0"}' \
    "{\"compression\": \"snappy\", \"use_dictionary\": false, \"column_encoding\": $encodings}" \
    "{\"compression\": \"gzip\", \"use_dictionary\": false, \"data_page_version\": \"2.0\", \"column_encoding\": $encodings}"; do
    again "$how"
    rm -rf "$work/third"*
    "$foliot" import parquet "$work/again.parquet" --data-dir "$work/third" 2>/dev/null
    "$foliot" export --format line --data-dir "$work/third" "$work/third.lines" 2>/dev/null
    cmp <(sort "$work/first.lines") <(sort "$work/third.lines") || fail "what PyArrow wrote again is another: $how"
done
pass 'what PyArrow wrote again comes back as it was'

refused() { "$foliot" import parquet "$work/again.parquet" --data-dir "$work/fourth" 2>&1 && fail "it was taken: $1" || true; }
again '{"compression": "brotli"}'
expect "$(refused brotli)" 'it is packed with brotli, which is not read'
again '{"use_dictionary": false, "column_encoding": {"field": "DELTA_BYTE_ARRAY"}}'
expect "$(refused DELTA_BYTE_ARRAY)" 'column "field": it is encoded as DELTA_BYTE_ARRAY, which is not read'
pass 'what is not read is named'

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
