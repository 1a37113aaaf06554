#!/usr/bin/env bash
# The page: its sources make the files that are committed, their logic is right, and a real browser
# shows and does what it should. Needs npm, Node 20 or later (fetched where it is older), chromium.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

node_20
cd "$root/web"
fetched npm ci --silent --no-fund --no-audit
npx tsc --noEmit
npx vite build --logLevel warn --outDir "$work/dist"
node pack.mjs "$work/dist"
# What compresses differs from machine to machine; a test of the server unpacks what is committed.
diff -r -x '*.gz' "$work/dist" "$root/crates/server/src/web/dist" \
    || fail "the committed page is not what web/ makes: run make web"
pass 'the committed page is what its sources make'
npx vitest run --reporter=dot
pass 'unit tests of the page'

# What the browser's test has obeyed once it comes to that: a target that is up when the test names it,
# one that is not, and rules of every state.
echo 'scrape_configs: []' >"$work/prometheus.yml"
cat >"$work/monitored.yml" <<END
scrape_configs:
- job_name: own
  scrape_interval: 1s
  file_sd_configs: [{files: ['$work/targets.json'], refresh_interval: 1s}]
- job_name: gone
  scrape_interval: 1s
  static_configs: [{targets: ['127.0.0.1:1', 'left:1'], labels: {'zone': '<img src=x onerror=document.title=1>'}}]
  relabel_configs: [{source_labels: [__address__], regex: 'left.*', action: drop}]
rule_files: ['$work/rules.yml']
END
cat >"$work/rules.yml" <<'END'
groups:
- name: shop
  interval: 1s
  rules:
  - {record: 'shop:one', expr: vector(1)}
  - {record: 'shop:many', expr: 'foliot_rows_total + on () foliot_rows_total'}
  - {alert: Burning, expr: vector(7) > 3, labels: {severity: page}, annotations: {summary: 'it is {{ $value }} <img src=x onerror=document.title=1>'}}
  - {alert: Slowly, expr: vector(1), for: 1h}
END
start_foliot --set agent.host=true --set agent.interval=1s --limits-query-seconds 600 --prometheus-config "$work/prometheus.yml"
export FOLIOT="http://127.0.0.1:$port" TARGETS="$work/targets.json" MONITORED="$work/monitored.yml" CONFIG="$work/prometheus.yml"
export FOLIOT_PID="$foliot_pid" BINARY="$foliot" DATA="$work/data"
# One after the other: the first begins with a server that nobody has sent anything to.
for part in page explore sql influxql editor files boards; do
    timeout 600 node --test --test-reporter=spec browser/$part.test.mjs
done
pass 'chromium shows and does what it should'
