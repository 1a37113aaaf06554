//! Commands that build on a load: `search` for the highest rate that a server keeps up with, and
//! `mix`, a load beside a stream of questions about what was there before.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use crate::args::{MixArgs, PaceName, SearchArgs};
use crate::catalogue::Kind;
use crate::measure::measure;
use crate::oracle::Oracle;
use crate::pace::Pace;
use crate::query::{KindResult, Stream};
use crate::result::LoadResult;
use crate::wanted::{fleet, language, plan_load, query_address, watched};

/// Doublings of the rate at most.
const DOUBLINGS_MAX: u32 = 20;

/// Doubles the rate until the server falls behind, then halves in on the edge.
pub(crate) fn search(args: &SearchArgs) -> io::Result<bool> {
    let mut search = Search { args, next_step: args.load.data.first_step, limited: false };
    let (mut kept, mut failed) = (0, None);
    let mut rate = args.load.rate.max(1);
    for _ in 0..DOUBLINGS_MAX {
        if !search.keeps_up(rate)? {
            failed = Some(rate);
            break;
        }
        kept = rate;
        rate *= 2;
    }
    for _ in 0..args.halvings {
        let Some(too_much) = failed else { break };
        let middle = u64::midpoint(kept, too_much);
        match search.keeps_up(middle)? {
            true => kept = middle,
            false => failed = Some(middle),
        }
    }
    let edge = failed.map_or("and no end was found".to_owned(), |rate| {
        let who = if search.limited { "for the client or the server" } else { "for the server" };
        format!("{rate} were too many {who}")
    });
    writeln!(io::stdout(), "kept up with {kept} values a second; {edge}")?;
    Ok(kept > 0)
}

struct Search<'a> {
    args: &'a SearchArgs,
    /// Every screen writes steps of its own.
    next_step: u64,
    /// Whether the client was at its limit in the screen that failed.
    limited: bool,
}

impl Search<'_> {
    /// Offers `rate` values a second for the time of a screen.
    fn keeps_up(&mut self, rate: u64) -> io::Result<bool> {
        let mut args = self.args.load.clone();
        if args.pace != PaceName::Poisson {
            args.pace = PaceName::Fixed;
        }
        let seconds = args.seconds.unwrap_or(10.0);
        args.rate = rate;
        args.seconds = None;
        args.data.first_step = self.next_step;
        args.data.steps = None;
        args.data.points = (rate as f64 * seconds) as u64;
        let fleet = fleet(&args.data);
        let mut load = plan_load(&args, &fleet)?;
        // Who needs twice the time has failed; no need to see the end of it.
        load.limit = Some(Duration::from_secs_f64(2.0 * seconds + 1.0));
        self.next_step = load.steps.end;
        let (result, _) = measure(&load, &watched(&args.server), Duration::ZERO)?;
        let latency = result.write.intended.quantile_ms(0.999);
        let kept = result.write.errors.is_empty()
            && result.write.points_sent >= args.data.points
            && latency < self.args.bound.as_secs_f64() * 1000.0;
        let limited = result.client.limited.filter(|_| !kept);
        self.limited = limited.is_some();
        let verdict = if kept { "kept up" } else { "fell behind" };
        let limited = limited.map_or(String::new(), |why| format!(" (client-limited: {why})"));
        writeln!(io::stdout(), "{rate:>12} values/s: {verdict}, p99.9 {latency:.2} ms{limited}")?;
        Ok(kept)
    }
}

/// Writes from `--first-step` on while questions are asked about the steps before it.
pub(crate) fn mix(args: &MixArgs) -> io::Result<bool> {
    let fleet = fleet(&args.load.data);
    let load = plan_load(&args.load, &fleet)?;
    let needs = |what: &str| io::Error::other(what.to_owned());
    if load.steps.start == 0 {
        return Err(needs("mix asks about what was loaded before: give --first-step and load it"));
    }
    let language = language(&args.load.server);
    let language = language.ok_or_else(|| needs("this target answers no questions"))?;
    let watched = watched(&args.load.server);
    let oracle = Oracle { first_step: 0, end_step: load.steps.start, ..load.oracle() };
    let kinds = if args.kinds.is_empty() { Kind::DEVICE.to_vec() } else { args.kinds.clone() };
    let stream = |kind: Kind| Stream {
        oracle,
        language,
        address: query_address(&args.load.server),
        kind,
        other: None,
        connections: 1,
        count: u64::MAX,
        limit: Duration::from_secs_f64(args.load.seconds.unwrap_or(10.0)),
        pace: Pace::Fixed { requests_per_second: args.questions / kinds.len() as f64 },
        judged: args.check,
        moving: load.steps.end - load.steps.start,
    };
    let (written, asked) = thread::scope(|scope| {
        let watched = &watched;
        let ask = |kind: &Kind| {
            let stream = stream(*kind);
            scope.spawn(move || stream.run(watched))
        };
        let asking: Vec<_> = kinds.iter().map(ask).collect();
        let written = measure(&load, watched, Duration::ZERO);
        let gone = |_| Err(io::Error::other("BUG: an asking thread panicked"));
        let asked = asking.into_iter().map(|thread| thread.join().unwrap_or_else(gone));
        let asked: io::Result<Vec<KindResult>> = asked.collect();
        (written, asked)
    });
    let ((written, _), asked): ((LoadResult, _), _) = (written?, asked?);
    let mut out = io::stdout();
    out.write_all(written.table().as_bytes())?;
    for asked in &asked {
        writeln!(out, "{}", asked.line())?;
    }
    Ok(written.is_right() && asked.iter().all(KindResult::is_right))
}
