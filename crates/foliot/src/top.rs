//! `foliot top`: what a running server does at present, from its own API. Counters there count
//! since the start, so two answers make a rate, and one alone makes the mean since then.

use crate::output::Output;
use crate::remote::{self, visible};
use crate::terminal::{Quiet, keys, put_back_on_signals};
use crate::welcome::size;
use clap::{Arg, ArgAction, ArgMatches, Command as Clap};
use foliot_migrate::Client;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Most lines of each list, so that the rest stays on the screen.
const LINES_MAX: usize = 10;
/// Most questions that are over.
const SLOW_MAX: usize = 5;

/// Most characters that are shown of a query.
const QUERY_CHARS_MAX: usize = 60;

/// How far back questions that are over are looked for.
const LATELY_MS: u64 = 600_000;

/// To the upper left, and away with everything below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Around what is wrong.
const ALARM: (&str, &str) = ("\x1b[31m", "\x1b[0m");

/// Which server to watch, and how often.
#[derive(Debug)]
pub(crate) struct Watch {
    client: Client,
    interval: Duration,
    is_once: bool,
}

pub(crate) fn command() -> Clap {
    Clap::new("top")
        .about(
            "Shows what a running server does: who writes, what is refused, queries that run and that \
             took long, memory, disk",
        )
        .after_help(
            "q or Ctrl-C ends it. Examples:\n  foliot top\n  foliot top --once --url http://db:4242",
        )
        .arg(
            Arg::new("once")
                .long("once")
                .action(ArgAction::SetTrue)
                .help("Shows it once, with means since the server's start; so it is in a pipe"),
        )
        .arg(
            Arg::new("interval")
                .long("interval")
                .value_name("SECONDS")
                .default_value("2")
                .value_parser(clap::value_parser!(u64).range(1..=3600))
                .help("How often it is shown anew"),
        )
        .args(remote::arguments())
}

pub(crate) fn read(matches: &ArgMatches) -> Result<Watch, String> {
    Ok(Watch {
        client: remote::client(matches)?,
        interval: Duration::from_secs(matches.get_one("interval").copied().unwrap_or(2)),
        is_once: matches.get_flag("once"),
    })
}

/// Shows it until the process is ended, or once.
///
/// # Errors
/// One sentence.
pub(crate) fn perform(watch: &Watch) -> Result<(), String> {
    let mut out = Output::default();
    let is_screen = io::stdout().is_terminal() && !watch.is_once;
    // Where nobody can press a key it is ended as any program.
    let input = io::stdin();
    let hears = is_screen && input.is_terminal() && put_back_on_signals(&input).is_ok();
    let quiet = hears.then(|| Quiet::by_key(&input).ok()).flatten();
    let keys = quiet.is_some().then(keys);
    let mut before: Option<Seen> = None;
    loop {
        let (text, now) = match ask(&watch.client) {
            Ok(seen) => (shown(&seen, before.as_ref(), is_screen), Some(seen)),
            // A server that is started again is watched on.
            Err(sentence) if is_screen => (format!("{sentence}\n"), None),
            Err(sentence) => return Err(sentence),
        };
        let text = if is_screen { format!("{CLEAR}{text}") } else { text };
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| format!("cannot write to standard output: {error}"))?;
        if !is_screen {
            return Ok(());
        }
        before = now;
        if is_ended_within(watch.interval, keys.as_ref()) {
            return Ok(());
        }
    }
}

/// Waits so long, or until the key is pressed that ends it, or the terminal is gone.
fn is_ended_within(interval: Duration, keys: Option<&Receiver<u8>>) -> bool {
    let until = Instant::now() + interval;
    let Some(keys) = keys else {
        std::thread::sleep(interval);
        return false;
    };
    loop {
        match keys.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(b'q' | b'Q') | Err(RecvTimeoutError::Disconnected) => return true,
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) => return false,
        }
    }
}

/// What a server has answered.
#[derive(Default)]
struct Seen {
    status: Value,
    queries: Value,
    /// Null where it may not be asked for, as may be the next one.
    senders: Value,
    costs: Value,
}

/// Asks for what the server does, who writes, and for the queries that run or ran lately.
fn ask(client: &Client) -> Result<Seen, String> {
    let get = |what: &str| {
        let answer = client.get(&format!("/api/foliot/v1/{what}"));
        let answer = answer.and_then(|answer| answer.whole()).map_err(|error| error.to_string())?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map_err(|error| {
                format!("{} is no Foliot: what it answers is {error}", client.host())
            }),
            status => Err(remote::refusal(status, &answer.body)),
        }
    };
    let (status, queries) = (get("status")?, get("queries")?);
    let costs = get(&format!("queries/costs?within_ms={LATELY_MS}")).unwrap_or_default();
    Ok(Seen { status, queries, senders: get("senders").unwrap_or_default(), costs })
}

/// The whole screen.
fn shown(seen: &Seen, before: Option<&Seen>, has_colour: bool) -> String {
    let Seen { status, queries, senders, costs } = seen;
    let text = |name| visible(status.get(name).and_then(Value::as_str).unwrap_or("?"));
    let seen_before = before.filter(|before| is_later(status, &before.status));
    let before = seen_before.map(|before| &before.status);
    let (ms, since) = match before {
        Some(before) => (number(status, "/now_ms") - number(before, "/now_ms"), "now"),
        None => (number(status, "/uptime_ms"), "mean since the start"),
    };
    let up = Duration::from_secs(number(status, "/uptime_ms") / 1000);
    let mut out = format!("foliot {} on {}, up {}\n\n", text("version"), text("host"), time(up));
    // Writing to memory cannot fail.
    let _ = writeln!(out, "{:14} {:>12} {:>10}  {since}", "protocol", "samples/s", "MiB/s");
    let none = Map::new();
    let ways = status.get("ingest").and_then(Value::as_object).unwrap_or(&none);
    for (way, _) in ways {
        let rate = |what: &str| {
            let place = format!("/ingest/{way}/{what}");
            let old = before.map_or(0, |before| number(before, &place));
            number(status, &place).saturating_sub(old) as f64 * 1000.0 / ms.max(1) as f64
        };
        let mib = rate("bytes") / f64::from(1 << 20);
        let _ = writeln!(out, "{:14} {:>12.1} {mib:>10.3}", visible(way), rate("samples"));
    }
    out.push('\n');
    push_senders(senders, seen_before.map(|before| &before.senders), ms, &mut out);
    push_refused(ways, &mut out);
    push_queries(status, queries, &mut out);
    push_costs(costs, &mut out);
    push_store(status, &mut out);
    let (on, off) = if has_colour { ALARM } else { ("", "") };
    for trouble in status.get("troubles").and_then(Value::as_array).into_iter().flatten() {
        let _ =
            writeln!(out, "{on}trouble        {}{off}", visible(trouble.as_str().unwrap_or("")));
    }
    out
}

/// Whether two answers are of one run of the server.
fn is_later(status: &Value, before: &Value) -> bool {
    number(status, "/uptime_ms") > number(before, "/uptime_ms")
        && number(status, "/now_ms") > number(before, "/now_ms")
}

/// Those who write most.
fn push_senders(senders: &Value, before: Option<&Value>, ms: u64, out: &mut String) {
    let list = |of: &Value| {
        let senders = of.get("senders").and_then(Value::as_array).cloned().unwrap_or_default();
        senders.into_iter().map(|sender| {
            let text = |name| sender.get(name).and_then(Value::as_str).unwrap_or_default();
            let from = [text("address"), text("from")].into_iter().find(|from| !from.is_empty());
            let name = (text("protocol").to_owned(), from.unwrap_or_default().to_owned());
            (name, number(&sender, "/samples"))
        })
    };
    let old: HashMap<_, _> = before.into_iter().flat_map(list).collect();
    let mut rates: Vec<_> = list(senders)
        .map(|(name, samples)| (samples.saturating_sub(*old.get(&name).unwrap_or(&0)), name))
        .filter(|(samples, _)| *samples > 0)
        .collect();
    rates.sort_by(|one, other| other.cmp(one));
    for (samples, (way, from)) in rates.iter().take(LINES_MAX) {
        let rate = *samples as f64 * 1000.0 / ms.max(1) as f64;
        let _ = writeln!(out, "writes {rate:>12.1} samples/s  {} {}", visible(way), visible(from));
    }
}

/// Questions that took longest lately, one run of each.
fn push_costs(costs: &Value, out: &mut String) {
    let took_ms = |cost: &Value| cost.get("took_max_ms").and_then(Value::as_f64).unwrap_or(0.0);
    let is_asked = |cost: &&Value| cost.get("by_itself").and_then(Value::as_bool) != Some(true);
    let all = costs.get("costs").and_then(Value::as_array).into_iter().flatten();
    let mut slow: Vec<&Value> = all.filter(is_asked).collect();
    slow.sort_by(|one, other| took_ms(other).total_cmp(&took_ms(one)));
    for cost in slow.iter().take(SLOW_MAX) {
        let text = |name| cost.get(name).and_then(Value::as_str).unwrap_or_default();
        let shown: String = visible(text("text")).chars().take(QUERY_CHARS_MAX).collect();
        let (ms, times) = (took_ms(cost), number(cost, "/count"));
        let database = visible(text("database"));
        let _ =
            writeln!(out, "  took {ms:>8.1} ms at most, {times} in 10 min, in {database}: {shown}");
    }
}

fn push_refused(ways: &Map<String, Value>, out: &mut String) {
    let mut refused = Vec::new();
    for (way, figures) in ways {
        let reasons = figures.get("rejected").and_then(Value::as_object);
        for (reason, count) in reasons.into_iter().flatten() {
            refused.push((count.as_u64().unwrap_or(0), way, reason));
        }
    }
    refused.sort_by(|one, other| other.cmp(one));
    for (count, way, reason) in refused.iter().take(LINES_MAX) {
        let (way, reason) = (visible(way), visible(reason));
        let _ = writeln!(out, "refused        {count} rows since the start, {way}: {reason}");
    }
}

fn push_queries(status: &Value, queries: &Value, out: &mut String) {
    let of = |what| number(status, &format!("/queries/{what}"));
    let _ = writeln!(
        out,
        "queries        {} running; since the start {}, {} refused, {} failed, {} cancelled",
        of("running"),
        of("total"),
        of("refused"),
        of("failed"),
        of("cancelled")
    );
    let mut running: Vec<&Value> =
        queries.get("queries").and_then(Value::as_array).into_iter().flatten().collect();
    running.sort_by_key(|query| std::cmp::Reverse(number(query, "/runs_for_ms")));
    for query in running.iter().take(LINES_MAX) {
        let text = |name| query.get(name).and_then(Value::as_str).unwrap_or_default();
        let shown: String = visible(text("text")).chars().take(QUERY_CHARS_MAX).collect();
        let seconds = number(query, "/runs_for_ms") as f64 / 1000.0;
        let (id, database) = (number(query, "/id"), visible(text("database")));
        let _ = writeln!(out, "  {seconds:>8.1} s   {id} in {database}: {shown}");
    }
}

fn push_store(status: &Value, out: &mut String) {
    // A limit that nobody set on a machine that does not say what it has.
    let of = |place| match status.pointer(place).and_then(Value::as_u64) {
        Some(bytes) => size(bytes),
        None => "an unknown size".to_owned(),
    };
    let _ = writeln!(
        out,
        "memory         {} of {}; of it head {}, names {}",
        of("/memory/resident_bytes"),
        of("/memory/limit_bytes"),
        of("/store/head_bytes"),
        of("/store/registry_bytes")
    );
    let count = |name| number(status, &format!("/store/{name}"));
    let _ = writeln!(
        out,
        "series         {}, with {} samples in parts",
        count("series"),
        count("part_samples")
    );
    let _ = writeln!(
        out,
        "disk           {} parts with {}, log {}, {} free; {} parts wait to be merged",
        count("parts"),
        of("/store/part_bytes"),
        of("/store/wal_bytes"),
        of("/store/disk_free_bytes"),
        count("merge_debt_parts")
    );
}

fn number(value: &Value, place: &str) -> u64 {
    value.pointer(place).and_then(Value::as_u64).unwrap_or(0)
}

fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, _, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(uptime_ms: u64, samples: u64) -> Value {
        json!({
            "version": "1.2.3", "host": "db", "now_ms": 1_000_000 + uptime_ms, "uptime_ms": uptime_ms,
            "ingest": {"telnet": {"samples": samples, "bytes": samples * (1 << 20),
                "rejected": {"value": 3, "time": 7}}},
            "queries": {"running": 1, "total": 9, "refused": 2, "failed": 4, "cancelled": 5},
            "memory": {"resident_bytes": 3 << 20, "limit_bytes": 64 << 20},
            "troubles": ["the disk\u{1b} fails"],
        })
    }

    #[test]
    fn two_answers_make_a_rate_and_one_makes_a_mean() {
        let queries = json!({"queries": [
            {"id": 1, "text": "short", "database": "d", "runs_for_ms": 100},
            {"id": 2, "text": "long", "database": "d", "runs_for_ms": 2500}]});
        let seen = |uptime_ms, samples| Seen {
            status: status(uptime_ms, samples),
            queries: queries.clone(),
            senders: json!({"senders": [
                {"protocol": "telnet", "address": "10.0.0.7", "from": "address", "samples": samples},
                {"protocol": "agent", "address": null, "from": "itself", "samples": 20 * samples}]}),
            costs: json!({"costs": [
                {"text": "quick", "database": "d", "count": 9, "took_max_ms": 0.5},
                {"text": "panel", "by_itself": true, "count": 9, "took_max_ms": 99.0},
                {"text": "slow", "database": "d", "count": 2, "took_max_ms": 7.25}]}),
        };
        let mean = shown(&seen(10_000, 50), None, false);
        assert!(mean.contains("telnet                  5.0      5.000\n"), "{mean}");
        assert!(mean.contains("mean since the start"), "{mean}");
        let rate = shown(&seen(10_000, 50), Some(&seen(8_000, 10)), true);
        assert!(rate.contains("telnet                 20.0     20.000\n"), "{rate}");
        // The largest first, and what a name holds does nothing to a terminal.
        let place = |text: &str| rate.find(text).unwrap_or_else(|| panic!("{text}: {rate}"));
        let refused = |count, why| format!("{count} rows since the start, telnet: {why}");
        assert!(place(&refused(7, "time")) < place(&refused(3, "value")));
        let agent = place("writes        400.0 samples/s  agent itself\n");
        assert!(agent < place("writes         20.0 samples/s  telnet 10.0.0.7\n"));
        let slow = place("took      7.2 ms at most, 2 in 10 min, in d: slow\n");
        assert!(slow < place("took      0.5 ms at most, 9 in 10 min, in d: quick\n"));
        assert!(!rate.contains("panel"), "{rate}");
        assert!(place("2 in d: long") < place("1 in d: short"));
        assert!(rate.contains("\x1b[31mtrouble        the disk\\u{1b} fails\x1b[0m"), "{rate}");
        // A server that was started again has counted anew.
        let again = shown(&seen(1_000, 5), Some(&seen(8_000, 10)), false);
        assert!(again.contains("telnet                  5.0"), "{again}");
    }
}
