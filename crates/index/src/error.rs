//! What can go wrong in this room.

use std::fmt;

/// A record that contradicts its grammar or what is already registered.
#[derive(Debug)]
pub struct Error {
    /// Position of the record's first byte.
    pub offset: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "registration record at byte {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for Error {}
