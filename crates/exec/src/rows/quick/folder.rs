//! Folds samples of one source into windows.

use super::super::grid::{Grid, TIME_MIN_NS};
use super::super::slice::item;
use super::pieces::Windows;
use crate::kernels::tally::{Choice, Figure, Tally};
use foliot_engine::Peek;
use foliot_model::{Item, Kind, Samples, Values};
use foliot_plan::rows::Layout;

/// Folds the samples of one source.
pub(super) struct Folder<'a> {
    figure: Figure,
    grid: &'a Grid,
    windows: Windows,
    /// The window of the last tally.
    open: (i64, i64),
}

impl<'a> Folder<'a> {
    pub(super) fn new(figure: Figure, grid: &'a Grid) -> Self {
        Self { figure, grid, windows: Windows::new(), open: (0, 0) }
    }

    /// The windows, in order.
    pub(super) fn finish(mut self, layout: &Layout) -> Windows {
        if layout.descending {
            self.windows.sort_by_key(|(start_ns, _)| *start_ns);
        }
        self.windows
    }

    /// The tally of the window that a time lies in.
    fn at(&mut self, time_ns: i64) -> Option<&mut Tally> {
        let is_open = !self.windows.is_empty() && time_ns >= self.open.0 && time_ns < self.open.1;
        if !is_open {
            self.open = self.grid.window(time_ns);
            self.windows.push((self.open.0, Tally::new(self.figure)));
        }
        self.windows.last_mut().map(|(_, tally)| tally)
    }

    pub(super) fn add_samples(&mut self, samples: &Samples, kind: Kind) {
        let mut rest = samples.times_ns.as_slice();
        let mut at = 0;
        while let Some(&time_ns) = rest.first() {
            if self.at(time_ns).is_none() {
                return;
            }
            let (times_ns, later) = rest.split_at(run_len(rest, self.open.1));
            if let Some((_, tally)) = self.windows.last_mut() {
                add_run(tally, times_ns, &samples.values, at, kind);
            }
            at += times_ns.len();
            rest = later;
        }
    }

    pub(super) fn add(&mut self, time_ns: i64, value: Item) {
        if let Some(tally) = self.at(time_ns) {
            tally.add(time_ns, value);
        }
    }

    /// Whether a block can be added by its summary.
    pub(super) fn takes(&self, block: &Peek<'_>, kind: Kind) -> bool {
        let window = self.grid.window(block.range.start_ns);
        let is_inside = block.range.end_ns < window.1;
        // Without windows a row that is chosen shows its own time.
        let hides_times = self.grid.width_ns().is_some() && window.0 != TIME_MIN_NS;
        let picks_value = matches!(self.figure, Figure::Choice(Choice::Smallest | Choice::Largest));
        is_inside && (hides_times || !picks_value) && Tally::takes(self.figure, block.summary, kind)
    }

    /// Adds a block that [`Folder::takes`].
    pub(super) fn add_block(&mut self, block: &Peek<'_>, kind: Kind) {
        if let Some(tally) = self.at(block.range.start_ns) {
            tally.add_block(block.range, block.count, block.summary, kind);
        }
    }
}

/// How many of these times come before `end_ns`, at least one. Most windows are short beside what
/// is read at a time, and found from their beginning.
fn run_len(times_ns: &[i64], end_ns: i64) -> usize {
    let mut most = 8;
    while times_ns.get(most).is_some_and(|&time_ns| time_ns < end_ns) {
        most *= 2;
    }
    let near = times_ns.get(..most).unwrap_or(times_ns);
    near.partition_point(|&time_ns| time_ns < end_ns).clamp(1, times_ns.len().max(1))
}

/// Adds a run of samples read as `kind`, whose values begin at `at`.
fn add_run(tally: &mut Tally, times_ns: &[i64], values: &Values, at: usize, kind: Kind) {
    let run = at..at + times_ns.len();
    match (values, kind) {
        (Values::Float(all), Kind::Float) => {
            tally.add_floats(times_ns, all.get(run).unwrap_or_default());
        }
        (Values::Integer(all), Kind::Integer) => {
            tally.add_integers(times_ns, all.get(run).unwrap_or_default());
        }
        _ => {
            for (&time_ns, at) in times_ns.iter().zip(run) {
                let value = item(values, at, kind);
                if !value.is_null() {
                    tally.add(time_ns, value);
                }
            }
        }
    }
}
