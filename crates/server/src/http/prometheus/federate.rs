//! `/federate`: the newest samples of series, in the text that targets expose.

use super::super::{Call, Reply};
use super::ask::lookback;
use super::question::{Question, refuse};
use crate::metrics::now_ns;
use crate::query::{self, Job, Title};
use crate::shared::Shared;
use foliot_access::Access;
use foliot_exec::Ran;
use foliot_model::{NANOS_PER_MILLI, TimeRange};
use foliot_plan::Series;
use foliot_proto_prometheus::{Escaping, Exposition};
use hyper::header;
use std::sync::Arc;

/// What Prometheus says of its text, by how names are escaped.
fn kind(escaping: Escaping) -> &'static str {
    match escaping {
        Escaping::AllowUtf8 => "text/plain; version=0.0.4; charset=utf-8; escaping=allow-utf-8",
        Escaping::Underscores => "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
        Escaping::Dots => "text/plain; version=0.0.4; charset=utf-8; escaping=dots",
        Escaping::Values => "text/plain; version=0.0.4; charset=utf-8; escaping=values",
    }
}

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let accept = call.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let escaping = Escaping::of_accept(accept.unwrap_or_default());
    let question = Question::read(shared, call, Access::Read).await?;
    let stored = question.selectors()?;
    let end_ns = now_ns();
    let lookback_ns = lookback(&question)?.saturating_mul(NANOS_PER_MILLI);
    let range = TimeRange::new(end_ns.saturating_sub(lookback_ns).saturating_add(1), end_ns);
    let loaded = shared.monitor.loaded();
    let external = loaded.map(|loaded| loaded.config.global.external_labels.clone());
    let external = external.unwrap_or_default();
    let Question { who, path, database, reading, .. } = question;
    let title = Some(Title::new(path, database));
    let job = Job::new(who, title, move |work| {
        let meter = work.meter();
        let mut charge = meter.open();
        let mut text = Exposition::new(external.clone(), escaping);
        for one in &stored {
            let plan = Series::Select { selector: one.selector.clone(), range };
            work.run(&[plan], &mut |frame, _| {
                let bytes = text.add(&one.measurements, frame);
                Ok(charge.add(bytes)?)
            })?;
        }
        for line in text.lines() {
            work.write(line.as_bytes())?;
        }
        Ok(Ran::default())
    });
    let answered =
        query::answer(shared, kind(escaping), false, reading.then(job.that_reads(true))).await;
    answered.map_err(|failure| refuse(&failure))
}
