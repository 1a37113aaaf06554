//! Strips: instants at which every series of a group has a sample, as where all hosts are scraped
//! at once. No gap rule applies there: values are laid out instant by instant, each series being
//! read in one go, and folded as plain runs.

use super::{Merge, is_float, time_of};
use crate::Error;
use crate::fold::fold_integers;
use crate::gap::Point;
use crate::number::Number;
use foliot_model::{Samples, Value, Values};
use foliot_plan::{Arithmetic, Gap};
use std::cmp::Reverse;

/// Most instants of a strip: so many lines of cache are written to in turn, and stay in the first
/// level.
const STRIP_MAX: usize = 64;

/// Fewest instants that are worth it.
const STRIP_MIN: usize = 8;

/// The values of a strip, instant by instant.
#[derive(Debug, Default)]
pub(super) struct Strip {
    floats: Vec<f64>,
    integers: Vec<i64>,
    /// What is charged for them.
    bytes: usize,
}

/// What lies ahead in all series that go on.
struct Ahead {
    instants: usize,
    is_float: bool,
    live: Vec<u32>,
    times_ns: Vec<i64>,
}

impl Merge<'_> {
    /// Folds a strip of at most `room` instants, if there is one.
    pub(super) fn strip(&mut self, room: usize, out: &mut Samples) -> Result<(), Error> {
        let Some(ahead) = self.look_ahead(room.min(STRIP_MAX)) else { return Ok(()) };
        let cells = ahead.instants * ahead.live.len();
        let bytes = self.strip.bytes.max(16 * cells);
        self.charge.add(bytes - self.strip.bytes)?;
        self.strip.bytes = bytes;
        self.retire();
        self.lay_out(&ahead, cells);
        let rows = ahead.live.len();
        if ahead.is_float {
            for (&time_ns, row) in ahead.times_ns.iter().zip(self.strip.floats.chunks(rows)) {
                self.acc.reset(self.float_fold);
                self.acc.push(row);
                let value = self.acc.finish();
                value.into_iter().for_each(|value| out.push(time_ns, Value::Float(value)));
            }
        } else {
            let rows = self.strip.integers.chunks_mut(rows);
            for (&time_ns, row) in ahead.times_ns.iter().zip(rows) {
                let value = fold_integers(self.fold, row);
                value.into_iter().for_each(|value| out.push(time_ns, Value::Integer(value)));
            }
        }
        self.pass(&ahead);
        Ok(())
    }

    /// The instants at which all series that go on have samples, in plain columns and with one more
    /// sample behind.
    fn look_ahead(&self, most: usize) -> Option<Ahead> {
        let mut times = self.next_ns.iter().zip(&self.next).filter(|(_, next)| next.is_some());
        let (first_ns, _) = times.next()?;
        if most < STRIP_MIN || times.any(|(next_ns, _)| next_ns != first_ns) {
            return None;
        }
        let mut ahead = Ahead {
            instants: most,
            is_float: self.arithmetic == Arithmetic::Float,
            live: Vec::with_capacity(self.cursors.len()),
            times_ns: Vec::new(),
        };
        for ((cursor, next), index) in self.cursors.iter().zip(&self.next).zip(0..) {
            if next.is_none() {
                continue;
            }
            match cursor.chunk.values {
                Values::Float(_) => ahead.is_float = true,
                Values::Integer(_) => {}
                _ => return None,
            }
            // The next sample is the one before the reading position.
            let times_ns = cursor.chunk.times_ns.get(cursor.at.checked_sub(1)?..)?;
            ahead.instants = ahead.instants.min(times_ns.len().checked_sub(1)?);
            if ahead.instants < STRIP_MIN {
                return None;
            }
            if ahead.live.is_empty() {
                ahead.times_ns.extend_from_slice(times_ns.get(..ahead.instants)?);
            }
            ahead.times_ns.truncate(ahead.instants);
            if times_ns.get(..ahead.instants)? != ahead.times_ns {
                return None;
            }
            ahead.live.push(index);
        }
        (ahead.live.len() > 1).then_some(ahead)
    }

    /// Writes every series' values into its column.
    fn lay_out(&mut self, ahead: &Ahead, cells: usize) {
        let rows = ahead.live.len();
        let Strip { floats, integers, .. } = &mut self.strip;
        let (float_cells, integer_cells) = if ahead.is_float { (cells, 0) } else { (0, cells) };
        floats.resize(float_cells, 0.0);
        integers.resize(integer_cells, 0);
        for (column, &index) in ahead.live.iter().enumerate() {
            let Some(cursor) = self.cursors.get(index as usize) else { continue };
            let first = cursor.at.saturating_sub(1);
            let float_cells = floats.iter_mut().skip(column).step_by(rows);
            match &cursor.chunk.values {
                Values::Float(values) => {
                    let values = values.get(first..).unwrap_or_default();
                    float_cells.zip(values).for_each(|(cell, &value)| *cell = value);
                }
                Values::Integer(values) => {
                    let values = values.get(first..).unwrap_or_default();
                    float_cells.zip(values).for_each(|(cell, &value)| *cell = value as f64);
                    let integer_cells = integers.iter_mut().skip(column).step_by(rows);
                    integer_cells.zip(values).for_each(|(cell, &value)| *cell = value);
                }
                _ => {}
            }
        }
    }

    /// Moves all series behind the strip.
    fn pass(&mut self, ahead: &Ahead) {
        for &index in &ahead.live {
            let at = index as usize;
            let (Some(cursor), Some(now), Some(next), Some(next_ns)) = (
                self.cursors.get_mut(at),
                self.now.get_mut(at),
                self.next.get_mut(at),
                self.next_ns.get_mut(at),
            ) else {
                continue;
            };
            cursor.at += ahead.instants;
            let sample = |index: usize| -> Option<Point> {
                let time_ns = cursor.chunk.times_ns.get(index).copied()?;
                Some((time_ns, Number::at(&cursor.chunk.values, index)?))
            };
            *now = cursor.at.checked_sub(2).and_then(sample);
            *next = cursor.at.checked_sub(1).and_then(sample);
            *next_ns = time_of(*next);
        }
        let all = self.now.iter().chain(&self.next);
        self.floats = all.filter(|point| is_float(**point)).count();
        if self.gap == Gap::Absent {
            let points = self.next.iter().zip(0..);
            let times = points.filter_map(|(next, index)| Some(Reverse(((*next)?.0, index))));
            self.heap = times.collect();
        }
    }
}
