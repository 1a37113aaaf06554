//! Latency histograms: 1 us to 1 h with three digits, one per thread, added up at the end.

use std::io;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use serde::Serialize;

const LOWEST_US: u64 = 1;
const HIGHEST_US: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// Counts of durations. The histogram is made with the first and grows with the longest, because a
/// thousand connections have a dozen each.
#[derive(Clone, Debug)]
pub(crate) struct Latency(Option<Histogram<u64>>);

/// Samples that must lie beyond a percentile before it is told: of fewer, one more or less moves
/// it.
const SAMPLES_BEYOND_MIN: f64 = 10.0;

/// Percentiles in milliseconds; none where there are too few samples to tell.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Percentiles {
    pub(crate) count: u64,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) p50_ms: Option<f64>,
    pub(crate) p75_ms: Option<f64>,
    pub(crate) p90_ms: Option<f64>,
    pub(crate) p95_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) p999_ms: Option<f64>,
    pub(crate) p9999_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
}

/// A time for people; a stroke where it is withheld.
pub(crate) fn shown(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.2}"))
}

impl Latency {
    pub(crate) fn new() -> Latency {
        Latency(None)
    }

    pub(crate) fn record(&mut self, took: Duration) {
        let us = u64::try_from(took.as_nanos().div_ceil(1000)).unwrap_or(HIGHEST_US);
        if self.0.is_none() {
            self.0 = Histogram::new(DIGITS).ok();
        }
        if let Some(histogram) = &mut self.0 {
            // It grows to hold any value between these bounds.
            let _ = histogram.record(us.clamp(LOWEST_US, HIGHEST_US));
        }
    }

    pub(crate) fn add(&mut self, other: &Latency) {
        match (&mut self.0, &other.0) {
            (_, None) => {}
            (None, Some(part)) => self.0 = Some(part.clone()),
            // Same digits on both sides, and the sum grows: adding cannot fail.
            (Some(sum), Some(part)) => {
                let _ = sum.add(part);
            }
        }
    }

    pub(crate) fn percentiles(&self) -> Percentiles {
        let Some(histogram) = self.0.as_ref().filter(|histogram| !histogram.is_empty()) else {
            return Percentiles::default();
        };
        let count = histogram.len();
        let at = |quantile: f64| {
            let beyond = count as f64 * (1.0 - quantile);
            // A hair less than ten, because 1 - 0.999 is not a thousandth.
            let told = beyond > SAMPLES_BEYOND_MIN - 1e-6;
            told.then(|| histogram.value_at_quantile(quantile) as f64 / 1000.0)
        };
        Percentiles {
            count,
            mean_ms: Some(histogram.mean() / 1000.0),
            p50_ms: at(0.5),
            p75_ms: at(0.75),
            p90_ms: at(0.9),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            p9999_ms: at(0.9999),
            max_ms: Some(histogram.max() as f64 / 1000.0),
        }
    }

    /// The time within which this share of the samples lies, whatever their number: of few it is
    /// the longest, so a bound that it keeps is kept. 0 without samples.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> f64 {
        let at = |histogram: &Histogram<u64>| histogram.value_at_quantile(quantile);
        self.0.as_ref().map_or(0, at) as f64 / 1000.0
    }
}

/// A histogram on its way into a log.
pub(crate) struct Logged {
    pub(crate) name: String,
    pub(crate) latency: Latency,
    /// Length of the run that it covers.
    pub(crate) wall_s: f64,
}

/// Histograms as a log of intervals that HdrHistogram's tools read (hdrhistogram.org, "Histogram
/// log", V2): one interval each, its name as tag, values in microseconds.
pub(crate) fn log(logged: &[Logged]) -> io::Result<Vec<u8>> {
    let failed = |error: &dyn std::fmt::Debug| io::Error::other(format!("{error:?}"));
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("foliot bench; values in microseconds");
    let mut writer = builder.begin_log_with(&mut out, &mut serializer)?;
    for logged in logged {
        let Some(histogram) = &logged.latency.0 else { continue };
        let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = logged.name.chars().map(letter).collect();
        let length = Duration::from_secs_f64(logged.wall_s);
        writer
            .write_histogram(histogram, Duration::ZERO, length, Tag::new(&name))
            .map_err(|error| failed(&error))?;
    }
    Ok(out)
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
            let seen = seen.unwrap();
            let exact = exact[(exact.len() as f64 * quantile) as usize] as f64 / 1000.0;
            assert!((seen / exact - 1.0).abs() < 0.0025, "{quantile}: {seen} for {exact}");
        }
    }

    #[test]
    fn sums_hold_what_their_parts_hold() {
        let mut sum = Latency::new();
        for us in [10, 30_000_000, 50] {
            let mut part = Latency::new();
            part.record(Duration::from_micros(us));
            sum.add(&part);
            sum.add(&Latency::new());
        }
        let seen = sum.percentiles();
        assert_eq!((seen.count, sum.quantile_ms(0.5)), (3, 0.05));
        assert!((seen.max_ms.unwrap() / 30_000.0 - 1.0).abs() < 0.001, "{seen:?}");
        // An hour is the end.
        sum.record(Duration::from_secs(7200));
        assert!((sum.percentiles().max_ms.unwrap() / 3_600_000.0 - 1.0).abs() < 0.001);
    }

    #[test]
    fn percentiles_of_too_few_samples_are_withheld() {
        let told = |samples: u64| {
            let mut latency = Latency::new();
            (0..samples).for_each(|at| latency.record(Duration::from_micros(at)));
            let p = latency.percentiles();
            [p.p50_ms, p.p90_ms, p.p99_ms, p.p999_ms, p.p9999_ms].map(|p| p.is_some())
        };
        assert_eq!(told(0), [false; 5]);
        assert_eq!(told(19), [false; 5]);
        assert_eq!(told(20), [true, false, false, false, false]);
        assert_eq!(told(999), [true, true, false, false, false]);
        assert_eq!(told(1000), [true, true, true, false, false]);
        assert_eq!(told(9_999), [true, true, true, false, false]);
        assert_eq!(told(10_000), [true, true, true, true, false]);
        assert_eq!(told(100_000), [true; 5]);
        assert_eq!(shown(None), "-");
        assert_eq!(Latency::new().percentiles().mean_ms, None);
    }

    #[test]
    fn logs_can_be_read_again() {
        use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
        let mut latency = Latency::new();
        for us in [10, 20, 30_000] {
            latency.record(Duration::from_micros(us));
        }
        let logged = [Logged { name: "a, b".into(), latency, wall_s: 2.0 }];
        let text = log(&logged).unwrap();
        let entries = IntervalLogIterator::new(&text).map_while(Result::ok);
        let intervals = entries.filter_map(|entry| match entry {
            LogEntry::Interval(interval) => Some(interval),
            _ => None,
        });
        let intervals: Vec<_> = intervals.collect();
        assert_eq!(intervals.len(), 1);
        assert_eq!(intervals[0].tag().unwrap().as_str(), "a--b");
        assert_eq!(intervals[0].duration(), Duration::from_secs(2));
        // Three digits of 30 000 microseconds.
        assert!((intervals[0].max() - 30_000.0).abs() < 30.0, "{}", intervals[0].max());
        assert!(!intervals[0].encoded_histogram().is_empty());
    }
}
