//! The foliot binary: parse, compose, run, stop in reverse.
fn main() {}
