//! Writing a segment.

use super::table::{Array, GROUP_ROWS, Rows};
use super::{SERIES_PER_ROW, Segment, Tables};
use crate::error::Error;
use crate::names::{Names, SymbolKind};
use crate::registry::Registry;
use foliot_codec::varint::{put_i64, put_u32};
use std::cmp::Ordering;

/// What stands in the place of a pair or column whose registration was lost: of no namespace.
const NOBODYS: [u32; 3] = [u32::MAX, 0, 0];
/// Bytes of a segment that are copied at a time.
const COPIED_BYTES: u64 = 1 << 16;

/// Writes everything that `registry` knows, piece by piece, as [`super::Segment::open`] reads it.
/// Nobody registers anything meanwhile. `secret` keys the hashes of sources.
///
/// # Errors
/// What `out` returned.
pub fn write<E>(
    registry: &Registry,
    secret: u64,
    out: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let names = &registry.names().read();
    let mut out = Out { out, position: 0 };
    let end = names.series_end();
    let mut tables = Tables { origin: names.origin, end, ..Tables::default() };
    let mut ranks: [Vec<u32>; 4] = Default::default();
    for kind in SymbolKind::ALL {
        let (order, rank) = order_of(names.symbols(kind).len(), |a, b| {
            names.symbol(kind, a).as_bytes().cmp(names.symbol(kind, b).as_bytes())
        });
        let (rows, by_number) = out.symbols(names, kind, &order)?;
        let slot = kind as usize;
        if let (Some(to_rows), Some(to_numbers), Some(to_rank)) =
            (tables.symbols.get_mut(slot), tables.by_number.get_mut(slot), ranks.get_mut(slot))
        {
            (*to_rows, *to_numbers, *to_rank) = (rows, by_number, rank);
        }
    }
    let pair_ranks = out.pairs(names, &ranks, &mut tables)?;
    let column_ranks = out.columns(names, &ranks, &mut tables)?;
    // Not needed any more, and a million series are megabytes.
    drop(ranks);
    out.sources(names, secret, [&pair_ranks, &column_ranks], &mut tables)?;
    drop(pair_ranks);
    out.series(names, &mut tables)?;
    let classes = names.class_runs().map(|(first, end, class)| [first, end, class]);
    tables.classes = out.array(classes)?;
    let footer = tables.encode();
    out.put(&footer)?;
    out.put(&(footer.len() as u32).to_le_bytes())
}

/// Writes `segment` once more, with other retention classes: first series, end and class of each
/// run, ascending; what is in none has class 0.
///
/// # Errors
/// When the segment cannot be read, and what `out` returned.
pub fn rewrite<E: From<Error>>(
    segment: &Segment,
    classes: &[[u32; 3]],
    out: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = Out { out, position: 0 };
    // Classes are the last table.
    let end = segment.tables.classes.at;
    let mut bytes = Vec::new();
    while out.position < end {
        let len = (end - out.position).min(COPIED_BYTES);
        bytes.clear();
        (segment.read_at)(out.position, len as usize, &mut bytes)?;
        out.put(&bytes)?;
    }
    let classes = out.array(classes.iter().copied())?;
    let footer = Tables { classes, ..segment.tables }.encode();
    out.put(&footer)?;
    out.put(&(footer.len() as u32).to_le_bytes())
}

/// Numbers `0..len` in order, and the place of each in it.
fn order_of(len: u32, compare: impl Fn(u32, u32) -> Ordering) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<u32> = (0..len).collect();
    order.sort_unstable_by(|&a, &b| compare(a, b));
    let mut rank = vec![0; order.len()];
    for (at, &id) in (0..).zip(&order) {
        if let Some(slot) = rank.get_mut(id as usize) {
            *slot = at;
        }
    }
    (order, rank)
}

fn at(ranks: &[u32], id: u32) -> u32 {
    ranks.get(id as usize).copied().unwrap_or_default()
}

fn of(ranks: &[Vec<u32>; 4], kind: SymbolKind, id: u32) -> u32 {
    ranks.get(kind as usize).map_or(0, |ranks| at(ranks, id))
}

struct Out<'o, E> {
    out: &'o mut dyn FnMut(&[u8]) -> Result<(), E>,
    position: u64,
}

/// Rows on their way.
#[derive(Default)]
struct RowsWriter {
    lengths: Vec<u8>,
    rows: Vec<u8>,
    groups: Vec<u8>,
    len: u32,
}

impl RowsWriter {
    fn push<E>(&mut self, out: &mut Out<'_, E>, row: &[u8]) -> Result<(), E> {
        put_u32(&mut self.lengths, row.len() as u32);
        self.rows.extend_from_slice(row);
        self.len += 1;
        match self.len.is_multiple_of(GROUP_ROWS) {
            true => self.end_group(out),
            false => Ok(()),
        }
    }

    fn end_group<E>(&mut self, out: &mut Out<'_, E>) -> Result<(), E> {
        self.groups.extend_from_slice(&out.position.to_le_bytes());
        out.put(&self.lengths)?;
        out.put(&self.rows)?;
        self.lengths.clear();
        self.rows.clear();
        Ok(())
    }

    fn finish<E>(mut self, out: &mut Out<'_, E>) -> Result<Rows, E> {
        if !self.lengths.is_empty() {
            self.end_group(out)?;
        }
        self.groups.extend_from_slice(&out.position.to_le_bytes());
        let groups_at = out.position;
        out.put(&self.groups)?;
        Ok(Rows { groups_at, len: self.len })
    }
}

impl<E> Out<'_, E> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), E> {
        self.position += bytes.len() as u64;
        (self.out)(bytes)
    }

    fn array<const N: usize>(
        &mut self,
        entries: impl Iterator<Item = [u32; N]>,
    ) -> Result<Array, E> {
        let mut array = Array { at: self.position, len: 0 };
        let mut bytes = Vec::new();
        for entry in entries {
            entry.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            array.len += 1;
            if bytes.len() >= 1 << 16 {
                self.put(&bytes)?;
                bytes.clear();
            }
        }
        self.put(&bytes)?;
        Ok(array)
    }

    fn symbols(
        &mut self,
        names: &Names,
        kind: SymbolKind,
        order: &[u32],
    ) -> Result<(Rows, Array), E> {
        let mut rows = RowsWriter::default();
        let (mut row, mut before): (Vec<u8>, &str) = (Vec::new(), "");
        let mut numbers = Vec::with_capacity(order.len());
        for (rank, &local) in (0u32..).zip(order) {
            let name = names.symbol(kind, local);
            let same = before.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            let shared = if rank.is_multiple_of(GROUP_ROWS) { 0 } else { same };
            // Place 0 is the empty string, which has no number.
            let number = names.number(kind, local).unwrap_or(0);
            row.clear();
            put_u32(&mut row, number);
            put_u32(&mut row, shared as u32);
            row.extend_from_slice(name.as_bytes().get(shared..).unwrap_or_default());
            rows.push(self, &row)?;
            numbers.push([number, rank]);
            before = name;
        }
        numbers.sort_unstable();
        let rows = rows.finish(self)?;
        Ok((rows, self.array(numbers.into_iter().map(|[_, rank]| [rank]))?))
    }

    /// Labels, pairs and their sources. Returns the new numbers of pairs.
    fn pairs(
        &mut self,
        names: &Names,
        ranks: &[Vec<u32>; 4],
        tables: &mut Tables,
    ) -> Result<Vec<u32>, E> {
        let key = |pair| {
            let [namespace, name, value] = names.pair(pair).unwrap_or(NOBODYS);
            let name = of(ranks, SymbolKind::LabelName, name);
            [namespace, name, of(ranks, SymbolKind::LabelValue, value)]
        };
        let len = names.pairs().entries().len();
        let (order, rank) = order_of(len, |a, b| key(a).cmp(&key(b)));
        let mut labels: Vec<[u32; 4]> = Vec::new();
        for (at, &pair) in (0..).zip(&order) {
            let [namespace, name, _] = key(pair);
            match labels.last_mut() {
                Some([n, l, _, end]) if (*n, *l) == (namespace, name) => *end = at + 1,
                _ => labels.push([namespace, name, at, at + 1]),
            }
        }
        tables.labels = self.array(labels.into_iter())?;
        tables.pairs = self.array(order.iter().map(|&pair| [key(pair)[2]]))?;
        let mut rows = RowsWriter::default();
        let mut row = Vec::new();
        for &pair in &order {
            put_ids(&mut row, names.sources().of_pair().iter(pair));
            rows.push(self, &row)?;
        }
        tables.sources_of_pair = rows.finish(self)?;
        Ok(rank)
    }

    /// Columns and their series. Returns the new numbers of columns.
    fn columns(
        &mut self,
        names: &Names,
        ranks: &[Vec<u32>; 4],
        tables: &mut Tables,
    ) -> Result<Vec<u32>, E> {
        let key = |column| {
            let [namespace, measurement, field] = names.column(column).unwrap_or(NOBODYS);
            let measurement = of(ranks, SymbolKind::Measurement, measurement);
            [namespace, measurement, of(ranks, SymbolKind::Field, field)]
        };
        let (order, rank) = order_of(names.columns().len(), |a, b| key(a).cmp(&key(b)));
        tables.columns = self.array(order.iter().map(|&column| key(column)))?;
        let mut rows = RowsWriter::default();
        let mut row = Vec::new();
        for &column in &order {
            let sids = names.series_of_column.iter(column);
            put_ids(&mut row, sids.map(|sid| sid - names.origin.base));
            rows.push(self, &row)?;
        }
        tables.series_of_column = rows.finish(self)?;
        Ok(rank)
    }

    fn sources(
        &mut self,
        names: &Names,
        secret: u64,
        [pair_ranks, column_ranks]: [&[u32]; 2],
        tables: &mut Tables,
    ) -> Result<(), E> {
        let base = names.origin.base;
        let all = names.series_from(base).map(|(source, _)| source).zip(base..);
        let mut by_source: Vec<(u32, u32)> = all.collect();
        // In place: the registry that is written is in memory as well.
        by_source.sort_unstable();
        let mut rest = &*by_source;
        let mut rows = RowsWriter::default();
        let (mut row, mut pairs) = (Vec::new(), Vec::new());
        for source in 0..names.sources().entries().len() {
            let (namespace, ids) = match names.source(source) {
                Some((namespace, ids)) => (namespace, Some(ids)),
                None => (u32::MAX, None),
            };
            pairs.clear();
            pairs.extend(ids.into_iter().flatten().map(|pair| at(pair_ranks, pair)));
            pairs.sort_unstable();
            row.clear();
            row.extend_from_slice(&names.source_hash(source, secret).to_le_bytes());
            put_u32(&mut row, namespace);
            put_u32(&mut row, pairs.len() as u32);
            let mut previous = 0;
            for &pair in &pairs {
                put_u32(&mut row, pair - previous);
                previous = pair;
            }
            let series = rest.iter().take_while(|(of, _)| *of == source).count();
            put_u32(&mut row, series as u32);
            let (mut column_before, mut sid_before) = (0, base);
            for &(_, sid) in rest.get(..series).unwrap_or_default() {
                let column = names.series(sid).map_or(0, |(_, column)| at(column_ranks, column));
                put_i64(&mut row, i64::from(column) - column_before);
                put_u32(&mut row, sid - sid_before);
                (column_before, sid_before) = (i64::from(column), sid);
            }
            rest = rest.get(series..).unwrap_or_default();
            rows.push(self, &row)?;
        }
        tables.sources = rows.finish(self)?;
        Ok(())
    }

    fn series(&mut self, names: &Names, tables: &mut Tables) -> Result<(), E> {
        let mut rows = RowsWriter::default();
        let (mut row, mut before) = (Vec::new(), 0);
        for (at, (source, _)) in (1u32..).zip(names.series_from(names.origin.base)) {
            put_i64(&mut row, i64::from(source) - before);
            before = i64::from(source);
            if at.is_multiple_of(SERIES_PER_ROW) {
                rows.push(self, &row)?;
                row.clear();
                before = 0;
            }
        }
        if !row.is_empty() {
            rows.push(self, &row)?;
        }
        tables.source_of_series = rows.finish(self)?;
        Ok(())
    }
}

/// Ascending ids as differences.
fn put_ids(row: &mut Vec<u8>, ids: impl Iterator<Item = u32>) {
    row.clear();
    let mut previous = 0;
    for id in ids {
        put_u32(row, id - previous);
        previous = id;
    }
}
