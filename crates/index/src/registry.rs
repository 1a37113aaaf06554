//! The registry: the face of this room over its locks.
//!
//! Three locks, taken in this order: `registrar` (one registration at a time), `names` (everything
//! registered), `lookup` (raw spellings to series); see [`Rank`]. Ingest of known series takes only
//! `lookup`, shared; queries take only `names`, shared.
//!
//! No caller's function is called while `names` is held, except for the question whether to go on:
//! what it calls may ask for `names` again, and a registration that waits in between would stop it
//! for ever. `registrar` is held while records are published.

use crate::epoch::Origin;
use crate::error::Error;
use crate::identity::{Description, Identity, Numbers, Speller};
use crate::limits::{CHECKPOINT_SLICE_BYTES, NAME_BYTES_MAX, VALUE_BYTES_MAX};
use crate::list::{self, Listed, MayGather};
use crate::lookup::{Lookup, Run, Sids};
use crate::names::{Key, Names, Numbered, SymbolKind};
use crate::record::{self, Triples};
use crate::register::{self, Chunk};
use crate::select::{self, GoesOn};
use crate::sid_set::SidSet;
use crate::spelled::SPELLED_MAX;
use crate::stage::{Overlay, Stage};
use foliot_lock::{Mutex, Rank, RwLock, RwLockReadGuard};
use foliot_model::{Batch, KeyParts, NamespaceId, Reject, Row, Selector};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

/// Series that are spelled out under one hold of the names: some tens of microseconds.
const SPELLED_AT_ONCE: usize = 256;

/// Conditions that a listing meets while it holds the names, each of which looks at all sources at
/// worst.
const CONDITIONS_HELD_MAX: usize = 8;

/// All series of one epoch: from names to numbers and back.
#[derive(Debug)]
pub struct Registry {
    origin: Origin,
    registrar: Mutex<Overlay>,
    names: RwLock<Names>,
    lookup: RwLock<Lookup>,
    /// Memory of registrations past, for the next ones.
    chunks: Mutex<Vec<Chunk>>,
}

/// How many series a field of a measurement may have; nothing where it may have any number.
pub type Limited<'a> = dyn Fn(&[u8], &[u8]) -> Option<u64> + 'a;

/// What new series are registered by.
pub struct Terms<'a> {
    /// How many may be created.
    pub admit: u64,
    /// What admits no more than these, as messages name it.
    pub limit: &'static str,
    /// How many series a field of a measurement may have, where that is limited.
    pub limited: Option<&'a Limited<'a>>,
    /// How many labels each may have, [`LABELS_MAX`] at most.
    ///
    /// [`LABELS_MAX`]: crate::LABELS_MAX
    pub labels_max: usize,
    /// The retention class of those of a key. They have it as soon as anybody can see them.
    pub class: &'a dyn Fn(&KeyParts) -> u32,
}

impl std::fmt::Debug for Terms<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").field("admit", &self.admit).finish_non_exhaustive()
    }
}

/// What [`Registry::register`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// Series created.
    pub new_series: u64,
    /// Their ids, in runs.
    pub new_sids: Vec<Range<u32>>,
}

impl Registered {
    /// Adds series that were created after the others.
    pub(crate) fn add(&mut self, sids: Range<u32>) {
        self.new_series += sids.len() as u64;
        match self.new_sids.last_mut() {
            Some(last) if last.end == sids.start => last.end = sids.end,
            _ if sids.is_empty() => {}
            _ => self.new_sids.push(sids),
        }
    }
}

/// How far a checkpoint reached. The default is the very start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    symbols: [u32; 4],
    carried: [u32; 4],
    pairs: u32,
    columns: u32,
    sources: u32,
    /// Counted from where the epoch begins.
    series: u32,
    classes: u32,
}

/// How much is registered, and what it costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Series, forgotten ones included.
    pub series: u64,
    /// Series that were forgotten.
    pub forgotten: u64,
    /// Sources.
    pub sources: u64,
    /// Columns: measurement and field of a namespace.
    pub columns: u64,
    /// Symbols of all kinds.
    pub symbols: u64,
    /// Raw spellings that the lookup knows.
    pub lookup_entries: u64,
    /// Memory held in bytes, reckoned from capacities.
    pub memory_bytes: u64,
}

impl Mark {
    /// Whether anything is registered between this and `target`.
    fn is_short_of(&self, target: &Self) -> bool {
        let any = |of: &[u32; 4], target: &[u32; 4]| of.iter().zip(target).any(|(a, b)| a < b);
        any(&self.symbols, &target.symbols)
            || any(&self.carried, &target.carried)
            || self.pairs < target.pairs
            || self.columns < target.columns
            || self.sources < target.sources
            || self.series < target.series
            || self.classes < target.classes
    }
}

impl Registry {
    /// An empty registry for an epoch that begins at 0.
    pub fn new(epoch: u32) -> Self {
        Self::begin(Origin { epoch, ..Origin::default() })
    }

    /// An empty registry for the epoch that begins at `origin`.
    pub fn begin(origin: Origin) -> Self {
        // Clients choose the names: a seed of their own for each process keeps them from aiming for
        // collisions. No number that is given out depends on it.
        let seed = RandomState::new().hash_one(0u8);
        // A registration carries numbers over from the epoch before, which comes after this one.
        let age = !origin.epoch;
        Self {
            origin,
            registrar: Mutex::numbered(Rank::Registrar, age, Overlay::new(seed)),
            names: RwLock::numbered(Rank::Names, age, Names::new(seed, origin)),
            lookup: RwLock::new(Rank::Lookup, Lookup::new()),
            chunks: Mutex::new(Rank::Chunks, Vec::new()),
        }
    }

    /// The epoch that the numbers belong to.
    pub fn epoch(&self) -> u32 {
        self.origin.epoch
    }

    /// Where the epoch begins.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Where the next epoch would begin. Its ids begin at a multiple of `align`.
    pub fn next_origin(&self, align: u32) -> Origin {
        let names = self.names.read();
        let given = |kind| names.symbols(kind).len() - 1;
        let symbol = |kind| self.origin.symbol(kind).saturating_add(given(kind));
        Origin {
            epoch: self.origin.epoch + 1,
            base: names.series_end().next_multiple_of(align),
            symbols: SymbolKind::ALL.map(symbol),
        }
    }

    /// Gives back what only rows to come are found and registered with: nobody writes here any
    /// more.
    pub fn close(&self) {
        *self.lookup.write() = Lookup::new();
        self.chunks.lock().clear();
    }

    /// While `closing`, the epoch before, is in memory, names that it knows keep their numbers.
    pub fn set_closing(&self, closing: Option<Arc<Self>>) {
        let before = std::mem::replace(&mut self.registrar.lock().closing, closing);
        // Nobody waits while it goes.
        drop(before);
    }

    /// The id that the next series gets.
    pub fn series_end(&self) -> u32 {
        self.names.read().series_end()
    }

    /// Whether a series is registered: not if its registration was lost.
    pub fn has_series(&self, sid: u32) -> bool {
        self.names.read().has_series(sid)
    }

    /// Series whose registration was lost.
    pub fn lost(&self) -> SidSet {
        self.names.read().lost_series().clone()
    }

    /// Gives the ids below `end` out, so that no new series gets one that something else still
    /// mentions although its registration was lost. Not more than a reader of damage would.
    pub fn reserve(&self, end: u32) {
        let _one_at_a_time = self.registrar.lock();
        // What is too far away to be reserved is too far away to be given out by chance.
        let _ = self.names.write().lose(Numbered::Series, end);
    }

    pub(crate) fn names(&self) -> &RwLock<Names> {
        &self.names
    }

    pub(crate) fn lookup(&self) -> &RwLock<Lookup> {
        &self.lookup
    }

    pub(crate) fn chunks(&self) -> &Mutex<Vec<Chunk>> {
        &self.chunks
    }

    pub(crate) fn registrar(&self) -> &Mutex<Overlay> {
        &self.registrar
    }

    /// Finds series of known rows. It holds the lookup's shared lock: drop it before
    /// [`Registry::register`] on the same thread, and never hold two at once.
    pub fn resolver(&self) -> Resolver<'_> {
        Resolver { lookup: self.lookup.read() }
    }

    /// Registers, or resolves by name, the rows of `batch` whose indices are in `missing`.
    ///
    /// Calls `found` with the index and the series of each row that has some; the others are in
    /// `rejects`, neighbours are kept. A row that needs more new series than `terms` admit is
    /// rejected whole. `publish` is called once per chunk of rows with the records of everything
    /// new, in the order of their numbers, before anybody can see any of it; readers are not kept
    /// waiting meanwhile.
    ///
    /// # Errors
    /// What `publish` returned. Then nothing of that chunk was registered; chunks before it were.
    pub fn register<E>(
        &self,
        batch: &Batch<'_>,
        missing: &[u32],
        terms: &Terms<'_>,
        publish: &mut dyn FnMut(&[u8]) -> Result<(), E>,
        found: &mut dyn FnMut(u32, Sids<'_>),
        rejects: &mut Vec<Reject>,
    ) -> Result<Registered, E> {
        register::register(self, batch, missing, terms, publish, found, rejects)
    }

    /// Whether a row that is not refused otherwise needs a new series of a field that has as many
    /// as it may have.
    pub fn is_beyond(
        &self,
        batch: &Batch<'_>,
        row: &Row,
        labels_max: usize,
        limited: &Limited<'_>,
    ) -> bool {
        register::is_beyond(self, batch, row, labels_max, limited)
    }

    /// How many series a field of a measurement has.
    pub fn series_in(&self, namespace: NamespaceId, measurement: &str, field: &str) -> u64 {
        let names = self.names.read();
        let symbol = |kind, name: &str| names.symbols(kind).find(name.as_bytes());
        let column = symbol(SymbolKind::Measurement, measurement)
            .zip(symbol(SymbolKind::Field, field))
            .and_then(|(measurement, field)| {
                names.columns().find(&Key::of(&[namespace, measurement, field]))
            });
        column.map_or(0, |column| names.series_in(column).into())
    }

    /// The number of a symbol, which is created when it is new. Nothing when the name is empty, too
    /// long, or there is no room.
    ///
    /// # Errors
    /// What `publish` returned. Then the symbol was not created.
    pub fn symbol_assign<E>(
        &self,
        kind: SymbolKind,
        name: &str,
        publish: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Option<u32>, E> {
        let bytes_max = match kind {
            SymbolKind::LabelValue => VALUE_BYTES_MAX,
            _ => NAME_BYTES_MAX,
        };
        if name.is_empty() || name.len() > bytes_max {
            return Ok(None);
        }
        let mut overlay = self.registrar.lock();
        overlay.clear();
        let (id, records) = {
            let names = self.names.read();
            if !names.has_room() {
                return Ok(None);
            }
            let id = Stage::creating(&names, &mut overlay).symbol(kind, name.as_bytes());
            (id, overlay.records(&names))
        };
        if !records.bytes.is_empty() {
            publish(&records.bytes)?;
            let applied = record::apply(&mut self.names.write(), &records.bytes);
            debug_assert!(applied.is_ok(), "a staged symbol applies: {applied:?}");
        }
        Ok(id.and_then(|id| self.names.read().number(kind, id)))
    }

    /// Assigns a retention class to `count` series from `first` on. False when one of them does not
    /// exist.
    ///
    /// # Errors
    /// What `publish` returned. Then nothing was assigned.
    pub fn assign_class<E>(
        &self,
        first: u32,
        count: u32,
        class: u32,
        publish: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let _one_at_a_time = self.registrar.lock();
        let end = first.checked_add(count);
        if end.is_none_or(|end| end > self.names.read().series_end()) {
            return Ok(false);
        }
        let mut records = Vec::new();
        record::put_epoch(&mut records, &self.origin);
        record::put_class(&mut records, [first, count, class]);
        publish(&records)?;
        Ok(self.names.write().set_class(first, count, class).is_ok())
    }

    /// Whether a class was ever assigned.
    pub fn has_classes(&self) -> bool {
        !self.names.read().class_log().is_empty()
    }

    /// Reads records of this epoch, in the order in which they were published or checkpointed. What
    /// is registered already is skipped, so overlapping stretches may be read. Where records are
    /// missing, what they registered is lost and so is what needs it, but nothing else is.
    ///
    /// # Errors
    /// When the records are damaged, of another epoch, or contradict what is registered. Records
    /// before the bad one are kept. A gap is none: the numbers in it are given up.
    pub fn replay(&self, records: &[u8]) -> Result<(), Error> {
        let _one_at_a_time = self.registrar.lock();
        record::apply(&mut self.names.write(), records)
    }

    /// Records of everything registered after `from`, and how far they reach.
    pub fn checkpoint(&self, from: &Mark) -> (Vec<u8>, Mark) {
        let mut all = Vec::new();
        let mut keep = |slice: &[u8]| {
            all.extend_from_slice(slice);
            Ok::<(), std::convert::Infallible>(())
        };
        let Ok(mark) = self.checkpoint_slices(from, &mut keep);
        (all, mark)
    }

    /// Like [`Registry::checkpoint`], slice by slice of a few hundred KiB, each of which can be
    /// replayed after the ones before it. Registration goes on meanwhile; what it adds is not in
    /// it.
    ///
    /// # Errors
    /// What `each` returned.
    pub fn checkpoint_slices<E>(
        &self,
        from: &Mark,
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Mark, E> {
        let target = self.mark();
        let mut at = *from;
        let mut slice = Vec::new();
        while at.is_short_of(&target) {
            slice.clear();
            record::put_epoch(&mut slice, &self.origin);
            checkpoint_slice(&self.names.read(), &mut at, &target, &mut slice);
            each(&slice)?;
        }
        Ok(target)
    }

    /// How far registration is.
    pub fn mark(&self) -> Mark {
        let names = self.names.read();
        Mark {
            symbols: SymbolKind::ALL.map(|kind| names.symbols(kind).len() - 1),
            pairs: names.pairs().entries().len(),
            columns: names.columns().len(),
            sources: names.sources().entries().len(),
            series: names.series_len(),
            carried: names.carried_counts(),
            classes: names.class_log().len() as u32,
        }
    }

    /// The series that `selector` wants, ascending.
    pub fn select(&self, selector: &Selector) -> Vec<u32> {
        select::select(&self.names.read(), selector)
    }

    /// The same, as long as `goes_on` says so, which is asked now and then and told of long walks.
    ///
    /// # Errors
    /// When it was not to go on.
    pub fn select_while(
        &self,
        selector: &Selector,
        goes_on: &GoesOn<'_>,
    ) -> Result<Vec<u32>, Error> {
        select::select_while(&self.names, selector, goes_on).ok_or(Error::Stopped)
    }

    /// What a series is called.
    pub fn identity(&self, sid: u32) -> Option<Identity> {
        Speller::default().spell(&self.names.read(), sid)
    }

    /// What many series are called: calls `each` in the order of `sids`, without unknown ones, and
    /// without any lock. Strings that series have in common are shared.
    pub fn identities(&self, sids: &[u32], each: &mut dyn FnMut(u32, Identity)) {
        self.spell(sids, Speller::default(), each);
    }

    /// The same with no labels but those called `names`, which is cheaper where these are few.
    pub fn headings(&self, sids: &[u32], names: &[Arc<str>], each: &mut dyn FnMut(u32, Identity)) {
        let speller = Speller::only(&self.names.read(), names);
        self.spell(sids, speller, each);
    }

    fn spell(&self, sids: &[u32], mut speller: Speller, each: &mut dyn FnMut(u32, Identity)) {
        speller.shares = sids.len() > 1;
        speller.remembers = sids.len() <= SPELLED_MAX;
        let mut spelled = Vec::with_capacity(sids.len().min(SPELLED_AT_ONCE));
        for sids in sids.chunks(SPELLED_AT_ONCE) {
            {
                let names = self.names.read();
                let known = sids.iter().filter_map(|&sid| Some((sid, speller.spell(&names, sid)?)));
                spelled.extend(known);
            }
            spelled.drain(..).for_each(|(sid, identity)| each(sid, identity));
        }
    }

    /// What tells each of `sids` from all other series, in every epoch; see [`crate::Segment`].
    pub fn keys(&self, sids: &[u32], secret: u64) -> Vec<u128> {
        let names = self.names.read();
        sids.iter().filter_map(|&sid| names.key(sid, secret)).collect()
    }

    /// A series by numbers.
    pub fn describe(&self, sid: u32) -> Option<Description> {
        let names = self.names.read();
        let (source, column) = names.series(sid)?;
        let [namespace, ..] = names.column(column)?;
        Some(Description { namespace, class: names.class(sid), source, column })
    }

    /// Names in use, of the series that `selector` wants: distinct, in byte order, those that begin
    /// with `prefix`, without the first `offset`, at most `limit`.
    pub fn list(
        &self,
        what: &Listed,
        selector: &Selector,
        prefix: &str,
        offset: usize,
        limit: usize,
    ) -> Vec<String> {
        let window = (offset, limit);
        self.list_while(what, selector, prefix, window, &|_| true).unwrap_or_default()
    }

    /// The same, as long as `may_gather` says so: names of a huge store take time and memory.
    ///
    /// # Errors
    /// When it was not to go on.
    pub fn list_while(
        &self,
        what: &Listed,
        selector: &Selector,
        prefix: &str,
        window: (usize, usize),
        may_gather: &MayGather<'_>,
    ) -> Result<Vec<String>, Error> {
        // While names are listed they are held: many conditions are met before, piece by piece.
        let met = match selector.only.is_none() && selector.matchers.len() > CONDITIONS_HELD_MAX {
            true => {
                let sids = self.select_while(selector, &|_| may_gather(0))?;
                let (matchers, exact_labels) = (Vec::new(), None);
                Some(Selector { only: Some(sids), matchers, exact_labels, ..selector.clone() })
            }
            false => None,
        };
        let names = self.names.read();
        let selector = met.as_ref().unwrap_or(selector);
        let found = list::list(&names, what, selector, prefix, window, may_gather);
        found.ok_or(Error::Stopped)
    }

    /// The number of a symbol.
    pub fn symbol_id(&self, kind: SymbolKind, name: &str) -> Option<u32> {
        self.names.read().number_of(kind, name.as_bytes())
    }

    /// The numbers of the names of a series.
    pub fn numbers(&self, sid: u32) -> Option<Numbers> {
        Numbers::of(&self.names.read(), sid)
    }

    /// The name of a symbol.
    pub fn symbol_name(&self, kind: SymbolKind, id: u32) -> Option<Arc<str>> {
        let names = self.names.read();
        names.symbol_numbered(kind, id).map(|local| names.symbol(kind, local).into())
    }

    /// How much is registered. Cheap: nothing is walked.
    pub fn counts(&self) -> Counts {
        let memory_bytes = self.memory().iter().map(|(_, bytes)| bytes).sum();
        let names = self.names.read();
        let lookup = self.lookup.read();
        let symbols = SymbolKind::ALL.map(|kind| u64::from(names.symbols(kind).len() - 1));
        Counts {
            series: names.series_len().into(),
            forgotten: names.forgotten.sids().count_within(self.origin.base, names.series_end()),
            sources: names.sources().entries().len().into(),
            columns: names.columns().len().into(),
            symbols: symbols.iter().sum(),
            lookup_entries: lookup.entries(),
            memory_bytes,
        }
    }

    /// How many series there are.
    pub fn series(&self) -> u64 {
        self.names.read().series_len().into()
    }

    /// Memory held in bytes by structure, reckoned from capacities.
    pub fn memory(&self) -> Vec<(&'static str, u64)> {
        let mut parts: Vec<_> =
            self.names.read().memory().map(|(part, bytes)| (part, bytes as u64)).into();
        parts.push(("lookup", self.lookup.read().memory_bytes() as u64));
        parts
    }
}

/// Finds the series of rows whose spelling is known. See [`Registry::resolver`].
#[derive(Debug)]
pub struct Resolver<'a> {
    lookup: RwLockReadGuard<'a, Lookup>,
}

impl Resolver<'_> {
    /// The series of a row of `count` fields by the hashes of its key and of its shape.
    #[inline]
    pub fn find(&self, key_hash: u128, shape_hash: u128, count: u32) -> Option<Run> {
        self.lookup.find(key_hash, shape_hash, count)
    }

    /// Brings what [`Resolver::find`] will look at from memory, for rows that are found soon.
    #[inline]
    pub fn fetch(&self, hashes: impl Iterator<Item = (u128, u128)>) {
        let peek = |all, (key, shape)| all ^ self.lookup.peek(key, shape);
        std::hint::black_box(hashes.fold(0, peek));
    }

    /// The ids of a run that was found for a row of `count` fields.
    #[inline]
    pub fn sids(&self, run: Run, count: u32) -> Sids<'_> {
        self.lookup.sids(run, count)
    }
}

/// Encodes the next records between `at` and `target`, and moves `at` behind them.
fn checkpoint_slice(names: &Names, at: &mut Mark, target: &Mark, out: &mut Vec<u8>) {
    // Entries per record: even the longest make a slice of about a megabyte.
    const STEP: u32 = 256;
    let next = |at: &mut u32, target: u32| {
        let start = *at;
        *at = target.min(start.saturating_add(STEP));
        start..*at
    };
    for (kind, (at, target)) in
        SymbolKind::ALL.into_iter().zip(at.symbols.iter_mut().zip(target.symbols))
    {
        while *at < target && out.len() < CHECKPOINT_SLICE_BYTES {
            // Marks count symbols from 0, ids count from 1.
            let range = next(at, target);
            record::put_symbols(out, kind, names.symbols(kind), range.start + 1..range.end + 1, 0);
        }
    }
    for (kind, (at, target)) in
        SymbolKind::ALL.into_iter().zip(at.carried.iter_mut().zip(target.carried))
    {
        while *at < target && out.len() < CHECKPOINT_SLICE_BYTES {
            let range = next(at, target);
            record::put_carried(out, kind, names.carried(kind, range));
        }
    }
    while at.pairs < target.pairs && out.len() < CHECKPOINT_SLICE_BYTES {
        let range = next(&mut at.pairs, target.pairs);
        record::put_triples(out, Triples::Pairs, names.pairs().entries(), range, 0);
    }
    while at.columns < target.columns && out.len() < CHECKPOINT_SLICE_BYTES {
        let range = next(&mut at.columns, target.columns);
        record::put_triples(out, Triples::Columns, names.columns().entries(), range, 0);
    }
    while at.sources < target.sources && out.len() < CHECKPOINT_SLICE_BYTES {
        let range = next(&mut at.sources, target.sources);
        record::put_sources(out, names.sources().entries(), range, 0);
    }
    while at.series < target.series && out.len() < CHECKPOINT_SLICE_BYTES {
        let range = at.series..target.series.min(at.series.saturating_add(1 << 18));
        at.series = range.end;
        let first = names.origin.base + range.start;
        record::put_series(out, first, names.series_from(first).take(range.len()));
    }
    while at.classes < target.classes && out.len() < CHECKPOINT_SLICE_BYTES {
        let log = names.class_log().get(at.classes as usize).copied();
        record::put_class(out, log.unwrap_or_default());
        at.classes += 1;
    }
}
