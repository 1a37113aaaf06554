//! Torture of the real process: killed, starved, lied to and moved in time, under load through
//! every door, with a ledger outside that knows what was answered.
//!
//! `make test` plays each test in short; `TORTURE=40 cargo test --release --test torture` plays
//! forty times as many rounds, which is what `make torture` does. Everything random follows from
//! `TORTURE_SEED`, which is printed. Faults of the machine come from a library that stands between
//! the server and the C library (`faults.c`), so a C compiler is needed.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod backups;
mod changes;
mod clocks;
mod delivery;
mod doors;
mod faults;
#[path = "../harness/mod.rs"]
mod harness;
mod held;
mod kills;
mod ledger;
mod limits;
mod opening;
mod space;
mod stops;
mod syncs;

use std::sync::OnceLock;
use std::time::SystemTime;

/// Settings under which flushes, merges and changes of the epoch come often.
const RESTLESS: [&str; 10] = [
    "--head-bytes",
    "1MiB",
    "--merge-parts",
    "2",
    "--merge-quiet",
    "1s",
    "--index-quiet-series",
    "100",
    "--index-active-window",
    "1s",
];

/// The seed of everything random.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let told = std::env::var("TORTURE_SEED").ok().and_then(|text| text.parse().ok());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let seed = told.unwrap_or(now.as_nanos() as u64);
        println!("TORTURE_SEED={seed}");
        seed
    })
}

/// How many times as much is played.
fn times() -> u64 {
    std::env::var("TORTURE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
