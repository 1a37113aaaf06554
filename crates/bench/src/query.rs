//! Question streams: connections that ask kinds of the catalogue, timed from planned start to the
//! last byte of the reply. Answers are judged after the clock has stopped.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::catalogue::Kind;
use crate::cursor::Row;
use crate::dialect::{Asker, Language, Request};
use crate::disorder::Disorder;
use crate::fleet::Fleet;
use crate::latency::{Latency, Percentiles, shown};
use crate::oracle::Oracle;
use crate::pace::{Pace, Plan};
use crate::question::{Ask, Question, Sources};
use crate::random::{Draws, Purpose};
use crate::runs::{Measured, too_short};
use crate::server::Watched;

mod stale;

/// Wrong answers and errors that are described in full; further ones are counted.
const DESCRIBED_MAX: usize = 5;

/// Ends of a moving load that an answer about the newest samples is held against.
const ENDS_TRIED_MAX: usize = 100;

/// Longest time to spend on judging the answers of one kind.
const JUDGING_MAX: Duration = Duration::from_secs(20);

/// Questions of one kind, ready to be asked.
pub(crate) struct Stream<'a> {
    pub(crate) oracle: Oracle<'a>,
    pub(crate) language: &'static Language,
    pub(crate) address: String,
    pub(crate) kind: Kind,
    /// Every so many questions are of this kind instead.
    pub(crate) other: Option<(Kind, u64)>,
    pub(crate) connections: u64,
    /// Questions of all connections together.
    pub(crate) count: u64,
    pub(crate) limit: Duration,
    pub(crate) pace: Pace,
    /// Answers to judge.
    pub(crate) judged: u64,
    /// Steps after the oracle's that are being written meanwhile.
    pub(crate) moving: u64,
}

/// What came of the questions of one kind.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct KindResult {
    pub(crate) kind: Kind,
    /// False where the target's language has no such question: n/a.
    pub(crate) supported: bool,
    pub(crate) asked: u64,
    /// Questions that were due and never asked because the time was over.
    pub(crate) unasked: u64,
    pub(crate) values: u64,
    pub(crate) reply_bytes: u64,
    pub(crate) wall_s: f64,
    pub(crate) per_second: f64,
    pub(crate) intended_latency: Percentiles,
    pub(crate) service_time: Percentiles,
    pub(crate) server_cpu_ms_per_question: Option<f64>,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) judged: u64,
    pub(crate) wrong: u64,
    /// Answers that were not judged: requests that failed held rows of theirs, and nobody knows
    /// whether those are there.
    pub(crate) unsettled: u64,
    /// Answers made of fewer rows than had been acknowledged, of servers that show them a moment
    /// later.
    pub(crate) stale: u64,
    pub(crate) wrong_described: Vec<String>,
}

/// What one connection collects.
pub(crate) struct Asked {
    pub(crate) intended: Latency,
    pub(crate) service: Latency,
    pub(crate) count: u64,
    pub(crate) unasked: u64,
    pub(crate) reply_bytes: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    /// Replies to judge.
    pub(crate) kept: Vec<Kept>,
}

/// A question with the replies that came.
pub(crate) struct Kept {
    pub(crate) question: Question,
    requests: Vec<Request>,
    replies: Vec<Vec<u8>>,
    /// What was known to be written when the question was asked.
    end_step: u64,
    sources: Range<u64>,
    /// Steps after that which may already be visible.
    moving: u64,
}

impl Stream<'_> {
    /// Asks everything, then judges.
    pub(crate) fn run(&self, watched: &Watched) -> io::Result<KindResult> {
        let mut draws = Draws::at(self.seed(), Purpose::Questions, u64::MAX, self.kind.number());
        let sample = self.kind.question(&self.oracle, &mut draws);
        if self.language.requests(self.oracle.fleet, &sample).is_none() {
            return Ok(KindResult::unsupported(self.kind));
        }
        let before = watched.reading();
        let begin = Instant::now();
        let asked = thread::scope(|scope| {
            let spawn =
                |at| thread::Builder::new().spawn_scoped(scope, move || self.connection(at, begin));
            let threads = (0..self.connections).map(spawn).collect::<io::Result<Vec<_>>>()?;
            let gone = |_| io::Error::other("BUG: a connection's thread panicked");
            let joined = threads.into_iter().map(|thread| thread.join().map_err(gone));
            joined.collect::<io::Result<Vec<Asked>>>()
        })?;
        let wall = begin.elapsed();
        let cpu = before.zip(watched.reading());
        let cpu_ms =
            cpu.map(|(before, after)| after.cpu_ms().saturating_sub(before.cpu_ms()) as f64);
        let mut result = KindResult::of(self.kind, &asked, wall, cpu_ms);
        let begin = Instant::now();
        for kept in asked.iter().flat_map(|asked| &asked.kept) {
            if begin.elapsed() > JUDGING_MAX {
                break;
            }
            result.judge(&self.oracle, self.language, kept, false);
        }
        Ok(result)
    }

    fn seed(&self) -> u64 {
        self.oracle.fleet.shape.seed
    }

    fn connection(&self, at: u64, start: Instant) -> Asked {
        let mut asked = Asked::new();
        let mut asker = Asker::new(self.language, &self.address);
        let mut plan = Plan::new(self.pace, self.seed(), at, self.connections, 1);
        let share = self.count / self.connections + u64::from(at < self.count % self.connections);
        let judged = self.judged.div_ceil(self.connections) as usize;
        for number in 0..share {
            let lane = self.kind.number() << 32 | at;
            let mut draws = Draws::at(self.seed(), Purpose::Questions, lane, number);
            let kind = match self.other {
                Some((kind, every)) if number % every == every - 1 => kind,
                _ => self.kind,
            };
            let question = kind.question(&self.oracle, &mut draws);
            let due = plan.due().map(|after| start + after);
            let (now, end) = (Instant::now(), start + self.limit);
            if due.unwrap_or(now).max(now) >= end {
                asked.leave(due, &mut plan, start, end, share - number);
                break;
            }
            if let Some(wait) = due.and_then(|due| due.checked_duration_since(Instant::now())) {
                thread::sleep(wait);
            }
            let keep = asked.kept.len() < judged && self.stands_still(&question);
            asked.ask(&self.oracle, self.language, &mut asker, question, due, keep, self.moving);
            thread::sleep(plan.think());
        }
        asked
    }

    /// Whether no window reaches into the steps that are being written: what is there of these
    /// nobody knows, but for the newest, which says itself how far they have come.
    fn stands_still(&self, question: &Question) -> bool {
        let known_ms = self.oracle.fleet.time_ms(self.oracle.end_step);
        self.moving == 0 || question.ask == Ask::Last || question.to_ms <= known_ms
    }
}

impl Asked {
    pub(crate) fn new() -> Asked {
        Asked {
            intended: Latency::new(),
            service: Latency::new(),
            count: 0,
            unasked: 0,
            reply_bytes: 0,
            errors: BTreeMap::new(),
            kept: Vec::new(),
        }
    }

    /// Asks one question and records how long it took.
    #[allow(clippy::too_many_arguments, reason = "the parts of one measurement, used nowhere else")]
    pub(crate) fn ask(
        &mut self,
        oracle: &Oracle<'_>,
        language: &'static Language,
        asker: &mut Asker,
        question: Question,
        due: Option<Instant>,
        keep: bool,
        moving: u64,
    ) {
        let Some(requests) = language.requests(oracle.fleet, &question) else { return };
        let begin = Instant::now();
        let mut replies = Vec::with_capacity(requests.len());
        for request in &requests {
            match asker.send(request) {
                Ok(reply) if (language.is_nothing)(&reply) => replies.push(Vec::new()),
                Ok(reply) if reply.is_success() => {
                    self.reply_bytes += reply.body.len() as u64;
                    replies.push(reply.body);
                }
                Ok(reply) => *self.errors.entry(reply.summary()).or_default() += 1,
                Err(error) => *self.errors.entry(error).or_default() += 1,
            }
        }
        let end = Instant::now();
        self.count += 1;
        // A refusal may come soon: its time says nothing about the questions that are answered.
        if replies.len() < requests.len() {
            return;
        }
        self.service.record(end - begin);
        self.intended.record(end - due.unwrap_or(begin).min(begin));
        if keep {
            let sources = oracle.first_source..oracle.end_source;
            let end_step = oracle.end_step;
            self.kept.push(Kept { question, requests, replies, end_step, sources, moving });
        }
    }
}

impl Asked {
    /// Counts questions that were due before the end and will not be asked, `most` at the most:
    /// they waited to the end at least.
    fn leave(
        &mut self,
        mut due: Option<Instant>,
        plan: &mut Plan,
        start: Instant,
        end: Instant,
        most: u64,
    ) {
        let seen = Instant::now().max(end);
        for _ in 0..most {
            let Some(planned) = due.filter(|due| *due < end) else { return };
            self.unasked += 1;
            self.intended.record(seen - planned);
            due = plan.due().map(|after| start + after);
        }
    }
}

impl Kept {
    /// The step before which lie all rows that the answer was to be made of.
    pub(crate) fn end_step(&self) -> u64 {
        self.end_step
    }

    /// Whether the answer was to be made of this row, among others.
    pub(crate) fn is_about(&self, fleet: &Fleet, row: &Row<'_>) -> bool {
        let question = &self.question;
        let is_of_source = match &question.sources {
            Sources::These(some) => some.contains(&row.source),
            // Of so many that one more does no harm.
            Sources::All | Sources::Labelled(..) => true,
        };
        let window_ms = question.from_ms..question.to_ms;
        let is_in_time = question.ask.is_last() || window_ms.contains(&fleet.time_ms(row.step));
        is_of_source && is_in_time && row.table == question.table && row.step < self.end_step
    }

    /// Reads the replies and compares them with the right answer; returns the values read.
    pub(crate) fn judge(
        &self,
        fleet: &Fleet,
        disorder: Disorder,
        first_step: u64,
        language: &'static Language,
    ) -> Result<u64, String> {
        let replies = self.replies.iter().map(Vec::as_slice);
        let answer = language.answer(fleet, &self.question, self.requests.iter().zip(replies))?;
        let judge = |end_step| {
            let oracle = Oracle {
                fleet,
                disorder,
                first_source: self.sources.start,
                end_source: self.sources.end,
                first_step,
                end_step,
            };
            language.judge(&oracle.answer(&self.question), &answer, &self.question)
        };
        let mut judged = judge(self.end_step);
        if judged.is_err() && self.moving > 0 && self.question.ask == Ask::Last {
            // At least the steps up to the newest that came; the rest is rows that came late.
            let newest_ms = answer.rows.values().flatten().map(|row| row.0).max().unwrap_or(0);
            let shape = &fleet.shape;
            let step = ((newest_ms - shape.start_ms).max(0) / shape.interval_ms) as u64;
            let ends = (step.max(self.end_step) + 1)..=(self.end_step + self.moving);
            let right = ends.take(ENDS_TRIED_MAX).find(|end_step| judge(*end_step).is_ok());
            if right.is_some() {
                judged = Ok(());
            }
        }
        judged.map(|()| answer.len() as u64)
    }

    /// Whether the answer is what a server would give that does not show all rows yet.
    fn lacks_rows(&self, oracle: &Oracle<'_>, language: &'static Language) -> bool {
        let replies = self.requests.iter().zip(self.replies.iter().map(Vec::as_slice));
        let Ok(answer) = language.answer(oracle.fleet, &self.question, replies) else {
            return false;
        };
        let (first_source, end_source) = (self.sources.start, self.sources.end);
        let oracle = Oracle { first_source, end_source, end_step: self.end_step, ..*oracle };
        stale::is_of_fewer_rows(&oracle, &self.question, &answer, language.rounding)
    }
}

impl KindResult {
    pub(crate) fn unsupported(kind: Kind) -> KindResult {
        let mut result = KindResult::of(kind, &[], Duration::ZERO, None);
        result.supported = false;
        result
    }

    pub(crate) fn of(
        kind: Kind,
        asked: &[Asked],
        wall: Duration,
        cpu_ms: Option<f64>,
    ) -> KindResult {
        let (mut intended, mut service) = (Latency::new(), Latency::new());
        let mut errors: BTreeMap<String, u64> = BTreeMap::new();
        for asked in asked {
            intended.add(&asked.intended);
            service.add(&asked.service);
            for (what, count) in &asked.errors {
                *errors.entry(what.clone()).or_default() += count;
            }
        }
        let count: u64 = asked.iter().map(|asked| asked.count).sum();
        KindResult {
            kind,
            supported: true,
            asked: count,
            unasked: asked.iter().map(|asked| asked.unasked).sum(),
            values: 0,
            reply_bytes: asked.iter().map(|asked| asked.reply_bytes).sum(),
            wall_s: wall.as_secs_f64(),
            per_second: count as f64 / wall.as_secs_f64().max(1e-9),
            intended_latency: intended.percentiles(),
            service_time: service.percentiles(),
            server_cpu_ms_per_question: cpu_ms.map(|cpu_ms| cpu_ms / (count as f64).max(1.0)),
            errors,
            judged: 0,
            wrong: 0,
            unsettled: 0,
            stale: 0,
            wrong_described: Vec::new(),
        }
    }

    /// Judges one answer and counts it. Of a server that shows rows `late` an answer may lack rows,
    /// as long as those that it was made of are right.
    pub(crate) fn judge(
        &mut self,
        oracle: &Oracle<'_>,
        language: &'static Language,
        kept: &Kept,
        late: bool,
    ) {
        self.judged += 1;
        match kept.judge(oracle.fleet, oracle.disorder, oracle.first_step, language) {
            Ok(values) => self.values += values,
            Err(_) if late && kept.lacks_rows(oracle, language) => self.stale += 1,
            Err(what) => {
                self.wrong += 1;
                if self.wrong_described.len() < DESCRIBED_MAX {
                    let asked = kept.requests.first();
                    let asked = asked.map(|request| match &request.body {
                        Some(body) => format!("{} {body}", request.path),
                        None => request.path.clone(),
                    });
                    let asked: String = asked.unwrap_or_default().chars().take(600).collect();
                    self.wrong_described.push(format!("{what}; asked {asked}"));
                }
            }
        }
    }

    /// Whether nothing went wrong.
    pub(crate) fn is_right(&self) -> bool {
        self.wrong == 0 && self.errors.is_empty()
    }

    /// What went wrong, in few words; none when nothing did.
    pub(crate) fn fault(&self) -> Option<String> {
        let errors: u64 = self.errors.values().sum();
        (!self.is_right()).then(|| format!("{} wrong answers, {errors} errors", self.wrong))
    }

    /// The kind's name in the catalogue.
    pub(crate) fn name(&self) -> String {
        let name = serde_json::to_value(self.kind).unwrap_or_default();
        name.as_str().unwrap_or_default().to_owned()
    }

    /// One line for people.
    pub(crate) fn line(&self) -> String {
        let name = self.name();
        if !self.supported {
            return format!("{name:<24} n/a");
        }
        let time = &self.service_time;
        let cpu = self.server_cpu_ms_per_question.map_or("-".into(), |cpu| format!("{cpu:.2}"));
        let mut line = format!(
            "{name:<24} {:>6} asked {:>8.1}/s  mean {:>8} p50 {:>8} p99 {:>8} max {:>8} ms  \
             server {cpu:>8} ms  {} judged, {} wrong",
            self.asked,
            self.per_second,
            shown(time.mean_ms),
            shown(time.p50_ms),
            shown(time.p99_ms),
            shown(time.max_ms),
            self.judged,
            self.wrong
        );
        if self.unsettled > 0 {
            line.push_str(&format!(", {} about refused rows", self.unsettled));
        }
        for (what, count) in self.errors.iter().take(DESCRIBED_MAX) {
            line.push_str(&format!("\n    error: {count} x {what}"));
        }
        for what in &self.wrong_described {
            line.push_str(&format!("\n    wrong: {what}"));
        }
        line
    }
}

impl Measured for KindResult {
    fn void(&self) -> Option<String> {
        let cpu_ms = self.server_cpu_ms_per_question.map_or(0.0, |ms| ms * self.asked as f64);
        self.fault().or_else(|| too_short(self.wall_s, cpu_ms as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::influxql::INFLUXQL;
    use crate::testing::cpu_fleet;

    /// The newest row of a host as InfluxDB tells it, judged against `known` steps and `moving`
    /// ones after them.
    fn judged(step: u64, known: u64, moving: u64, error: f64) -> Result<u64, String> {
        let fleet = cpu_fleet(10);
        let (from_ms, to_ms) = (fleet.time_ms(0), fleet.time_ms(known));
        let sources = Sources::These(vec![3]);
        let question =
            Question { table: 0, fields: vec![0], sources, from_ms, to_ms, ask: Ask::Last };
        let disorder = Disorder::default();
        let (first_source, end_source, first_step) = (0, 10, 0);
        let told = Oracle {
            fleet: &fleet,
            disorder,
            first_source,
            end_source,
            first_step,
            end_step: step + 1,
        };
        let told = told.answer(&question);
        let (_, value) = told.rows[&("host_3".to_owned(), 0)][0];
        let reply = format!(
            r#"{{"results":[{{"series":[{{"name":"cpu","tags":{{"hostname":"host_3"}},
            "columns":["time","f0"],"values":[[{},{}]]}}]}}]}}"#,
            fleet.time_ms(step),
            value + error
        );
        let requests = INFLUXQL.requests(&fleet, &question).unwrap();
        let replies = vec![reply.into_bytes()];
        let kept = Kept { question, requests, replies, end_step: known, sources: 0..10, moving };
        kept.judge(&fleet, disorder, 0, &INFLUXQL)
    }

    #[test]
    fn the_newest_row_may_be_of_any_step_that_is_being_written() {
        assert_eq!(judged(99, 100, 0, 0.0), Ok(1));
        assert_eq!(judged(180, 100, 100, 0.0), Ok(1));
        assert_eq!(judged(199, 100, 100, 0.0), Ok(1));
    }

    #[test]
    fn the_newest_row_may_not_be_older_newer_or_another() {
        assert!(judged(98, 100, 100, 0.0).is_err(), "older than what was acknowledged");
        assert!(judged(200, 100, 100, 0.0).is_err(), "newer than what was sent");
        assert!(judged(180, 100, 0, 0.0).is_err(), "nothing was being written");
        assert!(judged(180, 100, 100, 1.0).is_err(), "another value");
    }
}
