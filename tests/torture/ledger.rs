//! What was sent and what was answered, kept outside of the server, and what must follow from it.
//!
//! The value of a sample is a function of seed, writer, series and time, so a reader needs no copy
//! of it. Each batch of a writer has a second of its own, which is its number.

use crate::doors::{Door, Doors, Outcome, WRITERS, Way};
use crate::harness::Server;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const START_S: i64 = 1_700_000_000;

/// Rows of one batch.
pub(crate) const ROWS: u64 = 20;

/// Series that a writer writes at a time; which these are moves on with time.
const SERIES: u64 = 400;

/// Batches of a writer that a short look takes in.
const RECENT: usize = 150;

/// A number that looks random and is always the same (S. Vigna's splitmix64).
pub(crate) fn mix(a: u64, b: u64, c: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.rotate_left(24) ^ c.rotate_left(48);
    for factor in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        x = (x ^ (x >> 29)).wrapping_mul(factor);
    }
    x ^ (x >> 32)
}

/// One batch: its place in the list is its time.
#[derive(Clone, Copy)]
struct Batch {
    first_series: u64,
    is_answered: bool,
}

/// What every writer sent.
pub(crate) struct Ledger {
    seed: u64,
    writers: Vec<Mutex<Vec<Batch>>>,
}

/// How much of a ledger is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// What was sent last.
    Recent,
    /// The same while writers go on: of a request that was not answered yet a part may be seen.
    Live,
    Whole,
}

impl Ledger {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, writers: WRITERS.iter().map(|_| Mutex::default()).collect() }
    }

    fn value(&self, writer: usize, series: u64, time: u64, field: u64) -> i64 {
        (mix(self.seed ^ series, time, writer as u64 * 2 + field) % 1_000_000) as i64
    }

    /// Sends the next batch of a writer.
    pub(crate) fn send(&self, door: &mut Door, writer: usize, level: &str) -> Outcome {
        let (way, name) = WRITERS[writer];
        let (time, first_series) = {
            let mut batches = self.writers[writer].lock().unwrap();
            let time = batches.len() as u64;
            let first_series = time / 4 + mix(self.seed, time, writer as u64) % (SERIES - ROWS);
            batches.push(Batch { first_series, is_answered: false });
            (time, first_series)
        };
        let rows: Vec<String> = (first_series..first_series + ROWS)
            .map(|series| {
                let values = [0, 1].map(|field| self.value(writer, series, time, field));
                way.spell(name, series, START_S + time as i64, values)
            })
            .collect();
        let outcome = door.send(way, &rows, level);
        if outcome == Outcome::Answered {
            self.writers[writer].lock().unwrap()[time as usize].is_answered = true;
        }
        outcome
    }

    /// Batches answered so far.
    pub(crate) fn answered(&self) -> usize {
        let count = |batches: &Mutex<Vec<Batch>>| {
            batches.lock().unwrap().iter().filter(|batch| batch.is_answered).count()
        };
        self.writers.iter().map(count).sum()
    }

    /// A copy of what is known now.
    pub(crate) fn snapshot(&self) -> Self {
        let copy = |batches: &Mutex<Vec<Batch>>| Mutex::new(batches.lock().unwrap().clone());
        Self { seed: self.seed, writers: self.writers.iter().map(copy).collect() }
    }

    /// Asks the server for everything and compares: what was answered is there, nothing is there
    /// that was not sent, every value is right, and a request is there as a whole or not at all.
    pub(crate) fn check(&self, server: &Server, look: Look) {
        self.check_with(server, look, self);
    }

    /// The same for a copy of the store that was made after this ledger: of what is only in the
    /// `later` one, anything may be there.
    pub(crate) fn check_against(&self, server: &Server, later: &Self) {
        self.check_with(server, Look::Whole, later);
    }

    fn check_with(&self, server: &Server, look: Look, later: &Self) {
        for (writer, (way, name)) in WRITERS.iter().enumerate() {
            let batches = self.writers[writer].lock().unwrap().clone();
            let since = if look == Look::Whole { 0 } else { batches.len().saturating_sub(RECENT) };
            for (field, suffix) in way.fields().iter().enumerate() {
                let metric = format!("{name}{suffix}");
                let field = field as u64;
                let counts = later.check_values(server, (writer, field), &metric, since);
                for (time, batch) in batches.iter().enumerate().skip(since) {
                    let count = counts.get(&time).copied().unwrap_or(0);
                    let is_whole = count == ROWS;
                    assert!(
                        is_whole || !batch.is_answered,
                        "{metric}: {count} of {ROWS} rows of an answered batch at {time} are there"
                    );
                    assert!(
                        is_whole || count == 0 || !way.is_whole() || look == Look::Live,
                        "{metric}: {count} of {ROWS} rows of one request at {time} are there"
                    );
                }
            }
        }
    }

    /// Checks that whatever is there was sent and is right, however much is missing.
    pub(crate) fn check_pieces(&self, server: &Server) {
        for (writer, (way, name)) in WRITERS.iter().enumerate() {
            for (field, suffix) in way.fields().iter().enumerate() {
                let metric = format!("{name}{suffix}");
                self.check_values(server, (writer, field as u64), &metric, 0);
            }
        }
    }

    /// Checks all values since a time and returns how many series have one, by time.
    fn check_values(
        &self,
        server: &Server,
        (writer, field): (usize, u64),
        metric: &str,
        since: usize,
    ) -> HashMap<usize, u64> {
        let mut counts = HashMap::new();
        let from = START_S + since as i64;
        let to = START_S + self.writers[writer].lock().unwrap().len() as i64 + 10;
        let path = format!("/api/query?start={from}&end={to}&arrays&m=none:{metric}");
        let answer = server.get(&path);
        if answer.status == 400 && answer.text().contains("No such name") {
            return counts;
        }
        assert_eq!(answer.status, 200, "{}", answer.text());
        // Copied after the answer: writers may have gone on.
        let batches = self.writers[writer].lock().unwrap().clone();
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        for found in json.as_array().unwrap() {
            let series: u64 = found["tags"]["s"].as_str().unwrap().parse().unwrap();
            for pair in found["dps"].as_array().unwrap() {
                let time = (pair[0].as_i64().unwrap() - START_S) as usize;
                let batch = batches.get(time).expect("a sample that was never sent");
                let is_sent = (batch.first_series..batch.first_series + ROWS).contains(&series);
                assert!(is_sent, "{metric}: series {series} was not sent at {time}");
                let sent = self.value(writer, series, time as u64, field);
                let sent = if field == 0 { sent as f64 } else { sent as f64 / 100.0 };
                assert_eq!(pair[1].as_f64(), Some(sent), "{metric}: series {series} at {time}");
                *counts.entry(time).or_insert(0) += 1;
            }
        }
        counts
    }
}

impl Way {
    /// Whether a batch is one request, which is there as a whole or not at all.
    fn is_whole(self) -> bool {
        self.answers()
    }
}

/// Writers on all doors at once.
pub(crate) struct Load {
    stage: Arc<AtomicU8>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Load {
    /// Starts one writer for each door, at a level of safety.
    pub(crate) fn start(
        server: &Server,
        doors: &Doors,
        ledger: &Arc<Ledger>,
        level: &'static str,
    ) -> Self {
        Self::start_some(server, doors, ledger, level, 0..WRITERS.len())
    }

    /// Starts these writers; one that is named again has one more connection.
    pub(crate) fn start_some(
        server: &Server,
        doors: &Doors,
        ledger: &Arc<Ledger>,
        level: &'static str,
        writers: impl IntoIterator<Item = usize>,
    ) -> Self {
        let stage = Arc::new(AtomicU8::new(RUNNING));
        let start = |writer: usize| {
            let mut door = doors.open(server, WRITERS[writer].0)?;
            let (ledger, stage) = (ledger.clone(), stage.clone());
            Some(std::thread::spawn(move || write(&mut door, writer, level, &ledger, &stage)))
        };
        let threads = writers.into_iter().filter_map(start).collect();
        Self { stage, threads }
    }

    /// Says that the server may refuse and go away from now on.
    pub(crate) fn expect_the_end(&self) {
        self.stage.store(ENDING, Ordering::SeqCst);
    }

    /// Ends the writers, and waits for them.
    pub(crate) fn stop(self) {
        self.stage.store(OVER, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

const RUNNING: u8 = 0;
/// The server may refuse everything, and be gone.
const ENDING: u8 = 1;
/// Writers are to end.
const OVER: u8 = 2;

fn write(door: &mut Door, writer: usize, level: &str, ledger: &Ledger, stage: &AtomicU8) {
    while stage.load(Ordering::SeqCst) != OVER {
        match ledger.send(door, writer, level) {
            Outcome::Answered | Outcome::Sent => std::thread::sleep(Duration::from_millis(1)),
            // A small head may be full for a moment; a server that stops refuses what is new.
            Outcome::Refused(status) => {
                let is_running = stage.load(Ordering::SeqCst) == RUNNING;
                assert!(status == 503 || !is_running, "{:?}: {status}", WRITERS[writer]);
                std::thread::sleep(Duration::from_millis(10));
            }
            Outcome::Gone => {
                let is_running = stage.load(Ordering::SeqCst) == RUNNING;
                assert!(!is_running, "{:?} lost its server", WRITERS[writer]);
                return;
            }
        }
    }
}
