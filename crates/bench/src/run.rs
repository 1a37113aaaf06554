//! Carries out what the command line asks for: builds the pieces, runs them, hands results on.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::args::{
    Args, CalibrateArgs, Command, DataArgs, ExpArgs, GenerateArgs, LoadArgs, PaceName, QueryArgs,
    ReportArgs, RoundupArgs, ServerArgs,
};
use crate::catalogue::{Kind, WrittenKind};
use crate::cursor::Share;
use crate::dialect::Dialect;
use crate::disorder::{Disorder, Shuffle};
use crate::encode::{Encoder, Precision};
use crate::exp;
use crate::feed::Feed;
use crate::fleet::{Fleet, Shape};
use crate::http::{self, Client};
use crate::latency;
use crate::load::{Load, Outcome, fill};
use crate::mix::{self, Reads};
use crate::oracle::Oracle;
use crate::pace::Pace;
use crate::query::{KindResult, Stream};
use crate::report::{Report, SCHEMA_VERSION, compare};
use crate::result::{LoadResult, Observed};
use crate::roundup;
use crate::runs::RUNS_MIN;
use crate::search;
use crate::server::{MachineTime, Watched, thread_cpu_ns};
use crate::sink;
use crate::site::Site;
use crate::suite;
use crate::target::Target;
use crate::verify::{refuse_leftovers, verify};

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
    let asked_back = args.verify.zip(dialect(&args.server));
    if let Some((_, dialect)) = asked_back {
        refuse_leftovers(&load, &address, dialect)?;
    }
    let (mut result, outcome) = measure(&load, &watched, args.server.settle_max)?;
    if let Some((samples, dialect)) = asked_back {
        result.verification =
            Some(verify(&load, &outcome, &address, dialect, samples, args.visible_within));
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

/// Runs a load and waits until the server is quiet.
pub(crate) fn measure(
    load: &Load<'_>,
    watched: &Watched,
    settle_max: Duration,
) -> io::Result<(LoadResult, Outcome)> {
    http::reach(&load.address)?;
    watched.begin_cell();
    let (before, disk_before) = (watched.reading(), watched.disk_use());
    let machine = MachineTime::take();
    let mut outcome = load.run(watched)?;
    let machine_busy = machine.zip(MachineTime::take()).and_then(|(from, to)| to.busy_since(from));
    let loaded = watched.reading();
    let begin = Instant::now();
    for (method, path) in load.target.conclusion() {
        // Older servers lack these requests; the figures are then simply not settled as far.
        let _ = Client::new(&load.address).send(method, path, "", b"");
    }
    let settled = watched.settle(settle_max);
    let settle_s = begin.elapsed().as_secs_f64();
    // What a server that is still at work holds on its disk says nothing about what it will hold.
    let is_quiet = settled.is_some_and(|(_, is_quiet)| is_quiet);
    let disk = if is_quiet { watched.disk_use() } else { None };
    let settled = settled.map(|(reading, _)| reading);
    let observed = Observed { before, loaded, settled, settle_s, disk_before, disk, machine_busy };
    let mut result = LoadResult::new(load, &outcome, &observed);
    result.reads = mix::results(load, &mut outcome);
    Ok((result, outcome))
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
    let dialect = dialect(&args.server).ok_or_else(none)?;
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
            dialect,
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
        short: args.short,
        scale_down: args.scale_down.max(1.0),
        cell_seconds: args.cell_seconds,
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

/// HOST:PORT without what people put around it.
fn address(url: &str) -> String {
    url.trim_start_matches("http://").trim_end_matches('/').to_owned()
}

/// Where the server's costs are read.
pub(crate) fn watched(server: &ServerArgs) -> Watched {
    Watched::new(server.pid, server.data_dir.clone())
}

pub(crate) fn query_address(server: &ServerArgs) -> String {
    address(server.query_url.as_ref().unwrap_or(&server.url))
}

/// The fleet that the command line describes.
pub(crate) fn fleet(data: &DataArgs) -> Fleet {
    let interval = data.interval.map(|interval| interval.as_millis() as i64);
    Fleet::new(Shape {
        profile: data.profile,
        seed: data.seed,
        sources: data.sources.max(1),
        fields: data.fields.unwrap_or(data.profile.fields()),
        start_ms: data.start,
        interval_ms: interval.unwrap_or(data.profile.interval_ms()).max(1),
    })
}

/// The load that the command line describes.
pub(crate) fn plan_load<'a>(args: &LoadArgs, fleet: &'a Fleet) -> io::Result<Load<'a>> {
    let disorder = disorder(&args.data, fleet)?;
    let target = args.server.target;
    let door = target.door();
    let address =
        if target.is_null() { sink::start(None)?.to_string() } else { address(&args.server.url) };
    let fields = fleet.fields_per_source() as f64 / fleet.tables.len().max(1) as f64;
    let points_per_line = if door.format.is_by_row() { fields } else { 1.0 };
    let requests_per_second = args.rate as f64 / (args.batch as f64 * points_per_line);
    let mut batch = args.batch;
    let pace = match args.pace {
        PaceName::Closed => Pace::Closed { think_ms: args.think.as_millis() as u64 },
        PaceName::Fixed => Pace::Fixed { requests_per_second },
        PaceName::Poisson => Pace::Poisson { requests_per_second },
        PaceName::Phased => {
            let rows = fleet.tables.len() as u64;
            batch = if door.format.is_by_row() { rows } else { fleet.fields_per_source() };
            Pace::Phased { interval_ms: fleet.shape.interval_ms as u64 }
        }
    };
    Ok(Load {
        fleet,
        disorder,
        target,
        address,
        precision: args.precision.unwrap_or(precision(target, fleet)),
        connections: args.connections.clamp(1, fleet.shape.sources),
        batch,
        steps: steps(&args.data, fleet),
        block: args.data.rows_per_source,
        pace,
        warm_up: args.warm_up,
        limit: args.seconds.map(Duration::from_secs_f64),
        ack: args.ack.clone(),
        gzip: args.gzip,
        reads: reads(args),
        progress: !args.quiet,
    })
}

/// The language that the command line chose, or the target's own.
pub(crate) fn dialect(server: &ServerArgs) -> Option<Dialect> {
    server.ask.or_else(|| server.target.dialect_at(&query_address(server)))
}

fn reads(args: &LoadArgs) -> Option<Reads> {
    if args.reads_per_write == 0.0 {
        return None;
    }
    let dialect = dialect(&args.server)?;
    let address = query_address(&args.server);
    let kinds =
        if args.read_kinds.is_empty() { Kind::DEVICE.to_vec() } else { args.read_kinds.clone() };
    let per_write = args.reads_per_write;
    let first_step = args.data.first_step;
    Some(Reads { dialect, address, kinds, per_write, first_step })
}

/// The door's unit, unless times would lose digits in it.
pub(crate) fn precision(target: Target, fleet: &Fleet) -> Precision {
    let shape = &fleet.shape;
    let whole = shape.start_ms % 1000 == 0 && shape.interval_ms % 1000 == 0;
    match target.door().precision {
        Precision::S if !whole => Precision::Ms,
        precision => precision,
    }
}

/// The steps that hold the asked number of values.
fn steps(data: &DataArgs, fleet: &Fleet) -> std::ops::Range<u64> {
    let count = data.steps.unwrap_or(data.points.div_ceil(fleet.series().max(1)));
    data.first_step..data.first_step + count.max(1)
}

fn disorder(data: &DataArgs, fleet: &Fleet) -> io::Result<Disorder> {
    let (late, late_steps_max) = data.late.unwrap_or_default();
    let disorder = Disorder {
        shuffle: data.shuffle,
        late,
        late_steps_max,
        delay: data.delay,
        repeated: data.repeat,
        gaps: data.gaps,
        only_gaps: false,
        missing_fields: data.missing_fields,
    };
    if disorder.shuffle == Shuffle::Series && !(disorder.is_tidy() && fleet.separable()) {
        return Err(io::Error::other(
            "--shuffle series goes with tidy rows of independent fields only; drop --late, \
             --repeat, --gaps and --missing-fields, or choose the profile tsbs-cpu",
        ));
    }
    Ok(disorder)
}

fn generate(args: &GenerateArgs) -> io::Result<()> {
    let fleet = fleet(&args.data);
    let disorder = disorder(&args.data, &fleet)?;
    let door = args.target.door();
    let share = Share::of(&fleet, 0, 1, steps(&args.data, &fleet), args.data.rows_per_source);
    let mut feed = Feed::new(&fleet, disorder, share, door.format, args.lines);
    let precision = args.precision.unwrap_or(precision(args.target, &fleet));
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
    for target in [Target::Null, Target::NullPut, Target::FoliotJson] {
        let door = target.door();
        let share = Share::of(&fleet, 0, 1, 0..u64::MAX, 1);
        let mut feed = Feed::new(&fleet, Disorder::default(), share, door.format, 1000);
        let mut encoder = Encoder::new(&fleet, door.format, door.precision);
        let (mut body, mut points, mut bytes) = (Vec::new(), 0, 0);
        let (begin, cpu_ns) = (Instant::now(), thread_cpu_ns());
        while begin.elapsed().as_secs_f64() < args.seconds {
            points += fill(&mut feed, &mut encoder, &mut body);
            bytes += body.len() as u64;
        }
        let cpu_s = ((thread_cpu_ns() - cpu_ns) as f64 / 1e9).max(1e-9);
        let (rate, volume) = (points as f64 / cpu_s / 1e6, bytes as f64 / cpu_s / 1e6);
        let format = door.format;
        writeln!(out, "render {format:?}: {rate:.1} M values, {volume:.0} MB per CPU second")?;
    }
    for target in [Target::Null, Target::NullPut] {
        let load = Load {
            fleet: &fleet,
            disorder: Disorder::default(),
            target,
            address: sink::start(None)?.to_string(),
            precision: target.door().precision,
            connections: 1,
            batch: 1000,
            steps: 0..u64::MAX,
            block: 1,
            pace: Pace::Closed { think_ms: 0 },
            warm_up: Duration::ZERO,
            limit: Some(Duration::from_secs_f64(args.seconds)),
            ack: None,
            gzip: false,
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
