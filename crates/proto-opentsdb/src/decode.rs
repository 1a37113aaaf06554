//! Decoding: put lines and JSON points into batches, in place.

mod histogram;
mod json;
mod lines;
mod rollup;
mod scanner;
#[cfg(test)]
mod seen;

pub(crate) use histogram::decode_histogram_line;
pub use histogram::decode_histograms;
pub(crate) use json::{Element, element_json, elements, read_timestamp, scalar_text};
pub use json::{WORDED_MAX, decode_json};
pub(crate) use lines::decode_line;
pub use lines::{decode_datagram, decode_lines};
pub(crate) use rollup::decode_rollup_line;
pub use rollup::{RollupPoint, decode_rollups};
#[cfg(test)]
pub(crate) use seen::{Seen, read_back};

use crate::rollup::Rollups;
use foliot_model::Batch;
use std::sync::Arc;

/// The limits of this door.
#[derive(Clone, Debug)]
pub struct Options {
    /// The longest telnet line, in bytes; longer ones are refused and skipped.
    pub line_bytes_max: usize,
    /// The most tags a point may have. OpenTSDB's own limit is 8; the default is none.
    pub tags_max: Option<usize>,
    /// The rollups that are kept; nothing when none are taken.
    pub rollups: Option<Arc<Rollups>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { line_bytes_max: 256 << 10, tags_max: None, rollups: None }
    }
}

/// The class of a reject whose value is no number: telnet answers `invalid value` to it.
pub(crate) const FIELD_NUMBER: &str = "number";
/// The class of a reject whose time is none: telnet answers the same to it.
pub(crate) const FIELD_TIME_NUMBER: &str = "time";

/// The shape that every point of this door has: one field with the default name.
pub(crate) fn point_shape(batch: &mut Batch<'_>) -> u32 {
    if batch.shapes().is_empty() {
        let name = foliot_model::DEFAULT_FIELD.as_bytes();
        let field = batch.push_scratch(|out| out.extend_from_slice(name));
        batch.push_shape(&[field]);
    }
    0
}
