//! The catalogue: named kinds of questions, each with its parameters drawn at random from the
//! loaded data. The TSBS kinds keep their published names and ranges; windows are aligned to
//! buckets, because only then do all dialects mean the same.

use clap::ValueEnum;

use crate::oracle::Oracle;
use crate::profile::Profile;
use crate::question::{Ask, Function, MINUTE_MS, Question, Sources};
use crate::random::Draws;

mod iot;
mod kind;
mod written;

pub(crate) use kind::Kind;
pub(crate) use written::WrittenKind;

const HOUR_MS: i64 = 3_600_000;

impl Kind {
    /// The kinds of iotdb-benchmark's read mix.
    pub(crate) const DEVICE: [Kind; 5] =
        [Kind::Point, Kind::Range, Kind::Aggregate, Kind::Downsample, Kind::Last];

    /// The kinds that can be asked about a profile: those of its own, and those of anything.
    pub(crate) fn about(profile: Profile) -> Vec<Kind> {
        let all = Kind::value_variants().iter().copied();
        all.filter(|kind| !kind.is_iot() || profile == Profile::tsbs_iot()).collect()
    }

    /// Whether the kind is about TSBS's trucks only.
    fn is_iot(self) -> bool {
        (Kind::SingleLastLoc..=Kind::BreakdownFrequency).contains(&self)
    }

    /// Tells the kinds apart where their questions are drawn; below 2^32.
    pub(crate) fn number(self) -> u64 {
        match self {
            Kind::Written(written) => written.number(),
            _ => Kind::value_variants().iter().take_while(|kind| **kind != self).count() as u64,
        }
    }

    /// Draws a question of this kind about what the oracle knows.
    pub(crate) fn question(self, oracle: &Oracle<'_>, draws: &mut Draws) -> Question {
        if let Kind::Written(written) = self {
            return written.question(oracle, draws);
        }
        if self.is_iot() {
            return iot::question(self, oracle, draws);
        }
        let table = draws.below(oracle.fleet.tables.len() as u64) as usize;
        let count = oracle.fleet.tables.get(table).map_or(0, |table| table.fields.len());
        let (fields, sources) = match self {
            Kind::SingleGroupby581 => (5, Some(8)),
            Kind::CpuMaxAll8 => (count, Some(8)),
            Kind::DoubleGroupby1 | Kind::GroupbyOrderbyLimit | Kind::HighCpuAll => (1, None),
            Kind::DoubleGroupbyAll | Kind::Lastpoint => (count, None),
            _ => (1, Some(1)),
        };
        let first = match self {
            // TSBS takes the first fields; the device kinds take any.
            Kind::Point | Kind::Range | Kind::Aggregate | Kind::Downsample | Kind::Last => {
                draws.below(count as u64) as usize
            }
            _ => 0,
        };
        let sources = match sources {
            _ if self == Kind::FarmAggregate => Sources::These(farm(oracle, draws.bits())),
            Some(sources) => Sources::These(oracle.some(sources, draws.bits())),
            None => Sources::All,
        };
        let (from_ms, to_ms) = self.window(oracle, draws);
        let fields = (first..(first + fields).min(count)).collect();
        Question { table, fields, sources, from_ms, to_ms, ask: self.ask(draws) }
    }

    fn ask(self, draws: &mut Draws) -> Ask {
        let per_minute = |per_series| Ask::Aggregate {
            function: Function::Max,
            per_series,
            bucket_ms: Some(MINUTE_MS),
        };
        let hourly = |function, per_series| Ask::Aggregate {
            function,
            per_series,
            bucket_ms: Some(HOUR_MS),
        };
        match self {
            Kind::Point | Kind::Range => Ask::Samples { descending: false, above: None },
            Kind::RangeDescending => Ask::Samples { descending: true, above: None },
            Kind::RangeAbove | Kind::HighCpuAll => {
                Ask::Samples { descending: false, above: Some(90) }
            }
            Kind::RangeAboveDescending => Ask::Samples { descending: true, above: Some(90) },
            Kind::AggregateAbove | Kind::AggregateRangeAbove => {
                let any = draws.below(Function::ALL.len() as u64) as usize;
                let function = Function::ALL.get(any).copied().unwrap_or(Function::Mean);
                Ask::AggregateAbove { function, above: 50 }
            }
            Kind::Aggregate => {
                let any = draws.below(Function::ALL.len() as u64) as usize;
                let function = Function::ALL.get(any).copied().unwrap_or(Function::Mean);
                Ask::Aggregate { function, per_series: true, bucket_ms: None }
            }
            Kind::Downsample => per_minute(true),
            Kind::Last | Kind::Lastpoint => Ask::Last,
            Kind::SingleGroupby111 | Kind::SingleGroupby581 => per_minute(false),
            Kind::CpuMaxAll8 => hourly(Function::Max, false),
            Kind::FarmWindow => Ask::Samples { descending: false, above: None },
            Kind::DoubleGroupby1 | Kind::DoubleGroupbyAll | Kind::FarmAggregate => {
                hourly(Function::Mean, true)
            }
            Kind::GroupbyOrderbyLimit => {
                Ask::Newest { function: Function::Max, bucket_ms: MINUTE_MS, count: 5 }
            }
            // These have a file of their own.
            _ => Ask::Last,
        }
    }

    /// A window of the kind's length at a random place of the data, aligned to the kind's bucket.
    fn window(self, oracle: &Oracle<'_>, draws: &mut Draws) -> (i64, i64) {
        let shape = &oracle.fleet.shape;
        let begin = oracle.fleet.time_ms(oracle.first_step);
        let end = oracle.fleet.time_ms(oracle.end_step);
        let (length, grain) = match self {
            Kind::Point => (shape.interval_ms, shape.interval_ms),
            Kind::Range | Kind::RangeDescending | Kind::Aggregate => (10 * MINUTE_MS, MINUTE_MS),
            Kind::Downsample | Kind::SingleGroupby111 | Kind::SingleGroupby581 => {
                (HOUR_MS, MINUTE_MS)
            }
            Kind::FarmWindow => (HOUR_MS, MINUTE_MS),
            Kind::FarmAggregate => (24 * HOUR_MS, HOUR_MS),
            Kind::CpuMaxAll8 => (8 * HOUR_MS, HOUR_MS),
            Kind::DoubleGroupby1 | Kind::DoubleGroupbyAll => (12 * HOUR_MS, HOUR_MS),
            Kind::RangeAbove | Kind::RangeAboveDescending => (12 * HOUR_MS, HOUR_MS),
            Kind::AggregateRangeAbove | Kind::HighCpuAll => (12 * HOUR_MS, HOUR_MS),
            Kind::GroupbyOrderbyLimit => {
                let room = ((end - begin) / MINUTE_MS).max(1) as u64;
                let to = begin + (1 + draws.below(room) as i64) * MINUTE_MS;
                return (begin, to - to.rem_euclid(MINUTE_MS));
            }
            _ => return (begin, end),
        };
        let room = ((end - begin - length) / grain).max(0) as u64 + 1;
        let from = begin + draws.below(room) as i64 * grain;
        // A point's window keeps to the times of samples, every other to the clock.
        let from = if self == Kind::Point { from } else { from - from.rem_euclid(grain) };
        (from, from + length)
    }
}

/// The 50 neighbours of one farm, as far as the oracle knows them.
fn farm(oracle: &Oracle<'_>, bits: u64) -> Vec<u64> {
    const NEIGHBOURS: u64 = 50;
    let farms = (oracle.end_source - oracle.first_source).div_ceil(NEIGHBOURS).max(1);
    let first = oracle.first_source + bits % farms * NEIGHBOURS;
    (first..(first + NEIGHBOURS).min(oracle.end_source)).collect()
}
