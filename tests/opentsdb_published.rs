//! What OpenTSDB's own unit tests expect (its repository, `test`, revision 0f681b754), as facts:
//! inputs and results written anew, each under the name of the test that it was taken from. Where
//! those tests look at parts by themselves, the same is asked of the whole server here.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;
mod opentsdb;
mod published;
