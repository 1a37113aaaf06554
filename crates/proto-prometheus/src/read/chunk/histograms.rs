//! Histograms of a chunk, which have their buckets in common.

use super::super::bits::{Bits, Xor};
use crate::samples::STALE;
use foliot_model::{Bucket, Histogram, Resets};

/// Histograms that follow one another.
#[derive(Debug)]
pub(super) struct Run {
    /// The last one.
    before: Histogram,
    sum: Xor,
    counts: Counts,
}

/// Counts of all observations, of those around zero, and of all buckets, as they changed last.
#[derive(Debug)]
enum Counts {
    /// How much each grew.
    Integers(Vec<i64>),
    Floats(Vec<Xor>),
}

/// A histogram as it is spelled: one that marks the end of its series has nothing but the mark.
pub(super) fn plain(histogram: Histogram) -> Histogram {
    match histogram.sum.to_bits() == STALE.to_bits() {
        true => {
            let (sum, is_integer) = (histogram.sum, histogram.is_integer);
            Histogram { sum, is_integer, ..Histogram::default() }
        }
        false => histogram,
    }
}

impl Run {
    /// Begins with the layout that all have in common, and the first of them.
    pub(super) fn begin(first: Histogram, time_ms: i64, bits: &mut Bits) -> Self {
        push_layout(&first, bits);
        bits.int(time_ms);
        let sum = Xor::new(first.sum);
        let counts = match first.is_integer {
            true => {
                let integers = integers(&first);
                let (totals, buckets) = integers.split_at(2.min(integers.len()));
                totals.iter().for_each(|total| bits.uint(*total as u64));
                bits.float(first.sum);
                buckets.iter().for_each(|bucket| bits.int(*bucket));
                Counts::Integers(vec![0; integers.len()])
            }
            false => {
                let floats = floats(&first);
                let (totals, buckets) = floats.split_at(2.min(floats.len()));
                totals.iter().for_each(|total| bits.float(*total));
                bits.float(first.sum);
                buckets.iter().for_each(|bucket| bits.float(*bucket));
                Counts::Floats(floats.into_iter().map(Xor::new).collect())
            }
        };
        Self { before: first, sum, counts }
    }

    pub(super) fn is_integer(&self) -> bool {
        self.before.is_integer
    }

    /// Whether a histogram may stand behind the last. Whoever reads a chunk takes it that counting
    /// went on in it, or that all of it is a gauge.
    pub(super) fn is_followed_by(&self, next: &Histogram) -> bool {
        let before = &self.before;
        let is_gauge = |of: &Histogram| of.resets == Resets::Gauge;
        let went_on = match next.resets {
            Resets::Gauge | Resets::NotReset => true,
            Resets::Reset => false,
            Resets::Unknown => {
                floats(before).iter().zip(floats(next)).all(|(before, next)| *before <= next)
            }
        };
        is_gauge(before) == is_gauge(next) && has_layout_of(before, next) && went_on
    }

    /// Appends one, of which the time is there.
    pub(super) fn push(&mut self, next: Histogram, bits: &mut Bits) {
        match &mut self.counts {
            Counts::Integers(growth) => {
                let grown = differences(&integers(&next), &integers(&self.before));
                let changes = differences(&grown, growth);
                *growth = grown;
                let (totals, buckets) = changes.split_at(2.min(changes.len()));
                totals.iter().for_each(|total| bits.int(*total));
                bits.xor(&mut self.sum, next.sum);
                buckets.iter().for_each(|bucket| bits.int(*bucket));
            }
            Counts::Floats(counts) => {
                let mut counts = counts.iter_mut().zip(floats(&next));
                counts.by_ref().take(2).for_each(|(before, total)| bits.xor(before, total));
                bits.xor(&mut self.sum, next.sum);
                counts.for_each(|(before, bucket)| bits.xor(before, bucket));
            }
        }
        self.before = next;
    }
}

fn has_layout_of(a: &Histogram, b: &Histogram) -> bool {
    let same = |a: &[Bucket], b: &[Bucket]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.index == b.index)
    };
    let scheme = |of: &Histogram| (of.is_integer, of.schema, of.zero_threshold.to_bits());
    scheme(a) == scheme(b)
        && a.bounds == b.bounds
        && same(&a.positive, &b.positive)
        && same(&a.negative, &b.negative)
}

fn differences(of: &[i64], to: &[i64]) -> Vec<i64> {
    of.iter().zip(to).map(|(of, to)| of.wrapping_sub(*to)).collect()
}

/// All counts of a histogram of integers. A bucket's is how much it differs from the one before it
/// on its side.
fn integers(of: &Histogram) -> Vec<i64> {
    let side = |buckets: &[Bucket]| {
        let counts = buckets.iter().map(|bucket| bucket.count as i64);
        let before = std::iter::once(0).chain(counts.clone());
        counts.zip(before).map(|(count, before)| count.wrapping_sub(before)).collect::<Vec<_>>()
    };
    let totals = [of.count as i64, of.zero_count as i64];
    [&totals[..], &side(&of.positive), &side(&of.negative)].concat()
}

/// All counts of a histogram.
fn floats(of: &Histogram) -> Vec<f64> {
    let buckets = of.positive.iter().chain(&of.negative).map(|bucket| bucket.count);
    [of.count, of.zero_count].into_iter().chain(buckets).collect()
}

fn push_layout(of: &Histogram, bits: &mut Bits) {
    // Numbered otherwise than everywhere else.
    let resets = match of.resets {
        Resets::Unknown => 0b00,
        Resets::NotReset => 0b01,
        Resets::Reset => 0b10,
        Resets::Gauge => 0b11,
    };
    bits.push(resets << 6, 8);
    bits.zero_threshold(of.zero_threshold);
    bits.int(i64::from(of.schema));
    for side in [&of.positive, &of.negative] {
        let spans: Vec<_> = Histogram::spans(side).collect();
        bits.uint(spans.len() as u64);
        for (offset, length) in spans {
            bits.uint(u64::from(length));
            bits.int(i64::from(offset));
        }
    }
    if of.is_custom() {
        bits.uint(of.bounds.len() as u64);
        of.bounds.iter().for_each(|bound| bits.bound(*bound));
    }
}
