//! Verification: asks a server for what was loaded and compares with the generator. Whole loads
//! are checked exactly - counts and sums of every field over all series, the same per series for
//! a sample of sources, and every sample of a few. Of loads that were cut short or refused in
//! part, the counts must lie between what was acknowledged and what was sent.

use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cursor::is_present;
use crate::dialect::{Asker, Dialect};
use crate::load::{Load, Outcome};
use crate::oracle::Oracle;
use crate::question::{Answer, Ask, Function, Question, Sources, compare};
use crate::random::permute;

/// How long data may take to become visible after the last acknowledgement, unless said otherwise.
pub(crate) const VISIBLE_WITHIN: Duration = Duration::from_secs(10);

/// Sources of one question: a request line has to carry all their names.
const SOURCES_PER_QUESTION: usize = 50;

/// Sources whose samples are compared one by one.
const SOURCES_IN_FULL: usize = 5;

/// Steps of these that are compared.
const STEPS_IN_FULL: u64 = 1000;

/// Differences that are described.
const DESCRIBED_MAX: usize = 10;

/// What verification found.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Verdict {
    pub(crate) questions: u64,
    pub(crate) values: u64,
    pub(crate) wrong: u64,
    pub(crate) described: Vec<String>,
    /// Questions that the target's language cannot ask.
    pub(crate) not_asked: u64,
    /// Time until the first question was answered rightly.
    pub(crate) visible_s: f64,
    /// False when only bounds could be checked.
    pub(crate) exact: bool,
}

impl Verdict {
    pub(crate) fn is_right(&self) -> bool {
        self.wrong == 0
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        let how = if self.exact { "exactly" } else { "within bounds" };
        let mut line = format!(
            "{} values in {} answers checked {how}, {} wrong, {} questions not askable",
            self.values, self.questions, self.wrong, self.not_asked
        );
        for what in &self.described {
            line.push_str(&format!("\n    wrong: {what}"));
        }
        line
    }

    fn add(&mut self, checked: Result<u64, String>) {
        self.questions += 1;
        match checked {
            Ok(values) => self.values += values,
            Err(what) => {
                self.wrong += 1;
                if self.described.len() < DESCRIBED_MAX {
                    self.described.push(what);
                }
            }
        }
    }
}

/// Asks `address` for what `load` wrote; `samples` sources are checked one by one.
pub(crate) fn verify(
    load: &Load<'_>,
    outcome: &Outcome,
    address: &str,
    dialect: Dialect,
    samples: u64,
    visible_within: Duration,
) -> Verdict {
    if is_whole(load, outcome) {
        return verify_whole(&load.oracle(), address, dialect, samples, visible_within);
    }
    let mut verdict = Verdict::default();
    check_bounds(load, outcome, dialect, &mut Asker::new(dialect, address), &mut verdict);
    verdict
}

/// Asks `address` for everything that the oracle knows.
pub(crate) fn verify_whole(
    oracle: &Oracle<'_>,
    address: &str,
    dialect: Dialect,
    samples: u64,
    visible_within: Duration,
) -> Verdict {
    let fleet = oracle.fleet;
    let mut asker = Asker::new(dialect, address);
    let mut patience = visible_within;
    let mut verdict = Verdict { exact: true, ..Verdict::default() };
    let count = fleet.shape.sources;
    let picked = (0..samples.min(count)).map(|at| permute(at, count, fleet.shape.seed));
    let mut picked: Vec<u64> = picked.collect();
    picked.sort_unstable();
    for table in 0..fleet.tables.len() {
        for function in [Function::Count, Function::Sum] {
            let question = aggregate(oracle, table, Sources::All, function, false);
            check(oracle, dialect, &mut asker, &question, &mut verdict, &mut patience);
            for some in picked.chunks(SOURCES_PER_QUESTION) {
                let sources = Sources::These(some.to_vec());
                let question = aggregate(oracle, table, sources, function, true);
                check(oracle, dialect, &mut asker, &question, &mut verdict, &mut patience);
            }
        }
        for source in picked.iter().take(SOURCES_IN_FULL) {
            let source = Sources::These(vec![*source]);
            let mut question = aggregate(oracle, table, source, Function::Count, true);
            let steps = STEPS_IN_FULL as i64 * fleet.shape.interval_ms;
            question.from_ms = question.from_ms.max(question.to_ms - steps);
            question.ask = Ask::Samples { descending: false, above: None };
            check(oracle, dialect, &mut asker, &question, &mut verdict, &mut patience);
        }
    }
    verdict
}

/// Whether every row of every connection was acknowledged.
pub(crate) fn is_whole(load: &Load<'_>, outcome: &Outcome) -> bool {
    let wants = |sent: &crate::load::Sent| sent.finished && sent.errors.is_empty();
    outcome.connections.len() as u64 == load.connections && outcome.connections.iter().all(wants)
}

fn aggregate(
    oracle: &Oracle<'_>,
    table: usize,
    sources: Sources,
    function: Function,
    per_series: bool,
) -> Question {
    let fields = oracle.fleet.tables.get(table).map_or(0, |table| table.fields.len());
    Question {
        table,
        fields: (0..fields).collect(),
        sources,
        from_ms: oracle.fleet.time_ms(oracle.first_step),
        to_ms: oracle.fleet.time_ms(oracle.end_step),
        ask: Ask::Aggregate { function, per_series, bucket_ms: None },
    }
}

/// Asks one question; repeats it while it is answered wrongly and `patience` lasts, because data
/// may still be on their way.
fn check(
    oracle: &Oracle<'_>,
    dialect: Dialect,
    asker: &mut Asker,
    question: &Question,
    verdict: &mut Verdict,
    patience: &mut Duration,
) {
    const PAUSE: Duration = Duration::from_millis(100);
    let Some(requests) = dialect.requests(oracle.fleet, question) else {
        verdict.not_asked += 1;
        return;
    };
    let expected = oracle.answer(question);
    let begin = Instant::now();
    let checked = loop {
        let asked = Instant::now();
        let answer = dialect.ask(oracle.fleet, asker, question, &requests);
        let checked = answer.and_then(|answer| compare(&expected, &answer, &question.ask));
        if checked.is_ok() || patience.is_zero() {
            break checked;
        }
        thread::sleep(PAUSE);
        // A server that does not answer at all must not be asked for ever.
        *patience = patience.saturating_sub(asked.elapsed());
    };
    if verdict.questions == 0 {
        verdict.visible_s = begin.elapsed().as_secs_f64();
    }
    verdict.add(checked.map(|()| expected.len() as u64));
}

/// Counts per field must lie between what was acknowledged and what was sent.
fn check_bounds(
    load: &Load<'_>,
    outcome: &Outcome,
    dialect: Dialect,
    asker: &mut Asker,
    verdict: &mut Verdict,
) {
    for table in 0..load.fleet.tables.len() {
        let (bounds, end_step) = bounds(load, outcome, table);
        let oracle = Oracle { end_step, ..load.oracle() };
        let question = aggregate(&oracle, table, Sources::All, Function::Count, false);
        let Some(requests) = dialect.requests(load.fleet, &question) else {
            verdict.not_asked += 1;
            continue;
        };
        thread::sleep(Duration::from_secs(1));
        let checked = dialect.ask(load.fleet, asker, &question, &requests).and_then(|answer| {
            bounds.iter().enumerate().try_for_each(|(field, bound)| within(&answer, field, *bound))
        });
        verdict.add(checked.map(|()| bounds.len() as u64));
    }
}

fn within(answer: &Answer, field: usize, (acked, sent): (u64, u64)) -> Result<(), String> {
    let rows = answer.rows.get(&(String::new(), field));
    let count = rows.and_then(|rows| rows.first()).map_or(0.0, |row| row.1) as u64;
    match (acked..=sent).contains(&count) {
        true => Ok(()),
        false => Err(format!("field {field}: {count} samples, not {acked} to {sent}")),
    }
}

/// Per field of `table`: samples that were acknowledged, and that were sent. Beside them the step
/// after the last that was sent.
fn bounds(load: &Load<'_>, outcome: &Outcome, table: usize) -> (Vec<(u64, u64)>, u64) {
    let fields = load.fleet.tables.get(table).map_or(0, |table| table.fields.len());
    let mut bounds = vec![(0, 0); fields];
    let mut end_step = load.steps.start;
    for (at, sent) in outcome.connections.iter().enumerate() {
        let mut feed = load.feed(at as u64);
        feed.truncate(sent.requests);
        for request in 0..sent.requests {
            let failed = sent.failed.binary_search(&request).is_ok();
            feed.request(|row| {
                end_step = end_step.max(row.step + 1);
                if row.table != table || row.again {
                    return;
                }
                let cells = bounds.iter_mut().skip(row.first_field).zip(row.values);
                for (bound, _) in cells.filter(|(_, value)| is_present(**value)) {
                    bound.0 += u64::from(!failed);
                    bound.1 += 1;
                }
            });
        }
    }
    (bounds, end_step)
}
