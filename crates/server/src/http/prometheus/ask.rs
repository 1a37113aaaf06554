//! What is asked in PromQL.

use super::super::{Call, Reply, reply};
use super::Endpoint;
use super::question::{Question, bad, bad_data, bad_time, length, refuse};
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Language, Question as AskedAgain, Title, Work};
use crate::ranks::ranks;
use crate::shared::Shared;
use foliot_access::Access;
use foliot_engine::{Counted, Telling};
use foliot_exec::{Query, Ran};
use foliot_model::{NANOS_PER_MILLI, NamespaceId, TimeRange};
use foliot_plan::grid::{BEFORE_FIELD, Notes, Stored};
use foliot_proto_opentsdb::{Params, percent_bytes};
use foliot_proto_prometheus::{
    Asked, Dialect, Expression, Listing, Question as MetricsQuestion, SeriesAnswer, Span,
    Statistics, Type, VectorSelector, error_json, label_name, length_ns, number, single, success,
};
use hyper::StatusCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most instants of a question, which is Prometheus' limit.
pub(in crate::http) const POINTS_MAX: i64 = 11_000;

/// Names in each list of statistics, and how many there are when it is not said.
const STATISTICS_MAX: usize = 10_000;
const STATISTICS_USUAL: usize = 10;

/// How long a sample counts when no later one follows it: Prometheus' default.
pub(in crate::http) const LOOKBACK_MS: i64 = 5 * 60 * 1000;

/// `/prometheus/api/v1/series`, `labels`, `label/{name}/values` and `status/tsdb`.
pub(super) async fn list(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let question = Question::read(shared, call, Access::Read).await?;
    let listing = match endpoint {
        Endpoint::Series => Some(Listing::Series),
        Endpoint::Labels => Some(Listing::Labels),
        Endpoint::Statistics => None,
        _ => {
            let name = question.path.trim_end_matches('/').rsplit('/').nth(1).unwrap_or_default();
            let name =
                label_name(&percent_bytes(name, false)).map_err(|reason| bad_data(&reason))?;
            Some(Listing::Values(name))
        }
    };
    let mut series = match endpoint {
        Endpoint::Series => question.selected()?,
        _ => question.selectors()?,
    };
    if series.is_empty() {
        series.push(VectorSelector::any().stored(question.namespace));
    }
    let range = question.range()?;
    let limit = match listing {
        Some(_) => question.limit()?,
        None => statistics_limit(&question)?,
    };
    let Question { who, path, namespace, database, reading, .. } = question;
    let title = Some(Title::new(path, database));
    let job = Job::new(who, title, move |work| {
        let answer = match &listing {
            Some(listing) => {
                work.labelled(&series, range, &mut |labels| listing.answer(labels, limit))?
            }
            None => statistics(work, namespace, (&series, range), limit.min(STATISTICS_MAX))?,
        };
        work.write(&answer)?;
        Ok(Ran::default())
    });
    let job = reading.then(job.that_reads(true));
    let answered = query::answer(shared, reply::JSON, false, job).await;
    answered.map_err(|failure| refuse(&failure))
}

/// How many names each list of statistics has.
fn statistics_limit(question: &Question) -> Result<usize, Reply> {
    let limit = question.given("limit").map_or(Ok(STATISTICS_USUAL), str::parse);
    let limit = limit.ok().filter(|limit| *limit > 0);
    limit.ok_or_else(|| bad_data("limit must be a positive number"))
}

/// What series are due to, counted by the numbers of their names.
fn statistics(
    work: &Work<'_>,
    namespace: NamespaceId,
    (series, range): (&[Stored], TimeRange),
    limit: usize,
) -> Result<Vec<u8>, Failure> {
    let query = Query { snapshot: work.snapshot, meter: work.meter() };
    let mut ids = query.meter.open();
    let sids = foliot_exec::stored(&query, series, range, &mut ids)?;
    let telling = Telling { before_field: BEFORE_FIELD, weighs: true };
    let ranks = ranks(work, (namespace, telling), &sids, None, limit)?;
    let by_label = |labels: Vec<(String, Counted)>, count: fn(&Counted) -> u64| {
        labels.into_iter().map(|(name, counted)| (name, count(&counted))).collect()
    };
    let statistics = Statistics {
        series: ranks.series,
        pairs: ranks.pairs_total as u64,
        metrics: (ranks.metrics_total as u64, ranks.metrics_bytes),
        series_by_metric: ranks.metrics,
        values_by_label: by_label(ranks.labels, |counted| counted.values),
        bytes_by_label: by_label(ranks.heaviest, |counted| counted.bytes),
        series_by_pair: ranks.pairs,
    };
    Ok(statistics.answer(limit))
}

/// `/prometheus/api/v1/query` and `query_range`.
pub(super) async fn query(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let question = Question::read(shared, call, Access::Read).await?;
    let is_range = endpoint == Endpoint::QueryRange;
    let span = if is_range { range(&question)? } else { instant(&question)? };
    let (limit, until) = (question.limit()?, until(&question)?);
    let Question { who, path, namespace, database, params, reading, .. } = question;
    let text = expression_of(&params)?;
    let step_ms = if is_range { span.step_ms } else { 0 };
    let lengths = (step_ms, span.end_ms.saturating_sub(span.start_ms));
    let expression = reading.read(|| expression(shared, text, lengths))?;
    let kind = expression.kind();
    if is_range && !matches!(kind, Type::Scalar | Type::Vector) {
        let what = if kind == Type::Text { "string" } else { "range vector" };
        let reason = format!(
            "invalid expression type \"{what}\" for range query, must be Scalar or instant Vector"
        );
        return Err(bad("query", reason));
    }
    let asked = reading.read(|| expression.ask(namespace, &span));
    // The text is an expression, and what functions want of it is looked at only now.
    let asked =
        asked.map_err(|reason| refuse(&Failure::new(StatusCode::UNPROCESSABLE_ENTITY, reason)))?;
    let title = Some(Title::new(format!("{path} {text}"), database).asking(again(text, &span)));
    let (text, span) = (text.to_owned(), expression.instants(&span).unwrap_or(span));
    let job = Job::new(who, title, move |work| carry_out(work, &asked, &text, kind, &span, limit));
    let job = reading.then(job.that_selects(true).that_ends(until));
    let is_over = || until.is_some_and(|until| until <= Instant::now());
    if is_over() {
        return Err(timed_out());
    }
    let answered = query::answer(shared, reply::JSON, false, job).await;
    answered.map_err(|failure| if is_over() { timed_out() } else { refuse(&failure) })
}

/// When whoever asks gives up, if that is said and can be reached.
fn until(question: &Question) -> Result<Option<Instant>, Reply> {
    let Some(text) = question.given("timeout") else { return Ok(None) };
    let length = Duration::from_nanos(u64::try_from(length("timeout", text)?).unwrap_or_default());
    Ok(Instant::now().checked_add(length))
}

/// Tells that the time is over that the question gave.
fn timed_out() -> Reply {
    let text = error_json("timeout", "query timed out in query execution");
    Reply::json(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// `/victoriametrics/api/v1/query` and `query_range`.
pub(super) async fn metrics_query(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let question = Question::read(shared, call, Access::Read).await?;
    let is_range = endpoint == Endpoint::MetricsQueryRange;
    let (now_ms, limit) = (now_ns() / NANOS_PER_MILLI, question.limit()?);
    let span = metrics_span(&question, is_range, now_ms)?;
    let Question { who, path, namespace, database, params, .. } = question;
    let text = expression_of(&params)?.to_owned();
    let read = MetricsQuestion::parse(&text).map_err(|error| bad("query", error))?;
    let asked = read.ask(namespace, &span, now_ms).map_err(|reason| bad("query", reason))?;
    // What only MetricsQL can say is asked by its own door alone.
    let is_plain = Expression::parse_as(&text, Dialect::Plain).is_ok();
    let question = is_plain.then(|| again(&text, &span));
    let title = Some(Title::new(format!("{path} {text}"), database).asking(question));
    let kind = Type::Vector;
    let job = Job::new(who, title, move |work| carry_out(work, &asked, &text, kind, &span, limit));
    let answered = query::answer(shared, reply::JSON, false, job.that_selects(true)).await;
    answered.map_err(|failure| refuse(&failure))
}

/// What asks an expression again.
fn again(text: &str, span: &Span) -> AskedAgain {
    let question = AskedAgain::new(Language::PromQl, vec![text.to_owned()]);
    let question = question.over(span.start_ms, span.end_ms);
    if span.is_range { question.every(span.step_ms) } else { question }
}

/// The expression that is asked, which must be said.
fn expression_of(params: &Params) -> Result<&str, Reply> {
    if let Some(text) = params.get("query") {
        return Ok(text);
    }
    let meant = ["q", "expr", "promql", "expression"].into_iter().find(|name| params.has(name));
    let meant = meant.map_or(String::new(), |name| format!(" and not by {name}"));
    let reason =
        "1:1: parse error: no expression found in input: it is said by the parameter query";
    Err(bad("query", format!("{reason}{meant}")))
}

/// The instants of a question in MetricsQL: a range ends now and has a step of five minutes unless
/// it says otherwise, and begins at its end.
fn metrics_span(question: &Question, is_range: bool, now_ms: i64) -> Result<Span, Reply> {
    let at = |name: &str, otherwise: i64| match question.given(name) {
        None => Ok(otherwise),
        Some(text) => question.time(name, text),
    };
    let step_ms = match question.given("step") {
        None => LOOKBACK_MS,
        Some(text) => length("step", text)? / NANOS_PER_MILLI,
    };
    if step_ms <= 0 {
        return Err(bad("step", "it must be above 0"));
    }
    if !is_range {
        let at_ms = at("time", now_ms)?;
        let (start_ms, end_ms, lookback_ms) = (at_ms, at_ms, LOOKBACK_MS);
        return Ok(Span { start_ms, end_ms, step_ms, lookback_ms, is_range });
    }
    let end_ms = at("end", now_ms)?;
    let start_ms = at("start", end_ms)?;
    if end_ms < start_ms {
        return Err(bad("end", "end timestamp must not be before start time"));
    }
    if end_ms.saturating_sub(start_ms) / step_ms > POINTS_MAX {
        let reason = "too many points: there may be 11,000 for each series; make step longer";
        return Err(refuse(&Failure::new(StatusCode::BAD_REQUEST, reason)));
    }
    Ok(Span { start_ms, end_ms, step_ms, lookback_ms: LOOKBACK_MS, is_range })
}

/// `/prometheus/api/v1/format_query` and `parse_query`, for which an expression is only read.
pub(super) async fn read(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let question = Question::read(shared, call, Access::Read).await?;
    question.range()?;
    let text = question.params.get("query").unwrap_or_default();
    // A length of time may be calculated from those of a question, which this is not.
    let expression = question.reading.read(|| expression(shared, text, (1000, 1000)))?;
    let data = match endpoint {
        Endpoint::Format => expression.format().into(),
        _ => expression.tree(),
    };
    Ok(Reply::json(StatusCode::OK, success(&data)))
}

/// Reads an expression in the dialect that the settings say, for a question of so long a step and a
/// range.
pub(super) fn expression(
    shared: &Shared,
    text: &str,
    (step_ms, range_ms): (i64, i64),
) -> Result<Arc<Expression>, Reply> {
    let parse = |dialect| Expression::parse_as(text, dialect).map(Arc::new);
    // In the experimental dialect lengths of time may be calculated from those of the question. A
    // pattern may weigh more than its text tells.
    let read = match shared.config.promql_experimental {
        true => parse(Dialect::Experimental { step_ms, range_ms }),
        false if text.contains('~') => parse(Dialect::Plain),
        false => shared.expressions.read(text, |_| true, || parse(Dialect::Plain)),
    };
    read.map_err(|error| bad("query", error))
}

/// Answers a question; one of several instants is a matrix.
fn carry_out(
    work: &mut Work<'_>,
    asked: &Asked,
    question: &str,
    kind: Type,
    span: &Span,
    limit: usize,
) -> Result<Ran, Failure> {
    let steps = span.steps();
    match asked {
        Asked::Text(text) => {
            work.write(&single("string", span.start_ms, text, (&Notes::default(), question)))?;
            Ok(Ran::default())
        }
        Asked::Grid(grid) if kind == Type::Scalar && !span.is_range => {
            let mut value = f64::NAN;
            let (ran, notes) = work.grid(grid, &steps, &mut |row, _| {
                value = row.values.get(0).unwrap_or(f64::NAN);
            })?;
            let text = number(value);
            work.write(&single("scalar", span.start_ms, &text, (&notes, question)))?;
            Ok(ran)
        }
        Asked::Grid(grid) => {
            let of = if span.is_range { SeriesAnswer::matrix } else { SeriesAnswer::vector };
            let mut answer = of(steps, limit);
            let (ran, notes) = work.grid(grid, &steps, &mut |row, out| {
                answer.row(&row.labels, (row.values.iter(), &row.histograms), out);
            })?;
            answer.finish(&notes, question, work.out());
            Ok(ran)
        }
        Asked::Samples(asked) => {
            let mut answer = SeriesAnswer::matrix(steps, limit);
            let meter = work.meter();
            let mut held = meter.open();
            let ran = work.run(std::slice::from_ref(&asked.plan), &mut |frame, out| {
                let bytes = answer.frame(asked, frame, out);
                Ok(held.resize(bytes)?)
            })?;
            answer.finish(&Notes::default(), question, work.out());
            Ok(ran)
        }
    }
}

/// The only instant of a question.
fn instant(question: &Question) -> Result<Span, Reply> {
    let at_ms = match question.given("time") {
        None => now_ns() / NANOS_PER_MILLI,
        Some(text) => question.time_ms(text).ok_or_else(|| bad_time("time", text))?,
    };
    let lookback_ms = lookback(question)?;
    Ok(Span { start_ms: at_ms, end_ms: at_ms, step_ms: 1, lookback_ms, is_range: false })
}

/// The instants of a question over a range.
fn range(question: &Question) -> Result<Span, Reply> {
    let at = |name: &str| question.time(name, question.given(name).unwrap_or_default());
    let (start_ms, end_ms) = (at("start")?, at("end")?);
    if end_ms < start_ms {
        return Err(bad("end", "end timestamp must not be before start time"));
    }
    let step_ns = length("step", question.given("step").unwrap_or_default())?;
    if step_ns <= 0 {
        let reason = "zero or negative query resolution step widths are not accepted. Try a \
                      positive integer";
        return Err(bad("step", reason));
    }
    // Ends of time are further apart than a number of nanoseconds holds.
    let length_ns = end_ms.saturating_sub(start_ms).saturating_mul(NANOS_PER_MILLI);
    if length_ns / step_ns > POINTS_MAX {
        let reason = "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing \
                      the query resolution (?step=XX)";
        return Err(refuse(&Failure::new(StatusCode::BAD_REQUEST, reason)));
    }
    // Instants are whole milliseconds: what a step has beside them is left away.
    let step_ms = step_ns / NANOS_PER_MILLI;
    if step_ms == 0 {
        let reason = "a step of less than a millisecond leads nowhere";
        return Err(refuse(&Failure::new(StatusCode::UNPROCESSABLE_ENTITY, reason)));
    }
    Ok(Span { start_ms, end_ms, step_ms, lookback_ms: lookback(question)?, is_range: true })
}

/// How long a sample counts: what is not above 0 says nothing.
pub(super) fn lookback(question: &Question) -> Result<i64, Reply> {
    let Some(text) = question.given("lookback_delta") else { return Ok(LOOKBACK_MS) };
    match length_ns(text) {
        Ok(ns) if ns > 0 => Ok(ns / NANOS_PER_MILLI),
        Ok(_) => Ok(LOOKBACK_MS),
        Err(reason) => {
            let reason = format!("error parsing lookback delta duration: {reason}");
            Err(refuse(&Failure::new(StatusCode::BAD_REQUEST, reason)))
        }
    }
}
