//! Parts: immutable files of blocks. Format, writer, reader.

pub(crate) mod format;
mod reader;
mod writer;

pub(crate) use reader::{BlockPlace, Part};
pub(crate) use writer::{BlockRef, PartWriter};
