//! Reads the pages of a column, within bounds: the format's library makes room for whatever a page
//! says of itself, and unpacks whatever comes.
//!
//! A page is a head, in Thrift, and as many bytes as that says. All columns of a group are read
//! side by side, so that the bytes of their pages are counted together.

use super::thrift::{FALSE, I32, STRUCT, TRUE, fields};
use crate::cursor::{Cursor, Wrong};
use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::ColumnChunkMetaData;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A head is read in this many bytes; only one with long least and greatest values has more.
const HEAD_BYTES: [u64; 2] = [4 << 10, 4 << 20];

/// What a value of a dictionary takes beside its bytes, at most.
const ENTRY_BYTES: u64 = 40;

/// Bytes of pages that are held, of all columns of a group.
#[derive(Clone, Debug)]
pub(super) struct Held {
    bytes: Arc<AtomicU64>,
    bytes_max: u64,
}

impl Held {
    /// None are held yet, and up to so many may be.
    pub(super) fn up_to(bytes_max: u64) -> Self {
        Self { bytes: Arc::default(), bytes_max }
    }

    /// Counts what replaces `before`.
    fn replace(&self, before: u64, bytes: u64) -> Result<(), Wrong> {
        let all = self.bytes.load(Ordering::Relaxed).saturating_sub(before).saturating_add(bytes);
        if all > self.bytes_max {
            return Err(format!(
                "its pages have {all} bytes where they are read together, up to {} may be \
                 (limits.parquet_pages_bytes): have it written with smaller pages, or leave \
                 columns out with --without",
                self.bytes_max
            ));
        }
        self.bytes.store(all, Ordering::Relaxed);
        Ok(())
    }
}

/// The pages of one column of a group.
pub(super) struct Pages {
    name: String,
    file: Arc<File>,
    at: u64,
    end: u64,
    compression: Compression,
    /// Whether rows may lack a value: the levels that say so stand before the values then.
    has_levels: bool,
    held: Held,
    /// Of these, bytes of the page that was read last, unless it is the dictionary.
    own_bytes: u64,
}

/// The numbers of a page's head, by their place: fields of the head, and those of the head of its
/// kind, moved up by ten.
#[derive(Debug, Default)]
struct Head {
    numbers: [Option<i64>; 20],
    is_packed: bool,
    is_sorted: bool,
}

// Fields of the head.
const KIND: usize = 1;
const BYTES: usize = 2;
const PACKED_BYTES: usize = 3;
const DATA_HEAD: i64 = 5;
const DICTIONARY_HEAD: i64 = 7;
const DATA_HEAD_2: i64 = 8;
/// Fields of the head of a kind stand behind those.
const OF_KIND: usize = 10;
const VALUES: usize = OF_KIND + 1;
const ENCODING: usize = OF_KIND + 2;
const LEVELS: usize = OF_KIND + 3;
// The same of the second version of pages.
const NULLS_2: usize = OF_KIND + 2;
const ROWS_2: usize = OF_KIND + 3;
const ENCODING_2: usize = OF_KIND + 4;
const LEVEL_BYTES_2: usize = OF_KIND + 5;
const LIST_BYTES_2: usize = OF_KIND + 6;
const IS_PACKED_2: i64 = 7;
const IS_SORTED: i64 = 3;

// Kinds of pages.
const DATA: u32 = 0;
const DICTIONARY: u32 = 2;
const DATA_2: u32 = 3;

impl Pages {
    pub(super) fn new(file: &Arc<File>, chunk: &ColumnChunkMetaData, held: &Held) -> Result<Self> {
        let begin = match chunk.dictionary_page_offset() {
            // Some writers say 0 where there is none.
            Some(at) if at > 0 && at < chunk.data_page_offset() => at,
            _ => chunk.data_page_offset(),
        };
        let [at, bytes] = [begin, chunk.compressed_size()].map(u64::try_from);
        let (Ok(at), Ok(bytes)) = (at, bytes) else {
            return Err(wrong("a column begins before the file".to_owned()));
        };
        Ok(Self {
            name: chunk.column_path().string(),
            file: file.clone(),
            at,
            end: at.saturating_add(bytes),
            compression: chunk.compression(),
            has_levels: chunk.column_descr().max_def_level() > 0,
            held: held.clone(),
            own_bytes: 0,
        })
    }

    fn next_page(&mut self) -> std::result::Result<Option<Page>, Wrong> {
        while self.at < self.end {
            let head = self.head()?;
            let packed_bytes = u64::from(head.number(PACKED_BYTES)?);
            if packed_bytes > self.end - self.at {
                return Err("a page is longer than its column".to_owned());
            }
            let kind = head.number(KIND)?;
            if ![DATA, DICTIONARY, DATA_2].contains(&kind) {
                self.at += packed_bytes;
                continue;
            }
            self.hold(&head, kind)?;
            let mut packed = vec![0; packed_bytes as usize];
            self.file.read_exact_at(&mut packed, self.at).map_err(|error| error.to_string())?;
            self.at += packed_bytes;
            return match kind {
                DATA => self.data(&head, packed),
                DICTIONARY => self.dictionary(&head, packed),
                _ => self.data_2(&head, packed),
            }
            .map(Some);
        }
        Ok(None)
    }

    fn head(&mut self) -> std::result::Result<Head, Wrong> {
        let left = self.end - self.at;
        let mut last = Err("it ends too early".to_owned());
        for bytes in HEAD_BYTES {
            let mut text = vec![0; bytes.min(left) as usize];
            self.file.read_exact_at(&mut text, self.at).map_err(|error| error.to_string())?;
            let mut cursor = Cursor(&text);
            last = Head::read(&mut cursor);
            if last.is_ok() {
                self.at += (text.len() - cursor.0.len()) as u64;
                break;
            }
        }
        last.map_err(|why| format!("the head of a page at byte {}: {why}", self.at))
    }

    /// Counts what a page takes before there is room made for it.
    fn hold(&mut self, head: &Head, kind: u32) -> std::result::Result<(), Wrong> {
        let (bytes, values) = (u64::from(head.number(BYTES)?), u64::from(head.number(VALUES)?));
        let packed_bytes = u64::from(head.number(PACKED_BYTES)?);
        let encoding = head.encoding(if kind == DATA_2 { ENCODING_2 } else { ENCODING })?;
        let mut all = bytes.saturating_add(packed_bytes);
        match (kind, encoding) {
            (DICTIONARY, _) if values > bytes => {
                return Err("a dictionary has fewer bytes than values".to_owned());
            }
            // It stays for as long as its column is read.
            (DICTIONARY, _) => {
                return self.held.replace(0, all.saturating_add(values * ENTRY_BYTES));
            }
            // Each value says how much of the one before it repeats: a small page makes gigabytes.
            (_, Encoding::DELTA_BYTE_ARRAY) => {
                return Err("it is encoded as DELTA_BYTE_ARRAY, which is not read: have it \
                            written plain or with a dictionary, or leave it out with --without"
                    .to_owned());
            }
            // The lengths of all texts of a page are read at once.
            (_, Encoding::DELTA_LENGTH_BYTE_ARRAY) => all = all.saturating_add(values * 4),
            _ => {}
        }
        self.held.replace(self.own_bytes, all)?;
        self.own_bytes = all;
        Ok(())
    }

    fn data(&self, head: &Head, packed: Vec<u8>) -> std::result::Result<Page, Wrong> {
        let buf = self.unpack(packed, head.number(BYTES)? as usize)?;
        let (num_values, encoding) = (head.number(VALUES)?, head.encoding(ENCODING)?);
        // Without levels nobody asks how they are written.
        let def_level_encoding = match self.has_levels {
            true => head.encoding(LEVELS)?,
            false => Encoding::RLE,
        };
        if encoding == Encoding::DELTA_LENGTH_BYTE_ARRAY {
            let levels = match (self.has_levels, buf.first_chunk()) {
                (true, Some(length)) => 4 + u32::from_le_bytes(*length) as usize,
                _ => 0,
            };
            check_lengths(buf.get(levels..), num_values)?;
        }
        Ok(Page::DataPage {
            buf: Bytes::from(buf),
            num_values,
            encoding,
            def_level_encoding,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })
    }

    fn data_2(&self, head: &Head, mut packed: Vec<u8>) -> std::result::Result<Page, Wrong> {
        let (num_values, encoding) = (head.number(VALUES)?, head.encoding(ENCODING_2)?);
        let def_levels_byte_len = head.number(LEVEL_BYTES_2)?;
        let rep_levels_byte_len = head.number(LIST_BYTES_2)?;
        // The levels are never packed.
        let levels = def_levels_byte_len as usize + rep_levels_byte_len as usize;
        let values_bytes = (head.number(BYTES)? as usize).checked_sub(levels);
        let (Some(values_bytes), true) = (values_bytes, levels <= packed.len()) else {
            return Err("a page has fewer bytes than its levels".to_owned());
        };
        let mut values = packed.split_off(levels);
        if head.is_packed && values_bytes > 0 {
            values = self.unpack(values, values_bytes)?;
        }
        if encoding == Encoding::DELTA_LENGTH_BYTE_ARRAY {
            check_lengths(Some(&values), num_values)?;
        }
        packed.append(&mut values);
        Ok(Page::DataPageV2 {
            buf: Bytes::from(packed),
            num_values,
            encoding,
            num_nulls: head.number(NULLS_2)?,
            num_rows: head.number(ROWS_2)?,
            def_levels_byte_len,
            rep_levels_byte_len,
            is_compressed: false,
            statistics: None,
        })
    }

    fn dictionary(&self, head: &Head, packed: Vec<u8>) -> std::result::Result<Page, Wrong> {
        Ok(Page::DictionaryPage {
            buf: Bytes::from(self.unpack(packed, head.number(BYTES)? as usize)?),
            num_values: head.number(VALUES)?,
            encoding: head.encoding(ENCODING)?,
            is_sorted: head.is_sorted,
        })
    }

    /// Unpacks to as many bytes as the head says, and not to more.
    fn unpack(&self, packed: Vec<u8>, bytes: usize) -> std::result::Result<Vec<u8>, Wrong> {
        let failed = |error: &dyn std::fmt::Display| format!("a page cannot be unpacked: {error}");
        let unpacked = match self.compression {
            Compression::UNCOMPRESSED => packed,
            // Where all rows lack a value there is nothing to unpack.
            _ if bytes == 0 => Vec::new(),
            Compression::SNAPPY => match snap::raw::decompress_len(&packed) {
                Ok(said) if said == bytes => {
                    let unpacked = snap::raw::Decoder::new().decompress_vec(&packed);
                    unpacked.map_err(|error| failed(&error))?
                }
                Ok(_) => Vec::new(),
                Err(error) => return Err(failed(&error)),
            },
            Compression::GZIP(_) => {
                let mut unpacked = Vec::new();
                let mut reader = MultiGzDecoder::new(&*packed).take(bytes as u64 + 1);
                reader.read_to_end(&mut unpacked).map_err(|error| failed(&error))?;
                unpacked
            }
            Compression::ZSTD(_) => {
                zstd::bulk::decompress(&packed, bytes).map_err(|error| failed(&error))?
            }
            other => {
                let name = match other {
                    Compression::BROTLI(_) => "brotli",
                    Compression::LZO => "lzo",
                    _ => "lz4",
                };
                return Err(format!(
                    "it is packed with {name}, which is not read: have it written with zstd, \
                     snappy, gzip or none"
                ));
            }
        };
        match unpacked.len() == bytes {
            true => Ok(unpacked),
            false => Err("a page has another length than its head says".to_owned()),
        }
    }
}

/// Refuses lengths of texts that are more than the texts of their page: room is made for all of
/// them, whose number stands behind that of a block and that of its parts.
fn check_lengths(lengths: Option<&[u8]>, values: u32) -> std::result::Result<(), Wrong> {
    let mut cursor = Cursor(lengths.unwrap_or_default());
    cursor.uvarint()?;
    cursor.uvarint()?;
    match cursor.uvarint()? <= u64::from(values) {
        true => Ok(()),
        false => Err("a page has more lengths of texts than texts".to_owned()),
    }
}

impl Head {
    fn read(cursor: &mut Cursor<'_>) -> std::result::Result<Self, Wrong> {
        let mut head = Self { is_packed: true, ..Self::default() };
        fields(cursor, &mut |id, kind, cursor| match (id, kind) {
            (DATA_HEAD | DICTIONARY_HEAD | DATA_HEAD_2, STRUCT) => {
                fields(cursor, &mut |field, kind, cursor| {
                    match (id, field, kind) {
                        (DATA_HEAD_2, IS_PACKED_2, FALSE) => head.is_packed = false,
                        (DICTIONARY_HEAD, IS_SORTED, TRUE) => head.is_sorted = true,
                        _ => return head.take(OF_KIND, field, kind, cursor),
                    }
                    Ok(true)
                })
                .map(|()| true)
            }
            _ => head.take(0, id, kind, cursor),
        })?;
        Ok(head)
    }

    /// Keeps a number, if it is one.
    fn take(
        &mut self,
        before: usize,
        field: i64,
        kind: u8,
        cursor: &mut Cursor<'_>,
    ) -> std::result::Result<bool, Wrong> {
        let field = usize::try_from(field).ok().filter(|field| *field < OF_KIND);
        let place = field.and_then(|field| self.numbers.get_mut(before + field));
        let Some(place) = place.filter(|_| kind == I32) else { return Ok(false) };
        *place = Some(cursor.varint()?);
        Ok(true)
    }

    fn number(&self, place: usize) -> std::result::Result<u32, Wrong> {
        let number = self.numbers.get(place).copied().flatten();
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| "the head of a page lacks a number".to_owned())
    }

    fn encoding(&self, place: usize) -> std::result::Result<Encoding, Wrong> {
        Ok(match self.number(place)? {
            0 => Encoding::PLAIN,
            2 => Encoding::PLAIN_DICTIONARY,
            3 => Encoding::RLE,
            5 => Encoding::DELTA_BINARY_PACKED,
            6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            7 => Encoding::DELTA_BYTE_ARRAY,
            8 => Encoding::RLE_DICTIONARY,
            9 => Encoding::BYTE_STREAM_SPLIT,
            other => return Err(format!("its encoding {other} is not read")),
        })
    }
}

fn wrong(why: Wrong) -> ParquetError {
    ParquetError::General(why)
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.next_page().map_err(|why| wrong(format!("column {:?}: {why}", self.name)))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Err(wrong("pages are read one after the other".to_owned()))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.get_next_page().map(drop)
    }

    /// Without lists every value is a record.
    fn at_record_boundary(&mut self) -> Result<bool> {
        Ok(true)
    }
}
