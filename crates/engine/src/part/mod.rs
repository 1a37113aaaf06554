//! Parts: immutable files of blocks. Format, writer, reader.

mod bay;
mod cursor;
mod directory;
pub(crate) mod format;
mod labels;
mod reader;
mod writer;

pub(crate) use cursor::Cursor;
pub(crate) use reader::{BlockPlace, Part, Seat, Sought};
pub(crate) use writer::{BlockRef, PartWriter};
