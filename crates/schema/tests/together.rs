//! Many at once: limits hold, and what was looked at is so until the change is made.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use foliot_disk::SimDisk;
use foliot_engine::{Caller, Config, Engine, Error};
use foliot_model::{Batch, BatchBuffers, Name, NamespaceId, Selector, Test, TimeRange};
use foliot_proto_influx::{Decoder, LINE_SYNTAX, Precision, Settings};
use foliot_schema::continuous::{ContinuousQueries, ContinuousQuery, list};
use foliot_schema::{Databases, Kinds, Manner, Most, Policy};
use std::cell::{Cell, OnceCell};
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Duration;

const THREADS: usize = 8;
const EACH: usize = 6;

fn open() -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(SimDisk::new(7)), Path::new("data"), config).unwrap()
}

/// Writes two samples of two series.
fn write(engine: &Engine, namespace: NamespaceId) {
    let (bytes, secret) = (b"m,h=a v=1 1\nm,h=b v=2 1", engine.key_secret());
    let mut batch = Batch::new(bytes, namespace, &LINE_SYNTAX, secret, BatchBuffers::default());
    let settings = Settings { precision: Precision::Nanosecond, ..Settings::default() };
    let mut rejects = Vec::new();
    Decoder::default().decode(&mut batch, settings, &mut rejects);
    engine.write(&batch, &mut rejects).unwrap();
    assert!(rejects.is_empty(), "{rejects:?}");
}

/// What `THREADS` threads did at once, each `EACH` times: how often it was refused.
fn refused<E>(act: impl Fn(usize, usize) -> Result<(), E> + Sync) -> usize {
    let start = Barrier::new(THREADS);
    let run = |thread: usize| {
        start.wait();
        (0..EACH).filter(|at| act(thread, *at).is_err()).count()
    };
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || run(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// Writers of two kinds, a measurement that is dropped under them, and flushes: what is left has
/// the kind that is declared.
#[test]
fn what_comes_while_its_measurement_is_dropped_has_the_kind_that_is_declared() {
    let (engine, kinds) = (open(), Kinds::default());
    let name = Name { measurement: Test::equal("m"), field: Test::Any };
    let all = Selector {
        namespace: 0,
        names: vec![name],
        matchers: Vec::new(),
        exact_labels: None,
        only: None,
    };
    let write = |thread: usize, at: usize| {
        let value = if thread.is_multiple_of(2) { "1i" } else { "true" };
        let line = format!("m,w={thread}.{at} v={value} 1");
        let (bytes, secret) = (line.as_bytes(), engine.key_secret());
        let mut batch = Batch::new(bytes, 0, &LINE_SYNTAX, secret, BatchBuffers::default());
        let settings = Settings { precision: Precision::Nanosecond, ..Settings::default() };
        let mut rejects = Vec::new();
        Decoder::default().decode(&mut batch, settings, &mut rejects);
        let _kept = kinds.keep();
        kinds.check(&engine, &mut batch, Manner::Strict, &mut rejects)?;
        engine.write(&batch, &mut rejects).map(drop)
    };
    for round in 0..60 {
        let failed = refused(|thread, at| match thread {
            0 => engine.flush(),
            1 => {
                engine.drop_series(&all, &Caller::default())?;
                kinds.forget(&engine, 0, "m")
            }
            _ => write(thread, at),
        });
        assert_eq!(failed, 0, "round {round}");
        let snapshot = engine.snapshot();
        let declared = Kinds::declared(&engine, 0, "m", "v");
        for sid in snapshot.select(&all, TimeRange::ALL).unwrap() {
            let last = snapshot.last(sid).unwrap();
            let kind = last.and_then(|last| last.iter().last().map(|(_, value)| value.kind()));
            assert!(kind.is_none() || kind == declared, "round {round}: {kind:?} {declared:?}");
        }
    }
}

#[test]
fn continuous_queries_of_many_at_once_are_no_more_than_may_be() {
    let engine = open();
    let all = ContinuousQueries::new(10);
    let query = |thread: usize, at: usize| ContinuousQuery {
        database: "d".to_owned(),
        name: format!("q{thread}_{at}"),
        owner: String::new(),
        text: "SELECT".to_owned(),
    };
    let too_many = refused(|thread, at| all.create(&engine, &query(thread, at)));
    assert_eq!((list(&engine).len(), too_many), (10, THREADS * EACH - 10));
    assert_eq!(all.refused(), too_many as u64, "each is counted");
    all.remove_all(&engine, "d").unwrap();
    let mut one = query(0, 0);
    all.create(&engine, &one).unwrap();
    all.create(&engine, &one).unwrap();
    one.text.push(' ');
    assert_eq!(all.create(&engine, &one).unwrap_err(), "continuous query already exists");
    assert_eq!(all.refused(), too_many as u64, "which is no limit");
}

#[test]
fn databases_and_policies_of_many_at_once_are_no_more_than_may_be() {
    let engine = open();
    // The database that is there from the start counts.
    let most = Most { databases: 5, policies: 12 };
    let all = Databases::new(&engine).with_most(most);
    let count = || {
        let listed = all.list();
        let policies = listed.iter().map(|(_, database)| database.policies.len()).sum::<usize>();
        (listed.len(), policies)
    };
    let (databases, policies) = count();
    let make = |database: String, policy: &str| {
        let policy = Policy::unbounded(policy);
        all.set_policy(&engine, &database, policy, false, &Caller::default()).map(drop)
    };
    let no_database = refused(|thread, at| make(format!("d{thread}_{at}"), "p"));
    assert_eq!(count(), (5, policies + 5 - databases));
    assert_eq!(no_database, THREADS * EACH - (5 - databases));
    let name = all.list().pop().unwrap().0;
    let left = 12 - count().1;
    let no_policy = refused(|thread, at| make(name.clone(), &format!("p{thread}_{at}")));
    assert_eq!(count(), (5, 12));
    assert_eq!(no_policy, THREADS * EACH - left);
    assert_eq!(all.refused(), [no_database as u64, no_policy as u64]);
}

#[test]
fn a_policy_is_made_by_one_of_many() {
    let engine = open();
    let all = Databases::new(&engine);
    let make = |thread: usize, at: usize| {
        let mine = Policy { replication: thread as u32 + 1, ..Policy::unbounded("p") };
        all.change(&engine, &format!("d{at}"), &Caller::default(), |found| {
            match found.and_then(|found| found.policy(Some("p"))) {
                Some(found) if found.replication != mine.replication => {
                    Err(Error::Invalid("exists".to_owned()))
                }
                _ => Ok(Some((mine.clone(), true))),
            }
        })
        .map(drop)
    };
    assert_eq!(refused(make), (THREADS - 1) * EACH, "whoever came later was told");
}

#[test]
fn a_policy_that_is_made_while_another_goes_stays() {
    let engine = open();
    let (all, kinds, caller) = (Databases::new(&engine), Kinds::default(), Caller::default());
    for at in 0..50 {
        let name = format!("d{at}");
        all.set_policy(&engine, &name, Policy::unbounded("old"), true, &caller).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                all.drop_bucket(&engine, &name, "old", &kinds, &caller, &|| true).unwrap()
            });
            let made = Policy::unbounded("new");
            scope.spawn(|| all.set_policy(&engine, &name, made, true, &caller).unwrap());
        });
        let left = all.get(&name).unwrap().policies;
        assert!(left.iter().any(|policy| policy.name == "new"), "{at}: {left:?}");
    }
}

/// A drop takes as long as it is to be counted what goes; only changes of the same database wait.
#[test]
fn a_drop_holds_up_changes_of_its_own_database_only() {
    let (engine, caller) = (Arc::new(open()), Caller::default());
    let all = Arc::new(Databases::new(&engine));
    all.set_policy(&engine, "going", Policy::unbounded("p"), true, &caller).unwrap();
    let made = |name: &'static str| {
        let (engine, all) = (engine.clone(), all.clone());
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let policy = Policy::unbounded("p");
            let made = all.set_policy(&engine, name, policy, true, &Caller::default());
            let _ = tell.send(made.map(drop).map_err(|error| error.to_string()));
        });
        told
    };
    let (own, is_other_made) = (OnceCell::new(), Cell::new(false));
    let goes_on = || {
        if own.get().is_none() {
            own.set(made("going")).unwrap();
            let other = made("coming").recv_timeout(Duration::from_secs(20));
            is_other_made.set(other == Ok(Ok(())));
        }
        true
    };
    write(&engine, all.find("going", None).unwrap());
    all.drop_database(&engine, "going", &Kinds::default(), &caller, &goes_on).unwrap();
    assert!(is_other_made.get(), "another database waited for the drop, or came to nothing");
    let own = own.into_inner().unwrap().recv_timeout(Duration::from_secs(20));
    assert_eq!(own, Ok(Ok(())));
    // It was made behind the drop, and has nothing of what went.
    let namespace = all.find("going", None).unwrap();
    assert_eq!(engine.preview_drop_namespace(namespace, &|| true).unwrap().samples, 0);
}
