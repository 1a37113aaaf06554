//! Backups of a store that is written to, killed on both sides.

use crate::doors::Doors;
use crate::harness::{Scratch, Server, foliot};
use crate::ledger::{Ledger, Load, Look, mix};
use crate::{RESTLESS, seed, times};
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

fn backup(data: &Path, into: &Path) -> Command {
    let mut command = foliot();
    command.args(["backup", "--data-dir"]).arg(data).arg(into);
    command.stdout(Stdio::null());
    command
}

/// Whole backups, the newest last.
fn whole(into: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(into) else { return Vec::new() };
    let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.join("MANIFEST").exists());
    all.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
    all
}

#[test]
fn a_backup_has_everything_that_was_answered_before_it_began() {
    for round in 0..3 * times() {
        let (scratch, doors) = (Scratch::new(), Doors::new());
        let (data, into) = (scratch.path().join("data"), scratch.path().join("backups"));
        let ledger = Arc::new(Ledger::new(seed() ^ round));
        let dice = mix(seed(), round, 41);
        let server = Server::start(&data, &RESTLESS);
        let load = Load::start_some(&server, &doors, &ledger, "durable", [4, 5, 6, 7]);
        std::thread::sleep(Duration::from_millis(100 + dice % 100));
        server.signal(Signal::USR1);
        // One that is killed must not be in the way of the next one.
        let mut killed = backup(&data, &into).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(dice >> 8 & 31));
        let _ = killed.kill();
        killed.wait().unwrap();
        let before = ledger.snapshot();
        let status = backup(&data, &into).status().unwrap();
        assert!(status.success(), "{status}");
        load.expect_the_end();
        server.kill();
        load.stop();
        let newest = whole(&into).pop().expect("a backup that says it succeeded is there");
        let server = Server::start(&newest, &[]);
        before.check_against(&server, &ledger);
        server.stop();
        let server = Server::start(&data, &[]);
        ledger.check(&server, Look::Whole);
    }
}
