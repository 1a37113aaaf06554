//! Looks at a footer before the format's library reads it: that makes room for as many columns and
//! groups as a footer claims, and goes as deep into it as groups lie within groups.
//!
//! ```text
//! file  PAR1  …  footer  length of footer u32  PAR1
//! ```

use super::thrift::{I32, LIST, STRUCT, fields, list};
use crate::cursor::{Cursor, Wrong};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Groups of columns within groups. Tools for analysis make ten.
const DEPTH_MAX: usize = 64;

/// What stands at the end of a file, and before it the length of its footer.
const MAGIC: &[u8; 4] = b"PAR1";

/// The fields that are looked at: the list of columns and groups, and how many a group has.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// Says what keeps a footer of up to `bytes_max` from being read. What is no footer at all is left
/// to the library, which says so.
pub(super) fn check(file: &File, file_bytes: u64, bytes_max: u64) -> Result<(), Wrong> {
    let mut end = [0; 8];
    let Some(end_at) = file_bytes.checked_sub(end.len() as u64) else { return Ok(()) };
    let failed = |error: std::io::Error| error.to_string();
    file.read_exact_at(&mut end, end_at).map_err(failed)?;
    let [a, b, c, d, magic @ ..] = end;
    let bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(at) = end_at.checked_sub(bytes).filter(|_| magic == *MAGIC) else { return Ok(()) };
    if bytes > bytes_max {
        return Err(format!(
            "its footer has {bytes} bytes, up to {bytes_max} may be (limits.parquet_footer_bytes)"
        ));
    }
    let mut footer = vec![0; bytes as usize];
    file.read_exact_at(&mut footer, at).map_err(failed)?;
    check_bytes(&footer).map_err(|why| format!("its footer: {why}"))
}

fn check_bytes(footer: &[u8]) -> Result<(), Wrong> {
    fields(&mut Cursor(footer), &mut |id, kind, cursor| match (id, kind) {
        (SCHEMA, LIST) => check_schema(cursor).map(|()| true),
        _ => Ok(false),
    })
}

/// Columns and groups stand one after the other; each group says how many of the next are in it.
fn check_schema(cursor: &mut Cursor<'_>) -> Result<(), Wrong> {
    let (count, kind) = list(cursor)?;
    if kind != STRUCT {
        return Err("its list of columns is none".to_owned());
    }
    // How many are still to come of each group that is open.
    let mut open: Vec<i64> = Vec::new();
    for _ in 0..count {
        let mut children = 0;
        fields(cursor, &mut |id, kind, cursor| match (id, kind) {
            (CHILDREN, I32) => cursor.varint().map(|read| {
                children = read;
                true
            }),
            _ => Ok(false),
        })?;
        if !(0..count.cast_signed()).contains(&children) {
            return Err(format!("a group of {children} columns, where all are {count}"));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > DEPTH_MAX {
            return Err(format!("groups of columns lie more than {DEPTH_MAX} deep in each other"));
        }
    }
    Ok(())
}
