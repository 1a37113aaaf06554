//! The answers to `/api/put`.

use crate::decode::{Element, elements};
use crate::http::{HttpError, Params};
use foliot_model::Reject;
use serde_json::json;

/// How a put wants to be answered; switches count as set whatever their value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PutFlags {
    /// Counts of good and bad points.
    pub summary: bool,
    /// Counts, and an error for each bad point.
    pub details: bool,
    /// The answer waits until the points are safe.
    pub sync: bool,
    /// How long it may wait, in milliseconds; 0 means without limit.
    pub sync_timeout_ms: u64,
}

/// An answer to `/api/put`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutAnswer {
    /// HTTP status.
    pub status: u16,
    /// JSON; empty with status 204.
    pub body: Vec<u8>,
}

impl PutFlags {
    /// Reads the flags.
    ///
    /// # Errors
    /// When `sync_timeout` is no number.
    pub fn parse(params: &Params) -> Result<Self, HttpError> {
        let sync = params.has("sync");
        let timeout = params.get("sync_timeout").filter(|_| sync).unwrap_or("0");
        let sync_timeout_ms = timeout.parse().map_err(|_| {
            let message = format!("sync_timeout: '{timeout}' is not a number of milliseconds");
            HttpError::bad_request(message)
        })?;
        let (summary, details) = (params.has("summary"), params.has("details"));
        Ok(Self { summary, details, sync, sync_timeout_ms })
    }
}

/// The answer to a put of `points` points, of which `rejects` were bad (by the decoder or by the
/// engine; the lines of the rejects are the points' places). `body` is the request's, from which
/// bad points are repeated when details are wanted.
pub fn put_answer(body: &[u8], flags: &PutFlags, points: u32, rejects: &[Reject]) -> PutAnswer {
    let mut rejects: Vec<&Reject> = rejects.iter().collect();
    rejects.sort_by_key(|reject| reject.line);
    rejects.dedup_by_key(|reject| reject.line);
    let failed = rejects.len() as u32;
    let status = if failed > 0 { 400 } else { 200 };
    if !flags.summary && !flags.details {
        if failed == 0 {
            return PutAnswer { status: 204, body: Vec::new() };
        }
        let first = rejects.iter().find(|reject| !reject.reason.is_empty());
        let first = first.map_or_else(String::new, |reject| {
            format!("; the first is in place {}: {}", reject.line, reject.reason)
        });
        let details =
            format!("Please see the server's log or append \"details\" to the put request{first}");
        let error = HttpError::bad_request("One or more data points had errors");
        let body = error.with_details(details).to_json().into_bytes();
        return PutAnswer { status, body };
    }
    let success = points.saturating_sub(failed);
    let mut text = format!("{{\"success\":{success},\"failed\":{failed}");
    if flags.sync && flags.sync_timeout_ms > 0 {
        text += ",\"timeouts\":0";
    }
    if flags.details {
        text += ",\"errors\":[";
        text += &error_list(body, &rejects);
        text += "]";
    }
    text += "}";
    PutAnswer { status, body: text.into_bytes() }
}

/// The answer when a synchronous put was not safe within its timeout: nothing is known to be lost,
/// but the client was promised a deadline.
pub fn put_timeout(flags: &PutFlags, points: u32) -> PutAnswer {
    let body = match flags.summary || flags.details {
        true => {
            let errors = if flags.details { ",\"errors\":[]" } else { "" };
            format!("{{\"success\":0,\"failed\":0,\"timeouts\":{points}{errors}}}")
        }
        false => {
            let message = "The put call has timed out with some data points unconfirmed";
            HttpError::bad_request(message).to_json()
        }
    };
    PutAnswer { status: 400, body: body.into_bytes() }
}

/// The text of a body's point of this number, from 1.
pub fn datapoint(body: &[u8], number: u32) -> Option<&[u8]> {
    let mut found = None;
    let mut element = Element::default();
    // As in an answer with details, a body that cannot be walked was refused before.
    let _ = elements(body, |scanner, at| {
        scanner.peek();
        let start = scanner.at;
        element.scan(scanner)?;
        if at == number {
            found = body.get(start..scanner.at);
        }
        Ok(())
    });
    found
}

fn error_list(body: &[u8], rejects: &[&Reject]) -> String {
    // Beyond a limit, bad points are only counted.
    let mut wanted = rejects.iter().filter(|reject| !reject.reason.is_empty()).peekable();
    let mut errors: Vec<String> = Vec::with_capacity(rejects.len());
    let mut element = Element::default();
    // The body was walked before, so that a failure here cannot happen; if it did, the answer would
    // carry fewer errors than it counts.
    let _ = elements(body, |scanner, number| {
        element.scan(scanner)?;
        if let Some(reject) = wanted.next_if(|reject| reject.line == number) {
            let point = crate::decode::element_json(scanner, &element);
            let error = json!(reject.reason);
            errors.push(format!("{{\"error\":{error},\"datapoint\":{point}}}"));
        }
        Ok(())
    });
    errors.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn a_point_is_found_by_its_number() {
        let body = br#" [ {"metric":"a", "tags":{"x":"]}"}} ,{"metric":"b"}]"#;
        let at = |number| datapoint(body, number).map(|text| String::from_utf8_lossy(text));
        assert_eq!(at(1).unwrap(), r#"{"metric":"a", "tags":{"x":"]}"}}"#);
        assert_eq!((at(2).unwrap(), at(3)), (r#"{"metric":"b"}"#.into(), None));
        assert_eq!(datapoint(br#"{"metric":"c"}"#, 1), Some(&br#"{"metric":"c"}"#[..]));
        assert_eq!(datapoint(b"[", 1), None);
    }

    fn answer(query: &str, body: &str, points: u32, bad: &[(u32, &str)]) -> (u16, String) {
        let flags = PutFlags::parse(&Params::parse(query)).unwrap();
        let reject = |&(line, reason): &(u32, &str)| Reject {
            line,
            field: Cow::Borrowed("value"),
            reason: reason.to_owned(),
        };
        let rejects: Vec<_> = bad.iter().map(reject).collect();
        let answer = put_answer(body.as_bytes(), &flags, points, &rejects);
        (answer.status, String::from_utf8(answer.body).unwrap())
    }

    #[test]
    fn answers_depend_on_flags_and_faults() {
        let point = r#"{"metric":"m","timestamp":1,"value":"abc","tags":{"h":"a","n":7}}"#;
        let body = format!("[{{}},{point}]");
        let bad = [(2, "Unable to parse value to a number")];
        assert_eq!(answer("", &body, 2, &[]), (204, String::new()));
        let (status, text) = answer("", &body, 2, &bad);
        assert_eq!(status, 400);
        assert!(text.contains("\"message\":\"One or more data points had errors\""));
        assert!(text.contains("the first is in place 2: Unable to parse value"), "{text}");
        let summary = answer("summary", &body, 2, &bad);
        assert_eq!(summary, (400, r#"{"success":1,"failed":1}"#.to_owned()));
        let details = concat!(
            r#"{"success":1,"failed":1,"errors":[{"error":"Unable to parse value to a number","#,
            r#""datapoint":{"metric":"m","timestamp":1,"value":"abc","tags":{"h":"a","n":"7"}}}]}"#
        );
        assert_eq!(answer("details", &body, 2, &bad), (400, details.to_owned()));
    }

    #[test]
    fn missing_parts_of_a_bad_point_are_left_out() {
        let (_, text) = answer("details", r#"{"value":null}"#, 1, &[(1, "x")]);
        assert!(text.contains(r#""datapoint":{"timestamp":0}"#), "{text}");
        let (_, text) = answer("details", "[null]", 1, &[(1, "x")]);
        assert!(text.contains(r#""datapoint":null"#));
    }

    #[test]
    fn synchronous_puts_tell_their_timeouts() {
        let all_good = (200, r#"{"success":3,"failed":0}"#.to_owned());
        assert_eq!(answer("sync&summary", "", 3, &[]), all_good);
        let text = answer("sync&summary&sync_timeout=1000", "", 3, &[]).1;
        assert_eq!(text, r#"{"success":3,"failed":0,"timeouts":0}"#);
        assert!(PutFlags::parse(&Params::parse("sync&sync_timeout=x")).is_err());
    }
}
