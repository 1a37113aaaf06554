//! Segments: what a closed epoch leaves on disk. `docs/format/segment.md` draws the bytes.
//!
//! A segment is written once, from a registry that nobody adds to any more, and read in place: it
//! answers the questions that a registry answers, through a function that reads bytes at positions,
//! and holds nothing in memory but where its tables begin. Names, pairs and columns are numbered
//! anew, in the order of their bytes, so that listings come out sorted and a prefix is a range.
//!
//! What this directory does not know: files, pages, checksums and caches, which are the engine's.

mod list;
mod read;
mod select;
mod table;
mod write;

use crate::epoch::Origin;
use crate::error::Error;
use crate::limits::IDS_MAX;
use crate::names::SymbolKind;
use foliot_codec::varint::{get_u32, put_u32};
use table::{Array, Rows};

pub use write::{rewrite, write};

/// Appends so many bytes from a position on.
pub type ReadAt = dyn Fn(u64, usize, &mut Vec<u8>) -> Result<(), Error> + Send + Sync;

/// A closed epoch, read in place.
pub struct Segment {
    read_at: Box<ReadAt>,
    secret: u64,
    tables: Tables,
}

/// Where everything is: the footer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tables {
    origin: Origin,
    /// The id after the last series.
    end: u32,
    /// By kind: number, bytes shared with the name before, other bytes.
    symbols: [Rows; 4],
    /// By kind: places of symbols in the order of their numbers, one u32 each.
    by_number: [Array; 4],
    /// Namespace, label name, first and end of its pairs.
    labels: Array,
    /// The label values of pairs.
    pairs: Array,
    /// The sources of each pair.
    sources_of_pair: Rows,
    /// Namespace, measurement, field.
    columns: Array,
    /// The series of each column.
    series_of_column: Rows,
    /// Hash, namespace, pairs, series.
    sources: Rows,
    /// The sources of [`SERIES_PER_ROW`] series in a row.
    source_of_series: Rows,
    /// First series, end, retention class.
    classes: Array,
}

/// Series whose sources stand in one row.
const SERIES_PER_ROW: u32 = 256;

/// What a source is, as its row says.
#[derive(Clone, Debug, Default)]
struct Source {
    hash: u128,
    namespace: u32,
    /// Ascending.
    pairs: Vec<u32>,
    /// Column and id of each of its series, ids ascending.
    series: Vec<(u32, u32)>,
}

impl Tables {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_u32(&mut out, self.origin.epoch);
        put_u32(&mut out, self.origin.base);
        self.origin.symbols.iter().for_each(|&number| put_u32(&mut out, number));
        put_u32(&mut out, self.end);
        self.symbols.iter().for_each(|rows| rows.encode(&mut out));
        self.by_number.iter().for_each(|array| array.encode(&mut out));
        for array in [&self.labels, &self.pairs, &self.columns, &self.classes] {
            array.encode(&mut out);
        }
        for rows in
            [&self.sources_of_pair, &self.series_of_column, &self.sources, &self.source_of_series]
        {
            rows.encode(&mut out);
        }
        out
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let mut number = || get_u32(rest).ok();
        let (epoch, base) = (number()?, number()?);
        let symbols = [number()?, number()?, number()?, number()?];
        let mut tables = Self { origin: Origin { epoch, base, symbols }, ..Self::default() };
        tables.end = number()?;
        let is_sound = tables.origin.is_possible() && (base..=IDS_MAX).contains(&tables.end);
        for rows in &mut tables.symbols {
            *rows = Rows::decode(rest)?;
        }
        for array in &mut tables.by_number {
            *array = Array::decode(rest)?;
        }
        for array in
            [&mut tables.labels, &mut tables.pairs, &mut tables.columns, &mut tables.classes]
        {
            *array = Array::decode(rest)?;
        }
        for rows in [
            &mut tables.sources_of_pair,
            &mut tables.series_of_column,
            &mut tables.sources,
            &mut tables.source_of_series,
        ] {
            *rows = Rows::decode(rest)?;
        }
        (is_sound && rest.is_empty()).then_some(tables)
    }

    fn symbols_of(&self, kind: SymbolKind) -> Rows {
        self.symbols.get(kind as usize).copied().unwrap_or_default()
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("origin", &self.tables.origin).finish_non_exhaustive()
    }
}
