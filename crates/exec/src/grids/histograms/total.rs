//! Sums of histograms, with what rounding lost of each count.

use super::super::fold::Carried;
use super::{compact, together};
use foliot_model::{Bucket, Histogram, Resets};
use std::cmp::Ordering;
use std::sync::Arc;

/// Histograms of exponential and of custom buckets have no sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Incompatible;

/// What was met when histograms were put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Whether one says that counting began anew, and another that it went on.
    pub(crate) is_torn: bool,
    /// Whether custom bounds differ, so that only those are left that all have.
    pub(crate) is_reconciled: bool,
}

impl Merged {
    fn with(self, other: Self) -> Self {
        Self {
            is_torn: self.is_torn || other.is_torn,
            is_reconciled: self.is_reconciled || other.is_reconciled,
        }
    }
}

/// Buckets by their index.
type Side = Vec<(i32, Carried)>;

/// A sum of histograms.
#[derive(Clone, Debug)]
pub(crate) struct Total {
    resets: Resets,
    schema: i8,
    zero_threshold: f64,
    bounds: Arc<[f64]>,
    zero_count: Carried,
    count: Carried,
    sum: Carried,
    positive: Side,
    negative: Side,
}

impl Total {
    pub(crate) fn of(of: &Histogram) -> Self {
        let carried = |sum: f64| Carried { sum, lost: 0.0 };
        let side = |buckets: &[Bucket]| -> Side {
            buckets.iter().map(|bucket| (bucket.index, carried(bucket.count))).collect()
        };
        Self {
            resets: of.resets,
            schema: of.schema,
            zero_threshold: of.zero_threshold,
            bounds: of.bounds.clone(),
            zero_count: carried(of.zero_count),
            count: carried(of.count),
            sum: carried(of.sum),
            positive: side(&of.positive),
            negative: side(&of.negative),
        }
    }

    /// Adds a histogram, or takes it away.
    pub(crate) fn add(&mut self, other: &Histogram, sign: f64) -> Result<Merged, Incompatible> {
        if (self.schema == Histogram::CUSTOM) != other.is_custom() {
            return Err(Incompatible);
        }
        let (resets, is_torn) = together(self.resets, other.resets);
        self.resets = resets;
        self.count = self.count.add(sign * other.count);
        self.sum = self.sum.add(sign * other.sum);
        if other.is_custom() {
            let is_reconciled = self.bounds != other.bounds;
            match is_reconciled {
                false => add_side(&mut self.positive, &other.positive, sign),
                true => self.add_reconciled(other, sign),
            }
            return Ok(Merged { is_torn, is_reconciled });
        }
        let zero_count = self.widen(other);
        self.zero_count = self.zero_count.add(sign * zero_count);
        let mut reduced = None;
        match self.schema.cmp(&other.schema) {
            Ordering::Greater => self.reduce(other.schema),
            Ordering::Less => reduced.insert(other.clone()).reduce(self.schema),
            Ordering::Equal => {}
        }
        let other = reduced.as_ref().unwrap_or(other);
        let (schema, threshold) = (self.schema, self.zero_threshold);
        let upper = |index| Histogram { schema, ..Histogram::default() }.upper(index);
        for (side, buckets) in
            [(&mut self.positive, &other.positive), (&mut self.negative, &other.negative)]
        {
            // Those within the bucket around zero are counted there.
            let within = |bucket: &&Bucket| threshold > 0.0 && upper(bucket.index) <= threshold;
            let count = buckets.iter().take_while(within).count();
            add_side(side, buckets.get(count..).unwrap_or_default(), sign);
        }
        Ok(Merged { is_torn, is_reconciled: false })
    }

    /// Widens the bucket around zero until neither that of the other nor any bucket that counts
    /// reaches over its end. Returns what that bucket of the other then counts.
    fn widen(&mut self, other: &Histogram) -> f64 {
        let (mut count, mut threshold) = (other.zero_count, other.zero_threshold);
        while threshold != self.zero_threshold {
            if self.zero_threshold > threshold {
                (count, threshold) = zero_within(other, self.zero_threshold);
            }
            if threshold > self.zero_threshold {
                let own = self.clone().total();
                let (wider, end) = zero_within(&own, threshold);
                self.zero_count = Carried { sum: wider, lost: 0.0 };
                self.zero_threshold = end;
                let lower = |index: i32| own.upper(index.saturating_sub(1));
                for side in [&mut self.positive, &mut self.negative] {
                    side.retain(|(index, _)| lower(*index) >= end);
                }
            }
            // What is no number is the same as nothing.
            if threshold.is_nan() || self.zero_threshold.is_nan() {
                break;
            }
        }
        count
    }

    fn reduce(&mut self, schema: i8) {
        let shift = i32::from(self.schema) - i32::from(schema);
        self.schema = schema;
        for side in [&mut self.positive, &mut self.negative] {
            for (index, _) in &mut *side {
                *index = (((i64::from(*index) - 1) >> shift) + 1) as i32;
            }
            side.dedup_by(|(index, count), (before, sum)| {
                let is_same = index == before;
                if is_same {
                    *sum = sum.add(count.sum).add(count.lost);
                }
                is_same
            });
        }
    }

    /// Adds a histogram of other bounds: those that both have are left.
    fn add_reconciled(&mut self, other: &Histogram, sign: f64) {
        let bounds: Arc<[f64]> =
            self.bounds.iter().filter(|bound| other.bounds.contains(bound)).copied().collect();
        let place = |own: &[f64], index: i32| {
            let bound = usize::try_from(index).ok().and_then(|index| own.get(index));
            let at = bound.map(|bound| bounds.partition_point(|common| common < bound));
            at.unwrap_or(bounds.len())
        };
        let mut counts = vec![Carried::default(); bounds.len() + 1];
        let mut put = |at: usize, value: Carried| {
            let count = counts.get_mut(at);
            count.into_iter().for_each(|count| *count = count.add(value.sum).add(value.lost));
        };
        for (index, count) in &self.positive {
            put(place(&self.bounds, *index), *count);
        }
        for bucket in &other.positive {
            let sum = sign * bucket.count;
            put(place(&other.bounds, bucket.index), Carried { sum, lost: 0.0 });
        }
        let counted = (0..).zip(counts).filter(|(_, count)| count.sum != 0.0 || count.lost != 0.0);
        self.positive = counted.collect();
        self.bounds = bounds;
    }

    /// Each count, changed by `change`.
    fn each(&mut self, change: impl Fn(f64) -> f64) {
        let sides = self.positive.iter_mut().chain(&mut self.negative).map(|(_, count)| count);
        for count in sides.chain([&mut self.zero_count, &mut self.count, &mut self.sum]) {
            *count = Carried { sum: change(count.sum), lost: change(count.lost) };
        }
    }

    /// Whether some count is too large for a float.
    fn overflows(&self) -> bool {
        let sides = self.positive.iter().chain(&self.negative).map(|(_, count)| count);
        sides.chain([&self.zero_count, &self.count, &self.sum]).any(|count| count.sum.is_infinite())
    }

    /// The sum.
    pub(crate) fn total(self) -> Histogram {
        let side = |side: Side| {
            let bucket = |(index, count): (i32, Carried)| Bucket { index, count: count.total() };
            side.into_iter().map(bucket).collect()
        };
        Histogram {
            resets: self.resets,
            is_integer: false,
            schema: self.schema,
            zero_threshold: self.zero_threshold,
            zero_count: self.zero_count.total(),
            count: self.count.total(),
            sum: self.sum.total(),
            positive: side(self.positive),
            negative: side(self.negative),
            bounds: self.bounds,
        }
    }
}

/// Adds buckets to those of a side; both ascend.
fn add_side(side: &mut Side, buckets: &[Bucket], sign: f64) {
    let mut made = Side::with_capacity(side.len().max(buckets.len()));
    let mut own = std::mem::take(side).into_iter().peekable();
    for bucket in buckets {
        let value = sign * bucket.count;
        made.extend(std::iter::from_fn(|| own.next_if(|(index, _)| *index < bucket.index)));
        made.push(match own.next_if(|(index, _)| *index == bucket.index) {
            Some((index, count)) => (index, count.add(value)),
            None => (bucket.index, Carried { sum: value, lost: 0.0 }),
        });
    }
    made.extend(own);
    *side = made;
}

/// What the bucket around zero would count if it reached to `threshold` at least, and to where it
/// then reaches: not into a bucket that counts something.
pub(super) fn zero_within(of: &Histogram, threshold: f64) -> (f64, f64) {
    if threshold == of.zero_threshold {
        return (of.zero_count, threshold);
    }
    let mut end = threshold;
    'wider: loop {
        let mut count = Carried { sum: of.zero_count, lost: 0.0 };
        for (side, is_positive) in [(&of.positive, true), (&of.negative, false)] {
            for bucket in side {
                let lower = of.upper(bucket.index.saturating_sub(1));
                if lower >= end {
                    break;
                }
                count = count.add(bucket.count);
                let upper = of.upper(bucket.index);
                if upper > end {
                    if bucket.count != 0.0 {
                        end = upper;
                        if !is_positive {
                            continue 'wider;
                        }
                    }
                    break;
                }
            }
        }
        return (count.total(), end);
    }
}

/// The sum of histograms, of which there is one at least; and what was met.
pub(crate) fn sum<'h>(
    mut of: impl Iterator<Item = &'h Histogram>,
) -> Result<Option<(Histogram, Merged)>, Incompatible> {
    let Some(first) = of.next() else { return Ok(None) };
    let (mut total, mut hints) = (Total::of(first), Hints::default());
    hints.see(first.resets);
    let mut merged = Merged::default();
    for other in of {
        hints.see(other.resets);
        merged = merged.with(total.add(other, 1.0)?);
    }
    Ok(Some((total.total(), hints.merged(merged))))
}

/// The mean of histograms. Where their sum is too large for a float, the mean so far is carried
/// instead.
pub(crate) fn mean<'h>(
    of: impl Iterator<Item = &'h Histogram> + Clone,
) -> Result<Option<(Histogram, Merged)>, Incompatible> {
    let mut all = of.clone();
    let Some(first) = all.next() else { return Ok(None) };
    let (mut total, mut hints, mut merged) =
        (Total::of(first), Hints::default(), Merged::default());
    hints.see(first.resets);
    let mut count = 1.0;
    for other in all {
        count += 1.0;
        hints.see(other.resets);
        merged = merged.with(total.add(other, 1.0)?);
    }
    if total.overflows() {
        total = Total::of(first);
        for (before, other) in (1u32..).zip(of.skip(1)) {
            let count = f64::from(before) + 1.0;
            let share = f64::from(before) / count;
            total.each(|value| value * share);
            merged = merged.with(total.add(&super::divided(other.clone(), count), 1.0)?);
        }
    } else {
        total.each(|value| value / count);
    }
    Ok(Some((total.total(), hints.merged(merged))))
}

/// Which of two hints that contradict each other were seen.
#[derive(Default)]
struct Hints {
    reset: bool,
    not_reset: bool,
}

impl Hints {
    fn see(&mut self, resets: Resets) {
        self.reset |= resets == Resets::Reset;
        self.not_reset |= resets == Resets::NotReset;
    }

    fn merged(&self, merged: Merged) -> Merged {
        Merged { is_torn: self.reset && self.not_reset, ..merged }
    }
}

/// Two histograms, of which the second is added or taken away.
pub(crate) fn two(
    a: &Histogram,
    b: &Histogram,
    sign: f64,
) -> Result<(Histogram, Merged), Incompatible> {
    let mut total = Total::of(a);
    let merged = total.add(b, sign)?;
    Ok((compact(total.total()), merged))
}
