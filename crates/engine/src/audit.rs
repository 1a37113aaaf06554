//! The audit log: a line of JSON for everything that takes samples away at somebody's word.
//!
//! The line is on the disk before the change is made: what was deleted has a line, whatever happens
//! next. A line without its delete is that of a process that died, or a disk that failed, between
//! the two. The store never reads the file, nor does it need it.
//!
//! Lines that come while others are being synced wait for the next sync together.
//!
//! `audit.log` is only appended to; when it is full it becomes `audit.log.1`, in place of the one
//! before.

use crate::ballast;
use crate::delete::Deleted;
use crate::error::Error;
use crate::filenames;
use crate::limits::{
    AUDIT_BYTES_MAX, AUDIT_LITERALS_MAX, AUDIT_READ_BYTES_MAX, AUDIT_TEXT_BYTES_MAX,
};
use crate::store::Store;
use foliot_disk::{AppendFile, Disk};
use foliot_lock::{Mutex, Rank};
use foliot_model::{Matcher, Name, NamespaceId, Selector, Test, TimeRange};
use std::fmt::Write;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// Who wants samples taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// By which door it came, or which part of the server wants it by itself.
    pub door: &'static str,
    /// From where: an address, or nothing.
    pub from: String,
    /// The user or token, or nothing where nobody is asked for one.
    pub by: String,
    /// What is asked for as it was written, or nothing where the selector says the same.
    pub asked: String,
}

/// The audit log of an open store.
pub(crate) struct Audit {
    /// Held for as long as the disk takes.
    written: Mutex<Written>,
    /// Held for the copy of a line; may be taken under the other.
    waiting: Mutex<Waiting>,
}

/// Lines that are not on their way to the disk yet.
#[derive(Default)]
struct Waiting {
    lines: String,
    /// The number of the last of them; the first line of a process is 1.
    last: u64,
}

/// Lines that were written, or failed to be.
#[derive(Default)]
struct Written {
    file: LogFile,
    /// The number of the last of them.
    last: u64,
    failures: Vec<Failure>,
}

/// Lines that failed together.
struct Failure {
    numbers: RangeInclusive<u64>,
    /// How many of them are not told so yet.
    untold: u64,
    kind: io::ErrorKind,
    reason: String,
}

/// The file, opened when the first line is written.
#[derive(Default)]
enum LogFile {
    #[default]
    Closed,
    Open(Box<dyn AppendFile>),
    /// A sync failed: whether lines were kept is unknown until a restart.
    Failed,
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            written: Mutex::numbered(Rank::Audit, 0, Written::default()),
            waiting: Mutex::numbered(Rank::Audit, 1, Waiting::default()),
        }
    }
}

impl Audit {
    /// Writes a line, together with those that came while others were written, and waits until it
    /// is on the disk.
    fn write(&self, disk: &dyn Disk, dir: &Path, line: &str) -> io::Result<()> {
        let number = {
            let mut waiting = self.waiting.lock();
            waiting.lines.push_str(line);
            waiting.last += 1;
            waiting.last
        };
        let mut written = self.written.lock();
        if written.last < number {
            let (lines, last) = {
                let mut waiting = self.waiting.lock();
                (std::mem::take(&mut waiting.lines), waiting.last)
            };
            written.write(disk, dir, &lines, last);
        }
        written.outcome(number)
    }
}

impl Written {
    /// Writes the lines up to the one numbered `last`.
    fn write(&mut self, disk: &dyn Disk, dir: &Path, lines: &str, last: u64) {
        let numbers = self.last + 1..=last;
        if let Err(error) = append(&mut self.file, disk, dir, lines) {
            let (untold, kind) = (last - self.last, error.kind());
            self.failures.push(Failure { numbers, untold, kind, reason: error.to_string() });
        }
        self.last = last;
    }

    /// How it went with the line numbered so, which is asked once.
    fn outcome(&mut self, number: u64) -> io::Result<()> {
        let mut failures = self.failures.iter_mut();
        let Some(failure) = failures.find(|failure| failure.numbers.contains(&number)) else {
            return Ok(());
        };
        failure.untold -= 1;
        let error = io::Error::new(failure.kind, failure.reason.clone());
        self.failures.retain(|failure| failure.untold > 0);
        Err(error)
    }
}

/// What is about to happen.
pub(crate) enum Act<'a> {
    Delete(&'a Selector, TimeRange),
    DropSeries(&'a Selector),
    DropNamespace,
    /// Samples go on under the name that is told.
    Rename(&'a Selector, &'a str),
    /// How long samples were kept, and will be; nothing is for ever.
    Keep(Option<Duration>, Option<Duration>),
    /// The clock, so far ahead that most of a namespace may expire, is taken for right: the time
    /// of day that was known to have come, and the one by the clock.
    Clock {
        from_ns: i64,
        to_ns: i64,
    },
    /// Samples take more bytes than they may from now on; so many of the oldest go.
    Cap {
        bytes_max: u64,
        samples: u64,
        bytes: u64,
    },
    /// A repair waits no longer for a part that is missing.
    LosePart {
        path: &'a Path,
        samples: u64,
        bytes: u64,
    },
    /// A repair makes a catalog again that is missing.
    LoseFacts(&'a Path),
    /// A repair makes an index again, and so many series have samples and no name from then on.
    LoseNames(u64),
}

impl Store {
    /// Writes a line and waits until it is on the disk.
    ///
    /// # Errors
    /// When the disk fails; the act must not be done then.
    pub(crate) fn audit(
        &self,
        caller: &Caller,
        namespace: NamespaceId,
        act: &Act<'_>,
        deleted: Option<&Deleted>,
    ) -> Result<(), Error> {
        let (database, policy) = self.ingest.namespaces().name(namespace).unwrap_or_default();
        let mut line = begin(self.files.disk(), caller);
        put_namespace((&database, &policy), &mut line);
        put_act(act, &mut line);
        if !caller.asked.is_empty() {
            line.push_str(",\"asked\":");
            put_text(&caller.asked, &mut line);
        }
        if let Some(deleted) = deleted {
            let Deleted { series, samples, bytes } = deleted;
            let _ = write!(line, ",\"series\":{series},\"samples\":{samples},\"bytes\":{bytes}");
        }
        self.make_room();
        self.audit_append(line)
    }

    /// Writes a line about who may do what, and waits until it is on the disk.
    ///
    /// # Errors
    /// When the disk fails; the act must not be done then.
    pub(crate) fn audit_access(
        &self,
        act: &str,
        subject: &str,
        caller: &Caller,
    ) -> Result<(), Error> {
        let mut line = begin(self.files.disk(), caller);
        for (name, value) in [("act", act), ("subject", subject)] {
            let _ = write!(line, ",\"{name}\":");
            put_text(value, &mut line);
        }
        self.audit_append(line)
    }

    /// Gives what makes room the room that it needs, where the disk has none left.
    fn make_room(&self) {
        let (disk, dir) = (self.files.disk(), self.files.dir());
        if ballast::throw_off(disk, dir, self.ingest.config().wal_reserve_bytes) {
            self.ingest.wal().look_again();
        }
    }

    fn audit_append(&self, mut line: String) -> Result<(), Error> {
        let (disk, dir) = (self.files.disk(), self.files.dir());
        line.push_str("}\n");
        let path = dir.join(filenames::AUDIT);
        self.audit.write(disk, dir, &line).map_err(Error::io("write", &path))
    }
}

/// Writes a line about a store that is not open, and waits until it is on the disk.
///
/// # Errors
/// When the disk fails; the act must not be done then.
pub(crate) fn tell(
    disk: &dyn Disk,
    dir: &Path,
    caller: &Caller,
    namespace: Option<(&str, &str)>,
    act: &Act<'_>,
) -> Result<(), Error> {
    let mut line = begin(disk, caller);
    if let Some(names) = namespace {
        put_namespace(names, &mut line);
    }
    put_act(act, &mut line);
    line.push_str("}\n");
    let path = dir.join(filenames::AUDIT);
    append(&mut LogFile::Closed, disk, dir, &line).map_err(Error::io("write", &path))
}

/// The last lines of the audit log, the newest first, as far as they lie at the ends of its files,
/// and whether there are no others.
///
/// # Errors
/// When the disk fails.
pub(crate) fn last_lines(
    disk: &dyn Disk,
    dir: &Path,
    most: usize,
) -> Result<(Vec<String>, bool), Error> {
    let (mut lines, mut is_whole) = (Vec::new(), true);
    for name in [filenames::AUDIT, filenames::AUDIT_BEFORE] {
        let path = dir.join(name);
        // It may become the one before in this moment.
        if !disk.exists(&path) {
            continue;
        }
        let file = disk.open(&path).map_err(Error::io("open", &path))?;
        let begin = file.len().saturating_sub(AUDIT_READ_BYTES_MAX);
        let mut bytes = vec![0; (file.len() - begin) as usize];
        file.read_at(&mut bytes, begin).map_err(Error::io("read", &path))?;
        let text = String::from_utf8_lossy(&bytes);
        // A part of a line is none.
        let text =
            if begin > 0 { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
        lines.extend(text.lines().rev().map(str::to_owned));
        is_whole &= begin == 0;
    }
    is_whole &= lines.len() <= most;
    lines.truncate(most);
    Ok((lines, is_whole))
}

/// The beginning of a line: when, by which door, from where.
fn begin(disk: &dyn Disk, caller: &Caller) -> String {
    let mut line = format!("{{\"time_ns\":{},\"door\":", disk.now_ns());
    put_text(caller.door, &mut line);
    line.push_str(",\"from\":");
    put_text(&caller.from, &mut line);
    if !caller.by.is_empty() {
        line.push_str(",\"by\":");
        put_text(&caller.by, &mut line);
    }
    line
}

/// Appends lines, and waits until they are on the disk.
fn append(log: &mut LogFile, disk: &dyn Disk, dir: &Path, lines: &str) -> io::Result<()> {
    if let LogFile::Failed = log {
        return Err(io::Error::other("an earlier sync of it failed; restart the server"));
    }
    // Whatever fails from here on leaves the file to be opened anew.
    let mut file = match std::mem::take(log) {
        LogFile::Open(file) => file,
        LogFile::Closed | LogFile::Failed => open(disk, dir)?,
    };
    if file.len() >= AUDIT_BYTES_MAX {
        let path = dir.join(filenames::AUDIT);
        disk.rename(&path, &dir.join(filenames::AUDIT_BEFORE))?;
        file = open(disk, dir)?;
    }
    file.append(lines.as_bytes())?;
    if let Err(error) = file.sync() {
        *log = LogFile::Failed;
        return Err(error);
    }
    *log = LogFile::Open(file);
    Ok(())
}

/// Opens the file at its end, and ends a line that was cut off.
fn open(disk: &dyn Disk, dir: &Path) -> io::Result<Box<dyn AppendFile>> {
    let path = dir.join(filenames::AUDIT);
    if !disk.exists(&path) {
        let file = disk.create(&path)?;
        disk.sync_dir(dir)?;
        return Ok(file);
    }
    let mut file = disk.extend(&path)?;
    if !file.is_empty() {
        let mut last = [0];
        disk.open(&path)?.read_at(&mut last, file.len() - 1)?;
        if last != *b"\n" {
            file.append(b"\n")?;
        }
    }
    Ok(file)
}

fn put_namespace((database, policy): (&str, &str), line: &mut String) {
    for (name, value) in [("database", database), ("policy", policy)] {
        let _ = write!(line, ",\"{name}\":");
        put_text(value, line);
    }
}

fn put_act(act: &Act<'_>, line: &mut String) {
    let name = match act {
        Act::Delete(..) => "delete",
        Act::DropSeries(_) => "drop series",
        Act::DropNamespace => "drop namespace",
        Act::Rename(..) => "rename",
        Act::Keep(..) => "keep",
        Act::Clock { .. } => "accept clock",
        Act::Cap { .. } => "cap",
        Act::LosePart { .. } => "lose part",
        Act::LoseFacts(_) => "lose facts",
        Act::LoseNames(_) => "lose names",
    };
    let _ = write!(line, ",\"act\":\"{name}\"");
    if let Act::Delete(selector, _) | Act::DropSeries(selector) | Act::Rename(selector, _) = act {
        line.push_str(",\"selector\":");
        put_text(&describe(selector), line);
    }
    if let Act::Rename(_, to) = act {
        line.push_str(",\"to\":");
        put_text(to, line);
    }
    if let Act::Delete(_, range) = act {
        let _ = write!(line, ",\"first_ns\":{},\"last_ns\":{}", range.start_ns, range.end_ns);
    }
    if let Act::Clock { from_ns, to_ns } = act {
        let _ = write!(line, ",\"known_ns\":{from_ns},\"clock_ns\":{to_ns}");
    }
    if let Act::Cap { bytes_max, samples, bytes } = act {
        let _ = write!(line, ",\"bytes_max\":{bytes_max},\"samples\":{samples},\"bytes\":{bytes}");
    }
    if let Act::LosePart { path, .. } | Act::LoseFacts(path) = act {
        line.push_str(",\"file\":");
        put_text(&path.file_name().unwrap_or_default().to_string_lossy(), line);
    }
    if let Act::LosePart { samples, bytes, .. } = act {
        let _ = write!(line, ",\"samples\":{samples},\"bytes\":{bytes}");
    }
    if let Act::LoseNames(series) = act {
        let _ = write!(line, ",\"series\":{series}");
    }
    if let Act::Keep(before, after) = act {
        let seconds = |keep: &Option<Duration>| {
            keep.map_or("null".to_owned(), |keep| keep.as_secs_f64().to_string())
        };
        let (before, after) = (seconds(before), seconds(after));
        let _ = write!(line, ",\"kept_s\":{before},\"keep_s\":{after}");
    }
}

/// A selector for a person: `cpu.usage {host="a",dc!="b"}`.
fn describe(selector: &Selector) -> String {
    let mut text = String::new();
    let name = |Name { measurement, field }: &Name| {
        format!("{}.{}", describe_test(measurement), describe_test(field))
    };
    let names: Vec<String> = selector.names.iter().map(name).collect();
    text.push_str(&if names.is_empty() { "*".to_owned() } else { names.join(" or ") });
    let matcher = |Matcher { name, test, negated, accepts_absent }: &Matcher| {
        let sign = if *negated { "!=" } else { "=" };
        let absent = if *accepts_absent { " or none" } else { "" };
        format!("{name}{sign}{}{absent}", describe_test(test))
    };
    let mut conditions: Vec<String> = selector.matchers.iter().map(matcher).collect();
    if let Some(labels) = &selector.exact_labels {
        conditions.push(format!("labels are {}", labels.join(" ")));
    }
    if let Some(only) = &selector.only {
        conditions.push(format!("series {}", list(only.iter().map(u32::to_string), only.len())));
    }
    let _ = write!(text, " {{{}}}", conditions.join(","));
    text
}

fn describe_test(test: &Test) -> String {
    let quoted = |texts: &[String]| list(texts.iter().map(|t| format!("{t:?}")), texts.len());
    match test {
        Test::Any => "*".to_owned(),
        Test::AnyOf(texts) => quoted(texts),
        Test::AnyOfLower(texts) => format!("in any case {}", quoted(texts)),
        Test::Wildcard { pieces, .. } => format!("{:?}", pieces.join("*")),
        Test::Regex(regex) => format!("/{regex}/"),
        Test::Not(test) => format!("not {}", describe_test(test)),
    }
}

/// The first of many, and how many others there are.
fn list(texts: impl Iterator<Item = String>, count: usize) -> String {
    let mut shown: Vec<String> = texts.take(AUDIT_LITERALS_MAX).collect();
    if count > shown.len() {
        shown.push(format!("{} more", count - shown.len()));
    }
    shown.join("|")
}

/// Appends a JSON string, cut short where it is long.
fn put_text(text: &str, line: &mut String) {
    line.push('"');
    let end = line.len() + AUDIT_TEXT_BYTES_MAX;
    for c in text.chars() {
        if line.len() >= end {
            line.push('…');
            break;
        }
        match c {
            '"' | '\\' => line.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(line, "\\u{:04x}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_told_in_words() {
        let name = Name { measurement: Test::equal("cpu"), field: Test::Any };
        let matcher = |name: &str, test, negated, accepts_absent| Matcher {
            name: name.to_owned(),
            test,
            negated,
            accepts_absent,
        };
        let hosts = (0..30).map(|n| format!("h{n}")).collect();
        let selector = Selector {
            namespace: 0,
            names: vec![name],
            matchers: vec![
                matcher("dc", Test::regex("^a.").unwrap(), false, false),
                matcher("host", Test::AnyOf(hosts), true, true),
            ],
            exact_labels: None,
            only: Some(vec![3, 9]),
        };
        let text = describe(&selector);
        assert!(text.starts_with("\"cpu\".* {dc=/^a./,host!=\"h0\"|\"h1\"|"), "{text}");
        assert!(text.ends_with("|14 more or none,series 3|9}"), "{text}");
        let of_all = describe(&Selector { names: Vec::new(), ..selector });
        assert!(of_all.starts_with("* {dc=/^a./,"), "{of_all}");
    }

    #[test]
    fn texts_are_json_and_short() {
        let json = |text: &str| {
            let mut line = String::new();
            put_text(text, &mut line);
            line
        };
        assert_eq!(json("a\"b\\c\n\u{7f}é"), "\"a\\\"b\\\\c\\u000a\\u007fé\"");
        let long = json(&"x".repeat(1 << 20));
        assert_eq!(long.len(), AUDIT_TEXT_BYTES_MAX + "\"…\"".len());
    }
}
