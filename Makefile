# Every job of the house, by one word each. Needs Rust, a C compiler and bash, nothing else,
# save where a target says so.

CARGO ?= cargo

.PHONY: help run test check fmt tidy web test-foreign compare-influxql compare-promql compare-opentsdb deny bench benchmarks sim mutations torture attacks costs fuzz dist boards test-packages

help:            ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

run:             ## build, then serve on 127.0.0.1:4242 with this host's own measurements
	$(CARGO) build --release -p foliot
	./target/release/foliot serve --data-dir ./foliot-data --set agent.host=true

check:           ## fast: format, lints, house rules
	$(CARGO) fmt --all --check
	$(CARGO) run --quiet -p foliot-xtask -- tidy
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Most tests wait for a server most of the time, so that three for each processor run at once.
test: export RUST_TEST_THREADS ?= $(shell expr 3 '*' "$$(getconf _NPROCESSORS_ONLN)")
test: check      ## everything that needs only Rust, a C compiler and bash
	$(CARGO) test --workspace --locked

test-foreign:    ## foreign clients and servers against ours; installs what it needs
	tests/foreign/run

web:             ## build the page from web/ into crates/server/src/web/dist; needs Node 20 or later
	cd web && npm ci --no-fund --no-audit && npm run build && npm test

compare-influxql: ## that part of test-foreign which asks Foliot and Debian's InfluxDB the same
	$(CARGO) build --release --locked -p foliot
	tests/foreign/influxql.sh

compare-promql:  ## that part of test-foreign which asks Foliot and Debian's Prometheus the same
	$(CARGO) build --release --locked -p foliot
	tests/foreign/prometheus.sh

compare-opentsdb: ## that part of test-foreign which asks Foliot and OpenTSDB 2.4.1 the same
	$(CARGO) build --release --locked -p foliot
	tests/foreign/opentsdb.sh

deny:            ## licences, advisories and sources of all dependencies
	tools/deny

bench:           ## the gates of docs/performance.md, what small requests take, then each room's hot loops
	$(CARGO) build --release --locked -p foliot
	tools/gates
	$(CARGO) build --profile counted --locked -p foliot
	tools/instructions
	tools/bench

benchmarks:      ## five published experiments beside the peers that are installed, an hour or two each
	$(CARGO) build --release --locked -p foliot
	tools/benchmarks

sim:             ## crash the store a hundred thousand times, from a random seed
	$(CARGO) run --release -p foliot-sim -- --rounds 100000

mutations:       ## make mistakes of the past again, one at a time, and see the simulator find them
	tools/mutations

torture:         ## the real process killed, starved, lied to and moved in time, about half an hour
	TORTURE=40 $(CARGO) test --release --locked -p foliot --test torture -- --test-threads 1 --nocapture

attacks:         ## Foliot and its peers under sixteen attacks beside a canary, a quarter of an hour for each server
	$(CARGO) build --release --locked -p foliot
	tests/attacks/run
	tests/attacks/run --stops

costs:           ## what TLS and access control cost, in CPU of the server
	$(CARGO) build --release --locked -p foliot
	tools/costs

fuzz:            ## random bytes for every decoder and reader, two hours; needs nightly Rust, clang and cargo-fuzz
	tools/fuzz 300

test-packages:   ## the Debian package in a bare Debian; builds it first, half an hour; needs root and debootstrap
	tests/foreign/packages.sh

dist:            ## packages for all machines, into dist/; needs rustup, Python 3, curl and dpkg-deb
	tools/dist

boards:          ## i686, and ARM under QEMU, beside x86-64: tests, files and answers; an hour or more; needs rustup and Python 3
	tools/boards

fmt:             ## format and wrap
	$(CARGO) fmt --all
	$(CARGO) run --quiet -p foliot-xtask -- wrap
