//! How delivery departs from the tidy order: late rows, repeated rows, gaps, missing fields, and
//! the order of sources within a step. Each decision is a function of (seed, row, step).

use clap::ValueEnum;
use serde::Serialize;

use crate::fleet::ABSENT;
use crate::random::{Draws, Purpose};

/// The order in which a step is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shuffle {
    /// Source by source, as a scraper walks its list
    #[default]
    None,
    /// Sources in another random order at each step
    Sources,
    /// Single series in another random order at each step
    Series,
}

/// How late rows are spread over the steps after their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Delay {
    /// Any number of steps up to the maximum, all alike
    #[default]
    Uniform,
    /// Exponential with a quarter of the maximum as mean
    Exponential,
    /// Pareto with index 1.2: mostly short, sometimes the maximum
    Pareto,
    /// iotdb-benchmark's Poisson draw, stretched over 25 levels up to the maximum
    Poisson,
}

/// All departures together; the default departs in nothing.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Disorder {
    pub(crate) shuffle: Shuffle,
    /// Share of rows that arrive late.
    pub(crate) late: f64,
    /// How many steps late at most.
    pub(crate) late_steps_max: u64,
    pub(crate) delay: Delay,
    /// Share of rows that are sent twice.
    pub(crate) repeated: f64,
    /// Share of rows that never exist.
    pub(crate) gaps: f64,
    /// Sends the gaps and nothing else, to fill them in later.
    pub(crate) only_gaps: bool,
    /// Share of fields missing from their row.
    pub(crate) missing_fields: f64,
}

const LATE: u64 = 0;
const REPEATED: u64 = 2;
const GAP: u64 = 3;
const FIELD: u64 = 16;

impl Disorder {
    /// Whether rows arrive in the order of their times, each once.
    pub(crate) fn is_tidy(&self) -> bool {
        self.late == 0.0 && self.repeated == 0.0 && self.gaps == 0.0 && self.missing_fields == 0.0
    }

    /// Whether the row is left out.
    pub(crate) fn is_gap(&self, seed: u64, row: u64, step: u64) -> bool {
        happens(self.gaps, seed, row, step, GAP) != self.only_gaps
    }

    pub(crate) fn is_repeated(&self, seed: u64, row: u64, step: u64) -> bool {
        happens(self.repeated, seed, row, step, REPEATED)
    }

    /// By how many steps the row is late, if it is.
    pub(crate) fn late_steps(&self, seed: u64, row: u64, step: u64) -> Option<u64> {
        if !happens(self.late, seed, row, step, LATE) {
            return None;
        }
        let mut draws = Draws::at(seed, Purpose::Disorder, row, step);
        draws.bits();
        let most = self.late_steps_max.max(1);
        let steps = match self.delay {
            Delay::Uniform => 1 + draws.below(most),
            Delay::Exponential => 1 + (draws.exponential() * most as f64 / 4.0) as u64,
            Delay::Pareto => (1.0 - draws.unit()).powf(-1.0 / 1.2) as u64,
            Delay::Poisson => stretched(poisson(10.0, &mut draws), most),
        };
        Some(steps.clamp(1, most))
    }

    /// Removes the fields that the row lacks; false when none is left.
    pub(crate) fn keep_fields(&self, seed: u64, row: u64, step: u64, values: &mut [i64]) -> bool {
        if self.missing_fields == 0.0 {
            return true;
        }
        let mut left = false;
        for (lane, value) in values.iter_mut().enumerate() {
            if happens(self.missing_fields, seed, row, step, FIELD + lane as u64) {
                *value = ABSENT;
            }
            left |= *value != ABSENT;
        }
        left
    }
}

fn happens(share: f64, seed: u64, row: u64, step: u64, lane: u64) -> bool {
    share > 0.0
        && crate::random::unit(Draws::at(seed, Purpose::Disorder, row, step).lane(lane)) < share
}

/// A Poisson draw by multiplication (Knuth, The Art of Computer Programming 2, 3.4.1), cut at 25.
fn poisson(mean: f64, draws: &mut Draws) -> u64 {
    let (limit, mut product, mut count) = ((-mean).exp(), draws.unit(), 0);
    while product > limit && count < 24 {
        product *= draws.unit();
        count += 1;
    }
    count + 1
}

/// iotdb-benchmark's stretching of 25 levels to the maximum: the tenth level is a 77th of it, as
/// its shipped lambda 2 200 is of its shipped maximum 170 000.
fn stretched(level: u64, most: u64) -> u64 {
    let (most, level) = (most as f64, level as f64);
    let knee = most / 77.0;
    let steps = if level <= 10.0 {
        knee + (level - 10.0) * knee / 10.0
    } else {
        knee + (level - 10.0) * (most - knee) / 15.0
    };
    steps as u64
}
