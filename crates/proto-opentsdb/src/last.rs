//! `/api/query/last`: the latest sample of each series.
//!
//! Differs from OpenTSDB on purpose: the answer comes from the index and is complete, whatever
//! parts of its tags a question names and however long ago the sample was; `back_scan` only bounds
//! how old it may be.

use crate::encode::{write_labels, write_text};
use crate::http::{HttpError, HttpRequest, Params, missing_questions};
use crate::json;
use crate::key::{split_tag, text_of};
use crate::lang::Tsuid;
use crate::view::{Answer, View};
use foliot_model::push_integer;

const HOUR_MS: i64 = 3_600_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// What to find the latest samples of.
#[derive(Debug)]
enum Wanted {
    Metric(String, Vec<(String, String)>),
    Tsuids(Vec<Tsuid>),
}

/// Answers a request.
///
/// # Errors
/// 400 for what does not parse and for names that nothing has.
pub(crate) fn answer(request: &HttpRequest<'_>, view: &View<'_>) -> Result<Answer, HttpError> {
    let params = Params::parse(request.query);
    let is_post = request.method == "POST";
    let (wanted, resolves, hours) = match is_post {
        true => from_json(request.body)?,
        false => from_params(&params)?,
    };
    if wanted.is_empty() {
        return Err(missing_questions());
    }
    let hour_ms = view.now_ms - view.now_ms.rem_euclid(HOUR_MS);
    let from_ms = if hours > 0 { hour_ms.saturating_sub(hours * HOUR_MS) } else { i64::MIN };
    let mut body = vec![b'['];
    for one in &wanted {
        let mut sids = Vec::new();
        match one {
            Wanted::Metric(metric, tags) => {
                sids = view.matching(Some(metric), tags)?;
                if sids.is_empty() {
                    // What a series has exists.
                    view.require(Some(metric), tags)?;
                }
            }
            Wanted::Tsuids(tsuids) => {
                for tsuid in tsuids {
                    sids.extend((view.resolve)(tsuid)?);
                }
            }
        }
        for sid in sids {
            write_point(sid, resolves, from_ms, view, &mut body)?;
        }
    }
    body.push(b']');
    Ok(Answer::written(String::from_utf8(body).unwrap_or_default()))
}

/// Writes the latest sample of a series, if it has one that is not too old, into a list.
fn write_point(
    sid: u32,
    resolves: bool,
    from_ms: i64,
    view: &View<'_>,
    list: &mut Vec<u8>,
) -> Result<(), HttpError> {
    let Some(last) = (view.last)(sid)? else { return Ok(()) };
    let time_ms = last.time_ns.div_euclid(NANOS_PER_MILLI);
    let Some(stored) = (view.stored)(sid)?.filter(|_| time_ms >= from_ms) else { return Ok(()) };
    if list.len() > 1 {
        list.push(b',');
    }
    list.push(b'{');
    if resolves {
        list.extend_from_slice(b"\"metric\":");
        write_text(&stored.metric, list);
        list.extend_from_slice(b",\"tags\":{");
        write_labels(&stored.tags, list);
        list.extend_from_slice(b"},");
    }
    list.extend_from_slice(b"\"timestamp\":");
    push_integer(time_ms, list);
    list.extend_from_slice(b",\"tsuid\":\"");
    stored.tsuid.write(list);
    list.extend_from_slice(b"\",\"value\":");
    write_text(&last.text, list);
    list.push(b'}');
    Ok(())
}

/// What is wanted, whether names are, and how many hours back.
type Question = (Vec<Wanted>, bool, i64);

fn from_params(params: &Params) -> Result<Question, HttpError> {
    let hours = match params.get("back_scan") {
        None => 0,
        Some(text) => text
            .parse()
            .map_err(|_| HttpError::bad_request("Unable to parse back_scan parameter"))?,
    };
    let mut wanted = Vec::new();
    for text in params.all("timeseries") {
        let (metric, tags) = parse_series(text)?;
        wanted.push(Wanted::Metric(metric, tags));
    }
    for text in params.all("tsuids") {
        let words = text.split(',').filter(|word| !word.is_empty());
        wanted.push(Wanted::Tsuids(words.map(Tsuid::parse).collect::<Result<_, _>>()?));
    }
    Ok((wanted, params.has("resolve"), hours))
}

fn from_json(body: &[u8]) -> Result<Question, HttpError> {
    let body = json::parse_object(body)?;
    let mut wanted = Vec::new();
    for query in json::list(&body, "queries")? {
        let words = json::texts(query, "tsuids")?;
        if words.is_empty() {
            let metric = json::text(query, "metric")?.ok_or_else(|| {
                HttpError::bad_request("Missing the metric or tsuids, provide at least one")
            })?;
            let tags = json::text_map(query, "tags")?.unwrap_or_default();
            wanted.push(Wanted::Metric(metric, tags));
        } else {
            let tsuids = words.iter().map(|word| Tsuid::parse(word));
            wanted.push(Wanted::Tsuids(tsuids.collect::<Result<_, _>>()?));
        }
    }
    let hours = json::integer(&body, "backScan")?.unwrap_or(0);
    Ok((wanted, json::flag(&body, "resolveNames")?, hours))
}

/// Reads `metric{k=v,…}`, tags as they are stored.
pub(crate) fn parse_series(text: &str) -> Result<(String, Vec<(String, String)>), HttpError> {
    let (metric, braces) = text.split_once('{').unwrap_or((text, "}"));
    if metric.is_empty() {
        return Err(HttpError::bad_request("Missing the metric or tsuids, provide at least one"));
    }
    let Some(inner) = braces.strip_suffix('}') else {
        return Err(HttpError::bad_request(format!("Missing '}}' at the end of: {text}")));
    };
    let mut tags = Vec::new();
    for tag in inner.split(',').filter(|_| !inner.is_empty()) {
        let (key, value) = split_tag(tag.as_bytes()).map_err(|error| {
            HttpError::bad_request(format!("When parsing tag '{tag}': {}", error.reason))
        })?;
        tags.push((text_of(key).into_owned(), text_of(value).into_owned()));
    }
    Ok((metric.to_owned(), tags))
}
