//! Checkpoint files: registration records in checksummed extents between a header and a footer.
//!
//! ```text
//! file    := header extent* footer
//! header  := magic:8 version:u32 epoch:u32 flags:u32 checksum:u32
//! extent  := length:u32 checksum:u32 records:length        length from 1 to EXTENT_BYTES_MAX
//! footer  := 0xffffffff:u32 extents:u32 bytes:u64 chain:u32 checksum:u32
//! ```
//!
//! Integers are little-endian, checksums CRC-32. The header's and the footer's checksum cover what
//! stands before them there; an extent's covers its length and its records; `chain` covers the
//! first eight bytes of every extent in order, so none can be lost, doubled or moved unseen. A
//! reader refuses versions and flags that it does not know. docs/format/index.md draws this.

use crate::Error;
use foliot_codec::{checksum, checksum_append};
use foliot_disk::{AppendFile, ReadFile};
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"FoliotIx";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;
const EXTENT_HEADER_BYTES: usize = 8;
const FOOTER_BYTES: usize = 24;
const FOOTER_MARK: u32 = u32::MAX;

/// Longest extent in bytes. Checkpoints write a few hundred KiB; this bounds what a reader
/// allocates for a damaged length.
pub const EXTENT_BYTES_MAX: usize = 16 << 20;

/// Writes a checkpoint file, extent by extent.
pub struct SegmentWriter {
    file: Box<dyn AppendFile>,
    name: String,
    buffer: Vec<u8>,
    extents: u32,
    bytes: u64,
    chain: u32,
}

impl SegmentWriter {
    /// Starts a checkpoint of `epoch` in the empty `file`, which errors call `name`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(file: Box<dyn AppendFile>, name: &str, epoch: u32) -> Result<Self, Error> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend(epoch.to_le_bytes());
        header.extend(0u32.to_le_bytes());
        header.extend(checksum(&header).to_le_bytes());
        let name = name.to_owned();
        let mut writer = Self { file, name, buffer: Vec::new(), extents: 0, bytes: 0, chain: 0 };
        writer.write(&header)?;
        Ok(writer)
    }

    /// Adds an extent of whole records. Records of more than [`EXTENT_BYTES_MAX`] bytes are the
    /// caller's mistake; [`crate::Registry::checkpoint_slices`] makes none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, records: &[u8]) -> Result<(), Error> {
        debug_assert!(records.len() <= EXTENT_BYTES_MAX);
        if records.is_empty() {
            return Ok(());
        }
        let length = (records.len() as u32).to_le_bytes();
        let sum = checksum_append(checksum(&length), records).to_le_bytes();
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.extend(length);
        buffer.extend(sum);
        self.chain = checksum_append(self.chain, &buffer);
        buffer.extend_from_slice(records);
        self.write(&buffer)?;
        self.buffer = buffer;
        self.extents += 1;
        self.bytes += records.len() as u64;
        Ok(())
    }

    /// Ends the file and waits until it is on stable storage. Returns its length in bytes.
    ///
    /// # Errors
    /// When the file cannot be written or synced.
    pub fn finish(mut self) -> Result<u64, Error> {
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        footer.extend(FOOTER_MARK.to_le_bytes());
        footer.extend(self.extents.to_le_bytes());
        footer.extend(self.bytes.to_le_bytes());
        footer.extend(self.chain.to_le_bytes());
        footer.extend(checksum(&footer).to_le_bytes());
        self.write(&footer)?;
        let io = |source| Error::Io { file: self.name.clone(), action: "sync", source };
        self.file.sync().map_err(io)?;
        Ok(self.file.len())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let io = |source| Error::Io { file: self.name.clone(), action: "write", source };
        self.file.append(bytes).map_err(io)
    }
}

/// Reads a checkpoint file and verifies every byte of it.
pub struct SegmentReader {
    file: Arc<dyn ReadFile>,
    name: String,
    epoch: u32,
    offset: u64,
    extents: u32,
    bytes: u64,
    chain: u32,
    is_done: bool,
}

impl SegmentReader {
    /// Opens a checkpoint, which errors call `name`, and verifies its header.
    ///
    /// # Errors
    /// When the file cannot be read, is no checkpoint, is of an unknown version, or is damaged.
    pub fn new(file: Arc<dyn ReadFile>, name: &str) -> Result<Self, Error> {
        let name = name.to_owned();
        let (offset, is_done) = (0, false);
        let mut reader =
            Self { file, name, epoch: 0, offset, extents: 0, bytes: 0, chain: 0, is_done };
        let header: [u8; HEADER_BYTES] = reader.take("header")?;
        let mut fields = Fields(&header);
        if fields.take() != MAGIC {
            return Err(reader.damaged(0, "is not a registry checkpoint"));
        }
        let (version, epoch, flags) = (fields.u32(), fields.u32(), fields.u32());
        if fields.u32() != checksum(header.get(..HEADER_BYTES - 4).unwrap_or_default()) {
            return Err(reader.damaged(0, "header does not fit its checksum"));
        }
        if version != VERSION || flags != 0 {
            let reason = format!(
                "format version {version} with flags {flags:#x}, this program reads version \
                 {VERSION} without flags: use a newer one"
            );
            return Err(reader.damaged(8, reason));
        }
        reader.epoch = epoch;
        Ok(reader)
    }

    /// The epoch of the records.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Puts the next extent's records into `records`. False at the end of the file, which is
    /// reached only when all of it was there and sound.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn next(&mut self, records: &mut Vec<u8>) -> Result<bool, Error> {
        records.clear();
        if self.is_done {
            return Ok(false);
        }
        let start = self.offset;
        let header: [u8; EXTENT_HEADER_BYTES] = self.take("extent")?;
        let mut fields = Fields(&header);
        let (length, sum) = (fields.u32(), fields.u32());
        if length == FOOTER_MARK {
            self.offset = start;
            self.finish()?;
            self.is_done = true;
            return Ok(false);
        }
        if length == 0 || length as usize > EXTENT_BYTES_MAX {
            return Err(self.damaged(start, format!("extent of {length} bytes")));
        }
        if self.offset + u64::from(length) > self.file.len() {
            return Err(self.damaged(start, "file ends inside an extent"));
        }
        records.resize(length as usize, 0);
        self.fill(records, "extent")?;
        if checksum_append(checksum(&length.to_le_bytes()), records) != sum {
            records.clear();
            return Err(self.damaged(start, "extent does not fit its checksum"));
        }
        self.chain = checksum_append(self.chain, &header);
        self.extents += 1;
        self.bytes += u64::from(length);
        Ok(true)
    }

    fn finish(&mut self) -> Result<(), Error> {
        let start = self.offset;
        let footer: [u8; FOOTER_BYTES] = self.take("footer")?;
        let mut fields = Fields(&footer);
        let (_, extents, bytes, chain) = (fields.u32(), fields.u32(), fields.u64(), fields.u32());
        if fields.u32() != checksum(footer.get(..FOOTER_BYTES - 4).unwrap_or_default()) {
            return Err(self.damaged(start, "footer does not fit its checksum"));
        }
        if (extents, bytes, chain) != (self.extents, self.bytes, self.chain) {
            return Err(self.damaged(start, "extents are missing, doubled or moved"));
        }
        if self.offset != self.file.len() {
            return Err(self.damaged(self.offset, "bytes follow the footer"));
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Error> {
        if self.offset + N as u64 > self.file.len() {
            return Err(self.damaged(self.offset, format!("file ends inside its {what}")));
        }
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8], what: &str) -> Result<(), Error> {
        match self.file.read_at(bytes, self.offset) {
            Ok(()) => {
                self.offset += bytes.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(self.damaged(self.offset, format!("file ends inside its {what}")))
            }
            Err(source) => Err(Error::Io { file: self.name.clone(), action: "read", source }),
        }
    }

    fn damaged(&self, offset: u64, reason: impl Into<String>) -> Error {
        Error::Damaged { file: self.name.clone(), offset, reason: reason.into() }
    }
}

/// Takes fixed-width fields off the front of bytes that are long enough.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *field
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}
