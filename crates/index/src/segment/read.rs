//! Opening a segment, and its questions about single things.

use super::table::{Cursor, Rows};
use super::{ReadAt, SERIES_PER_ROW, Segment, Source, Tables};
use crate::epoch::Origin;
use crate::error::Error;
use crate::identity::{Description, Identity};
use crate::key;
use crate::names::SymbolKind;
use foliot_codec::varint::{get_i64, get_u32};
use foliot_model::{Label, Labels};
use std::collections::HashMap;
use std::sync::Arc;

impl Segment {
    /// Opens the segment of `len` bytes that `read_at` reads; `secret` is the one it was written
    /// with.
    ///
    /// # Errors
    /// When it cannot be read or is none.
    pub fn open(read_at: Box<ReadAt>, len: u64, secret: u64) -> Result<Self, Error> {
        let mut segment = Self { read_at, secret, tables: Tables::default() };
        let mut bytes = Vec::new();
        let footer_end =
            len.checked_sub(4).ok_or_else(|| segment.damaged(0, "too short for a segment"))?;
        (segment.read_at)(footer_end, 4, &mut bytes)?;
        let footer_len = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let footer_at = footer_end
            .checked_sub(u64::from(footer_len))
            .ok_or_else(|| segment.damaged(footer_end, "impossible length of the footer"))?;
        bytes.clear();
        (segment.read_at)(footer_at, footer_len as usize, &mut bytes)?;
        segment.tables = Tables::decode(&bytes)
            .ok_or_else(|| segment.damaged(footer_at, "footer cannot be read"))?;
        Ok(segment)
    }

    /// Where the epoch begins.
    pub fn origin(&self) -> Origin {
        self.tables.origin
    }

    /// Whether a series has a retention class other than 0.
    pub fn has_classes(&self) -> bool {
        self.tables.classes.len > 0
    }

    /// The retention classes: first series, end and class of each run, ascending.
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn class_runs(&self) -> Result<Vec<[u32; 3]>, Error> {
        self.tables.classes.range::<3>(self, 0, self.tables.classes.len)
    }

    /// The id after the last series.
    pub fn series_end(&self) -> u32 {
        self.tables.end
    }

    /// Where the epoch after it would begin, as far as this one tells; see
    /// [`crate::Registry::next_origin`].
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn next_origin(&self, align: u32) -> Result<Origin, Error> {
        let Tables { mut origin, end, .. } = self.tables;
        origin.epoch += 1;
        origin.base = end.next_multiple_of(align);
        for (kind, highest) in SymbolKind::ALL.into_iter().zip(&mut origin.symbols) {
            let rows = self.tables.symbols_of(kind);
            let by_number = self.tables.by_number.get(kind as usize);
            let last = by_number.and_then(|array| Some((array, array.len.checked_sub(1)?)));
            if let Some((array, last)) = last {
                let [place] = array.get(self, last)?;
                let row = rows.row(self, place)?;
                *highest = self.read(rows, || get_u32(&mut &*row).ok())?.max(*highest);
            }
        }
        Ok(origin)
    }

    pub(super) fn damaged(&self, at: u64, reason: &str) -> Error {
        Error::Segment { at, reason: reason.to_owned() }
    }

    pub(super) fn read<T>(&self, rows: Rows, read: impl FnOnce() -> Option<T>) -> Result<T, Error> {
        read().ok_or_else(|| self.damaged(rows.groups_at, "row cannot be read"))
    }

    /// Number of a symbol by name.
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn symbol_id(&self, kind: SymbolKind, name: &str) -> Result<Option<u32>, Error> {
        let Some(rank) = self.find_symbol(kind, name)? else { return Ok(None) };
        let rows = self.tables.symbols_of(kind);
        let row = rows.row(self, rank)?;
        let number = self.read(rows, || get_u32(&mut &*row).ok())?;
        Ok((number != 0).then_some(number))
    }

    /// Name of a symbol by number.
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn symbol_name(&self, kind: SymbolKind, number: u32) -> Result<Option<Arc<str>>, Error> {
        let Some(array) = self.tables.by_number.get(kind as usize) else { return Ok(None) };
        let rows = self.tables.symbols_of(kind);
        let number_of = |rank| {
            let row = rows.row(self, rank)?;
            self.read(rows, || get_u32(&mut &*row).ok())
        };
        let all = (0, array.len);
        let at = array.partition(self, all, |[rank]| Ok(number_of(rank)? < number))?;
        if number == 0 || at == array.len {
            return Ok(None);
        }
        let [rank] = array.get(self, at)?;
        match number_of(rank)? == number {
            true => Ok(Some(Strings::new(self, kind).get(rank)?)),
            false => Ok(None),
        }
    }

    /// What many series are called: calls `each` in the order of `sids`, without unknown ones.
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn identities(
        &self,
        sids: &[u32],
        each: &mut dyn FnMut(u32, Identity),
    ) -> Result<(), Error> {
        let mut speller = Speller::new(self);
        for &sid in sids {
            if let Some(identity) = speller.spell(sid)? {
                each(sid, identity);
            }
        }
        Ok(())
    }

    /// A series by numbers.
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn describe(&self, sid: u32) -> Result<Option<Description>, Error> {
        let mut sources = Sources::new(self);
        let Some((source, column)) = sources.of_series(sid)? else { return Ok(None) };
        let [namespace, ..] = self.tables.columns.get::<3>(self, column)?;
        let classes = self.tables.classes;
        let runs = classes.range::<3>(self, 0, classes.len)?;
        let run = runs.iter().find(|[first, end, _]| (*first..*end).contains(&sid));
        let class = run.map_or(0, |[.., class]| *class);
        Ok(Some(Description { namespace, class, source, column }))
    }

    /// What tells each of `sids` from all other series, in every epoch.
    ///
    /// # Errors
    /// When the segment cannot be read, or one of them is not in it.
    pub fn keys(&self, sids: &[u32]) -> Result<Vec<u128>, Error> {
        let mut speller = Speller::new(self);
        let mut keys = Vec::with_capacity(sids.len());
        for &sid in sids {
            let Some((source, column)) = speller.sources.of_series(sid)? else {
                return Err(self.damaged(0, "series is not there"));
            };
            let hash = speller.sources.get(source)?.hash;
            let (measurement, field) = speller.column(column)?;
            keys.push(key::of_series(self.secret, hash, &measurement, &field));
        }
        Ok(keys)
    }

    /// The place of a symbol.
    pub(super) fn find_symbol(&self, kind: SymbolKind, name: &str) -> Result<Option<u32>, Error> {
        let at = self.symbols_before(kind, name)?;
        if at == self.tables.symbols_of(kind).len {
            return Ok(None);
        }
        let found = Strings::new(self, kind).get(at)?;
        Ok((&*found == name).then_some(at))
    }

    /// How many symbols come before `name`.
    pub(super) fn symbols_before(&self, kind: SymbolKind, name: &str) -> Result<u32, Error> {
        let rows = self.tables.symbols_of(kind);
        let mut strings = Strings::new(self, kind);
        let (mut start, mut end) = (0, rows.groups());
        while start < end {
            let middle = start + (end - start) / 2;
            let first = strings.group(middle)?.first();
            match first.is_some_and(|first| &**first < name) {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        let Some(group) = start.checked_sub(1) else { return Ok(0) };
        let inside = strings.group(group)?.partition_point(|found| &**found < name);
        Ok(group * super::table::GROUP_ROWS + inside as u32)
    }
}

/// Symbols of one kind by place; a group is decoded once while places ascend.
pub(super) struct Strings<'s> {
    segment: &'s Segment,
    rows: Rows,
    group: Option<u32>,
    strings: Vec<Arc<str>>,
}

impl<'s> Strings<'s> {
    pub(super) fn new(segment: &'s Segment, kind: SymbolKind) -> Self {
        let rows = segment.tables.symbols_of(kind);
        Self { segment, rows, group: None, strings: Vec::new() }
    }

    fn group(&mut self, group: u32) -> Result<&[Arc<str>], Error> {
        if self.group != Some(group) {
            self.strings.clear();
            let read = self.rows.group(self.segment, group)?;
            let mut bytes: Vec<u8> = Vec::new();
            for row in read.rows() {
                let rest = &mut &*row;
                let decoded = || {
                    let _number = get_u32(rest).ok()?;
                    let shared = get_u32(rest).ok()? as usize;
                    if shared > bytes.len() {
                        return None;
                    }
                    bytes.truncate(shared);
                    bytes.extend_from_slice(rest);
                    std::str::from_utf8(&bytes).ok().map(Arc::from)
                };
                let string = self.segment.read(self.rows, decoded)?;
                self.strings.push(string);
            }
            self.group = Some(group);
        }
        Ok(&self.strings)
    }

    pub(super) fn get(&mut self, rank: u32) -> Result<Arc<str>, Error> {
        let at = (rank % super::table::GROUP_ROWS) as usize;
        let found = self.group(rank / super::table::GROUP_ROWS)?.get(at).cloned();
        found.ok_or_else(|| self.segment.damaged(self.rows.groups_at, "symbol is not there"))
    }
}

/// Sources, and the sources of series.
pub(super) struct Sources<'s> {
    segment: &'s Segment,
    rows: Cursor<'s>,
    of_series: Cursor<'s>,
    /// The row of `of_series` that was decoded last.
    decoded: Option<(u32, Vec<u32>)>,
    last: Option<(u32, Source)>,
}

impl<'s> Sources<'s> {
    pub(super) fn new(segment: &'s Segment) -> Self {
        let rows = Cursor::new(segment, segment.tables.sources);
        let of_series = Cursor::new(segment, segment.tables.source_of_series);
        Self { segment, rows, of_series, decoded: None, last: None }
    }

    pub(super) fn get(&mut self, source: u32) -> Result<&Source, Error> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != source) {
            self.last = None;
        }
        match &mut self.last {
            Some((_, found)) => Ok(found),
            last => {
                let base = self.segment.tables.origin.base;
                let row = self.rows.row(source)?;
                let read = decode_source(row, base);
                let found = read.ok_or_else(|| {
                    let at = self.segment.tables.sources.groups_at;
                    self.segment.damaged(at, "source cannot be read")
                })?;
                Ok(&last.insert((source, found)).1)
            }
        }
    }

    /// Source and column of a series.
    pub(super) fn of_series(&mut self, sid: u32) -> Result<Option<(u32, u32)>, Error> {
        let Tables { origin, end, .. } = self.segment.tables;
        if sid < origin.base || sid >= end {
            return Ok(None);
        }
        let local = sid - origin.base;
        let row = local / SERIES_PER_ROW;
        if self.decoded.as_ref().is_none_or(|(decoded, _)| *decoded != row) {
            let mut rest = self.of_series.row(row)?;
            let (mut sources, mut source) = (Vec::new(), 0i64);
            while let (false, Ok(difference)) = (rest.is_empty(), get_i64(&mut rest)) {
                source += difference;
                sources.push(u32::try_from(source).unwrap_or(u32::MAX));
            }
            self.decoded = Some((row, sources));
        }
        let decoded = self.decoded.as_ref().map(|(_, sources)| sources.as_slice());
        let inside = (local % SERIES_PER_ROW) as usize;
        let Some(&source) = decoded.and_then(|sources| sources.get(inside)) else {
            let at = self.segment.tables.source_of_series.groups_at;
            return Err(self.segment.damaged(at, "series is not there"));
        };
        let series = &self.get(source)?.series;
        let found = series.binary_search_by_key(&sid, |(_, sid)| *sid);
        Ok(found.ok().and_then(|at| series.get(at)).map(|(column, _)| (source, *column)))
    }
}

fn decode_source(row: &[u8], base: u32) -> Option<Source> {
    let (hash, mut rest) = row.split_first_chunk::<16>()?;
    let rest = &mut rest;
    let mut source = Source { hash: u128::from_le_bytes(*hash), ..Source::default() };
    source.namespace = get_u32(rest).ok()?;
    let mut pair = 0u32;
    for _ in 0..get_u32(rest).ok()? {
        pair = pair.checked_add(get_u32(rest).ok()?)?;
        source.pairs.push(pair);
    }
    let (mut column, mut sid) = (0i64, base);
    for _ in 0..get_u32(rest).ok()? {
        column = column.checked_add(get_i64(rest).ok()?)?;
        sid = sid.checked_add(get_u32(rest).ok()?)?;
        source.series.push((u32::try_from(column).ok()?, sid));
    }
    Some(source)
}

type ColumnName = (Arc<str>, Arc<str>);

/// Spells series out, one after the other.
pub(super) struct Speller<'s> {
    segment: &'s Segment,
    pub(super) sources: Sources<'s>,
    columns: HashMap<u32, ColumnName>,
    pairs: HashMap<u32, Label>,
    names: Strings<'s>,
    values: Strings<'s>,
    last: Option<(u32, Labels)>,
}

/// So many labels are remembered; most are shared by many series, and those of a host are not
/// asked for again.
const LABELS_KEPT: usize = 1 << 14;

impl<'s> Speller<'s> {
    pub(super) fn new(segment: &'s Segment) -> Self {
        Self {
            segment,
            sources: Sources::new(segment),
            columns: HashMap::new(),
            pairs: HashMap::new(),
            names: Strings::new(segment, SymbolKind::LabelName),
            values: Strings::new(segment, SymbolKind::LabelValue),
            last: None,
        }
    }

    fn spell(&mut self, sid: u32) -> Result<Option<Identity>, Error> {
        let Some((source, column)) = self.sources.of_series(sid)? else { return Ok(None) };
        let (measurement, field) = self.column(column)?;
        let labels = match &self.last {
            Some((last, labels)) if *last == source => labels.clone(),
            _ => self.labels(source)?,
        };
        self.last = Some((source, labels.clone()));
        let source = self.segment.tables.origin.base + source;
        Ok(Some(Identity { measurement, field, labels, source }))
    }

    pub(super) fn column(&mut self, column: u32) -> Result<ColumnName, Error> {
        if let Some(known) = self.columns.get(&column) {
            return Ok(known.clone());
        }
        let segment = self.segment;
        let [_, measurement, field] = segment.tables.columns.get::<3>(segment, column)?;
        let measurement = Strings::new(segment, SymbolKind::Measurement).get(measurement)?;
        let field = Strings::new(segment, SymbolKind::Field).get(field)?;
        self.columns.insert(column, (measurement.clone(), field.clone()));
        Ok((measurement, field))
    }

    fn labels(&mut self, source: u32) -> Result<Labels, Error> {
        let pairs = self.sources.get(source)?.pairs.clone();
        let mut labels = Vec::with_capacity(pairs.len());
        for pair in pairs {
            if self.pairs.len() >= LABELS_KEPT {
                self.pairs.clear();
            }
            let label = match self.pairs.get(&pair) {
                Some(known) => known.clone(),
                None => {
                    let [name, value] = self.segment.pair(pair)?;
                    let label =
                        Label { name: self.names.get(name)?, value: self.values.get(value)? };
                    self.pairs.insert(pair, label.clone());
                    label
                }
            };
            labels.push(label);
        }
        Ok(Labels::new(labels))
    }
}

impl Segment {
    /// Label name and value of a pair.
    pub(super) fn pair(&self, pair: u32) -> Result<[u32; 2], Error> {
        let labels = self.tables.labels;
        let is_before = |[_, _, _, end]: [u32; 4]| Ok(end <= pair);
        let at = labels.partition(self, (0, labels.len), is_before)?;
        let [_, name, ..] = labels.get::<4>(self, at)?;
        let [value] = self.tables.pairs.get::<1>(self, pair)?;
        Ok([name, value])
    }
}
