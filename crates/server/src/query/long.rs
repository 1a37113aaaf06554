//! Texts of questions: what they weigh, and where long ones are read.
//!
//! What is made of a text by reading it is many times the text. A question takes memory for that
//! from a budget of all questions (`limits.pending_query_bytes`) before it is read, or before it
//! waits for its turn if it is short, and keeps it until it is answered.
//!
//! Reading most texts takes microseconds and is done where they are asked. A long one, or one whose
//! regular expressions may take long to be compiled, would hold up the other connections of its
//! thread, and many of them all processors. Such a question takes its place before it is read, and
//! keeps it until it is answered.

use super::lanes::{self, Place};
use super::{Failure, Job};
use crate::aside::aside;
use crate::budget::{Held, Short};
use crate::limits::Limit;
use crate::shared::Shared;
use foliot_access::Principal;
use foliot_model::Pattern;
use hyper::StatusCode;
use std::sync::Arc;

/// Texts up to this are short: what they say is read in less than some milliseconds.
const SHORT_BYTES_MAX: usize = 8 << 10;
/// Escapes of a short text. A class of Unicode takes a tenth of a millisecond.
const ESCAPES_MAX: usize = 8;

/// What a text weighs: each byte stands in a few copies of it, and what is read becomes nodes of a
/// tree. These stand between signs; behind a comma stand those that have most members, a column or
/// a value of a list. The figures are the most that was measured, in any language.
const BYTE_WEIGHT: usize = 16;
const SIGN_WEIGHT: usize = 160;
const COMMA_WEIGHT: usize = 512;
/// Texts up to this weigh so much a byte, whatever is in them: to look would take longer than most
/// of them take.
const TINY_BYTES_MAX: usize = 256;
const TINY_BYTE_WEIGHT: usize = 144;

/// Where a question is read: at a place of its own, or where it is asked.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    place: Option<Place>,
    weight: Weight,
}

/// What the texts of a question weigh in memory with what is made of them.
#[derive(Debug, Default)]
pub(crate) struct Weight {
    bytes: usize,
    held: Held,
}

impl Weight {
    fn of(texts: &[&[u8]]) -> Self {
        Self { bytes: texts.iter().map(|text| weight_of(text)).sum(), held: None }
    }

    /// What a text of JSON weighs that is read where it is asked and waits for no turn, with memory
    /// for it if it is long.
    ///
    /// # Errors
    /// As [`Reading::of`].
    pub(crate) async fn of_json(shared: &Shared, text: &[u8]) -> Result<Self, Failure> {
        let mut weight = Self { bytes: weight_of_json(text), held: None };
        if text.len() > SHORT_BYTES_MAX {
            weight.hold(shared).await?;
        }
        Ok(weight)
    }

    /// Takes memory for it, unless it has that.
    ///
    /// # Errors
    /// When there is none: never, or not now.
    pub(super) async fn hold(&mut self, shared: &Shared) -> Result<(), Failure> {
        let short = match shared.query_budget.wait(&mut self.held, self.bytes).await {
            Ok(()) => return Ok(()),
            Err(short) => short,
        };
        shared.metrics.limits.add(Limit::PendingQueryBytes);
        let all = shared.query_budget.bytes();
        Err(match short {
            Short::Always => {
                let text = format!(
                    "the text of the question takes {} bytes when it is read, more than {all} \
                     (limits.pending_query_bytes): ask for less at once, or give more memory",
                    self.bytes
                );
                Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text)
            }
            Short::Now => {
                shared.metrics.queries_refused.add(1);
                let text = "there is no memory for the text of the question now \
                            (limits.pending_query_bytes); try again";
                Failure::new(StatusCode::SERVICE_UNAVAILABLE, text)
            }
        })
    }
}

impl Reading {
    /// Takes memory and a place if one of the texts may take long to read.
    ///
    /// # Errors
    /// When there is none, and none will be soon.
    pub(crate) async fn of(
        shared: &Arc<Shared>,
        who: &Principal,
        texts: &[&[u8]],
    ) -> Result<Self, Failure> {
        let mut weight = Weight::of(texts);
        if !texts.iter().any(|text| may_take_long(text)) {
            return Ok(Self { place: None, weight });
        }
        weight.hold(shared).await?;
        let place = match shared.lanes.free() {
            Some(place) => place,
            None => lanes::wait(shared, who).await?,
        };
        Ok(Self { place: Some(place), weight })
    }

    /// Reads. Other connections go on meanwhile, if that may take long.
    pub(crate) fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        let read = || Pattern::weighed(read);
        match self.place {
            Some(_) => aside(read),
            None => read(),
        }
    }

    /// The job runs at the place where its question was read, and has its memory.
    pub(crate) fn then(self, job: Job) -> Job {
        Job { place: self.place, weight: self.weight, ..job }
    }
}

/// What a text weighs, which may be encoded as in a query string.
pub(super) fn weight_of(text: &[u8]) -> usize {
    if text.len() <= TINY_BYTES_MAX {
        return text.len() * TINY_BYTE_WEIGHT;
    }
    let (mut signs, mut commas) = (0, 0);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b',' => commas += 1,
            b'%' if matches!(text.get(at + 1..at + 3), Some(b"2C" | b"2c")) => commas += 1,
            // Those within names and numbers, and around texts, make no nodes of their own.
            b'"' | b'\'' | b'_' | b'-' | b'.' | b'\\' => {}
            byte if byte.is_ascii_punctuation() || byte.is_ascii_whitespace() => signs += 1,
            _ => {}
        }
    }
    text.len() * BYTE_WEIGHT + signs * SIGN_WEIGHT + commas * COMMA_WEIGHT
}

/// What a text of JSON weighs of which nothing else is read: signs within its texts make no nodes.
fn weight_of_json(text: &[u8]) -> usize {
    let (mut signs, mut maps) = (0, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b',' | b':' if !is_text => signs += 1,
            // It has room for several members from the first on.
            b'{' if !is_text => maps += 1,
            _ => {}
        }
    }
    text.len() * BYTE_WEIGHT + signs * SIGN_WEIGHT + maps * COMMA_WEIGHT
}

/// Whether a text is long, or may have a regular expression that takes long: with flags, such as
/// that for any case, with a number of repetitions, or with many classes. The text may be encoded
/// as in a query string.
fn may_take_long(text: &[u8]) -> bool {
    if text.len() > SHORT_BYTES_MAX {
        return true;
    }
    let mut escapes = 0;
    for (at, byte) in text.iter().enumerate() {
        let rest = || text.get(at + 1..).unwrap_or_default();
        match byte {
            b'?' if at > 0 && text.get(at - 1) == Some(&b'(') => return true,
            b'{' if rest().first().is_some_and(u8::is_ascii_digit) => return true,
            b'\\' => escapes += 1,
            b'%' => match rest() {
                [b'3', b'F' | b'f', ..] => return true,
                [b'7', b'B' | b'b', digit, ..] if digit.is_ascii_digit() => return true,
                [b'5', b'C' | b'c', ..] => escapes += 1,
                _ => {}
            },
            _ => {}
        }
    }
    escapes > ESCAPES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_weigh_what_is_made_of_them() {
        let list = |item: &str, count: usize| weight_of(item.repeat(count).as_bytes()) / count;
        assert_eq!(list("server-0001|", 1_000), 12 * BYTE_WEIGHT + SIGN_WEIGHT);
        assert_eq!(list("'server-0001',", 1_000), 14 * BYTE_WEIGHT + COMMA_WEIGHT);
        let plain = list("a,b c", 1_000);
        assert_eq!(list("a%2Cb+c", 1_000), plain + 2 * BYTE_WEIGHT, "encoded");
        // One that is looked at weighs no less than one that is not, if it is made to weigh much.
        assert_eq!(weight_of(b"u,u,"), 4 * TINY_BYTE_WEIGHT);
        assert!(list("u,", 200) >= 2 * TINY_BYTE_WEIGHT);
    }

    #[test]
    fn texts_within_json_weigh_by_their_bytes() {
        let of = |text: &str| weight_of_json(text.as_bytes()) - text.len() * BYTE_WEIGHT;
        assert_eq!(of(r#"["a,b:{\"c\",[d]", 1]"#), 2 * SIGN_WEIGHT);
        assert_eq!(of(r#"{"a":{}}"#), 2 * COMMA_WEIGHT + SIGN_WEIGHT);
    }

    #[test]
    fn texts_that_may_take_long_are_told_by_a_look() {
        for short in [
            "sum(rate(http_requests_total{job=~\"a|b\", code!~\"5..\"}[5m])) by (job)",
            "SELECT mean(v) FROM m WHERE h =~ /^web\\.[0-9]+$/ GROUP BY time(1m)",
            "start=1h-ago&m=sum:cpu%7Bhost=a%7D",
        ] {
            assert!(!may_take_long(short.as_bytes()), "{short}");
        }
        let (classes, long) = ("\\pL".repeat(9), "a|".repeat(5_000));
        for long in ["x{a=~\"(?i)[a-z]\"}", "a{9}", "a%7B9%7D", "(%3Fi)a", &classes, &long] {
            assert!(may_take_long(long.as_bytes()), "{long}");
        }
    }
}
