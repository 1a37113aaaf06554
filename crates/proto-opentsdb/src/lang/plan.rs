//! Questions into series algebra, with OpenTSDB's hidden window rule made explicit.
//!
//! 1. Samples are read from whole hours around the query, see [`scan_range`].
//! 2. Buckets are made over that range; then rates; then series come together.
//! 3. Only then the answer is cut to the query's own times. A series with samples in the hours but
//!    none in the query stays, empty.
//!
//! Edges are therefore interpolated from samples outside the query, the first rate is there if its
//! hour has an earlier sample, the bucket that holds the start is left out unless it begins there,
//! and the one that holds the end is complete.
//!
//! Differs from OpenTSDB on purpose: a calendar's last bucket is complete, too; and a series has no
//! rate before its second sample, while OpenTSDB adds a tiny one counted from 1970.

use super::downsample::{Downsample, Interval, calendar_unit};
use super::rollup::{Field, TsuidWhere};
use super::time::{Duration, Unit};
use super::{Question, Request};
use foliot_model::{
    DEFAULT_FIELD, NANOS_PER_MILLI, NANOS_PER_SECOND, Name, NamespaceId, Test, TimeRange,
};
use foliot_plan::{
    Aggregate, Arithmetic, Counted, Fill, Fold, Gap, Grouping, Quotient, Rate, Series, Window,
    Windows,
};
use std::sync::Arc;

const HOUR_S: i64 = 3600;

impl Request {
    /// The query's own times.
    pub(crate) fn times(&self) -> TimeRange {
        range_ns(self.start_ms, self.end_ms)
    }

    /// The query as series algebra, a plan per question. `resolve` finds the stored series of a
    /// TSUID.
    pub fn plans(&self, namespace: NamespaceId, resolve: &mut TsuidWhere<'_>) -> Vec<Series> {
        let plan = |question: &Question| self.plan(question, namespace, resolve);
        self.questions.iter().map(plan).collect()
    }

    fn plan(
        &self,
        question: &Question,
        namespace: NamespaceId,
        resolve: &mut TsuidWhere<'_>,
    ) -> Series {
        let range = question.range(self.start_ms, self.end_ms);
        let (selector, counts) = question.selectors(namespace, resolve);
        let read =
            question.downsample.as_ref().map_or(range, |spec| self.whole_buckets(range, spec));
        let mut series = Series::Select { selector, range: read };
        if question.is_about_histograms() {
            return self.counted(question, series);
        }
        if let Some(downsample) = &question.downsample {
            let counts = counts.map(|selector| Series::Select { selector, range: read });
            series = self.downsampled(question, downsample, series, counts, range);
        }
        if let Some(rate) = question.rate {
            let (per_ns, reset) = (NANOS_PER_SECOND, rate.reset());
            series = Series::Rate(Box::new(Rate { input: series, per_ns, reset }));
        }
        let aggregator = question.aggregator;
        let gap = match (aggregator.fold, question.rate) {
            (None, _) => Gap::Absent,
            // Between two rates the last one holds, whatever the aggregator.
            (Some(_), Some(_)) => Gap::Previous,
            (Some(_), None) => aggregator.gap,
        };
        let aggregate = Aggregate {
            input: series,
            grouping: grouping(question),
            // Under `none` every series is a group, of which any fold but a count gives the value.
            fold: aggregator.fold.unwrap_or(Fold::First),
            gap,
            arithmetic: Arithmetic::IntegerIfAll,
            wants_members: self.output.shows_tsuids || !self.notes.by_tsuid.is_empty(),
        };
        let answer = Series::Aggregate(Box::new(aggregate));
        if !self.is_clipped {
            return answer;
        }
        Series::Clip { input: Box::new(answer), range: self.times(), keep_empty: true }
    }

    /// Percentiles and counts of histograms, which are cut to the query's own times in any case.
    fn counted(&self, question: &Question, input: Series) -> Series {
        let width_ms = question.downsample.as_ref().map_or(0, Downsample::interval_ms);
        Series::Counted(Box::new(Counted {
            input,
            grouping: grouping(question),
            width_ns: width_ms.saturating_mul(NANOS_PER_MILLI),
            range: self.times(),
            percentiles: question.percentiles.clone(),
            has_counts: question.shows_buckets,
        }))
    }

    /// The samples that the buckets in `range` are made of. The last one of a calendar may reach
    /// behind its end.
    fn whole_buckets(&self, range: TimeRange, downsample: &Downsample) -> TimeRange {
        match downsample.interval {
            Interval::Calendar(duration) => {
                let reach_ns = ms_start_ns(reach_ms(duration, &*self.zone == "UTC"));
                TimeRange::new(range.start_ns, range.end_ns.saturating_add(reach_ns))
            }
            Interval::All | Interval::Fixed(_) => range,
        }
    }

    /// The buckets of a question. What was rolled up is summed up further: counts are added, and
    /// averages are sums over counts, for which `counts` is there.
    fn downsampled(
        &self,
        question: &Question,
        downsample: &Downsample,
        input: Series,
        counts: Option<Series>,
        range: TimeRange,
    ) -> Series {
        let fold = downsample.aggregator.window_fold().unwrap_or(Fold::First);
        let fill = match downsample.interval {
            Interval::All => Fill::None,
            _ => downsample.fill,
        };
        let buckets = |input, fold, fill| {
            Series::Window(Box::new(self.window(downsample, input, fold, fill, range)))
        };
        let field = question.table.as_ref().and_then(|table| table.values.field());
        match (field, counts) {
            (Some(Field::Average), Some(counts)) => {
                let dividend = buckets(input, Fold::Sum, Fill::None);
                let divisor = buckets(counts, Fold::Sum, Fill::None);
                let averages = Series::Quotient(Box::new(Quotient { dividend, divisor }));
                buckets(averages, Fold::First, fill)
            }
            (Some(_), _) if fold == Fold::Count => buckets(input, Fold::Sum, fill),
            _ => buckets(input, fold, fill),
        }
    }

    fn window(
        &self,
        downsample: &Downsample,
        input: Series,
        fold: Fold,
        fill: Fill,
        range: TimeRange,
    ) -> Window {
        let windows = match downsample.interval {
            Interval::All => {
                // The one window that leaves its end out.
                let end_ns = ms_start_ns(self.end_ms).saturating_sub(1);
                Windows::Whole(TimeRange::new(ms_start_ns(self.start_ms), end_ns))
            }
            Interval::Fixed(duration) => Windows::Buckets {
                width_ns: duration.ms().saturating_mul(NANOS_PER_MILLI),
                origin_ns: 0,
            },
            Interval::Calendar(duration) => Windows::Calendar {
                count: duration.count,
                unit: calendar_unit(duration.unit),
                zone: Arc::clone(&self.zone),
            },
        };
        Window { input, windows, fold, fill, range }
    }
}

/// The readings of a metric's name: all of it with the default field, and every split at a dot into
/// measurement and field.
pub fn metric_names(metric: &str) -> Vec<Name> {
    let name = |measurement: &str, field: &str| Name {
        measurement: Test::equal(measurement),
        field: Test::equal(field),
    };
    let splits = metric.match_indices('.').filter_map(|(dot, _)| {
        let (measurement, field) = (metric.get(..dot)?, metric.get(dot + 1..)?);
        // A metric with the default field is written without it.
        let is_name = !measurement.is_empty() && !field.is_empty() && field != DEFAULT_FIELD;
        is_name.then(|| name(measurement, field))
    });
    std::iter::once(name(metric, DEFAULT_FIELD)).chain(splits).collect()
}

fn grouping(question: &Question) -> Grouping {
    let mut names: Vec<Arc<str>> = Vec::new();
    for filter in question.filters.iter().filter(|filter| filter.groups) {
        if !names.iter().any(|name| **name == *filter.tag) {
            names.push(filter.tag.as_str().into());
        }
    }
    match question.aggregator.fold {
        None => Grouping::Each,
        Some(_) if names.is_empty() => Grouping::All,
        Some(_) => Grouping::By { names, drops_absent: true },
    }
}

/// The samples that a query looks at: from its start, rounded down to the bucket and then to the
/// hour, to before the hour after its end, or after the bucket that holds the end.
pub(super) fn scan_range(start_ms: i64, end_ms: i64, downsample: Option<&Downsample>) -> TimeRange {
    let interval_ms = downsample.map_or(0, Downsample::interval_ms);
    let mut start_s = start_ms.div_euclid(1000);
    // The end always counts as milliseconds within its second, and is moved behind it.
    let mut end_s = end_ms.div_euclid(1000).saturating_add(1);
    if interval_ms > 0 {
        start_s -= start_s.saturating_mul(1000).rem_euclid(interval_ms) / 1000;
        let into_bucket_ms = end_s.saturating_mul(1000).rem_euclid(interval_ms);
        end_s = end_s.saturating_add((interval_ms - into_bucket_ms) / 1000);
        end_s = end_s.saturating_add((HOUR_S - end_s.rem_euclid(HOUR_S)) % HOUR_S);
    } else {
        end_s = end_s.saturating_add(HOUR_S - end_s.rem_euclid(HOUR_S));
    }
    start_s -= start_s.rem_euclid(HOUR_S);
    let start_ns = start_s.max(0).saturating_mul(NANOS_PER_SECOND);
    TimeRange::new(start_ns, end_s.saturating_mul(NANOS_PER_SECOND).saturating_sub(1))
}

/// How far a calendar's bucket can reach behind a range that fits fixed ones. Those that divide a
/// quarter of an hour, or a day in UTC, are fixed ones. Days have an hour more where clocks are set
/// back, months and years a day more than their fixed lengths.
fn reach_ms(duration: Duration, is_utc: bool) -> i64 {
    const HOUR_MS: i64 = HOUR_S * 1000;
    let unit_ms = if is_utc { 24 * HOUR_MS } else { HOUR_MS / 4 };
    if unit_ms % duration.ms() == 0 {
        return 0;
    }
    let more_ms = match duration.unit {
        Unit::Millisecond | Unit::Second | Unit::Minute => 0,
        Unit::Hour | Unit::Day | Unit::Week => HOUR_MS,
        Unit::Month | Unit::Year => HOUR_MS + i64::from(duration.count) * 24 * HOUR_MS,
    };
    duration.ms().saturating_add(more_ms)
}

/// The whole hours that a query without downsampling looks at, in milliseconds.
pub(super) fn hours_around(start_ms: i64, end_ms: i64) -> (i64, i64) {
    let range = scan_range(start_ms, end_ms, None);
    (range.start_ns / NANOS_PER_MILLI, range.end_ns / NANOS_PER_MILLI)
}

/// From the first nanosecond of a millisecond to the last of another.
pub(super) fn range_ns(start_ms: i64, end_ms: i64) -> TimeRange {
    TimeRange::new(ms_start_ns(start_ms), ms_end_ns(end_ms))
}

/// The first nanosecond of a millisecond.
fn ms_start_ns(ms: i64) -> i64 {
    ms.saturating_mul(NANOS_PER_MILLI)
}

/// The last nanosecond of a millisecond.
fn ms_end_ns(ms: i64) -> i64 {
    ms_start_ns(ms).saturating_add(NANOS_PER_MILLI - 1)
}
