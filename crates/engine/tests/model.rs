//! The store against a naive map: random writes, late writes, updates, deletes, drops, flushes,
//! merges and restarts over all kinds of values. The oracle is a `BTreeMap`.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine};
use foliot_model::{Matcher, Selector, Test, TimeRange};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "store";
const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_700_000_000 * SECOND;

type Oracle = BTreeMap<(u32, String, String), BTreeMap<i64, Owned>>;

#[derive(Clone, Debug)]
enum Step {
    Write {
        namespace: u32,
        lines: Vec<Line>,
    },
    Flush,
    Delete {
        measurement: &'static str,
        host: Option<u8>,
        field: Option<&'static str>,
        from: i64,
        to: i64,
    },
    Drop {
        measurement: &'static str,
        host: u8,
    },
    Maintain,
    MergeAll,
    Reopen,
    /// Begin an epoch, as when most series have gone quiet.
    Epoch,
    Check {
        from: i64,
        to: i64,
    },
}

fn value() -> impl Strategy<Value = Owned> {
    prop_oneof![
        6 => (-1000i64..1000).prop_map(Owned::Integer),
        6 => ((-100_000i64..100_000), 0u8..4).prop_map(|(m, s)| Owned::Decimal(m, s)),
        2 => any::<u64>().prop_map(Owned::Float),
        1 => any::<i64>().prop_map(Owned::Integer),
        1 => any::<u64>().prop_map(Owned::Unsigned),
        1 => any::<bool>().prop_map(Owned::Boolean),
        1 => "[a-zé]{0,40}".prop_map(Owned::String),
        1 => prop::collection::vec(any::<u8>(), 0..300).prop_map(Owned::Histogram),
    ]
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => (0i64..600).prop_map(|i| START + i * 10 * SECOND),
        2 => (0i64..6_000_000).prop_map(|i| START + i * 1_000_000),
        1 => any::<i64>(),
        1 => (0i64..60).prop_map(|i| START + i * 86_400 * SECOND),
    ]
}

fn line() -> impl Strategy<Value = Line> {
    let fields = prop::sample::subsequence(vec!["a", "b", "c", "d"], 1..=4);
    let key = (0u8..6, prop_oneof![Just("m"), Just("n")], any::<bool>());
    (key, time(), fields, prop::collection::vec(value(), 4)).prop_map(
        |((host, measurement, turned), time_ns, fields, values)| {
            let key = match turned {
                false => format!("{measurement} host=h{host} dc=x"),
                true => format!("{measurement} dc=x host=h{host}"),
            };
            let fields = fields.into_iter().map(str::to_owned).zip(values).collect();
            Line { key, time_ns, fields }
        },
    )
}

/// A stretch of regular samples, long enough to seal blocks; half of them come late by some steps.
fn stretch() -> impl Strategy<Value = Vec<Line>> {
    let shape = (0u8..6, 0i64..300, prop::collection::vec(any::<u16>(), 1..1500));
    let lateness = prop_oneof![Just(1usize), Just(20), Just(300)];
    (shape, lateness, value(), value()).prop_map(|((host, from, dice), lateness, a, b)| {
        let line = |i: usize| Line {
            key: format!("m host=h{host} dc=x"),
            time_ns: START + (from + i as i64) * 10 * SECOND,
            fields: vec![
                ("a".to_owned(), if i % 50 == 49 { b.clone() } else { a.clone() }),
                ("b".to_owned(), Owned::Integer(i as i64 % 90)),
            ],
        };
        let delay =
            |dice: u16| if dice.is_multiple_of(2) { usize::from(dice) % lateness } else { 0 };
        let mut arrivals: Vec<_> =
            dice.iter().enumerate().map(|(i, dice)| (i + delay(*dice), i)).collect();
        arrivals.sort_unstable();
        arrivals.into_iter().map(|(_, i)| line(i)).collect()
    })
}

fn measurement() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("m"), Just("n")]
}

/// A delete: of one sample, of a stretch, of all time; of a host or all, of a field or all.
fn deletion() -> impl Strategy<Value = Step> {
    let range = prop_oneof![
        time().prop_map(|time| (time, time)),
        (time(), 0i64..4000).prop_map(|(from, len)| (from, from.saturating_add(len * SECOND))),
        Just((i64::MIN, i64::MAX)),
    ];
    let field = prop::option::of(prop::sample::select(vec!["a", "b", "c", "d"]));
    (measurement(), prop::option::of(0u8..6), field, range).prop_map(
        |(measurement, host, field, (from, to))| Step::Delete {
            measurement,
            host,
            field,
            from,
            to,
        },
    )
}

fn narrow(measurement: &str, host: Option<u8>, field: Option<&str>) -> Selector {
    let mut selector = selector(0, measurement);
    if let Some(host) = host {
        selector.matchers.push(Matcher {
            name: "host".to_owned(),
            test: Test::equal(format!("h{host}")),
            negated: false,
            accepts_absent: false,
        });
    }
    if let (Some(name), Some(field)) = (selector.names.first_mut(), field) {
        name.field = Test::equal(field);
    }
    selector
}

/// Takes samples out of the oracle, and tells of how many series and how many.
fn forget(
    oracle: &mut Oracle,
    selector: (&str, Option<u8>, Option<&str>),
    range: TimeRange,
) -> (u64, u64) {
    let (measurement, host, field) = selector;
    let (mut series, mut samples) = (0, 0);
    for ((namespace, key, of_field), held) in oracle.iter_mut() {
        let is_meant = *namespace == 0
            && key.starts_with(&format!("{measurement} "))
            && host.is_none_or(|host| key.ends_with(&format!("host=h{host}")))
            && field.is_none_or(|field| field == of_field);
        if is_meant {
            let before = held.len();
            held.retain(|time_ns, _| !range.contains(*time_ns));
            series += u64::from(held.len() < before);
            samples += (before - held.len()) as u64;
        }
    }
    (series, samples)
}

fn step() -> impl Strategy<Value = Step> {
    let lines = prop_oneof![3 => prop::collection::vec(line(), 1..40), 2 => stretch()];
    prop_oneof![
        8 => (0u32..2, lines).prop_map(|(namespace, lines)| Step::Write { namespace, lines }),
        2 => deletion(),
        1 => (measurement(), 0u8..6)
            .prop_map(|(measurement, host)| Step::Drop { measurement, host }),
        3 => Just(Step::Flush),
        2 => Just(Step::Maintain),
        1 => Just(Step::MergeAll),
        1 => Just(Step::Reopen),
        1 => Just(Step::Epoch),
        1 => (time(), time()).prop_map(|(from, to)| Step::Check { from, to }),
    ]
}

fn open(disk: &SimDisk) -> Engine {
    // Two parts are enough for a merge, so that all levels are reached.
    let config = Config { merge_parts: 2, background: false, ..Config::default() };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, Path::new(DIR), config).unwrap()
}

fn note(oracle: &mut Oracle, namespace: u32, lines: &[Line]) {
    for line in lines {
        let mut words: Vec<_> = line.key.split(' ').collect();
        words[1..].sort_unstable();
        for (field, value) in &line.fields {
            let series = (namespace, words.join(" "), field.clone());
            oracle.entry(series).or_default().insert(line.time_ns, value.read());
        }
    }
}

fn check(engine: &Engine, oracle: &Oracle, range: TimeRange) {
    let snapshot = engine.snapshot();
    let mut missing: BTreeSet<_> = oracle.keys().collect();
    for namespace in 0..2 {
        for measurement in ["m", "n"] {
            for sid in snapshot.select(&selector(namespace, measurement), range).unwrap() {
                let identity = snapshot.identity(sid).unwrap().unwrap();
                let mut key = identity.measurement.to_string();
                for label in &identity.labels {
                    key.push_str(&format!(" {}={}", label.name, label.value));
                }
                let series = (namespace, key, identity.field.to_string());
                let expected: Vec<_> = oracle[&series]
                    .range(range.start_ns..=range.end_ns.max(range.start_ns))
                    .map(|(time, value)| (*time, value.clone()))
                    .collect();
                assert_eq!(read(&snapshot, sid, range), expected, "{series:?}");
                if range == TimeRange::ALL {
                    let last = snapshot.last(sid).unwrap();
                    let last = last.as_ref().and_then(|last| last.iter().next());
                    let last = last.map(|(time, value)| (time, Owned::of(value)));
                    let expected = oracle[&series].last_key_value();
                    assert_eq!(last, expected.map(|(time, value)| (*time, value.clone())));
                }
                assert!(missing.remove(&series), "{series:?} is selected twice");
            }
        }
    }
    // Of a closed epoch only what may have samples is looked at.
    let is_empty = |series: &&&_| {
        oracle[**series].range(range.start_ns..=range.end_ns.max(range.start_ns)).next().is_none()
    };
    assert_eq!(missing.iter().find(|series| !is_empty(series)), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn the_store_is_a_map(steps in prop::collection::vec(step(), 1..24)) {
        let disk = SimDisk::new(7);
        let mut engine = open(&disk);
        engine.create_namespace("other", "autogen").unwrap();
        let mut oracle = Oracle::new();
        for step in steps {
            match step {
                Step::Write { namespace, lines } => {
                    let (commit, rejects) = write(&engine, namespace, &lines);
                    prop_assert_eq!(rejects, vec![]);
                    engine.wait(commit.unwrap(), Ack::Os).unwrap();
                    note(&mut oracle, namespace, &lines);
                }
                Step::Flush => engine.flush().unwrap(),
                Step::Epoch => engine.begin_epoch().unwrap(),
                Step::Delete { measurement, host, field, from, to } => {
                    let range = TimeRange::new(from, to);
                    let selector = narrow(measurement, host, field);
                    let doomed = [(selector.clone(), range), (selector.clone(), range)];
                    let preview = engine.preview_delete(&doomed, &|| true).unwrap();
                    let caller = Caller::default();
                    let (deleted, commit) = engine.delete(&selector, range, &caller).unwrap();
                    prop_assert_eq!(preview, deleted);
                    engine.wait(commit, Ack::Os).unwrap();
                    let counted = forget(&mut oracle, (measurement, host, field), range);
                    prop_assert_eq!((deleted.series, deleted.samples), counted);
                    prop_assert_eq!(deleted.bytes > 0, deleted.samples > 0);
                    check(&engine, &oracle, TimeRange::ALL);
                }
                Step::Drop { measurement, host } => {
                    let selector = narrow(measurement, Some(host), None);
                    let all = TimeRange::ALL;
                    let before = engine.snapshot().select(&selector, all).unwrap();
                    engine.drop_series(&selector, &Caller::default()).unwrap();
                    let end = format!("host=h{host}");
                    oracle.retain(|(namespace, key, _), _| {
                        *namespace != 0 || !key.starts_with(measurement) || !key.ends_with(&end)
                    });
                    prop_assert_eq!(engine.snapshot().select(&selector, all).unwrap(), vec![]);
                    let is_empty = |&sid| read(&engine.snapshot(), sid, all).is_empty();
                    prop_assert!(before.iter().all(is_empty));
                    check(&engine, &oracle, TimeRange::ALL);
                }
                Step::Maintain => {
                    engine.maintain().unwrap();
                }
                Step::MergeAll => engine.merge_all().unwrap(),
                Step::Reopen => {
                    engine.close().unwrap();
                    drop(engine);
                    engine = open(&disk);
                    prop_assert_eq!(engine.damages(), &[] as &[String]);
                    prop_assert_eq!(engine.namespace("other", "autogen"), Some(1));
                }
                Step::Check { from, to } => {
                    check(&engine, &oracle, TimeRange::new(from.min(to), from.max(to)));
                }
            }
        }
        check(&engine, &oracle, TimeRange::ALL);
    }
}
