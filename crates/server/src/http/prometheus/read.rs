//! Remote read: samples as they are stored, for whoever has an engine of their own.

use super::super::{Call, Reply, body, namespace, status_of_missing, store};
use super::question::refuse;
use crate::http::routes::Right;
use crate::query::{self, Failure, Job, Reading, Title, Work};
use crate::shared::Shared;
use foliot_exec::{Charge, Ran};
use foliot_model::{Frame, TimeRange};
use foliot_plan::Series;
use foliot_plan::grid::{Stored, name};
use foliot_proto_prometheus::{ReadChunks, ReadRequest, ReadResult};
use hyper::StatusCode;
use hyper::header::CONTENT_ENCODING;
use std::sync::Arc;

const PROTOBUF: &str = "application/x-protobuf";
/// Clients compare it byte by byte.
const CHUNKS: &str = "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse";

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let namespace = namespace(shared, store(shared)?, &call.query, &call.headers, Right::Read)
        .map_err(|missing| {
            refuse(&Failure::new(status_of_missing(&missing), missing.to_string()))
        })?;
    let title = Some(Title::new(&call.path, call.database(shared)));
    let request = body::read_block(shared, &call.headers, call.body, Vec::new()).await?;
    let reading = Reading::of(shared, &call.who, &[&request.bytes]).await;
    let reading = reading.map_err(|failure| refuse(&failure))?;
    let asked = reading.read(|| ReadRequest::read(&request.bytes)).map_err(|error| {
        let reason = format!("the request is no remote read: {error}");
        refuse(&Failure::new(StatusCode::BAD_REQUEST, reason))
    })?;
    let wants_chunks = asked.wants_chunks;
    let wanted = asked.queries.into_iter();
    let wanted: Vec<Wanted> =
        wanted.map(|query| (query.selector.stored(namespace), query.range)).collect();
    let job = Job::new(call.who, title, move |work| match wants_chunks {
        true => write_chunks(work, &wanted),
        false => write_samples(work, &wanted),
    });
    let kind = if wants_chunks { CHUNKS } else { PROTOBUF };
    let answered = query::answer(shared, kind, false, reading.then(job.that_reads(true))).await;
    let reply = answered.map_err(|failure| refuse(&failure))?;
    Ok(if wants_chunks { reply } else { reply.header(CONTENT_ENCODING, "snappy") })
}

/// The series of a question, and the time that their samples are of.
type Wanted = (Stored, TimeRange);

/// Runs a question; `add` takes each frame and says how many bytes it holds of it.
fn select(
    work: &mut Work<'_>,
    (stored, range): &Wanted,
    charge: &mut Charge<'_>,
    add: &mut dyn FnMut(&Frame) -> usize,
) -> Result<Ran, Failure> {
    let plan = Series::Select { selector: stored.selector.clone(), range: *range };
    work.run(&[plan], &mut |frame, _| {
        let name = name(&frame.head.measurement, &frame.head.field);
        if stored.measurements.iter().all(|one| one.matches(Some(&name))) {
            charge.add(add(frame))?;
        }
        Ok(())
    })
}

/// One message, packed by snappy.
fn write_samples(work: &mut Work<'_>, wanted: &[Wanted]) -> Result<Ran, Failure> {
    let meter = work.meter();
    let (mut charge, mut all, mut answer) = (meter.open(), Ran::default(), Vec::new());
    for one in wanted {
        let mut result = ReadResult::default();
        let ran = select(work, one, &mut charge, &mut |frame| result.add(frame))?;
        all.samples_scanned += ran.samples_scanned;
        result.finish(&mut answer);
    }
    let packed = snap::raw::Encoder::new().compress_vec(&answer).map_err(|error| {
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the answer is too long: {error}"))
    })?;
    work.write(&packed)?;
    Ok(all)
}

/// Frames, which go out as they are made.
fn write_chunks(work: &mut Work<'_>, wanted: &[Wanted]) -> Result<Ran, Failure> {
    let (meter, mut all) = (work.meter(), Ran::default());
    for (query, one) in wanted.iter().enumerate() {
        let (mut charge, mut chunks) = (meter.open(), ReadChunks::default());
        let ran = select(work, one, &mut charge, &mut |frame| chunks.add(frame))?;
        all.samples_scanned += ran.samples_scanned;
        chunks.frames(query, &mut |frame| work.write(frame))?;
    }
    Ok(all)
}
