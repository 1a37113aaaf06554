//! Profiles: the worlds that data can come from. Each is a TOML file that says which published
//! model it follows, but for the wind farm, whose sensors follow one simulated wind. A profile
//! names tables, labels and laws; it draws nothing itself except its labels.

use std::path::Path;

use serde::{Serialize, Serializer};

mod table;
pub(crate) mod trucks;
pub(crate) mod wind;
mod worlds;
mod written;

pub(crate) use table::{Label, LabelValue, Table};
use written::Written;

/// Which world the data come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// A wind farm: turbines with 50 or 150 sensors
    Wind,
    /// What a TOML file describes
    Written(&'static Written),
}

/// Name of the one world that no file describes.
const WIND: &str = "wind";

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Profile {
    /// TSBS cpu-only: hosts with ten labels and ten whole numbers between 0 and 100.
    pub(crate) fn tsbs_cpu() -> Profile {
        Profile::Written(*worlds::TSBS_CPU)
    }

    /// TSBS devops: nine measurements and 101 fields a host.
    pub(crate) fn tsbs_devops() -> Profile {
        Profile::Written(*worlds::TSBS_DEVOPS)
    }

    /// TSBS iot: trucks that report positions and diagnostics.
    pub(crate) fn tsbs_iot() -> Profile {
        Profile::Written(*worlds::TSBS_IOT)
    }

    /// iotdb-benchmark's functions of time, values with two decimals.
    pub(crate) fn iotdb() -> Profile {
        Profile::Written(*worlds::IOTDB)
    }

    /// Containers that live for an hour on average and are replaced.
    pub(crate) fn churn() -> Profile {
        Profile::Written(*worlds::CHURN)
    }

    /// Sources that report at one step in ten.
    pub(crate) fn sparse() -> Profile {
        Profile::Written(*worlds::SPARSE)
    }

    /// The profile of this name, or of this TOML file.
    pub(crate) fn parse(text: &str) -> Result<Profile, String> {
        if text.ends_with(".toml") {
            return Written::read(Path::new(text)).map(Profile::Written);
        }
        if text == WIND {
            return Ok(Profile::Wind);
        }
        let all = worlds::all();
        let known = all.iter().find(|written| written.name() == text);
        known.map(|written| Profile::Written(written)).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|written| written.name()).collect();
            format!("name a TOML file or one of {}, {WIND}", names.join(", "))
        })
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Profile::Wind => WIND,
            Profile::Written(written) => written.name(),
        }
    }

    /// Interval between two steps when the command line does not say, milliseconds.
    pub(crate) fn interval_ms(self) -> i64 {
        match self {
            Profile::Wind => 7_000,
            Profile::Written(written) => written.interval_ms(),
        }
    }

    /// Fields of a source when the command line does not say; 0 = the profile fixes them.
    pub(crate) fn fields(self) -> usize {
        match self {
            Profile::Wind => 50,
            Profile::Written(written) => written.fields(),
        }
    }

    /// The tables, with so many fields where the profile leaves the choice.
    pub(crate) fn tables(self, seed: u64, fields: usize) -> Vec<Table> {
        match self {
            Profile::Wind => vec![wind::table(seed, fields)],
            Profile::Written(written) => written.tables(seed, fields),
        }
    }

    /// Appends the labels that `source`, one of so many, has in `table` at `step`.
    pub(crate) fn labels(
        self,
        seed: u64,
        sources: u64,
        source: u64,
        step: u64,
        table: usize,
        out: &mut Vec<Label>,
    ) {
        match self {
            Profile::Wind => wind::labels(source, out),
            Profile::Written(written) => written.labels(seed, sources, source, step, table, out),
        }
    }

    /// Whether a source keeps its labels from step to step.
    pub(crate) fn has_fixed_labels(self) -> bool {
        match self {
            Profile::Wind => true,
            Profile::Written(written) => written.has_fixed_labels(),
        }
    }

    /// Whether `source` reports at `step`.
    #[inline]
    pub(crate) fn reports(self, seed: u64, source: u64, step: u64) -> bool {
        match self {
            Profile::Wind => true,
            Profile::Written(written) => written.reports(seed, source, step),
        }
    }

    /// Steps after which the same values come again, for all sources alike.
    #[inline]
    pub(crate) fn repeats_steps(self) -> Option<u64> {
        match self {
            Profile::Wind => None,
            Profile::Written(written) => written.repeats_steps(),
        }
    }
}
