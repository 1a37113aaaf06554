#!/usr/bin/env bash
# Follows README.md as a newcomer would: runs its `sh run` blocks in order against a fresh server and
# looks at what each prints. Needs curl and python3.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

start_foliot --set agent.host=true --set agent.interval=1s
# The blocks speak to the default port; this server got a free one.
awk -v dir="$work" '
    /^```sh run$/ {number++; inside = 1; next}
    /^```$/ {inside = 0}
    inside {print > (dir "/block-" number)}' "$root/README.md"
sed -i "s#127\.0\.0\.1\([:/]\)4242#127.0.0.1\1$port#g" "$work"/block-*
wait_for 20 "curl -sg 'http://127.0.0.1:$port/api/suggest?type=metrics&q=proc.loadavg.1' | grep -q proc"

run() { bash -euo pipefail "$work/block-$1" 2>&1 || fail "README block $1: $(cat "$work/block-$1")"; }

output=$(run 1) && expect "$output" '"metric":"proc.loadavg.1min"'
output=$(run 2) && expect_empty "$output"
output=$(run 3) && expect "$output" '{"success":1,"failed":0}'
output=$(run 4) && expect_empty "$output"
output=$(run 5)
expect "$output" '"bed":"north"'
expect "$output" ':21.5'
expect "$output" ':22.0'
expect "$output" '"metric":"soil.moisture"'
expect "$output" '["greenhouse.humidity","greenhouse.temp"]'
output=$(run 6)
expect "$output" 'partial write'
expect "$output" "unable to parse 'soil,bed=north ph=acid'"
[ ! -e "$work/block-7" ] || fail 'README has a block that this script does not know'
pass 'README: 6 blocks'
