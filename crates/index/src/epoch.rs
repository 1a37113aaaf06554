//! Epochs: generations of the registry.
//!
//! A registry only grows. When most of its series have gone quiet, an empty one takes its place and
//! the living series move over by being written again, under new ids. Ids and the numbers of
//! symbols count on from epoch to epoch; everything else is numbered anew in each. A name that the
//! epoch before still has in memory keeps its number, so that the number of a name that stays in
//! use stays the same.

use crate::limits::IDS_MAX;
use crate::names::{Names, SymbolKind};
use crate::record;
use std::fmt;
use std::ops::Range;

/// Where an epoch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Number of the epoch.
    pub epoch: u32,
    /// Id of its first series.
    pub base: u32,
    /// By kind: the highest number that a symbol got before.
    pub symbols: [u32; 4],
}

impl Origin {
    /// What records that stand together say of their epoch.
    pub fn of_records(records: &[u8]) -> Option<Self> {
        record::origin(records)
    }

    /// Whether an epoch can begin here: its series have ids to come.
    pub fn is_possible(&self) -> bool {
        self.epoch < u32::MAX && self.base <= IDS_MAX + 1
    }

    /// Where the epoch begins once its index was made again: symbols get other numbers, which makes
    /// records from before records of something else.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { symbols: self.symbols.map(|number| number.saturating_add(1)), ..*self }
    }

    /// Whether this is where the epoch that began at `before` begins since its index was made
    /// again.
    pub fn follows(&self, before: &Self) -> bool {
        (self.epoch, self.base) == (before.epoch, before.base)
            && self.symbols.iter().zip(before.symbols).all(|(now, before)| *now > before)
    }

    pub(crate) fn symbol(&self, kind: SymbolKind) -> u32 {
        self.symbols.get(kind as usize).copied().unwrap_or_default()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from series {}", self.epoch, self.base)
    }
}

/// Numbers of symbols: those inside of the epoch are places in a dictionary.
impl Names {
    /// The number of the symbol at a place.
    pub(crate) fn number(&self, kind: SymbolKind, local: u32) -> Option<u32> {
        if local == 0 {
            return None;
        }
        let carried = self.carried(kind, 0..u32::MAX);
        let found = carried.binary_search_by_key(&local, |[local, _]| *local).ok();
        let earlier = found.and_then(|at| carried.get(at)).map(|[_, number]| *number);
        earlier.or_else(|| self.origin.symbol(kind).checked_add(local))
    }

    /// The number of a symbol by name.
    pub(crate) fn number_of(&self, kind: SymbolKind, name: &[u8]) -> Option<u32> {
        self.number(kind, self.symbols(kind).find(name)?)
    }

    /// The place of a symbol by number.
    pub(crate) fn symbol_numbered(&self, kind: SymbolKind, number: u32) -> Option<u32> {
        let before = self.origin.symbol(kind);
        if number > before {
            let local = number - before;
            let is_there = local < self.symbols(kind).len();
            return (is_there && self.number(kind, local) == Some(number)).then_some(local);
        }
        // Asked for by few, so these are not indexed by number.
        let carried = self.carried(kind, 0..u32::MAX).iter();
        carried.clone().find(|[_, earlier]| *earlier == number).map(|[local, _]| *local)
    }

    /// Some of the symbols that have numbers of an earlier epoch, as place and number.
    pub(crate) fn carried(&self, kind: SymbolKind, range: Range<u32>) -> &[[u32; 2]] {
        let all = self.carried_of(kind);
        let end = all.len().min(range.end as usize);
        all.get(range.start as usize..end).unwrap_or_default()
    }

    /// By kind, how many symbols have numbers of an earlier epoch.
    pub(crate) fn carried_counts(&self) -> [u32; 4] {
        SymbolKind::ALL.map(|kind| self.carried_of(kind).len() as u32)
    }
}
