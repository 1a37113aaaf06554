//! GET queries: `start`, `end`, and questions as `m=` and `tsuid=`.

use super::aggregator::Aggregator;
use super::downsample::Downsample;
use super::filter::Filter;
use super::rate::RateOptions;
use super::rollup::RollupUsage;
use super::time::parse_time;
use super::{Notes, Output, Question, Request, Source, Tsuid, known_zone, zone};
use crate::http::{HttpError, Params, missing_parameter};
use foliot_model::Matcher;

/// Reads the parameters of a GET query. Time zone and calendar are taken as in POST queries, which
/// OpenTSDB's documents promise and its code forgot.
pub(super) fn parse(params: &Params, now_ms: i64) -> Result<Request, HttpError> {
    let mut request = frame(params, now_ms)?;
    request.deletes = params.has("delete");
    let use_calendar = params.has("use_calendar");
    for text in params.all("tsuid") {
        let question = parse_question(text, "tsuid", use_calendar, parse_tsuids)?;
        push_question(&mut request.questions, question)?;
    }
    for text in params.all("m") {
        let question = parse_question(text, "m", use_calendar, parse_metric)?;
        push_question(&mut request.questions, question)?;
    }
    Ok(request)
}

/// What the parameters say beside questions: times and how the answer is to look.
pub(super) fn frame(params: &Params, now_ms: i64) -> Result<Request, HttpError> {
    let zone = params.get("tz").or(params.get("timezone"));
    let start = params.get("start").unwrap_or_default();
    between(params, start, params.get("end"), zone, now_ms)
}

/// The same with times from elsewhere.
pub(super) fn between(
    params: &Params,
    start: &str,
    end: Option<&str>,
    zone_name: Option<&str>,
    now_ms: i64,
) -> Result<Request, HttpError> {
    let zone_name = known_zone(zone_name.unwrap_or("UTC"));
    let time_zone = zone(zone_name)?;
    if start.is_empty() {
        return Err(missing_parameter("start"));
    }
    let start_ms = parse_time(start, &time_zone, now_ms)?;
    let end_ms = match end.filter(|text| !text.is_empty()) {
        Some(end) => parse_time(end, &time_zone, now_ms)?,
        None => now_ms,
    };
    let output = output(params)?;
    let questions = Vec::new();
    Ok(Request {
        start_ms,
        end_ms,
        output,
        questions,
        zone: zone_name.into(),
        is_clipped: true,
        deletes: false,
        notes: Notes::default(),
    })
}

/// Reads a question as `m=` has it.
pub(super) fn question(text: &str) -> Result<Question, HttpError> {
    parse_question(text, "m", false, parse_metric)
}

/// The conditions that braces say behind a metric's name, as `{host=a|b}{dc=e*}`.
///
/// # Errors
/// What is wrong with them.
pub fn matchers(braces: &str) -> Result<Vec<Matcher>, HttpError> {
    let (_, filters) = parse_metric(&format!("x{braces}"))?;
    Ok(Filter::matchers(&filters))
}

/// The conditions that patterns say, each as it stands behind the `=` of a tag: `a|b`, `web*`,
/// `not_literal_or(a)`. Names and patterns may have all letters here.
///
/// # Errors
/// What is wrong with them.
pub fn conditions<'p>(
    patterns: impl Iterator<Item = (&'p str, &'p str)>,
) -> Result<Vec<Matcher>, HttpError> {
    let mut filters = Vec::new();
    for (tag, pattern) in patterns {
        Filter::of(tag, pattern, false)?.push_to(&mut filters)?;
    }
    Ok(Filter::matchers(&filters))
}

/// How many questions a query may have; each is planned and run by itself.
const QUESTIONS_MAX: usize = 1000;

/// Adds a question, unless the query is too costly then.
pub(super) fn push_question(
    questions: &mut Vec<Question>,
    question: Question,
) -> Result<(), HttpError> {
    if questions.len() >= QUESTIONS_MAX {
        let message = format!("The query has more than {QUESTIONS_MAX} questions: ask in several");
        return Err(HttpError::bad_request(message));
    }
    questions.push(question);
    questions.iter().try_for_each(Question::check_histograms)?;
    Filter::check_cost(questions.iter().flat_map(|question| &question.filters))
}

/// What the parameters say about the answer. POST queries say most of it in the body.
pub(super) fn output(params: &Params) -> Result<Output, HttpError> {
    Ok(Output {
        in_ms: params.has("ms"),
        as_arrays: params.has("arrays"),
        shows_query: params.has("show_query"),
        shows_tsuids: params.has("show_tsuids"),
        shows_stats: params.has("show_stats"),
        shows_summary: params.has("show_summary"),
        hides_notes: params.has("no_annotations"),
        shows_globals: params.has("global_annotations"),
        jsonp: params.jsonp()?,
    })
}

/// What the last part of a question says: what it is about, and conditions.
type Subject = Result<(Source, Vec<Filter>), HttpError>;

/// Reads `<aggregator>:[<option>:]*<last>`; `parse_last` reads the last part.
fn parse_question(
    text: &str,
    param: &str,
    use_calendar: bool,
    parse_last: fn(&str) -> Subject,
) -> Result<Question, HttpError> {
    let parts = parts(text);
    let (aggregator, options, last) = match &parts[..] {
        [aggregator, options @ .., last] if options.len() <= 3 => (aggregator, options, last),
        parts => {
            let fault = if parts.len() < 2 { "not enough" } else { "too many" };
            let message = format!("Invalid parameter {param}={text} ({fault} :-separated parts)");
            let example = "Write it as AGGREGATOR:METRIC, for example sum:cpu.usage";
            return Err(HttpError::bad_request(message).with_details(example));
        }
    };
    let (source, filters) = parse_last(last)?;
    let mut question = Question {
        source,
        aggregator: aggregator_named(aggregator).map_err(|error| error.at(text))?,
        filters,
        has_explicit_tags: false,
        downsample: None,
        rate: None,
        percentiles: Vec::new(),
        shows_buckets: false,
        usage: None,
        is_pre_aggregated: false,
        table: None,
    };
    let mut rest = text.get(aggregator.len() + 1..).unwrap_or_default();
    for option in options {
        parse_option(option, use_calendar, &mut question).map_err(|error| error.at(rest))?;
        rest = rest.get(option.len() + 1..).unwrap_or_default();
    }
    Ok(question)
}

/// The parts of a question between its colons. A metric in quotes is one of them whole, whatever it
/// is called, with its braces.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let opens = |(at, _): &(usize, &str)| {
        let last = text.get(at + 1..).unwrap_or_default();
        let behind = read_quoted(last).map(|(_, behind)| behind);
        behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('{'))
    };
    let Some((at, _)) = text.match_indices(":\"").find(opens) else {
        return text.split(':').collect();
    };
    let (before, last) = text.split_at(at);
    before.split(':').chain(last.get(1..)).collect()
}

/// A name that `text` begins with in double quotes, and what stands behind it. Within, `\"` is a
/// quote, `\\` a backslash and `\n` the end of a line. OpenTSDB has no such names, and no quotes.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut letters = text.strip_prefix('"')?.chars();
    loop {
        match letters.next()? {
            '"' => return Some((name, letters.as_str())),
            '\\' => name.push(match letters.next()? {
                'n' => '\n',
                letter => letter,
            }),
            letter => name.push(letter),
        }
    }
}

/// The aggregator called `name`.
pub(super) fn aggregator_named(name: &str) -> Result<&'static Aggregator, HttpError> {
    if name.is_empty() {
        return Err(HttpError::bad_request("Missing the aggregation function"));
    }
    Aggregator::named(name).ok_or_else(|| {
        HttpError::bad_request(format!("No such aggregation function: {name}"))
            .with_details("/api/aggregators lists all of them")
    })
}

/// Reads a middle part, recognised by how it begins. Unknown ones mean nothing, as in OpenTSDB.
fn parse_option(
    option: &str,
    use_calendar: bool,
    question: &mut Question,
) -> Result<(), HttpError> {
    let lower = option.to_ascii_lowercase();
    if lower.starts_with("rate") {
        question.rate = Some(RateOptions::parse(option)?);
    } else if lower.starts_with(|first: char| first.is_ascii_digit()) {
        question.downsample = Some(Downsample::parse(option, use_calendar)?);
    } else if lower.starts_with("explicit_tags") {
        question.has_explicit_tags = true;
    } else if let Some(list) = lower.strip_prefix("percentiles") {
        let inner = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
        let bad = || HttpError::bad_request(format!("Invalid percentiles: {option}"));
        for percentile in inner.ok_or_else(bad)?.split(',') {
            question.percentiles.push(percentile.trim().parse().map_err(|_| bad())?);
        }
        question.percentiles.sort_by(f32::total_cmp);
    } else if lower.starts_with("pre-agg") {
        question.is_pre_aggregated = true;
    } else if lower.starts_with("rollup_") {
        question.usage = Some(RollupUsage::parse(option));
    } else if lower.starts_with("show-histogram-buckets") {
        question.shows_buckets = true;
    } else if lower.starts_with('"') {
        let message = format!("A metric in quotes does not end behind them: {option}");
        let details =
            "Within the quotes, \\\" is one and \\\\ a backslash; behind them stand braces alone";
        return Err(HttpError::bad_request(message).with_details(details));
    }
    Ok(())
}

/// Reads `metric[{k=v,…}][{k=v,…}]`: braces that group, then braces that only filter. A metric that
/// has colons or braces stands in double quotes.
fn parse_metric(text: &str) -> Subject {
    let (metric, braces) = match (read_quoted(text), text.split_once('{')) {
        (Some((metric, "")), _) => (metric, None),
        (Some((metric, behind)), _) if behind.starts_with('{') => (metric, behind.get(1..)),
        (_, None) => (text.to_owned(), None),
        (_, Some((metric, braces))) => (metric.to_owned(), Some(braces)),
    };
    if metric.is_empty() {
        return Err(HttpError::bad_request("Missing the metric or tsuids, provide at least one"));
    }
    let mut filters = Vec::new();
    if let Some(braces) = braces {
        let Some(inner) = braces.strip_suffix('}') else {
            let message = format!("Missing '}}' at the end of: {text}");
            // Behind the last one, or where it ends too soon.
            let rest = braces.rfind('}').and_then(|at| braces.get(at + 1..)).unwrap_or_default();
            return Err(HttpError::bad_request(message).at(rest));
        };
        let (grouping, plain) = match inner.split_once("}{") {
            Some((grouping, plain)) => (grouping, plain),
            None => (inner, ""),
        };
        for (list, groups) in [(plain, false), (grouping, true)] {
            // From each part on, the text goes on to its end.
            let mut rest = match groups {
                true => braces,
                false => braces.get(inner.len() - plain.len()..).unwrap_or_default(),
            };
            for part in list.split(',').filter(|_| !list.is_empty()) {
                let filter = Filter::parse(part, groups).map_err(|error| {
                    let what = if groups { "tag" } else { "filter" };
                    let message = format!("When parsing {what} '{part}': {}", error.message);
                    HttpError::bad_request(message).at(rest)
                });
                filter?.push_to(&mut filters)?;
                rest = rest.get(part.len() + 1..).unwrap_or_default();
            }
        }
    }
    Ok((Source::Metric(metric), filters))
}

fn parse_tsuids(text: &str) -> Subject {
    Ok((Source::Tsuids(tsuids(text.split(','))?), Vec::new()))
}

/// Reads TSUIDs, which must be of one metric.
pub(super) fn tsuids<'a>(list: impl Iterator<Item = &'a str>) -> Result<Vec<Tsuid>, HttpError> {
    let tsuids: Vec<Tsuid> = list.map(Tsuid::parse).collect::<Result<_, _>>()?;
    let metric = |tsuid: &Tsuid| (tsuid.measurement, tsuid.field);
    match tsuids.first() {
        None => Err(HttpError::bad_request("Missing the metric or tsuids, provide at least one")),
        Some(first) if tsuids.iter().any(|tsuid| metric(tsuid) != metric(first)) => {
            Err(HttpError::bad_request("All TSUIDs of a question must be of one metric"))
        }
        Some(_) => Ok(tsuids),
    }
}
