//! Rows that were refused lately, a few of each protocol and reason, for whoever wants to see what
//! is wrong with what is sent. The log has them too, but less of them.

use crate::senders;
use foliot_lock::{Mutex, Rank};
use foliot_model::Reject;
use std::collections::{BTreeMap, VecDeque};

/// Rows that are kept of each protocol and reason: enough to see what they have in common. No
/// sender can push out what another one's door refused.
const ROWS_MAX: usize = 5;

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

    /// All of them with protocol and reason, newest first.
    pub(crate) fn list(&self) -> Vec<(&'static str, &'static str, Refused)> {
        let kept = self.0.lock();
        let mut listed: Vec<_> = kept
            .iter()
            .flat_map(|((protocol, reason), rows)| {
                rows.iter().map(move |row| (*protocol, *reason, row.clone()))
            })
            .collect();
        listed.sort_by_key(|(.., row)| std::cmp::Reverse(row.time_ns));
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

    #[test]
    fn the_newest_of_each_protocol_and_reason_are_kept() {
        let rejects = Rejects::default();
        let reject = |line| Reject { line, field: "value".into(), reason: "é".repeat(300) };
        for line in 1..=9 {
            let told = (&reject(line), Some(&b"put x"[..]));
            rejects.keep("telnet", "value", told, i64::from(line) * 10);
        }
        rejects.keep("udp", "value", (&reject(1), None), 35);
        let listed = rejects.list();
        let told: Vec<_> = listed.iter().map(|(way, _, row)| (*way, row.line)).collect();
        assert_eq!(
            told,
            [("telnet", 9), ("telnet", 8), ("telnet", 7), ("telnet", 6), ("telnet", 5), ("udp", 1)]
        );
        assert_eq!((&*listed[0].2.text, &*listed[5].2.text), ("put x", ""));
        assert!(listed.iter().all(|(.., row)| row.message.chars().count() == CHARS_MAX));
    }
}
