//! Tests of the executor over a real store: one program, so that what they share is compiled and
//! linked once. `cargo test -p foliot-exec --test all contention::` takes those of one file.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod contention;
mod harness;
mod many;
mod names;
mod newest;
mod sifted;
mod store;
mod sums;
mod together;
