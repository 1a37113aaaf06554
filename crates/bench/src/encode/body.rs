//! Bodies that are no text of lines: what a server wants gathers rows in its own way, in the file
//! of its adapter or, where several servers want it, beside this one.

use crate::cursor::Row;
use crate::fleet::Fleet;

/// A format of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    /// Whether a line is a row of several values rather than a value.
    pub(crate) is_by_row: bool,
    /// Whether a body is one JSON text.
    pub(crate) is_json: bool,
    /// An empty body.
    pub(crate) body: fn() -> Box<dyn Body>,
}

/// A body that is being filled.
pub(crate) trait Body {
    /// Adds a row at `time`, in the door's precision; returns its values.
    fn row(&mut self, fleet: &Fleet, row: &Row<'_>, time: i64, out: &mut Vec<u8>) -> u64;

    /// Writes what is gathered and forgets it.
    fn close(&mut self, fleet: &Fleet, out: &mut Vec<u8>);
}
