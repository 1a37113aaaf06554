//! Figures of histograms that are counts between bounds.

use crate::Error;
use crate::group::group;
use crate::kept::Kept;
use crate::limits::{Charge, Meter};
use crate::set::Set;
use crate::source::{Source, Symbols};
use crate::stream::Stream;
use foliot_model::{Counts, Figure, Samples, SeriesHead, Value};
use foliot_plan::Counted;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the sum of one time weighs beside its buckets, by estimate.
const SUM_BYTES: usize = 96;

impl<'q> Kept<'q> {
    /// The figures of a set's histograms, group by group.
    pub(crate) fn counted(
        plan: &Counted,
        mut set: Set<'q>,
        source: Source<'_>,
        meter: &'q Meter,
    ) -> Result<Arc<Self>, Error> {
        let mut made = Self::none(meter);
        let groups = group(&plan.grouping, false, &mut set, Symbols::new(source), meter)?;
        for group in groups {
            let mut sums = Sums { by_time: BTreeMap::new(), charge: meter.open() };
            let mut members = Vec::new();
            for index in group {
                let mut stream = set.open(index, meter, 1)?;
                sums.read(plan, &mut stream, meter)?;
                stream.members(&mut members);
            }
            if let Some(head) = set.head(0, members, meter)? {
                sums.figures(plan, &head, meter, &mut made)?;
            }
        }
        Ok(Arc::new(made))
    }
}

/// The sums of a group, by time in nanoseconds.
struct Sums<'q> {
    by_time: BTreeMap<i64, Counts>,
    charge: Charge<'q>,
}

impl Sums<'_> {
    /// Adds the histograms of a series.
    fn read(
        &mut self,
        plan: &Counted,
        stream: &mut Stream<'_>,
        meter: &Meter,
    ) -> Result<(), Error> {
        let mut chunk = Samples::default();
        while stream.next(meter, &mut chunk)? {
            for (time_ns, value) in chunk.iter() {
                let Value::Histogram(bytes) = value else { continue };
                let Some(counts) = Counts::from_bytes(bytes) else { continue };
                meter.check(0)?;
                let time_ns = match plan.width_ns {
                    0 => time_ns,
                    width_ns => time_ns - time_ns.rem_euclid(width_ns),
                };
                let of_time = self.by_time.len();
                let sum = self.by_time.entry(time_ns).or_default();
                let before = sum.bytes_len();
                sum.add(&counts);
                let grown = sum.bytes_len() - before;
                let is_new = self.by_time.len() > of_time;
                self.charge.add(grown + if is_new { SUM_BYTES } else { 0 })?;
            }
        }
        Ok(())
    }

    /// Adds the series that are made of the sums.
    fn figures(
        &self,
        plan: &Counted,
        head: &SeriesHead,
        meter: &Meter,
        made: &mut Kept<'_>,
    ) -> Result<(), Error> {
        let inside = || self.by_time.range(plan.range.start_ns..=plan.range.end_ns);
        if inside().next().is_none() {
            return Ok(());
        }
        let mut add = |figure: Figure, samples: Samples| {
            let head = SeriesHead { figure: Some(figure), ..head.clone() };
            made.add((Arc::new(head), Arc::new(samples)))
        };
        for &percent in &plan.percentiles {
            let mut samples = Samples::default();
            for (time_ns, counts) in inside() {
                meter.check(0)?;
                samples.push(*time_ns, Value::Float(counts.percentile(f64::from(percent))));
            }
            add(Figure::Percentile(percent), samples)?;
        }
        if !plan.has_counts {
            return Ok(());
        }
        // By the bits of a figure's bounds; the order is that in which they appear.
        let (mut places, mut columns) = (BTreeMap::new(), Vec::new());
        let mut held = meter.open();
        for (time_ns, counts) in inside() {
            meter.check(0)?;
            held.add(counts.counts() * size_of::<[u64; 2]>())?;
            for (figure, count) in counts.iter() {
                let place = *places.entry(bits(figure)).or_insert_with(|| {
                    columns.push((figure, Samples::default()));
                    columns.len() - 1
                });
                let Some((_, samples)) = columns.get_mut(place) else { continue };
                samples.push(*time_ns, Value::Integer(count as i64));
            }
        }
        columns.into_iter().try_for_each(|(figure, samples)| add(figure, samples))
    }
}

/// What tells figures apart.
fn bits(figure: Figure) -> (u8, u32, u32) {
    match figure {
        Figure::Percentile(percent) => (0, percent.to_bits(), 0),
        Figure::Underflow => (1, 0, 0),
        Figure::Between(lower, upper) => (2, lower.to_bits(), upper.to_bits()),
        Figure::Overflow => (3, 0, 0),
    }
}
