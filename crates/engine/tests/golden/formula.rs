//! What the golden data directories hold, by formula: the steps in which they were made, and what a
//! reader must find. Nothing here knows the store.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "each target uses its own part of this"
)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "see above")]

use std::collections::BTreeMap;

pub const SECOND_NS: i64 = 1_000_000_000;
pub const DAY_NS: i64 = 86_400 * SECOND_NS;
/// The wall clock when a directory was made, and whenever a test reads it.
pub const NOW_NS: i64 = 1_700_000_000 * SECOND_NS;
/// Samples of measurement `debug` are kept so long, by a rule.
pub const DEBUG_KEPT_NS: i64 = 2 * DAY_NS;
/// Samples of the second namespace are kept so long.
pub const MONTH_KEPT_NS: i64 = 10 * DAY_NS;
/// Database and policy by number.
pub const NAMESPACES: [(&str, &str); 2] = [("default", "autogen"), ("größe", "month")];

/// Samples of the longest series.
const SAMPLES: i64 = 1300;

/// A value as it is written; decimals are read as floats.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// IEEE 754 bits.
    Float(u64),
    Decimal(i64, u8),
    Integer(i64),
    Unsigned(u64),
    Boolean(bool),
    String(String),
    Histogram(Vec<u8>),
}

impl Value {
    fn read(&self) -> Self {
        match self {
            Self::Decimal(mantissa, scale) => {
                Self::Float(format!("{mantissa}e-{scale}").parse::<f64>().unwrap().to_bits())
            }
            other => other.clone(),
        }
    }
}

/// A row: a namespace's number, a source and its fields at one time.
#[derive(Clone, Debug)]
pub struct Row {
    pub namespace: usize,
    pub measurement: &'static str,
    pub labels: Vec<(&'static str, String)>,
    pub time_ns: i64,
    pub fields: Vec<(&'static str, Value)>,
}

/// What the program that makes a directory does, one after the other.
#[derive(Clone, Debug)]
pub enum Step {
    Write(Vec<Row>),
    /// A fact of the catalog; nothing takes it away.
    Fact(&'static str, &'static str, Option<&'static [u8]>),
    /// Deletes from series of a measurement, with this host, from and to instants included.
    Delete(&'static str, &'static str, i64, i64),
    /// Drops series likewise.
    Drop(&'static str, &'static str),
    Flush,
    /// Merges parts as they are due.
    Maintain,
    /// Merges them to the last level.
    MergeAll,
    BeginEpoch,
    /// The second namespace keeps its samples for so long.
    Keep(i64),
}

/// A series: namespace, measurement, labels by name, field.
pub type Series = (usize, String, Vec<(String, String)>, String);
/// All samples that a reader finds.
pub type Found = BTreeMap<Series, BTreeMap<i64, Value>>;

/// A random number from 0 to `end` - 1, by its place (the finaliser of SplitMix64).
fn random(place: i64, end: u64) -> u64 {
    let mut x = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) % end
}

fn any(place: i64) -> u64 {
    random(place, u64::MAX)
}

/// Fields whose values want each layout, domain and exception of a block.
fn fields(i: i64) -> Vec<(&'static str, Value)> {
    let integer = Value::Integer;
    vec![
        ("constant", Value::Decimal(425, 1)),
        ("linear", integer(i * 3 - 70)),
        ("frame", integer(random(i, 1000) as i64)),
        ("counter", integer((0..=i).map(|i| 50 + random(i + 7, 10) as i64).sum())),
        ("curve", integer(i * i * 5 + random(i, 3) as i64)),
        ("trend", integer(i * 707 + random(i, 40) as i64)),
        ("runs", integer(random(i / 20, 1 << 40) as i64)),
        ("few", integer([1, -5_000_000_000_000, 77, 1 << 50][random(i, 4) as usize])),
        ("outliers", integer(if i % 190 == 3 { 1 << 44 } else { random(i, 16) as i64 })),
        ("wide", integer(any(i) as i64)),
        ("coarse", integer(random(i, 500) as i64 * 4096)),
        ("money", Value::Decimal(random(i, 100_000) as i64 - 30_000, 2)),
        ("mixed", if i % 7 == 0 { integer(i) } else { Value::Decimal(i * 10 + 5, 1) }),
        (
            "bits",
            Value::Float(match i % 50 {
                0 => (-0.0f64).to_bits(),
                1 => f64::NAN.to_bits() | 5,
                2 => f64::NEG_INFINITY.to_bits(),
                _ => (random(i, 1000) as f64).sqrt().to_bits(),
            }),
        ),
        ("unsigned", Value::Unsigned(u64::MAX - random(i, 1 << 20))),
        ("up", Value::Boolean(random(i, 10) > 2)),
        ("state", state(i)),
        ("sketch", Value::Histogram(vec![i as u8; (i % 4) as usize])),
        ("odd", odd(i)),
    ]
}

/// Words, and now and then a number.
fn state(i: i64) -> Value {
    match i % 300 {
        7 => Value::Integer(i),
        _ => Value::String(["idle", "läuft", "", "stopped"][random(i, 4) as usize].into()),
    }
}

/// Integers, and now and then something else.
fn odd(i: i64) -> Value {
    match i % 320 {
        10 => Value::Float(std::f64::consts::PI.to_bits()),
        60 => Value::Decimal(12_345, 3),
        110 => Value::Unsigned(1 << 63),
        160 => Value::Boolean(true),
        210 => Value::String("odd".into()),
        260 => Value::Histogram(vec![1, 2, 3]),
        _ => Value::Integer(i % 100),
    }
}

/// When sample `i` of a host is taken: in each unit, regularly and not, or on a coarse grid.
fn time(host: &str, from_ns: i64, i: i64) -> i64 {
    let late_ns = match host {
        "gaps" => return from_ns + (i * 3 + random(i, 3) as i64) * 15 * SECOND_NS,
        "ms" => random(i, 900) as i64 * 1_000_000,
        "us" => random(i, 900_000) as i64 * 1_000,
        "ns" => random(i, 900_000_000) as i64,
        _ => 0,
    };
    from_ns + i * 10 * SECOND_NS + late_ns
}

fn row(namespace: usize, host: &str, time_ns: i64, fields: Vec<(&'static str, Value)>) -> Row {
    let labels = vec![("dc", "eu-1".to_owned()), ("host", host.to_owned())];
    Row { namespace, measurement: "m", labels, time_ns, fields }
}

/// All fields of one host, and some of others whose clocks are finer.
fn long(from_ns: i64) -> Step {
    let mut rows = Vec::new();
    for i in 0..SAMPLES {
        rows.push(row(0, "s", time("s", from_ns, i), fields(i)));
        for host in ["gaps", "ms", "us", "ns"] {
            let some = fields(i).into_iter().filter(|(name, _)| ["frame", "up"].contains(name));
            rows.push(row(0, host, time(host, from_ns, i), some.collect()));
        }
    }
    Step::Write(rows)
}

/// Twenty hosts, some samples each, every `round` other values at the same times.
fn short(round: i64, from_ns: i64, minutes: i64) -> Step {
    let row = |(minute, host): (i64, i64)| {
        let value = Value::Integer(round * 1_000_000 + host * 1000 + minute);
        row(0, &format!("h{host:02}"), from_ns + minute * 60 * SECOND_NS, vec![("value", value)])
    };
    Step::Write(
        (0..minutes).flat_map(|minute| (0..20).map(move |host| (minute, host))).map(row).collect(),
    )
}

/// Samples of the kept-shorter measurement and namespace, every six hours for fifteen days.
fn aging() -> Step {
    let mut rows = Vec::new();
    for quarter in 1..60 {
        let time_ns = NOW_NS - quarter * DAY_NS / 4;
        let value = vec![("value", Value::Decimal(quarter * 25, 2))];
        rows.push(row(1, "old", time_ns, value.clone()));
        if time_ns >= NOW_NS - DEBUG_KEPT_NS {
            rows.push(Row { measurement: "debug", ..row(0, "old", time_ns, value) });
        }
    }
    Step::Write(rows)
}

/// The steps in which the directory of format version 2 was made.
pub fn steps() -> Vec<Step> {
    let (week, day) = (NOW_NS - 8 * DAY_NS, NOW_NS - DAY_NS);
    vec![
        Step::Fact("note", "first", Some(b"kept")),
        Step::Fact("note", "second", Some(b"taken away")),
        long(week),
        short(0, week, 30),
        Step::Flush,
        short(1, week, 5),
        aging(),
        Step::Flush,
        Step::MergeAll,
        // A name that stays behind in the first epoch, and one that goes on.
        Step::BeginEpoch,
        short(2, day, 30),
        Step::Flush,
        short(3, day, 5),
        Step::Flush,
        // The newest part of a window is left alone: three make a merge of two.
        short(7, day, 4),
        Step::Flush,
        Step::Maintain,
        short(4, day + DAY_NS / 4, 20),
        Step::Fact("note", "second", None),
        Step::Delete("m", "s", week + 1000 * SECOND_NS, week + 3999 * SECOND_NS),
        Step::Drop("m", "h07"),
        Step::Flush,
        Step::Keep(MONTH_KEPT_NS),
        // From here on only the wal has it.
        short(5, day + DAY_NS / 4, 3),
        Step::Write(vec![row(0, "new", NOW_NS, fields(77))]),
        Step::Delete("m", "h03", day, NOW_NS),
        Step::Fact("note", "third", Some(&[0, 255, 10])),
        short(6, NOW_NS - 600 * SECOND_NS, 2),
    ]
}

/// What a reader finds after these steps, worked out in plain maps.
pub fn expected(steps: &[Step]) -> (Found, BTreeMap<(String, String), Vec<u8>>) {
    let (mut found, mut facts) = (Found::new(), BTreeMap::new());
    let is = |series: &Series, measurement: &str, host: &str| {
        series.1 == measurement && series.2.iter().any(|(n, v)| n == "host" && v == host)
    };
    let mut month_kept_ns = i64::MAX;
    for step in steps {
        match step {
            Step::Write(rows) => rows.iter().for_each(|row| put(&mut found, row)),
            Step::Fact(kind, key, bytes) => {
                let key = ((*kind).to_owned(), (*key).to_owned());
                match bytes {
                    Some(bytes) => facts.insert(key, bytes.to_vec()),
                    None => facts.remove(&key),
                };
            }
            Step::Delete(measurement, host, from_ns, to_ns) => {
                for (series, samples) in &mut found {
                    if is(series, measurement, host) {
                        samples.retain(|time_ns, _| !(from_ns..=to_ns).contains(&time_ns));
                    }
                }
            }
            Step::Drop(measurement, host) => {
                found.retain(|series, _| !is(series, measurement, host));
            }
            Step::Keep(kept_ns) => month_kept_ns = *kept_ns,
            Step::Flush | Step::Maintain | Step::MergeAll | Step::BeginEpoch => {}
        }
    }
    for (series, samples) in &mut found {
        let kept_ns = match (series.0, &*series.1) {
            (1, _) => month_kept_ns,
            (_, "debug") => DEBUG_KEPT_NS,
            _ => i64::MAX,
        };
        samples.retain(|time_ns, _| *time_ns >= NOW_NS.saturating_sub(kept_ns));
    }
    (found, facts)
}

fn put(found: &mut Found, row: &Row) {
    let labels: Vec<_> = row.labels.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect();
    for (field, value) in &row.fields {
        let series =
            (row.namespace, row.measurement.to_owned(), labels.clone(), (*field).to_owned());
        found.entry(series).or_default().insert(row.time_ns, value.read());
    }
}
