//! Names: everything registered, by number and by name.
//!
//! All of it only grows, and every number is the position at which something was added:
//! symbols (the strings, per kind), pairs (namespace, label name, label value), sources (namespace
//! and a set of pairs), columns (namespace, measurement, field) and series (source, column).
//! Everything but series is a [`Dictionary`] whose keys are the varints of those numbers.
//!
//! What this file does not know: who registers, in which order locks are taken, and how records
//! are written (`record.rs`).

use crate::answers::Answers;
use crate::dictionary::Dictionary;
use crate::epoch::Origin;
use crate::forgotten::Forgotten;
use crate::groups::Groups;
use crate::limits::{IDS_MAX, LOST_MAX};
use crate::orders::Orders;
use crate::pages::Pages;
use crate::pairs::Pairs;
use crate::postings::Postings;
use crate::series::{LOST, Series, Walk};
use crate::sid_set::SidSet;
use crate::slots::Slots;
use crate::sources::{self, PairIds, Sources};
use crate::spelled::Spelled;
use foliot_codec::varint::get_u32;
use foliot_model::Labels;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kinds of symbols. Each kind is numbered by itself, from 1, in the order of first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SymbolKind {
    /// Names of measurements.
    Measurement = 0,
    /// Names of fields.
    Field = 1,
    /// Names of labels.
    LabelName = 2,
    /// Values of labels.
    LabelValue = 3,
}

impl SymbolKind {
    /// All kinds by number.
    pub(crate) const ALL: [Self; 4] =
        [Self::Measurement, Self::Field, Self::LabelName, Self::LabelValue];
}

/// Shards of the tables that grow with the number of series.
pub(crate) const SHARDS_MANY: usize = 256;
/// Shards of the tables that do not.
pub(crate) const SHARDS_FEW: usize = 16;
/// The first series of a source, so many of them, are found by walking.
const WALK_MAX: u32 = 32;
const NONE: u32 = u32::MAX;

/// Everything registered.
#[derive(Debug)]
pub(crate) struct Names {
    symbols: [Dictionary; 4],
    pairs: Pairs,
    sources: Sources,
    columns: Dictionary,
    pub(crate) origin: Origin,
    /// By kind: symbols that have the numbers of an earlier epoch, local number and that, both as
    /// they were added.
    carried: [Vec<[u32; 2]>; 4],
    series: Series,
    series_slots: Slots,
    /// For each source its first series.
    first_series: Pages<u32>,
    /// For each source the number of its series, up to 255.
    series_counts: Pages<u8>,
    pub(crate) series_of_column: Postings,
    pub(crate) pairs_of_label: Groups,
    pub(crate) columns_of_measurement: Groups,
    classes: BTreeMap<u32, (u32, u32)>,
    class_log: Vec<[u32; 3]>,
    pub(crate) forgotten: Forgotten,
    /// What listings and selections found out about big labels.
    pub(crate) orders: Orders,
    pub(crate) answers: Answers,
    /// Labels of sources that were asked for of late.
    pub(crate) spelled: Spelled<Labels>,
    /// The numbers of the names and values of labels, in the order of the names.
    pub(crate) numbered: Spelled<Arc<[(u32, u32)]>>,
    /// Numbers whose registration was lost, and those of series among them.
    lost: u64,
    lost_series: SidSet,
    /// Memory for the key of a source under construction.
    key: Vec<u8>,
    seed: u64,
}

/// What has numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbered {
    Symbol(SymbolKind),
    Pair,
    Column,
    Source,
    Series,
}

/// Why something cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is there already, under another number.
    Known,
    /// It mentions a number that was never given out.
    Dangling,
    /// No room for more.
    Full,
}

impl Names {
    pub(crate) fn new(seed: u64, origin: Origin) -> Self {
        let symbols = SymbolKind::ALL.map(|kind| {
            let many = kind == SymbolKind::LabelValue;
            let mut symbols = Dictionary::new(seed, if many { SHARDS_MANY } else { SHARDS_FEW });
            // Symbols count from 1: number 0 is the empty string, which is no symbol.
            symbols.push(b"");
            symbols
        });
        Self {
            symbols,
            pairs: Pairs::new(seed),
            sources: Sources::new(seed),
            columns: Dictionary::new(seed, SHARDS_FEW),
            origin,
            carried: Default::default(),
            series: Series::new(origin.base),
            series_slots: Slots::new(SHARDS_MANY),
            first_series: Pages::default(),
            series_counts: Pages::default(),
            series_of_column: Postings::default(),
            pairs_of_label: Groups::new(seed),
            columns_of_measurement: Groups::new(seed),
            classes: BTreeMap::new(),
            class_log: Vec::new(),
            forgotten: Forgotten::default(),
            orders: Orders::default(),
            answers: Answers::default(),
            spelled: Spelled::default(),
            numbered: Spelled::default(),
            lost: 0,
            lost_series: SidSet::default(),
            key: Vec::new(),
            seed,
        }
    }

    pub(crate) fn symbols(&self, kind: SymbolKind) -> &Dictionary {
        let [measurements, fields, label_names, label_values] = &self.symbols;
        match kind {
            SymbolKind::Measurement => measurements,
            SymbolKind::Field => fields,
            SymbolKind::LabelName => label_names,
            SymbolKind::LabelValue => label_values,
        }
    }

    fn symbols_mut(&mut self, kind: SymbolKind) -> &mut Dictionary {
        let [measurements, fields, label_names, label_values] = &mut self.symbols;
        match kind {
            SymbolKind::Measurement => measurements,
            SymbolKind::Field => fields,
            SymbolKind::LabelName => label_names,
            SymbolKind::LabelValue => label_values,
        }
    }

    /// The string of a symbol; registration has seen that it is UTF-8.
    pub(crate) fn symbol(&self, kind: SymbolKind, id: u32) -> &str {
        let bytes = self.symbols(kind).get(id).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    pub(crate) fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    pub(crate) fn columns(&self) -> &Dictionary {
        &self.columns
    }

    /// Number of series.
    pub(crate) fn series_len(&self) -> u32 {
        self.series.len()
    }

    /// The id that the next series gets.
    pub(crate) fn series_end(&self) -> u32 {
        self.series.end()
    }

    /// Source and column of a series.
    #[inline]
    pub(crate) fn series(&self, sid: u32) -> Option<(u32, u32)> {
        self.series.get(sid).filter(|found| *found != LOST)
    }

    /// Whether a series is registered; not if its registration was lost.
    pub(crate) fn has_series(&self, sid: u32) -> bool {
        sid >= self.origin.base && sid < self.series.end() && !self.lost_series.contains(sid)
    }

    pub(crate) fn lost_series(&self) -> &SidSet {
        &self.lost_series
    }

    /// Whether any registration was lost.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// The number that the next thing of a kind gets.
    pub(crate) fn next(&self, what: Numbered) -> u32 {
        match what {
            Numbered::Symbol(kind) => self.symbols(kind).len(),
            Numbered::Pair => self.pairs.entries().len(),
            Numbered::Column => self.columns.len(),
            Numbered::Source => self.sources.entries().len(),
            Numbered::Series => self.series.end(),
        }
    }

    /// Whether the thing of that number was lost.
    pub(crate) fn is_lost(&self, what: Numbered, id: u32) -> bool {
        self.has_lost()
            && match what {
                Numbered::Symbol(kind) => id > 0 && self.symbols(kind).get(id) == Some(b""),
                Numbered::Pair => self.pair(id).is_none(),
                Numbered::Column => self.column(id).is_none(),
                Numbered::Source => self.source(id).is_none(),
                Numbered::Series => self.series(id).is_none(),
            }
    }

    /// Namespace, label name and label value of a pair.
    pub(crate) fn pair(&self, pair: u32) -> Option<[u32; 3]> {
        self.pairs.get(pair)
    }

    /// Namespace, measurement and field of a column.
    pub(crate) fn column(&self, column: u32) -> Option<[u32; 3]> {
        triple_of(self.columns.get(column)?)
    }

    /// Namespace of a source and its pairs, ascending.
    pub(crate) fn source(&self, source: u32) -> Option<(u32, PairIds<'_>)> {
        self.sources.get(source)
    }

    /// The series of `source` in `column`.
    pub(crate) fn find_series(&self, source: u32, column: u32) -> Option<u32> {
        let first = self.first_series.get(source).filter(|first| *first != NONE)?;
        let walk = self.series.walk(first).take(WALK_MAX as usize);
        for (sid, (_, c)) in (first..).zip(walk.take_while(|(s, _)| *s == source)) {
            if c == column && !self.is_forgotten(sid) {
                return Some(sid);
            }
        }
        let wanted = Some((source, column));
        let hash = series_hash(self.seed, source, column);
        let is_it = |sid| self.series.get(sid) == wanted && !self.is_forgotten(sid);
        self.series_slots.find(hash, is_it)
    }

    /// Whether a source has a series, not a forgotten one, in one of some columns, which ascend.
    pub(crate) fn has_series_in(&self, source: u32, columns: &[u32]) -> bool {
        let first = self.first_series.get(source).filter(|first| *first != NONE);
        let Some(first) = first else { return false };
        let walk = self.series.walk(first).take(WALK_MAX as usize);
        let mut walked = 0;
        for (sid, (_, column)) in (first..).zip(walk.take_while(|(s, _)| *s == source)) {
            if columns.binary_search(&column).is_ok() && !self.is_forgotten(sid) {
                return true;
            }
            walked += 1;
        }
        // Those that came later are looked for one by one.
        walked < self.series_count(source)
            && columns.iter().any(|&column| self.find_series(source, column).is_some())
    }

    /// Source and column of the series from `sid` on.
    pub(crate) fn series_from(&self, sid: u32) -> Walk<'_> {
        self.series.walk(sid)
    }

    /// Number of series of a source, up to 255.
    pub(crate) fn series_count(&self, source: u32) -> u32 {
        self.series_counts.get(source).unwrap_or(0).into()
    }

    /// The retention class of a series.
    pub(crate) fn class(&self, sid: u32) -> u32 {
        let before = self.classes.range(..=sid).next_back();
        before.filter(|(_, (end, _))| sid < *end).map_or(0, |(_, (_, class))| *class)
    }

    /// Runs of series of a class other than 0: first, end, class.
    pub(crate) fn class_runs(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        self.classes.iter().map(|(first, (end, class))| (*first, *end, *class))
    }

    /// All assignments of classes in order: first series, count, class.
    pub(crate) fn class_log(&self) -> &[[u32; 3]] {
        &self.class_log
    }

    /// Whether a chunk of registrations fits.
    pub(crate) fn has_room(&self) -> bool {
        self.series.end() < IDS_MAX - (1 << 24)
            && self.symbols.iter().all(Dictionary::has_room)
            && self.pairs.entries().has_room()
            && self.sources.has_room()
            && self.columns.has_room()
            && self.series_of_column.has_room()
    }

    /// Memory held, in bytes, by structure.
    pub(crate) fn memory(&self) -> [(&'static str, usize); 9] {
        let (sources, sources_of_pairs) = self.sources.memory_bytes();
        let classes = (self.classes.len() * 2 + self.class_log.capacity()) * 12;
        [
            ("symbols", self.symbols.iter().map(Dictionary::memory_bytes).sum()),
            ("pairs", self.pairs.memory_bytes() + self.pairs_of_label.memory_bytes()),
            ("sources", sources),
            ("columns", self.columns.memory_bytes() + self.columns_of_measurement.memory_bytes()),
            ("series", self.series.memory_bytes() + classes),
            (
                "series of sources",
                self.first_series.memory_bytes()
                    + self.series_counts.memory_bytes()
                    + self.series_slots.memory_bytes(),
            ),
            ("sources of pairs", sources_of_pairs),
            ("series of columns", self.series_of_column.memory_bytes()),
            (
                "orders",
                self.orders.memory_bytes()
                    + self.answers.memory_bytes()
                    + self.spelled.memory_bytes()
                    + self.numbered.memory_bytes(),
            ),
        ]
    }
}

/// Adding. Each checks that what it mentions exists and that it is new.
impl Names {
    pub(crate) fn add_symbol(&mut self, kind: SymbolKind, name: &[u8]) -> Result<u32, Refusal> {
        add_entry(self.symbols_mut(kind), name)
    }

    pub(crate) fn add_pair(&mut self, triple: [u32; 3]) -> Result<u32, Refusal> {
        let [namespace, name, value] = triple;
        self.check_symbol(SymbolKind::LabelName, name)?;
        self.check_symbol(SymbolKind::LabelValue, value)?;
        if self.pairs.find(triple).is_some() {
            return Err(Refusal::Known);
        }
        let pair = self.pairs.push(triple).ok_or(Refusal::Full)?;
        self.sources.open_pair();
        self.pairs_of_label.add(namespace, name, pair)?;
        Ok(pair)
    }

    pub(crate) fn add_column(&mut self, numbers: [u32; 3]) -> Result<u32, Refusal> {
        let [namespace, measurement, field] = numbers;
        self.check_symbol(SymbolKind::Measurement, measurement)?;
        self.check_symbol(SymbolKind::Field, field)?;
        let column = add_entry(&mut self.columns, &Key::of(&numbers))?;
        self.series_of_column.open();
        self.columns_of_measurement.add(namespace, measurement, column)?;
        Ok(column)
    }

    /// Gives all numbers below `end` out: those that nobody has belong to things whose registration
    /// was lost. They are never found, and nothing else ever gets their numbers.
    pub(crate) fn lose(&mut self, what: Numbered, end: u32) -> Result<(), Refusal> {
        let missing = end.saturating_sub(self.next(what));
        if self.lost + u64::from(missing) > LOST_MAX || end > IDS_MAX {
            return Err(Refusal::Full);
        }
        if what == Numbered::Series && missing > 0 {
            self.lost_series.add(&(self.series.end()..end).collect());
        }
        for _ in 0..missing {
            match what {
                Numbered::Symbol(kind) => {
                    self.symbols_mut(kind).push_lost().ok_or(Refusal::Full)?;
                }
                Numbered::Pair => {
                    self.pairs.push_lost().ok_or(Refusal::Full)?;
                    self.sources.open_pair();
                }
                Numbered::Column => {
                    self.columns.push_lost().ok_or(Refusal::Full)?;
                    self.series_of_column.open();
                }
                Numbered::Source => {
                    self.sources.push_lost().ok_or(Refusal::Full)?;
                    self.first_series.push(NONE);
                    self.series_counts.push(0);
                }
                Numbered::Series => {
                    let (source, column) = LOST;
                    self.series.push(source, column);
                }
            }
            self.lost += 1;
        }
        Ok(())
    }

    /// Adds a source of `pairs`, which ascend.
    pub(crate) fn add_source(&mut self, namespace: u32, pairs: &[u32]) -> Result<u32, Refusal> {
        let last = pairs.last().copied().unwrap_or(0);
        let is_dangling = (!pairs.is_empty() && last >= self.pairs.entries().len())
            || pairs.iter().any(|&pair| self.is_lost(Numbered::Pair, pair));
        if is_dangling || !pairs.is_sorted_by(|a, b| a < b) {
            return Err(Refusal::Dangling);
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        sources::put_key(&mut key, namespace, pairs);
        let added = match self.sources.find(pairs, &key) {
            Some(_) => Err(Refusal::Known),
            None => self.sources.push(pairs, &key).ok_or(Refusal::Full),
        };
        self.key = key;
        let source = added?;
        self.first_series.push(NONE);
        self.series_counts.push(0);
        Ok(source)
    }

    /// Adds the series of a source in a column of the same namespace.
    pub(crate) fn add_series(&mut self, source: u32, column: u32) -> Result<u32, Refusal> {
        let sid = self.series.end();
        if sid >= IDS_MAX {
            return Err(Refusal::Full);
        }
        if self.is_lost(Numbered::Source, source) || self.is_lost(Numbered::Column, column) {
            return Err(Refusal::Dangling);
        }
        let is_forgotten = self.is_forgotten(sid);
        if !is_forgotten && self.find_series(source, column).is_some() {
            return Err(Refusal::Known);
        }
        let count_before = self.series_count(source);
        let first = self.first_series.get_mut(source).ok_or(Refusal::Dangling)?;
        if *first == NONE {
            *first = sid;
        }
        let first = *first;
        // What stands between is of the same source, or the walk does not get here.
        let between = (sid - first) as usize;
        let is_walked = between < WALK_MAX as usize
            && self.series.walk(first).take(between).all(|(s, _)| s == source);
        self.series.push(source, column);
        if !is_walked && !is_forgotten {
            let (seed, series) = (self.seed, &self.series);
            let hash_of = |sid| match series.get(sid) {
                Some((source, column)) => series_hash(seed, source, column),
                None => 0,
            };
            self.series_slots.insert(series_hash(seed, source, column), sid, hash_of);
        }
        if let Some(count) = self.series_counts.get_mut(source) {
            *count = count.saturating_add(1);
        }
        self.series_of_column.add(column, sid);
        self.note_series(source);
        if is_forgotten {
            self.note_forgotten(source, column, count_before + 1);
            self.settle(source);
        }
        Ok(sid)
    }

    /// Assigns a retention class to `count` series from `first` on.
    pub(crate) fn set_class(&mut self, first: u32, count: u32, class: u32) -> Result<(), Refusal> {
        let end = first.checked_add(count).filter(|end| *end <= self.series.end());
        let end = end.ok_or(Refusal::Dangling)?;
        self.class_log.push([first, count, class]);
        // Cut what overlaps, then put the new run between.
        let overlapping: Vec<_> = self
            .classes
            .range(..end)
            .rev()
            .take_while(|(_, (run_end, _))| *run_end > first)
            .map(|(start, run)| (*start, *run))
            .collect();
        for (start, (run_end, old)) in overlapping {
            self.classes.remove(&start);
            if start < first {
                self.classes.insert(start, (first, old));
            }
            if run_end > end {
                self.classes.insert(end, (run_end, old));
            }
        }
        if class != 0 && first < end {
            self.classes.insert(first, (end, class));
        }
        Ok(())
    }

    /// The symbols that have numbers of an earlier epoch, as place and number.
    pub(crate) fn carried_of(&self, kind: SymbolKind) -> &[[u32; 2]] {
        self.carried.get(kind as usize).map_or(&[], Vec::as_slice)
    }

    /// Notes that the symbol `local` has the `number` that an earlier epoch gave it.
    pub(crate) fn carry(
        &mut self,
        kind: SymbolKind,
        local: u32,
        number: u32,
    ) -> Result<(), Refusal> {
        self.check_symbol(kind, local)?;
        let is_earlier = number != 0 && number <= self.origin.symbol(kind);
        let Some(carried) = self.carried.get_mut(kind as usize) else { return Ok(()) };
        if carried.binary_search_by_key(&local, |[local, _]| *local).is_ok() {
            return Ok(());
        }
        if !is_earlier || carried.last().is_some_and(|[last, _]| *last > local) {
            return Err(Refusal::Dangling);
        }
        carried.push([local, number]);
        Ok(())
    }

    fn check_symbol(&self, kind: SymbolKind, id: u32) -> Result<(), Refusal> {
        let is_there = id > 0 && id < self.symbols(kind).len();
        match is_there && !self.is_lost(Numbered::Symbol(kind), id) {
            true => Ok(()),
            false => Err(Refusal::Dangling),
        }
    }
}

fn add_entry(dictionary: &mut Dictionary, key: &[u8]) -> Result<u32, Refusal> {
    let hash = dictionary.hash(key);
    if dictionary.find_hashed(hash, key).is_some() {
        return Err(Refusal::Known);
    }
    dictionary.push_hashed(hash, key).ok_or(Refusal::Full)
}

/// A short key: up to three numbers as varints, without an allocation.
pub(crate) struct Key {
    bytes: [u8; 15],
    len: usize,
}

impl Key {
    pub(crate) fn of(numbers: &[u32]) -> Self {
        debug_assert!(numbers.len() <= 3);
        let mut key = Self { bytes: [0; 15], len: 0 };
        for &number in numbers {
            let mut rest = number;
            loop {
                let more = rest >= 0x80;
                if let Some(byte) = key.bytes.get_mut(key.len) {
                    *byte = (rest as u8 & 0x7f) | if more { 0x80 } else { 0 };
                }
                key.len += 1;
                rest >>= 7;
                if !more {
                    break;
                }
            }
        }
        key
    }
}

impl std::ops::Deref for Key {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

pub(crate) fn triple_of(mut key: &[u8]) -> Option<[u32; 3]> {
    let mut take = || get_u32(&mut key).ok();
    Some([take()?, take()?, take()?])
}

fn series_hash(seed: u64, source: u32, column: u32) -> u64 {
    let mixed = (u64::from(source) << 32 | u64::from(column)) ^ seed;
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 32)
}
