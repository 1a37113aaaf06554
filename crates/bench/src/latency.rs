//! Latency histograms: 1 us to 1 h with three digits, one per thread, added up at the end.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

const LOWEST_US: u64 = 1;
const HIGHEST_US: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// Counts of durations. A histogram that could not be made records nothing.
#[derive(Clone)]
pub(crate) struct Latency(Option<Histogram<u64>>);

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u64,
    pub(crate) mean_ms: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p75_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) p999_ms: f64,
    pub(crate) p9999_ms: f64,
    pub(crate) max_ms: f64,
}

impl Latency {
    pub(crate) fn new() -> Latency {
        Latency(Histogram::new_with_bounds(LOWEST_US, HIGHEST_US, DIGITS).ok())
    }

    pub(crate) fn record(&mut self, took: Duration) {
        let us = u64::try_from(took.as_nanos().div_ceil(1000)).unwrap_or(HIGHEST_US);
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(us.clamp(LOWEST_US, HIGHEST_US));
        }
    }

    pub(crate) fn add(&mut self, other: &Latency) {
        if let (Some(sum), Some(part)) = (&mut self.0, &other.0) {
            // Same bounds on both sides: adding cannot fail.
            let _ = sum.add(part);
        }
    }

    pub(crate) fn percentiles(&self) -> Percentiles {
        let Some(histogram) = self.0.as_ref().filter(|histogram| !histogram.is_empty()) else {
            return Percentiles::default();
        };
        let at = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / 1000.0;
        Percentiles {
            count: histogram.len(),
            mean_ms: histogram.mean() / 1000.0,
            p50_ms: at(0.5),
            p75_ms: at(0.75),
            p90_ms: at(0.9),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            p9999_ms: at(0.9999),
            max_ms: histogram.max() as f64 / 1000.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Purpose};

    #[test]
    fn quantiles_agree_with_an_exact_sort() {
        let mut draws = Draws::at(3, Purpose::Schedule, 0, 0);
        let mut latency = Latency::new();
        let mut exact: Vec<u64> = Vec::new();
        for _ in 0..200_000 {
            let us = 1000 + (draws.exponential() * 50_000.0) as u64;
            exact.push(us);
            latency.record(Duration::from_micros(us));
        }
        exact.sort_unstable();
        let seen = latency.percentiles();
        for (quantile, seen) in [(0.5, seen.p50_ms), (0.99, seen.p99_ms), (0.999, seen.p999_ms)] {
            let exact = exact[(exact.len() as f64 * quantile) as usize] as f64 / 1000.0;
            assert!((seen / exact - 1.0).abs() < 0.0025, "{quantile}: {seen} for {exact}");
        }
    }
}
