//! Directories of foreign servers: what is in them.

use crate::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// What is in a directory, by name.
pub(crate) fn list(dir: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let doing = || Error::io(format!("read the directory {}", dir.display()));
    let entries = std::fs::read_dir(dir).map_err(doing())?;
    let named = |entry: io::Result<std::fs::DirEntry>| {
        entry.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
    };
    let mut entries: Vec<_> = entries.map(named).collect::<Result<_, _>>().map_err(doing())?;
    entries.sort();
    Ok(entries)
}

pub(crate) fn bytes_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |data| data.len())
}

pub(crate) fn bytes_in(dir: &Path) -> u64 {
    list(dir).unwrap_or_default().iter().map(|(_, path)| bytes_of(path)).sum()
}
