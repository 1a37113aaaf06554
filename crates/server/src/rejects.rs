//! Rows that were refused lately, a few of each protocol and reason, for whoever wants to see what
//! is wrong with what is sent. The log has them too, but less of them.

use crate::senders;
use foliot_lock::{Mutex, Rank};
use foliot_model::Reject;
use std::collections::{BTreeMap, VecDeque};

/// Rows that are kept of each protocol and reason. No sender can push out what another one's door
/// refused.
const ROWS_MAX: usize = 20;

/// Rows that are kept of what came together, so that one request does not push out all others.
pub(crate) const ROWS_TOGETHER_MAX: usize = 10;

/// Rows of each protocol and reason that are listed in any case: enough to see what they have in
/// common.
const LISTED_EACH: usize = 5;

/// Rows up to which more are listed, in turn of each protocol and reason.
const LISTED_ALL: usize = 20;

/// Characters of what is said of a row.
const CHARS_MAX: usize = 200;

/// What was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) time_ns: i64,
    /// Who sent it, where that is known.
    pub(crate) address: Option<String>,
    /// Number of the line in what came with it.
    pub(crate) line: u32,
    pub(crate) message: String,
    /// The line itself, cut as the message is; empty where it was no line of text.
    pub(crate) text: String,
}

/// By protocol and reason, the newest last.
#[derive(Debug)]
pub(crate) struct Rejects(Mutex<BTreeMap<(&'static str, &'static str), VecDeque<Refused>>>);

impl Default for Rejects {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, BTreeMap::new()))
    }
}

impl Rejects {
    pub(crate) fn keep(
        &self,
        protocol: &'static str,
        reason: &'static str,
        (reject, text): (&Reject, Option<&[u8]>),
        time_ns: i64,
    ) {
        let text = shortened(&String::from_utf8_lossy(text.unwrap_or_default()));
        let message = match senders::topic() {
            Some(topic) => shortened(&format!("'{topic}': {}", reject.reason)),
            None => shortened(&reject.reason),
        };
        let address = senders::peer().map(|address| address.to_string());
        let mut kept = self.0.lock();
        let rows = kept.entry((protocol, reason)).or_default();
        if rows.len() >= ROWS_MAX {
            rows.pop_front();
        }
        rows.push_back(Refused { time_ns, address, line: reject.line, message, text });
    }

    /// The newest of each protocol and reason, as many of one as of another, newest first.
    pub(crate) fn list(&self) -> Vec<(&'static str, &'static str, Refused)> {
        let kept = self.0.lock();
        let mut listed = Vec::new();
        for turn in 0..ROWS_MAX {
            for ((protocol, reason), rows) in kept.iter() {
                let has_room = turn < LISTED_EACH || listed.len() < LISTED_ALL;
                let row = rows.iter().rev().nth(turn).filter(|_| has_room);
                listed.extend(row.map(|row| (*protocol, *reason, row.clone())));
            }
        }
        drop(kept);
        // Lines that came together stand as they were sent.
        listed.sort_by_key(|(.., row)| (std::cmp::Reverse(row.time_ns), row.line));
        listed
    }
}

/// What is said of a row, cut to what a person reads.
pub(crate) fn shortened(message: &str) -> String {
    message.chars().take(CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reject(line: u32) -> Reject {
        Reject { line, field: "value".into(), reason: "é".repeat(300) }
    }

    #[test]
    fn the_newest_of_each_protocol_and_reason_are_kept() {
        let rejects = Rejects::default();
        for line in 1..=29 {
            let told = (&reject(line), Some(&b"put x"[..]));
            rejects.keep("telnet", "value", told, i64::from(line) * 10);
        }
        rejects.keep("udp", "value", (&reject(1), None), 115);
        let listed = rejects.list();
        let told: Vec<_> = listed.iter().map(|(way, _, row)| (*way, row.line)).collect();
        assert_eq!(told.len(), LISTED_ALL);
        assert_eq!((told[0], told[18], told[19]), (("telnet", 29), ("udp", 1), ("telnet", 11)));
        assert_eq!((&*listed[0].2.text, &*listed[18].2.text), ("put x", ""));
        assert!(listed.iter().all(|(.., row)| row.message.chars().count() == CHARS_MAX));
    }

    #[test]
    fn each_protocol_has_its_share_of_what_is_listed() {
        let rejects = Rejects::default();
        for way in ["a", "b", "c", "d", "e", "f"] {
            (1..=20).for_each(|line| rejects.keep(way, "value", (&reject(line), None), 7));
        }
        (1..=3).for_each(|line| rejects.keep("g", "value", (&reject(line), None), 7));
        let listed = rejects.list();
        let of = |way| listed.iter().filter(|(of, ..)| *of == way).count();
        assert_eq!((listed.len(), of("a"), of("f"), of("g")), (33, 5, 5, 3));
    }
}
