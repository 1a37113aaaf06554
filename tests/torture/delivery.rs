//! What is delivered twice, late, and out of order.

use crate::doors::{Door, Doors, Outcome, Way};
use crate::harness::{Scratch, Server};
use crate::ledger::{START_S, mix};
use crate::{RESTLESS, seed, times};
use rustix::process::Signal;

/// Ways whose clients send again what was not answered, and the metric of each.
const WAYS: [(Way, &str); 4] = [
    (Way::Put, "d.put"),
    (Way::Lines, "d.lines"),
    (Way::LinesV2, "d.lines2"),
    (Way::TickTockLines, "d.ttlines"),
];

/// A client whose answer gets lost sends its batch again, on another connection, when others have
/// been sent since. All is there once, also after flushes, merges and a kill.
#[test]
fn what_is_delivered_twice_or_late_is_there_once() {
    let (dir, doors) = (Scratch::new(), Doors::new());
    let door_flags = doors.flags();
    let flags = Vec::from_iter(door_flags.iter().map(String::as_str).chain(RESTLESS));
    let server = Server::start(dir.path(), &flags);
    let batches = 200 * times().min(10);
    let mut again = 0;
    for (number, (way, name)) in WAYS.into_iter().enumerate() {
        let number = number as u64;
        let open = || doors.open(&server, way).unwrap();
        let mut door = open();
        let mut unanswered: Vec<u64> = Vec::new();
        for batch in 0..batches {
            let dice = mix(seed(), batch, number);
            match dice.is_multiple_of(10) {
                true => {
                    // Sent, and the client is gone before the answer.
                    open().send_only(way, &rows(way, name, batch), "durable");
                    unanswered.push(batch);
                }
                false => deliver(&mut door, way, name, batch),
            }
            if dice >> 8 & 7 == 0 {
                again += unanswered.len();
                unanswered.drain(..).for_each(|late| deliver(&mut door, way, name, late));
            }
            if dice >> 16 & 63 == 0 {
                server.signal(Signal::USR1);
            }
        }
        again += unanswered.len();
        unanswered.into_iter().for_each(|late| deliver(&mut door, way, name, late));
    }
    check(&server, batches);
    server.kill();
    let server = Server::start(dir.path(), &[]);
    check(&server, batches);
    server.stop();
    assert!(again > 20, "{again} batches were sent twice: the test proves little");
    println!("{again} of {} batches were sent twice", batches * WAYS.len() as u64);
}

const ROWS: u64 = 20;

fn rows(way: Way, name: &str, batch: u64) -> Vec<String> {
    let time_s = START_S + batch as i64;
    (0..ROWS).map(|series| way.spell(name, series, time_s, [(batch + series) as i64; 2])).collect()
}

fn deliver(door: &mut Door, way: Way, name: &str, batch: u64) {
    // A small head may be full for a moment.
    while let Outcome::Refused(status) = door.send(way, &rows(way, name, batch), "durable") {
        assert_eq!(status, 503);
    }
}

/// Every sample is there, once, with its value, and counts once.
fn check(server: &Server, batches: u64) {
    for (way, name) in WAYS {
        let name = format!("{name}{}", way.fields()[0]);
        for series in 0..ROWS {
            let found = server.samples(&format!("none:{name}{{s={series}}}"));
            let sent = (0..batches).map(|batch| {
                let time_ms = (START_S + batch as i64) * 1000;
                (time_ms, (batch + series).to_string())
            });
            assert!(found.into_iter().eq(sent), "{name}, series {series}");
        }
        let count = format!("0all-count:{name}");
        let path = format!("/api/query?start={START_S}&ms&arrays&m=sum:{count}");
        let json: serde_json::Value = serde_json::from_slice(&server.get(&path).body).unwrap();
        assert_eq!(json[0]["dps"][0][1].as_f64(), Some((batches * ROWS) as f64), "{name}: {json}");
    }
}
