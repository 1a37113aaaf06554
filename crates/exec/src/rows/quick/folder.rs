//! Folds samples into windows.

use super::super::grid::{Grid, TIME_MIN_NS};
use super::super::slice::{item, read_as};
use super::windows::Windows;
use crate::kernels::tally::{Choice, Figure, Tally};
use crate::kernels::wholes::Wholes;
use foliot_engine::{Peek, Run, RunValues};
use foliot_model::{Item, Kind, Samples, Values};
use std::ops::Range;

/// Folds samples, which mostly come in order, into the windows of a head.
pub(super) struct Folder<'a> {
    figure: Figure,
    grid: &'a Grid,
    windows: &'a mut Windows,
    /// The window of the last sample, and where its tally is.
    open: (i64, i64),
    at: usize,
    /// How many windows there were.
    before: usize,
    /// What tallies took outside the windows since then, and what of all that was told.
    outside_bytes: usize,
    told_bytes: usize,
}

impl<'a> Folder<'a> {
    pub(super) fn new(figure: Figure, grid: &'a Grid, windows: &'a mut Windows) -> Self {
        // An empty window: no time lies in it.
        let before = windows.len();
        let (outside_bytes, told_bytes) = (0, 0);
        Self { figure, grid, windows, open: (0, 0), at: 0, before, outside_bytes, told_bytes }
    }

    /// By how many bytes the windows have grown since this was asked before.
    pub(super) fn grown_bytes(&mut self) -> usize {
        let made = self.windows.len() - self.before;
        let bytes = made * Windows::BYTES as usize + self.outside_bytes;
        let grown = bytes.saturating_sub(self.told_bytes);
        self.told_bytes += grown;
        grown
    }

    /// Has a tally take values.
    fn add_to(&mut self, add: impl FnOnce(&mut Tally)) {
        if let Some(tally) = self.windows.tally(self.at) {
            let before = tally.bytes_outside();
            add(tally);
            self.outside_bytes =
                (self.outside_bytes + tally.bytes_outside()).saturating_sub(before);
        }
    }

    /// Turns to the window that a time lies in.
    fn turn_to(&mut self, time_ns: i64) {
        if time_ns < self.open.0 || time_ns >= self.open.1 {
            self.open = self.grid.window(time_ns);
            self.at = self.windows.open(self.open.0, self.at, self.figure);
            // What is there is of the series before.
            self.windows.tally(self.at).into_iter().for_each(Tally::turn);
        }
    }

    /// Adds a run of samples read as `kind`.
    pub(super) fn add_run(&mut self, run: &Run, kind: Kind) {
        let values = match run.values() {
            RunValues::Wholes { wholes, kind: stored, scale } => {
                match Wholes::of(wholes, stored, scale, kind) {
                    Some(stand_for) => Form::Wholes(wholes, stand_for),
                    None => Form::Others(wholes, Wholes::new(stored, scale)),
                }
            }
            RunValues::Samples(samples) => Form::Samples(samples),
        };
        let mut from = 0;
        while let Some(time_ns) = run.time_ns(from).filter(|_| from < run.len()) {
            self.turn_to(time_ns);
            let to = run.position(from, self.open.1).max(from + 1);
            self.add_to(|tally| values.add(run, from..to, kind, tally));
            from = to;
        }
    }

    pub(super) fn add(&mut self, time_ns: i64, value: Item) {
        self.turn_to(time_ns);
        self.add_to(|tally| {
            tally.add(time_ns, value);
        });
    }

    /// Whether a block can be added by its summary.
    pub(super) fn takes(&self, block: &Peek<'_>, kind: Kind) -> bool {
        let window = match block.range.start_ns >= self.open.0 && block.range.start_ns < self.open.1
        {
            true => self.open,
            false => self.grid.window(block.range.start_ns),
        };
        let is_inside = block.range.end_ns < window.1;
        // Without windows a row that is chosen shows its own time.
        let hides_times = self.grid.width_ns().is_some() && window.0 != TIME_MIN_NS;
        let picks_value = matches!(self.figure, Figure::Choice(Choice::Smallest | Choice::Largest));
        is_inside && (hides_times || !picks_value) && Tally::takes(self.figure, block.summary, kind)
    }

    /// Adds a block that [`Folder::takes`].
    pub(super) fn add_block(&mut self, block: &Peek<'_>, kind: Kind) {
        self.turn_to(block.range.start_ns);
        self.add_to(|tally| tally.add_block(block.range, block.count, block.summary, kind));
    }
}

/// The values of a run, by how they are added.
enum Form<'r> {
    /// As they are stored.
    Wholes(&'r [i64], Wholes),
    /// One by one, as what they stand for.
    Others(&'r [i64], Wholes),
    Samples(&'r Samples),
}

impl Form<'_> {
    /// Adds a part of a run, read as `kind`.
    fn add(&self, run: &Run, part: Range<usize>, kind: Kind, tally: &mut Tally) {
        let from = part.start;
        match self {
            Self::Wholes(all, stand_for) => {
                let wholes = all.get(part).unwrap_or_default();
                tally.add_wholes(wholes, *stand_for, |at| run.time_ns(from + at));
            }
            Self::Others(all, stand_for) => {
                for (at, whole) in all.get(part).unwrap_or_default().iter().enumerate() {
                    let value = read_as(stand_for.item(*whole), kind);
                    if let Some(time_ns) = run.time_ns(from + at).filter(|_| !value.is_null()) {
                        tally.add(time_ns, value);
                    }
                }
            }
            Self::Samples(samples) => {
                let times_ns = samples.times_ns.get(part.clone()).unwrap_or_default();
                match (&samples.values, kind) {
                    (Values::Float(all), Kind::Float) => {
                        tally.add_floats(times_ns, all.get(part).unwrap_or_default());
                    }
                    (Values::Integer(all), Kind::Integer) => {
                        tally.add_integers(times_ns, all.get(part).unwrap_or_default());
                    }
                    (values, _) => {
                        for (&time_ns, at) in times_ns.iter().zip(part) {
                            let value = item(values, at, kind);
                            if !value.is_null() {
                                tally.add(time_ns, value);
                            }
                        }
                    }
                }
            }
        }
    }
}
