//! `foliot import` and `foliot export`: opens what is needed, tells how far it is, and sums up.

mod arguments;

pub(crate) use arguments::{Move, export_command, import_command, read};

use crate::Failed;
use crate::offline::need_store;
use crate::output::{Output, note, print};
use crate::progress::{self, REPORT_INTERVAL, Rest, pace, told};
use crate::remote::{client_at, visible};
use foliot_disk::{Disk, RealDisk, Untouched};
use foliot_engine::{Engine, is_store};
use foliot_migrate::influx::files::{self, Files};
use foliot_migrate::influx::version2;
use foliot_migrate::prometheus::Directory;
use foliot_migrate::{
    Client, Error, Exported, Fault, Import, Pace, Place, Progress, Source, Target, Wanted, csv,
    influx, opentsdb, parquet, prometheus, settings, ticktock,
};
use foliot_model::{Name, Selector, Test, TimeRange};
use foliot_schema::Databases;
use foliot_server::config::Layers;
use foliot_server::{Config, machine};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Faults that are told; a dump that is wrong everywhere is not told line by line.
const FAULTS_TOLD: usize = 20;

/// Where lines come from.
enum Origin {
    File(Source<'static>),
    /// The databases of a running InfluxDB 1, and what it is called.
    Databases(influx::Databases, String),
    /// The buckets of a running InfluxDB 2, and what it is called.
    Buckets(version2::Buckets, String),
    /// The files of an InfluxDB, and what their directory is called.
    Files(Files, String),
    /// Prometheus' data, and what its directory is called.
    Directory(Directory, String),
    /// A Parquet file, and what it is called.
    Parquet(parquet::File, String),
    /// A file of commas, and what it is called.
    Csv(Box<csv::File>, String),
}

impl Origin {
    fn open(what: &Move) -> Result<Self, Error> {
        match &what.from {
            Some(url) => {
                let client = Client::new(url)?.named_by("--from");
                let client = match &what.token {
                    Some(token) => client.with_secret("Token", token)?,
                    None => client,
                };
                // It is asked before a store is made for what it has.
                let database = what.database.as_deref();
                if what.format == "influx2" {
                    let organisation = what.organisation.as_deref();
                    let buckets = version2::Buckets::ask(client, organisation, database)?;
                    return Ok(Self::Buckets(buckets, url.clone()));
                }
                let policy = what.policy.as_deref();
                let databases = influx::Databases::ask(client, database, policy)?;
                Ok(Self::Databases(databases, url.clone()))
            }
            None if what.format.starts_with("influx") && what.file.is_dir() => {
                let name = what.file.display().to_string();
                Ok(Self::Files(Files::open(&what.file)?, name))
            }
            None if what.format.starts_with("influx") && files::is_one(&what.file) => {
                let name = what.file.display();
                Err(Error::Format(format!(
                    "{name} is one of the files of InfluxDB's engine, which say only together \
                     what is stored: name the directory that has data/ and wal/, or data/DATABASE \
                     in it"
                )))
            }
            None if what.format == "prometheus" => {
                let name = what.file.display().to_string();
                Ok(Self::Directory(Directory::open(&what.file)?, name))
            }
            None if what.format == "parquet" => {
                let config = what.layers.config();
                let bounds = parquet::Bounds {
                    footer_bytes: config.limits_parquet_footer_bytes.0,
                    pages_bytes: config.limits_parquet_pages_bytes.0,
                };
                let file = parquet::File::open(&what.file, &what.columns, bounds)?;
                Ok(Self::Parquet(file, what.file.display().to_string()))
            }
            None if what.format == "csv" => {
                let row_bytes_max = what.layers.config().limits_csv_row_bytes.0;
                let file = csv::File::open(&what.file, &what.columns, what.spelled, row_bytes_max)?;
                if let Some(taken) = file.note() {
                    note(&taken);
                }
                let name = file.name().to_owned();
                Ok(Self::Csv(Box::new(file), name))
            }
            None => Source::open(&what.file).map(Self::File),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::File(source) => source.name(),
            Self::Files(_, name)
            | Self::Directory(_, name)
            | Self::Parquet(_, name)
            | Self::Csv(_, name) => name,
            // What stands before an @ is a password.
            Self::Databases(_, url) | Self::Buckets(_, url) => {
                url.rsplit_once('@').map_or(url, |(_, host)| host)
            }
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        match error {
            Error::Told(_) | Error::BadUrl { .. } => Self::usage(error.to_string()),
            error => Self::from(error.to_string()),
        }
    }
}

/// Brings a dump in. The code says failure when a line was refused.
pub(crate) fn import(what: &Move) -> Result<ExitCode, Failed> {
    let mut origin = Origin::open(what)?;
    let began = Instant::now();
    let (progress, faults) = match &what.url {
        _ if what.is_dry => bring(what, &mut origin, Target::Nowhere)?,
        Some(url) => {
            let client = client_at(url).map_err(Failed::usage)?;
            bring(what, &mut origin, Target::Server(&client))?
        }
        None => {
            let disk = Arc::new(RealDisk::new());
            let data_dir = &what.layers.config().data_dir;
            let is_new = !is_store(&*disk, data_dir);
            let settings = crate::store(&fitted(what));
            let engine = open(what, disk, settings, "go through the running server with --url")?;
            if is_new {
                // Who meant another directory, or a server, sees it here.
                note(&format!(
                    "there was no store in {}: a new one was made; --url goes through a running \
                     server instead",
                    data_dir.display()
                ));
            }
            let outcome = bring(what, &mut origin, Target::Store(&engine));
            let closed = engine.close();
            let outcome = outcome?;
            closed.map_err(|error| format!("the store was not closed in order: {error}"))?;
            outcome
        }
    };
    if io::stderr().is_terminal() {
        progress::replace("");
    }
    match matches!(origin, Origin::File(_)) && progress.bytes_read == 0 {
        true => tell(&format!("{} is empty: there are no lines in it\n", origin.name())),
        false => tell(&summary(what, origin.name(), &progress, &faults, began.elapsed())),
    }
    // A file of which nothing was understood is another one than was meant.
    let is_strange = progress.stored == 0 && progress.passed_over > 0;
    Ok(if progress.refused > 0 || is_strange { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn bring(
    what: &Move,
    origin: &mut Origin,
    target: Target<'_>,
) -> Result<(Progress, Vec<Fault>), Error> {
    let began = Instant::now();
    let mut next = began + REPORT_INTERVAL;
    let is_watched = io::stderr().is_terminal();
    let mut report = |progress: &Progress| {
        if is_watched && Instant::now() >= next {
            next = Instant::now() + REPORT_INTERVAL;
            let pace = pace(progress.bytes_read, progress.bytes_total, began.elapsed());
            progress::replace(&format!("{}, {pace}", how_far(what, progress)));
        }
    };
    let mut place = Place::default();
    if let Some(database) = &what.database {
        place.database.clone_from(database);
    }
    place.policy.clone_from(&what.policy);
    let mut import = Import::new(target, place, &mut report);
    match (origin, &*what.format) {
        (Origin::Databases(databases, _), _) => databases.import(&mut import)?,
        (Origin::Buckets(buckets, _), _) => buckets.import(&mut import)?,
        (Origin::Files(found, _), _) => {
            let (database, policy) = (what.database.as_deref(), what.policy.as_deref());
            files::import(found, database, policy, &mut import)?;
        }
        (Origin::File(source), "influx2") => version2::import(source, &mut import)?,
        (Origin::Directory(directory, _), _) => prometheus::import(directory, &mut import)?,
        (Origin::Parquet(file, _), _) => parquet::import(file, &mut import)?,
        (Origin::Csv(file, _), _) => csv::import(file, &mut import)?,
        (Origin::File(source), "ticktock") => ticktock::import(source, &mut import)?,
        (Origin::File(source), "influx") => {
            let (database, policy) = (what.database.as_deref(), what.policy.as_deref());
            influx::import(source, database, policy, &mut import)?;
        }
        (Origin::File(source), _) => opentsdb::import(source, &mut import)?,
    }
    import.finish()
}

fn how_far(what: &Move, progress: &Progress) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let total = progress.bytes_total;
    let of = total.map_or_else(String::new, |total| format!(" of {:.1}", mib(total)));
    let Progress { stored, refused, exemplars, passed_over, .. } = progress;
    let lines = match &*what.format {
        "prometheus" => "samples",
        "parquet" | "csv" => "rows",
        _ => "lines",
    };
    let done = if what.is_dry { "found" } else { "stored" };
    let mut text = format!("{:.1} MiB{of} read, {stored} {lines} {done}", mib(progress.bytes_read));
    // Writing to memory cannot fail.
    let _ = write!(text, ", {refused} refused");
    if *passed_over > 0 {
        let _ = write!(text, ", {passed_over} passed over since they are no puts");
    }
    if *exemplars > 0 {
        let _ = write!(text, ", {exemplars} exemplars left out");
    }
    text
}

fn summary(
    what: &Move,
    name: &str,
    progress: &Progress,
    faults: &[Fault],
    took: Duration,
) -> String {
    let mut text = String::new();
    // Writing to memory cannot fail.
    for fault in faults.iter().take(FAULTS_TOLD) {
        let _ = match fault.line {
            0 => writeln!(text, "{name}: {}", visible(&fault.reason)),
            line => writeln!(text, "{name}:{line}: {}", visible(&fault.reason)),
        };
    }
    let seconds = took.as_secs_f64();
    let _ = write!(text, "{} in {seconds:.1} s", how_far(what, progress));
    if what.format == "prometheus" {
        let rate = progress.stored as f64 / seconds.max(0.001);
        let _ = write!(text, ", {rate:.0} samples/s");
    }
    text + "\n"
}

/// Writes samples out.
pub(crate) fn export(what: &Move) -> Result<ExitCode, String> {
    let data_dir = &what.layers.config().data_dir;
    need_store(&RealDisk::new(), data_dir)?;
    // By its series: a file has pieces of many, and is read long before it is written.
    let pace = Pace::default();
    let series = || pace.series();
    let work = |disk| export_from(what, disk, &pace);
    let (said, code) = told(Rest::Series(&series), work)?;
    tell(&said);
    Ok(code)
}

/// What is to be said of databases that were not asked for.
fn others(engine: &Engine, written: &str) -> String {
    let names = Databases::new(engine).list().into_iter().map(|(name, _)| name);
    let names: Vec<String> = names.filter(|name| name != written).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!(
            "only the database {written} was written; --db names another: {}\n",
            names.join(", ")
        ),
    }
}

/// Writes samples of a disk out, and returns what is to be said of that.
fn export_from(
    what: &Move,
    disk: Arc<dyn Disk>,
    pace: &Pace,
) -> Result<(String, ExitCode), String> {
    let instead = "export a backup: `foliot backup DIR` makes one while a server runs";
    // Whose settings they are does not matter: a backup is exported anywhere, and stays a backup.
    let reads_only = foliot_engine::Config {
        keeps_retention: true,
        background: false,
        wal_reserve_bytes: 0,
        ..crate::store(&fitted(what))
    };
    let engine = open(what, Arc::new(Untouched::new(disk)), reads_only, instead)?;
    let database = what.database.as_deref().unwrap_or("default");
    let policy = what.policy.as_deref().unwrap_or("autogen");
    let namespace = engine
        .namespace(database, policy)
        .ok_or_else(|| format!("there is no database '{database}' with the policy '{policy}'"))?;
    let selector = Selector {
        namespace,
        names: vec![Name { measurement: Test::Any, field: Test::Any }],
        matchers: Vec::new(),
        exact_labels: None,
        only: None,
    };
    let others = match what.database {
        None => others(&engine, database),
        Some(_) => String::new(),
    };
    let range = TimeRange::new(what.start_ns, what.end_ns);
    if what.format == "parquet" && what.file == Path::new("-") && io::stdout().is_terminal() {
        return Err("a Parquet file is no text for a terminal: give the name of a file".to_owned());
    }
    let mut out = output(&what.file)?;
    let (out, snapshot) = (&mut *out, engine.snapshot());
    let labels_max = what.layers.config().limits_parquet_labels as usize;
    let wanted = Wanted { snapshot: &snapshot, selector: &selector, range, pace };
    let exported = match &*what.format {
        "parquet" => parquet::export_to(out, &wanted, labels_max),
        "csv" => csv::export_to(out, &wanted, labels_max),
        "ticktock" => ticktock::export_to(out, &wanted),
        "line" => influx::export_to(out, &wanted, (database, policy)),
        _ => opentsdb::export_to(out, &wanted),
    };
    let exported = exported.map_err(sentence)?;
    let absent = engine.absent_parts(namespace, range);
    engine.close().map_err(|error| format!("the store was not closed in order: {error}"))?;
    let figures = format!("{}{}", figures(&exported), others);
    if absent.is_empty() {
        return Ok((figures, ExitCode::SUCCESS));
    }
    let lines: String = absent.iter().map(|part| format!("  {part}\n")).collect();
    let said = format!(
        "{figures}not all that should be there was written, since parts are missing or \
         damaged:\n{lines}`foliot check` says what is wrong with them, `foliot check --repair` \
         saves what can be read\n"
    );
    Ok((said, ExitCode::FAILURE))
}

/// Prints what becomes of another server's settings, and says whether they are good.
pub(crate) fn settings(file: &Path, mut layers: Layers) -> Result<(), Failed> {
    let name = file.display();
    let wrong = |why| Failed::usage(format!("{name}: {why}"));
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failed::usage(format!("cannot read the settings in {name}: {error}")))?;
    let settings = settings::read(&text).map_err(wrong)?;
    for (key, value, _) in &settings.pairs {
        layers.add_pair(&format!("{key}={value}")).map_err(wrong)?;
    }
    print(&settings.to_toml())?;
    layers.config().check().map_err(Failed::usage)
}

fn output(path: &Path) -> Result<Box<dyn Write + Send>, String> {
    if path == Path::new("-") {
        return Ok(Box::new(BufWriter::new(Output::default())));
    }
    let file = File::create_new(path).map_err(|error| {
        let (file, next) = (
            path.display(),
            match error.kind() {
                ErrorKind::AlreadyExists => "name another file, or remove it first",
                ErrorKind::NotFound => "make its directory first",
                _ => "name another file",
            },
        );
        format!("cannot create {file}: {error}; {next}")
    })?;
    Ok(Box::new(BufWriter::new(file)))
}

fn figures(exported: &Exported) -> String {
    let Exported { series, samples, unspelled } = exported;
    let mut text = format!("{samples} samples of {series} series written");
    for (count, what) in [
        (unspelled.series, "series left out, whose names the format cannot hold"),
        (unspelled.samples, "samples left out, whose values the format cannot hold"),
        (unspelled.times_cut, "times cut to milliseconds"),
    ] {
        if count > 0 {
            let _ = write!(text, "; {count} {what}");
        }
    }
    text + "\n"
}

/// The settings, as this machine's memory has room for them.
fn fitted(what: &Move) -> Config {
    what.layers.config().clone().fit(machine::memory_bytes())
}

/// Opens the store that the settings name; `instead` says what to do while a server has it open.
fn open(
    what: &Move,
    disk: Arc<dyn Disk>,
    settings: foliot_engine::Config,
    instead: &str,
) -> Result<Engine, String> {
    let data_dir = &what.layers.config().data_dir;
    Engine::open(disk, data_dir, settings).map_err(|error| match error {
        foliot_engine::Error::Locked(_) => format!("{error}, or {instead}"),
        error => crate::unopened(&error, data_dir),
    })
}

fn sentence(error: Error) -> String {
    error.to_string()
}

fn tell(text: &str) {
    // Nobody is left to tell when standard error is gone.
    let _ = io::stderr().write_all(text.as_bytes());
}
