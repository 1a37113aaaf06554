//! The kinds of questions by name.

use clap::ValueEnum;
use serde::Serialize;

use super::written::WrittenKind;

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
