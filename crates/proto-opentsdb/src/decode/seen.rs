//! For tests: what a store sees of a batch once it has read the keys, all of them.

use foliot_model::{Batch, Cell, KeyParts, Reject};
use std::borrow::Cow;

/// One stored point.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) line: u32,
    /// `measurement,name=value,…` with sorted labels.
    pub(crate) series: String,
    pub(crate) time_ns: i64,
    pub(crate) cell: Cell,
    pub(crate) key_hash: u128,
}

/// Reads the rows back; rows whose key is bad become rejects, which end up sorted by line.
pub(crate) fn read_back(batch: &Batch<'_>, rejects: &mut Vec<Reject>) -> Vec<Seen> {
    let mut rows = Vec::new();
    for row in batch.rows() {
        let mut parts = KeyParts::default();
        let (head, tail) = (batch.slice(row.key_head), batch.slice(row.key_tail));
        let parsed = (batch.syntax().parse)(head, tail, &mut parts);
        if let Err(error) = parsed.and_then(|()| parts.canonicalize()) {
            let field = Cow::Borrowed(error.field);
            rejects.push(Reject { line: row.line, field, reason: error.reason });
            continue;
        }
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let tag = |(name, value)| format!(",{}={}", text(name), text(value));
        let series = text(parts.measurement()) + &parts.labels().map(tag).collect::<String>();
        let cell = batch.cells(row, 1)[0];
        let (line, time_ns, key_hash) = (row.line, row.time_ns, row.key_hash);
        rows.push(Seen { line, series, time_ns, cell, key_hash });
    }
    rejects.sort_by_key(|reject| reject.line);
    rows
}
