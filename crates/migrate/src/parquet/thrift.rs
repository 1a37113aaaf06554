//! Thrift's compact protocol, as far as footers and heads of pages need it
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>).

use crate::cursor::{Cursor, Wrong};

/// Structs, lists and maps within each other: the format's own go six deep.
const DEPTH_MAX: usize = 32;

/// Entries of a list. Readers make room for all of them before they read the first.
const ENTRIES_MAX: u64 = 1 << 18;

pub(super) const STOP: u8 = 0;
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCT: u8 = 12;

/// What is done with a field, by its number and type: true when its value was read.
type OnField<'f, 'b> = &'f mut dyn FnMut(i64, u8, &mut Cursor<'b>) -> Result<bool, Wrong>;

/// Reads a struct. Values that `on` does not read are passed over.
pub(super) fn fields<'b>(cursor: &mut Cursor<'b>, on: OnField<'_, 'b>) -> Result<(), Wrong> {
    fields_within(cursor, DEPTH_MAX, on)
}

/// The number of entries of a list, and their type.
pub(super) fn list(cursor: &mut Cursor<'_>) -> Result<(u64, u8), Wrong> {
    let head = cursor.byte()?;
    let count = match head >> 4 {
        15 => cursor.uvarint()?,
        few => u64::from(few),
    };
    // Each entry takes a byte at least.
    if count > cursor.0.len() as u64 {
        return Err("a list has less in it than it says".to_owned());
    }
    if count > ENTRIES_MAX {
        return Err(format!("a list has {count} entries, up to {ENTRIES_MAX} may be"));
    }
    Ok((count, head & 0x0f))
}

fn fields_within<'b>(
    cursor: &mut Cursor<'b>,
    depth: usize,
    on: OnField<'_, 'b>,
) -> Result<(), Wrong> {
    let mut id = 0i64;
    loop {
        let head = cursor.byte()?;
        let kind = head & 0x0f;
        if kind == STOP {
            return Ok(());
        }
        id = match head >> 4 {
            0 => cursor.varint()?,
            step => id.saturating_add(i64::from(step)),
        };
        // Booleans stand in the head of their field.
        if !on(id, kind, cursor)? && ![TRUE, FALSE].contains(&kind) {
            pass(cursor, kind, depth)?;
        }
    }
}

/// Passes over a value.
fn pass(cursor: &mut Cursor<'_>, kind: u8, depth: usize) -> Result<(), Wrong> {
    let depth = depth.checked_sub(1).ok_or("values within values go too deep")?;
    match kind {
        TRUE | FALSE | 3 => cursor.byte().map(|_| ())?,
        4..=I64 => cursor.varint().map(|_| ())?,
        7 => cursor.bytes(8).map(|_| ())?,
        8 => cursor.text().map(|_| ())?,
        LIST | 10 => {
            let (count, kind) = list(cursor)?;
            for _ in 0..count {
                pass(cursor, kind, depth)?;
            }
        }
        11 => {
            let count = cursor.count()?;
            let kinds = if count > 0 { cursor.byte()? } else { 0 };
            for _ in 0..count {
                pass(cursor, kinds >> 4, depth)?;
                pass(cursor, kinds & 0x0f, depth)?;
            }
        }
        STRUCT => fields_within(cursor, depth, &mut |_, _, _| Ok(false))?,
        13 => cursor.bytes(16).map(|_| ())?,
        _ => return Err(format!("{kind} is no type of a value")),
    }
    Ok(())
}
