//! The first eight bytes of every file: what it is, and who can read it.
//!
//! ```text
//! magic u32 | version u16 | feature flags u16
//! ```
//!
//! The version is raised when older builds would misread a file; every later build still reads
//! every earlier version. A feature flag marks a file that uses something added without raising the
//! version; a build that does not know the flag refuses the file too. The only one so far is
//! [`PACKED`], of parts.

use crate::error::Error;
use crate::part::format::take;
use std::path::Path;

/// What a kind of file begins with.
pub(crate) struct Preamble {
    /// Four letters.
    pub(crate) magic: [u8; 4],
    /// The newest version this build reads, and the one it writes.
    pub(crate) version: u16,
    /// The kind in words, with its article.
    pub(crate) what: &'static str,
}

/// The feature flag of parts whose pages are packed, see `paged.rs`.
pub(crate) const PACKED: u16 = 1;
/// The kind of file that may have it.
const PACKED_MAGIC: [u8; 4] = *b"Fprt";

impl Preamble {
    /// Bytes of a preamble.
    pub(crate) const LEN: usize = 8;

    /// The preamble that this build writes.
    pub(crate) fn bytes(&self) -> [u8; Self::LEN] {
        self.bytes_with(0)
    }

    /// The preamble of a file that has features.
    pub(crate) fn bytes_with(&self, features: u16) -> [u8; Self::LEN] {
        let [a, b, c, d] = self.magic;
        let [low, high] = self.version.to_le_bytes();
        let [features_low, features_high] = features.to_le_bytes();
        [a, b, c, d, low, high, features_low, features_high]
    }

    /// Whether a file that begins like this is of a kind that may be packed.
    pub(crate) fn may_be_packed(bytes: &[u8]) -> bool {
        bytes.starts_with(&PACKED_MAGIC)
    }

    /// Takes the preamble off the front of `rest`.
    ///
    /// # Errors
    /// When the file is of another kind, or newer than this build.
    pub(crate) fn take(&self, rest: &mut &[u8], path: &Path) -> Result<(), Error> {
        let other = || Error::corrupt(path, 0, format!("not {}", self.what));
        if take(rest) != Some(self.magic) {
            return Err(other());
        }
        let version = take(rest).map(u16::from_le_bytes).ok_or_else(other)?;
        let features = take(rest).map(u16::from_le_bytes).ok_or_else(other)?;
        if version > self.version {
            let (path, known) = (path.to_owned(), self.version);
            return Err(Error::TooNew { path, version, known });
        }
        let known = if self.magic == PACKED_MAGIC { PACKED } else { 0 };
        let unknown = features & !known;
        if unknown != 0 {
            return Err(Error::UnknownFeatures { path: path.to_owned(), unknown });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Preamble = Preamble { magic: *b"Ftst", version: 3, what: "a test file" };

    fn error(bytes: &[u8]) -> String {
        KIND.take(&mut &*bytes, Path::new("some/file")).unwrap_err().to_string()
    }

    #[test]
    fn newer_and_other_files_are_refused_by_name() {
        let mut rest = &[&KIND.bytes()[..], b"rest"].concat()[..];
        KIND.take(&mut rest, Path::new("some/file")).unwrap();
        assert_eq!(rest, b"rest");
        assert!(KIND.take(&mut &b"Ftst\x01\x00\x00\x00"[..], Path::new("")).is_ok(), "older");
        assert_eq!(
            error(b"Fprt\x03\x00\x00\x00"),
            "damaged file some/file at byte 0: not a test file"
        );
        assert_eq!(error(b"Ftst\x03\x00\x00"), "damaged file some/file at byte 0: not a test file");
        assert_eq!(
            error(b"Ftst\x04\x00\x00\x00"),
            "some/file has format version 4, this build reads up to 3; \
             start the version of Foliot that wrote it, or a later one"
        );
        assert_eq!(
            error(b"Ftst\x03\x00\x10\x00"),
            "some/file uses features that this build does not know (flags 0x0010); \
             start the version of Foliot that wrote it, or a later one"
        );
    }
}
