//! The ledger: what a load has written, series by series, by giving its feeds once more. The oracle
//! knows loads that were delivered whole; the ledger also knows those that a clock stopped, where
//! every connection came to a step of its own. It wants every request acknowledged and series that
//! keep their names.

use std::collections::{BTreeMap, BTreeSet};

use crate::cursor::{Row, is_present};
use crate::load::{Load, Outcome};
use crate::oracle::source_name;
use crate::question::{Answer, Ask, Function, Question, Sources};

/// Series that a ledger is kept for; one takes 32 bytes.
const SERIES_MAX: u64 = 5_000_000;

/// What was written.
pub(crate) struct Ledger<'a> {
    load: &'a Load<'a>,
    /// Per table: source by source, all fields of each.
    tables: Vec<Vec<Tally>>,
    /// Samples of the sources that are compared one by one, per table, source and field.
    samples: BTreeMap<(usize, u64, usize), BTreeMap<i64, i64>>,
    /// The step after the last that was sent.
    pub(crate) end_step: u64,
}

/// What one series holds, its sum in units of the field's kind.
#[derive(Clone, Copy, Default)]
struct Tally {
    count: u64,
    sum: i128,
}

impl<'a> Ledger<'a> {
    /// The ledger of a load, with the newest `steps_kept` samples of the sources `in_full`; none
    /// where a request failed, series change their names, or there are too many of them.
    pub(crate) fn of(
        load: &'a Load<'a>,
        outcome: &Outcome,
        in_full: &BTreeSet<u64>,
        steps_kept: u64,
    ) -> Option<Ledger<'a>> {
        let fleet = load.fleet;
        let all_acknowledged = outcome.connections.len() as u64 == load.connections
            && outcome.connections.iter().all(|sent| sent.errors.is_empty());
        if !all_acknowledged || !fleet.has_fixed_labels() || fleet.series() > SERIES_MAX {
            return None;
        }
        let series = |fields: usize| fleet.shape.sources as usize * fields;
        let tables = fleet.tables.iter();
        let tables = tables.map(|table| vec![Tally::default(); series(table.fields.len())]);
        let mut ledger = Ledger {
            load,
            tables: tables.collect(),
            samples: BTreeMap::new(),
            end_step: load.steps.start,
        };
        // Late rows come after newer ones, so more than what is told is kept until the end.
        let kept = steps_kept + load.disorder.late_steps_max;
        for (at, sent) in outcome.connections.iter().enumerate() {
            let mut feed = load.feed(at as u64);
            feed.truncate(sent.requests);
            while feed.request(|row| ledger.enter(row, in_full, kept)) {}
        }
        Some(ledger)
    }

    fn enter(&mut self, row: &Row<'_>, in_full: &BTreeSet<u64>, kept: u64) {
        self.end_step = self.end_step.max(row.step + 1);
        let Some(table) = self.load.fleet.tables.get(row.table) else { return };
        if row.again {
            return;
        }
        let first = row.source as usize * table.fields.len() + row.first_field;
        let Some(tallies) = self.tables.get_mut(row.table) else { return };
        let is_in_full = in_full.contains(&row.source);
        let cells = tallies.iter_mut().skip(first).zip(row.values).enumerate();
        for (lane, (tally, value)) in cells.filter(|(_, (_, value))| is_present(**value)) {
            tally.count += 1;
            tally.sum += i128::from(*value);
            if is_in_full {
                let series = (row.table, row.source, row.first_field + lane);
                let samples = self.samples.entry(series).or_default();
                samples.insert(self.load.fleet.time_ms(row.step), *value);
                if samples.len() as u64 > kept {
                    samples.pop_first();
                }
            }
        }
    }

    /// The right answer to a question for counts, sums or samples over all times.
    pub(crate) fn answer(&self, question: &Question) -> Answer {
        let mut answer = Answer::default();
        let fleet = self.load.fleet;
        let Some(table) = fleet.tables.get(question.table) else { return answer };
        let sources: Vec<u64> = match &question.sources {
            Sources::These(sources) => sources.clone(),
            _ => (0..fleet.shape.sources).collect(),
        };
        let mut labels = Vec::new();
        let mut totals: BTreeMap<usize, Tally> = BTreeMap::new();
        for source in sources {
            fleet.labels(source, 0, question.table, &mut labels);
            let name = source_name(&labels, table.source_label);
            for field in &question.fields {
                let unit = table.fields.get(*field).map_or(1, |field| field.kind.unit()) as f64;
                let key = (name.clone(), *field);
                match question.ask {
                    Ask::Aggregate { function, per_series: true, .. } => {
                        let tally = self.tally(question.table, source, *field);
                        if tally.count > 0 {
                            answer.push(key, 0, tally.value(function, unit));
                        }
                    }
                    Ask::Aggregate { .. } => {
                        let tally = self.tally(question.table, source, *field);
                        let total = totals.entry(*field).or_default();
                        total.count += tally.count;
                        total.sum += tally.sum;
                    }
                    _ => {
                        let samples = self.samples.get(&(question.table, source, *field));
                        let told = samples
                            .into_iter()
                            .flatten()
                            .filter(|(time, _)| (question.from_ms..question.to_ms).contains(*time));
                        told.for_each(|(t, v)| answer.push(key.clone(), *t, *v as f64 / unit));
                    }
                }
            }
        }
        if let Ask::Aggregate { function, .. } = question.ask {
            for (field, total) in totals.into_iter().filter(|(_, total)| total.count > 0) {
                let unit = table.fields.get(field).map_or(1, |field| field.kind.unit()) as f64;
                answer.push((String::new(), field), 0, total.value(function, unit));
            }
        }
        answer
    }

    /// The step after the newest sample that is known of a source.
    pub(crate) fn end_step_of(&self, table: usize, source: u64) -> u64 {
        let fields = (table, source, 0)..=(table, source, usize::MAX);
        let newest = self.samples.range(fields).filter_map(|(_, samples)| samples.keys().last());
        let shape = &self.load.fleet.shape;
        let step = |time_ms: &i64| ((time_ms - shape.start_ms) / shape.interval_ms) as u64 + 1;
        newest.max().map_or(self.load.steps.start, step)
    }

    fn tally(&self, table: usize, source: u64, field: usize) -> Tally {
        let fields = self.load.fleet.tables.get(table).map_or(0, |table| table.fields.len());
        let at = source as usize * fields + field;
        self.tables.get(table).and_then(|table| table.get(at)).copied().unwrap_or_default()
    }
}

impl Tally {
    fn value(self, function: Function, unit: f64) -> f64 {
        match function {
            Function::Count => self.count as f64,
            _ => self.sum as f64 / unit,
        }
    }
}
