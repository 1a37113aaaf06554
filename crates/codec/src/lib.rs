//! Pure compression of samples: slices to bytes and back.
//!
//! What this room is not: it opens no file, knows no series and no label, and keeps no state between
//! calls beyond memory that a caller lends it.

mod checksum;
mod error;
pub mod varint;

pub use checksum::{checksum, checksum_append};
pub use error::CodecError;
