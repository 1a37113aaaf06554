//! Tests of the store as its users see it: one program, so that what they share is compiled and
//! linked once. `cargo test -p foliot-engine --test all absent::` takes those of one file.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    reason = "what fails here is a failing test"
)]

mod absent;
mod audit;
mod backup;
mod clock;
mod damage;
mod delete;
mod delete_many;
mod drops;
mod epochs;
mod faults;
mod flush;
mod histograms;
mod inspect;
mod instant;
mod keys;
mod late;
mod merge;
mod model;
mod overlaps;
mod pieces;
mod rename;
mod repair;
mod retention;
mod segments;
mod series_limits;
mod space;
mod support;
mod wal;
