//! Everything that takes locks, at once: nobody waits for ever, and no lock is taken out of order.
//!
//! In debug builds `foliot_lock` panics where a lock is taken out of order, by whichever thread;
//! that nothing hangs is seen by a watchdog in any build.

use crate::harness::write;
use foliot_disk::SimDisk;
use foliot_engine::{Ack, Caller, Config, Engine, Listed, RetentionRule};
use foliot_exec::{Cancel, Limits, Meter, Query, run};
use foliot_model::{Cell, Matcher, Name, Selector, Test, TimeRange};
use foliot_plan::{Aggregate, Arithmetic, Fold, Gap, Grouping, Series};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// No round of any worker takes nearly as long, however busy the machine.
const STUCK: Duration = Duration::from_secs(120);

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps hosts for a time of their own.
fn rule(host: &str) -> RetentionRule {
    RetentionRule {
        measurement: "m".into(),
        labels: vec![("h".into(), host.into())],
        keep: Some(Duration::from_secs(3_000_000_000)),
    }
}

fn open_with_threads() -> Arc<Engine> {
    let config = Config {
        head_bytes_max: 1 << 20,
        merge_parts: 2,
        delete_deadline: Duration::ZERO,
        index_active_window: Duration::from_millis(100),
        epoch_dead_min: 500,
        retention_rules: vec![rule("1*")],
        ..Config::default()
    };
    Arc::new(Engine::open(Arc::new(SimDisk::new(1)), Path::new("data"), config).unwrap())
}

fn selector(measurement: &str, host: Option<&str>) -> Selector {
    let names = vec![Name { measurement: Test::equal(measurement), field: Test::Any }];
    let matchers = host.map(|host| Matcher {
        name: "h".into(),
        test: Test::regex(host).unwrap(),
        negated: false,
        accepts_absent: false,
    });
    let matchers = matchers.into_iter().collect();
    Selector { namespace: 0, names, matchers, exact_labels: None, only: None }
}

fn register(engine: &Engine, worker: u64, round: u64) {
    for series in 0..20 {
        let key = format!("m,h={},w={worker}", round * 20 + series);
        write(engine, &key, "x", &[(round as i64, Cell::integer(1))]);
    }
}

/// The sum of all series by host: names every series, and asks for numbers of names meanwhile.
fn group(engine: &Engine, _: u64) {
    let snapshot = engine.snapshot();
    let limits = Limits { threads: 2, ..Limits::default() };
    let query = Query { snapshot: &snapshot, meter: Meter::new(limits, Cancel::default()) };
    let input = Series::Select { selector: selector("m", None), range: TimeRange::ALL };
    let aggregate = Aggregate {
        input,
        grouping: Grouping::By { names: vec!["h".into()], drops_absent: true },
        fold: Fold::Sum,
        gap: Gap::Absent,
        arithmetic: Arithmetic::IntegerIfAll,
        wants_members: true,
    };
    let plan = [Series::Aggregate(Box::new(aggregate))];
    run(&query, &plan, &mut |_| ControlFlow::Continue(())).unwrap();
}

fn list(engine: &Engine, _: u64) {
    let snapshot = engine.snapshot();
    let everything = Selector { names: Vec::new(), ..selector("m", Some("7$")) };
    for what in [Listed::Measurements, Listed::Fields, Listed::LabelNames] {
        snapshot.list(&what, &everything, "", 0, 1000).unwrap();
    }
    let sids = snapshot.select(&everything, TimeRange::ALL).unwrap();
    // What a caller does with a name is its own affair, also to ask for more names.
    snapshot
        .identities(&sids, &mut |sid, _| {
            snapshot.last(sid).unwrap();
            snapshot.identity(sid).unwrap();
            engine.stats();
        })
        .unwrap();
}

fn take_away(engine: &Engine, round: u64) {
    let caller = Caller { door: "test", ..Caller::default() };
    let some = selector("m", Some(&format!("{}$", round % 10)));
    match round % 3 {
        0 => engine.delete(&some, TimeRange::ALL, &caller).map(|_| ()).unwrap(),
        1 => engine.drop_series(&some, &caller).map(|_| ()).unwrap(),
        _ => {
            let id = engine.create_namespace(&format!("d{round}"), "p").unwrap();
            engine.set_retention(id, Some(Duration::from_secs(3_000_000_000)), &caller).unwrap();
            engine.drop_namespace(id, &caller).unwrap();
        }
    }
}

fn rearrange(engine: &Engine, round: u64) {
    match round % 4 {
        0 => engine.begin_epoch().unwrap(),
        1 => engine.merge_all().unwrap(),
        2 => drop(engine.set_retention_rules(vec![rule(&format!("{}*", round % 10))])),
        _ => engine.flush().unwrap(),
    }
    engine.wait(engine.written(), Ack::Durable).unwrap();
}

#[test]
fn nobody_waits_for_ever_and_locks_keep_their_order() {
    type Work = Box<dyn Fn(&Engine, u64) + Send>;
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        PANICS.lock().unwrap().push(panic.to_string());
    }));
    let engine = open_with_threads();
    let works: Vec<(&str, u64, Work)> = vec![
        ("register", 300, Box::new(|engine, round| register(engine, 1, round))),
        ("register too", 300, Box::new(|engine, round| register(engine, 2, round))),
        ("group", 60, Box::new(group)),
        ("list", 60, Box::new(list)),
        ("take away", 60, Box::new(take_away)),
        ("rearrange", 60, Box::new(rearrange)),
    ];
    let workers: Vec<_> = works
        .into_iter()
        .map(|(name, rounds, work)| {
            let (engine, done) = (engine.clone(), Arc::new(AtomicU64::new(0)));
            let count = done.clone();
            let thread = std::thread::spawn(move || {
                for round in 0..rounds {
                    work(&engine, round);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
            (name, thread, done)
        })
        .collect();
    let counts = || workers.iter().map(|(_, _, done)| done.load(Ordering::Relaxed)).sum::<u64>();
    let mut last = (0, Instant::now());
    while workers.iter().any(|(_, thread, _)| !thread.is_finished()) {
        std::thread::sleep(Duration::from_millis(20));
        if counts() > last.0 {
            last = (counts(), Instant::now());
        }
        let panics = PANICS.lock().unwrap().clone();
        assert!(panics.is_empty(), "{panics:#?}");
        let state = |(name, thread, done): &(&str, std::thread::JoinHandle<()>, Arc<AtomicU64>)| {
            format!(
                "{name}: {} rounds, ended {}",
                done.load(Ordering::Relaxed),
                thread.is_finished()
            )
        };
        let states: Vec<String> = workers.iter().map(state).collect();
        assert!(last.1.elapsed() < STUCK, "nothing goes on: {states:?}");
    }
    workers.into_iter().for_each(|(_, thread, _)| drop(thread.join()));
    engine.close().unwrap();
    let panics = PANICS.lock().unwrap();
    assert!(panics.is_empty(), "{panics:#?}");
}
