//! Automation: tidy checks and more.
fn main() {}
