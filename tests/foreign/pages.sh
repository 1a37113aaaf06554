#!/usr/bin/env bash
# Pages of other sites in a real browser: they neither write nor read, whatever they try, and the same tries work from a
# page that is let in. Needs npm, Node 20 or later (fetched where it is older), chromium.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

node_20
cd "$root/web"
fetched npm ci --silent --no-fund --no-audit

# try_pages FLAG...: a fresh server, and all pages.
try_pages() {
    graphite=$(free_port) ticktock=$(free_port)
    start_foliot --listen-graphite "127.0.0.1:$graphite" --listen-ticktock "127.0.0.1:$ticktock" --listen-udp \
        --opentsdb-allow-delete "$@"
    FOLIOT="http://127.0.0.1:$port" GRAPHITE="http://127.0.0.1:$graphite" TICKTOCK="http://127.0.0.1:$ticktock" UDP="$port" \
        AUDIT="$work/data/audit.log" node --test --test-reporter=spec browser/pages.test.mjs
    kill "$foliot_pid"
    wait "$foliot_pid" || true
    rm -rf "$work/data"
}

try_pages
pass 'pages of other sites write nothing and read nothing'
FRIEND=$(free_port)
export FRIEND
try_pages --http-cors-domains "http://127.0.0.1:$FRIEND"
pass 'nor do they where one page is let in, which does all that they tried'
