//! Deletes, drops and renames, with the server killed in the middle of them.

use crate::doors::Doors;
use crate::harness::{Scratch, Server, read_response, request};
use crate::ledger::{Ledger, Load, Look, START_S, mix};
use crate::{RESTLESS, seed, times};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// Samples of one metric.
const SAMPLES: i64 = 40;

/// Samples by time, in seconds from the start.
type Content = BTreeMap<i64, i64>;

/// What is done to a metric, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// All times are written.
    Write,
    /// The first half is deleted.
    DeleteHalf,
    /// Everything is dropped.
    Drop,
    /// Some times are written again, with other values.
    WriteAgain,
    /// The metric gets its other name.
    Rename,
}

const PLANS: [&[Step]; 5] = [
    &[Step::Write, Step::DeleteHalf],
    &[Step::Write, Step::Drop],
    &[Step::Write, Step::Drop, Step::WriteAgain],
    &[Step::Write, Step::DeleteHalf, Step::WriteAgain, Step::Rename],
    &[Step::Write, Step::Rename, Step::DeleteHalf],
];

/// One metric and what became of it.
struct Metric {
    number: u64,
    /// Steps that were answered.
    done: usize,
    /// Whether one more was sent.
    is_next_sent: bool,
}

impl Metric {
    fn plan(&self) -> &'static [Step] {
        PLANS[(self.number % PLANS.len() as u64) as usize]
    }

    /// What the metric is called after so many steps.
    fn name(&self, steps: usize) -> String {
        let is_renamed = self.plan()[..steps].contains(&Step::Rename);
        format!("{}.{}", if is_renamed { "renamed" } else { "changed" }, self.number)
    }

    fn value(&self, time: i64, is_again: bool) -> i64 {
        (mix(seed() ^ self.number, time as u64, u64::from(is_again)) % 100_000) as i64
    }

    /// What is there after so many steps.
    fn content(&self, steps: usize) -> Content {
        let mut content = Content::new();
        for step in &self.plan()[..steps] {
            match step {
                Step::Write => {
                    content.extend((0..SAMPLES).map(|time| (time, self.value(time, false))));
                }
                Step::WriteAgain => {
                    let again = SAMPLES / 4..SAMPLES / 4 * 3;
                    content.extend(again.map(|time| (time, self.value(time, true))));
                }
                Step::DeleteHalf => content.retain(|time, _| *time >= SAMPLES / 2),
                Step::Drop => content.clear(),
                Step::Rename => {}
            }
        }
        content
    }

    /// The request that makes the next step.
    fn request(&self) -> Vec<u8> {
        let name = self.name(self.done);
        let query = |text: String| {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            request("POST", &format!("/query?db=default&q={encoded}"), &[], b"")
        };
        let write = |from: i64, to: i64, is_again: bool| {
            let point = |time: i64| {
                let (value, at) = (self.value(time, is_again), START_S + time);
                format!(
                    "{{\"metric\":\"{name}\",\"timestamp\":{at},\"value\":{value},\
                     \"tags\":{{\"h\":\"a\"}}}}"
                )
            };
            let points: Vec<String> = (from..to).map(point).collect();
            request("POST", "/api/put", &[], format!("[{}]", points.join(",")).as_bytes())
        };
        match self.plan()[self.done] {
            Step::Write => write(0, SAMPLES, false),
            Step::WriteAgain => write(SAMPLES / 4, SAMPLES / 4 * 3, true),
            Step::DeleteHalf => {
                let end_s = START_S + SAMPLES / 2;
                query(format!("DELETE FROM \"{name}\" WHERE time < {end_s}s"))
            }
            Step::Drop => query(format!("DROP MEASUREMENT \"{name}\"")),
            Step::Rename => {
                let to = self.name(self.done + 1);
                let body = format!("{{\"metric\":\"{name}\",\"name\":\"{to}\"}}");
                request("POST", "/api/uid/rename", &[], body.as_bytes())
            }
        }
    }

    /// Compares with what the server has: the steps that were answered, and the one that was sent
    /// then either made or not; a rename may have been half made, which loses nothing.
    fn check(&self, server: &Server) {
        let found = |steps| content_of(server, &self.name(steps));
        let here = found(self.done);
        let next = self.done + usize::from(self.is_next_sent);
        let about = format!("{:?} after {} steps", self.plan(), self.done);
        if next > self.done && self.plan()[self.done] == Step::Rename {
            let mut both = here;
            both.extend(found(next));
            assert_eq!(both, self.content(next), "metric {}: {about}", self.number);
            return;
        }
        if self.plan()[..self.done].contains(&Step::Rename) {
            assert_eq!(found(0), Content::new(), "metric {} under its old name", self.number);
        }
        let (least, most) = (self.content(self.done), self.content(next));
        assert!(
            here == least || here == most,
            "metric {}: {about}: {here:?} is neither {least:?} nor {most:?}",
            self.number
        );
    }
}

fn content_of(server: &Server, name: &str) -> Content {
    let answer = server.get(&format!("/api/query?start=1&arrays&m=none:{name}"));
    if answer.status == 400 && answer.text().contains("No such name") {
        return Content::new();
    }
    assert_eq!(answer.status, 200, "{}", answer.text());
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let series = json.as_array().unwrap();
    assert!(series.len() <= 1, "{name}: {json}");
    let pairs = series.iter().flat_map(|found| found["dps"].as_array().unwrap());
    pairs.map(|pair| (pair[0].as_i64().unwrap() - START_S, pair[1].as_i64().unwrap())).collect()
}

#[test]
fn deletes_drops_and_renames_are_made_or_not_when_the_server_is_killed() {
    let (dir, doors) = (Scratch::new(), Doors::new());
    let ledger = Arc::new(Ledger::new(seed()));
    let mut metrics: Vec<Metric> = Vec::new();
    for round in 0..12 * times() {
        let server = Server::start(dir.path(), &RESTLESS);
        metrics.iter().rev().take(30).for_each(|metric| metric.check(&server));
        ledger.check(&server, Look::Recent);
        let load = Load::start_some(&server, &doors, &ledger, "os", [4, 6]);
        load.expect_the_end();
        let dice = mix(seed(), round, 31);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20 + dice % 150));
                server.signal(Signal::USR1);
                std::thread::sleep(Duration::from_millis(dice >> 8 & 127));
                server.signal(Signal::KILL);
            });
            change_until_the_end(&server, &mut metrics);
        });
        load.stop();
        // Killed it is; until it is gone it holds its directory.
        server.kill();
        // What was sent last may have been made: no more is asked of it.
        let server = Server::start(dir.path(), &RESTLESS);
        metrics.iter().rev().take(30).for_each(|metric| metric.check(&server));
        server.stop();
    }
    let server = Server::start(dir.path(), &[]);
    metrics.iter().for_each(|metric| metric.check(&server));
    ledger.check(&server, Look::Whole);
    let done: usize = metrics.iter().map(|metric| metric.done).sum();
    println!("{done} changes of {} metrics were answered", metrics.len());
    assert!(done > 20, "only {done} changes were answered: the test proves little");
}

fn change_until_the_end(server: &Server, metrics: &mut Vec<Metric>) {
    let Ok(socket) = TcpStream::connect(server.address) else { return };
    let mut socket = BufReader::new(socket);
    loop {
        let mut metric = Metric { number: metrics.len() as u64, done: 0, is_next_sent: false };
        while metric.done < metric.plan().len() {
            metric.is_next_sent = true;
            let is_sent = socket.get_mut().write_all(&metric.request()).is_ok();
            let answer = is_sent.then(|| read_response(&mut socket)).flatten();
            let Some(answer) = answer else {
                metrics.push(metric);
                return;
            };
            let text = answer.text();
            assert!(answer.status < 300 && !text.contains("error"), "{text}");
            metric.done += 1;
            metric.is_next_sent = false;
        }
        metrics.push(metric);
    }
}
