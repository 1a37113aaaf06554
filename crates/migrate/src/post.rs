//! Pieces of an import, posted to a running server; and what its answers say about single lines.

use crate::client::{Answer, Client, push_percent};
use crate::error::Error;
use crate::import::{Place, RETRIES_MAX, RETRY_PAUSE};
use crate::places::{self, Policy};
use foliot_proto_prometheus::shown_series;
use serde_json::{Map, Value, json};
use std::thread::sleep;

/// Lines that were refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) count: u64,
    /// The line of the text that was posted, from 1 on, where it is one and known.
    pub(crate) line: Option<u32>,
    pub(crate) reason: String,
}

/// Posts line protocol to `/write`.
pub(crate) fn lines(client: &Client, place: &Place, text: &[u8]) -> Result<Vec<Refused>, Error> {
    let answer = to_place(client, "/write?precision=ns&db=", place, text)?;
    match answer.status {
        200..300 => Ok(Vec::new()),
        400 => match refused_lines(&answer.text(), text) {
            refused if refused.is_empty() => Err(failed(&answer)),
            refused => Ok(refused),
        },
        _ => Err(failed(&answer)),
    }
}

/// Posts exact lines to Foliot's own API.
pub(crate) fn exact(client: &Client, place: &Place, text: &[u8]) -> Result<Vec<Refused>, Error> {
    let answer = to_place(client, "/api/foliot/v1/import?format=exact&db=", place, text)?;
    let report: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let all = report.get("refused").and_then(Value::as_u64);
    let Some(all) = all.filter(|_| answer.status == 200) else {
        return Err(failed(&answer));
    };
    let faults = report.get("faults").and_then(Value::as_array).into_iter().flatten();
    let mut refused: Vec<Refused> = faults
        .map(|fault| {
            let said = |name: &str| fault.get(name).and_then(Value::as_str).unwrap_or_default();
            let line = fault.get("line").and_then(Value::as_u64);
            let reason = format!("{}: {}", said("field"), said("message"));
            Refused { count: 1, line: line.and_then(|line| u32::try_from(line).ok()), reason }
        })
        .collect();
    refused.extend(unworded(all.saturating_sub(refused.len() as u64)));
    Ok(refused)
}

/// Lines that were refused and of which the server says no more.
fn unworded(count: u64) -> Option<Refused> {
    let reason = "refused by the server".to_owned();
    (count > 0).then_some(Refused { count, line: None, reason })
}

/// Posts a request of remote write 1.0.
pub(crate) fn series(client: &Client, place: &Place, text: &[u8]) -> Result<Vec<Refused>, Error> {
    let packed = snap::raw::Encoder::new().compress_vec(text);
    let packed =
        packed.map_err(|error| Error::Format(format!("cannot pack a request: {error}")))?;
    let answer = to_place(client, "/api/v1/write?db=", place, &packed)?;
    let said = answer.text();
    let refused = said.split_once(" samples were stored, ").and_then(|(_, rest)| {
        let (count, first) = rest.split_once(" refused; the first in series ")?;
        let (series, reason) = first.split_once(": ")?;
        let series = shown_series(text, series.parse().ok()?);
        let reason = format!("{series}: {reason}");
        Some(Refused { count: count.parse().ok()?, line: None, reason })
    });
    match (answer.status, refused) {
        (200..300, _) => Ok(Vec::new()),
        (400, Some(refused)) => Ok(vec![refused]),
        _ => Err(failed(&answer)),
    }
}

/// Posts to a database and policy. A policy that the server lacks is made; it keeps what comes for
/// as long as the server says: a dump does not say it.
fn to_place(client: &Client, path: &str, place: &Place, body: &[u8]) -> Result<Answer, Error> {
    let mut target = path.to_owned();
    push_percent(&place.database, &mut target);
    let Some(policy) = &place.policy else { return patiently(client, &target, body) };
    target += "&rp=";
    push_percent(policy, &mut target);
    let answer = patiently(client, &target, body)?;
    if !answer.text().contains("retention policy not found") {
        return Ok(answer);
    }
    places::make_at(client, &place.database, &[Policy::unbounded(policy)])?;
    patiently(client, &target, body)
}

/// Posts put lines to `/api/put`, as the JSON that it takes. Where no place is named they go to the
/// one that the server has for such lines.
pub(crate) fn puts(client: &Client, place: &Place, text: &[u8]) -> Result<Vec<Refused>, Error> {
    let mut refused = Vec::new();
    let mut points = Vec::new();
    for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        if line.is_empty() {
            continue;
        }
        match point(line) {
            Ok(point) => points.push((number, point)),
            Err(reason) => refused.push(Refused { count: 1, line: Some(number), reason }),
        }
    }
    if points.is_empty() {
        return Ok(refused);
    }
    let body: Value = points.iter().map(|(_, point)| point.clone()).collect();
    let body = body.to_string();
    let answer = match *place == Place::default() {
        true => patiently(client, "/api/put?details", body.as_bytes())?,
        false => to_place(client, "/api/put?details&db=", place, body.as_bytes())?,
    };
    if answer.status == 204 {
        return Ok(refused);
    }
    let report: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let Some(failed_points) = report.get("failed").and_then(Value::as_u64) else {
        return Err(failed(&answer));
    };
    let before = refused.len();
    for error in report.get("errors").and_then(Value::as_array).into_iter().flatten() {
        let reason = error.get("error").and_then(Value::as_str).unwrap_or("refused by the server");
        // Errors come in the order of the points: of two that are alike it is the first.
        let at = points.iter().position(|(_, point)| error.get("datapoint").is_some_and(is(point)));
        let line = at.map(|at| points.remove(at).0);
        refused.push(Refused { count: 1, line, reason: reason.to_owned() });
    }
    refused.extend(unworded(failed_points.saturating_sub((refused.len() - before) as u64)));
    Ok(refused)
}

/// Whether a point that a server names is this one. Texts become numbers there, and a time that is
/// none becomes 0.
fn is(point: &Value) -> impl Fn(&Value) -> bool {
    let plain = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        value => value.map(Value::to_string).unwrap_or_default(),
    };
    move |named| {
        let same = |name: &str| plain(point.get(name)) == plain(named.get(name));
        let is_no_time = || plain(point.get("timestamp")).parse::<i64>().is_err();
        let became_0 = || named.get("timestamp") == Some(&Value::from(0)) && is_no_time();
        ["metric", "value", "tags"].into_iter().all(same) && (same("timestamp") || became_0())
    }
}

/// The JSON point of a put line. Numbers stay the texts they are; what is wrong with them the
/// server says.
fn point(line: &[u8]) -> Result<Value, String> {
    let line = std::str::from_utf8(line).map_err(|_| "not valid UTF-8".to_owned())?;
    let mut words = line.split(' ').skip(1);
    let (Some(metric), Some(time), Some(value)) = (words.next(), words.next(), words.next()) else {
        return Err(format!("not enough words: {line}"));
    };
    let mut tags = Map::new();
    for word in words.filter(|word| !word.is_empty()) {
        let (name, value) = word.split_once('=').ok_or_else(|| format!("invalid tag: {word}"))?;
        if tags.insert(name.to_owned(), value.into()).is_some_and(|before| before != value) {
            return Err(format!("duplicate tag: {name}"));
        }
    }
    Ok(json!({ "metric": metric, "timestamp": time, "value": value, "tags": tags }))
}

/// Posts, and posts again for as long as the server says that it has too much to do.
fn patiently(client: &Client, target: &str, body: &[u8]) -> Result<Answer, Error> {
    let mut tries = 0;
    loop {
        let answer = client.post(target, body)?;
        if !matches!(answer.status, 429 | 503) || tries == RETRIES_MAX {
            return Ok(answer);
        }
        tries += 1;
        sleep(RETRY_PAUSE);
    }
}

fn failed(answer: &Answer) -> Error {
    Error::Answer { status: answer.status, message: answer.text() }
}

/// Reads from the answer to a write which lines were refused. InfluxDB words them so: a sentence
/// for each line that was not understood, and the number of points that were dropped.
fn refused_lines(answer: &str, posted: &[u8]) -> Vec<Refused> {
    let json = serde_json::from_str::<Value>(answer).unwrap_or_default();
    let said = json.get("error").and_then(Value::as_str).unwrap_or(answer);
    let mut refused = Vec::new();
    for sentence in said.lines() {
        let many = sentence
            .split_once("unable to parse ")
            .and_then(|(_, rest)| rest.split_once(" more lines")?.0.parse::<u64>().ok());
        let unread = many.unwrap_or(u64::from(sentence.contains("unable to parse '")));
        let dropped = sentence.rsplit_once("dropped=").and_then(|(_, rest)| {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest.get(..digits)?.parse::<u64>().ok()
        });
        let count = unread + dropped.unwrap_or(0);
        if count > 0 {
            let line = line_of(posted, sentence).filter(|_| count == 1);
            refused.push(Refused { count, line, reason: sentence.to_owned() });
        }
    }
    refused
}

/// Which line of a text, from 1 on, a sentence is about: it says its number, or how it begins.
fn line_of(text: &[u8], sentence: &str) -> Option<u32> {
    if let Some((_, rest)) = sentence.rsplit_once("(line ") {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        return rest.get(..digits)?.parse().ok();
    }
    let (_, quoted) = sentence.split_once("unable to parse '")?;
    let (quoted, _) = quoted.rsplit_once("': ")?;
    let mut lines = text.split(|byte| *byte == b'\n');
    let place = lines.position(|line| line == quoted.as_bytes())?;
    u32::try_from(place + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_tell_how_many_lines_were_refused() {
        let partial = r#"{"error":"partial write: unable to parse 'm f=x': invalid number\nunable to parse 7 more lines\nfield type conflict: ... dropped=2"}"#;
        let refused = refused_lines(partial, b"m f=1\nm f=x\n");
        let told: Vec<_> = refused.iter().map(|refused| (refused.count, refused.line)).collect();
        assert_eq!(told, [(1, Some(2)), (7, None), (2, None)]);
        assert!(refused_lines(r#"{"error":"database is required"}"#, b"").is_empty());
    }

    #[test]
    fn the_line_that_a_sentence_is_about_is_found() {
        let text = b"m f=1\nm f=x\nm g=\"a': b\nm f=2";
        let of = |sentence: &str| line_of(text, sentence);
        assert_eq!(of("partial write: unable to parse 'm f=x': invalid number"), Some(2));
        assert_eq!(of("unable to parse 'm g=\"a': b': missing quote"), Some(3));
        assert_eq!(of("field type conflict: input field (line 4) dropped=1"), Some(4));
        assert_eq!(of("unable to parse 'm f=x': invalid (line 2, field f: a text)"), Some(2));
        assert_eq!(of("unable to parse 7 more lines"), None);
        assert_eq!(of("unable to parse 'elsewhere': invalid"), None);
    }

    #[test]
    fn put_lines_become_points() {
        let expected =
            json!({"metric": "m", "timestamp": "1", "value": "4.20", "tags": {"h": "a"}});
        assert_eq!(point(b"put m 1 4.20  h=a h=a ").unwrap(), expected);
        for (line, reason) in [
            ("put m 1", "not enough words: put m 1"),
            ("put m 1 2 h", "invalid tag: h"),
            ("put m 1 2 h=a h=b", "duplicate tag: h"),
        ] {
            assert_eq!(point(line.as_bytes()).unwrap_err(), reason);
        }
    }
}
