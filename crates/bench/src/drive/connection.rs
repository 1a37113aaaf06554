//! One connection of a load: renders, waits for its plan, sends, and keeps what came of it.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::shared::Shared;
use crate::encode::Encoder;
use crate::feed::{Feed, fill};
use crate::load::{Load, Sent};
use crate::mix::Reader;
use crate::pace::{Pace, Plan};
use crate::sender::Sender;
use crate::server::thread_cpu_ns;

/// Give a connection up after this many failures in a row.
const FAILURES_IN_A_ROW_MAX: u64 = 20;

/// A connection at work.
struct Connection<'a> {
    at: u64,
    load: &'a Load<'a>,
    shared: &'a Shared,
    feed: Feed<'a>,
    plan: Plan,
    sender: Sender,
    reader: Option<Reader<'a>>,
    sent: Sent,
    failures_in_a_row: u64,
    start: Instant,
}

/// Opens connection `at`, waits at the gate and sends its feed; returns what came of it.
pub(super) fn run<'a>(load: &'a Load<'a>, at: u64, shared: &'a Shared) -> Sent {
    let mut encoder = Encoder::new(load.fleet, load.target.door.format, load.precision);
    let mut sender = Sender::new(load.target, &load.address, &load.wish);
    let (feed, plan, reader) = (load.feed(at), load.plan(at), Reader::of(load, at));
    open_early(load, &mut sender);
    let start = shared.wait_for_start();
    let cpu_ns = thread_cpu_ns();
    let (sent, failures_in_a_row) = (Sent::new(), 0);
    let mut connection =
        Connection { at, load, shared, feed, plan, sender, reader, sent, failures_in_a_row, start };
    connection.send_all(&mut encoder);
    let Connection { mut sent, sender, reader, .. } = connection;
    let complaints = close(&mut sent, sender);
    shared.errors.fetch_add(complaints, Ordering::Relaxed);
    sent.cpu_ns = thread_cpu_ns() - cpu_ns;
    sent.reads = reader.map(Reader::finish).unwrap_or_default();
    sent
}

/// Opens a connection before the load begins, where its first request follows at once; where that
/// is due later, a server may well close what stays silent until then.
fn open_early(load: &Load<'_>, sender: &mut Sender) {
    if matches!(load.pace, Pace::Closed { .. }) {
        // What cannot be opened fails again with its first request, and is counted there.
        let _ = sender.open();
    }
}

impl Connection<'_> {
    /// Sends request after request until the feed ends, the time is over, or the server fails too
    /// often in a row.
    fn send_all(&mut self, encoder: &mut Encoder<'_>) {
        let mut body = Vec::new();
        let (mut ready, mut points) = (self.start, 0);
        while self.failures_in_a_row < FAILURES_IN_A_ROW_MAX {
            points = fill(&mut self.feed, encoder, &mut body);
            if points == 0 {
                self.sent.finished = true;
                return;
            }
            let due = self.due();
            if self.is_over(due) {
                return self.leave(due, points);
            }
            self.sent.own += ready.elapsed();
            sleep_until(due);
            let woken = Instant::now();
            if let Err(error) = self.sender.pack(&mut body) {
                return self.sent.fail(error.to_string());
            }
            self.sent.own += woken.elapsed();
            self.send(&body, points, due, ready);
            thread::sleep(self.plan.think());
            ready = Instant::now();
        }
        let due = self.due();
        self.leave(due, points);
    }

    /// Sends one request and records what came of it. `ready` is when the one before was done.
    fn send(&mut self, body: &[u8], points: u64, due: Option<Instant>, ready: Instant) {
        let begin = Instant::now();
        let planned = due.unwrap_or(begin).min(begin);
        let answer = self.sender.send(body);
        let end = Instant::now();
        let is_measured = self.offer(planned, points);
        let sent = &mut self.sent;
        if is_measured {
            sent.lateness.record(begin - planned.max(ready).min(begin));
        }
        sent.points += points;
        sent.bytes += body.len() as u64;
        match answer {
            Ok(()) => {
                self.failures_in_a_row = 0;
                sent.points_acked += points;
                if is_measured {
                    sent.service.record(end - begin);
                    sent.intended.record(end - planned);
                }
                self.shared.points.fetch_add(points, Ordering::Relaxed);
                if let Some(reader) = &mut self.reader {
                    reader.after_write(&self.feed);
                }
            }
            // A refusal may come soon: its time says nothing about the requests that are served.
            Err(error) => {
                self.failures_in_a_row += 1;
                self.shared.errors.fetch_add(1, Ordering::Relaxed);
                sent.fail(error);
                if self.failures_in_a_row < FAILURES_IN_A_ROW_MAX {
                    thread::sleep(Duration::from_millis(10 * self.failures_in_a_row));
                }
            }
        }
        self.sent.requests += 1;
    }

    /// Counts the requests that were due before the end and will not be sent: a server that stalls
    /// to the end would go free without them. They are not rendered, and hold as much as the last
    /// one.
    fn leave(&mut self, mut due: Option<Instant>, points: u64) {
        let now = Instant::now();
        let end = self.end().unwrap_or(now);
        let seen = now.max(end);
        for _ in self.sent.requests..self.load.requests_about(self.at) {
            let Some(planned) = due.filter(|due| *due < end) else { return };
            if self.offer(planned, points) {
                self.sent.unsent += 1;
                self.sent.intended.record(seen - planned);
            }
            due = self.due();
        }
    }

    /// Counts a request as offered; false where it belongs to the warm-up.
    fn offer(&mut self, planned: Instant, points: u64) -> bool {
        let is_measured = planned >= self.start + self.load.warm_up;
        if is_measured {
            self.sent.offered += 1;
            self.sent.points_offered += points;
        }
        is_measured
    }

    /// When the next request is due; none in a closed loop.
    fn due(&mut self) -> Option<Instant> {
        self.plan.due().map(|after| self.start + after)
    }

    /// When the run ends, where it has a limit.
    fn end(&self) -> Option<Instant> {
        self.load.limit.map(|limit| self.start + self.load.warm_up + limit)
    }

    /// Whether a request that is due then comes after the end.
    fn is_over(&self, due: Option<Instant>) -> bool {
        let now = Instant::now();
        self.shared.enough.load(Ordering::Relaxed)
            || self.end().is_some_and(|end| due.unwrap_or(now).max(now) >= end)
    }
}

/// Closes the connection; returns the complaints that came back on it.
fn close(sent: &mut Sent, sender: Sender) -> u64 {
    match sender.finish() {
        Ok(0) => 0,
        Ok(lines) => {
            *sent.errors.entry("error lines on the stream".into()).or_default() += lines;
            lines
        }
        Err(error) => {
            sent.fail(error.to_string());
            1
        }
    }
}

fn sleep_until(due: Option<Instant>) {
    if let Some(wait) = due.and_then(|due| due.checked_duration_since(Instant::now())) {
        thread::sleep(wait);
    }
}
