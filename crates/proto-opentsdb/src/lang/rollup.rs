//! Which table answers a question: the points themselves, or rollups.
//!
//! 1. A downsampled question is answered from the longest interval that divides its own, and from
//!    there alone: the peer asks for nothing else by default ([`RollupUsage::NoFallback`]).
//! 2. Where the question says so and the table has nothing, the next shorter interval is asked, or
//!    the points themselves.
//! 3. The downsampling's function names the rolled-up values that are read. An average is the sum
//!    of the sums divided by the sum of the counts, a count the sum of the counts.
//!
//! Differs from OpenTSDB on purpose: whoever falls back to the points themselves gets the buckets
//! that were asked for, not those of the rollup; the last bucket is complete also when it is longer
//! than a row; `500ms` and the like are answered from the points.

use super::filter::Filter;
use super::plan::{metric_names, scan_range};
use super::{Question, Request, Source, Tsuid};
use crate::http::HttpError;
use crate::rollup::{Interval, Rollups};
use foliot_model::{DEFAULT_FIELD, NANOS_PER_SECOND, Name, NamespaceId, Selector, Test, TimeRange};

/// Whether and how a question uses rollups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RollupUsage {
    Raw,
    NoFallback,
    Fallback,
    FallbackRaw,
}

impl RollupUsage {
    /// Reads its name in any case; what is no name means the default.
    pub(crate) fn parse(text: &str) -> Self {
        match text.to_ascii_uppercase().as_str() {
            "ROLLUP_RAW" => Self::Raw,
            "ROLLUP_FALLBACK" => Self::Fallback,
            "ROLLUP_FALLBACK_RAW" => Self::FallbackRaw,
            _ => Self::NoFallback,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Raw => "ROLLUP_RAW",
            Self::NoFallback => "ROLLUP_NOFALLBACK",
            Self::Fallback => "ROLLUP_FALLBACK",
            Self::FallbackRaw => "ROLLUP_FALLBACK_RAW",
        }
    }
}

/// A table other than that of the points themselves.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Nothing when nothing was ever written to it.
    namespace: Option<NamespaceId>,
    pub(crate) values: Values,
}

/// What a table holds.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// Points as somebody put them.
    Points,
    /// Values over an interval.
    Rolled { interval: Interval, field: Field },
}

impl Values {
    /// Which values over an interval are read, if any.
    pub(super) fn field(&self) -> Option<&Field> {
        match self {
            Self::Points => None,
            Self::Rolled { field, .. } => Some(field),
        }
    }
}

/// Which values over an interval are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// Those of one aggregator.
    One(String),
    /// Sums and counts, for averages.
    Average,
}

/// What choosing tables needs to know of the store.
pub struct Tables<'a> {
    /// The rollups that are kept, if any.
    pub rollups: Option<&'a Rollups>,
    /// Finds a table by its name.
    pub find: &'a dyn Fn(&str) -> Option<NamespaceId>,
    /// Whether series have samples in a range.
    pub has_samples: &'a dyn Fn(&Selector, TimeRange) -> Result<bool, HttpError>,
    /// Finds the stored series of a TSUID.
    pub resolve: &'a mut TsuidWhere<'a>,
}

impl std::fmt::Debug for Tables<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tables").field("rollups", &self.rollups).finish_non_exhaustive()
    }
}

/// Finds the stored series of a TSUID: in the query's own namespace and with its own field, or
/// elsewhere with another field.
pub type TsuidWhere<'a> = dyn FnMut(&Tsuid, Option<(NamespaceId, &str)>) -> Vec<u32> + 'a;

impl Request {
    /// Chooses the table that answers each question. To be called before [`Request::plans`].
    ///
    /// # Errors
    /// When a question wants values that are not kept.
    pub fn choose_tables(&mut self, tables: &mut Tables<'_>) -> Result<(), HttpError> {
        let (start_ms, end_ms) = (self.start_ms, self.end_ms);
        for question in &mut self.questions {
            question.choose_table(start_ms, end_ms, tables)?;
        }
        Ok(())
    }
}

impl Question {
    fn choose_table(
        &mut self,
        start_ms: i64,
        end_ms: i64,
        tables: &mut Tables<'_>,
    ) -> Result<(), HttpError> {
        let Some(rollups) = tables.rollups else {
            return match self.is_pre_aggregated {
                true => Err(HttpError::bad_request("No rollup or aggregations were configured")),
                false => Ok(()),
            };
        };
        if self.is_about_histograms() {
            // Nobody rolls them up.
            return Ok(());
        }
        let usage = self.usage.unwrap_or(RollupUsage::NoFallback);
        let seconds =
            self.downsample.as_ref().map_or(0, |downsample| downsample.interval_ms() / 1000);
        let fitting = match usage {
            RollupUsage::Raw => Vec::new(),
            _ => rollups.fitting(seconds),
        };
        for interval in fitting {
            if interval.is_default {
                break;
            }
            let name = if self.is_pre_aggregated { &interval.group_table } else { &interval.table };
            let values = Values::Rolled { interval: interval.clone(), field: self.field(rollups)? };
            self.table = Some(Table { namespace: (tables.find)(name), values });
            if usage == RollupUsage::NoFallback || self.has_samples(start_ms, end_ms, tables)? {
                return Ok(());
            }
            if usage == RollupUsage::FallbackRaw {
                break;
            }
        }
        let group_table = rollups.default_interval().filter(|_| self.is_pre_aggregated);
        self.table = group_table.map(|interval| Table {
            namespace: (tables.find)(&interval.group_table),
            values: Values::Points,
        });
        Ok(())
    }

    /// The values that the downsampling's function wants.
    fn field(&self, rollups: &Rollups) -> Result<Field, HttpError> {
        let function = self.downsample.as_ref().map_or("", |downsample| downsample.aggregator.name);
        let name = match function {
            "zimsum" => "sum",
            "mimmin" => "min",
            "mimmax" => "max",
            "avg" => {
                rollups.check_aggregator("sum")?;
                rollups.check_aggregator("count")?;
                return Ok(Field::Average);
            }
            name => name,
        };
        rollups.check_aggregator(name)?;
        match name {
            "dev" => Err(HttpError::bad_request(
                "Standard deviation over rolled up data is not supported at this time",
            )),
            name => Ok(Field::One(name.to_owned())),
        }
    }

    fn has_samples(
        &self,
        start_ms: i64,
        end_ms: i64,
        tables: &mut Tables<'_>,
    ) -> Result<bool, HttpError> {
        let range = self.range(start_ms, end_ms);
        (tables.has_samples)(&self.selectors(0, tables.resolve).0, range)
    }

    /// The samples that the question looks at.
    pub(crate) fn range(&self, start_ms: i64, end_ms: i64) -> TimeRange {
        let mut plain = scan_range(start_ms, end_ms, self.downsample.as_ref());
        if self.is_exact() {
            // OpenTSDB's scan, helped by the tags that it knows then, ends with the next row.
            plain.end_ns = plain.end_ns.saturating_add(3600 * NANOS_PER_SECOND);
        }
        match self.table.as_ref().map(|table| &table.values) {
            Some(Values::Rolled { interval, .. }) => {
                let mut start_s = interval.row_start_s(start_ms.div_euclid(1000));
                if self.rate.is_some() {
                    start_s = interval.row_start_s(start_s.saturating_sub(1));
                }
                let end_s = end_ms.div_euclid(1000).saturating_add(1 + interval.row_s());
                let end_s = interval.row_start_s(end_s);
                let start_ns = start_s.max(0).saturating_mul(NANOS_PER_SECOND);
                let end_ns = end_s.saturating_mul(NANOS_PER_SECOND).saturating_sub(1);
                TimeRange::new(start_ns, end_ns.max(plain.end_ns))
            }
            _ => plain,
        }
    }

    /// Whether series must have the filtered tags and no others. Without filters the switch means
    /// nothing.
    fn is_exact(&self) -> bool {
        self.has_explicit_tags && !self.filters.is_empty()
    }

    /// The stored series that the question is about, and for averages of what was rolled up those
    /// of the counts.
    pub(super) fn selectors(
        &self,
        namespace: NamespaceId,
        resolve: &mut TsuidWhere<'_>,
    ) -> (Selector, Option<Selector>) {
        let Some(table) = &self.table else {
            return (self.selector(namespace, None, resolve), None);
        };
        let Some(namespace) = table.namespace else {
            let nothing = Selector { only: Some(Vec::new()), ..everything(namespace) };
            return (nothing, None);
        };
        let mut of = |field: &str| self.selector(namespace, Some(field), resolve);
        match &table.values {
            Values::Points => (of(DEFAULT_FIELD), None),
            Values::Rolled { field: Field::One(field), .. } => (of(field), None),
            Values::Rolled { field: Field::Average, .. } => (of("sum"), Some(of("count"))),
        }
    }

    /// The series of one field, or those that the metric or the TSUIDs themselves name.
    fn selector(
        &self,
        namespace: NamespaceId,
        field: Option<&str>,
        resolve: &mut TsuidWhere<'_>,
    ) -> Selector {
        match &self.source {
            Source::Metric(metric) => {
                let exact = self.is_exact().then(|| {
                    let mut tags: Vec<String> =
                        self.filters.iter().map(|filter| filter.tag.clone()).collect();
                    tags.sort_unstable();
                    tags.dedup();
                    tags
                });
                let names = match field {
                    Some(field) => vec![Name {
                        measurement: Test::equal(metric.as_str()),
                        field: Test::equal(field),
                    }],
                    None => metric_names(metric),
                };
                Selector {
                    namespace,
                    names,
                    matchers: Filter::matchers(&self.filters),
                    exact_labels: exact,
                    only: None,
                }
            }
            Source::Tsuids(tsuids) => {
                let place = field.map(|field| (namespace, field));
                let mut ids: Vec<u32> =
                    tsuids.iter().flat_map(|tsuid| resolve(tsuid, place)).collect();
                ids.sort_unstable();
                ids.dedup();
                Selector { only: Some(ids), ..everything(namespace) }
            }
        }
    }
}

fn everything(namespace: NamespaceId) -> Selector {
    let names = vec![Name { measurement: Test::Any, field: Test::Any }];
    Selector { namespace, names, matchers: Vec::new(), exact_labels: None, only: None }
}
