//! Staging: what a chunk of rows adds, numbered as the names will number it, before anybody sees
//! it.

use crate::dictionary::Dictionary;
use crate::limits::PIECE_MAX;
use crate::names::{Key, Names, SymbolKind};
use crate::recent::Recent;
use crate::record::{self, Triples};
use crate::registry::Registry;
use crate::sources;
use foliot_model::KeyParts;
use std::ops::Range;
use std::sync::Arc;

/// What the records of a chunk mostly need.
const RECORDS_BYTES: usize = 16 << 10;

/// What a chunk adds: dictionaries that continue those of the names.
#[derive(Debug)]
pub(crate) struct Overlay {
    symbols: [Dictionary; 4],
    pairs: Dictionary,
    sources: Dictionary,
    columns: Dictionary,
    /// Source and column, four bytes each.
    series: Dictionary,
    /// By kind: symbols that an earlier epoch numbered, local number and that.
    carried: [Vec<[u32; 2]>; 4],
    /// Retention classes other than 0, by runs of staged series: the first, the one after the last,
    /// the class.
    classes: Vec<[u32; 3]>,
    /// The epoch before, while it is in memory: names that it knows keep their numbers.
    pub(crate) closing: Option<Arc<Registry>>,
}

impl Overlay {
    pub(crate) fn new(seed: u64) -> Self {
        let dictionary = || Dictionary::new(seed, 1);
        Self {
            symbols: [dictionary(), dictionary(), dictionary(), dictionary()],
            pairs: dictionary(),
            sources: dictionary(),
            columns: dictionary(),
            series: dictionary(),
            carried: Default::default(),
            classes: Vec::new(),
            closing: None,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.symbols.iter_mut().for_each(Dictionary::clear);
        self.pairs.clear();
        self.sources.clear();
        self.columns.clear();
        self.series.clear();
        self.carried.iter_mut().for_each(Vec::clear);
        self.classes.clear();
    }

    /// Gives the series that were staged as number `first` and later their class.
    pub(crate) fn classify(&mut self, first: u32, class: u32) {
        let end = self.series_len();
        match self.classes.last_mut() {
            _ if class == 0 => {}
            Some(last) if last[1] == first && last[2] == class => last[1] = end,
            _ => self.classes.push([first, end, class]),
        }
    }

    /// Number of staged series.
    pub(crate) fn series_len(&self) -> u32 {
        self.series.len()
    }

    fn is_empty(&self) -> bool {
        let rest = [&self.pairs, &self.sources, &self.columns, &self.series];
        self.symbols.iter().chain(rest).all(|dictionary| dictionary.len() == 0)
    }

    /// Writes what was staged on top of `names` as records.
    pub(crate) fn records(&self, names: &Names) -> Records {
        let mut out = Records::default();
        if self.is_empty() {
            return out;
        }
        out.bytes.reserve(RECORDS_BYTES);
        record::put_epoch(&mut out.bytes, &names.origin);
        let carried = SymbolKind::ALL.into_iter().zip(&self.carried);
        for ((kind, carried), symbols) in carried.zip(&self.symbols) {
            let base = names.symbols(kind).len();
            out.pieces(symbols.len(), |out, piece| {
                let place = |local| carried.partition_point(|[of, _]| *of < base + local);
                let (first, end) = (place(piece.start), place(piece.end));
                record::put_symbols(out, kind, symbols, piece, base);
                record::put_carried(out, kind, carried.get(first..end).unwrap_or_default());
            });
        }
        let (pairs, base) = (self.pairs.entries(), names.pairs().entries().len());
        out.pieces(pairs.len(), |out, piece| {
            record::put_triples(out, Triples::Pairs, pairs, piece, base);
        });
        let (columns, base) = (self.columns.entries(), names.columns().len());
        out.pieces(columns.len(), |out, piece| {
            record::put_triples(out, Triples::Columns, columns, piece, base);
        });
        let (sources, base) = (self.sources.entries(), names.sources().entries().len());
        out.pieces(sources.len(), |out, piece| record::put_sources(out, sources, piece, base));
        let base = names.series_end();
        out.pieces(self.series.len(), |out, piece| self.put_series(out, piece, base));
        out
    }

    /// Writes some of the series, and their classes behind them.
    fn put_series(&self, out: &mut Vec<u8>, piece: Range<u32>, base: u32) {
        let series = piece.clone().filter_map(|index| {
            let (source, column) = self.series.get(index)?.split_first_chunk::<4>()?;
            let column = column.first_chunk::<4>()?;
            Some((u32::from_le_bytes(*source), u32::from_le_bytes(*column)))
        });
        record::put_series(out, base + piece.start, series);
        for &[first, end, class] in &self.classes {
            let (first, end) = (first.max(piece.start), end.min(piece.end));
            if first < end {
                record::put_class(out, [base + first, end - first, class]);
            }
        }
    }
}

/// What was staged, as records.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub(crate) bytes: Vec<u8>,
    /// Where pieces end that may be applied one by one: a series is in one with its class,
    /// and a symbol with the number that an earlier epoch gave it.
    ends: Vec<usize>,
}

impl Records {
    /// Writes `count` things, as many at a time as are applied under one hold of the names.
    fn pieces(&mut self, count: u32, put: impl Fn(&mut Vec<u8>, Range<u32>)) {
        for first in (0..count).step_by(PIECE_MAX as usize) {
            put(&mut self.bytes, first..count.min(first + PIECE_MAX));
            self.ends.push(self.bytes.len());
        }
    }

    /// The pieces, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let piece = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            piece
        })
    }
}

/// Resolves by name against the names and, when there is one, an overlay. Each function returns
/// nothing when the thing is unknown and `create` is false.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    names: &'a Names,
    overlay: Option<&'a mut Overlay>,
    create: bool,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(names: &'a Names, overlay: Option<&'a mut Overlay>) -> Self {
        Self { names, overlay, create: false }
    }

    pub(crate) fn names(&self) -> &'a Names {
        self.names
    }

    pub(crate) fn creating(names: &'a Names, overlay: &'a mut Overlay) -> Self {
        Self { names, overlay: Some(overlay), create: true }
    }

    /// The number of `key` in a dictionary or in what is staged on top of it.
    fn entry(
        &mut self,
        known: &Dictionary,
        staged: impl FnOnce(&mut Overlay) -> &mut Dictionary,
        key: &[u8],
    ) -> Option<u32> {
        match known.find(key) {
            None => self.staged(known.len(), staged, key),
            found => found,
        }
    }

    /// The number of `key` in a staged dictionary that continues one of `base` entries.
    fn staged(
        &mut self,
        base: u32,
        staged: impl FnOnce(&mut Overlay) -> &mut Dictionary,
        key: &[u8],
    ) -> Option<u32> {
        let staged = staged(self.overlay.as_deref_mut()?);
        let hash = staged.hash(key);
        let index = match staged.find_hashed(hash, key) {
            None if self.create => staged.push_hashed(hash, key),
            found => found,
        };
        index.map(|index| base + index)
    }

    pub(crate) fn symbol(&mut self, kind: SymbolKind, name: &[u8]) -> Option<u32> {
        let known = self.names.symbols(kind);
        let staged = |overlay: &Overlay| overlay.symbols.get(kind as usize).map(Dictionary::len);
        let before = self.overlay.as_deref().and_then(staged);
        let id = self.entry(
            known,
            |overlay| {
                let [measurements, fields, label_names, label_values] = &mut overlay.symbols;
                match kind {
                    SymbolKind::Measurement => measurements,
                    SymbolKind::Field => fields,
                    SymbolKind::LabelName => label_names,
                    SymbolKind::LabelValue => label_values,
                }
            },
            name,
        );
        if self.overlay.as_deref().and_then(staged) != before {
            self.carry(kind, name, id);
        }
        id
    }

    /// Gives a symbol that was just staged the number that it had in the epoch before.
    #[cold]
    fn carry(&mut self, kind: SymbolKind, name: &[u8], local: Option<u32>) {
        let Some(overlay) = self.overlay.as_deref_mut() else { return };
        let closing = overlay.closing.as_ref();
        let number = closing.and_then(|closing| closing.names().read().number_of(kind, name));
        if let (Some(local), Some(number)) = (local, number)
            && let Some(carried) = overlay.carried.get_mut(kind as usize)
        {
            carried.push([local, number]);
        }
    }

    fn source(&mut self, namespace: u32, parts: &KeyParts, memo: &mut Memo) -> Option<u32> {
        memo.pairs.clear();
        for (index, (name, value)) in parts.labels().enumerate() {
            let name = match memo.label_names.get(index) {
                // The labels of neighbouring rows mostly have the same names.
                Some((bytes, id)) if bytes == name => *id,
                _ => {
                    let id = self.symbol(SymbolKind::LabelName, name)?;
                    memo.label_names.truncate(index);
                    memo.label_names.push((name.to_vec(), id));
                    id
                }
            };
            let pair = match memo.recent_pairs.get(name, value) {
                Some(pair) => pair,
                None => {
                    let pair = self.pair(namespace, name, value)?;
                    memo.recent_pairs.put(name, value, pair);
                    pair
                }
            };
            memo.pairs.push(pair);
        }
        memo.pairs.sort_unstable();
        memo.key.clear();
        sources::put_key(&mut memo.key, namespace, &memo.pairs);
        match self.names.sources().find(&memo.pairs, &memo.key) {
            None => {
                let base = self.names.sources().entries().len();
                self.staged(base, |overlay| &mut overlay.sources, &memo.key)
            }
            found => found,
        }
    }

    fn pair(&mut self, namespace: u32, name: u32, value: &[u8]) -> Option<u32> {
        let value = self.symbol(SymbolKind::LabelValue, value)?;
        let triple = [namespace, name, value];
        match self.names.pairs().find(triple) {
            None => {
                let base = self.names.pairs().entries().len();
                self.staged(base, |overlay| &mut overlay.pairs, &Key::of(&triple))
            }
            found => found,
        }
    }

    /// The columns of a row, left in the memo. Neighbouring rows mostly have the same ones.
    fn columns(
        &mut self,
        namespace: u32,
        measurement: &[u8],
        fields: &Fields,
        which: &Range<usize>,
        memo: &mut Memo,
    ) -> Option<()> {
        let measurement = self.measurement(measurement, memo)?;
        if memo.columns_of.as_ref() == Some(&(measurement, which.clone())) {
            return Some(());
        }
        memo.columns_of = None;
        memo.columns.clear();
        for index in which.clone() {
            let column = self.column(namespace, measurement, fields.get(index), memo)?;
            memo.columns.push(column);
        }
        memo.columns_of = Some((measurement, which.clone()));
        Some(())
    }

    fn measurement(&mut self, name: &[u8], memo: &mut Memo) -> Option<u32> {
        if let Some((last, id)) = &memo.measurement
            && last == name
        {
            return Some(*id);
        }
        let id = self.symbol(SymbolKind::Measurement, name)?;
        memo.measurement = Some((name.to_vec(), id));
        Some(id)
    }

    fn column(
        &mut self,
        namespace: u32,
        measurement: u32,
        field: &[u8],
        memo: &mut Memo,
    ) -> Option<u32> {
        if let Some(column) = memo.recent_columns.get(measurement, field) {
            return Some(column);
        }
        let symbol = self.symbol(SymbolKind::Field, field)?;
        let key = Key::of(&[namespace, measurement, symbol]);
        let column = self.entry(self.names.columns(), |overlay| &mut overlay.columns, &key)?;
        memo.recent_columns.put(measurement, field, column);
        Some(column)
    }

    fn series(&mut self, source: u32, column: u32) -> Option<u32> {
        if let Some(sid) = self.names.find_series(source, column) {
            return Some(sid);
        }
        let mut key = [0; 8];
        let (head, tail) = key.split_at_mut(4);
        head.copy_from_slice(&source.to_le_bytes());
        tail.copy_from_slice(&column.to_le_bytes());
        self.staged(self.names.series_end(), |overlay| &mut overlay.series, &key)
    }

    /// Source and series of a row; the series are appended to `sids`.
    pub(crate) fn row(
        &mut self,
        namespace: u32,
        row: &Prepared,
        fields: &Fields,
        memo: &mut Memo,
        sids: &mut Vec<u32>,
    ) -> Option<u32> {
        let source = self.source(namespace, &row.parts, memo)?;
        self.columns(namespace, row.parts.measurement(), fields, &row.fields, memo)?;
        let start = sids.len();
        for index in 0..memo.columns.len() {
            let column = memo.columns.get(index).copied()?;
            match self.series(source, column) {
                Some(sid) => sids.push(sid),
                None => {
                    sids.truncate(start);
                    return None;
                }
            }
        }
        Some(source)
    }

    /// How many series of a row do not exist yet.
    pub(crate) fn missing(
        &mut self,
        namespace: u32,
        row: &Prepared,
        fields: &Fields,
        memo: &mut Memo,
    ) -> u64 {
        let mut count = 0;
        self.each_missing(namespace, row, fields, memo, &mut |_, _| count += 1);
        count
    }

    /// Calls `each` with the fields of a row whose series do not exist yet, and their columns as
    /// far as those do.
    pub(crate) fn each_missing(
        &mut self,
        namespace: u32,
        row: &Prepared,
        fields: &Fields,
        memo: &mut Memo,
        each: &mut dyn FnMut(&[u8], Option<u32>),
    ) {
        let source = self.source(namespace, &row.parts, memo);
        let measurement = self.measurement(row.parts.measurement(), memo);
        for field in row.fields.clone().map(|index| fields.get(index)) {
            let column = measurement
                .and_then(|measurement| self.column(namespace, measurement, field, memo));
            let series =
                source.zip(column).and_then(|(source, column)| self.series(source, column));
            if series.is_none() {
                each(field, column);
            }
        }
    }
}

/// What neighbouring rows share. The numbers in it are final: those of staged things too, since
/// what was staged is either applied under them or the whole registration ends.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    label_names: Vec<(Vec<u8>, u32)>,
    recent_pairs: Recent,
    recent_columns: Recent,
    measurement: Option<(Vec<u8>, u32)>,
    pairs: Vec<u32>,
    key: Vec<u8>,
    pub(crate) columns: Vec<u32>,
    pub(crate) columns_of: Option<(u32, Range<usize>)>,
}

/// Plain field names, end to end.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

impl Fields {
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        let start = match index {
            0 => 0,
            _ => self.ends.get(index - 1).copied().unwrap_or_default(),
        };
        let end = self.ends.get(index).copied().unwrap_or_default();
        self.bytes.get(start..end).unwrap_or_default()
    }
}

/// A row whose key and fields are parsed.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// Index in the batch: the first of the rows that it stands for.
    pub(crate) row: u32,
    /// Where they stand among those that are prepared.
    pub(crate) rows: Range<usize>,
    pub(crate) parts: KeyParts,
    /// Its field names among those of the chunk.
    pub(crate) fields: Range<usize>,
    /// Series of the row in the chunk's list, once found.
    pub(crate) sids: Range<usize>,
    pub(crate) source: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::Origin;

    /// One row with so many new fields, of class 7.
    fn staged(names: &Names, count: u32) -> Overlay {
        let (mut fields, mut row) = (Fields::default(), Prepared::default());
        for number in 0..count {
            fields.bytes.extend_from_slice(format!("f{number}").as_bytes());
            fields.ends.push(fields.bytes.len());
        }
        row.fields = 0..count as usize;
        row.parts.set_measurement(|out| out.extend_from_slice(b"wide"));
        let mut overlay = Overlay::new(1);
        let mut stage = Stage::creating(names, &mut overlay);
        stage.row(0, &row, &fields, &mut Memo::default(), &mut Vec::new()).unwrap();
        overlay.classify(0, 7);
        overlay
    }

    #[test]
    fn readers_come_between_pieces_and_see_each_series_with_its_class() {
        let count = 3 * PIECE_MAX + 5;
        let mut names = Names::new(1, Origin::default());
        let records = staged(&names, count).records(&names);
        let mut whole = Names::new(1, Origin::default());
        record::apply(&mut whole, &records.bytes).unwrap();
        let sizes = |names: &Names| {
            let fields = names.symbols(SymbolKind::Field).len();
            [fields, names.columns().len(), names.series_len()]
        };
        for piece in records.iter() {
            let before = sizes(&names);
            record::apply(&mut names, piece).unwrap();
            let grown =
                sizes(&names).iter().zip(before).map(|(after, before)| after - before).sum();
            assert!((0..=PIECE_MAX).contains(&grown), "{grown} under one hold");
            assert!((0..names.series_len()).all(|sid| names.class(sid) == 7));
        }
        assert_eq!(names.series_len(), count);
        assert_eq!(sizes(&names), sizes(&whole));
        assert!((0..count).all(|sid| names.series(sid) == whole.series(sid)));
        assert_eq!(whole.class(count - 1), 7);
    }
}
