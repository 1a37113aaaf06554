//! `/prometheus/api/v1/query_exemplars`: exemplars of the series that an expression selects.

use super::super::{Call, Reply, reply};
use super::ask::expression;
use super::question::{Question, refuse};
use crate::query::{self, Failure, Job, Title};
use crate::shared::Shared;
use foliot_access::Access;
use foliot_exec::Ran;
use foliot_proto_prometheus::push_exemplars;
use hyper::StatusCode;
use std::sync::Arc;

const BEGIN: &[u8] = br#"{"status":"success","data":["#;

/// What an exemplar takes while it is looked at.
const LOOK_BYTES: usize = 16;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let question = Question::read(shared, call, Access::Read).await?;
    let (start_ms, end_ms) = question.ends_ms()?;
    if end_ms < start_ms {
        let reason = "end timestamp must not be before start timestamp";
        return Err(refuse(&Failure::new(StatusCode::BAD_REQUEST, reason)));
    }
    let text = question.params.get("query").unwrap_or_default();
    // Only what it selects is looked at, so that a length that is calculated may be any.
    let expression = question.reading.read(|| expression(shared, text, (1000, 1000)))?;
    let title = Some(Title::new(format!("{} {text}", question.path), question.database.clone()));
    let Question { who, namespace, database, reading, .. } = question;
    let scope = who.measurements(&database, Access::Read);
    let all = shared.clone();
    let job = Job::new(who, title, move |work| {
        let mut found = all.exemplars.of(namespace);
        let meter = work.meter();
        let mut held = meter.open();
        held.resize(found.iter().map(|(_, of_it)| of_it.len() * LOOK_BYTES).sum())?;
        let selectors = expression.selectors();
        found.retain_mut(|(series, exemplars)| {
            let is_seen = series.name().is_some_and(|name| scope.include(name));
            let is_wanted = |name: &str| series.value(name);
            let is_wanted = selectors.iter().any(|selector| selector.wants(is_wanted));
            exemplars.retain(|one| (start_ms..=end_ms).contains(&one.time_ms));
            is_seen && is_wanted && !exemplars.is_empty()
        });
        found.sort_by(|(a, _), (b, _)| a.labels().cmp(b.labels()));
        work.write(BEGIN)?;
        for (index, (series, exemplars)) in found.iter_mut().enumerate() {
            // Of one time, in the order in which they came.
            exemplars.sort_by_key(|one| one.time_ms);
            let mut text = if index > 0 { b",".to_vec() } else { Vec::new() };
            let exemplars = exemplars.iter().map(|one| (one.labels(), one.value, one.time_ms));
            push_exemplars(series.labels(), exemplars, &mut text);
            work.write(&text)?;
        }
        work.write(b"]}")?;
        Ok(Ran::default())
    });
    let job = reading.then(job.that_reads(true));
    let answered = query::answer(shared, reply::JSON, false, job).await;
    answered.map_err(|failure| refuse(&failure))
}
