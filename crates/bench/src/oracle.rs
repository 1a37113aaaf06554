//! The oracle: answers questions from the generator, for a load that was delivered whole. It
//! walks each source from step 0, keeps nothing between questions and knows no server.

use std::collections::BTreeMap;

use crate::question::{Answer, Ask, Function, Question, Sources};

mod trucks;
mod walk;

use walk::Bucket;
pub(crate) use walk::{Oracle, source_name};

/// What becomes of samples: see [`Ask::Aggregate`].
#[derive(Clone, Copy)]
struct Aggregate {
    function: Function,
    per_series: bool,
    bucket_ms: Option<i64>,
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
}
