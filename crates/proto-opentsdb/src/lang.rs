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
mod rollup;
mod show;
mod texts;
pub(crate) mod time;
mod tsuid;
mod words;

pub use get::{conditions, matchers};
pub use plan::metric_names;
pub use texts::{text_of, texts};
pub use time::check_time;
pub use tsuid::Tsuid;
pub(crate) use tsuid::write_id;
pub use words::check_words;
pub(crate) use words::{UID_WORDS, check_change};

use crate::annotation::{self, Note};
use crate::http::{HttpError, HttpRequest, Params, method, missing_questions};
use crate::json;
use crate::view::{UidKind, View};
use aggregator::Aggregator;
use downsample::Downsample;
use filter::Filter;
use foliot_model::{NANOS_PER_MILLI, Name, NamespaceId, Selector, Test, TimeRange};
use jiff::tz::TimeZone;
use rate::RateOptions;
use rollup::{RollupUsage, Table};
pub use rollup::{Tables, TsuidWhere};
use std::collections::HashMap;
use std::sync::Arc;

/// Filters that are held against one another.
const FILTERS_FEW: usize = 16;

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
    /// Whether what is answered is to be deleted.
    pub deletes: bool,
    /// Notes that belong to the answer.
    pub(crate) notes: Notes,
}

/// Annotations of a query's time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// About everything; shown when asked for. They may lie behind the query but in its last hour,
    /// so that an answer can tell "none in the query" from "none".
    pub(crate) globals: Vec<Note>,
    /// About single series, by TSUID; of all the time that is looked at.
    pub(crate) by_tsuid: HashMap<String, Vec<Note>>,
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
    /// Annotations are left out.
    pub hides_notes: bool,
    /// Annotations about everything are shown with each series.
    pub shows_globals: bool,
    /// A function to wrap the answer in.
    pub jsonp: Option<String>,
}

impl Output {
    /// The same with nothing but times and samples.
    pub(crate) fn plain(self) -> Self {
        let Self { in_ms, as_arrays, jsonp, .. } = self;
        Self { in_ms, as_arrays, jsonp, ..Self::default() }
    }
}

/// A question by its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) metric: &'a str,
    pub(crate) aggregator: &'a str,
    pub(crate) downsample: Option<&'a str>,
    pub(crate) rates: bool,
    /// As POST queries have them.
    pub(crate) filters: &'a [serde_json::Value],
    pub(crate) is_explicit: bool,
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
    /// Percentiles of histograms that are asked for, as OpenTSDB's 32-bit floats, ascending.
    pub(crate) percentiles: Vec<f32>,
    /// Whether the buckets of histograms are asked for.
    pub(crate) shows_buckets: bool,
    /// Whether and how rollups are used.
    pub(crate) usage: Option<RollupUsage>,
    /// Whether it is about points of several series that somebody else aggregated.
    pub(crate) is_pre_aggregated: bool,
    /// The table that answers it; nothing for the points themselves. Chosen by
    /// [`Request::choose_tables`].
    pub(crate) table: Option<Table>,
}

impl Question {
    /// Whether histograms are asked about.
    pub(crate) fn is_about_histograms(&self) -> bool {
        self.shows_buckets || !self.percentiles.is_empty()
    }

    /// Histograms can be added up, and nothing else; percentiles are shares of a hundred.
    fn check_histograms(&self) -> Result<(), HttpError> {
        if let Some(percentile) = self.percentiles.iter().find(|p| !(0.0..=100.0).contains(*p)) {
            let message = format!("Invalid percentile parameters: {percentile:?}");
            return Err(HttpError::bad_request(message));
        }
        let is_sum = |aggregator: &Aggregator| matches!(aggregator.name, "sum" | "none");
        let downsample = self.downsample.as_ref();
        let fits =
            is_sum(self.aggregator) && downsample.is_none_or(|spec| spec.aggregator.name == "sum");
        match fits || !self.is_about_histograms() {
            true => Ok(()),
            false => Err(HttpError::bad_request(
                "Histograms can be aggregated with sum and none, and downsampled with sum, only",
            )),
        }
    }
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
    /// 400 with OpenTSDB's words for whatever does not parse.
    pub fn parse(request: &HttpRequest<'_>, now_ms: i64) -> Result<Self, HttpError> {
        Self::parse_with(request, &Params::parse(request.query), now_ms)
    }

    /// The same, where the parameters of the query string are read already.
    ///
    /// # Errors
    /// As [`Request::parse`].
    pub fn parse_with(
        request: &HttpRequest<'_>,
        params: &Params,
        now_ms: i64,
    ) -> Result<Self, HttpError> {
        let method = method(request);
        let has_body = request.method == "DELETE" && !json::is_blank(request.body);
        let mut parsed = match request.method == "POST" || has_body {
            true => post::parse(request.body, params, now_ms)?,
            false => get::parse(params, now_ms)?,
        };
        parsed.deletes |= method == "DELETE";
        parsed.checked()
    }

    /// Reads the questions of a request to `/q`, which tell all samples that they look at, also
    /// those before and after their times.
    pub(crate) fn parse_graph(params: &Params, now_ms: i64) -> Result<Self, HttpError> {
        let mut query = get::parse(params, now_ms)?.checked()?;
        query.is_clipped = false;
        Ok(query)
    }

    /// Where the query's clock is.
    pub(crate) fn time_zone(&self) -> TimeZone {
        // It was found once already.
        zone(&self.zone).unwrap_or(TimeZone::UTC)
    }

    /// Looks up what belongs to the answer beside samples: annotations, and the numbers of the
    /// names that it is grouped by; what was found before is forgotten. To be called before
    /// [`Request::plans`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn load_facts(&mut self, view: &View<'_>) -> Result<(), HttpError> {
        for filter in self.questions.iter_mut().flat_map(|question| &mut question.filters) {
            filter.tag_uid = (view.uid)(UidKind::TagKey, &filter.tag)?;
        }
        if !self.output.hides_notes {
            self.load_notes(view)?;
        }
        Ok(())
    }

    fn load_notes(&mut self, view: &View<'_>) -> Result<(), HttpError> {
        self.notes = Notes::default();
        let (from_ms, to_ms) = plan::hours_around(self.start_ms, self.end_ms);
        let read = |question: &Question| question.range(self.start_ms, self.end_ms).end_ns;
        let read_ms = self.questions.iter().map(read).max().unwrap_or(0) / NANOS_PER_MILLI;
        for note in annotation::notes(view, from_ms, to_ms.max(read_ms))? {
            // OpenTSDB looks for these by seconds.
            let second_ms = self.start_ms - self.start_ms.rem_euclid(1000);
            let is_near = (second_ms..=to_ms).contains(&note.start_ms());
            match note.tsuid.is_empty() {
                true if !is_near || !self.output.shows_globals => {}
                true => self.notes.globals.push(note),
                false => self.notes.by_tsuid.entry(note.tsuid.clone()).or_default().push(note),
            }
        }
        Ok(())
    }

    /// A query of which only times and the look of the answer are known.
    pub(crate) fn without_questions(params: &Params, now_ms: i64) -> Result<Self, HttpError> {
        get::frame(params, now_ms)?.in_order()
    }

    /// The same with times from elsewhere.
    pub(crate) fn between(
        params: &Params,
        start: &str,
        end: Option<&str>,
        zone: Option<&str>,
        now_ms: i64,
    ) -> Result<Self, HttpError> {
        get::between(params, start, end, zone, now_ms)?.in_order()
    }

    /// One question as `m=` has it, asked in these times moved back, with all samples that it looks
    /// at.
    pub(crate) fn asking(&self, text: &str, back_ms: i64) -> Result<Self, HttpError> {
        let mut request = self.with_question(get::question(text)?);
        request.start_ms = request.start_ms.saturating_sub(back_ms);
        request.end_ms = request.end_ms.saturating_sub(back_ms);
        Ok(request)
    }

    /// One question by its parts, with all samples that it looks at.
    pub(crate) fn with(&self, part: &Part<'_>) -> Result<Self, HttpError> {
        let downsample = match part.downsample {
            Some(text) => Some(Downsample::parse(text, false)?),
            None => None,
        };
        let mut filters = Vec::new();
        for filter in part.filters {
            Filter::from_json(filter)?.push_to(&mut filters)?;
        }
        Ok(self.with_question(Question {
            source: Source::Metric(part.metric.to_owned()),
            aggregator: get::aggregator_named(part.aggregator)?,
            filters,
            has_explicit_tags: part.is_explicit,
            downsample,
            rate: part.rates.then(RateOptions::default),
            percentiles: Vec::new(),
            shows_buckets: false,
            usage: None,
            is_pre_aggregated: false,
            table: None,
        }))
    }

    fn with_question(&self, question: Question) -> Self {
        Self { questions: vec![question], is_clipped: false, ..self.clone() }
    }

    /// The metric that a question names.
    pub(crate) fn metric(&self, index: usize) -> Option<&str> {
        match &self.question(index)?.source {
            Source::Metric(metric) => Some(metric),
            Source::Tsuids(_) => None,
        }
    }

    /// What a query that deletes deletes: the series of each question, and the times.
    pub fn doomed(
        &self,
        namespace: NamespaceId,
        resolve: &mut TsuidWhere<'_>,
    ) -> (Vec<Selector>, TimeRange) {
        let mut selectors = Vec::new();
        for question in &self.questions {
            let (selector, counts) = question.selectors(namespace, resolve);
            selectors.push(selector);
            selectors.extend(counts);
        }
        (selectors, plan::range_ns(self.start_ms, self.end_ms))
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

    /// Whether a series that is found tells that all of these exist, because it has them: not where
    /// one of several values is enough to be found.
    pub fn is_told_by_series(&self) -> bool {
        let [Question { filters, is_pre_aggregated: false, .. }] = &*self.questions else {
            return false;
        };
        let is_alone = |filter: &Filter| {
            let mut others = filters.iter().filter(|other| other.tag == filter.tag).skip(1);
            others.next().is_none() && filter.required_values().len() <= 1
        };
        filters.len() <= FILTERS_FEW && filters.iter().all(is_alone)
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

    /// The same in a table of rollups.
    pub fn table_selector(namespace: NamespaceId, metric: &str) -> Selector {
        let name = Name { measurement: Test::equal(metric), field: Test::Any };
        Selector { names: vec![name], ..Self::metric_selector(namespace, metric) }
    }

    pub(crate) fn question(&self, index: usize) -> Option<&Question> {
        self.questions.get(index)
    }

    fn in_order(self) -> Result<Self, HttpError> {
        match self.end_ms < self.start_ms {
            true => Err(HttpError::bad_request(format!(
                "End time [{}] must be greater than or equal to the start time [{}]",
                self.end_ms, self.start_ms
            ))),
            false => Ok(self),
        }
    }

    /// Removes repeated questions and checks the order of the times.
    fn checked(mut self) -> Result<Self, HttpError> {
        if self.questions.is_empty() {
            return Err(missing_questions());
        }
        self = self.in_order()?;
        if self.questions.len() > 1 {
            let mut seen = std::collections::HashSet::new();
            self.questions.retain(|question| seen.insert(format!("{question:?}")));
        }
        Ok(self)
    }
}

/// The answer to queries that delete where that is not allowed.
pub fn deletes_refused() -> HttpError {
    HttpError::bad_request("Deleting data is not enabled")
        .with_details("Ask again without \"delete\" to read the data, or set opentsdb.allow_delete")
}

/// Zones that Java, and so OpenTSDB, has names of its own for beside IANA's
/// (`java.time.ZoneId.SHORT_IDS`).
const JAVA_ZONES: [(&str, &str); 25] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

/// IANA's name of a zone, where Java has one of its own for it.
pub(crate) fn known_zone(name: &str) -> &str {
    JAVA_ZONES.iter().find(|(own, _)| *own == name).map_or(name, |(_, known)| known)
}

/// A time zone by its name.
pub(crate) fn zone(name: &str) -> Result<TimeZone, HttpError> {
    TimeZone::get(name).map_err(|_| {
        HttpError::bad_request(format!("Invalid timezone name: '{name}'")).with_details(
            "Zones have names of IANA's, such as Europe/Berlin, or Etc/GMT-3 for three hours \
             ahead of UTC",
        )
    })
}

#[cfg(test)]
mod tests;
