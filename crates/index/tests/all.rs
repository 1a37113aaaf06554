//! Tests of the index as its users see it: one program, so that what they share is compiled and
//! linked once. `cargo test -p foliot-index --test all census::` takes those of one file.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod census;
mod epochs;
mod forget;
mod model;
mod properties;
mod registry;
