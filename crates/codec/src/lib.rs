//! Pure compression of samples: slices to bytes and back.
//!
//! A block holds up to [`BLOCK_SAMPLES_MAX`] samples of one series, its times and its values
//! encoded apart. How many samples a block holds, and how long its two encodings are, the caller
//! remembers. The bytes are specified in `docs/format/block.md`; everything in them is
//! little-endian and of fixed width or LEB128, so each machine writes the same.
//!
//! What this room is not: it opens no file, knows no series and no label, and keeps no state
//! between calls beyond memory that a caller lends it.
//!
//! ```
//! use foliot_codec::{BlockValues, Decoded, Each, Scratch, decode_values, encode_values};
//!
//! let (kinds, scales) = (Each::One(0), Each::One(1));
//! let values = BlockValues { kinds, scales, bits: &[215, 217, 216], bytes: &[] };
//! let mut bytes = Vec::new();
//! let summary = encode_values(&values, &mut Scratch::default(), &mut bytes);
//! assert_eq!(summary.max(), 21.7);
//!
//! let mut decoded = Decoded::default();
//! decode_values(&bytes, 3, &mut decoded)?;
//! assert_eq!(decoded.floats, [21.5, 21.7, 21.6]);
//! # Ok::<(), foliot_codec::CodecError>(())
//! ```

mod bits;
mod cells;
mod checksum;
mod error;
mod exceptions;
mod fit;
mod ints;
mod lane;
mod numbers;
mod pack;
mod records;
mod summary;
mod text;
mod times;
mod values;
pub mod varint;

pub use cells::{Cells, decode_cells};
pub use checksum::{checksum, checksum_append};
pub use error::CodecError;
pub use numbers::to_floats;
pub use pack::{Packer, unpack};
pub use summary::{DecimalSum, Summary};
pub use times::{decode_times, encode_times, steady_times};
pub use values::{
    BlockValues, Decoded, Each, Scratch, Wholes, decode_values, decode_wholes, encode_values,
};

/// The most samples of one block: few enough that a block's columns stay in the first-level cache,
/// enough that headers do not count.
pub const BLOCK_SAMPLES_MAX: usize = 1024;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
