//! The query language: `/api/query` in both its forms, read into plans.
//!
//! A [`Request`] is what a client asked, with every name still text. [`Request::plans`] turns it
//! into series algebra; which of its names must exist is told by [`Request::required_names`],
//! because only a snapshot knows what exists.

pub(crate) mod aggregator;
mod downsample;
pub(crate) mod filter;
mod get;
mod plan;
mod post;
mod rate;
mod show;
mod time;
mod tsuid;

pub use plan::metric_names;
pub use tsuid::Tsuid;

use crate::http::{HttpError, HttpRequest, Params, method};
use aggregator::Aggregator;
use downsample::Downsample;
use filter::Filter;
use foliot_model::{NamespaceId, Selector};
use jiff::tz::TimeZone;
use rate::RateOptions;
use std::sync::Arc;

/// A query as asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// First instant asked for, in milliseconds since 1970.
    pub start_ms: i64,
    /// Last instant asked for, in milliseconds since 1970.
    pub end_ms: i64,
    /// How the answer is to look.
    pub output: Output,
    questions: Vec<Question>,
    zone: Arc<str>,
    /// Whether the answer ends where the query does, or where the samples end that it looks at.
    is_clipped: bool,
}

/// How an answer is to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Times in milliseconds instead of seconds.
    pub in_ms: bool,
    /// Samples as pairs in an array instead of an object.
    pub as_arrays: bool,
    /// Each series tells which question it answers.
    pub shows_query: bool,
    /// Each series tells which stored series are behind it.
    pub shows_tsuids: bool,
    /// Each series tells how many samples it has.
    pub shows_stats: bool,
    /// The answer ends with figures about the whole query.
    pub shows_summary: bool,
    /// A function to wrap the answer in.
    pub jsonp: Option<String>,
}

/// One of a query's questions.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) source: Source,
    pub(crate) aggregator: &'static Aggregator,
    pub(crate) filters: Vec<Filter>,
    pub(crate) has_explicit_tags: bool,
    pub(crate) downsample: Option<Downsample>,
    pub(crate) rate: Option<RateOptions>,
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Metric(String),
    Tsuids(Vec<Tsuid>),
}

/// A name that must exist for a query to be answered at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredName<'a> {
    /// A metric, in one of its readings: see [`metric_names`].
    Metric(&'a str),
    /// The name of a label, of whatever series.
    TagKey(&'a str),
    /// The value of a label, of whatever series.
    TagValue(&'a str),
}

impl RequiredName<'_> {
    /// The error that answers the query when the name does not exist.
    pub fn error(&self) -> HttpError {
        match self {
            Self::Metric(name) => HttpError::no_such_name("metrics", name),
            Self::TagKey(name) => HttpError::no_such_name("tagk", name),
            Self::TagValue(name) => HttpError::no_such_name("tagv", name),
        }
    }
}

impl Request {
    /// Reads a request to `/api/query`. `now_ms` is the time that relative times count from.
    ///
    /// # Errors
    /// 400 with OpenTSDB's words for whatever does not parse, and for deletes, which are not
    /// allowed.
    pub fn parse(request: &HttpRequest<'_>, now_ms: i64) -> Result<Self, HttpError> {
        let params = Params::parse(request.query);
        let parsed = match method(request).as_str() {
            "POST" if request.method == "POST" => post::parse(request.body, &params, now_ms),
            "DELETE" => Err(deletes_refused()),
            _ => get::parse(&params, now_ms),
        };
        parsed?.checked()
    }

    /// Reads a request to `/q`, of which only the form with `ascii` is answered: lines for check
    /// scripts. It tells all samples that the query looks at, also those before and after its
    /// times.
    ///
    /// # Errors
    /// As [`Request::parse`], and 400 for the forms that draw.
    pub fn parse_graph(request: &HttpRequest<'_>, now_ms: i64) -> Result<Self, HttpError> {
        let params = Params::parse(request.query);
        if !params.has("ascii") {
            let message =
                "Only the form with 'ascii' is answered: graphs are drawn by the page at /";
            return Err(HttpError::bad_request(message));
        }
        let mut query = get::parse(&params, now_ms)?.checked()?;
        query.is_clipped = false;
        Ok(query)
    }

    /// Number of questions, duplicates not counted.
    pub fn questions(&self) -> usize {
        self.questions.len()
    }

    /// Names without which the query is refused, in the order in which OpenTSDB looks.
    pub fn required_names(&self) -> Vec<RequiredName<'_>> {
        let mut names = Vec::new();
        for question in &self.questions {
            let Source::Metric(metric) = &question.source else { continue };
            names.push(RequiredName::Metric(metric));
            for filter in &question.filters {
                names.push(RequiredName::TagKey(&filter.tag));
                let values = filter.required_values();
                names.extend(values.iter().map(|value| RequiredName::TagValue(value)));
            }
        }
        names
    }

    /// The TSUIDs that the query asks for; the caller resolves them for [`Request::plans`].
    pub fn tsuids(&self) -> impl Iterator<Item = &Tsuid> {
        self.questions.iter().flat_map(|question| match &question.source {
            Source::Tsuids(list) => list.as_slice(),
            Source::Metric(_) => &[],
        })
    }

    /// The selector of a metric, for finding out whether it exists.
    pub fn metric_selector(namespace: NamespaceId, metric: &str) -> Selector {
        let names = metric_names(metric);
        Selector { namespace, names, matchers: Vec::new(), exact_labels: None, only: None }
    }

    pub(crate) fn question(&self, index: usize) -> Option<&Question> {
        self.questions.get(index)
    }

    /// Removes repeated questions and checks the order of the times.
    fn checked(mut self) -> Result<Self, HttpError> {
        if self.questions.is_empty() {
            return Err(HttpError::bad_request("Missing sub queries"));
        }
        if self.end_ms < self.start_ms {
            return Err(HttpError::bad_request(format!(
                "End time [{}] must be greater than or equal to the start time [{}]",
                self.end_ms, self.start_ms
            )));
        }
        let mut seen = std::collections::HashSet::new();
        self.questions.retain(|question| seen.insert(question.show(0)));
        Ok(self)
    }
}

pub(crate) fn deletes_refused() -> HttpError {
    HttpError::bad_request("Deleting data is not enabled")
        .with_details("Ask again without \"delete\" to read the data")
}

/// A time zone by its name.
fn zone(name: &str) -> Result<TimeZone, HttpError> {
    TimeZone::get(name)
        .map_err(|_| HttpError::bad_request(format!("Invalid timezone name: '{name}'")))
}

#[cfg(test)]
mod tests;
