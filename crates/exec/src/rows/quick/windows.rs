//! The windows that folds put values into, and how those of several threads come together.

use crate::Error;
use crate::kernels::tally::{Figure, Tally};
use crate::limits::{Charge, Meter};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The windows of one head and fold, in order.
#[derive(Debug, Default)]
pub(super) struct Windows(Vec<(i64, Tally)>);

impl Windows {
    /// What a window takes.
    pub(super) const BYTES: u64 = size_of::<(i64, Tally)>() as u64;

    /// Where the window is that begins at `start_ns`; it is made if it is not there. It is most
    /// often at `near` or next to it: series mostly have the same windows.
    pub(super) fn open(&mut self, start_ns: i64, near: usize, figure: Figure) -> usize {
        let is_at = |at: usize| self.0.get(at).is_some_and(|(found_ns, _)| *found_ns == start_ns);
        if is_at(near) {
            return near;
        }
        if is_at(near + 1) {
            return near + 1;
        }
        let at = match self.0.last() {
            Some((last_ns, _)) if *last_ns >= start_ns => {
                self.0.partition_point(|(found_ns, _)| *found_ns < start_ns)
            }
            _ => self.0.len(),
        };
        if !is_at(at) {
            self.0.insert(at, (start_ns, Tally::new(figure)));
        }
        at
    }

    pub(super) fn tally(&mut self, at: usize) -> Option<&mut Tally> {
        self.0.get_mut(at).map(|(_, tally)| tally)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(i64, Tally)> {
        self.0.iter()
    }

    pub(super) fn into_vec(self) -> Vec<(i64, Tally)> {
        self.0
    }

    /// Adds the windows of other sources, which come behind at equal ranks.
    pub(super) fn join(&mut self, other: Self, figure: Figure) {
        if self.0.is_empty() {
            *self = other;
            return;
        }
        let mut at = 0;
        for (start_ns, tally) in other.0 {
            at = self.open(start_ns, at, figure);
            if let Some((_, own)) = self.0.get_mut(at) {
                own.absorb(tally);
            }
        }
    }

    fn bytes(&self) -> usize {
        let outside: usize = self.0.iter().map(|(_, tally)| tally.bytes_outside()).sum();
        self.0.len() * Self::BYTES as usize + outside
    }
}

/// The windows of some heads, fold by fold.
pub(super) struct Heads<'q> {
    heads: Vec<(u32, Vec<Windows>)>,
    places: HashMap<u32, usize>,
    last: Option<(u32, usize)>,
    figures: Arc<[Figure]>,
    charge: Charge<'q>,
}

impl<'q> Heads<'q> {
    /// The windows of no head yet, of these folds.
    pub(super) fn new(figures: Arc<[Figure]>, meter: &'q Meter) -> Self {
        let (heads, places, charge) = (Vec::new(), HashMap::new(), meter.open());
        Self { heads, places, last: None, figures, charge }
    }

    /// The windows of a head. Many series in a row are of one.
    pub(super) fn of(&mut self, head: u32) -> &mut [Windows] {
        let at = match self.last {
            Some((last, at)) if last == head => at,
            _ => *self.places.entry(head).or_insert(self.heads.len()),
        };
        self.last = Some((head, at));
        if at == self.heads.len() {
            let windows = self.figures.iter().map(|_| Windows::default());
            self.heads.push((head, windows.collect()));
        }
        self.heads.get_mut(at).map_or(&mut [], |(_, windows)| windows)
    }

    /// Takes over what was charged for windows that were made since.
    pub(super) fn take_over(&mut self, charged: &mut Charge<'q>) -> Result<(), Error> {
        let bytes = charged.bytes();
        charged.resize(0)?;
        match bytes {
            0 => Ok(()),
            bytes => self.charge.add(bytes),
        }
    }

    /// The windows of each head, and what they take.
    pub(super) fn into_parts(self) -> (Vec<(u32, Vec<Windows>)>, Option<Charge<'q>>) {
        (self.heads, Some(self.charge))
    }

    /// Adds what came of a piece of the work.
    pub(super) fn absorb(&mut self, other: Self) -> Result<(), Error> {
        let Self { heads, .. } = other;
        for (head, windows) in heads {
            let figures = Arc::clone(&self.figures);
            let own = self.of(head);
            let before: usize = own.iter().map(Windows::bytes).sum();
            for ((own, windows), figure) in own.iter_mut().zip(windows).zip(figures.iter()) {
                own.join(windows, *figure);
            }
            let after: usize = own.iter().map(Windows::bytes).sum();
            self.charge.add(after.saturating_sub(before))?;
        }
        Ok(())
    }
}

/// What came of the pieces of the work as far as none before is missing, so that the result does
/// not depend on which thread is done first.
pub(super) struct Folded<'q> {
    pub(super) heads: Heads<'q>,
    /// Pieces that came early.
    early: BTreeMap<usize, Heads<'q>>,
    next: usize,
}

impl<'q> Folded<'q> {
    pub(super) fn new(figures: Arc<[Figure]>, meter: &'q Meter) -> Self {
        Self { heads: Heads::new(figures, meter), early: BTreeMap::new(), next: 0 }
    }

    /// Adds what came of the piece numbered `number`.
    pub(super) fn add(&mut self, number: usize, piece: Heads<'q>) -> Result<(), Error> {
        self.early.insert(number, piece);
        while let Some(piece) = self.early.remove(&self.next) {
            self.next += 1;
            self.heads.absorb(piece)?;
        }
        Ok(())
    }
}
