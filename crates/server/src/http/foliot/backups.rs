//! `backups`: when the store was copied last, where to, and how that ended. `foliot backup` makes
//! them from outside and leaves a note in the store.

use super::{refuse, store};
use crate::aside::aside;
use crate::http::{Reply, status_of};
use crate::shared::Shared;
use foliot_engine::{BackedUp, BackupFate, BackupNote};
use foliot_model::NANOS_PER_MILLI;
use hyper::StatusCode;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

pub(super) fn list(shared: &Shared) -> Result<Reply, Reply> {
    let engine = store(shared)?.engine();
    let notes = aside(|| engine.backup_notes());
    let notes = notes.map_err(|error| refuse(status_of(&error), &error.to_string()))?;
    let backups: Vec<Value> = notes.iter().rev().map(row).collect();
    let data_dir = &shared.config.data_dir;
    let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.clone());
    let answer = json!({"backups": backups, "data_dir": data_dir.display().to_string()});
    Ok(Reply::json(StatusCode::OK, answer.to_string()))
}

fn row(note: &BackupNote) -> Value {
    let (state, done, error) = match &note.fate {
        BackupFate::Begun if runs(note) => ("running", None, None),
        BackupFate::Begun => ("lost", None, None),
        BackupFate::Done(done) => ("done", Some(*done), None),
        BackupFate::Failed(reason) => ("failed", None, Some(reason)),
    };
    let BackedUp {
        files_copied,
        bytes_copied,
        files_shared,
        bytes_shared,
        damages_mended,
        wal_damaged_bytes,
        ..
    } = done.unwrap_or_default();
    json!({
        "to": note.to,
        "state": state,
        "error": error,
        "began_ms": note.began_ns.div_euclid(NANOS_PER_MILLI),
        "ended_ms": note.ended_ns.map(|ended_ns| ended_ns.div_euclid(NANOS_PER_MILLI)),
        "files_copied": files_copied,
        "bytes_copied": bytes_copied,
        "files_shared": files_shared,
        "bytes_shared": bytes_shared,
        "damages_mended": damages_mended,
        "wal_damaged_bytes": wal_damaged_bytes,
    })
}

/// Whether the process that makes a backup is still there, as far as this one can see processes.
pub(super) fn runs(note: &BackupNote) -> bool {
    let process = i32::try_from(note.process).ok().and_then(Pid::from_raw);
    let is_there = |process| match test_kill_process(process) {
        Ok(()) => true,
        // It is somebody else's.
        Err(error) => error == Errno::PERM,
    };
    note.fate == BackupFate::Begun && process.is_some_and(is_there)
}
