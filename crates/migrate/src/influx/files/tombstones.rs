//! What was deleted of a file of blocks: keys with stretches of time, in a file beside it.

use crate::cursor::{Cursor, Wrong};
use flate2::read::MultiGzDecoder;
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// What the versions of the format begin with; version 1 begins with its first key.
const VERSION_2: u32 = 0x1502;
const VERSION_3: u32 = 0x1503;
const VERSION_4: u32 = 0x1504;

/// Longest key: the bits above have other meanings.
const KEY_BYTES_MAX: u32 = 0x00ff_ffff;

/// Most bytes of all that was deleted of one file.
const BYTES_MAX: u64 = 1 << 30;

/// Stretches of time by key, both ends included.
#[derive(Debug, Default)]
pub(super) struct Tombstones(HashMap<Vec<u8>, Vec<(i64, i64)>>);

impl Tombstones {
    /// Reads a file, which is missing when nothing was deleted.
    pub(super) fn read(path: &Path) -> Result<Self, Wrong> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        Self::parse(&bytes).map_err(|why| format!("{}: {why}", path.display()))
    }

    fn parse(bytes: &[u8]) -> Result<Self, Wrong> {
        let mut cursor = Cursor(bytes);
        let mut found = Self::default();
        if bytes.is_empty() {
            return Ok(found);
        }
        match cursor.be32().unwrap_or_default() {
            VERSION_2 => found.take(cursor)?,
            VERSION_3 | VERSION_4 => {
                let mut plain = Vec::new();
                let unpacked =
                    MultiGzDecoder::new(cursor.0).take(BYTES_MAX).read_to_end(&mut plain);
                unpacked.map_err(|error| format!("it cannot be unpacked: {error}"))?;
                found.take(Cursor(&plain))?;
            }
            // A key a line, all of it deleted.
            _ => {
                for key in bytes.split(|byte| *byte == b'\n').filter(|key| !key.is_empty()) {
                    found.note(key, (i64::MIN, i64::MAX));
                }
            }
        }
        Ok(found)
    }

    fn take(&mut self, mut cursor: Cursor<'_>) -> Result<(), Wrong> {
        while !cursor.is_empty() {
            let length = cursor.be32()?;
            if length > KEY_BYTES_MAX {
                return Err(
                    "a delete by the beginning of keys or by a condition is not read".into()
                );
            }
            let key = cursor.bytes(length as usize)?;
            let stretch = (cursor.be64()?.cast_signed(), cursor.be64()?.cast_signed());
            self.note(key, stretch);
        }
        Ok(())
    }

    fn note(&mut self, key: &[u8], stretch: (i64, i64)) {
        self.0.entry(key.to_vec()).or_default().push(stretch);
    }

    /// Whether a value of a key was deleted.
    pub(super) fn has(&self, key: &[u8], time_ns: i64) -> bool {
        let mut stretches = self.0.get(key).into_iter().flatten();
        stretches.any(|(from, to)| (*from..=*to).contains(&time_ns))
    }
}

#[cfg(test)]
#[allow(clippy::big_endian_bytes, reason = "the files of InfluxDB are big-endian")]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn all_versions_are_read() {
        let mut entry = Vec::new();
        entry.extend(3_u32.to_be_bytes());
        entry.extend(b"k#f");
        entry.extend(5_i64.to_be_bytes());
        entry.extend(7_i64.to_be_bytes());
        let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
        zipped.write_all(&entry).unwrap();
        let zipped = zipped.finish().unwrap();
        for bytes in [
            [&VERSION_2.to_be_bytes()[..], &entry].concat(),
            [&VERSION_3.to_be_bytes()[..], &zipped].concat(),
            [&VERSION_4.to_be_bytes()[..], &zipped, &zipped].concat(),
        ] {
            let found = Tombstones::parse(&bytes).unwrap();
            let there = |time_ns| found.has(b"k#f", time_ns);
            assert!(!there(4) && there(5) && there(7) && !there(8) && !found.has(b"other", 6));
        }
        let first = Tombstones::parse(b"k#f\nother\n").unwrap();
        assert!(first.has(b"k#f", i64::MIN) && first.has(b"other", 0) && !first.has(b"x", 0));
        let by_prefix = [VERSION_4.to_be_bytes(), [0xff; 4]].concat();
        assert!(Tombstones::parse(&by_prefix).is_err());
    }
}
