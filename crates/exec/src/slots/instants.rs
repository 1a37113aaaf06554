//! Instants: the times of all series of a group, where they share no windows.

use super::SLOTS_MAX;
use crate::Error;
use crate::limits::Meter;
use crate::number::Number;
use crate::stream::Stream;
use foliot_model::Samples;

/// Times that came since the others were put in order, at least.
const NEW_TIMES_MIN: usize = 1 << 12;

/// The instants at which members have numbers, if they are few enough to be slots. Every member is
/// read once for it.
pub(crate) fn instants<'q>(
    members: &[u32],
    open: &(dyn Fn(u32) -> Result<Stream<'q>, Error> + Sync),
    meter: &'q Meter,
    threads: usize,
) -> Result<Option<Vec<i64>>, Error> {
    let read = |members: &[u32]| -> Result<Times, Error> {
        let mut times = Times::default();
        let mut charge = meter.open();
        let mut chunk = Samples::default();
        for &member in members {
            let mut stream = open(member)?;
            while times.known.len() as u64 <= SLOTS_MAX && stream.next(meter, &mut chunk)? {
                charge.resize(times.bytes_with(chunk.len()))?;
                times.add(&chunk);
            }
        }
        times.settle();
        Ok(times)
    };
    let share = members.len().div_ceil(threads.max(1)).max(1);
    let mut all = std::thread::scope(|scope| {
        let mut shares = members.chunks(share);
        let first = shares.next().unwrap_or_default();
        let handles: Vec<_> = shares.map(|members| scope.spawn(|| read(members))).collect();
        let mut all = read(first);
        for handle in handles {
            let other = handle.join().unwrap_or(Err(Error::Cancelled));
            all = all.and_then(|mut all| {
                all.new.extend(other?.known);
                all.settle();
                Ok(all)
            });
        }
        all
    })?;
    all.known.shrink_to_fit();
    Ok(Some(all.known).filter(|known| known.len() as u64 <= SLOTS_MAX))
}

/// Distinct times.
#[derive(Default)]
struct Times {
    /// Ascending.
    known: Vec<i64>,
    /// In any order, and perhaps several times.
    new: Vec<i64>,
}

impl Times {
    fn add(&mut self, samples: &Samples) {
        // Series of a group mostly have the same times, one after the other.
        let mut expected = None;
        for (index, &time_ns) in samples.times_ns.iter().enumerate() {
            let at = expected.filter(|&at| self.known.get(at) == Some(&time_ns));
            let found = at.map_or_else(|| self.known.binary_search(&time_ns), Ok);
            expected = found.ok().map(|at| at + 1);
            if found.is_err() && Number::at(&samples.values, index).is_some() {
                self.new.push(time_ns);
            }
        }
        if self.new.len() > NEW_TIMES_MIN.max(self.known.len() / 4) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.new.sort_unstable();
        self.known.append(&mut self.new);
        // Two runs: a merging sort joins them in linear time.
        self.known.sort();
        self.known.dedup();
    }

    /// Memory while so many more are put in order: room twice as large beside the old, and what
    /// sorting takes.
    fn bytes_with(&self, more: usize) -> usize {
        (self.known.len() + self.new.len() + more) * 4 * size_of::<i64>()
    }
}
