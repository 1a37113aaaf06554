//! Pieces of a fold: what threads take at a time, and how what they make of it comes together.

use super::super::sources::Member;
use crate::Error;
use crate::kernels::tally::Tally;
use crate::limits::{Charge, Meter};
use std::collections::BTreeMap;

/// Sources that one thread folds at a time.
const MEMBERS_AT_ONCE: usize = 32;
/// Series that one thread folds at a time where there are very many.
const SERIES_AT_ONCE: usize = 4096;

/// The folded windows of one source, or of several, in order.
pub(super) type Windows = Vec<(i64, Tally)>;

/// What is folded into the windows of one head.
#[derive(Clone)]
pub(super) enum Members {
    /// Sources, in order.
    Named(Vec<Member>),
    /// Series of each field, too many to know them by name.
    Many(Vec<Vec<u32>>),
}

impl Members {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Named(members) => members.len(),
            Self::Many(by_field) => by_field.iter().map(Vec::len).sum(),
        }
    }

    /// Pieces for threads to fold.
    pub(super) fn pieces(self) -> Vec<Self> {
        match self {
            Self::Named(members) => {
                let mut left = members.into_iter();
                let mut pieces = Vec::with_capacity(left.len().div_ceil(MEMBERS_AT_ONCE));
                while left.len() > 0 {
                    pieces.push(Self::Named(left.by_ref().take(MEMBERS_AT_ONCE).collect()));
                }
                pieces
            }
            Self::Many(by_field) => {
                let mut pieces = Vec::new();
                for (at, sids) in by_field.iter().enumerate() {
                    for some in sids.chunks(SERIES_AT_ONCE) {
                        let mut piece = vec![Vec::new(); by_field.len()];
                        piece.get_mut(at).into_iter().for_each(|sids| sids.extend(some));
                        pieces.push(Self::Many(piece));
                    }
                }
                pieces
            }
        }
    }
}

/// The windows of heads as far as no piece before is missing, so that no more of them are held than
/// are answered, and that the result does not depend on which thread is done first.
pub(super) struct Folded<'q> {
    /// By head, then by column.
    pub(super) heads: Vec<Vec<Windows>>,
    /// Pieces that came early, with the position of their head.
    early: BTreeMap<usize, (usize, Vec<Windows>)>,
    next: usize,
    windows: usize,
    /// What the folds take outside the windows, those that came early excepted.
    outside_bytes: usize,
    charge: Charge<'q>,
}

impl<'q> Folded<'q> {
    pub(super) fn new(heads: usize, columns: usize, meter: &'q Meter) -> Self {
        let windows = || (0..columns).map(|_| Windows::new()).collect();
        Self {
            heads: (0..heads).map(|_| windows()).collect(),
            early: BTreeMap::new(),
            next: 0,
            windows: 0,
            outside_bytes: 0,
            charge: meter.open(),
        }
    }

    pub(super) fn add(
        &mut self,
        number: usize,
        at: usize,
        windows: Vec<Windows>,
    ) -> Result<(), Error> {
        self.windows += count(&windows);
        self.early.insert(number, (at, windows));
        while let Some((at, windows)) = self.early.remove(&self.next) {
            self.next += 1;
            if let Some(head) = self.heads.get_mut(at) {
                let apart = count(head) + count(&windows);
                self.outside_bytes -= outside_bytes(head);
                for (column, windows) in head.iter_mut().zip(windows) {
                    join(column, windows);
                }
                self.windows -= apart - count(head);
                self.outside_bytes += outside_bytes(head);
            }
        }
        self.charge.resize(self.windows * size_of::<(i64, Tally)>() + self.outside_bytes)
    }
}

fn count(columns: &[Windows]) -> usize {
    columns.iter().map(Vec::len).sum()
}

fn outside_bytes(columns: &[Windows]) -> usize {
    columns.iter().flatten().map(|(_, tally)| tally.bytes_outside()).sum()
}

/// Joins the windows of two sets of sources; those of the first come before at equal ranks.
pub(super) fn join(a: &mut Windows, b: Windows) {
    if a.is_empty() {
        *a = b;
        return;
    }
    // Sources that report at the same times have the same windows.
    let are_same = a.len() == b.len() && a.iter().zip(&b).all(|((a, _), (b, _))| a == b);
    if are_same {
        for ((_, tally), (_, other)) in a.iter_mut().zip(b) {
            tally.absorb(other);
        }
        return;
    }
    let mut joined = Windows::with_capacity(a.len().max(b.len()));
    let mut of_a = std::mem::take(a).into_iter().peekable();
    let mut of_b = b.into_iter().peekable();
    loop {
        let next = match (of_a.peek(), of_b.peek()) {
            (Some((a, _)), Some((b, _))) if b < a => of_b.next(),
            (None, _) => of_b.next(),
            _ => of_a.next(),
        };
        let Some((start_ns, mut tally)) = next else { break };
        if let Some((_, other)) = of_b.next_if(|(other_ns, _)| *other_ns == start_ns) {
            tally.absorb(other);
        }
        joined.push((start_ns, tally));
    }
    *a = joined;
}
