//! The catalogue: named kinds of questions, each with its parameters drawn at random from the
//! loaded data. The TSBS kinds keep their published names and ranges; windows are aligned to
//! buckets, because only then do all dialects mean the same.

use clap::ValueEnum;
use serde::Serialize;

use crate::oracle::Oracle;
use crate::profile::Profile;
use crate::question::{Ask, Function, Question, Sources};
use crate::random::{Draws, permute};

mod iot;
mod written;

pub(crate) use written::WrittenKind;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

/// A kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// P1: one field of one source at one time
    Point,
    /// R1: one field of one source over ten minutes
    Range,
    /// R2: the same, newest first
    RangeDescending,
    /// R3: samples of one field above a bound, one source, 12 h
    RangeAbove,
    /// R4: the same, newest first
    RangeAboveDescending,
    /// A1: count, sum, minimum, maximum or mean of one field of one source over ten minutes
    Aggregate,
    /// A2: the same of samples above a bound, over all that is loaded
    AggregateAbove,
    /// A3: A1 of samples above a bound, over twelve hours
    AggregateRangeAbove,
    /// G1: the maximum of one field of one source per minute over an hour
    Downsample,
    /// L1: the newest sample of one field of one source
    Last,
    /// TSBS single-groupby-1-1-1: one field, one host, one hour, per minute
    #[value(name = "single-groupby-1-1-1")]
    #[serde(rename = "single-groupby-1-1-1")]
    SingleGroupby111,
    /// TSBS single-groupby-5-8-1: five fields, eight hosts, one hour, per minute
    #[value(name = "single-groupby-5-8-1")]
    #[serde(rename = "single-groupby-5-8-1")]
    SingleGroupby581,
    /// TSBS cpu-max-all-8: all fields, eight hosts, eight hours, per hour
    #[value(name = "cpu-max-all-8")]
    #[serde(rename = "cpu-max-all-8")]
    CpuMaxAll8,
    /// TSBS double-groupby-1: the mean of one field per host and hour, all hosts, 12 h
    #[value(name = "double-groupby-1")]
    #[serde(rename = "double-groupby-1")]
    DoubleGroupby1,
    /// TSBS double-groupby-all: the same of all fields
    DoubleGroupbyAll,
    /// TSBS lastpoint: the newest row of every host
    Lastpoint,
    /// TSBS groupby-orderby-limit: the five newest maxima per minute before a random time
    GroupbyOrderbyLimit,
    /// Wind farm: one field of one source over an hour
    FarmWindow,
    /// Wind farm: the mean of one field per hour for each of 50 neighbours over a day
    FarmAggregate,
    /// TSBS high-cpu-all, one field: samples above 90 of all hosts, 12 h
    HighCpuAll,
    /// TSBS iot single-last-loc: where one truck is
    SingleLastLoc,
    /// TSBS iot last-loc: where each truck of a fleet is
    LastLoc,
    /// TSBS iot low-fuel: trucks of a fleet with less than a tenth of their fuel
    LowFuel,
    /// TSBS iot high-load: trucks of a fleet with nine tenths of their load or more
    HighLoad,
    /// TSBS iot stationary-trucks: trucks of a fleet that hardly moved for ten minutes
    StationaryTrucks,
    /// TSBS iot long-driving-sessions: trucks of a fleet that rested twice at most in four hours
    LongDrivingSessions,
    /// TSBS iot long-daily-sessions: trucks of a fleet that drove more than ten hours of 24
    LongDailySessions,
    /// TSBS iot avg-vs-projected-fuel-consumption: mean consumption beside the nominal one
    AvgVsProjectedFuelConsumption,
    /// TSBS iot avg-daily-driving-duration: time that each truck drove per day
    AvgDailyDrivingDuration,
    /// TSBS iot avg-daily-driving-session: time that each truck drove, and rests in between
    AvgDailyDrivingSession,
    /// TSBS iot avg-load: mean load per fleet and capacity
    AvgLoad,
    /// TSBS iot daily-activity: time per day, fleet and model without trouble
    DailyActivity,
    /// TSBS iot breakdown-frequency: time with trouble per model, and how often it came
    BreakdownFrequency,
    /// What a TOML file describes
    #[value(skip)]
    #[serde(untagged)]
    Written(&'static WrittenKind),
}

impl Kind {
    /// The kinds of iotdb-benchmark's read mix.
    pub(crate) const DEVICE: [Kind; 5] =
        [Kind::Point, Kind::Range, Kind::Aggregate, Kind::Downsample, Kind::Last];

    /// The kinds that can be asked about a profile: those of its own, and those of anything.
    pub(crate) fn about(profile: Profile) -> Vec<Kind> {
        let all = Kind::value_variants().iter().copied();
        all.filter(|kind| !kind.is_iot() || profile == Profile::TsbsIot).collect()
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
            Some(sources) => Sources::These(some(sources, oracle, draws.bits())),
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

/// `count` different sources among those that the oracle knows.
fn some(count: u64, oracle: &Oracle<'_>, key: u64) -> Vec<u64> {
    let known = oracle.end_source - oracle.first_source;
    let pick = |at| oracle.first_source + permute(at, known, key);
    let mut some: Vec<u64> = (0..count.min(known)).map(pick).collect();
    some.sort_unstable();
    some
}

/// The 50 neighbours of one farm, as far as the oracle knows them.
fn farm(oracle: &Oracle<'_>, bits: u64) -> Vec<u64> {
    const NEIGHBOURS: u64 = 50;
    let farms = (oracle.end_source - oracle.first_source).div_ceil(NEIGHBOURS).max(1);
    let first = oracle.first_source + bits % farms * NEIGHBOURS;
    (first..(first + NEIGHBOURS).min(oracle.end_source)).collect()
}
