//! Slices of a range, for folds of which only the first windows of each head are wanted.

use super::super::grid::Grid;
use super::Reading;
use super::work::Batch;
use crate::Error;
use foliot_engine::Run;
use foliot_model::TimeRange;

/// How many times as long as the one before a slice is: series that begin late, or ended long ago,
/// are not opened often for nothing.
const GROWTH: i64 = 8;

/// Most series that are opened several times.
const SERIES_MAX: usize = 1 << 16;

/// Slices that make up a range, from the end that is wanted first. None cuts a window.
pub(super) struct Slices {
    grid: Grid,
    uncut: Option<TimeRange>,
    descending: bool,
    /// Length of the next slice, measured from where the samples of some source begin; what lies
    /// before them is in the first slice, too.
    length_ns: i64,
    from_ns: i64,
}

impl Slices {
    /// The slices for some heads; nothing if they are better read at once.
    pub(super) fn new(reading: &Reading<'_>, batch: &Batch<'_>) -> Result<Option<Self>, Error> {
        let (range, descending) = (reading.scan.layout.range, reading.layout.descending);
        let (Some(wanted), Some(width_ns)) = (reading.wanted, reading.grid.width_ns()) else {
            return Ok(None);
        };
        // Where clocks are shifted windows are not alike; a condition is tested row by row; and
        // very many series are not opened several times.
        let is_plain = batch.tested.is_empty() && batch.tasks.len() <= SERIES_MAX;
        let length_ns = width_ns.saturating_mul(i64::try_from(wanted).unwrap_or(i64::MAX));
        if !is_plain || reading.grid.has_zone() || wanted == 0 {
            return Ok(None);
        }
        let Some(task) = batch.tasks.first() else { return Ok(None) };
        let Some(from_ns) = first_ns(reading, task.sid, range, descending)? else {
            return Ok(None);
        };
        let grid = reading.grid.clone();
        Ok(Some(Self { grid, uncut: Some(range), descending, length_ns, from_ns }))
    }
}

/// The time of the first sample of a series, as far as that can be told quickly.
fn first_ns(
    reading: &Reading<'_>,
    sid: u32,
    range: TimeRange,
    descending: bool,
) -> Result<Option<i64>, Error> {
    let source = reading.context.source;
    let meter = reading.context.meter;
    if descending {
        let last_ns = source.last(sid)?.times_ns.last().copied();
        // A range may end before it starts.
        return Ok(last_ns.map(|last_ns| last_ns.min(range.end_ns).max(range.start_ns)));
    }
    let mut runs = source.runs(range, meter)?;
    runs.turn(sid)?;
    if let Some(block) = runs.peek() {
        return Ok(Some(block.range.start_ns));
    }
    let mut run = Run::default();
    runs.next_ahead(&mut run)?;
    Ok(run.time_ns(0))
}

impl Iterator for Slices {
    type Item = TimeRange;

    fn next(&mut self) -> Option<TimeRange> {
        let uncut = self.uncut.take()?;
        let length_ns = self.length_ns;
        self.length_ns = length_ns.saturating_mul(GROWTH);
        match self.descending {
            false => {
                let last_ns = self.from_ns.saturating_add(length_ns - 1);
                let next_ns = self.grid.window(last_ns).1;
                self.from_ns = next_ns;
                // At the end of all times windows grow no further.
                if next_ns > uncut.end_ns || next_ns <= uncut.start_ns {
                    return Some(uncut);
                }
                self.uncut = Some(TimeRange::new(next_ns, uncut.end_ns));
                Some(TimeRange::new(uncut.start_ns, next_ns.saturating_sub(1)))
            }
            true => {
                let first_ns = self.from_ns.saturating_sub(length_ns - 1);
                let start_ns = self.grid.window(first_ns).0;
                self.from_ns = start_ns.saturating_sub(1);
                if start_ns <= uncut.start_ns || start_ns > uncut.end_ns {
                    return Some(uncut);
                }
                self.uncut = Some(TimeRange::new(uncut.start_ns, start_ns.saturating_sub(1)));
                Some(TimeRange::new(start_ns, uncut.end_ns))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_plan::rows::{Buckets, Layout};

    #[test]
    fn slices_make_up_the_range_and_come_to_an_end() {
        const MINUTE: i64 = 60_000_000_000;
        let ranges = [
            TimeRange::ALL,
            TimeRange::new(i64::MIN + 2, i64::MAX - 1),
            TimeRange::new(i64::MIN + 2, 1_000 * MINUTE),
            TimeRange::new(-7, i64::MAX - 1),
            TimeRange::new(3 * MINUTE + 1, 90 * MINUTE - 2),
            TimeRange::new(5, 4),
        ];
        for range in ranges {
            let windows =
                Some(Buckets { width_ns: MINUTE, offset_ns: 7, zone: None, whole: false });
            let (order_by, group_by) = ([].into(), [].into());
            let layout =
                Layout { range, windows, order_by, group_by, descending: false, ordered: false };
            let grid = Grid::new(&layout).unwrap();
            for (descending, from_ns) in
                [(false, 50 * MINUTE), (true, 50 * MINUTE), (false, i64::MAX), (true, i64::MIN)]
            {
                let slices = Slices {
                    grid: grid.clone(),
                    uncut: Some(range),
                    descending,
                    length_ns: 1,
                    from_ns,
                };
                let mut slices: Vec<TimeRange> = slices.take(100).collect();
                assert!(slices.len() < 40, "{range:?} {descending} {from_ns}");
                if descending {
                    slices.reverse();
                }
                let ends = (slices[0].start_ns, slices[slices.len() - 1].end_ns);
                assert_eq!(ends, (range.start_ns, range.end_ns));
                for pair in slices.windows(2) {
                    let next_ns = pair[0].end_ns + 1;
                    assert_eq!(next_ns, pair[1].start_ns);
                    // The last window of all is cut off, and nothing comes after it.
                    let is_last = next_ns >= i64::MAX - 1;
                    assert!(is_last || grid.window(next_ns).0 == next_ns, "{next_ns}");
                }
            }
        }
    }
}
