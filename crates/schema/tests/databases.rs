//! Databases over a disk that fails: what was refused is as it was, what was answered stays.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use foliot_disk::{FaultKind, SimDisk};
use foliot_engine::{Caller, Config, Engine, Error};
use foliot_schema::{Database, Databases, Kinds, Policy};
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
            let first = databases.drop_database(&engine, "x", &kinds, &caller);
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
            let again = databases.drop_database(&engine, "x", &kinds, &caller);
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
        let result = databases.drop_policy(&engine, "x", "z", &kinds, &caller);
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
