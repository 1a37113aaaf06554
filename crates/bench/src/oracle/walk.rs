//! Walks over what was loaded: every source from step 0, rows in the order of time.

use std::ops::Range;

use crate::cursor::is_present;
use crate::disorder::Disorder;
use crate::fleet::Fleet;
use crate::profile::Label;
use crate::question::{Function, Key, Question};
use crate::random::permute;

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

/// Sums of one bucket, in units of the field's kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    pub(super) count: u64,
    pub(super) sum: i128,
    min: i64,
    max: i64,
}

impl Oracle<'_> {
    /// `count` different sources among those that it knows, by a random key.
    pub(crate) fn some(&self, count: u64, key: u64) -> Vec<u64> {
        let known = self.end_source - self.first_source;
        let pick = |at| self.first_source + permute(at, known, key);
        let mut some: Vec<u64> = (0..count.min(known)).map(pick).collect();
        some.sort_unstable();
        some
    }

    /// Whether a source carries a label with this value; only for labels that stay.
    pub(super) fn is_labelled(&self, table: usize, source: u64, key: &str, value: &str) -> bool {
        let mut labels = Vec::new();
        self.fleet.labels(source, 0, table, &mut labels);
        source_name(&labels, key) == value
    }

    /// Shows (key, field, time, value, unit) of every sample that the question is about, source by
    /// source in the order of time. The key is made only when asked for.
    pub(super) fn visit(
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
    pub(super) fn visit_rows(
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
    pub(super) const EMPTY: Bucket = Bucket { count: 0, sum: 0, min: i64::MAX, max: i64::MIN };

    pub(super) fn add(&mut self, value: i64) {
        self.count += 1;
        self.sum += i128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    pub(super) fn value(&self, function: Function, unit: f64) -> f64 {
        match function {
            Function::Count => self.count as f64,
            Function::Sum => self.sum as f64 / unit,
            Function::Min => self.min as f64 / unit,
            Function::Max => self.max as f64 / unit,
            Function::Mean => self.sum as f64 / unit / self.count as f64,
        }
    }
}
