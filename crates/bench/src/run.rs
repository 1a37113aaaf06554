//! Carries out what the command line asks for: builds the pieces, runs them, hands results on.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::adapter;
use crate::args::{
    Args, CalibrateArgs, Command, ExpArgs, GenerateArgs, LoadArgs, QueryArgs, ReportArgs,
    RoundupArgs,
};
use crate::catalogue::{Kind, WrittenKind};
use crate::cursor::Share;
use crate::disorder::Disorder;
use crate::encode::{Encoder, Format, Precision};
use crate::exp;
use crate::feed::{Feed, fill};
use crate::fleet::{Fleet, Shape};
use crate::latency;
use crate::load::Load;
use crate::measure::measure;
use crate::oracle::Oracle;
use crate::pace::Pace;
use crate::query::{KindResult, Stream};
use crate::report::{Report, SCHEMA_VERSION, compare};
use crate::roundup;
use crate::runs::RUNS_MIN;
use crate::search;
use crate::sender::Wish;
use crate::server::{Watched, thread_cpu_ns};
use crate::sink;
use crate::site::Site;
use crate::suite;
use crate::verify::{leftovers, refuse_leftovers, verify};
use crate::wanted::{disorder, fleet, language, plan_load, query_address, steps, watched};

/// Carries out a command; false when something was wrong with the server's answers.
pub(crate) fn run(args: Args) -> io::Result<bool> {
    match args.command {
        Command::Load(args) => load(&args),
        Command::Query(args) => query(&args),
        Command::Mix(args) => search::mix(&args),
        Command::Search(args) => search::search(&args),
        Command::Exp(args) => experiment(&args),
        Command::Suite(args) => suite::run(&args.file, &args.out),
        Command::Report(args) => report(&args),
        Command::Roundup(args) => roundup(&args),
        Command::Generate(args) => generate(&args).map(|()| true),
        Command::Calibrate(args) => calibrate(&args).map(|()| true),
    }
}

fn load(args: &LoadArgs) -> io::Result<bool> {
    let fleet = fleet(&args.data);
    let load = plan_load(args, &fleet)?;
    let watched = watched(&args.server);
    let address = query_address(&args.server);
    let asked_back = args.verify.zip(language(&args.server));
    if let Some((_, language)) = asked_back {
        refuse_leftovers(&address, leftovers(&load, &address, language)?)?;
    }
    let (mut result, outcome) = measure(&load, &watched, args.server.settle_max)?;
    if let Some((samples, language)) = asked_back {
        result.verification =
            Some(verify(&load, &outcome, &address, language, samples, args.visible_within));
    }
    if let Some(path) = &args.json {
        write_json(path, &result)?;
    }
    if let Some(path) = &args.hlog {
        fs::write(path, latency::log(&result.latencies("load"))?)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        io::stdout().write_all(result.table().as_bytes())?;
    }
    Ok(result.is_right())
}

fn query(args: &QueryArgs) -> io::Result<bool> {
    let fleet = fleet(&args.data);
    let steps = steps(&args.data, &fleet);
    let oracle = Oracle {
        fleet: &fleet,
        disorder: disorder(&args.data, &fleet)?,
        first_source: 0,
        end_source: fleet.shape.sources,
        first_step: steps.start,
        end_step: steps.end,
    };
    let none = || io::Error::other("this target answers no questions");
    let language = language(&args.server).ok_or_else(none)?;
    let watched = watched(&args.server);
    let mut kinds = match args.kinds.is_empty() && args.written.is_none() {
        true => Kind::about(args.data.profile),
        false => args.kinds.clone(),
    };
    if let Some(path) = &args.written {
        kinds.extend(WrittenKind::read(path, &fleet)?.into_iter().map(Kind::Written));
    }
    let pace = match args.rate {
        Some(requests_per_second) => Pace::Fixed { requests_per_second },
        None => Pace::Closed { think_ms: args.think.as_millis() as u64 },
    };
    let mut results = Vec::new();
    for kind in &kinds {
        let stream = Stream {
            oracle,
            language,
            address: query_address(&args.server),
            kind: *kind,
            connections: args.connections.max(1),
            count: args.count,
            limit: Duration::from_secs_f64(args.seconds),
            pace,
            other: None,
            judged: args.check,
            moving: 0,
        };
        let result = stream.run(&watched)?;
        if args.json.as_deref() != Some(Path::new("-")) {
            writeln!(io::stdout(), "{}", result.line())?;
        }
        results.push(result);
    }
    if let Some(path) = &args.json {
        write_json(path, &results)?;
    }
    Ok(results.iter().all(KindResult::is_right))
}

fn experiment(args: &ExpArgs) -> io::Result<bool> {
    let site = |text: &String| Site::parse(text).map_err(io::Error::other);
    let mut first = site(&args.target)?;
    first.watched.pid = args.pid.or(first.watched.pid);
    first.watched.data_dir = args.data_dir.clone().or(first.watched.data_dir);
    let mut sites = vec![first];
    for peer in &args.peers {
        sites.push(site(peer)?);
    }
    exp::run(exp::Plan {
        name: args.name,
        sites,
        form: exp::Form::of(args.short, args.full),
        scale_down: args.scale_down.max(1.0),
        cell_seconds: args.cell_seconds,
        until_enough: args.until_enough,
        series_max: args.series_max,
        runs: args.runs.unwrap_or(if args.short { 1 } else { RUNS_MIN as u64 }),
        seed: args.seed,
        notes: args.note.clone(),
        out: args.out.clone(),
    })
}

fn report(args: &ReportArgs) -> io::Result<bool> {
    let reports = read_reports(&args.files)?;
    let compared = match reports.as_slice() {
        [(_, one)] => one.clone(),
        several => compare(several),
    };
    show(&compared, args.out.as_deref())
}

fn roundup(args: &RoundupArgs) -> io::Result<bool> {
    let reports = read_reports(&args.files)?;
    show(&roundup::roundup(&reports, args.documents.as_deref())?, args.out.as_deref())
}

fn read_reports(files: &[PathBuf]) -> io::Result<Vec<(String, Report)>> {
    let mut reports = Vec::new();
    for path in files {
        let at = |error: String| io::Error::other(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
        let report: Report =
            serde_json::from_str(&text).map_err(|error| at(format!("no report.json: {error}")))?;
        if report.schema_version != SCHEMA_VERSION {
            return Err(at(format!("schema {} is not known here", report.schema_version)));
        }
        reports.push((path.display().to_string(), report));
    }
    Ok(reports)
}

/// Prints a report and keeps it in a directory, if one was named; false when something was wrong
/// in what it rests on.
fn show(report: &Report, dir: Option<&Path>) -> io::Result<bool> {
    io::stdout().write_all(report.markdown().as_bytes())?;
    if let Some(dir) = dir {
        report.write(dir)?;
    }
    Ok(report.right)
}

fn generate(args: &GenerateArgs) -> io::Result<()> {
    let fleet = fleet(&args.data);
    let disorder = disorder(&args.data, &fleet)?;
    let door = args.target.door;
    let share = Share::of(&fleet, 0, 1, steps(&args.data, &fleet), args.data.rows_per_source);
    let mut feed = Feed::new(&fleet, disorder, share, door.format, args.lines);
    let precision = args.precision.unwrap_or(args.target.precision(&fleet));
    let mut encoder = Encoder::new(&fleet, door.format, precision);
    let mut body = Vec::new();
    fill(&mut feed, &mut encoder, &mut body);
    io::stdout().write_all(&body)
}

fn calibrate(args: &CalibrateArgs) -> io::Result<()> {
    let shape = Shape {
        profile: args.profile,
        seed: 123,
        sources: 4000,
        fields: args.profile.fields(),
        start_ms: 1_767_225_600_000,
        interval_ms: args.profile.interval_ms(),
    };
    let fleet = Fleet::new(shape);
    let mut out = io::stdout();
    let rendered = [Format::Lines, Format::Puts, Format::Json];
    for (format, precision) in
        rendered.into_iter().zip([Precision::Ns, Precision::S, Precision::Ms])
    {
        let share = Share::of(&fleet, 0, 1, 0..u64::MAX, 1);
        let mut feed = Feed::new(&fleet, Disorder::default(), share, format, 1000);
        let mut encoder = Encoder::new(&fleet, format, precision);
        let (mut body, mut points, mut bytes) = (Vec::new(), 0, 0);
        let (begin, cpu_ns) = (Instant::now(), thread_cpu_ns());
        while begin.elapsed().as_secs_f64() < args.seconds {
            points += fill(&mut feed, &mut encoder, &mut body);
            bytes += body.len() as u64;
        }
        let cpu_s = ((thread_cpu_ns() - cpu_ns) as f64 / 1e9).max(1e-9);
        let (rate, volume) = (points as f64 / cpu_s / 1e6, bytes as f64 / cpu_s / 1e6);
        writeln!(out, "render {format:?}: {rate:.1} M values, {volume:.0} MB per CPU second")?;
    }
    for target in adapter::sinks() {
        let load = Load {
            fleet: &fleet,
            disorder: Disorder::default(),
            target,
            address: sink::start(None)?.to_string(),
            precision: target.door.precision,
            connections: 1,
            batch: 1000,
            steps: 0..u64::MAX,
            block: 1,
            pace: Pace::Closed { think_ms: 0 },
            warm_up: Duration::ZERO,
            limit: Some(Duration::from_secs_f64(args.seconds)),
            until_enough: false,
            wish: Wish::default(),
            reads: None,
            progress: false,
        };
        let (result, _) = measure(&load, &Watched::default(), Duration::ZERO)?;
        let cpu = 1e3 / result.client.ns_per_point;
        let wall = result.write.points_per_s / 1e6;
        writeln!(
            out,
            "send to {target:?}: {cpu:.1} M values per client CPU second, {wall:.1} M/s wall"
        )?;
    }
    Ok(())
}

fn write_json(path: &Path, result: &impl serde::Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(result)?;
    text.push('\n');
    if path == Path::new("-") {
        return io::stdout().write_all(text.as_bytes());
    }
    fs::write(path, text)
}
