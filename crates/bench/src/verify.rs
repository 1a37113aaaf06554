//! Verification: asks a server for what was loaded and compares with the generator: counts and sums
//! of every field over all series, the same per series, and the newest samples of a few sources.
//! Each question is asked once; what comes back wrong is wrong. Where requests failed, the counts
//! must lie between what was acknowledged and what was sent.

use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::adapter::Can;
use crate::cursor::is_present;
use crate::dialect::{self, Asker, Language};
use crate::fleet::Fleet;
use crate::http;
use crate::ledger::Ledger;
use crate::load::{Load, Outcome};
use crate::oracle::Oracle;
use crate::question::{Answer, Ask, Function, Question, Sources};
use crate::random::permute;

/// How long data may take to become visible after the last acknowledgement, unless said otherwise.
pub(crate) const VISIBLE_WITHIN: Duration = Duration::from_secs(10);

/// Sources of one question.
const SOURCES_PER_QUESTION: usize = 50;

/// Names of one question: a request line has to carry them all, up to forty bytes each in some
/// languages, and servers take lines of some tens of kilobytes. A source whose containers are
/// replaced had many.
const NAMES_PER_QUESTION: usize = 500;

/// Series up to which each one's count and sum are compared; of more, those of a sample of sources.
const SERIES_EACH_MAX: u64 = 100_000;

/// Sources whose samples are compared one by one.
const SOURCES_IN_FULL: usize = 20;

/// Steps of these that are compared.
const STEPS_IN_FULL: u64 = 1000;

/// 2200-01-01: no load reaches so far.
const TIME_MS_MAX: i64 = 7_258_118_400_000;

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
    /// Time until everything could be seen, at servers that show it a moment later.
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
    language: &'static Language,
    samples: u64,
    visible_within: Duration,
) -> Verdict {
    let patience = if load.target.can(Can::ShowAtOnce) { Duration::ZERO } else { visible_within };
    let sample = Sample::of(load.fleet, samples);
    if let Some(ledger) = Ledger::of(load, outcome, &sample.in_full, STEPS_IN_FULL) {
        let oracle = Oracle { end_step: ledger.end_step, ..load.oracle() };
        return verify_truth(&oracle, Some(&ledger), &sample, address, language, patience);
    }
    if is_whole(load, outcome) {
        return verify_truth(&load.oracle(), None, &sample, address, language, patience);
    }
    let mut verdict = Verdict::default();
    check_bounds(load, outcome, language, &mut Asker::new(language, address), &mut verdict);
    verdict
}

/// Asks `address` for everything that the oracle knows. `patience` is for servers that show what
/// they acknowledged a moment later.
pub(crate) fn verify_whole(
    oracle: &Oracle<'_>,
    address: &str,
    language: &'static Language,
    samples: u64,
    patience: Duration,
) -> Verdict {
    let sample = Sample::of(oracle.fleet, samples);
    verify_truth(oracle, None, &sample, address, language, patience)
}

/// Sources that are asked about by name.
struct Sample {
    /// Those whose counts and sums are compared.
    counted: Vec<u64>,
    /// Those whose samples are.
    in_full: BTreeSet<u64>,
}

impl Sample {
    fn of(fleet: &Fleet, samples: u64) -> Sample {
        let count = fleet.shape.sources;
        let each = fleet.series() <= SERIES_EACH_MAX;
        let asked = if each { count } else { samples.min(count) };
        let mut counted: Vec<u64> =
            (0..asked).map(|at| permute(at, count, fleet.shape.seed)).collect();
        let in_full = counted.iter().take(SOURCES_IN_FULL.min(samples as usize)).copied().collect();
        counted.sort_unstable();
        Sample { counted, in_full }
    }
}

/// A server that is held against what it must answer.
struct Examiner<'a> {
    oracle: &'a Oracle<'a>,
    /// Knows better than the oracle where the load was stopped by its clock.
    ledger: Option<&'a Ledger<'a>>,
    language: &'static Language,
    asker: Asker,
    verdict: Verdict,
}

fn verify_truth(
    oracle: &Oracle<'_>,
    ledger: Option<&Ledger<'_>>,
    sample: &Sample,
    address: &str,
    language: &'static Language,
    patience: Duration,
) -> Verdict {
    let fleet = oracle.fleet;
    let verdict = Verdict { exact: true, ..Verdict::default() };
    let asker = Asker::new(language, address);
    let mut examiner = Examiner { oracle, ledger, language, asker, verdict };
    examiner.wait_until_visible(sample, patience);
    for table in 0..fleet.tables.len() {
        for function in [Function::Count, Function::Sum] {
            examiner.check(&aggregate(oracle, table, Sources::All, function, false));
            for some in sample.counted.chunks(SOURCES_PER_QUESTION) {
                let sources = Sources::These(some.to_vec());
                let question = aggregate(oracle, table, sources, function, true);
                for piece in in_pieces(fleet, question) {
                    examiner.check(&piece);
                }
            }
        }
        for source in &sample.in_full {
            examiner.check(&examiner.newest(table, *source));
        }
    }
    examiner.verdict
}

impl Examiner<'_> {
    fn right_answer(&self, question: &Question) -> Answer {
        match self.ledger {
            Some(ledger) => ledger.answer(question),
            None => self.oracle.answer(question),
        }
    }

    /// The newest samples of a source.
    fn newest(&self, table: usize, source: u64) -> Question {
        let Examiner { oracle, ledger, .. } = self;
        let end_step = ledger.map_or(oracle.end_step, |known| known.end_step_of(table, source));
        let source = Sources::These(vec![source]);
        let mut question = aggregate(oracle, table, source, Function::Count, true);
        question.to_ms = oracle.fleet.time_ms(end_step);
        let steps = STEPS_IN_FULL as i64 * oracle.fleet.shape.interval_ms;
        question.from_ms = question.from_ms.max(question.to_ms - steps);
        question.ask = Ask::Samples { descending: false, above: None };
        question
    }

    /// Asks one question, once.
    fn check(&mut self, question: &Question) {
        let fleet = self.oracle.fleet;
        let Some(requests) = self.language.requests(fleet, question) else {
            self.verdict.not_asked += 1;
            return;
        };
        let expected = self.right_answer(question);
        let answer = self.language.ask(fleet, &mut self.asker, question, &requests);
        let checked = answer.and_then(|answer| self.language.judge(&expected, &answer, question));
        self.verdict.add(checked.map(|()| expected.len() as u64));
    }

    /// Waits until the server shows as many samples as were acknowledged, and the newest of those
    /// sources that are compared in full, `patience` at the longest: VictoriaMetrics finds samples
    /// by their days a moment later than it counts them. What it answers here only ends the wait:
    /// everything is asked again and judged.
    fn wait_until_visible(&mut self, sample: &Sample, patience: Duration) {
        let begin = Instant::now();
        if patience.is_zero() {
            return;
        }
        let all = aggregate(self.oracle, 0, Sources::All, Function::Count, false);
        let newest = sample.in_full.iter().map(|source| self.newest(0, *source));
        let questions: Vec<Question> = [all].into_iter().chain(newest).collect();
        for question in questions {
            self.wait_for(&question, begin + patience);
        }
        self.verdict.visible_s = begin.elapsed().as_secs_f64();
    }

    /// Asks a question until it is answered rightly, or until `end`.
    fn wait_for(&mut self, question: &Question, end: Instant) {
        const PAUSE: Duration = Duration::from_millis(100);
        let fleet = self.oracle.fleet;
        let Some(requests) = self.language.requests(fleet, question) else { return };
        let expected = self.right_answer(question);
        while Instant::now() < end {
            let answer = self.language.ask(fleet, &mut self.asker, question, &requests);
            if answer.is_ok_and(|answer| self.language.judge(&expected, &answer, question).is_ok())
            {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// How many values the server holds at the times that `load` is about to write: what an earlier run
/// left behind would be taken for an answer of this one. Fails where no server answers.
pub(crate) fn leftovers(
    load: &Load<'_>,
    address: &str,
    language: &'static Language,
) -> io::Result<f64> {
    http::reach(&load.address)?;
    (load.target.adapter.prepare)(load.fleet, &load.address)?;
    let mut asker = Asker::new(language, address);
    let shape = &load.fleet.shape;
    // A load without an end is asked about as far as times go.
    let steps_max = ((TIME_MS_MAX - shape.start_ms) / shape.interval_ms).max(0) as u64;
    let oracle = Oracle { end_step: load.steps.end.min(steps_max), ..load.oracle() };
    let mut held = 0.0;
    for table in 0..load.fleet.tables.len() {
        let question = aggregate(&oracle, table, Sources::All, Function::Count, false);
        let Some(requests) = language.requests(load.fleet, &question) else { continue };
        // Who cannot answer knows no such table yet.
        if let Ok(answer) = language.ask(load.fleet, &mut asker, &question, &requests) {
            held += answer.rows.values().flatten().map(|row| row.1).sum::<f64>();
        }
    }
    Ok(held)
}

/// Fails where a server holds values that it must not hold yet.
pub(crate) fn refuse_leftovers(address: &str, held: f64) -> io::Result<()> {
    if held > 0.0 {
        return Err(io::Error::other(format!(
            "{} already holds {held:.0} values at the times that are to be written; give it an \
             empty store, or other times with --start or --first-step",
            http::login(address).1
        )));
    }
    Ok(())
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

/// The same question in pieces that name no more than [`NAMES_PER_QUESTION`]: by sources, and a
/// source with more names than that by time.
fn in_pieces(fleet: &Fleet, question: Question) -> Vec<Question> {
    let (mut large, mut pieces) = (vec![question], Vec::new());
    while let Some(question) = large.pop() {
        if dialect::names_of(fleet, &question) <= NAMES_PER_QUESTION {
            pieces.push(question);
            continue;
        }
        let (mut first, mut second) = (question.clone(), question);
        match (&mut first.sources, &mut second.sources) {
            (Sources::These(some), Sources::These(others)) if some.len() > 1 => {
                *others = some.split_off(some.len() / 2);
            }
            _ => {
                second.from_ms += (second.to_ms - second.from_ms) / 2;
                first.to_ms = second.from_ms;
            }
        }
        large.extend([second, first]);
    }
    pieces
}

/// Counts per field must lie between what was acknowledged and what was sent.
fn check_bounds(
    load: &Load<'_>,
    outcome: &Outcome,
    language: &'static Language,
    asker: &mut Asker,
    verdict: &mut Verdict,
) {
    for table in 0..load.fleet.tables.len() {
        let (bounds, end_step) = bounds(load, outcome, table);
        let oracle = Oracle { end_step, ..load.oracle() };
        let question = aggregate(&oracle, table, Sources::All, Function::Count, false);
        let Some(requests) = language.requests(load.fleet, &question) else {
            verdict.not_asked += 1;
            continue;
        };
        thread::sleep(Duration::from_secs(1));
        let checked = language.ask(load.fleet, asker, &question, &requests).and_then(|answer| {
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
