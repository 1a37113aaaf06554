//! `jobs`: work that takes long and is no question: imports, changes, what a signal asked for, and
//! backups; and an end to one of them.

use super::{backups, bad, body_of, refuse};
use crate::aside::aside;
use crate::http::{Call, Reply};
use crate::jobs::{Job, JobState};
use crate::metrics::now_ns;
use crate::queries::Listed;
use crate::shared::Shared;
use foliot_access::{Need, Principal};
use foliot_engine::BackupNote;
use foliot_model::NANOS_PER_MILLI;
use hyper::StatusCode;
use serde_json::{Value, json};

pub(super) fn list(shared: &Shared, who: &Principal) -> Reply {
    let (running, mut ended): (Vec<Job>, Vec<Job>) =
        shared.jobs.list(who).into_iter().partition(|job| job.state == JobState::Running);
    ended.reverse();
    let changes = shared.queries.list(who).into_iter().filter(|query| query.title.is_change);
    let row = |job| job_row(job, shared);
    let mut rows: Vec<Value> = running.into_iter().map(row).collect();
    rows.extend(changes.map(change_row));
    rows.extend(backups_running(shared, who).iter().map(backup_row));
    rows.sort_by_key(|row| row.get("began_ms").and_then(Value::as_i64));
    rows.extend(ended.into_iter().map(row));
    Reply::json(StatusCode::OK, json!({"jobs": rows}).to_string())
}

fn job_row(job: Job, shared: &Shared) -> Value {
    // What comes meanwhile is to be done, too, and is no step back.
    let of_store = job.left.filter(|_| job.state == JobState::Running).zip(shared.store());
    let of_store = of_store
        .map(|((total, left), store)| (total.saturating_sub(left(store.engine())), total))
        .filter(|(_, total)| *total > 0);
    let progress =
        |(done, total): (u64, u64)| json!({"done": done, "total": total, "unit": "bytes"});
    json!({
        "id": job.id,
        "may_cancel": job.may_cancel(),
        "kind": job.kind,
        "text": job.text,
        "database": job.database,
        "owner": job.who.name(),
        "began_ms": job.began_ms,
        "ended_ms": job.ended_ms,
        "state": job.state.name(),
        "progress": job.bytes.or(of_store).map(progress),
        "outcome": job.outcome,
    })
}

/// A query that changes what is stored.
fn change_row(query: Listed) -> Value {
    let began_ms = now_ns() / NANOS_PER_MILLI - query.runs_for.as_millis() as i64;
    json!({
        "id": query.id,
        "may_cancel": !query.is_killed,
        "kind": "change",
        "text": query.title.text,
        "database": query.title.database,
        "owner": query.owner,
        "began_ms": began_ms,
        "ended_ms": null,
        "state": "running",
        "progress": {"done": query.samples, "total": null, "unit": "samples"},
        "outcome": if query.is_killed { "it is being ended" } else { "" },
    })
}

/// Backups that are made from outside at this moment.
fn backups_running(shared: &Shared, who: &Principal) -> Vec<BackupNote> {
    let store = shared.store().filter(|_| who.may(Need::Operate));
    // What cannot be read is told where backups are listed.
    let notes = store.map(|store| aside(|| store.engine().backup_notes()).unwrap_or_default());
    let mut notes = notes.unwrap_or_default();
    notes.retain(backups::runs);
    notes
}

fn backup_row(note: &BackupNote) -> Value {
    json!({
        "id": null,
        "may_cancel": false,
        "kind": "backup",
        "text": note.to,
        "database": "",
        "owner": format!("process {}", note.process),
        "began_ms": note.began_ns.div_euclid(NANOS_PER_MILLI),
        "ended_ms": null,
        "state": "running",
        "progress": null,
        "outcome": "",
    })
}

pub(super) async fn cancel(shared: &Shared, call: Call) -> Result<Reply, Reply> {
    let who = call.who.clone();
    let body = body_of(shared, call, &["id"]).await?;
    let id = body.get("id").and_then(Value::as_u64);
    let id = id.ok_or_else(|| bad("id: must be the number of a job, as in {\"id\": 7}"))?;
    match shared.jobs.cancel(id, &who) || shared.queries.kill(id, &who) {
        true => {
            log::info!("{} cancelled job {id}", who.name());
            Ok(Reply::json(StatusCode::OK, json!({"cancelled": id}).to_string()))
        }
        false => {
            let text = format!("no job {id} runs that can be ended; it may be over");
            Err(refuse(StatusCode::NOT_FOUND, &text))
        }
    }
}
