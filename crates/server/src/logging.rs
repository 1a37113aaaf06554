//! The log: structured lines on standard error.
//!
//! A line is `time level where: message`, times in UTC, or an object of JSON. Messages that a
//! client can provoke again and again go through a [`Repeats`], so that a broken sender fills
//! counters and not the disk.

use foliot_lock::{Mutex, Rank};
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        // The libraries below talk about every connection; only their troubles are of interest.
        let own = record.target().starts_with("foliot");
        if !own && record.level() > Level::Warn {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (level, target) = (record.level(), record.target());
        let message = escape(&record.args().to_string());
        let thread = std::thread::current();
        let thread = thread.name().unwrap_or("-").to_owned();
        let line = match IS_JSON.load(Ordering::Relaxed) {
            false => format!("{} {level:5} {target}: {message}\n", timestamp(now)),
            true => json(now, level, target, &thread, &message),
        };
        RECENT.lock().push(Recent {
            time_s: now.as_secs(),
            level,
            thread,
            target: target.to_owned(),
            message,
        });
        // Nobody is left to tell when standard error is gone.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

/// A line of the log.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    pub(crate) time_s: u64,
    pub(crate) level: Level,
    pub(crate) thread: String,
    /// What spoke.
    pub(crate) target: String,
    pub(crate) message: String,
}

/// The newest lines of the log, oldest first.
#[derive(Debug)]
struct Ring {
    lines: VecDeque<Recent>,
    bytes: usize,
}

impl Ring {
    /// As many as OpenTSDB's default configuration keeps.
    const LINES_MAX: usize = 1024;
    /// Messages can repeat what a client sent, so that their number alone bounds nothing.
    const BYTES_MAX: usize = 1 << 20;

    fn push(&mut self, line: Recent) {
        self.bytes += line.message.len();
        self.lines.push_back(line);
        while self.lines.len() > Self::LINES_MAX || self.bytes > Self::BYTES_MAX {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.message.len();
        }
    }
}

static RECENT: Mutex<Ring> = Mutex::new(Rank::Log, Ring { lines: VecDeque::new(), bytes: 0 });

/// The newest lines of the log, newest first.
pub(crate) fn recent() -> Vec<Recent> {
    RECENT.lock().lines.iter().rev().cloned().collect()
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// `time level where: message`.
    Text,
    /// An object of JSON.
    Json,
}

/// The logger is the process's, and so is its format.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Installs the logger. Later calls only change the level and the format.
pub fn start(level: LevelFilter, format: LogFormat) {
    let _ = log::set_logger(&Stderr);
    log::set_max_level(level);
    IS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

/// What a program says that ends for `reason`: a line of the log where that is JSON, as whoever
/// collects it reads nothing else, and a sentence for people otherwise.
pub fn last_words(reason: &str) -> String {
    match IS_JSON.load(Ordering::Relaxed) {
        false => format!("foliot: {reason}\n"),
        true => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            json(now, Level::Error, "foliot", "main", &escape(reason))
        }
    }
}

fn json(now: Duration, level: Level, target: &str, thread: &str, message: &str) -> String {
    let level = level.as_str().to_ascii_lowercase();
    let line = serde_json::json!({"time": timestamp(now), "level": level, "target": target,
        "thread": thread, "message": message});
    format!("{line}\n")
}

/// Control characters in text from clients would let them forge lines.
fn escape(text: &str) -> String {
    if text.chars().any(char::is_control) {
        return text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    }
    text.to_owned()
}

/// `2026-01-31T12:34:56.789Z`. Days are turned into dates as in H. Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", 2013.
fn timestamp(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, second) = ((seconds / 86_400) as i64, seconds % 86_400);
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        since_1970.subsec_millis()
    )
}

/// Lets one message of each source and reason through per period and counts the others, so that
/// none hides another. Both are fixed texts, so that there are few.
#[derive(Debug)]
pub(crate) struct Repeats(Mutex<BTreeMap<Kind, (Instant, u64)>>);

/// A source and a reason.
type Kind = (&'static str, &'static str);

impl Default for Repeats {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, BTreeMap::new()))
    }
}

impl Repeats {
    const PERIOD: Duration = Duration::from_secs(10);

    /// Whether to speak now; if so, how many times it was kept silent since the last time.
    pub(crate) fn admit(&self, source: &'static str, reason: &'static str) -> Option<u64> {
        self.admit_at(source, reason, Instant::now())
    }

    fn admit_at(&self, source: &'static str, reason: &'static str, now: Instant) -> Option<u64> {
        let mut spoken = self.0.lock();
        match spoken.get_mut(&(source, reason)) {
            Some((last, silent)) if now.duration_since(*last) < Self::PERIOD => {
                *silent += 1;
                None
            }
            earlier => {
                let silent = earlier.map_or(0, |(_, silent)| *silent);
                spoken.insert((source, reason), (now, 0));
                Some(silent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps() {
        let case = |seconds, text| {
            assert_eq!(timestamp(Duration::from_secs(seconds)), text);
        };
        case(0, "1970-01-01T00:00:00.000Z");
        case(951_782_400, "2000-02-29T00:00:00.000Z");
        case(1_700_002_799, "2023-11-14T22:59:59.000Z");
        case(4_102_444_800, "2100-01-01T00:00:00.000Z");
        let millis = timestamp(Duration::from_millis(1_700_002_799_042));
        assert_eq!(millis, "2023-11-14T22:59:59.042Z");
    }

    #[test]
    fn repeats_are_counted_not_spoken() {
        let repeats = Repeats::default();
        let now = Instant::now();
        assert_eq!(repeats.admit_at("telnet", "name", now), Some(0));
        assert_eq!(repeats.admit_at("telnet", "name", now), None);
        assert_eq!(repeats.admit_at("telnet", "name", now), None);
        assert_eq!(repeats.admit_at("telnet", "value", now), Some(0), "another reason is told");
        assert_eq!(repeats.admit_at("mqtt", "name", now), Some(0), "another protocol is told");
        assert_eq!(repeats.admit_at("telnet", "name", now + Repeats::PERIOD), Some(2));
    }

    #[test]
    fn the_newest_lines_are_kept_within_bounds() {
        let line = |message: String| Recent {
            time_s: 1,
            level: Level::Info,
            thread: "t".to_owned(),
            target: "x".to_owned(),
            message,
        };
        let mut ring = Ring { lines: VecDeque::new(), bytes: 0 };
        (0..Ring::LINES_MAX + 3).for_each(|at| ring.push(line(at.to_string())));
        assert_eq!(ring.lines.len(), Ring::LINES_MAX);
        assert_eq!(ring.lines.front().map(|line| line.message.as_str()), Some("3"));
        ring.push(line("x".repeat(Ring::BYTES_MAX - 1)));
        assert_eq!(ring.lines.len(), 1);
        ring.push(line("xx".to_owned()));
        assert_eq!((ring.lines.len(), ring.bytes), (1, 2));
    }

    #[test]
    fn clients_cannot_forge_lines() {
        assert_eq!(escape("a\nb\x1b[0m"), "a\u{fffd}b\u{fffd}[0m");
    }
}
