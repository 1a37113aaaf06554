//! Seeded crash simulator of the store.
fn main() {}
