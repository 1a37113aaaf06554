//! The gate over a real store: who is let in, what they may do, and what ends that.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use foliot_access::{
    Access, Credentials, Gate, Grant, Measurements, Need, NewToken, Refusal, Refused, Rights,
};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Caller, Config, Engine};
use std::path::Path;
use std::sync::Arc;

fn open() -> (Arc<SimDisk>, Engine) {
    let disk = Arc::new(SimDisk::new(1));
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(disk.clone(), Path::new("data"), config).unwrap();
    (disk, engine)
}

fn caller() -> Caller {
    Caller { door: "test", from: "here".to_owned(), ..Caller::default() }
}

fn password(user: &str, password: &str) -> Credentials {
    Credentials::of_pair(user, password)
}

fn reader() -> Rights {
    Rights { grants: vec![Grant::on("d", Access::Read)], ..Rights::default() }
}

#[test]
fn a_gate_that_is_off_asks_nobody() {
    let (_, engine) = open();
    let gate = Gate::new(false);
    assert_eq!(gate.open(&engine), Ok(None));
    let anyone = gate.admit(&engine, None, None, 0).unwrap();
    assert!(anyone.may(Need::Administer) && anyone.may(Need::Write("d")) && !anyone.is_nobody());
}

#[test]
fn the_first_token_does_everything_until_there_is_an_administrator() {
    let (_, engine) = open();
    let gate = Gate::new(true);
    let text = gate.open(&engine).unwrap().unwrap();
    let first = Credentials::Token(text);
    assert!(gate.admit(&engine, Some(&first), None, 0).unwrap().may(Need::Administer));
    gate.create_user(&engine, "u", "pw", Rights::default(), &caller()).unwrap();
    assert!(gate.admit(&engine, Some(&first), None, 0).is_ok(), "u is no administrator");
    gate.set_admin(&engine, "u", true, &caller()).unwrap();
    assert_eq!(gate.admit(&engine, Some(&first), None, 0).unwrap_err(), Refusal::Wrong);
    let again = Gate::new(true);
    assert_eq!(again.open(&engine), Ok(None), "no other one is made");
}

#[test]
fn users_are_known_by_their_password_until_it_changes() {
    let (_, engine) = open();
    let gate = Gate::new(true);
    gate.create_user(&engine, "u", "old", reader(), &caller()).unwrap();
    let admit = |credentials: &Credentials| gate.admit(&engine, Some(credentials), None, 0);
    assert_eq!(gate.admit(&engine, None, None, 0).unwrap_err(), Refusal::Missing);
    assert_eq!(admit(&password("u", "new")).unwrap_err(), Refusal::Wrong);
    assert_eq!(admit(&password("x", "old")).unwrap_err(), Refusal::Wrong);
    let user = admit(&password("u", "old")).unwrap();
    assert!(user.may(Need::Read("d")) && !user.may(Need::Read("e")) && !user.may(Need::Write("d")));
    assert!(!user.may(Need::Operate) && !user.may(Need::Administer) && user.may_see("d"));
    assert!(gate.is_quick(Some(&password("u", "old"))));
    gate.grant(&engine, "u", "d", Access::All, &caller()).unwrap();
    assert!(admit(&password("u", "old")).unwrap().may(Need::Write("d")));
    gate.revoke(&engine, "u", "d", Access::Read, &caller()).unwrap();
    assert!(!admit(&password("u", "old")).unwrap().may(Need::Read("d")));
    gate.set_password(&engine, "u", "new", &caller()).unwrap();
    assert_eq!(admit(&password("u", "old")).unwrap_err(), Refusal::Wrong);
    assert!(admit(&password("u", "new")).is_ok());
    gate.remove_user(&engine, "u", &caller()).unwrap();
    assert_eq!(admit(&password("u", "new")).unwrap_err(), Refusal::Wrong);
    assert_eq!(gate.remove_user(&engine, "u", &caller()), Err(Refused::NotFound));
}

#[test]
fn tokens_are_scoped_end_and_are_revoked() {
    let (disk, engine) = open();
    let gate = Gate::new(true);
    let grant = Grant { database: "d".into(), measurements: "cpu*".into(), access: Access::Write };
    let rights = Rights { grants: vec![grant], ..Rights::default() };
    let new = NewToken { name: "edge".into(), expires_ns: Some(100), rights };
    let text = gate.create_token(&engine, new, 0, &caller()).unwrap();
    assert!(text.starts_with("foliot_") && text.len() == 7 + 64);
    let credentials = Credentials::Token(text.clone());
    let token = gate.admit(&engine, Some(&credentials), None, 99).unwrap();
    assert!(token.may(Need::Write("d")) && !token.may(Need::Read("d")));
    assert!(!token.may_throughout("d", Access::Write));
    let measurements = token.measurements("d", Access::Write);
    assert!(measurements.include("cpu0") && !measurements.include("mem"));
    assert!(matches!(token.measurements("e", Access::Write),
        Measurements::Passing(tests) if tests.is_empty()));
    let late = gate.admit(&engine, Some(&credentials), None, 100);
    assert_eq!(late.unwrap_err(), Refusal::Wrong, "although it is remembered");
    let id = gate.tokens(&engine)[0].id.clone();
    assert_eq!(gate.revoke_token(&engine, "", &caller()), Ok(false), "not all of them");
    assert_eq!(gate.revoke_token(&engine, &id, &caller()), Ok(true));
    let gone = gate.admit(&engine, Some(&credentials), None, 99);
    assert_eq!(gone.unwrap_err(), Refusal::Wrong);
    engine.close().unwrap();
    for path in disk.list(Path::new("data")).unwrap() {
        let path = Path::new("data").join(path);
        let mut bytes = vec![0; disk.open(&path).unwrap().len() as usize];
        disk.open(&path).unwrap().read_at(&mut bytes, 0).unwrap();
        let secret = text.trim_start_matches("foliot_").as_bytes();
        assert!(!bytes.windows(64).any(|window| window == secret), "{}", path.display());
    }
}

#[test]
fn whoever_fails_too_often_waits_and_those_who_are_known_do_not() {
    let (_, engine) = open();
    let gate = Gate::new(true);
    gate.create_user(&engine, "u", "pw", reader(), &caller()).unwrap();
    let here = "192.0.2.1".parse().ok();
    let good = password("u", "pw");
    gate.admit(&engine, Some(&good), here, 0).unwrap();
    // A client whose token has ended goes on trying, and keeps nobody out.
    for guess in 0..100 {
        let wrong = Credentials::Token(format!("foliot_{guess}"));
        assert_eq!(gate.admit(&engine, Some(&wrong), here, 0).unwrap_err(), Refusal::Wrong);
    }
    let wrong = password("u", "guess");
    for _ in 0..10 {
        assert_eq!(gate.admit(&engine, Some(&wrong), here, 0).unwrap_err(), Refusal::Wrong);
    }
    let refused = gate.admit(&engine, Some(&wrong), here, 0).unwrap_err();
    assert!(matches!(refused, Refusal::Throttled(1..=6)), "{refused:?}");
    assert!(gate.admit(&engine, Some(&good), here, 0).is_ok(), "it is remembered");
    let elsewhere = "192.0.2.2".parse().ok();
    assert_eq!(gate.admit(&engine, Some(&wrong), elsewhere, 0).unwrap_err(), Refusal::Wrong);
    assert_eq!((gate.figures().failed, gate.figures().put_off), (111, 1));
}

#[test]
fn work_that_goes_on_has_the_rights_that_its_owner_has_then() {
    let (_, engine) = open();
    let gate = Gate::new(true);
    gate.create_user(&engine, "u", "pw", reader(), &caller()).unwrap();
    let may = |owner: &str, now_ns| gate.acting_for(&engine, owner, now_ns).may(Need::Read("d"));
    assert!(may("u", 0));
    gate.remove_user(&engine, "u", &caller()).unwrap();
    assert!(!may("u", 0) && !may("", 0));
    assert!(Gate::new(false).acting_for(&engine, "", 0).may(Need::Read("d")));

    let new = NewToken { name: "u".to_owned(), expires_ns: Some(7), rights: reader() };
    let text = gate.create_token(&engine, new, 0, &caller()).unwrap();
    let shown = gate.admit(&engine, Some(&Credentials::Token(text)), None, 0).unwrap();
    let owner = shown.owner();
    assert!(may(&owner, 6) && !may(&owner, 7), "until it ends");
    assert!(!may("u", 0), "no user of its name");
    gate.forget_database(&engine, "other", &caller()).unwrap();
    assert!(may(&owner, 0));
    gate.forget_database(&engine, "d", &caller()).unwrap();
    assert!(!may(&owner, 0), "the database is gone");
    assert!(gate.acting_for(&engine, &owner, 0).name() == "u");
    let id = gate.tokens(&engine).pop().unwrap().id;
    gate.revoke_token(&engine, &id, &caller()).unwrap();
    assert!(gate.acting_for(&engine, &owner, 0).is_nobody());
}

#[test]
fn users_and_tokens_of_many_at_once_are_no_more_than_may_be() {
    let (_, engine) = open();
    let gate = Gate::new(true).with_most(3, 5);
    let refused = |act: &(dyn Fn(usize) -> bool + Sync)| -> u64 {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|at| scope.spawn(move || u64::from(!act(at)))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    };
    let no_user = refused(&|at| {
        gate.create_user(&engine, &format!("u{at}"), "pw", reader(), &caller()).is_ok()
    });
    let no_token = refused(&|at| {
        let new = NewToken { name: format!("t{at}"), expires_ns: None, rights: reader() };
        gate.create_token(&engine, new, 0, &caller()).is_ok()
    });
    assert_eq!((gate.users(&engine).len(), gate.tokens(&engine).len()), (3, 5));
    let counted = gate.figures();
    assert_eq!((counted.users_refused, counted.tokens_refused), (no_user, no_token));
    assert_eq!((no_user, no_token), (5, 3));
}
