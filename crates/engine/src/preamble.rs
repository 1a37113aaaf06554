//! The first eight bytes of every file: what it is, and who can read it.
//!
//! ```text
//! magic u32 | version u16 | feature flags u16
//! ```
//!
//! The version is raised when older builds would misread a file. Versions that were released are
//! read by every later build; version 1 never was, and is refused. A feature flag marks a file that
//! uses something added without raising the version; a build that does not know the flag refuses
//! the file too. There is none so far.

use crate::error::Error;
use crate::part::format::take;
use foliot_disk::ReadFile;
use std::cmp::Ordering;
use std::path::Path;

/// The format version of files that this build writes, and the only one that it reads.
pub(crate) const VERSION: u16 = 2;

/// What a kind of file begins with.
pub(crate) struct Preamble {
    /// Four letters.
    pub(crate) magic: [u8; 4],
    /// The version that this build reads and writes.
    pub(crate) version: u16,
    /// The kind in words, with its article.
    pub(crate) what: &'static str,
}

impl Preamble {
    /// Bytes of a preamble.
    pub(crate) const LEN: usize = 8;

    /// The preamble that this build writes.
    pub(crate) fn bytes(&self) -> [u8; Self::LEN] {
        let [a, b, c, d] = self.magic;
        let [low, high] = self.version.to_le_bytes();
        [a, b, c, d, low, high, 0, 0]
    }

    /// Takes the preamble off the front of `rest`.
    ///
    /// # Errors
    /// When the file is of another kind, or of a version that this build does not read.
    pub(crate) fn take(&self, rest: &mut &[u8], path: &Path) -> Result<(), Error> {
        let other = || Error::corrupt(path, 0, format!("not {}", self.what));
        if take(rest) != Some(self.magic) {
            return Err(other());
        }
        let version = take(rest).map(u16::from_le_bytes).ok_or_else(other)?;
        let features = take(rest).map(u16::from_le_bytes).ok_or_else(other)?;
        is_known(version, self.version, path)?;
        match features {
            0 => Ok(()),
            unknown => Err(Error::UnknownFeatures { path: path.to_owned(), unknown }),
        }
    }
}

fn is_known(version: u16, known: u16, path: &Path) -> Result<(), Error> {
    let path = || path.to_owned();
    match version.cmp(&known) {
        Ordering::Less => Err(Error::TooOld { path: path(), version, known }),
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(Error::TooNew { path: path(), version, known }),
    }
}

/// Whether bytes whose checksum does not fit begin like a file of this version, or nothing known.
///
/// # Errors
/// When they begin like a file of an earlier one.
pub(crate) fn check_not_old(bytes: &[u8], path: &Path) -> Result<(), Error> {
    match bytes {
        [b'F', _, _, _, 1, 0, ..] => is_known(1, VERSION, path),
        _ => Ok(()),
    }
}

/// Whether a paged file of which nothing else can be read begins like one of this version.
///
/// # Errors
/// When it begins like one of another.
pub(crate) fn check_version(file: &dyn ReadFile, path: &Path) -> Result<(), Error> {
    let mut bytes = [0; Preamble::LEN];
    if file.len() < bytes.len() as u64 {
        return Ok(());
    }
    file.read_at(&mut bytes, 0).map_err(Error::io("read", path))?;
    match bytes {
        [b'F', _, _, _, low, high, _, _] => {
            is_known(u16::from_le_bytes([low, high]), VERSION, path)
        }
        _ => Ok(()),
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
    fn files_of_other_versions_and_kinds_are_refused_by_name() {
        let mut rest = &[&KIND.bytes()[..], b"rest"].concat()[..];
        KIND.take(&mut rest, Path::new("some/file")).unwrap();
        assert_eq!(rest, b"rest");
        assert_eq!(
            error(b"Ftst\x01\x00\x00\x00"),
            "some/file has format version 1, which was never released; this build reads version 3"
        );
        assert_eq!(
            error(b"Fprt\x03\x00\x00\x00"),
            "damaged file some/file at byte 0: not a test file"
        );
        assert_eq!(error(b"Ftst\x03\x00\x00"), "damaged file some/file at byte 0: not a test file");
        assert_eq!(
            error(b"Ftst\x04\x00\x00\x00"),
            "some/file has format version 4, this build reads 3; \
             start the version of Foliot that wrote it, or a later one"
        );
        assert_eq!(
            error(b"Ftst\x03\x00\x10\x00"),
            "some/file uses features that this build does not know (flags 0x0010); \
             start the version of Foliot that wrote it, or a later one"
        );
    }
}
