//! `admin/tsdb/delete_series`: the samples of series, or only what would go.

use super::super::{
    Call, NOTHING_CHANGED, Reply, SAID_TWICE, is_preview, preview_json, reply, status_of,
    unknown_param,
};
use super::question::{Question, bad, refuse};
use crate::http::fitting::fitting;
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_access::Access;
use foliot_engine::{Caller, Deleted, Error, Snapshot};
use foliot_exec::Ran;
use foliot_model::{Kind, Selector, TimeRange};
use foliot_plan::grid::{Stored, name};
use foliot_schema::Kinds;
use hyper::StatusCode;
use std::sync::Arc;

/// What a delete may say.
const PARAMS: [&str; 5] = ["match[]", "start", "end", "db", "rp"];

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let question = Question::read(shared, call, Access::Write).await?;
    if let Some(name) = unknown_param(&question.params, &PARAMS) {
        return Err(bad(name, NOTHING_CHANGED));
    }
    if let Some(name) = question.params.twice(&["match[]"]) {
        return Err(bad(name, SAID_TWICE));
    }
    let is_preview = is_preview(&question.params, &[])
        .map_err(|reason| refuse(&Failure::new(StatusCode::BAD_REQUEST, reason)))?;
    if !is_preview && !shared.config.opentsdb_allow_delete {
        let reason = "deleting is not enabled: set opentsdb.allow_delete";
        return Err(refuse(&Failure::new(StatusCode::SERVICE_UNAVAILABLE, reason)));
    }
    let (stored, range) = (question.selected()?, question.range()?);
    let Question { who, asker, path, database, params, reading, .. } = question;
    let selected: Vec<&str> = params.all("match[]").collect();
    let title = Some(Title::new(format!("{path} {}", selected.join(" ")), database));
    let asked = shared.clone();
    let job = Job::new(who, title, move |work| {
        run(&asked, (&stored, range), is_preview, &asker.caller(), work)?;
        Ok(Ran::default())
    });
    let job = reading.then(job.that_changes(!is_preview));
    let answered = query::answer(shared, reply::JSON, false, job).await;
    answered.map_err(|failure| refuse(&failure))
}

fn run(
    shared: &Shared,
    (stored, range): (&[Stored], TimeRange),
    is_preview: bool,
    caller: &Caller,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let failed = |error: Error| Failure::new(status_of(&error), error.to_string());
    let store = shared.store().ok_or_else(|| failed(Error::Closed))?;
    let (engine, meter) = (store.engine(), work.meter());
    let goes_on = || meter.check(0).is_ok();
    let all = || -> Result<Vec<_>, Error> {
        let snapshot = engine.snapshot();
        let found = stored.iter().map(|one| {
            let namespace = one.selector.namespace;
            let is_text = |measurement: &str, field: &str| {
                Kinds::of(engine, namespace, measurement, field) == Kind::String
            };
            doomed(&snapshot, one, &is_text, &goes_on)
        });
        let found = found.collect::<Result<Vec<_>, _>>()?;
        Ok(found.into_iter().flatten().map(|selector| (selector, range)).collect())
    };
    let done: Result<Option<Deleted>, Error> = all().and_then(|doomed| match is_preview {
        true => engine.preview_delete(&doomed, &goes_on).map(Some),
        false => doomed
            .iter()
            .try_for_each(|(selector, range)| {
                engine.delete_while(selector, *range, caller, &goes_on).map(drop)
            })
            .map(|()| None),
    });
    if matches!(done, Err(Error::Stopped)) {
        // Why it was stopped the meter says in better words.
        meter.check(0)?;
    }
    match done.map_err(failed)? {
        Some(counted) => {
            let data = preview_json(&counted);
            work.write(format!(r#"{{"status":"success","data":{data}}}"#).as_bytes())
        }
        None => {
            work.set_status(StatusCode::NO_CONTENT);
            work.confirm(engine.written(), shared.config.wal_ack)
        }
    }
}

/// The series that a question with the same selector reads; nothing where there are none.
///
/// What goes is told by measurement and field, of which only a question makes one name, and the
/// fields that there are tell which ones fit. Texts are no values to a question, so they stay.
fn doomed(
    snapshot: &Snapshot,
    stored: &Stored,
    is_text: &dyn Fn(&str, &str) -> bool,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<Selector>, Error> {
    let wants = |measurement: &str, field: &str| {
        let name = name(&measurement.into(), field);
        stored.measurements.iter().all(|matcher| matcher.matches(Some(&name)))
            && !is_text(measurement, field)
    };
    let names = fitting(snapshot, &stored.selector, &wants, goes_on)?;
    // A selector without names would want them all.
    Ok((!names.is_empty()).then(|| Selector { names, ..stored.selector.clone() }))
}
