//! Questions: TickTock's subset of OpenTSDB's query grammar, with its own meaning.

use super::{FIELD_TAG, NO_FIELD};
use crate::http::{HttpError, Params};
use crate::lang::filter::Filter;
use crate::lang::time::parse_time;
use crate::lang::zone;
use foliot_model::{
    DEFAULT_FIELD, Matcher, NANOS_PER_MILLI, NANOS_PER_SECOND, Name, NamespaceId, Selector, Test,
    TimeRange,
};
use foliot_plan::grid::Rank;
use foliot_plan::{
    Aggregate, Arithmetic, Fill, Fold, Gap, Grouping, Quantile, Ranked, Rate, Reset, Series,
    Window, Windows,
};
use jiff::tz::TimeZone;
use serde_json::Value;
use std::sync::Arc;

/// Recent values by which series are ranked.
const RECENT: usize = 3;

/// The names that `/api/aggregators` lists; percentiles and numbers of series go beyond it.
const AGGREGATORS: &str = concat!(
    r#"["avg","bottom1","bottom3","bottom5","bottom9","count","dev","first","last","max","min","#,
    r#""none","p50","p90","p95","p98","p99","p999","sum","top1","top3","top5","top9"]"#
);

/// The answer to `/api/aggregators`.
pub fn aggregators_json() -> &'static str {
    AGGREGATORS
}

/// A query with all its questions.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// Whether times of the answer are in milliseconds.
    pub in_ms: bool,
    /// The questions.
    pub questions: Vec<Question>,
    start_ms: i64,
    end_ms: i64,
}

/// One question.
#[derive(Clone, Debug)]
pub struct Question {
    /// The metric, which is a measurement.
    pub metric: String,
    /// How series come together.
    combine: Combine,
    downsample: Option<Downsample>,
    rate: Option<Reset>,
    filters: Vec<Filter>,
    has_explicit_tags: bool,
}

/// How series come together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Combine {
    /// Not at all.
    None,
    /// Not at all, and only so many of those with the largest recent values are shown.
    Top(usize),
    /// The same with the smallest.
    Bottom(usize),
    /// Where their times coincide.
    Fold(Fold),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Downsample {
    /// Nothing means one bucket for all.
    width_ns: Option<i64>,
    fold: Fold,
    fill: Fill,
}

impl Inquiry {
    /// Reads a GET: `start`, `end`, `tz`, `ms` or `msResolution`, and one `m`.
    ///
    /// # Errors
    /// What is missing or cannot be understood; its message is the whole answer.
    pub fn parse_get(query: &str, now_ms: i64) -> Result<Self, HttpError> {
        let params = Params::parse(query);
        let zone = zone_of(params.get("tz"))?;
        let start = params.get("start").ok_or_else(|| missing("start time when query"))?;
        let start_ms = parse_time(start, &zone, now_ms)?;
        let end_ms = params.get("end").map_or(Ok(now_ms), |end| parse_time(end, &zone, now_ms))?;
        let in_ms = match params.get("msResolution") {
            Some(text) => text == "true",
            None => params.has("ms"),
        };
        let m = params.get("m").ok_or_else(|| missing("m parameter when query"))?;
        Ok(Self { in_ms, questions: vec![Question::parse(m)?], start_ms, end_ms })
    }

    /// Reads a POST.
    ///
    /// # Errors
    /// What is missing or cannot be understood; its message is the whole answer.
    pub fn parse_post(body: &[u8], now_ms: i64) -> Result<Self, HttpError> {
        let bad = |text: &str| Err(HttpError::bad_request(text));
        if body.is_empty() {
            return bad("Error: POST request content is null. Did you mean to use GET instead?\n");
        }
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| HttpError::bad_request(format!("not valid JSON: {error}")))?;
        let zone = zone_of(text_of(&body, "tz").as_deref())?;
        let Some(start) = text_of(&body, "start") else {
            return bad("Error: POST request doesn't specify parameter 'start'!\n");
        };
        let start_ms = parse_time(&start, &zone, now_ms)?;
        let end = text_of(&body, "end");
        let end_ms = end.map_or(Ok(now_ms), |end| parse_time(&end, &zone, now_ms))?;
        let in_ms = match body.get("msResolution") {
            Some(flag) => is_true(flag),
            None => body.get("ms").is_some(),
        };
        let Some(queries) = body.get("queries").and_then(Value::as_array) else {
            return bad("Error: POST request doesn't specify parameter 'queries'!\n");
        };
        let questions = queries.iter().map(Question::from_json).collect::<Result<_, _>>()?;
        Ok(Self { in_ms, questions, start_ms, end_ms })
    }
}

fn missing(what: &str) -> HttpError {
    HttpError::bad_request(format!("Must specify {what}."))
}

fn zone_of(name: Option<&str>) -> Result<TimeZone, HttpError> {
    name.filter(|name| !name.is_empty()).map_or(Ok(TimeZone::UTC), zone)
}

fn text_of(value: &Value, name: &str) -> Option<String> {
    match value.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true)) || value.as_str() == Some("true")
}

/// What a lookup asks for.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The metric; nothing means all.
    pub metric: Option<String>,
    /// Conditions on tags, that on `_field` among them.
    pub matchers: Vec<Matcher>,
    /// The tags as they were given, for the answer.
    pub tags: Vec<(String, String)>,
}

impl Lookup {
    /// Reads `metric{…}`, where the metric may be `*`.
    ///
    /// # Errors
    /// When a brace is not closed or a filter cannot be understood.
    pub fn parse(text: &str) -> Result<Self, HttpError> {
        let (metric, filters) = split_metric(text)?;
        let shown = |filter: &Filter| (filter.tag.clone(), filter.expression.clone());
        Ok(Self {
            metric: (metric != "*").then(|| metric.to_owned()),
            matchers: filters.iter().map(Filter::matcher).collect(),
            tags: filters.iter().map(shown).collect(),
        })
    }
}

fn split_metric(text: &str) -> Result<(&str, Vec<Filter>), HttpError> {
    let (metric, mut rest) = match text.find('{') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mut filters = Vec::new();
    for groups in [true, false] {
        let Some(inside) = rest.strip_prefix('{') else { break };
        let Some((list, behind)) = inside.split_once('}') else {
            return Err(HttpError::bad_request(format!("Failed to parse query: {text}")));
        };
        for item in list.split(',').filter(|item| !item.is_empty()) {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            let value = value.trim_matches('"');
            filter(name.trim_matches('"'), value, groups)?.push_to(&mut filters)?;
        }
        rest = behind;
    }
    Ok((metric, filters))
}

/// A filter as TickTock reads it: regular expressions hold for the whole value, and an asterisk
/// alone does not make letters' case indifferent.
fn filter(name: &str, value: &str, groups: bool) -> Result<Filter, HttpError> {
    if let Some(inside) = value.strip_prefix("regexp(").and_then(|rest| rest.strip_suffix(')')) {
        return Filter::new("regexp", name, &format!("^(?:{inside})$"), groups);
    }
    match value.contains('(') {
        false if value.contains('*') => Filter::new("wildcard", name, value, groups),
        _ => Filter::parse(&format!("{name}={value}"), groups),
    }
}

impl Question {
    /// Reads `aggregator:[rate[{…}]:][downsampler:][explicit_tags:]metric{…}{…}`.
    fn parse(text: &str) -> Result<Self, HttpError> {
        let bad = || HttpError::bad_request(format!("Failed to parse query: {text}"));
        // The metric and its filters come last; nothing before them may hold a brace but a rate.
        let parts: Vec<&str> = text.split(':').collect();
        let [aggregator, middle @ .., metric] = &parts[..] else { return Err(bad()) };
        let combine = Combine::parse(aggregator)?;
        let (mut downsample, mut rate, mut has_explicit_tags) = (None, None, false);
        for part in middle {
            if let Some(options) = part.strip_prefix("rate") {
                rate = Some(rate_of_text(options)?);
            } else if *part == "explicit_tags" {
                has_explicit_tags = true;
            } else if !part.starts_with("percentiles[") && !part.starts_with("rollupUsage=") {
                downsample = Downsample::parse(part)?;
            }
        }
        let (metric, filters) = split_metric(metric)?;
        let metric = metric.to_owned();
        Ok(Self { metric, combine, downsample, rate, filters, has_explicit_tags })
    }

    fn from_json(value: &Value) -> Result<Self, HttpError> {
        let metric = text_of(value, "metric")
            .ok_or_else(|| HttpError::bad_request("Must specify metric name when query."))?;
        let aggregator = text_of(value, "aggregator").unwrap_or_else(|| "none".to_owned());
        let downsample = match text_of(value, "downsample") {
            Some(text) => Downsample::parse(&text)?,
            None => None,
        };
        let rate = match value.get("rate").is_some_and(is_true) {
            true => Some(rate_of_json(value.get("rateOptions").unwrap_or(&Value::Null))),
            false => None,
        };
        let mut filters = Vec::new();
        if let Some(tags) = value.get("tags").and_then(Value::as_object) {
            for name in tags.keys() {
                let value = value.get("tags").and_then(|tags| text_of(tags, name));
                filter(name, &value.unwrap_or_default(), true)?.push_to(&mut filters)?;
            }
        }
        for given in value.get("filters").and_then(Value::as_array).into_iter().flatten() {
            Filter::from_json(given)?.push_to(&mut filters)?;
        }
        let has_explicit_tags = value.get("explicitTags").is_some_and(is_true);
        let combine = Combine::parse(&aggregator)?;
        Ok(Self { metric, combine, downsample, rate, filters, has_explicit_tags })
    }

    /// How many series are shown, and whether those with the largest recent values; nothing when
    /// all are.
    fn shown(&self) -> Option<(usize, bool)> {
        match self.combine {
            Combine::Top(count) => Some((count, true)),
            Combine::Bottom(count) => Some((count, false)),
            Combine::None | Combine::Fold(_) => None,
        }
    }

    /// Whether each result is a single stored series.
    pub(super) fn shows_each(&self) -> bool {
        !matches!(self.combine, Combine::Fold(_))
    }

    /// The fields, of those that the measurement has, that are asked for: all in one group, or each
    /// in its own when the tag `_field` groups.
    pub fn field_groups(&self, fields: &[String]) -> Vec<Vec<String>> {
        let tests: Vec<Matcher> = self
            .filters
            .iter()
            .filter(|filter| filter.tag == FIELD_TAG)
            .map(Filter::matcher)
            .collect();
        let shown = |field: &str| super::field_tag_value(field).to_owned();
        let wanted = fields
            .iter()
            .filter(|field| tests.iter().all(|test| test.matches(Some(&shown(field)))))
            .cloned();
        let groups = self.filters.iter().any(|filter| filter.groups && filter.tag == FIELD_TAG);
        match groups && !self.shows_each() {
            true => wanted.map(|field| vec![field]).collect(),
            false => vec![wanted.collect()],
        }
    }

    /// The plan of the question for one group of fields.
    pub fn plan(&self, inquiry: &Inquiry, namespace: NamespaceId, fields: &[String]) -> Series {
        let (start_ns, end_ns) = (ms_ns(inquiry.start_ms), ms_end_ns(inquiry.end_ms));
        let range = TimeRange::new(start_ns, end_ns);
        let selector = self.selector(namespace, fields);
        let mut series = match &self.downsample {
            None => Series::Select { selector, range },
            Some(downsample) => {
                let range = downsample.range(range);
                let input = Series::Select { selector, range };
                Series::Window(Box::new(downsample.window(input, range)))
            }
        };
        let (grouping, fold) = match self.combine {
            Combine::Fold(fold) => (self.grouping(), fold),
            _ => (Grouping::Each, Fold::First),
        };
        series = Series::Aggregate(Box::new(Aggregate {
            input: series,
            grouping,
            fold,
            gap: Gap::Absent,
            arithmetic: Arithmetic::Float,
            wants_members: true,
        }));
        if let Some(reset) = self.rate {
            let rate = Rate { input: series, per_ns: NANOS_PER_SECOND, reset };
            series = Series::Rate(Box::new(rate));
        }
        match self.shown() {
            None => series,
            Some((count, is_top)) => Series::Ranked(Box::new(Ranked {
                input: series,
                rank: if is_top { Rank::Max } else { Rank::Min },
                last: Some(RECENT),
                range: TimeRange::ALL,
                count,
                is_top,
                keeps_later: true,
                takes_empty: false,
            })),
        }
    }

    fn selector(&self, namespace: NamespaceId, fields: &[String]) -> Selector {
        let measurement = Test::equal(&*self.metric);
        let field = Test::AnyOf(fields.to_vec());
        let filters = self.filters.iter().filter(|filter| filter.tag != FIELD_TAG);
        let exact_labels = self.has_explicit_tags.then(|| {
            let mut tags: Vec<String> = filters.clone().map(|filter| filter.tag.clone()).collect();
            tags.sort_unstable();
            tags.dedup();
            tags
        });
        Selector {
            namespace,
            names: vec![Name { measurement, field }],
            matchers: filters.map(Filter::matcher).collect(),
            exact_labels,
            only: None,
        }
    }

    fn grouping(&self) -> Grouping {
        let mut names: Vec<Arc<str>> = Vec::new();
        for filter in self.filters.iter().filter(|f| f.groups && f.tag != FIELD_TAG) {
            if !names.iter().any(|name| **name == *filter.tag) {
                names.push(filter.tag.as_str().into());
            }
        }
        match names.is_empty() {
            true => Grouping::All,
            false => Grouping::By { names, drops_absent: true },
        }
    }
}

impl Combine {
    fn parse(name: &str) -> Result<Self, HttpError> {
        let number = |digits: &str| digits.parse::<usize>().ok();
        let found = match name {
            "none" => Some(Self::None),
            _ => match (name.strip_prefix("top"), name.strip_prefix("bottom")) {
                (Some(digits), _) => number(digits).map(Self::Top),
                (_, Some(digits)) => number(digits).map(Self::Bottom),
                _ => fold_named(name).filter(|fold| !is_positional(*fold)).map(Self::Fold),
            },
        };
        found.ok_or_else(|| HttpError::bad_request("unrecognized aggregator"))
    }
}

fn is_positional(fold: Fold) -> bool {
    matches!(fold, Fold::First | Fold::Last)
}

fn fold_named(name: &str) -> Option<Fold> {
    Some(match name {
        "avg" => Fold::Mean,
        "count" => Fold::Count,
        "dev" => Fold::Deviation,
        "first" => Fold::First,
        "last" => Fold::Last,
        "max" => Fold::Max,
        "min" => Fold::Min,
        "sum" => Fold::Sum,
        _ => {
            // p999 is the 99.9th percentile, and so on.
            let mut percent = f64::from(name.strip_prefix('p')?.parse::<u32>().ok()?);
            while percent > 100.0 {
                percent /= 10.0;
            }
            Fold::Quantile { q: percent / 100.0, method: Quantile::Legacy }
        }
    })
}

impl Downsample {
    /// Reads `10s-avg[-fill]` or `0all-avg`; nothing for what TickTock passes over.
    fn parse(text: &str) -> Result<Option<Self>, HttpError> {
        let bad = || HttpError::bad_request("unrecognized downsampler");
        let mut parts = text.split('-');
        let (Some(interval), Some(function)) = (parts.next(), parts.next()) else {
            return Ok(None);
        };
        if function == "none" {
            return Ok(None);
        }
        let fold = fold_named(function).ok_or_else(bad)?;
        let fill = match parts.next() {
            Some("nan" | "null") => Fill::Nan,
            Some("zero") => Fill::Value(0.0),
            _ => Fill::None,
        };
        let unit = interval.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = interval.strip_suffix(unit).unwrap_or(interval);
        let unit_ns = match unit {
            "all" => return Ok(Some(Self { width_ns: None, fold, fill: Fill::None })),
            "ms" => NANOS_PER_MILLI,
            "s" => NANOS_PER_SECOND,
            "m" => 60 * NANOS_PER_SECOND,
            "h" => 3_600 * NANOS_PER_SECOND,
            "d" => 86_400 * NANOS_PER_SECOND,
            "w" => 604_800 * NANOS_PER_SECOND,
            _ => return Err(bad()),
        };
        let count: i64 = digits.parse().map_err(|_| bad())?;
        let width_ns = count.max(1).checked_mul(unit_ns).ok_or_else(bad)?;
        Ok(Some(Self { width_ns: Some(width_ns), fold, fill }))
    }

    /// What is looked at: buckets that begin in the query's range, the last one whole unless it
    /// begins where the query ends.
    fn range(&self, query: TimeRange) -> TimeRange {
        let Some(width_ns) = self.width_ns else { return query };
        let up = |time_ns: i64| match time_ns.rem_euclid(width_ns) {
            0 => time_ns,
            into => time_ns.saturating_add(width_ns - into),
        };
        // The query's end is the last nanosecond of its millisecond.
        let end_ns = query.end_ns - query.end_ns.rem_euclid(NANOS_PER_MILLI);
        let last_ns = match up(end_ns) {
            same if same == end_ns => query.end_ns,
            next => next.saturating_sub(1),
        };
        TimeRange::new(up(query.start_ns), last_ns)
    }

    fn window(&self, input: Series, range: TimeRange) -> Window {
        let windows = match self.width_ns {
            Some(width_ns) => Windows::Buckets { width_ns, origin_ns: 0 },
            None => Windows::Whole(range),
        };
        Window { input, windows, fold: self.fold, fill: self.fill, range }
    }
}

/// Reads what stands behind `rate`: nothing, or `{counter,max,reset,drop}`, where `counter` is a
/// word of OpenTSDB's or begins with `t`.
fn rate_of_text(options: &str) -> Result<Reset, HttpError> {
    let Some(inside) = options.strip_prefix('{') else { return Ok(Reset::Gauge) };
    let parts: Vec<&str> = inside.trim_end_matches('}').split(',').collect();
    let part = |index: usize| parts.get(index).copied().unwrap_or_default();
    let number = |index: usize, default: f64| match part(index) {
        "" => Ok(default),
        text => text.parse::<f64>().map_err(|_| {
            HttpError::bad_request(format!("'{text}' is no number of a rate's options"))
        }),
    };
    let is_yes = |text: &str| text.starts_with(['t', 'T']);
    let is_counter = part(0).ends_with("counter") || is_yes(part(0));
    let drops = part(0) == "dropcounter" || is_yes(part(3));
    Ok(reset(is_counter, drops, number(1, COUNTER_MAX)?, number(2, 0.0)?))
}

fn rate_of_json(options: &Value) -> Reset {
    let flag = |name: &str| options.get(name).is_some_and(is_true);
    let number = |name: &str| options.get(name).and_then(Value::as_f64);
    let max = number("counterMax").unwrap_or(COUNTER_MAX);
    reset(flag("counter"), flag("dropResets"), max, number("resetValue").unwrap_or(0.0))
}

/// The largest value of a counter unless the query says otherwise.
const COUNTER_MAX: f64 = i64::MAX as f64;

fn reset(is_counter: bool, drops: bool, max: f64, reset_above: f64) -> Reset {
    match (is_counter, drops) {
        (false, _) => Reset::Gauge,
        (true, true) => Reset::Drop,
        (true, false) => Reset::Wrap { max: max as i64, reset_above },
    }
}

fn ms_ns(ms: i64) -> i64 {
    ms.saturating_mul(NANOS_PER_MILLI)
}

fn ms_end_ns(ms: i64) -> i64 {
    ms_ns(ms).saturating_add(NANOS_PER_MILLI - 1)
}

/// What the tag `_field` says of a field without a name of its own; such series are shown without
/// the tag.
pub(super) fn shows_field(field: &str) -> bool {
    field != DEFAULT_FIELD && field != NO_FIELD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(m: &str) -> Result<Question, String> {
        Question::parse(m).map_err(|error| error.message)
    }

    #[test]
    fn what_cannot_be_understood_is_said_in_ticktocks_words() {
        for (query, message) in [
            ("m=sum:m", "Must specify start time when query."),
            ("start=1", "Must specify m parameter when query."),
            ("start=1&m=m", "Failed to parse query: m"),
            ("start=1&m=foo:m", "unrecognized aggregator"),
            ("start=1&m=first:m", "unrecognized aggregator"),
            ("start=1&m=sum:1n-sum:m", "unrecognized downsampler"),
            ("start=1&m=sum:30s-foo:m", "unrecognized downsampler"),
        ] {
            assert_eq!(Inquiry::parse_get(query, 0).unwrap_err().message, message);
        }
        for (body, part) in [
            ("", "POST request content is null"),
            ("{", "not valid JSON"),
            (r#"{"queries":[]}"#, "doesn't specify parameter 'start'"),
            (r#"{"start":1}"#, "doesn't specify parameter 'queries'"),
            (r#"{"start":1,"queries":[{}]}"#, "Must specify metric name when query."),
        ] {
            let message = Inquiry::parse_post(body.as_bytes(), 0).unwrap_err().message;
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn percentiles_of_any_number_of_digits() {
        for (name, expected) in [("p50", 0.5), ("p999", 0.999), ("p100", 1.0), ("p5", 0.05)] {
            let Some(Fold::Quantile { q, .. }) = fold_named(name) else { panic!("{name}") };
            assert!((q - expected).abs() < 1e-12, "{name}");
        }
        assert_eq!(ask("top12:m").unwrap().shown(), Some((12, true)));
        assert_eq!(ask("bottom3:m").unwrap().shown(), Some((3, false)));
        assert!(ask("topx:m").is_err());
    }

    #[test]
    fn rates_are_spelt_in_both_ways() {
        let rate = |text: &str| ask(&format!("sum:{text}:m")).unwrap().rate.unwrap();
        let wrap = |max, reset_above| Reset::Wrap { max, reset_above };
        assert_eq!(rate("rate"), Reset::Gauge);
        assert_eq!(rate("rate{counter,300,5}"), wrap(300, 5.0));
        assert_eq!(rate("rate{true,300}"), wrap(300, 0.0));
        assert_eq!(rate("rate{dropcounter}"), Reset::Drop);
        assert_eq!(rate("rate{true,,,true}"), Reset::Drop);
        assert_eq!(rate("rate{false}"), Reset::Gauge);
    }

    #[test]
    fn fields_are_a_tag() {
        let fields = ["value", "idle", "usage"].map(str::to_owned);
        let groups = |m: &str| ask(m).unwrap().field_groups(&fields);
        assert_eq!(groups("sum:m"), [fields.to_vec()]);
        assert_eq!(groups("sum:m{_field=*}").len(), 3);
        assert_eq!(groups("none:m{_field=*}").len(), 1);
        assert_eq!(groups("sum:m{_field=_}"), [["value".to_owned()]]);
        assert_eq!(groups("sum:m{}{_field=us*|x}"), [Vec::<String>::new()]);
        assert_eq!(groups("sum:m{}{_field=us*}"), [["usage".to_owned()]]);
    }

    #[test]
    fn buckets_begin_in_the_query_and_the_last_one_is_whole() {
        let range = |start_s: i64, end_s: i64| {
            let downsample = Downsample::parse("30s-avg").unwrap().unwrap();
            let ns = NANOS_PER_SECOND;
            let query = TimeRange::new(start_s * ns, end_s * ns + NANOS_PER_MILLI - 1);
            let range = downsample.range(query);
            (range.start_ns / ns, range.end_ns / ns)
        };
        assert_eq!(range(5, 65), (30, 89));
        assert_eq!(range(0, 60), (0, 60));
    }
}
