#!/usr/bin/env bash
# Follows README, the tutorial and the guides as a newcomer would, with a real curl and the release build, or the one that FOLIOT names; `make test`
# does the same with a stand-in for curl, and with all packages, so that what it built is not built again. Needs curl.
set -euo pipefail
cd "$(dirname "$0")/../.."
TESTED_BINARY=${FOLIOT:-$PWD/target/release/foliot} DOCUMENTS_CURL=$(command -v curl) \
    cargo test --quiet --locked --workspace --test documents -- .md
