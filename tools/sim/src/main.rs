//! Seeded crash simulator of the store.
//!
//! Each round plays random writes, deletes, retention, flushes, merges, epochs, backups and
//! restarts, from several clients at once, against the engine on a simulated machine, cuts its
//! power or breaks its disk at random operations, and compares what is left with a naive oracle:
//! what was acknowledged as durable is there with its value and kind, nothing is there that was
//! never sent or was deleted, and every change is there wholly or not at all. The engine's sources
//! run over locks and threads whose order is drawn, so that a round follows from its seed alone,
//! and the seed is the bug report.
//!
//! ```text
//! foliot-sim [--seed S] [--rounds N] [--threads T] [--failures F] [--trace]
//! ```

// The oracle stops at its own mistakes: a panic of the simulator is a failed round.
#![allow(clippy::indexing_slicing, reason = "a panic here fails the round, which is the point")]

mod look;
mod oracle;
mod random;
mod round;
mod tally;
#[cfg(test)]
mod tests;
mod time;
mod workload;
mod world;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tally::Tally;

/// A round takes and gives back memory some hundred thousand times.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
usage: foliot-sim [--seed S] [--rounds N] [--threads T] [--failures F] [--trace]
  --seed S      seed of the first round, the next has S+1; random by default
  --rounds N    rounds to play; 1000 by default
  --threads T   rounds at once; as many as there are cores by default
  --failures F  stop after so many failed rounds; 1 by default
  --trace       print every step
";

fn main() -> ExitCode {
    let Some(plan) = Plan::parse(std::env::args().skip(1)) else {
        say(&mut std::io::stderr(), USAGE);
        return ExitCode::from(2);
    };
    let started = Instant::now();
    let (tally, failures) = plan.run();
    let seconds = started.elapsed().as_secs_f64();
    let cuts = tally.power_cuts + tally.fates + tally.kills;
    say(
        &mut std::io::stdout(),
        &format!(
            "{} rounds from seed {} in {seconds:.1} s: {} power cuts, {} other fates of those, \
             {} kills ({:.0} crashes a second), \
             {} closes, {} faults, {} clients, {} changes ({} acknowledged), {} of them deletes, {} flushes, \
             {} merges, {} epochs, {} renames, {} namespaces dropped, {} damages tried, {} backups, {} looks at {} facts, {failures} failures\n",
            tally.rounds,
            plan.seed,
            tally.power_cuts,
            tally.fates,
            tally.kills,
            cuts as f64 / seconds,
            tally.closes,
            tally.faults,
            tally.clients,
            tally.events,
            tally.acknowledged,
            tally.deletes,
            tally.flushes,
            tally.merges,
            tally.epochs,
            tally.renames,
            tally.namespaces_dropped,
            tally.trials,
            tally.backups,
            tally.looks,
            tally.facts,
        ),
    );
    for (point, times) in &tally.points {
        say(&mut std::io::stdout(), &format!("{times:8} power failures at {point}\n"));
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What to play.
struct Plan {
    seed: u64,
    rounds: u64,
    threads: usize,
    failures: u64,
    trace: bool,
}

impl Plan {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut plan = Self {
            seed: RandomState::new().hash_one(()) >> 16,
            rounds: 1000,
            threads: cores,
            failures: 1,
            trace: false,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seed" => plan.seed = words.next()?.parse().ok()?,
                "--rounds" => plan.rounds = words.next()?.parse().ok()?,
                "--threads" => plan.threads = words.next()?.parse().ok().filter(|&n| n > 0)?,
                "--failures" => plan.failures = words.next()?.parse().ok()?,
                "--trace" => plan.trace = true,
                _ => return None,
            }
        }
        Some(plan)
    }

    /// Plays all rounds and returns what happened and how many failed.
    fn run(&self) -> (Tally, u64) {
        let next = AtomicU64::new(0);
        let failures = AtomicU64::new(0);
        let tally = Mutex::new(Tally::default());
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    while failures.load(Ordering::Relaxed) < self.failures {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= self.rounds {
                            break;
                        }
                        let seed = self.seed.wrapping_add(index);
                        match play(seed, self.trace) {
                            Ok(played) => {
                                let mut tally =
                                    tally.lock().unwrap_or_else(|poison| poison.into_inner());
                                tally.add(&played);
                            }
                            Err(text) => {
                                failures.fetch_add(1, Ordering::Relaxed);
                                report(seed, &text);
                            }
                        }
                    }
                });
            }
        });
        let tally = tally.into_inner().unwrap_or_else(|poison| poison.into_inner());
        (tally, failures.into_inner())
    }
}

/// Plays one round; a panic of the engine is a failure like any other.
fn play(seed: u64, trace: bool) -> Result<Tally, String> {
    let steps = |step: String| say(&mut std::io::stdout(), &format!("{step}\n"));
    let steps = || Box::new(steps) as round::Trace;
    let play = || round::play(seed, world::honest, trace.then(steps));
    let played = catch_unwind(AssertUnwindSafe(play));
    played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    })
}

fn report(seed: u64, text: &str) {
    say(
        &mut std::io::stderr(),
        &format!(
            "FAILED seed {seed}: {text}\n  again: foliot-sim --seed {seed} --rounds 1 --trace\n"
        ),
    );
}

/// Prints; a closed pipe is the reader's choice and no error.
fn say(out: &mut dyn Write, text: &str) {
    let _ = out.write_all(text.as_bytes());
}
