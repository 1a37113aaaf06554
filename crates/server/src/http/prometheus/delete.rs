//! `admin/tsdb/delete_series`: the samples of series, or only what would go.

use super::super::{
    Call, NOTHING_CHANGED, Reply, SAID_TWICE, is_preview, preview_json, reply, status_of,
    unknown_param,
};
use super::question::{Question, bad, refuse};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_access::Access;
use foliot_engine::{Caller, Deleted, Error};
use foliot_exec::Ran;
use foliot_model::{Selector, TimeRange};
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
    let is_preview = is_preview(&question.params, &[]);
    if !is_preview && !shared.config.opentsdb_allow_delete {
        let reason = "deleting is not enabled: set opentsdb.allow_delete";
        return Err(refuse(&Failure::new(StatusCode::SERVICE_UNAVAILABLE, reason)));
    }
    let mut stored = question.selected()?;
    for one in &mut stored {
        match one.measurements.as_slice() {
            [] => {}
            [name] if !name.negated && name.test.literals().is_some() => {}
            // What goes is told by measurement and field: only of the default field is the
            // measurement all of the name.
            [_] => one.selector.names.truncate(1),
            _ => {
                let reason = "it has several conditions on the name; give each its own";
                return Err(bad("match[]", reason));
            }
        }
    }
    let range = question.range()?;
    let doomed: Vec<_> = stored.into_iter().map(|one| (one.selector, range)).collect();
    let Question { who, caller, path, database, params, reading, .. } = question;
    let selected: Vec<&str> = params.all("match[]").collect();
    let title = Some(Title::new(&format!("{path} {}", selected.join(" ")), database));
    let asked = shared.clone();
    let job = Job::new(who, title, move |work| {
        run(&asked, &doomed, is_preview, &caller, work)?;
        Ok(Ran::default())
    });
    let answered = query::answer(shared, reply::JSON, false, reading.then(job)).await;
    answered.map_err(|failure| refuse(&failure))
}

fn run(
    shared: &Shared,
    doomed: &[(Selector, TimeRange)],
    is_preview: bool,
    caller: &Caller,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let failed = |error: Error| Failure::new(status_of(&error), error.to_string());
    let store = shared.store().ok_or_else(|| failed(Error::Closed))?;
    let (engine, meter) = (store.engine(), work.meter());
    let goes_on = || meter.check(0).is_ok();
    let done: Result<Option<Deleted>, Error> = match is_preview {
        true => engine.preview_delete(doomed, &goes_on).map(Some),
        false => doomed
            .iter()
            .try_for_each(|(selector, range)| {
                engine.delete_while(selector, *range, caller, &goes_on).map(drop)
            })
            .map(|()| None),
    };
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
