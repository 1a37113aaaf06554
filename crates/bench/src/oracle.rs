//! The oracle: answers questions from the generator, for a load that was delivered whole. It
//! walks each source from step 0, keeps nothing between questions and knows no server.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cursor::is_present;
use crate::disorder::Disorder;
use crate::fleet::{Fleet, Label};
use crate::question::{Answer, Ask, Function, Key, Question, Sources};

mod trucks;

/// What was loaded.
#[derive(Clone, Copy)]
pub(crate) struct Oracle<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) disorder: Disorder,
    /// The sources that questions may be about.
    pub(crate) first_source: u64,
    pub(crate) end_source: u64,
    pub(crate) first_step: u64,
    pub(crate) end_step: u64,
}

/// What becomes of samples: see [`Ask::Aggregate`].
#[derive(Clone, Copy)]
struct Aggregate {
    function: Function,
    per_series: bool,
    bucket_ms: Option<i64>,
}

/// Sums of one bucket, in units of the field's kind.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    count: u64,
    sum: i128,
    min: i64,
    max: i64,
}

/// Names of series as numbers.
#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, usize>,
    names: Vec<String>,
}

impl Names {
    /// All series together; single names count from 1.
    const ALL: usize = 0;

    fn intern(&mut self, name: String) -> usize {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        self.names.push(name.clone());
        self.numbers.insert(name, self.names.len());
        self.names.len()
    }

    fn name(&self, number: usize) -> String {
        let at = number.checked_sub(1);
        at.and_then(|at| self.names.get(at)).cloned().unwrap_or_default()
    }
}

impl Oracle<'_> {
    /// The right answer.
    pub(crate) fn answer(&self, question: &Question) -> Answer {
        let sources: Vec<u64> = match &question.sources {
            Sources::These(sources) => sources.clone(),
            Sources::All => (self.first_source..self.end_source).collect(),
            Sources::Labelled(key, value) => {
                let all = self.first_source..self.end_source;
                all.filter(|source| self.is_labelled(question.table, *source, key, value)).collect()
            }
        };
        match question.ask {
            Ask::Samples { descending, above } => {
                let mut answer = Answer::default();
                self.visit(question, &sources, |key, _, time_ms, value, unit| {
                    if above.is_none_or(|above| value > above * unit) {
                        answer.push(key(), time_ms, value as f64 / unit as f64);
                    }
                });
                if descending {
                    answer.rows.values_mut().for_each(|rows| rows.reverse());
                }
                answer
            }
            Ask::Aggregate { function, per_series, bucket_ms } => {
                let aggregate = Aggregate { function, per_series, bucket_ms };
                self.aggregate(question, &sources, aggregate, None)
            }
            Ask::AggregateAbove { function, above } => {
                let aggregate = Aggregate { function, per_series: true, bucket_ms: None };
                self.aggregate(question, &sources, aggregate, Some(above))
            }
            Ask::Trucks(trucks) => trucks::answer(self, question, &sources, trucks),
            Ask::Last => {
                let mut answer = Answer::default();
                self.visit(question, &sources, |key, _, time_ms, value, unit| {
                    answer.rows.insert(key(), vec![(time_ms, value as f64 / unit as f64)]);
                });
                answer
            }
            Ask::Newest { function, bucket_ms, count } => {
                let bucket_ms = Some(bucket_ms);
                let aggregate = Aggregate { function, per_series: false, bucket_ms };
                let mut answer = self.aggregate(question, &sources, aggregate, None);
                answer.rows.values_mut().for_each(|rows| {
                    rows.reverse();
                    rows.truncate(count);
                });
                answer
            }
        }
    }

    fn aggregate(
        &self,
        question: &Question,
        sources: &[u64],
        aggregate: Aggregate,
        above: Option<i64>,
    ) -> Answer {
        let Aggregate { function, per_series, bucket_ms } = aggregate;
        // Keyed by numbers, because this runs over every value of a load: names are interned.
        let mut names = Names::default();
        let mut buckets: BTreeMap<(usize, usize, i64), Bucket> = BTreeMap::new();
        let mut units: BTreeMap<usize, i64> = BTreeMap::new();
        self.visit(question, sources, |key, field, time_ms, value, unit| {
            if above.is_some_and(|above| value <= above * unit) {
                return;
            }
            let begin = bucket_ms.map_or(0, |length| time_ms - time_ms.rem_euclid(length));
            let name = if per_series { names.intern(key().0) } else { Names::ALL };
            buckets.entry((name, field, begin)).or_insert(Bucket::EMPTY).add(value);
            units.insert(field, unit);
        });
        let mut answer = Answer::default();
        for ((name, field, begin), bucket) in buckets {
            let unit = units.get(&field).copied().unwrap_or(1) as f64;
            answer.push((names.name(name), field), begin, bucket.value(function, unit));
        }
        answer
    }

    /// Whether a source carries a label with this value; only for labels that stay.
    fn is_labelled(&self, table: usize, source: u64, key: &str, value: &str) -> bool {
        let mut labels = Vec::new();
        self.fleet.labels(source, 0, table, &mut labels);
        source_name(&labels, key) == value
    }

    /// Shows (key, field, time, value, unit) of every sample that the question is about, source by
    /// source in the order of time. The key is made only when asked for.
    fn visit(
        &self,
        question: &Question,
        sources: &[u64],
        mut show: impl FnMut(&dyn Fn() -> Key, usize, i64, i64, i64),
    ) {
        let Some(table) = self.fleet.tables.get(question.table) else { return };
        self.visit_rows(question, sources, |labels, time_ms, values| {
            for field in question.fields.iter().copied() {
                let Some(description) = table.fields.get(field) else { continue };
                let Some(value) = values.get(field).filter(|value| is_present(**value)) else {
                    continue;
                };
                let key = || (source_name(labels, table.source_label), field);
                show(&key, field, time_ms, *value, description.kind.unit());
            }
        });
    }

    /// Shows (labels, time, values of all fields) of every row that the question is about, source
    /// by source in the order of time; some values may be absent.
    fn visit_rows(
        &self,
        question: &Question,
        sources: &[u64],
        mut show: impl FnMut(&[Label], i64, &[i64]),
    ) {
        let Some(table) = self.fleet.tables.get(question.table) else { return };
        let steps = self.steps(question);
        let own = table.state_at..table.state_at + table.fields.len();
        let mut states = vec![0.0; self.fleet.states];
        let mut values = Vec::new();
        let mut labels = Vec::new();
        let seed = self.fleet.shape.seed;
        for source in sources.iter().copied() {
            self.fleet.begin(source, &mut states);
            for step in 0..steps.end {
                let Some(states) = states.get_mut(own.clone()) else { return };
                self.fleet.values(source, step, question.table, states, &mut values);
                let row = source << 8 | question.table as u64;
                let exists = steps.contains(&step)
                    && self.fleet.reports(source, step)
                    && !self.disorder.is_gap(seed, row, step)
                    && self.disorder.keep_fields(seed, row, step, &mut values);
                if exists {
                    self.fleet.labels(source, step, question.table, &mut labels);
                    show(&labels, self.fleet.time_ms(step), &values);
                }
            }
        }
    }

    /// The loaded steps whose times lie in the window; all of them for a question without one.
    fn steps(&self, question: &Question) -> Range<u64> {
        if question.ask.is_last() {
            return self.first_step..self.end_step;
        }
        let shape = &self.fleet.shape;
        let step = |time_ms: i64| {
            let after = (time_ms - shape.start_ms + shape.interval_ms - 1) / shape.interval_ms;
            (after.max(0) as u64).clamp(self.first_step, self.end_step)
        };
        step(question.from_ms)..step(question.to_ms)
    }
}

/// The value of the label that tells sources apart.
pub(crate) fn source_name(labels: &[Label], source_label: &str) -> String {
    let label = labels.iter().find(|label| label.key == source_label);
    label.map_or(String::new(), |label| label.value.to_string())
}

impl Bucket {
    const EMPTY: Bucket = Bucket { count: 0, sum: 0, min: i64::MAX, max: i64::MIN };

    fn add(&mut self, value: i64) {
        self.count += 1;
        self.sum += i128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn value(&self, function: Function, unit: f64) -> f64 {
        match function {
            Function::Count => self.count as f64,
            Function::Sum => self.sum as f64 / unit,
            Function::Min => self.min as f64 / unit,
            Function::Max => self.max as f64 / unit,
            Function::Mean => self.sum as f64 / unit / self.count as f64,
        }
    }
}
