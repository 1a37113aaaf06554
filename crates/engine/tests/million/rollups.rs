//! Rollups, twice: from the summaries of blocks, and sample by sample.

use crate::support::Owned;
use foliot_engine::{Snapshot, Summary};
use foliot_model::{Samples, TimeRange};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// What two ways of summing may differ by, as a share of the sum of all magnitudes.
const TOLERANCE: f64 = 1e-12;

/// What the samples of one bucket come to; see [`Summary`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rollup {
    count: u64,
    /// Of samples that are no finite numbers nothing but the count is said.
    is_finite: bool,
    min: f64,
    max: f64,
    sum: f64,
    first: f64,
    last: f64,
    increase: f64,
    /// The sum of all magnitudes.
    magnitude: f64,
}

impl Rollup {
    fn of(value: &Owned) -> Self {
        let number = match value {
            Owned::Float(bits) => f64::from_bits(*bits),
            Owned::Integer(v) => *v as f64,
            Owned::Unsigned(v) => *v as f64,
            Owned::Boolean(v) => f64::from(u8::from(*v)),
            Owned::String(_) | Owned::Histogram(_) | Owned::Decimal(..) => f64::NAN,
        };
        Self {
            count: 1,
            is_finite: number.is_finite(),
            min: number,
            max: number,
            sum: number,
            first: number,
            last: number,
            increase: 0.0,
            magnitude: number.abs(),
        }
    }

    fn of_block(count: u16, block: &Summary) -> Self {
        Self {
            count: count.into(),
            is_finite: block.numeric && !block.has_nan,
            min: block.min(),
            max: block.max(),
            sum: block.sum(),
            first: block.first(),
            last: block.last(),
            increase: block.increase(),
            magnitude: 0.0,
        }
    }

    /// Adds what comes later.
    fn add(&mut self, next: &Self) {
        if self.count == 0 {
            *self = next.clone();
            return;
        }
        let step = next.first - self.last;
        self.increase += next.increase + if step >= 0.0 { step } else { next.first };
        self.count += next.count;
        self.is_finite &= next.is_finite;
        self.min = self.min.min(next.min);
        self.max = self.max.max(next.max);
        self.sum += next.sum;
        self.last = next.last;
        self.magnitude += next.magnitude;
    }
}

/// By number of the bucket.
pub(crate) type Rollups = BTreeMap<i64, Rollup>;

/// Sample by sample.
pub(crate) fn of_samples(samples: &BTreeMap<i64, Owned>, width_ns: i64) -> Rollups {
    let mut rollups = Rollups::new();
    for (time_ns, value) in samples {
        rollups.entry(time_ns.div_euclid(width_ns)).or_default().add(&Rollup::of(value));
    }
    rollups
}

/// From blocks that lie within a bucket where there are such; also tells how many there were.
pub(crate) fn of_scan(snapshot: &Snapshot, sid: u32, width_ns: i64) -> (Rollups, u64) {
    let (mut rollups, mut skipped) = (Rollups::new(), 0);
    let mut scan = snapshot.scan(sid, TimeRange::ALL).unwrap();
    let mut samples = Samples::default();
    loop {
        let block = scan.peek().and_then(|block| {
            let bucket = block.range.start_ns.div_euclid(width_ns);
            let is_within = bucket == block.range.end_ns.div_euclid(width_ns);
            is_within.then(|| (bucket, Rollup::of_block(block.count, block.summary)))
        });
        if let Some((bucket, rollup)) = block {
            rollups.entry(bucket).or_default().add(&rollup);
            skipped += 1;
            scan.skip();
            continue;
        }
        samples.clear();
        if !scan.next(&mut samples).unwrap() {
            return (rollups, skipped);
        }
        for (time_ns, value) in samples.iter() {
            let rollup = Rollup::of(&Owned::of(value));
            rollups.entry(time_ns.div_euclid(width_ns)).or_default().add(&rollup);
        }
    }
}

pub(crate) fn compare(name: &impl Debug, expected: &Rollups, found: &Rollups) {
    assert!(expected.keys().eq(found.keys()), "{name:?}: other buckets");
    for (wanted, got) in expected.values().zip(found.values()) {
        assert_eq!((wanted.count, wanted.is_finite), (got.count, got.is_finite), "{name:?}");
        if !wanted.is_finite {
            continue;
        }
        let exact = |rollup: &Rollup| [rollup.min, rollup.max, rollup.first, rollup.last];
        assert_eq!(exact(wanted), exact(got), "{name:?}: {wanted:?}, {got:?}");
        let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * wanted.magnitude;
        if wanted.magnitude.is_finite() {
            let is_near = near(wanted.sum, got.sum) && near(wanted.increase, got.increase);
            assert!(is_near, "{name:?}: {wanted:?}, {got:?}");
        }
    }
}
