//! Series limits: what is new is refused where there is enough of it, and what is there stays.

use crate::support::{Line, Owned, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine, Renaming, SeriesLimit};
use foliot_model::{Matcher, Test, TimeRange};
use std::path::Path;
use std::sync::Arc;

fn open(disk: &SimDisk) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let config = Config { background: false, ..Config::default() };
    Engine::open(disk, Path::new("store"), config).unwrap()
}

fn line(host: u32, fields: &[&str]) -> Line {
    let fields = fields.iter().map(|field| ((*field).to_owned(), Owned::Integer(1)));
    Line { key: format!("m host=h{host}"), time_ns: 1_000_000_000, fields: fields.collect() }
}

/// Lines that are refused, and why.
fn refused(engine: &Engine, namespace: u32, lines: &[Line]) -> Vec<(u32, String)> {
    let (outcome, rejects) = write(engine, namespace, lines);
    outcome.unwrap();
    rejects.into_iter().map(|reject| (reject.line, reject.reason)).collect()
}

fn count(engine: &Engine, namespace: u32) -> usize {
    engine.snapshot().select(&selector(namespace, "m"), TimeRange::ALL).unwrap().len()
}

#[test]
fn new_series_are_refused_within_a_batch_and_after_a_crash() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    assert!(refused(&engine, 0, &[line(1, &["a", "b"])]).is_empty());
    let commit = engine.limit_series(0, "m.a", 3).unwrap();
    engine.wait(commit, Ack::Durable).unwrap();
    // The second row is known, the third and the fifth are the second and third of field a.
    let lines = [
        line(2, &["b"]),
        line(1, &["b", "a"]),
        line(2, &["a"]),
        line(2, &["b", "a"]),
        line(3, &["a", "b"]),
        line(4, &["b", "a"]),
        line(4, &["b"]),
        line(3, &["a"]),
    ];
    let found = refused(&engine, 0, &lines);
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [6]);
    assert!(
        found[0].1.contains("'m', field 'a': 3 series are there and no more than 3"),
        "{found:?}"
    );
    assert_eq!((engine.metric_series(0, "m.a"), engine.metric_series(0, "m.b")), (3, 4));
    engine.flush().unwrap();
    drop(engine);
    let disk = disk.crash();
    let engine = open(&disk);
    assert_eq!(engine.series_limits(0), [SeriesLimit { metric: "m.a".to_owned(), series_max: 3 }]);
    assert_eq!(refused(&engine, 0, &[line(9, &["a"]), line(1, &["a"]), line(9, &["b"])]).len(), 1);
    // A lower one takes nothing away.
    engine.limit_series(0, "m.a", 0).unwrap();
    assert!(refused(&engine, 0, &[line(1, &["a"]), line(2, &["a"])]).is_empty());
    engine.unlimit_series(0, "m.a").unwrap();
    assert!(refused(&engine, 0, &[line(9, &["a"])]).is_empty());
    assert!(engine.series_limits(0).is_empty());
}

#[test]
fn a_limit_is_of_one_namespace_and_goes_with_it() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    let other = engine.create_namespace("other", "autogen").unwrap();
    for namespace in [0, other] {
        assert!(refused(&engine, namespace, &[line(1, &["a"])]).is_empty());
    }
    engine.limit_series(other, "m.a", 1).unwrap();
    assert!(refused(&engine, 0, &[line(2, &["a"])]).is_empty());
    assert_eq!(refused(&engine, other, &[line(2, &["a"])]).len(), 1);
    engine.drop_namespace(other, &Caller::default()).unwrap();
    assert!(engine.series_limits(other).is_empty());
    assert_eq!(count(&engine, 0), 2);
}

#[test]
fn series_that_were_dropped_make_room() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    refused(&engine, 0, &[line(1, &["a"]), line(2, &["a"])]);
    engine.limit_series(0, "m.a", 2).unwrap();
    assert_eq!(refused(&engine, 0, &[line(3, &["a"])]).len(), 1);
    engine.drop_series(&selector(0, "m"), &Caller::default()).unwrap();
    assert!(refused(&engine, 0, &[line(3, &["a"]), line(4, &["a"])]).is_empty());
    assert_eq!(refused(&engine, 0, &[line(5, &["a"])]).len(), 1);
}

#[test]
fn writers_side_by_side_stay_below_it() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    engine.limit_series(0, "m.a", 500).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                for batch in 0..20 {
                    let hosts = (0..50).map(|at| writer * 1000 + batch * 50 + at);
                    let lines: Vec<Line> = hosts.map(|host| line(host, &["a"])).collect();
                    let _ = refused(engine, 0, &lines);
                }
            });
        }
    });
    assert_eq!((engine.metric_series(0, "m.a"), count(&engine, 0)), (500, 500));
}

#[test]
fn a_rename_is_not_limited_and_takes_the_limit_along() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    refused(&engine, 0, &[line(1, &["a"]), line(2, &["a"])]);
    engine.limit_series(0, "m.a", 2).unwrap();
    let renaming = Renaming {
        to: "h9",
        name: &|identity| {
            let mut identity = identity.clone();
            identity.labels = [("host", "h9")].into_iter().collect();
            identity
        },
        goes_on: &|| true,
    };
    let mut first = selector(0, "m");
    let (name, test) = ("host".to_owned(), Test::equal("h1"));
    first.matchers.push(Matcher { name, test, negated: false, accepts_absent: false });
    let renamed = engine.rename_series(&first, &renaming, &Caller::default()).unwrap();
    assert!(renamed.is_done && renamed.samples == 1);
    assert_eq!((engine.metric_series(0, "m.a"), count(&engine, 0)), (2, 2));
    assert!(engine.rename_series_limit(0, "m.a", "n.a").unwrap().is_some());
    assert!(engine.rename_series_limit(0, "none", "other").unwrap().is_none());
    assert_eq!(engine.series_limits(0), [SeriesLimit { metric: "n.a".to_owned(), series_max: 2 }]);
}
