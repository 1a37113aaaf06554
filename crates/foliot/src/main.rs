//! The foliot binary: parse, compose, run, stop in reverse.

mod arguments;
mod certificate;
mod checking;
mod complaints;
mod manuals;
mod moving;
mod offline;
mod output;
mod password;
mod progress;
mod query;
mod remote;
mod terminal;
mod top;
mod users;
mod welcome;

use arguments::Command;
use foliot_disk::{Disk, RealDisk};
use foliot_engine::{Engine, Opening, ReadAgain};
use foliot_server::config::Layers;
use foliot_server::{BuildInfo, Built, Config, Server, config, limits, logging, machine, monitor};
use output::{Output, print};
use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Many small pieces of memory are taken and given back by many threads; mimalloc keeps them denser
/// than the system's allocator does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The documents, which `build/documents.rs` made pages of.
static DOCUMENTS: foliot_server::Documents = include!(concat!(env!("OUT_DIR"), "/documents.rs"));

/// How a command line that cannot be understood ends, as with other tools.
const USAGE: u8 = 2;

/// Why a command did not do what it should, and the code it ends with.
struct Failed {
    sentence: String,
    code: ExitCode,
}

impl Failed {
    /// The command line, or what it says together with files and variables, makes no sense.
    fn usage(sentence: String) -> Self {
        Self { sentence, code: ExitCode::from(USAGE) }
    }
}

impl From<String> for Failed {
    fn from(sentence: String) -> Self {
        Self { sentence, code: ExitCode::FAILURE }
    }
}

fn main() -> ExitCode {
    use_small_pages();
    let ended = arguments::read().map_err(Failed::usage).and_then(run);
    ended.unwrap_or_else(|Failed { sentence, code }| {
        // Nobody is left to tell when standard error is gone.
        let _ = std::io::stderr().write_all(logging::last_words(&sentence).as_bytes());
        code
    })
}

fn run(command: Command) -> Result<ExitCode, Failed> {
    match command {
        Command::Bench(own) => return Ok(bench(own)),
        Command::Query(ask) => return Ok(query::perform(*ask)?),
        Command::Top(watch) => top::perform(&watch),
        Command::Import(what) => return moving::import(&what),
        Command::Export(what) => return Ok(moving::export(&what)?),
        Command::Serve(layers) => return serve(&layers),
        Command::Print(text) => print(&text),
        Command::Version => print(&version()),
        Command::Completions(shell) => {
            print(&manuals::completions(arguments::command_line(), shell))
        }
        Command::Manuals(into) => print(&manuals::write(arguments::command_line(), &into)?),
        Command::ConfigInit(file) => print(&manuals::settings(&file)?),
        Command::ConfigDocs => print(&config::reference()),
        Command::ConfigLimits => print(&limits::reference()),
        Command::ConfigCheck(layers) => {
            let config = layers.config();
            config.check().map_err(Failed::usage)?;
            config.check_files().map_err(Failed::usage)?;
            let file = Path::new(&config.prometheus_config.0);
            if !file.as_os_str().is_empty() {
                print(&monitor::check(file).map_err(Failed::usage)?)?;
            }
            for note in notes(config, machine::memory_bytes()) {
                print(&format!("{note}\n"))?;
            }
            print("all settings are good\n")
        }
        Command::ConfigPrometheus(file) => print(&monitor::check(&file).map_err(Failed::usage)?),
        Command::ConfigFrom(file, layers) => {
            return moving::settings(&file, layers).map(|()| ExitCode::SUCCESS);
        }
        Command::ConfigShow { layers, is_effective } => {
            let line = |(key, value, origin)| format!("{key:32} = {value:24} # {origin}\n");
            let memory = is_effective.then(machine::memory_bytes).flatten();
            print(&layers.show(memory).map(line).collect::<String>())
        }
        Command::Backup { data_dir, into } => {
            return Ok(judge(offline::back_up(&data_dir, &into)?)?);
        }
        Command::Restore { from, data_dir } => {
            return Ok(judge(offline::restore(&from, &data_dir)?)?);
        }
        Command::Check { data_dir, repair } => {
            return Ok(judge(checking::check_store(&data_dir, repair)?)?);
        }
        Command::Retention { layers, keep, accepts_clock } => {
            print(&offline::retention(layers.config(), keep, accepts_clock)?)
        }
        Command::Inspect { path, spelling } => {
            let mut out = BufWriter::new(Output::default());
            match offline::inspect_path(&path, spelling, &mut out)? {
                0 => Ok(()),
                unspelled => Err(format!(
                    "{unspelled} samples cannot be written in this format and were left out"
                )),
            }
        }
        Command::Certificate { names, into } => print(&certificate::write(&names, &into)?),
        Command::User(act, layers) => users::perform(layers.config(), act),
    }
    .map(|()| ExitCode::SUCCESS)
    .map_err(Failed::from)
}

/// Prints what was said of a store, and fails where it is not as it should be: a script that goes
/// on would remove older backups.
fn judge((said, is_sound): (String, bool)) -> Result<ExitCode, String> {
    print(&said)?;
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The benchmark, under the name by which it was called.
fn bench(own: Vec<OsString>) -> ExitCode {
    foliot_bench::main(std::iter::once(OsString::from("foliot bench")).chain(own))
}

/// Opens a store, telling `opening` how far it is.
///
/// # Errors
/// What is in the way, and what to do about damage.
fn open(
    disk: Arc<dyn Disk>,
    dir: &Path,
    settings: foliot_engine::Config,
    opening: &Opening,
) -> Result<Engine, String> {
    let opened = Engine::open_telling(disk, dir, settings, opening);
    opened.map_err(|error| unopened(&error, dir))
}

/// What is in the way of opening a store, and what to do about damage.
pub(crate) fn unopened(error: &foliot_engine::Error, dir: &Path) -> String {
    match error.is_damage() {
        false => offline::spelled(error),
        true if !dir.is_dir() => {
            format!("{error}; name a directory that is there, or can be made, with --data-dir")
        }
        true => format!(
            "{error}; copy the file from a backup of this store, or see what `foliot check --repair \
             --data-dir {}` can mend",
            dir.display()
        ),
    }
}

/// Starts everything in order, waits, and stops in reverse.
fn serve(layers: &Layers) -> Result<ExitCode, Failed> {
    let told = layers.config().clone();
    let config = &told;
    // Before anything can fail: what is said of that is a line of the log, too.
    logging::start(config.log_level, config.log_format);
    config.check().map_err(Failed::usage)?;
    let machine_bytes = machine::memory_bytes();
    for cut in config.cuts(machine_bytes) {
        log::info!("{cut}");
    }
    for note in config.idle().into_iter().chain(beyond_memory(config, machine_bytes)) {
        log::warn!("{note}");
    }
    let config = &config.clone().fit(machine_bytes);
    if config.http_cors_domains.0.iter().any(|domain| domain == "*") {
        log::warn!(
            "http.cors_domains is *: pages of every site may ask and write here; name the origins \
             that should"
        );
    }
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new());
    let settings = layers.told(machine_bytes);
    let built = Built { info: build(), documents: DOCUMENTS };
    let mut server =
        Server::bind(config.clone(), settings, built).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let engine = Arc::new(open(disk.clone(), &config.data_dir, store(config), server.opening())?);
    let ReadAgain { samples, bytes } = engine.read_again();
    if samples > 0 {
        log::info!(
            "{samples} samples that were in no part yet were read from {} of the log, in {:.1} s",
            welcome::size(bytes),
            began.elapsed().as_secs_f64()
        );
    }
    for damage in engine.damages() {
        log::error!("{damage}");
    }
    for note in engine.notes() {
        log::warn!("{note}");
    }
    engine.on_trouble(Box::new(|trouble| match trouble.is_over() {
        true => log::info!("{trouble}"),
        false => log::error!("{trouble}"),
    }));
    let first_token = server.open(engine.clone()).map_err(|error| error.to_string())?;
    log::info!("{}", started(config, &server));
    let free_bytes = disk.free_bytes(&config.data_dir).ok();
    if let Some(free) = free_bytes.filter(|free| *free < config.wal_reserve.0) {
        log::warn!(
            "{} are free in {}, and wal.reserve keeps {} free: writes are refused until there is \
             more room, or wal.reserve is less",
            welcome::size(free),
            config.data_dir.display(),
            welcome::size(config.wal_reserve.0)
        );
    }
    let there = welcome::There { disk_bytes: free_bytes, memory_bytes: machine_bytes };
    welcome::print(config, &server, &there, first_token.as_deref());
    server.wait(told, arguments::reread);
    server.stop();
    engine.close().map_err(|error| format!("the store was not closed in order: {error}"))?;
    log::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// What the log says of a start: which program, which process, which data, and where it is reached.
fn started(config: &Config, server: &Server) -> String {
    let listeners = server.listeners().iter();
    let listeners: Vec<_> =
        listeners.map(|listener| format!("{} ({})", listener.address, listener.speaks)).collect();
    format!(
        "foliot {} (commit {}) has started: process {}, data in {}, listening on {}",
        env!("CARGO_PKG_VERSION"),
        env!("BUILD_REVISION"),
        std::process::id(),
        config.data_dir.display(),
        listeners.join(", ")
    )
}

/// What has no effect, what a server would cut to fit the memory, and that more may be taken than
/// there is.
fn notes(config: &Config, machine_bytes: Option<u64>) -> Vec<String> {
    let mut notes = config.idle();
    notes.extend(config.cuts(machine_bytes));
    notes.extend(beyond_memory(config, machine_bytes));
    notes
}

/// That more memory may be taken than there is.
fn beyond_memory(config: &Config, machine_bytes: Option<u64>) -> Option<String> {
    let (wanted, there) = config.limits_memory_bytes.0.zip(machine_bytes)?;
    (wanted > there).then(|| {
        format!(
            "limits.memory_bytes is {}, and this machine or its container has {}: before the limit \
             is met the system may end this process",
            welcome::size(wanted),
            welcome::size(there)
        )
    })
}

/// Has the kernel give memory in small pages: in huge ones it fills holes again that the allocator
/// gave back, which with a million series made a quarter more, and registering no cheaper. And
/// the first kilobytes of each size that a thread takes cost it two megabytes to clear, which was
/// nine tenths of what a benchmark of a thousand connections did.
#[cfg(target_os = "linux")]
fn use_small_pages() {
    // A kernel that cannot be asked gives what it likes: all works as well, and is only larger.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

#[cfg(not(target_os = "linux"))]
fn use_small_pages() {}

/// The store's share of the settings.
pub(crate) fn store(config: &Config) -> foliot_engine::Config {
    foliot_engine::Config {
        wal_sync_interval: config.wal_sync_interval,
        wal_replay_target: config.wal_replay_target,
        wal_reserve_bytes: config.wal_reserve.0,
        wal_spare_bytes: config.wal_spare.0,
        head_bytes_max: config.head_bytes.0,
        cache_bytes_max: config.cache_bytes.0,
        merge_parts: config.merge_parts as usize,
        merge_bytes_max: config.merge_bytes.0,
        merge_quiet: config.merge_quiet,
        merge_share_percent: config.merge_share as u32,
        index_active_window: config.index_active_window,
        epoch_dead_min: config.index_quiet_series,
        series_max: config.limits_series,
        labels_max: config.limits_labels as usize,
        registry_bytes_max: config.limits_registry_bytes.0.unwrap_or(u64::MAX),
        new_series_per_second: config.limits_new_series_per_second,
        retention: config.retention_time.0,
        retention_rules: config.retention_rules.0.clone(),
        retention_bytes_max: config.retention_size.0.unwrap_or(u64::MAX),
        aside: foliot_server::aside_of_store,
        ..foliot_engine::Config::default()
    }
}

/// The version, and what a report of a mistake should name beside it.
fn version() -> String {
    format!(
        "foliot {}\ncommit    {}\ntarget    {}\nfeatures  bench, mqtt, tls\n",
        env!("CARGO_PKG_VERSION"),
        env!("BUILD_REVISION"),
        env!("BUILD_TARGET")
    )
}

/// What this program says about itself. What was not told when it was built stays unknown.
fn build() -> BuildInfo {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    BuildInfo {
        package: "foliot".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: env!("BUILD_REVISION").to_owned(),
        status: "MINT".to_owned(),
        built_s: built_s().unwrap_or(0),
        user: "foliot".to_owned(),
        host: host.to_owned(),
        repository: env!("CARGO_PKG_NAME").to_owned(),
        branch: "main".to_owned(),
    }
}

/// When this program's file was written, which is when it was built or installed.
fn built_s() -> Option<i64> {
    let modified = std::fs::metadata(std::env::current_exe().ok()?).ok()?.modified().ok()?;
    Some(modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs() as i64)
}
