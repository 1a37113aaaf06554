//! Reads between writes: a connection that writes also asks, in a fixed proportion, about what it
//! has itself written and seen acknowledged. Such answers can be judged exactly although data are
//! still flowing.

use std::collections::BTreeSet;

use crate::adapter::Can;
use crate::dialect::Asker;
use crate::feed::Feed;
use crate::load::{Load, Outcome, Reads};
use crate::oracle::Oracle;
use crate::query::{Asked, Kept, KindResult};
use crate::question::{Ask, Question};
use crate::random::{Draws, Purpose};

/// Answers that each connection keeps for judging, per kind.
const JUDGED_PER_KIND: usize = 2;

/// The reads of one connection.
pub(crate) struct Reader<'a> {
    load: &'a Load<'a>,
    reads: &'a Reads,
    connection: u64,
    asker: Asker,
    credit: f64,
    number: u64,
    asked: Vec<Asked>,
}

impl<'a> Reader<'a> {
    /// The reader of a connection, if its load reads at all.
    pub(crate) fn of(load: &'a Load<'a>, connection: u64) -> Option<Reader<'a>> {
        let reads = load.reads.as_ref().filter(|reads| !reads.kinds.is_empty())?;
        Some(Reader {
            load,
            reads,
            connection,
            asker: Asker::new(reads.language, &reads.address),
            // Connections that write little ask in turns.
            credit: connection as f64 / load.connections as f64,
            number: 0,
            asked: reads.kinds.iter().map(|_| Asked::new()).collect(),
        })
    }

    /// Called after an acknowledged write: asks when it is time to.
    pub(crate) fn after_write(&mut self, feed: &Feed<'_>) {
        self.credit += self.reads.per_write;
        let end_step = feed.complete_step();
        let share = self.load.share(self.connection);
        while self.credit >= 1.0 && end_step > self.reads.first_step {
            self.credit -= 1.0;
            let turn = (self.number % self.reads.kinds.len() as u64) as usize;
            self.number += 1;
            let oracle = Oracle {
                first_source: share.sources.start,
                end_source: share.sources.end,
                first_step: self.reads.first_step,
                end_step,
                ..self.load.oracle()
            };
            let seed = self.load.fleet.shape.seed;
            let lane = 1 << 40 | self.connection;
            let mut draws = Draws::at(seed, Purpose::Questions, lane, self.number);
            let (Some(kind), Some(asked)) = (self.reads.kinds.get(turn), self.asked.get_mut(turn))
            else {
                return;
            };
            let mut question = kind.question(&oracle, &mut draws);
            if !settle_window(&mut question, load_end(&oracle)) {
                continue;
            }
            let keep = asked.kept.len() < JUDGED_PER_KIND && self.load.disorder.is_tidy();
            let moving = self.load.block;
            asked.ask(&oracle, self.reads.language, &mut self.asker, question, None, keep, moving);
        }
        // Questions that could not be asked yet do not pile up.
        self.credit = self.credit.min(1.0);
    }

    /// What was asked, per kind.
    pub(crate) fn finish(self) -> Vec<Asked> {
        self.asked
    }
}

/// The time before which everything is known.
fn load_end(oracle: &Oracle<'_>) -> i64 {
    oracle.fleet.time_ms(oracle.end_step)
}

/// Ends a window before data that may or may not be there, at a full bucket; false when nothing
/// is left of it.
fn settle_window(question: &mut Question, end_ms: i64) -> bool {
    question.to_ms = question.to_ms.min(end_ms);
    if let Ask::Aggregate { bucket_ms: Some(bucket), .. } = question.ask {
        question.to_ms -= question.to_ms.rem_euclid(bucket);
    }
    question.from_ms < question.to_ms
}

/// Adds up and judges the reads of all connections.
pub(crate) fn results(load: &Load<'_>, outcome: &mut Outcome) -> Vec<KindResult> {
    let Some(reads) = &load.reads else { return Vec::new() };
    let doubts = doubts(load, outcome);
    let mut results = Vec::new();
    for (at, kind) in reads.kinds.iter().enumerate() {
        let mut asked: Vec<Asked> = Vec::new();
        for connection in &mut outcome.connections {
            if let Some(place) = connection.reads.get_mut(at) {
                asked.push(std::mem::replace(place, Asked::new()));
            }
        }
        let mut result = KindResult::of(*kind, &asked, outcome.wall, None);
        result.supported = result.asked > 0 || reads.per_write == 0.0;
        let oracle = Oracle { first_step: reads.first_step, ..load.oracle() };
        let late = !load.target.can(Can::ShowAtOnce);
        for (connection, asked) in asked.iter().enumerate() {
            for (number, kept) in asked.kept.iter().enumerate() {
                match doubts.contains(&(connection, at, number)) {
                    true => result.unsettled += 1,
                    false => result.judge(&oracle, reads.language, kept, late),
                }
            }
        }
        results.push(result);
    }
    results
}

/// Kept answers that were to be made of rows whose requests failed, by connection, kind and number.
/// A refused request may have left some of its rows behind, and one without an answer all of them.
fn doubts(load: &Load<'_>, outcome: &Outcome) -> BTreeSet<(usize, usize, usize)> {
    let mut doubts = BTreeSet::new();
    for (connection, sent) in outcome.connections.iter().enumerate() {
        let kinds = sent.reads.iter().enumerate();
        let kept: Vec<(_, &Kept)> = kinds
            .flat_map(|(kind, asked)| {
                let numbered = asked.kept.iter().enumerate();
                numbered.map(move |(number, kept)| ((connection, kind, number), kept))
            })
            .collect();
        let end_step = kept.iter().map(|(_, kept)| kept.end_step()).max().unwrap_or(0);
        let (mut feed, last) = (load.feed(connection as u64), sent.failed.last());
        for request in 0..last.map_or(0, |last| last + 1) {
            if feed.complete_step() >= end_step {
                break;
            }
            let has_failed = sent.failed.binary_search(&request).is_ok();
            feed.request(|row| {
                let about =
                    kept.iter().filter(|(_, kept)| has_failed && kept.is_about(load.fleet, row));
                doubts.extend(about.map(|(place, _)| *place));
            });
        }
    }
    doubts
}
