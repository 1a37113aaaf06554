//! What a request asks: by whom, of which database, with which parameters; and refusals.

use super::super::{
    Asker, Call, Dialect, Reply, body, check_database, guard, named_database, namespace_of,
    or_usual, status_of_missing, store,
};
use crate::http::routes::Right;
use crate::metrics::now_ns;
use crate::query::{Failure, Reading};
use crate::shared::Shared;
use foliot_access::{Access, Principal};
use foliot_model::{NANOS_PER_MILLI, NamespaceId, TimeRange};
use foliot_plan::grid::Stored;
use foliot_proto_opentsdb::Params;
use foliot_proto_prometheus::{
    VectorSelector, beyond_ms, error_json, length_ns, time_ms, time_or_ago_ms,
};
use hyper::StatusCode;
use std::num::{IntErrorKind, ParseIntError};
use std::sync::Arc;

/// Longest text of a question.
const QUERY_BYTES_MAX: usize = 1 << 20;

/// What is asked, by whom, of which database.
pub(super) struct Question {
    pub(super) who: Arc<Principal>,
    pub(super) asker: Asker,
    pub(super) path: String,
    pub(super) namespace: NamespaceId,
    pub(super) database: String,
    pub(super) params: Params,
    /// Where its expressions are read.
    pub(super) reading: Reading,
    /// What relative times are relative to, where VictoriaMetrics' are taken.
    now_ms: Option<i64>,
}

impl Question {
    /// Reads a request that may be a form. Whoever sends it must have `access` to the database that
    /// it names.
    pub(super) async fn read(
        shared: &Arc<Shared>,
        call: Call,
        access: Access,
    ) -> Result<Self, Reply> {
        let store = store(shared)?;
        let asker = call.asker("prometheus");
        let Call { who, path, query, headers, body, dialect, .. } = call;
        let is_victoria = dialect == Dialect::VictoriaMetrics
            || path.starts_with("/victoriametrics/")
            || path == "/api/v1/export";
        let now_ms = is_victoria.then(|| now_ns() / NANOS_PER_MILLI);
        let form = body::read(shared, &headers, body, Vec::new()).await?;
        if form.bytes.len() > QUERY_BYTES_MAX {
            let reason = "the question is too long";
            return Err(refuse(&Failure::new(StatusCode::PAYLOAD_TOO_LARGE, reason)));
        }
        let reading = Reading::of(shared, &who, &[query.as_bytes(), &form.bytes]).await;
        let reading = reading.map_err(|failure| refuse(&failure))?;
        // What stands in the body goes before what stands in the path.
        let text = match form.bytes.is_empty() {
            true => query,
            false => format!("{}&{query}", String::from_utf8_lossy(&form.bytes)),
        };
        if access == Access::Write {
            check_database(&text, &headers)
                .map_err(|reason| refuse(&Failure::new(StatusCode::BAD_REQUEST, reason)))?;
        }
        let named = named_database(&text, &headers);
        let namespace = namespace_of(shared, store, named.as_ref(), Right::Read);
        let database = or_usual(shared, named);
        guard::check_form(&who, access, &database)
            .map_err(|reason| refuse(&Failure::new(StatusCode::FORBIDDEN, reason)))?;
        let namespace = namespace.map_err(|missing| {
            refuse(&Failure::new(status_of_missing(&missing), missing.to_string()))
        })?;
        let params = Params::parse(&text);
        // They keep tenants apart: whoever sends them must not get more than they allow.
        let narrows =
            |name: &&str| matches!(*name, "extra_label" | "extra_filters" | "extra_filters[]");
        if let Some(name) = params.names().find(narrows) {
            let reason = format!("{name}: narrowing a question by a parameter is not supported");
            return Err(refuse(&Failure::new(StatusCode::BAD_REQUEST, reason)));
        }
        Ok(Self { who, asker, path, namespace, database, params, reading, now_ms })
    }

    /// The stored series that the parameters `match[]` select, which must be there.
    pub(super) fn selected(&self) -> Result<Vec<Stored>, Reply> {
        if !self.params.has("match[]") {
            return Err(bad_data("no match[] parameter provided"));
        }
        self.stored().map_err(|reason| bad("match[]", reason))
    }

    /// The stored series that the parameters `match[]` select.
    pub(super) fn selectors(&self) -> Result<Vec<Stored>, Reply> {
        self.stored().map_err(|reason| bad_data(&reason))
    }

    fn stored(&self) -> Result<Vec<Stored>, String> {
        let selectors = self.reading.read(|| selectors(&self.params))?;
        Ok(selectors.iter().map(|selector| selector.stored(self.namespace)).collect())
    }

    /// From `start` to `end`, or all of time. What is asked beyond known times is answered up to
    /// them, as Prometheus does.
    pub(super) fn range(&self) -> Result<TimeRange, Reply> {
        let (start_ms, end_ms) = self.ends_ms()?;
        let ns = |ms: i64| ms.saturating_mul(NANOS_PER_MILLI);
        Ok(TimeRange::new(ns(start_ms), ns(end_ms)))
    }

    /// The same ends in milliseconds.
    pub(super) fn ends_ms(&self) -> Result<(i64, i64), Reply> {
        let at = |name: &str, otherwise: i64| {
            let Some(text) = self.given(name) else { return Ok(otherwise) };
            let known = self.time_ms(text).or_else(|| beyond_ms(text));
            known.ok_or_else(|| bad_time(name, text))
        };
        Ok((at("start", i64::MIN)?, at("end", i64::MAX)?))
    }

    /// How many series are wanted at most; 0 means all.
    pub(super) fn limit(&self) -> Result<usize, Reply> {
        match self.given("limit").map(|text| (text, text.parse::<i64>())) {
            None | Some((_, Ok(0))) => Ok(usize::MAX),
            Some((_, Ok(limit))) => {
                usize::try_from(limit).map_err(|_| bad("limit", "limit must be non-negative"))
            }
            Some((text, Err(error))) => Err(bad("limit", no_number("Atoi", text, &error))),
        }
    }

    /// A time that a parameter tells.
    pub(super) fn time(&self, name: &str, text: &str) -> Result<i64, Reply> {
        let known = self.time_ms(text);
        known.ok_or_else(|| bad(name, format!("cannot parse \"{text}\" to a valid timestamp")))
    }

    /// A time as the client's server reads it.
    pub(super) fn time_ms(&self, text: &str) -> Option<i64> {
        match self.now_ms {
            Some(now_ms) => time_or_ago_ms(text, now_ms),
            None => time_ms(text),
        }
    }

    /// A parameter that is not empty.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.params.get(name).filter(|text| !text.is_empty())
    }
}

/// The selectors of the parameters `match[]`, none of which may want all series.
pub(super) fn selectors(params: &Params) -> Result<Vec<VectorSelector>, String> {
    let read = params.all("match[]").map(VectorSelector::parse).collect::<Result<Vec<_>, _>>();
    let selectors = read.map_err(|error| error.to_string())?;
    match selectors.iter().any(VectorSelector::fits_all) {
        true => Err("match[] must contain at least one non-empty matcher".to_owned()),
        false => Ok(selectors),
    }
}

/// Refuses a time, in the words that Prometheus has where one may be missing.
pub(super) fn bad_time(name: &str, text: &str) -> Reply {
    let reason = format!("cannot parse \"{text}\" to a valid timestamp");
    bad(name, format!("invalid time value for '{name}': {reason}"))
}

/// Why a text is no number, as a function of Go says it.
pub(super) fn no_number(function: &str, text: &str, error: &ParseIntError) -> String {
    let reason = match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.{function}: parsing {text:?}: {reason}")
}

/// A length of time that a parameter tells, in nanoseconds.
pub(super) fn length(name: &str, text: &str) -> Result<i64, Reply> {
    length_ns(text).map_err(|reason| bad(name, reason))
}

pub(super) fn bad(name: &str, reason: impl std::fmt::Display) -> Reply {
    bad_data(&format!("invalid parameter \"{name}\": {reason}"))
}

/// Refuses what is wrong with a question.
pub(super) fn bad_data(reason: &str) -> Reply {
    refuse(&Failure::new(StatusCode::BAD_REQUEST, reason))
}

/// A refusal in Prometheus' words, by which its clients tell what to do.
pub(super) fn refuse(failure: &Failure) -> Reply {
    let (status, kind) = match failure.status {
        StatusCode::BAD_REQUEST => (StatusCode::BAD_REQUEST, "bad_data"),
        // Questions that want too much, or whose series cannot be matched, are such as cannot be
        // carried out.
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNPROCESSABLE_ENTITY => {
            (StatusCode::UNPROCESSABLE_ENTITY, "execution")
        }
        StatusCode::FORBIDDEN => (StatusCode::FORBIDDEN, "forbidden"),
        StatusCode::NOT_FOUND => (StatusCode::NOT_FOUND, "not_found"),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            (failure.status, "unavailable")
        }
        status => (status, "internal"),
    };
    Reply::json(status, error_json(kind, &failure.message))
}
