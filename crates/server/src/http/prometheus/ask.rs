//! What is asked in PromQL.

use super::super::{Call, Reply, body, namespace, reply, status_of_missing, store};
use super::Endpoint;
use crate::http::routes::Right;
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_access::Principal;
use foliot_exec::Ran;
use foliot_model::{NANOS_PER_MILLI, NamespaceId, TimeRange};
use foliot_proto_opentsdb::Params;
use foliot_proto_prometheus::{
    Asked, Expression, Listing, SeriesAnswer, Span, Type, VectorSelector, error_json, length_ms,
    number, single, time_ms,
};
use hyper::StatusCode;
use std::sync::Arc;

/// Longest text of a question.
const QUERY_BYTES_MAX: usize = 1 << 20;

/// Most instants of a question, which is Prometheus' limit.
const POINTS_MAX: i64 = 11_000;

/// How long a sample counts when no later one follows it: Prometheus' default.
const LOOKBACK_MS: i64 = 5 * 60 * 1000;

/// Parameters that would change the answer and are not known.
const UNKNOWN: [&str; 1] = ["limit"];

/// Parameters that name the database.
const DATABASE: [&str; 2] = ["db", "rp"];

/// What is asked, by whom, of which database.
struct Question {
    who: Arc<Principal>,
    path: String,
    namespace: NamespaceId,
    database: String,
    params: Params,
}

async fn read(shared: &Shared, call: Call) -> Result<Question, Reply> {
    let namespace = namespace(shared, store(shared)?, &call.query, &call.headers, Right::Read)
        .map_err(|missing| {
            refuse(&Failure::new(status_of_missing(&missing), missing.to_string()))
        })?;
    let database = call.database(shared);
    let form = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if form.bytes.len() > QUERY_BYTES_MAX {
        let reason = "the question is too long";
        return Err(refuse(&Failure::new(StatusCode::PAYLOAD_TOO_LARGE, reason)));
    }
    let form = String::from_utf8_lossy(&form.bytes);
    // Rights were looked at for the database that the head of the request names.
    let in_form = Params::parse(&form);
    if let Some(name) = DATABASE.into_iter().find(|name| in_form.has(name)) {
        let reason = "the database is named in the path or by X-Foliot-Database, not in the form";
        return Err(bad(name, reason));
    }
    // What stands in the body goes before what stands in the path.
    let params = Params::parse(&format!("{form}&{}", call.query));
    Ok(Question { who: call.who, path: call.path, namespace, database, params })
}

/// `/prometheus/api/v1/series`, `labels` and `label/{name}/values`.
pub(super) async fn list(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let Question { who, path, namespace, database, params } = read(shared, call).await?;
    let listing = match endpoint {
        Endpoint::Series => Listing::Series,
        Endpoint::Labels => Listing::Labels,
        _ => {
            let name = path.trim_end_matches('/').rsplit('/').nth(1).unwrap_or_default();
            Listing::Values(Params::parse(name).names().next().unwrap_or_default().to_owned())
        }
    };
    let mut series = Vec::new();
    for text in params.all("match[]") {
        let selector = VectorSelector::parse(text).map_err(|error| bad("match[]", error))?;
        series.push(selector.stored(namespace));
    }
    if series.is_empty() {
        if endpoint == Endpoint::Series {
            let failure = Failure::new(StatusCode::BAD_REQUEST, "no match[] parameter provided");
            return Err(refuse(&failure));
        }
        series.push(VectorSelector::any().stored(namespace));
    }
    let at = |name: &str, otherwise: i64| match params.get(name).filter(|text| !text.is_empty()) {
        None => Ok(otherwise),
        Some(text) => time(name, text).map(|ms| ms.saturating_mul(NANOS_PER_MILLI)),
    };
    let range = TimeRange::new(at("start", i64::MIN)?, at("end", i64::MAX)?);
    let limit = match params.get("limit").map(str::parse::<usize>) {
        None | Some(Ok(0)) => usize::MAX,
        Some(Ok(limit)) => limit,
        Some(Err(_)) => return Err(bad("limit", "limit must be non-negative")),
    };
    let title = Some(Title::new(&path, database));
    let job = Job::new(who, title, move |work| {
        let answer = work.labelled(&series, range, &mut |labels| listing.answer(labels, limit))?;
        work.write(&answer)?;
        Ok(Ran::default())
    });
    let answered = query::answer(shared, reply::JSON, false, job.that_reads(true)).await;
    answered.map_err(|failure| refuse(&failure))
}

/// `/prometheus/api/v1/query` and `query_range`.
pub(super) async fn query(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let Question { who, path, namespace, database, params } = read(shared, call).await?;
    let is_range = endpoint == Endpoint::QueryRange;
    let span = if is_range { range(&params)? } else { instant(&params)? };
    if let Some(name) = UNKNOWN.into_iter().find(|name| params.has(name)) {
        return Err(bad(name, "it is not known as yet"));
    }
    let text = params.get("query").unwrap_or_default();
    let expression = Expression::parse(text).map_err(|error| bad("query", error))?;
    let kind = expression.kind();
    if is_range && !matches!(kind, Type::Scalar | Type::Vector) {
        let what = if kind == Type::Text { "string" } else { "range vector" };
        let reason = format!(
            "invalid expression type \"{what}\" for range query, must be Scalar or instant Vector"
        );
        return Err(bad("query", reason));
    }
    let asked = expression.ask(namespace, &span).map_err(|reason| bad("query", reason))?;
    let title = Some(Title::new(&format!("{path} {text}"), database));
    let job = Job::new(who, title, move |work| carry_out(work, &asked, kind, &span));
    let answered = query::answer(shared, reply::JSON, false, job.that_reads(true)).await;
    answered.map_err(|failure| refuse(&failure))
}

/// Answers a question; one of several instants is a matrix.
fn carry_out(work: &mut Work<'_>, asked: &Asked, kind: Type, span: &Span) -> Result<Ran, Failure> {
    let steps = span.steps();
    match asked {
        Asked::Text(text) => {
            work.write(&single("string", span.start_ms, text))?;
            Ok(Ran::default())
        }
        Asked::Grid(grid) if kind == Type::Scalar && !span.is_range => {
            let mut value = f64::NAN;
            let ran = work.grid(grid, &steps, &mut |row, _| {
                value = row.values.first().copied().flatten().unwrap_or(f64::NAN);
            })?;
            work.write(&single("scalar", span.start_ms, &number(value)))?;
            Ok(ran)
        }
        Asked::Grid(grid) => {
            let of = if span.is_range { SeriesAnswer::matrix } else { SeriesAnswer::vector };
            let mut answer = of(steps);
            let ran = work.grid(grid, &steps, &mut |row, out| {
                answer.row(&row.labels, &row.values, out);
            })?;
            answer.finish(work.out());
            Ok(ran)
        }
        Asked::Samples(asked) => {
            let mut answer = SeriesAnswer::matrix(steps);
            let ran = work.run(std::slice::from_ref(&asked.plan), &mut |frame, out| {
                answer.frame(asked, frame, out);
                Ok(())
            })?;
            answer.finish(work.out());
            Ok(ran)
        }
    }
}

/// The only instant of a question.
fn instant(params: &Params) -> Result<Span, Reply> {
    let at_ms = match params.get("time").filter(|text| !text.is_empty()) {
        None => now_ns() / NANOS_PER_MILLI,
        Some(text) => time("time", text)?,
    };
    let lookback_ms = lookback(params)?;
    Ok(Span { start_ms: at_ms, end_ms: at_ms, step_ms: 1, lookback_ms, is_range: false })
}

/// The instants of a question over a range.
fn range(params: &Params) -> Result<Span, Reply> {
    let at = |name: &str| time(name, params.get(name).unwrap_or_default());
    let (start_ms, end_ms) = (at("start")?, at("end")?);
    if end_ms < start_ms {
        return Err(bad("end", "end timestamp must not be before start time"));
    }
    let step_ms = length("step", params.get("step").unwrap_or_default())?;
    if step_ms <= 0 {
        let reason = "zero or negative query resolution step widths are not accepted. Try a \
                      positive integer";
        return Err(bad("step", reason));
    }
    // Ends of time are further apart than a number of milliseconds holds.
    if end_ms.saturating_sub(start_ms) / step_ms > POINTS_MAX {
        let reason = "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing \
                      the query resolution (?step=XX)";
        return Err(refuse(&Failure::new(StatusCode::BAD_REQUEST, reason)));
    }
    Ok(Span { start_ms, end_ms, step_ms, lookback_ms: lookback(params)?, is_range: true })
}

fn lookback(params: &Params) -> Result<i64, Reply> {
    match params.get("lookback_delta").filter(|text| !text.is_empty()) {
        None => Ok(LOOKBACK_MS),
        Some(text) => match length("lookback_delta", text)? {
            ms if ms > 0 => Ok(ms),
            _ => Err(bad("lookback_delta", "it must be positive")),
        },
    }
}

fn time(name: &str, text: &str) -> Result<i64, Reply> {
    time_ms(text).ok_or_else(|| bad(name, format!("cannot parse \"{text}\" to a valid timestamp")))
}

fn length(name: &str, text: &str) -> Result<i64, Reply> {
    length_ms(text).ok_or_else(|| bad(name, format!("cannot parse \"{text}\" to a valid duration")))
}

fn bad(name: &str, reason: impl std::fmt::Display) -> Reply {
    let reason = format!("invalid parameter \"{name}\": {reason}");
    refuse(&Failure::new(StatusCode::BAD_REQUEST, reason))
}

/// A refusal in Prometheus' words, by which its clients tell what to do.
fn refuse(failure: &Failure) -> Reply {
    let (status, kind) = match failure.status {
        StatusCode::BAD_REQUEST => (StatusCode::BAD_REQUEST, "bad_data"),
        // Questions that want too much, or whose series cannot be matched, are such as cannot be
        // carried out.
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
            (StatusCode::UNPROCESSABLE_ENTITY, "execution")
        }
        StatusCode::NOT_FOUND => (StatusCode::NOT_FOUND, "not_found"),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            (failure.status, "unavailable")
        }
        status => (status, "internal"),
    };
    Reply::json(status, error_json(kind, &failure.message))
}
