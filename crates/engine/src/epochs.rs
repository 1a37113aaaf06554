//! Epochs: the registry that rows are registered in, and the closed ones before it.
//!
//! ```text
//! switch    in a flush: an empty registry takes the place of the open one, which closes; its
//!           series move over by being written again, under new ids        upkeep/flush.rs
//! archive   a closed registry is written to a segment on disk and leaves memory  maintain
//! retire    a segment whose epoch has no part left is removed                    maintain
//! ```
//!
//! Readers ask all epochs that can hold samples of the range they look at, and know a series that
//! occurs in several again by its key. It then goes by its newest id, under which the samples of
//! the older ones are found too. So memory follows the series that are written, and queries of
//! recent times do not read the index of old ones.

use crate::error::Error;
use crate::limits::PAGE_SERIES;
use crate::view::View;
use foliot_index::{
    Census, Description, GoesOn, Identity, Listed, Mark, MayGather, Numbers, Origin, Registry,
    Segment, SidSet, SymbolKind,
};
use foliot_model::{NamespaceId, Selector, TimeRange};
use std::ops::Range;
use std::sync::Arc;

mod select;

pub(crate) use select::Earlier;

/// All epochs of one moment, swapped whole like a view.
#[derive(Clone)]
pub(crate) struct Epochs {
    /// Oldest first.
    closed: Vec<Closed>,
    current: Arc<Registry>,
    /// Seeds the keys of series; random, and the same as long as the store lives.
    seed: u64,
}

/// An epoch that nobody registers in any more.
#[derive(Clone)]
pub(crate) enum Closed {
    /// Until its segment is written.
    Memory(Arc<Registry>),
    Disk(Arc<Segment>),
}

impl Closed {
    pub(crate) fn origin(&self) -> Origin {
        match self {
            Self::Memory(registry) => registry.origin(),
            Self::Disk(segment) => segment.origin(),
        }
    }

    pub(crate) fn series_end(&self) -> u32 {
        match self {
            Self::Memory(registry) => registry.series_end(),
            Self::Disk(segment) => segment.series_end(),
        }
    }

    /// The series that `selector` wants, dropped ones left out.
    fn select(
        &self,
        selector: &Selector,
        dropped: &SidSet,
        goes_on: &GoesOn<'_>,
    ) -> Result<Vec<u32>, Error> {
        let mut sids = match self {
            Self::Memory(registry) => registry.select_while(selector, goes_on)?,
            Self::Disk(segment) => segment.select_while(selector, goes_on)?,
        };
        dropped.take_from(&mut sids);
        Ok(sids)
    }

    fn keys(&self, sids: &[u32], seed: u64) -> Result<Vec<u128>, Error> {
        match self {
            Self::Memory(registry) => Ok(registry.keys(sids, seed)),
            Self::Disk(segment) => Ok(segment.keys(sids)?),
        }
    }

    fn list(
        &self,
        what: &Listed,
        selector: &Selector,
        (prefix, limit): (&str, usize),
        dropped: &SidSet,
        may_gather: &MayGather<'_>,
    ) -> Result<Vec<String>, Error> {
        match self {
            Self::Memory(registry) => {
                Ok(registry.list_while(what, selector, prefix, (0, limit), may_gather)?)
            }
            Self::Disk(segment) => {
                let (first, last) = (self.origin().base, self.series_end().saturating_sub(1));
                let is_living = |sid: u32| !dropped.contains(sid);
                let living = dropped.within(first, last).next().is_some();
                let living = living.then_some(&is_living as &dyn Fn(u32) -> bool);
                Ok(segment.list_while(what, selector, (prefix, limit), living, may_gather)?)
            }
        }
    }
}

impl Epochs {
    pub(crate) fn new(current: Arc<Registry>, store_id: u64) -> Self {
        Self { closed: Vec::new(), current, seed: store_id }
    }

    /// The registry that rows are registered in.
    pub(crate) fn current(&self) -> &Arc<Registry> {
        &self.current
    }

    pub(crate) fn closed(&self) -> &[Closed] {
        &self.closed
    }

    /// The closed registry that is still in memory; there is at most one.
    pub(crate) fn closing(&self) -> Option<&Arc<Registry>> {
        self.in_memory().find(|registry| !Arc::ptr_eq(registry, &self.current))
    }

    /// Registries in memory, oldest first.
    pub(crate) fn in_memory(&self) -> impl Iterator<Item = &Arc<Registry>> {
        let closed = self.closed.iter().filter_map(|closed| match closed {
            Closed::Memory(registry) => Some(registry),
            Closed::Disk(_) => None,
        });
        closed.chain([&self.current])
    }

    /// Series of all epochs.
    pub(crate) fn series(&self) -> u64 {
        self.series_closed() + self.current.series()
    }

    /// Series of closed epochs.
    pub(crate) fn series_closed(&self) -> u64 {
        self.closed.iter().map(|c| u64::from(c.series_end() - c.origin().base)).sum()
    }

    /// Where the next epoch begins: its series share no page of the head with earlier ones.
    pub(crate) fn next_origin(&self) -> Origin {
        self.current.next_origin(PAGE_SERIES as u32)
    }

    /// These with `origin` open and the epoch before closed.
    pub(crate) fn switched(&self, origin: Origin) -> Self {
        let mut next = self.clone();
        let current = Registry::begin(origin);
        self.current.close();
        current.set_closing(Some(self.current.clone()));
        next.closed.push(Closed::Memory(std::mem::replace(&mut next.current, Arc::new(current))));
        next
    }

    /// Reads registrations of the wal: of an epoch in memory, or the first ones of the next. Those
    /// of an earlier epoch say nothing new: it knew them when its segment was written. False when
    /// they cannot be read.
    pub(crate) fn replay(&mut self, records: &[u8]) -> bool {
        let Some(origin) = Origin::of_records(records) else { return false };
        let open = self.current.origin();
        if origin.epoch == open.epoch && self.current.mark() == Mark::default() {
            // Where it begins was a guess: the manifest was made anew.
            let registry = Registry::begin(origin);
            registry.forget(&self.current.forgotten());
            self.current = Arc::new(registry);
        } else if origin.epoch > open.epoch {
            *self = self.switched(origin);
        }
        let mut registries = self.in_memory();
        match registries.find(|registry| registry.origin().epoch == origin.epoch) {
            // A repair made the index again, with what the log holds.
            Some(registry) if registry.origin().follows(&origin) => true,
            Some(registry) => registry.origin() == origin && registry.replay(records).is_ok(),
            None => origin.epoch < open.epoch,
        }
    }

    /// These with `segment` closed, instead of the registry that it was written from.
    pub(crate) fn archived(&self, segment: Segment) -> Self {
        let mut next = self.clone();
        let epoch = segment.origin().epoch;
        let segment = Closed::Disk(Arc::new(segment));
        match next.closed.iter_mut().find(|closed| closed.origin().epoch == epoch) {
            Some(place) => *place = segment,
            None => next.closed.push(segment),
        }
        next.closed.sort_by_key(|closed| closed.origin().epoch);
        next
    }

    /// These without the epochs numbered `gone`.
    pub(crate) fn without(&self, gone: &[u32]) -> Self {
        let mut next = self.clone();
        next.closed.retain(|closed| !gone.contains(&closed.origin().epoch));
        next
    }

    /// The epoch of a series, as registrations said; nothing when nobody registered it.
    pub(crate) fn epoch_of(&self, sid: u32) -> Option<u32> {
        let origin = self.current.origin();
        if sid >= origin.base {
            return self.current.has_series(sid).then_some(origin.epoch);
        }
        let closed = self.closed_of(sid)?;
        let is_there = match closed {
            Closed::Memory(registry) => registry.has_series(sid),
            Closed::Disk(_) => true,
        };
        is_there.then_some(closed.origin().epoch)
    }

    /// The ids of all series that are registered now, epoch by epoch, the newest first.
    pub(crate) fn known(&self) -> Vec<Range<u32>> {
        let current = self.current.origin().base..self.current.series_end();
        let closed = self.closed.iter().rev();
        let closed = closed.map(|closed| closed.origin().base..closed.series_end());
        std::iter::once(current).chain(closed).collect()
    }

    /// Series of epochs in memory whose registration was lost.
    pub(crate) fn lost(&self) -> SidSet {
        let mut lost = SidSet::default();
        self.in_memory().for_each(|registry| lost.add(&registry.lost()));
        lost
    }

    fn closed_of(&self, sid: u32) -> Option<&Closed> {
        let after = self.closed.partition_point(|closed| closed.origin().base <= sid);
        let closed = self.closed.get(after.checked_sub(1)?)?;
        (sid < closed.series_end()).then_some(closed)
    }

    /// Whether series were ever given a retention class.
    pub(crate) fn has_classes(&self) -> bool {
        let of_closed = |closed: &Closed| match closed {
            Closed::Memory(registry) => registry.has_classes(),
            Closed::Disk(segment) => segment.has_classes(),
        };
        self.current.has_classes() || self.closed.iter().any(of_closed)
    }

    /// A series by numbers.
    pub(crate) fn describe(&self, sid: u32) -> Result<Option<Description>, Error> {
        if sid >= self.current.origin().base {
            return Ok(self.current.describe(sid));
        }
        match self.closed_of(sid) {
            None => Ok(None),
            Some(Closed::Memory(registry)) => Ok(registry.describe(sid)),
            Some(Closed::Disk(segment)) => Ok(segment.describe(sid)?),
        }
    }

    pub(crate) fn identity(&self, sid: u32) -> Result<Option<Identity>, Error> {
        let mut found = None;
        self.identities(&[sid], None, &mut |_, identity| found = Some(identity))?;
        Ok(found)
    }

    /// What series are called; where `labels` are given, the others may be missing.
    pub(crate) fn identities(
        &self,
        sids: &[u32],
        labels: Option<&[Arc<str>]>,
        each: &mut dyn FnMut(u32, Identity),
    ) -> Result<(), Error> {
        type Each<'e> = dyn FnMut(u32, Identity) + 'e;
        let of_registry = |registry: &Registry, sids: &[u32], each: &mut Each<'_>| match labels {
            Some(labels) => registry.headings(sids, labels, each),
            None => registry.identities(sids, each),
        };
        let epoch = |sid: &u32| self.epoch_of(*sid);
        for sids in sids.chunk_by(|a, b| epoch(a) == epoch(b)) {
            let Some(&first) = sids.first() else { continue };
            if first >= self.current.origin().base {
                of_registry(&self.current, sids, each);
                continue;
            }
            match self.closed_of(first) {
                None => {}
                Some(Closed::Memory(registry)) => of_registry(registry, sids, each),
                Some(Closed::Disk(segment)) => segment.identities(sids, each)?,
            }
        }
        Ok(())
    }

    /// Counts selected series by their names. Those of closed epochs are read one by one.
    pub(crate) fn count(&self, sids: &[u32], census: &mut Census) -> Result<(), Error> {
        let base = self.current.origin().base;
        let (older, newer) = sids.split_at(sids.partition_point(|&sid| sid < base));
        self.identities(older, None, &mut |_, identity| census.add(&identity))?;
        self.current.count(newer, census);
        Ok(())
    }

    pub(crate) fn list(
        &self,
        what: &Listed,
        selector: &Selector,
        prefix: &str,
        (offset, limit): (usize, usize),
        view: &View,
        may_gather: &MayGather<'_>,
    ) -> Result<Vec<String>, Error> {
        let current = &self.current;
        if self.closed.is_empty() {
            return Ok(current.list_while(what, selector, prefix, (offset, limit), may_gather)?);
        }
        let end = offset.saturating_add(limit);
        let mut found = current.list_while(what, selector, prefix, (0, end), may_gather)?;
        for closed in self.relevant(view, selector.namespace, TimeRange::ALL) {
            let dropped = view.tombstones.dropped();
            let held: usize = found.iter().map(|name| name.len() + size_of::<String>()).sum();
            let may_gather = |bytes: usize| may_gather(held + bytes);
            let window = (prefix, end);
            found.extend(closed.list(what, selector, window, dropped, &may_gather)?);
            found.sort_unstable();
            found.dedup();
            found.truncate(end);
        }
        found.drain(..offset.min(found.len()));
        Ok(found)
    }

    /// Closed epochs that may have samples of a namespace in `range`, newest first. What the head
    /// holds is of epochs in memory.
    fn relevant(
        &self,
        view: &View,
        namespace: NamespaceId,
        range: TimeRange,
    ) -> impl Iterator<Item = &Closed> {
        self.closed.iter().rev().filter(move |closed| match closed {
            Closed::Memory(_) => true,
            Closed::Disk(segment) => {
                let parts = view.parts_of(namespace, segment.origin().epoch);
                parts.iter().any(|part| part.footer.range.overlaps(&range))
            }
        })
    }

    /// The number of a symbol: the one it has in the newest epoch that knows it.
    pub(crate) fn symbol_id(&self, kind: SymbolKind, name: &str) -> Result<Option<u32>, Error> {
        let mut found = self.current.symbol_id(kind, name);
        for closed in self.closed.iter().rev() {
            if found.is_some() {
                break;
            }
            found = match closed {
                Closed::Memory(registry) => registry.symbol_id(kind, name),
                Closed::Disk(segment) => segment.symbol_id(kind, name)?,
            };
        }
        Ok(found)
    }

    /// The numbers of the names of a series, as [`Epochs::symbol_id`] tells them.
    pub(crate) fn numbers(&self, sid: u32) -> Result<Option<Numbers>, Error> {
        if sid >= self.current.origin().base {
            return Ok(self.current.numbers(sid));
        }
        let Some(identity) = self.identity(sid)? else { return Ok(None) };
        let id = |kind, name: &str| self.symbol_id(kind, name);
        let measurement = id(SymbolKind::Measurement, &identity.measurement)?;
        let field = id(SymbolKind::Field, &identity.field)?;
        let mut labels = Vec::with_capacity(identity.labels.len());
        for label in &identity.labels {
            let name = id(SymbolKind::LabelName, &label.name)?;
            labels.extend(name.zip(id(SymbolKind::LabelValue, &label.value)?));
        }
        let names = measurement.zip(field);
        let labels = labels.into();
        Ok(names.map(|(measurement, field)| Numbers { measurement, field, labels }))
    }

    /// The name of a symbol.
    pub(crate) fn symbol_name(
        &self,
        kind: SymbolKind,
        number: u32,
    ) -> Result<Option<Arc<str>>, Error> {
        let mut found = self.current.symbol_name(kind, number);
        for closed in self.closed.iter().rev() {
            if found.is_some() {
                break;
            }
            found = match closed {
                Closed::Memory(registry) => registry.symbol_name(kind, number),
                Closed::Disk(segment) => segment.symbol_name(kind, number)?,
            };
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_replaces_a_guess_knows_what_was_dropped() {
        let origin = Origin { base: 2048, ..Origin::default() };
        let mut records = Vec::new();
        let mut keep = |bytes: &[u8]| {
            records.extend_from_slice(bytes);
            Ok::<_, Error>(())
        };
        let author = Registry::begin(origin);
        author.symbol_assign(SymbolKind::Measurement, "m", &mut keep).unwrap();
        let dropped: SidSet = [2050].into_iter().collect();
        let guess = Registry::begin(Origin::default());
        guess.forget(&dropped);
        let mut epochs = Epochs::new(Arc::new(guess), 7);
        assert!(epochs.replay(&records));
        assert_eq!(epochs.current().origin(), origin);
        assert_eq!(epochs.current().forgotten(), dropped);
    }
}
