//! Databases over a disk that fails: what was refused is as it was, what was answered stays.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use foliot_disk::{FaultKind, SimDisk};
use foliot_engine::{Caller, Config, Engine, Error};
use foliot_model::{Batch, BatchBuffers};
use foliot_proto_influx::{Decoder, LINE_SYNTAX, Precision, Settings};
use foliot_schema::{Database, Databases, Kinds, Policy};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

fn open(disk: &SimDisk) -> (Engine, Databases, Kinds) {
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(Arc::new(disk.clone()), Path::new("data"), config).unwrap();
    let (databases, kinds) = (Databases::new(&engine), Kinds::default());
    (engine, databases, kinds)
}

/// A store with a database of three policies.
fn store() -> SimDisk {
    let disk = SimDisk::new(4);
    let (engine, databases, _) = open(&disk);
    databases.find_or_create(&engine, "x", None, true).unwrap();
    for name in ["a", "z"] {
        let policy = Policy::unbounded(name);
        databases.set_policy(&engine, "x", policy, false, &Caller::default()).unwrap();
    }
    engine.close().unwrap();
    disk
}

/// What the store itself has of it.
fn stored(engine: &Engine) -> Option<Database> {
    Databases::new(engine).get("x")
}

fn names(database: Option<&Database>) -> Vec<&str> {
    let policies = database.into_iter().flat_map(|database| &database.policies);
    policies.map(|policy| &*policy.name).collect()
}

#[test]
fn a_drop_that_fails_is_seen_to_fail_and_one_that_is_answered_stays() {
    let caller = Caller::default();
    let kinds_of_faults = [FaultKind::SyncError, FaultKind::NoSpace { operations: 1 }];
    let (mut refused, mut whole) = (0, 0);
    for fault in kinds_of_faults {
        for after in 0..12 {
            let disk = store();
            let (engine, databases, kinds) = open(&disk);
            disk.fail_after(after, fault);
            let first = databases.drop_database(&engine, "x", &kinds, &caller, &|| true);
            disk.heal();
            let (live, kept) = (databases.get("x"), stored(&engine));
            assert_eq!(live, kept, "{fault:?} after {after}: {first:?}");
            // Of a log that failed nobody knows what it kept.
            let is_unknown = matches!(first, Err(Error::Poisoned(_)));
            let is_right = is_unknown || first.is_ok() == live.is_none();
            assert!(is_right, "{fault:?} after {after}: {first:?}");
            whole += u64::from(!is_unknown && names(live.as_ref()).len() == 3);
            refused += u64::from(first.is_err());
            // Who asks again is told how it is.
            let again = databases.drop_database(&engine, "x", &kinds, &caller, &|| true);
            drop(engine);
            let disk = disk.crash();
            let (_, databases, _) = open(&disk);
            let left = databases.get("x");
            assert!(again.is_err() || left.is_none(), "{fault:?} after {after}: {left:?}");
            let takes_writes = databases.find("x", None).is_ok();
            assert_eq!(left.is_some(), takes_writes, "{fault:?} after {after}: {left:?}");
        }
    }
    assert!(refused > 4 && whole > 1, "{refused} refused, {whole} of them whole");
}

#[test]
fn a_policy_whose_drop_fails_is_there() {
    let caller = Caller::default();
    let mut refused = 0;
    for after in 0..6 {
        let disk = store();
        let (engine, databases, kinds) = open(&disk);
        disk.fail_after(after, FaultKind::SyncError);
        let result = databases.drop_policy(&engine, "x", "z", &kinds, &caller, &|| true);
        disk.heal();
        let live = databases.get("x");
        assert_eq!(live, stored(&engine), "after {after}: {result:?}");
        let is_unknown = matches!(result, Err(Error::Poisoned(_)));
        let is_there = names(live.as_ref()).contains(&"z");
        assert!(is_unknown || result.is_err() == is_there, "{after}: {result:?}");
        refused += u64::from(result.is_err());
    }
    assert!(refused > 0);
}

/// Who goes away, or is told to stop, while it is counted what a drop takes, has dropped nothing;
/// what has once begun is done.
#[test]
fn a_drop_that_is_stopped_before_it_begins_takes_nothing() {
    let caller = Caller::default();
    let disk = store();
    let (engine, databases, kinds) = open(&disk);
    let before = databases.get("x");
    for policy in &before.as_ref().unwrap().policies {
        let (bytes, secret) = (b"m,h=a v=1 1\nm,h=b v=2 1", engine.key_secret());
        let place = policy.namespace;
        let mut batch = Batch::new(bytes, place, &LINE_SYNTAX, secret, BatchBuffers::default());
        let settings = Settings { precision: Precision::Nanosecond, ..Settings::default() };
        let mut rejects = Vec::new();
        Decoder::default().decode(&mut batch, settings, &mut rejects);
        engine.write(&batch, &mut rejects).unwrap();
        assert!(rejects.is_empty(), "{rejects:?}");
    }
    let never = || false;
    let stopped = [
        databases.drop_database(&engine, "x", &kinds, &caller, &never),
        databases.drop_policy(&engine, "x", "z", &kinds, &caller, &never),
        databases.drop_bucket(&engine, "x", "z", &kinds, &caller, &never).map(drop),
    ];
    for outcome in stopped {
        assert!(matches!(outcome, Err(Error::Stopped)), "{outcome:?}");
        assert_eq!(databases.get("x"), before);
        assert_eq!(stored(&engine), before);
        let left = before.as_ref().unwrap().policies.iter().map(|policy| {
            engine.preview_drop_namespace(policy.namespace, &|| true).unwrap().samples
        });
        assert_eq!(left.collect::<Vec<_>>(), [2, 2, 2]);
    }
    // The first policy is counted; from then on nobody is asked.
    let asked = Cell::new(0);
    let once = || asked.replace(asked.get() + 1) < 1;
    let mut outcome = databases.drop_database(&engine, "x", &kinds, &caller, &once);
    for most in 2..20 {
        if outcome.is_ok() {
            break;
        }
        assert_eq!((databases.get("x"), stored(&engine)), (before.clone(), before.clone()));
        asked.set(0);
        let often = || asked.replace(asked.get() + 1) < most;
        outcome = databases.drop_database(&engine, "x", &kinds, &caller, &often);
    }
    outcome.unwrap();
    assert_eq!((databases.get("x"), stored(&engine)), (None, None));
}
