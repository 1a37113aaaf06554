//! The tool's proofs about itself: the data are what they claim to be whoever generates them, and
//! a server that stalls, lies or is faster than the client shows as such.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use crate::adapter;
use crate::catalogue::Kind;
use crate::cursor::{Cursor, Share, is_present};
use crate::dialect::influxql::INFLUXQL;
use crate::disorder::{Delay, Disorder, Shuffle};
use crate::encode::{Encoder, Format, Precision};
use crate::feed::{Feed, fill};
use crate::fleet::Fleet;
use crate::load::{Load, Reads};
use crate::measure::measure;
use crate::oracle::Oracle;
use crate::pace::Pace;
use crate::profile::Profile;
use crate::question::{Answer, Ask, Function, Question, Sources, compare};
use crate::result::LoadResult;
use crate::runs::Measured;
use crate::sender::Wish;
use crate::server::Watched;
use crate::sink::{self, Stall};
use crate::testing::{cpu_fleet, fleet};

/// (table, source, step, field) and value of everything that a share sends, repeats counted.
type Sent = BTreeMap<(usize, u64, u64, usize), (i64, u32)>;

fn sent(fleet: &Fleet, disorder: Disorder, connections: u64, steps: u64, block: u64) -> Sent {
    let mut sent = Sent::new();
    for at in 0..connections {
        let share = Share::of(fleet, at, connections, 0..steps, block);
        let mut cursor = Cursor::new(fleet, disorder, share);
        while let Some(row) = cursor.row() {
            for (lane, value) in row.values.iter().enumerate().filter(|(_, v)| is_present(**v)) {
                let key = (row.table, row.source, row.step, row.first_field + lane);
                let cell = sent.entry(key).or_insert((*value, 0));
                assert_eq!(cell.0, *value, "a repeated row changed its values");
                cell.1 += 1;
            }
        }
    }
    sent
}

#[test]
fn first_lines_are_pinned() {
    let first = |profile| {
        let fleet = fleet(profile, 10);
        let share = Share::of(&fleet, 0, 1, 0..2, 1);
        let mut feed = Feed::new(&fleet, Disorder::default(), share, Format::Lines, 1);
        let mut encoder = Encoder::new(&fleet, Format::Lines, Precision::Ms);
        let mut body = Vec::new();
        fill(&mut feed, &mut encoder, &mut body);
        String::from_utf8(body).unwrap()
    };
    assert_eq!(
        first(Profile::tsbs_cpu()),
        "cpu,hostname=host_0,region=ap-southeast-1,datacenter=ap-southeast-1b,rack=32,\
         os=Ubuntu16.10,arch=x64,team=SF,service=6,service_version=0,service_environment=staging \
         usage_user=36i,usage_system=27i,usage_idle=20i,usage_nice=88i,usage_iowait=77i,\
         usage_irq=74i,usage_softirq=40i,usage_steal=73i,usage_guest=33i,usage_guest_nice=70i \
         1767225600000\n"
    );
    let line = first(Profile::tsbs_iot());
    assert!(line.starts_with("readings,name=truck_0,fleet="), "{line}");
    let line = first(Profile::Wind);
    assert!(line.starts_with("turbine,farm=f0,device=d0 wind_speed="), "{line}");
    let line = first(Profile::iotdb());
    assert!(line.starts_with("g_0,device=d_0 s_0="), "{line}");
}

/// What each world sent when it was code, or since it is a file: whoever changes a value of it
/// makes its figures incomparable with all before.
#[test]
fn the_bytes_of_every_world_are_pinned() {
    for (name, pinned) in [
        ("tsbs-cpu", 0x8e2bd2662d314883u64),
        ("tsbs-devops", 0x4dc5317f1816639d),
        ("tsbs-iot", 0x26a2b417f3a4c88c),
        ("iotdb", 0xeb67124fc3b24f8d),
        ("iotdb-repeating", 0x90277aee2242cebf),
        ("wind", 0xa1c7a77d4438a7b7),
        ("churn", 0x8e664a0379911ae1),
        ("sparse", 0x7c78f75b36164cc5),
        ("scraped", 0xb46f2ed768ae8a4a),
    ] {
        let fleet = fleet(Profile::parse(name).unwrap(), 60);
        let share = Share::of(&fleet, 0, 1, 0..1000, 1);
        let mut feed = Feed::new(&fleet, Disorder::default(), share, Format::Lines, 1500);
        let mut encoder = Encoder::new(&fleet, Format::Lines, Precision::Ns);
        let mut body = Vec::new();
        fill(&mut feed, &mut encoder, &mut body);
        // FNV-1a, which no library may change.
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let hash = body.iter().fold(0xcbf2_9ce4_8422_2325, step);
        assert_eq!(hash, pinned, "{name}: {hash:#x}");
    }
}

#[test]
fn tsbs_walks_keep_their_bounds_and_their_step() {
    let fleet = cpu_fleet(20);
    let sent = sent(&fleet, Disorder::default(), 1, 400, 1);
    let (mut squares, mut count, mut at_bounds) = (0.0, 0.0, 0);
    for ((_, source, step, field), (value, _)) in &sent {
        assert!((0..=100).contains(value));
        at_bounds += u64::from(*value == 0 || *value == 100);
        if let Some((before, _)) =
            step.checked_sub(1).and_then(|s| sent.get(&(0, *source, s, *field)))
            && (10..90).contains(before)
        {
            squares += (value - before).pow(2) as f64;
            count += 1.0;
        }
    }
    assert_eq!(sent.len(), 20 * 400 * 10);
    // Cutting a normal step to whole numbers adds a twelfth twice to its variance of one.
    let variance = squares / count;
    assert!((variance - 1.0 - 2.0 / 12.0).abs() < 0.03, "{variance}");
    assert!(at_bounds > 0, "some walk must have touched a bound");
}

#[test]
fn any_number_of_connections_sends_the_same_rows() {
    for profile in
        [Profile::tsbs_cpu(), Profile::tsbs_devops(), Profile::churn(), Profile::sparse()]
    {
        let fleet = fleet(profile, 23);
        let whole = sent(&fleet, Disorder::default(), 1, 30, 1);
        assert!(!whole.is_empty());
        for (connections, block) in [(4, 1), (16, 1), (3, 7)] {
            assert_eq!(whole, sent(&fleet, Disorder::default(), connections, 30, block));
        }
    }
}

/// A hash of everything that each of 16 connections sends, rendered by `threads` threads.
fn wire_hashes(format: Format, threads: usize) -> Vec<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let fleet = fleet(Profile::tsbs_devops(), 32);
    let disorder = Disorder { late: 0.3, late_steps_max: 5, repeated: 0.1, ..Disorder::default() };
    let render = |at: u64| {
        let share = Share::of(&fleet, at, 16, 0..20, 1);
        let mut feed = Feed::new(&fleet, disorder, share, format, 50);
        let mut encoder = Encoder::new(&fleet, format, Precision::Ms);
        let (mut body, mut hasher) = (Vec::new(), DefaultHasher::new());
        while fill(&mut feed, &mut encoder, &mut body) > 0 {
            body.hash(&mut hasher);
        }
        hasher.finish()
    };
    let mut hashes: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let render = &render;
        let mine = |thread| (thread as u64..16).step_by(threads).map(|at| (at, render(at)));
        let run = |thread| scope.spawn(move || mine(thread).collect::<Vec<_>>());
        let running: Vec<_> = (0..threads).map(run).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    hashes.sort_unstable();
    hashes.into_iter().map(|(_, hash)| hash).collect()
}

#[test]
fn any_number_of_threads_puts_the_same_bytes_on_the_wire() {
    let own = ["prometheus", "postgres", "postgres-sql", "iotdb", "druid"];
    let own = own.map(|name| adapter::target(name).unwrap().door.format);
    for format in [Format::Lines, Format::Json].into_iter().chain(own) {
        let alone = wire_hashes(format, 1);
        assert_eq!(alone, wire_hashes(format, 4), "{format:?}");
        assert_eq!(alone, wire_hashes(format, 16), "{format:?}");
        assert_eq!(alone.iter().collect::<std::collections::BTreeSet<_>>().len(), 16);
    }
}

#[test]
fn order_and_lateness_change_no_value() {
    let fleet = cpu_fleet(17);
    let tidy = sent(&fleet, Disorder::default(), 2, 60, 1);
    for shuffle in [Shuffle::Sources, Shuffle::Series] {
        assert_eq!(tidy, sent(&fleet, Disorder { shuffle, ..Disorder::default() }, 2, 60, 1));
    }
    for delay in [Delay::Uniform, Delay::Exponential, Delay::Pareto, Delay::Poisson] {
        let late = Disorder { late: 0.5, late_steps_max: 20, delay, ..Disorder::default() };
        assert_eq!(tidy, sent(&fleet, late, 2, 60, 1));
    }
}

#[test]
fn disorder_has_the_asked_shares() {
    let fleet = cpu_fleet(50);
    let all = (50 * 100 * 10) as f64;
    let close = |found: f64, wanted: f64| (found - wanted).abs() < 0.02;
    let gaps = sent(&fleet, Disorder { gaps: 0.2, ..Disorder::default() }, 1, 100, 1);
    assert!(close(gaps.len() as f64 / all, 0.8));
    let missing = Disorder { missing_fields: 0.3, ..Disorder::default() };
    assert!(close(sent(&fleet, missing, 1, 100, 1).len() as f64 / all, 0.7));
    let twice = sent(&fleet, Disorder { repeated: 0.1, ..Disorder::default() }, 1, 100, 1);
    let again = twice.values().filter(|cell| cell.1 == 2).count();
    assert!(close(again as f64 / all, 0.1) && twice.len() as f64 == all);
    let late = Disorder { late: 0.4, late_steps_max: 10, ..Disorder::default() };
    let mut cursor = Cursor::new(&fleet, late, Share::of(&fleet, 0, 1, 0..100, 1));
    let (mut newest, mut behind, mut rows) = (0, 0.0, 0.0);
    while let Some(row) = cursor.row() {
        behind += f64::from(u8::from(row.step < newest));
        assert!(row.step + 10 >= newest);
        newest = newest.max(row.step);
        rows += 1.0;
    }
    assert!(close(behind / rows, 0.4), "{behind} of {rows}");
}

#[test]
fn all_formats_carry_the_same_values() {
    let fleet = fleet(Profile::iotdb(), 7);
    let lines = |format| {
        let share = Share::of(&fleet, 0, 1, 0..3, 1);
        let mut feed = Feed::new(&fleet, Disorder::default(), share, format, 1_000_000);
        let mut encoder = Encoder::new(&fleet, format, Precision::Ms);
        let mut body = Vec::new();
        assert_eq!(fill(&mut feed, &mut encoder, &mut body), 7 * 3 * 10);
        String::from_utf8(body).unwrap()
    };
    let puts = lines(Format::Puts);
    let objects: serde_json::Value = serde_json::from_str(&lines(Format::Json)).unwrap();
    let text = lines(Format::Prometheus);
    let influx = lines(Format::Lines);
    assert_eq!(puts.lines().count(), 210);
    let rows = puts.lines().zip(objects.as_array().unwrap()).zip(text.lines());
    for ((put, object), text) in rows {
        let words: Vec<&str> = put.split(' ').collect();
        let [verb, metric, time, value, device] = words[..] else { panic!("{put}") };
        assert_eq!(verb, "put");
        assert_eq!(object["metric"], metric);
        assert_eq!(object["timestamp"].to_string(), time);
        assert_eq!(object["value"].as_f64(), value.parse().ok());
        let device = device.strip_prefix("device=").unwrap();
        assert_eq!(object["tags"]["device"], device);
        let name = metric.replace('.', "_");
        assert_eq!(text, format!("{name}{{device=\"{device}\"}} {value} {time}"));
        let (group, field) = metric.split_once('.').unwrap();
        let head = format!("{group},device={device} ");
        let line = influx.lines().find(|l| l.starts_with(&head) && l.ends_with(time)).unwrap();
        assert!(line.contains(&format!("{field}={value}")), "{line}");
    }
}

fn oracle<'a>(fleet: &'a Fleet, steps: u64) -> Oracle<'a> {
    Oracle {
        fleet,
        disorder: Disorder::default(),
        first_source: 0,
        end_source: fleet.shape.sources,
        first_step: 0,
        end_step: steps,
    }
}

/// What a stupid walk over everything sent says.
fn brute_force(fleet: &Fleet, question: &Question, bucket_ms: i64) -> Answer {
    let mut buckets: BTreeMap<(u64, i64), Vec<f64>> = BTreeMap::new();
    for ((_, source, step, field), (value, _)) in sent(fleet, Disorder::default(), 1, 200, 1) {
        let time_ms = fleet.time_ms(step);
        if field == 0 && time_ms >= question.from_ms && time_ms < question.to_ms {
            let bucket = time_ms / bucket_ms * bucket_ms;
            buckets.entry((source, bucket)).or_default().push(value as f64);
        }
    }
    let mut answer = Answer::default();
    for ((source, bucket), values) in buckets {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        answer.push((format!("host_{source}"), 0), bucket, mean);
    }
    answer
}

fn hourly(fleet: &Fleet) -> Question {
    Question {
        table: 0,
        fields: vec![0],
        sources: Sources::All,
        from_ms: fleet.time_ms(6),
        to_ms: fleet.time_ms(186),
        ask: Ask::Aggregate {
            function: Function::Mean,
            per_series: true,
            bucket_ms: Some(600_000),
        },
    }
}

#[test]
fn the_oracle_agrees_with_a_walk_over_everything_sent() {
    let fleet = cpu_fleet(9);
    let question = hourly(&fleet);
    let expected = brute_force(&fleet, &question, 600_000);
    assert!(expected.len() > 9);
    assert_eq!(
        compare(&expected, &oracle(&fleet, 200).answer(&question), &question.ask, 0.0),
        Ok(())
    );
}

#[test]
fn lying_servers_are_caught() {
    let fleet = cpu_fleet(9);
    let question = hourly(&fleet);
    let right = oracle(&fleet, 200);
    let expected = right.answer(&question);
    let judged = |answer: &Answer| compare(&expected, answer, &question.ask, 0.0);
    // A window that is a step too long at either end.
    let step = fleet.shape.interval_ms;
    for (from, to) in [(-step, 0), (0, step), (step, 0), (0, -step)] {
        let mut shifted = question.clone();
        (shifted.from_ms, shifted.to_ms) = (question.from_ms + from, question.to_ms + to);
        assert!(judged(&right.answer(&shifted)).is_err(), "window {from} {to}");
    }
    // Buckets of another length or grid.
    for bucket in [599_000, 601_000, 300_000] {
        let mut other = question.clone();
        other.ask =
            Ask::Aggregate { function: Function::Mean, per_series: true, bucket_ms: Some(bucket) };
        assert!(judged(&right.answer(&other)).is_err(), "bucket {bucket}");
    }
    // A single lost sample, seen by its series' count.
    let mut count = question.clone();
    count.ask = Ask::Aggregate { function: Function::Count, per_series: true, bucket_ms: None };
    let exact = right.answer(&count);
    let mut lossy = exact.clone();
    lossy.rows.get_mut(&("host_4".to_owned(), 0)).unwrap()[0].1 -= 1.0;
    assert!(compare(&exact, &lossy, &count.ask, 0.0).is_err());
    // Rows out of order.
    let mut swapped = expected.clone();
    swapped.rows.values_mut().next().unwrap().swap(0, 1);
    assert!(judged(&swapped).is_err());
}

fn load<'a>(fleet: &'a Fleet, address: String, pace: Pace, seconds: f64) -> Load<'a> {
    Load {
        fleet,
        disorder: Disorder::default(),
        target: adapter::target("null").unwrap(),
        address,
        precision: Precision::Ns,
        connections: 2,
        batch: 1,
        steps: 0..u64::MAX,
        block: 1,
        pace,
        warm_up: Duration::ZERO,
        limit: Some(Duration::from_secs_f64(seconds)),
        until_enough: false,
        wish: Wish::default(),
        reads: None,
        progress: false,
    }
}

fn run(load: &Load<'_>) -> LoadResult {
    measure(load, &Watched::default(), Duration::ZERO).unwrap().0
}

/// Of the requests of a whole period the share `pause / every` is due
/// within the pause, at any time of it with the same chance, and waits for its end: so the wait
/// that one request in `n` exceeds is `pause - every / n`. A busy machine only adds to that.
#[test]
fn a_stall_is_told_with_its_true_percentiles() {
    let stalls = [(10_000, 1000), (2000, 400), (2000, 1000), (10_000, 7000)];
    let told = thread::scope(|scope| {
        let run_one = |(every, pause)| {
            let (every, pause) = (Duration::from_millis(every), Duration::from_millis(pause));
            let address = sink::start(Some(Stall { every, pause })).unwrap().to_string();
            let pace = Pace::Fixed { requests_per_second: 1000.0 };
            run(&load(&cpu_fleet(10), address, pace, 10.0))
        };
        let runs = stalls.map(|stall| scope.spawn(move || run_one(stall)));
        runs.map(|run| run.join().unwrap().write)
    });
    for ((every, pause), write) in stalls.into_iter().zip(told) {
        let (intended, service) = (write.intended_latency, write.service_time);
        println!("{pause} of {every} ms: {intended:?}\n    service {service:?}");
        for (one_in, told_ms) in [
            (2, intended.p50_ms),
            (20, intended.p95_ms),
            (100, intended.p99_ms),
            (1000, intended.p999_ms),
        ] {
            let true_ms = pause.saturating_sub(every / one_in) as f64;
            let told_ms = told_ms.unwrap();
            assert!(
                told_ms >= true_ms * 0.98 - 5.0,
                "{pause} of {every}, 1 in {one_in}: {told_ms}"
            );
        }
        // What a closed-loop tool would report: the two requests on their way in each pause.
        assert!(service.p95_ms.unwrap() < intended.p95_ms.unwrap() / 2.0, "{service:?}");
    }
}

/// This process is client and server at once, so its own costs are those of the server.
#[test]
fn a_closed_loop_ends_when_its_costs_are_enough_and_an_open_one_does_not() {
    let fleet = cpu_fleet(10);
    let mut watched = Watched::default();
    watched.pid = Some(std::process::id());
    let told = |pace, limit_s| {
        let address = sink::start(None).unwrap().to_string();
        let load = Load { until_enough: true, ..load(&fleet, address, pace, limit_s) };
        measure(&load, &watched, Duration::ZERO).unwrap().0
    };
    let closed = told(Pace::Closed { think_ms: 0 }, 600.0);
    assert!((3.0..599.0).contains(&closed.write.measured_s), "{}", closed.write.measured_s);
    assert!(closed.server.unwrap().measured_cpu_ms() >= 2000);
    let open = told(Pace::Fixed { requests_per_second: 4000.0 }, 6.0);
    assert_eq!(open.write.offered_per_s.round(), 40_000.0, "ten values a request, six seconds");
}

#[test]
fn requests_that_a_stall_at_the_end_kept_from_being_sent_are_in_the_latency() {
    let fleet = cpu_fleet(10);
    // Calm for 0.6 s, then silent to the end of the run and a little longer.
    let stall = Stall { every: Duration::from_millis(2300), pause: Duration::from_millis(1700) };
    let address = sink::start(Some(stall)).unwrap().to_string();
    let pace = Pace::Fixed { requests_per_second: 400.0 };
    let result = run(&load(&fleet, address, pace, 2.0));
    // Seven requests in ten are due within the stall, and wait 0.7 s for its end on average: so
    // the median is 0.4 s at least, and two requests are all that was ever on its way.
    assert_eq!(result.write.offered_per_s.round(), 4000.0, "ten values a request");
    assert!(result.write.unsent > 300, "{}", result.write.unsent);
    let intended = result.write.intended_latency;
    assert!(intended.p50_ms.unwrap() > 350.0, "{intended:?}");
    assert_eq!(intended.count, 800);
}

/// A server that answers every n-th write with 503 and the rest with 204, and keeps nothing: all
/// questions are answered as InfluxDB does where there is nothing.
fn failing_server(nth: usize) -> String {
    use std::io::{BufRead, BufReader, Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                let mut number = 0;
                loop {
                    let (mut length, mut is_question) = (0, false);
                    loop {
                        let mut line = String::new();
                        if stream.read_line(&mut line).ok().filter(|got| *got > 0).is_none() {
                            return;
                        }
                        if let Some(value) = line.strip_prefix("Content-Length: ") {
                            length = value.trim().parse().unwrap();
                        }
                        is_question |= line.starts_with("GET ");
                        if line == "\r\n" {
                            break;
                        }
                    }
                    stream.read_exact(&mut vec![0; length]).unwrap();
                    number += usize::from(!is_question);
                    let (status, body) = match number % nth == 0 {
                        _ if is_question => ("200 Yes", r#"{"results":[{}]}"#),
                        true => ("503 No", ""),
                        false => ("204 Yes", ""),
                    };
                    let length = body.len();
                    let reply =
                        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
                    let _ = stream.get_mut().write_all(reply.as_bytes());
                }
            });
        }
    });
    address
}

#[test]
fn refused_requests_have_no_latency() {
    let fleet = cpu_fleet(10);
    for (nth, accepted) in [(1, 0), (2, 150)] {
        let pace = Pace::Closed { think_ms: 0 };
        let mut load = load(&fleet, failing_server(nth), pace, 60.0);
        (load.target, load.steps, load.connections) =
            (adapter::target("victoriametrics").unwrap(), 0..300, 1);
        load.batch = 10;
        let result = run(&load);
        assert_eq!(result.write.intended_latency.count, accepted, "every {nth}");
        assert_eq!(result.write.service_time.count, accepted, "every {nth}");
        assert!(result.void().unwrap().contains("refused"), "{:?}", result.void());
        assert!(!result.is_right());
    }
}

/// Of two hosts in turn one has all its rows refused. What is answered about that one is no one's
/// fault; what is missing of the other was acknowledged and is lost.
#[test]
fn answers_about_refused_rows_are_not_judged_and_others_are() {
    let fleet = cpu_fleet(2);
    let mut load = load(&fleet, failing_server(2), Pace::Closed { think_ms: 0 }, 60.0);
    (load.target, load.steps, load.connections) =
        (adapter::target("foliot-influx").unwrap(), 0..300, 1);
    load.reads = Some(Reads {
        language: &INFLUXQL,
        address: load.address.clone(),
        kinds: Kind::DEVICE.to_vec(),
        per_write: 1.0,
        first_step: 0,
    });
    let result = run(&load);
    let wrong: Vec<&String> = result.reads.iter().flat_map(|read| &read.wrong_described).collect();
    assert!(!wrong.is_empty() && wrong.iter().all(|what| what.contains("host_0")), "{wrong:#?}");
    for read in &result.reads {
        assert_eq!(read.judged + read.unsettled, 2, "{read:?}");
        assert_eq!(read.judged, read.wrong, "{read:?}");
    }
    assert!(result.reads.iter().any(|read| read.unsettled > 0), "{:?}", result.reads);
}

#[test]
fn what_is_due_within_the_warm_up_is_written_and_not_measured() {
    let fleet = cpu_fleet(10);
    let address = sink::start(None).unwrap().to_string();
    let pace = Pace::Fixed { requests_per_second: 200.0 };
    let mut load = load(&fleet, address, pace, 1.0);
    // Not a full second: the measured part begins where the warm-up ends.
    load.warm_up = Duration::from_millis(500);
    let result = run(&load);
    let write = &result.write;
    // A request carries ten values.
    assert_eq!((write.points_acked, write.intended_latency.count), (3000, 200));
    assert_eq!(write.offered_per_s, 2000.0);
    assert!(result.tracks.iter().any(|track| (0.5..1.0).contains(&track.at_s)), "{result:?}");
    assert!(write.points_measured < 2500, "{}", write.points_measured);
    assert!(write.points_measured > 1000, "{}", write.points_measured);
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let fleet = cpu_fleet(10);
    let address = sink::start(None).unwrap().to_string();
    for pace in [
        Pace::Fixed { requests_per_second: 500.0 },
        // Ten sources at ten-second intervals sped up to a rate of 500 requests a second.
        Pace::Phased { interval_ms: 20 },
    ] {
        let result = run(&load(&fleet, address.clone(), pace, 2.0));
        let rate = result.write.requests as f64 / 2.0;
        assert!((rate / 500.0 - 1.0).abs() < 0.02, "{pace:?}: {rate}");
    }
}

#[test]
fn an_overloaded_client_says_so() {
    let fleet = cpu_fleet(10);
    let address = sink::start(None).unwrap().to_string();
    // Each request takes long to render, and no server could be asked for so many.
    let pace = Pace::Fixed { requests_per_second: 1e6 };
    let mut load = load(&fleet, address, pace, 0.5);
    load.batch = 20_000;
    let result = run(&load);
    assert!(result.client.limited.is_some());
    assert!(result.table().contains("client-limited"));
}

#[test]
fn streams_deliver_everything_before_they_close() {
    let fleet = cpu_fleet(50);
    let address = sink::start(None).unwrap().to_string();
    let mut load = load(&fleet, address, Pace::Closed { think_ms: 0 }, 60.0);
    (load.target, load.batch, load.steps) = (adapter::target("null-put").unwrap(), 100, 0..20);
    let result = run(&load);
    assert_eq!(result.write.points_acked, 50 * 20 * 10);
    assert!(result.write.errors.is_empty());
}

#[test]
fn a_server_that_is_gone_is_an_error_not_a_hang() {
    let fleet = cpu_fleet(10);
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let load = load(&fleet, free.to_string(), Pace::Closed { think_ms: 0 }, 0.2);
    let error = measure(&load, &Watched::default(), Duration::ZERO).err().unwrap().to_string();
    assert!(error.starts_with(&format!("no server at {free}: ")), "{error}");
}

#[test]
fn the_exit_code_tells_right_from_wrong_from_impossible() {
    let code = |words: &str| {
        let words = std::iter::once("foliot bench").chain(words.split(' '));
        format!("{:?}", crate::main(words.map(Into::into)))
    };
    let expected = |code: u8| format!("{:?}", std::process::ExitCode::from(code));
    let load = "load --quiet --target null --hosts 10 --steps 3 --json";
    let file = std::env::temp_dir().join(format!("foliot-bench-{}.json", std::process::id()));
    assert_eq!(code(&format!("{load} {}", file.display())), expected(0));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["schema_version"], 3);
    assert_eq!(result["write"]["points_acked"], 300);
    let closed = "load --quiet --target influx --url 127.0.0.1:1 --hosts 1 --steps 1";
    assert_eq!(code(closed), expected(2));
    let refused = "load --quiet --target foliot-influx --url 127.0.0.1:1 --hosts 1 --steps 1";
    assert_eq!(code(refused), expected(2));
    assert_eq!(code("load --target unheard-of"), expected(2));
    assert_eq!(code("report /nonexistent/report.json"), expected(2));
}
