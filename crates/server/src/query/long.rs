//! Long questions: their texts are read at a place among the queries.
//!
//! Reading most texts takes microseconds and is done where they are asked. A long one, or one whose
//! regular expressions may take long to be compiled, would hold up the other connections of its
//! thread, and many of them all processors. Such a question takes its place before it is read, and
//! keeps it until it is answered.

use super::lanes::{self, Place};
use super::{Failure, Job};
use crate::aside::aside;
use crate::shared::Shared;
use foliot_access::Principal;
use foliot_model::Pattern;
use std::sync::Arc;

/// Texts up to this are short: what they say is read in less than some milliseconds.
const SHORT_BYTES_MAX: usize = 8 << 10;
/// Escapes of a short text. A class of Unicode takes a tenth of a millisecond.
const ESCAPES_MAX: usize = 8;

/// Where a question is read: at a place of its own, or where it is asked.
#[derive(Debug, Default)]
pub(crate) struct Reading(Option<Place>);

impl Reading {
    /// Takes a place if one of the texts may take long to read.
    ///
    /// # Errors
    /// When there is none, and none will be soon.
    pub(crate) async fn of(
        shared: &Arc<Shared>,
        who: &Principal,
        texts: &[&[u8]],
    ) -> Result<Self, Failure> {
        if !texts.iter().any(|text| may_take_long(text)) {
            return Ok(Self(None));
        }
        match shared.lanes.free() {
            Some(place) => Ok(Self(Some(place))),
            None => lanes::wait(shared, who).await.map(|place| Self(Some(place))),
        }
    }

    /// Reads. Other connections go on meanwhile, if that may take long.
    pub(crate) fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        let read = || Pattern::weighed(read);
        match self.0 {
            Some(_) => aside(read),
            None => read(),
        }
    }

    /// The job runs at the place where its question was read.
    pub(crate) fn then(self, job: Job) -> Job {
        Job { place: self.0, ..job }
    }
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
