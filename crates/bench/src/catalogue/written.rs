//! Kinds of questions that are TOML files: what is asked of which table, of how many sources, over
//! which window. The oracle answers them as any other kind.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};

use crate::fleet::Fleet;
use crate::oracle::Oracle;
use crate::question::{Ask, Function, MINUTE_MS, Question, Sources};
use crate::random::Draws;

/// Sources that one question names; more do not fit into a request of every language.
const SOURCES_MAX: u64 = 1000;

/// Longest window and bucket: ten years.
const SECONDS_MAX: i64 = 10 * 366 * 86_400;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "question")]
    questions: Vec<WrittenKind>,
}

/// A kind of question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenKind {
    name: String,
    /// Measurement that is asked about.
    table: String,
    fields: Vec<String>,
    /// Number of sources, drawn anew for each question; without it all of them.
    sources: Option<u64>,
    /// Length of the window, which lies at a random place of the data; without it all of them.
    window_s: Option<i64>,
    ask: WrittenAsk,
}

/// What is asked, under the names of files.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenAsk {
    /// Every sample; only those above a bound when one is given.
    Samples {
        #[serde(default)]
        descending: bool,
        above: Option<i64>,
    },
    /// One number per series, or of all together; per bucket when one is given.
    Aggregate {
        function: Function,
        #[serde(default)]
        together: bool,
        bucket_s: Option<i64>,
    },
    /// One number per series, of its samples above a bound.
    AggregateAbove { function: Function, above: i64 },
    /// The newest buckets of all series together.
    Newest { function: Function, bucket_s: i64, count: usize },
    /// The newest sample of each series, without a window.
    Last,
}

impl WrittenKind {
    /// Reads a file of questions about a fleet; they stay in memory, as the kinds of the binary do.
    pub(crate) fn read(path: &Path, fleet: &Fleet) -> io::Result<Vec<&'static WrittenKind>> {
        let at = |error: String| io::Error::other(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
        let file: File = toml::from_str(&text).map_err(|error| at(error.to_string()))?;
        let check = |kind: &WrittenKind| {
            kind.check(fleet).map_err(|error| at(format!("question {}: {error}", kind.name)))
        };
        file.questions.iter().try_for_each(check)?;
        let kept = file.questions.into_iter().map(|kind| &*Box::leak(Box::new(kind)));
        Ok(kept.collect())
    }

    /// Tells the kinds apart where their questions are drawn.
    pub(super) fn number(&self) -> u64 {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0193);
        // FNV-1a; above the numbers of the kinds in the binary, below 2^32.
        0x100 | self.name.bytes().fold(0x811c_9dc5, step) & 0xffff_fe00
    }

    /// Draws a question of this kind; about nothing where the fleet is not the one it was read for.
    pub(super) fn question(&self, oracle: &Oracle<'_>, draws: &mut Draws) -> Question {
        let (table, fields) = self.fields(oracle.fleet).unwrap_or_default();
        let sources = match self.sources {
            Some(count) => Sources::These(oracle.some(count, draws.bits())),
            None => Sources::All,
        };
        let ask = self.ask();
        let begin = oracle.fleet.time_ms(oracle.first_step);
        let end = oracle.fleet.time_ms(oracle.end_step);
        let (from_ms, to_ms) = match self.window_s {
            None => (begin, end),
            Some(seconds) => {
                let (length, grain) = (seconds * 1000, self.grain_ms());
                let room = ((end - begin - length) / grain).max(0) as u64 + 1;
                let from = begin + draws.below(room) as i64 * grain;
                let from = from - from.rem_euclid(grain);
                (from, from + length)
            }
        };
        Question { table, fields, sources, from_ms, to_ms, ask }
    }

    fn ask(&self) -> Ask {
        match self.ask {
            WrittenAsk::Samples { descending, above } => Ask::Samples { descending, above },
            WrittenAsk::Aggregate { function, together, bucket_s } => {
                let bucket_ms = bucket_s.map(|seconds| seconds * 1000);
                Ask::Aggregate { function, per_series: !together, bucket_ms }
            }
            WrittenAsk::AggregateAbove { function, above } => {
                Ask::AggregateAbove { function, above }
            }
            WrittenAsk::Newest { function, bucket_s, count } => {
                Ask::Newest { function, bucket_ms: bucket_s * 1000, count }
            }
            WrittenAsk::Last => Ask::Last,
        }
    }

    /// Windows begin and end with buckets: only then do all languages mean the same.
    fn grain_ms(&self) -> i64 {
        self.bucket_s().map_or(MINUTE_MS, |seconds| seconds * 1000)
    }

    fn bucket_s(&self) -> Option<i64> {
        match self.ask {
            WrittenAsk::Aggregate { bucket_s, .. } => bucket_s,
            WrittenAsk::Newest { bucket_s, .. } => Some(bucket_s),
            _ => None,
        }
    }

    /// Numbers of the table and of the fields; none when the fleet has no such.
    fn fields(&self, fleet: &Fleet) -> Option<(usize, Vec<usize>)> {
        let at = fleet.tables.iter().position(|table| table.name == self.table)?;
        let table = fleet.tables.get(at)?;
        let field = |name: &String| table.fields.iter().position(|field| field.name == *name);
        Some((at, self.fields.iter().map(field).collect::<Option<_>>()?))
    }

    fn check(&self, fleet: &Fleet) -> Result<(), String> {
        if self.fields.is_empty() || self.fields(fleet).is_none() {
            return Err(format!("the profile has no {:?} in a table {}", self.fields, self.table));
        }
        if self.sources.is_some_and(|count| !(1..=SOURCES_MAX).contains(&count)) {
            return Err(format!("sources: from 1 to {SOURCES_MAX}, or none for all"));
        }
        let seconds = [self.window_s, self.bucket_s()];
        if seconds.into_iter().flatten().any(|seconds| !(1..=SECONDS_MAX).contains(&seconds)) {
            return Err(format!("window_s and bucket_s: from 1 to {SECONDS_MAX}"));
        }
        match self.window_s.zip(self.bucket_s()) {
            Some((window, bucket)) if window % bucket != 0 => {
                Err(format!("window_s = {window} is no multiple of bucket_s = {bucket}"))
            }
            _ => Ok(()),
        }
    }
}

/// Kinds are told apart by their names.
impl PartialEq for WrittenKind {
    fn eq(&self, other: &WrittenKind) -> bool {
        self.name == other.name
    }
}

impl Eq for WrittenKind {}

impl PartialOrd for WrittenKind {
    fn partial_cmp(&self, other: &WrittenKind) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WrittenKind {
    fn cmp(&self, other: &WrittenKind) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl Serialize for WrittenKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}
