//! Writing a paged file.

use super::parity::{self, Parity};
use super::{layout, page_checksum};
use crate::error::Error;
use crate::limits::{FILE_PAGE_BYTES, PARITY_WIDTH_MAX};
use foliot_codec::Packer;
use foliot_disk::{AppendFile, Disk};
use std::path::{Path, PathBuf};

/// Writes a paged file from front to back.
pub(crate) struct PagedWriter {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    number: u64,
    page: u64,
    buffer: Vec<u8>,
    out: Vec<u8>,
    /// What packs pages, in a file whose pages are packed.
    packer: Option<Packer>,
    /// Lengths of the stored pages.
    lens: Vec<u32>,
    parity: Parity,
}

impl PagedWriter {
    pub(crate) fn create(disk: &dyn Disk, path: &Path, number: u64) -> Result<Self, Error> {
        let file = disk.create(path).map_err(Error::io("create", path))?;
        let buffer = Vec::with_capacity(FILE_PAGE_BYTES);
        let path = path.to_owned();
        Ok(Self {
            file,
            path,
            number,
            page: 0,
            buffer,
            out: Vec::new(),
            packer: None,
            lens: Vec::new(),
            parity: Parity::default(),
        })
    }

    /// The same writer, packing pages.
    pub(crate) fn packed(self) -> Self {
        Self { packer: Some(Packer::default()), ..self }
    }

    /// The logical position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.page * FILE_PAGE_BYTES as u64 + self.buffer.len() as u64
    }

    /// Appends logical bytes.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let room = FILE_PAGE_BYTES - self.buffer.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == FILE_PAGE_BYTES {
                self.end_page()?;
            }
        }
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), Error> {
        if parity::is_full(self.parity.len) {
            self.end_stretch(PARITY_WIDTH_MAX);
        }
        let at = self.out.len();
        // The first page says what the file is to whoever looks at its bytes.
        let is_first = self.page == 0;
        let is_packed = match &mut self.packer {
            Some(packer) if !is_first => packer.pack(&self.buffer, &mut self.out),
            _ => false,
        };
        if !is_packed {
            self.out.extend_from_slice(&self.buffer);
        }
        let stored = self.out.get(at..).unwrap_or_default();
        self.lens.push(stored.len() as u32);
        let crc = page_checksum(self.number, self.page, stored);
        self.out.extend_from_slice(&crc.to_le_bytes());
        self.parity.absorb(self.out.get(at..).unwrap_or_default());
        self.buffer.clear();
        self.page += 1;
        // Few calls, and little memory: a flush may write hundreds of files at once.
        if self.out.len() >= 2 * FILE_PAGE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the parity of the stretch, from the next sector on.
    fn end_stretch(&mut self, width: usize) {
        let at = self.file.len() + self.out.len() as u64;
        self.out.resize(self.out.len() + layout::gap(at), 0);
        let parity = self.parity.end(width, self.number, self.page);
        self.out.extend_from_slice(&parity);
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.file.append(&self.out).map_err(Error::io("write", &self.path))?;
        self.out.clear();
        Ok(())
    }

    /// Ends the file and syncs it. Returns its length. Its name is durable after `sync_dir`.
    pub(crate) fn finish(mut self) -> Result<u64, Error> {
        let len = self.position();
        if !self.buffer.is_empty() {
            self.end_page()?;
        }
        let width = parity::width(self.parity.len, self.parity.first);
        let table = layout::table(&self.lens, width as u32, len, self.number);
        self.out.extend_from_slice(&table);
        self.end_stretch(width);
        self.out.extend_from_slice(&table);
        self.flush()?;
        self.file.sync().map_err(Error::io("sync", &self.path))?;
        Ok(self.file.len())
    }
}
