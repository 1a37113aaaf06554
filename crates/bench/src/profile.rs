//! Profiles: the worlds that data can come from. Each file says which published model it follows.
//! A profile names tables, labels and laws; it draws nothing itself except its labels.

use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use crate::fleet::{Label, Shape, Table};
use crate::random::Draws;

mod churn;
mod iotdb;
mod sparse;
mod tsbs_cpu;
mod tsbs_devops;
mod tsbs_iot;
pub(crate) mod wind;
mod written;

pub(crate) use iotdb::ROWS_REPEATED;
pub(crate) use sparse::reports as sparse_reports;
pub(crate) use tsbs_iot::{CAPACITIES, FLEETS};
use written::Written;

/// Which world the data come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Profile {
    /// TSBS cpu-only: hosts with ten labels and ten whole numbers between 0 and 100
    TsbsCpu,
    /// TSBS devops: nine measurements and 101 fields a host
    TsbsDevops,
    /// TSBS iot: trucks that report positions and diagnostics
    TsbsIot,
    /// iotdb-benchmark's functions of time, values with two decimals
    Iotdb,
    /// the same with its table of 100 rows, shared by all devices, of whole numbers
    IotdbRepeating,
    /// A wind farm: turbines with 50 or 150 sensors
    Wind,
    /// Containers that live for an hour on average and are replaced
    Churn,
    /// Sources that report at one step in ten
    Sparse,
    /// What a TOML file describes
    #[value(skip)]
    #[serde(untagged)]
    Written(&'static Written),
}

impl Profile {
    /// The profile of this name, or of this TOML file.
    pub(crate) fn parse(text: &str) -> Result<Profile, String> {
        if text.ends_with(".toml") {
            return Written::read(Path::new(text)).map(Profile::Written);
        }
        Profile::from_str(text, false).map_err(|_| {
            let names = Profile::value_variants().iter().filter_map(Profile::to_possible_value);
            let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
            format!("name a TOML file or one of {}", names.join(", "))
        })
    }

    /// Interval between two steps when the command line does not say, milliseconds.
    pub(crate) fn interval_ms(self) -> i64 {
        match self {
            Profile::Iotdb | Profile::IotdbRepeating => 5_000,
            Profile::Wind => 7_000,
            Profile::Churn => 15_000,
            Profile::TsbsCpu => tsbs_cpu::written().interval_ms(),
            Profile::Written(written) => written.interval_ms(),
            _ => 10_000,
        }
    }

    /// Fields of a source when the command line does not say; 0 = the profile fixes them.
    pub(crate) fn fields(self) -> usize {
        match self {
            Profile::Iotdb | Profile::IotdbRepeating => 10,
            Profile::Wind => 50,
            Profile::Churn => 5,
            Profile::Sparse => 4,
            _ => 0,
        }
    }
}

/// The tables of a profile.
pub(crate) fn tables(shape: &Shape) -> Vec<Table> {
    match shape.profile {
        Profile::TsbsCpu => tsbs_cpu::written().tables(),
        Profile::TsbsDevops => tsbs_devops::tables(),
        Profile::TsbsIot => tsbs_iot::tables(),
        Profile::Iotdb | Profile::IotdbRepeating => vec![iotdb::table(shape)],
        Profile::Wind => vec![wind::table(shape)],
        Profile::Churn => vec![churn::table(shape)],
        Profile::Sparse => vec![sparse::table(shape)],
        Profile::Written(written) => written.tables(),
    }
}

/// Appends the labels of `source` in `table` at `step`.
pub(crate) fn labels(shape: &Shape, source: u64, step: u64, table: usize, out: &mut Vec<Label>) {
    match shape.profile {
        Profile::TsbsCpu => tsbs_cpu::written().labels(shape, source, out),
        Profile::TsbsDevops => tsbs_devops::labels(shape, source, table, out),
        Profile::TsbsIot => tsbs_iot::labels(shape, source, out),
        Profile::Iotdb | Profile::IotdbRepeating => iotdb::labels(source, out),
        Profile::Wind => wind::labels(source, out),
        Profile::Churn => churn::labels(shape, source, step, out),
        Profile::Sparse => sparse::labels(source, out),
        Profile::Written(written) => written.labels(shape, source, out),
    }
}

/// One of `choices`, which must not be empty.
fn one_of<T: Copy + Default>(choices: &[T], draws: &mut Draws) -> T {
    choices.get(draws.below(choices.len() as u64) as usize).copied().unwrap_or_default()
}
