//! Answers to questions about histograms: stored points come in as they are, and are merged,
//! downsampled and turned into percentiles or buckets here, because only this door knows what their
//! bytes mean.

use crate::budget::Budget;
use crate::histogram::Histogram;
use crate::http::HttpError;
use crate::lang::{Question, Request, Tsuid};
use foliot_model::{Frame, NANOS_PER_MILLI, Samples, SeriesHead, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a group weighs beside its points, by estimate: its key and some labels.
const GROUP_BYTES: u64 = 1 << 10;

/// What a point weighs beside its buckets.
const POINT_BYTES: u64 = 96;

/// The histograms of a question, group by group.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) question: usize,
    /// What the histograms are called.
    metric: String,
    groups: Vec<Group>,
    /// Where a group is, by its key.
    places: BTreeMap<Vec<String>, usize>,
}

#[derive(Debug, Default)]
struct Group {
    /// The numbers by which groups are ordered: of the names and values of the only series, or of
    /// the values that group.
    order: Vec<u32>,
    /// Values by tag.
    tags: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    members: Vec<u32>,
    /// By time in nanoseconds.
    points: BTreeMap<i64, Histogram>,
}

/// A series of the answer.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) frame: Frame,
}

impl Gathered {
    pub(super) fn new(question: usize, metric: String) -> Self {
        Self { question, metric, groups: Vec::new(), places: BTreeMap::new() }
    }

    /// Takes points of one stored series.
    ///
    /// # Errors
    /// What the budget refuses.
    pub(super) fn push(
        &mut self,
        frame: &Frame,
        question: &Question,
        tsuid: Option<&Tsuid>,
        budget: &Budget<'_>,
    ) -> Result<(), HttpError> {
        let label = |name: &str| frame.head.labels.iter().find(|label| &*label.name == name);
        // Values of the tags that group; the number of the series where every series is its own.
        let key: Vec<String> = match question.aggregator.fold {
            None => vec![format!("{:?}", frame.head.members)],
            Some(_) => {
                let keys = question.filters.iter().filter(|filter| filter.groups);
                keys.map(|f| label(&f.tag).map_or(String::new(), |l| l.value.to_string())).collect()
            }
        };
        let at = match self.places.get(&key) {
            Some(at) => *at,
            None => {
                budget.take(GROUP_BYTES)?;
                let order = tsuid.map_or(Vec::new(), |tsuid| order(question, tsuid));
                self.groups.push(Group { order, ..Group::default() });
                self.places.insert(key, self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let Some(group) = self.groups.get_mut(at) else { return Ok(()) };
        budget.take_for::<u32>(frame.head.members.len())?;
        for label in &frame.head.labels {
            let values = group.tags.entry(Arc::clone(&label.name)).or_default();
            values.insert(Arc::clone(&label.value));
        }
        group.members.extend(&frame.head.members);
        let width_ms = question.downsample.as_ref().map_or(0, |spec| spec.interval_ms());
        let width_ns = width_ms.saturating_mul(NANOS_PER_MILLI);
        for (time_ns, value) in frame.samples.iter() {
            let Value::Histogram(bytes) = value else { continue };
            let Some(histogram) = Histogram::from_bytes(bytes) else { continue };
            let time_ns =
                if width_ns > 0 { time_ns - time_ns.rem_euclid(width_ns) } else { time_ns };
            let before = group.points.len();
            let point = group.points.entry(time_ns).or_default();
            budget.take(point.add(&histogram) as u64)?;
            if group.points.len() > before {
                budget.take(POINT_BYTES)?;
            }
            budget.steps(histogram.len())?;
        }
        Ok(())
    }

    /// The series of the answer, group by group: percentiles, then buckets.
    ///
    /// # Errors
    /// What the budget refuses.
    pub(super) fn series(
        mut self,
        request: &Request,
        question: &Question,
        budget: &Budget<'_>,
    ) -> Result<Vec<Series>, HttpError> {
        let mut all = Vec::new();
        let metric = &self.metric;
        self.groups.sort_by(|a, b| a.order.cmp(&b.order));
        for group in self.groups.into_iter().filter(|group| !group.points.is_empty()) {
            let (start_ms, end_ms) = (request.start_ms, request.end_ms);
            let is_inside =
                |time_ns: i64| (start_ms..=end_ms).contains(&time_ns.div_euclid(NANOS_PER_MILLI));
            let inside: Vec<(i64, &Histogram)> = group
                .points
                .iter()
                .map(|(time_ns, histogram)| (*time_ns, histogram))
                .filter(|(time_ns, _)| is_inside(*time_ns))
                .collect();
            let head = Arc::new(group.head(self.question));
            let mut push = |name: String, samples: Samples| {
                // Every series has a head of its own, so that the writer tells them apart.
                let head = Arc::new(SeriesHead::clone(&head));
                all.push(Series { name, frame: Frame { head, samples, is_last: true } });
            };
            for &percent in &question.percentiles {
                let mut samples = Samples::default();
                budget.take_for::<[u64; 2]>(inside.len())?;
                for (time_ns, histogram) in &inside {
                    budget.steps(histogram.len())?;
                    let value = histogram.percentile(f64::from(percent));
                    samples.push(*time_ns, Value::Float(value));
                }
                push(format!("{metric}_pct_{percent:?}"), samples);
            }
            if question.shows_buckets {
                let mut buckets: BTreeMap<usize, (String, Samples)> = BTreeMap::new();
                let mut order: BTreeMap<String, usize> = BTreeMap::new();
                for (time_ns, histogram) in &inside {
                    budget.take_for::<[u64; 2]>(histogram.len())?;
                    for (name, count) in histogram.counts() {
                        budget.step()?;
                        let next = order.len();
                        let place = *order.entry(name.clone()).or_insert(next);
                        let entry = buckets.entry(place);
                        let (_, samples) = entry.or_insert_with(|| (name, Samples::default()));
                        samples.push(*time_ns, Value::Integer(count as i64));
                    }
                }
                for (name, samples) in buckets.into_values() {
                    push(format!("{metric}_{name}"), samples);
                }
            }
        }
        Ok(all)
    }
}

/// What a series' group is ordered by.
fn order(question: &Question, tsuid: &Tsuid) -> Vec<u32> {
    let grouping = question.filters.iter().filter(|filter| filter.groups);
    let names: BTreeSet<u32> = grouping.filter_map(|filter| filter.tag_uid).collect();
    match question.aggregator.fold {
        None => tsuid.tags.iter().flat_map(|&(name, value)| [name, value]).collect(),
        Some(_) => {
            let value_of = |name: &u32| tsuid.tags.iter().find(|(known, _)| known == name);
            names.iter().filter_map(value_of).map(|(_, value)| *value).collect()
        }
    }
}

impl Group {
    fn head(&self, question: usize) -> SeriesHead {
        let common = self.tags.iter().filter(|(_, values)| values.len() == 1);
        let label = |(name, values): (&Arc<str>, &BTreeSet<Arc<str>>)| {
            let value = values.first()?;
            Some((Arc::clone(name), Arc::clone(value)))
        };
        let varying = self.tags.iter().filter(|(_, values)| values.len() > 1);
        SeriesHead {
            question,
            labels: common.filter_map(label).collect(),
            varying: varying.map(|(name, _)| Arc::clone(name)).collect(),
            members: self.members.clone(),
            ..SeriesHead::default()
        }
    }
}
