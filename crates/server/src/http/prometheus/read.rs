//! Remote read: samples as they are stored, for whoever has an engine of their own.

use super::super::{Call, Reply, body, namespace, status_of_missing, store};
use super::question::refuse;
use crate::http::routes::Right;
use crate::query::{self, Failure, Job, Reading, Title};
use crate::shared::Shared;
use foliot_exec::Ran;
use foliot_plan::Series;
use foliot_plan::grid::name;
use foliot_proto_prometheus::{ReadResult, read_queries};
use hyper::StatusCode;
use hyper::header::CONTENT_ENCODING;
use std::sync::Arc;

const PROTOBUF: &str = "application/x-protobuf";

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let namespace = namespace(shared, store(shared)?, &call.query, &call.headers, Right::Read)
        .map_err(|missing| {
            refuse(&Failure::new(status_of_missing(&missing), missing.to_string()))
        })?;
    let title = Some(Title::new(&call.path, call.database(shared)));
    let request = body::read_block(shared, &call.headers, call.body, Vec::new()).await?;
    let reading = Reading::of(shared, &call.who, &[&request.bytes]).await;
    let reading = reading.map_err(|failure| refuse(&failure))?;
    let queries = reading.read(|| read_queries(&request.bytes)).map_err(|error| {
        let reason = format!("the request is no remote read: {error}");
        refuse(&Failure::new(StatusCode::BAD_REQUEST, reason))
    })?;
    let wanted: Vec<_> =
        queries.into_iter().map(|query| (query.selector.stored(namespace), query.range)).collect();
    let job = Job::new(call.who, title, move |work| {
        let meter = work.meter();
        let (mut charge, mut all, mut answer) = (meter.open(), Ran::default(), Vec::new());
        for (stored, range) in &wanted {
            let mut result = ReadResult::default();
            let plan = Series::Select { selector: stored.selector.clone(), range: *range };
            let ran = work.run(&[plan], &mut |frame, _| {
                let name = name(&frame.head.measurement, &frame.head.field);
                if stored.measurements.iter().all(|one| one.matches(Some(&name))) {
                    charge.add(result.add(frame))?;
                }
                Ok(())
            })?;
            all.samples_scanned += ran.samples_scanned;
            result.finish(&mut answer);
        }
        let packed = snap::raw::Encoder::new().compress_vec(&answer).map_err(|error| {
            Failure::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the answer is too long: {error}"))
        })?;
        work.write(&packed)?;
        Ok(all)
    });
    let answered = query::answer(shared, PROTOBUF, false, reading.then(job.that_reads(true))).await;
    let reply = answered.map_err(|failure| refuse(&failure))?;
    Ok(reply.header(CONTENT_ENCODING, "snappy"))
}
