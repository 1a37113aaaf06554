//! The command line. Flags of `serve` are made from the list of settings, so that the two cannot
//! differ.

use crate::checking::Repair;
use crate::complaints;
use crate::moving::{self, Move};
use crate::offline::Spelling;
use crate::query::{self, Ask};
use crate::top::{self, Watch};
use crate::users::{self, Act};
use clap::{Arg, ArgAction, ArgMatches, Command as Clap};
use clap_complete::Shell;
use foliot_engine::MayLose;
use foliot_migrate::settings;
use foliot_server::Config;
use foliot_server::config::{KEYS, Keep, Key, Layers, Setting, together};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The key of the setting that says where the store is.
const DATA_DIR: &str = "data_dir";
/// The one positional argument of commands that have one.
const PATH: &str = "path";

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Command {
    /// Print a text, such as help.
    Print(String),
    /// Print the version.
    Version,
    /// Print what a shell needs to complete commands.
    Completions(clap_complete::Shell),
    /// Write the manual pages into a directory.
    Manuals(PathBuf),
    /// Run the server.
    Serve(Layers),
    /// Print all settings with their origins; as the server would cut them to its machine, if so
    /// wished.
    ConfigShow { layers: Layers, is_effective: bool },
    /// Say whether the settings are good.
    ConfigCheck(Layers),
    /// Say whether a configuration of Prometheus is good.
    ConfigPrometheus(PathBuf),
    /// Say what becomes of another server's settings.
    ConfigFrom(PathBuf, Layers),
    /// Write a file of settings to begin with.
    ConfigInit(PathBuf),
    /// Print the reference of all settings.
    ConfigDocs,
    /// Print the table of all limits.
    ConfigLimits,
    /// Copy a store to a new directory under another one.
    Backup { data_dir: PathBuf, into: PathBuf },
    /// Copy a backup to a data directory.
    Restore { from: PathBuf, data_dir: PathBuf },
    /// Read everything in a store and say what is wrong, after mending it if so wished.
    Check { data_dir: PathBuf, repair: Repair },
    /// Say what is kept for how long, and what would expire if it were `keep`.
    Retention { layers: Layers, keep: Option<Keep>, accepts_clock: bool },
    /// Show a file or a store in words.
    Inspect { path: PathBuf, spelling: Spelling },
    /// Make a certificate that signs itself.
    Certificate { names: Vec<String>, into: PathBuf },
    /// Make, list and remove users and tokens.
    User(Act, Layers),
    /// Ask a running server.
    Query(Box<Ask>),
    /// Show what a running server does.
    Top(Watch),
    /// Bring a foreign dump in.
    Import(Box<Move>),
    /// Write samples out.
    Export(Box<Move>),
    /// Run the benchmark, whose own arguments these are.
    Bench(Vec<OsString>),
}

/// Reads the command line, and with it the environment and the file of settings.
///
/// # Errors
/// One sentence.
pub(crate) fn read() -> Result<Command, String> {
    let matches = match command_line().try_get_matches() {
        Ok(matches) => matches,
        Err(error) if !error.use_stderr() => return Ok(Command::Print(error.render().to_string())),
        Err(error) => return Err(complaints::sentence(&error)),
    };
    match matches.subcommand() {
        Some(("version", _)) => Ok(Command::Version),
        Some(("completions", matches)) => Ok(Command::Completions(shell(matches))),
        Some(("manuals", matches)) => Ok(Command::Manuals(path(matches))),
        Some(("bench", matches)) => {
            let own = matches.get_many::<OsString>("arguments").unwrap_or_default();
            Ok(Command::Bench(own.cloned().collect()))
        }
        Some(("query", matches)) => Ok(Command::Query(Box::new(query::read(matches)?))),
        Some(("top", matches)) => top::read(matches).map(Command::Top),
        Some(("import", matches)) => match matches.subcommand() {
            Some((format, matches)) => {
                Ok(Command::Import(Box::new(moving::read(format, matches)?)))
            }
            None => {
                Err("say which format to import, for example `foliot import opentsdb`".to_owned())
            }
        },
        Some(("export", matches)) => {
            let format = text(matches, "format").unwrap_or_default();
            Ok(Command::Export(Box::new(moving::read(&format, matches)?)))
        }
        Some(("cert", matches)) => read_certificate(matches),
        Some(("user", matches)) => {
            let act = users::read(matches)?;
            let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
            Ok(Command::User(act, layers(matches)?))
        }
        Some(("serve", matches)) => layers(matches).map(Command::Serve),
        Some(("backup", matches)) => {
            Ok(Command::Backup { data_dir: data_dir(matches)?, into: path(matches) })
        }
        Some(("restore", matches)) => {
            Ok(Command::Restore { from: path(matches), data_dir: data_dir(matches)? })
        }
        Some(("check", matches)) => {
            let may_lose = MayLose {
                names: matches.get_flag("lose-names"),
                parts: matches.get_flag("lose-parts"),
                facts: matches.get_flag("lose-facts"),
            };
            let repair = match (matches.get_flag("repair"), matches.get_flag("yes")) {
                (false, _) => Repair::No,
                (true, false) => Repair::Try(may_lose),
                (true, true) => Repair::Do(may_lose),
            };
            Ok(Command::Check { data_dir: data_dir(matches)?, repair })
        }
        Some(("retention", matches)) => Ok(Command::Retention {
            layers: layers(matches)?,
            keep: matches.get_one("keep").copied(),
            accepts_clock: matches.get_flag("accept-clock"),
        }),
        Some(("inspect", matches)) => {
            Ok(Command::Inspect { path: path(matches), spelling: spelling(matches) })
        }
        Some(("config", matches)) => config(matches),
        _ => Err("say what to do, for example `foliot serve`".to_owned()),
    }
}

/// What is to be done with settings.
fn config(matches: &ArgMatches) -> Result<Command, String> {
    match matches.subcommand() {
        Some(("show", matches)) => {
            let is_effective = matches.get_flag("effective");
            Ok(Command::ConfigShow { layers: layers(matches)?, is_effective })
        }
        Some(("check", matches)) => {
            let layers = layers(matches)?;
            let file = |name: &str| matches.get_one::<String>(name).map(PathBuf::from);
            Ok(match (file("from"), file("prometheus")) {
                (Some(file), _) => Command::ConfigFrom(file, layers),
                (None, Some(file)) => Command::ConfigPrometheus(file),
                (None, None) => Command::ConfigCheck(layers),
            })
        }
        Some(("init", matches)) => Ok(Command::ConfigInit(path(matches))),
        Some(("limits", _)) => Ok(Command::ConfigLimits),
        _ => Ok(Command::ConfigDocs),
    }
}

/// Reads the settings of a server that runs once more, as they are by now.
///
/// # Errors
/// One sentence.
pub(crate) fn reread() -> Result<Config, String> {
    match read()? {
        Command::Serve(layers) => Ok(layers.config().clone()),
        _ => Err("this process is no server".to_owned()),
    }
}

/// All commands and their flags.
pub(crate) fn command_line() -> Clap {
    let config = Clap::new("config")
        .about("Shows and checks settings")
        .subcommand_required(true)
        .subcommand(with_settings(
            Clap::new("show").about("Prints every setting with where its value comes from").arg(
                Arg::new("effective")
                    .long("effective")
                    .action(ArgAction::SetTrue)
                    .help("Prints what the server would use here: memory is cut to the machine's"),
            ),
        ))
        .subcommand(with_settings(
            Clap::new("check")
                .about("Says whether the settings are good, and starts nothing")
                .arg(
                    Arg::new("from")
                        .long("from")
                        .value_name("FILE")
                        .conflicts_with("config")
                        .help("Says what becomes of an opentsdb.conf or TickTock's tt.conf"),
                )
                .arg(
                    Arg::new("prometheus")
                        .long("prometheus")
                        .value_name("FILE")
                        .conflicts_with("from")
                        .help("Says what is wrong with a prometheus.yml and its files of rules"),
                ),
        ))
        .subcommand(
            Clap::new("init")
                .about("Writes FILE with every setting at its default, to begin with")
                .arg(
                    path_argument("FILE")
                        .required(false)
                        .default_value("foliot.toml")
                        .help("The file; - is the standard output"),
                ),
        )
        .subcommand(Clap::new("docs").about("Prints the reference of all settings as Markdown"))
        .subcommand(Clap::new("limits").about("Prints the table of all limits as Markdown"));
    Clap::new("foliot")
        .about("Foliot, a time-series database")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve())
        .subcommand(query::command())
        .subcommand(top::command())
        .subcommand(config)
        .subcommand(backup())
        .subcommand(restore())
        .subcommand(users::command(on_data_dir))
        .subcommand(certificate())
        .subcommand(check())
        .subcommand(retention())
        .subcommand(inspect())
        .subcommand(moving::import_command())
        .subcommand(moving::export_command())
        .subcommand(bench())
        .subcommand(completions())
        .subcommand(manuals())
        .subcommand(Clap::new("version").about("Prints version, commit, target and features"))
}

fn serve() -> Clap {
    with_settings(Clap::new("serve").about("Runs the server").after_help(
        "Examples:\n  foliot serve --data-dir ./foliot-data --agent-host\n  \
         foliot serve --config /etc/foliot/foliot.toml --set limits.memory_bytes=200MB",
    ))
}

fn backup() -> Clap {
    let into = path_argument("DIR").help(
        "Where backups stand, each in a directory named by its time; what has not changed since \
         the one before is shared with that",
    );
    on_data_dir("backup", "Copies a store, running or not, into a new directory under DIR")
        .arg(into)
        .after_help("Example: foliot backup --data-dir /var/lib/foliot /srv/backups/foliot")
}

fn restore() -> Clap {
    on_data_dir("restore", "Copies a backup to a data directory that is missing or empty")
        .arg(path_argument("BACKUP").help("The directory of one backup"))
        .after_help(
            "Example: foliot restore --data-dir /var/lib/foliot \
             /srv/backups/foliot/2026-11-29T060000.000000Z",
        )
}

fn manuals() -> Clap {
    Clap::new("manuals")
        .about("Writes a manual page for every command into DIR")
        .arg(path_argument("DIR").help("The directory, which is made if it is not there"))
}

fn text(matches: &ArgMatches, name: &str) -> Option<String> {
    matches.get_one::<String>(name).cloned()
}

/// The benchmark is a stranger that reads its own command line, help included.
fn bench() -> Clap {
    let arguments = Arg::new("arguments")
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .value_parser(clap::value_parser!(OsString));
    Clap::new("bench")
        .about("Loads, asks and verifies Foliot and its peers; see `foliot bench --help`")
        .disable_help_flag(true)
        .arg(arguments)
}

fn completions() -> Clap {
    let shell = Arg::new("shell")
        .value_name("SHELL")
        .required(true)
        .value_parser(clap::value_parser!(Shell))
        .help("The shell that is to complete commands");
    Clap::new("completions")
        .about("Prints completions for a shell, for example: source <(foliot completions bash)")
        .arg(shell)
}

fn shell(matches: &ArgMatches) -> Shell {
    // It is required, so the shell is there.
    matches.get_one("shell").copied().unwrap_or(Shell::Bash)
}

fn certificate() -> Clap {
    let names = Arg::new("names")
        .long("name")
        .value_name("NAME")
        .action(ArgAction::Append)
        .help("A name or address of the server besides localhost, 127.0.0.1 and ::1; may be given several times");
    Clap::new("cert")
        .about("Writes a certificate that signs itself, and its key, into DIR")
        .arg(names)
        .arg(path_argument("DIR").help("The directory, which is made if it is not there"))
        .after_help("Example: foliot cert --name db.example.org /etc/foliot/tls")
}

fn check() -> Clap {
    let repair = Arg::new("repair")
        .long("repair")
        .action(ArgAction::SetTrue)
        .help("Says what can be saved of damaged files and what is lost, and changes nothing");
    let yes =
        Arg::new("yes").long("yes").action(ArgAction::SetTrue).requires("repair").help(
            "Repairs: saves that, and keeps the damaged files in quarantine/; deletes nothing",
        );
    let lose_names = Arg::new("lose-names")
        .long("lose-names")
        .action(ArgAction::SetTrue)
        .requires("repair")
        .help("Makes a damaged index again also if samples have no name then: without a backup");
    let lose_parts = Arg::new("lose-parts")
        .long("lose-parts")
        .action(ArgAction::SetTrue)
        .requires("repair")
        .help("Waits no longer for parts that are missing: without a backup");
    let lose_facts = Arg::new("lose-facts")
        .long("lose-facts")
        .action(ArgAction::SetTrue)
        .requires("repair")
        .help(
            "Makes a missing catalog again without its users, policies and more: without a backup",
        );
    on_data_dir("check", "Reads every byte of a store and says what is wrong with it")
        .args([repair, yes, lose_names, lose_parts, lose_facts])
        .after_help("Example: foliot check --data-dir /var/lib/foliot --repair")
}

fn retention() -> Clap {
    let keep = Arg::new("keep")
        .long("keep")
        .value_name("TIME")
        .value_parser(Keep::read)
        .help("Says what would expire if samples were kept so long, such as 30d, 6mo or 1y");
    let accept = Arg::new("accept-clock")
        .long("accept-clock")
        .action(ArgAction::SetTrue)
        .help("Takes this machine's clock for right, though most of a database may expire by it");
    let about =
        "Says how long each database of a store keeps its samples; no server may have it open";
    with_store_settings(Clap::new("retention").about(about))
        .arg(keep)
        .arg(accept)
        .after_help("Example: foliot retention --data-dir /var/lib/foliot --keep 90d")
}

fn inspect() -> Clap {
    let samples =
        Arg::new("samples").long("samples").action(ArgAction::SetTrue).help("Shows samples too");
    let format = Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .value_parser(["text", "put", "line"])
        .help("put or line: only samples, as put or Influx lines");
    Clap::new("inspect")
        .about("Shows a file of a store, or a whole store, in words")
        .arg(samples)
        .arg(format)
        .arg(path_argument("PATH").help("A file of a store, or its directory"))
        .after_help("Example: foliot inspect --format line /var/lib/foliot >samples.txt")
}

fn spelling(matches: &ArgMatches) -> Spelling {
    match text(matches, "format").as_deref() {
        Some("put") => Spelling::Put,
        Some("line") => Spelling::Line,
        _ if matches.get_flag("samples") => Spelling::Text,
        _ => Spelling::None,
    }
}

fn path_argument(name: &'static str) -> Arg {
    Arg::new(PATH).value_name(name).required(true).value_parser(clap::value_parser!(PathBuf))
}

/// A command on a data directory.
fn on_data_dir(name: &'static str, about: &'static str) -> Clap {
    let data_dir = KEYS.iter().find(|key| key.name == DATA_DIR).map(|key| {
        Arg::new(key.name).long(key.flag).value_name("DIR").help("The store's directory")
    });
    Clap::new(name).about(about).arg(config_file()).args(data_dir)
}

fn path(matches: &ArgMatches) -> PathBuf {
    matches.get_one::<PathBuf>(PATH).cloned().unwrap_or_default()
}

fn read_certificate(matches: &ArgMatches) -> Result<Command, String> {
    let names = matches.get_many::<String>("names").unwrap_or_default();
    let names: Vec<String> = names.cloned().collect();
    match names.iter().any(|name| name.trim().is_empty()) {
        false => Ok(Command::Certificate { names, into: path(matches) }),
        true => {
            Err("--name cannot be empty: give a name or an address by which clients reach the \
                     server"
                .to_owned())
        }
    }
}

/// Where the store is, as `serve` would find it.
fn data_dir(matches: &ArgMatches) -> Result<PathBuf, String> {
    Ok(layers(matches)?.config().data_dir.clone())
}

fn config_file() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("FILE")
        .help("TOML file of settings [env: FOLIOT_CONFIG]")
}

/// What the names of settings begin with that a command on a store of its own obeys.
const STORE_KEYS: [&str; 9] = [
    "data_dir",
    "wal.",
    "retention.",
    "limits.memory_bytes",
    "limits.registry_bytes",
    "head.",
    "cache.",
    "merge.",
    "index.",
];

/// The settings that are flags of a command on a store of its own.
pub(crate) fn store_keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| STORE_KEYS.iter().any(|name| key.name.starts_with(name)))
}

/// The same, of a command that reads a store and leaves it as it is.
const READER_KEYS: [&str; 5] =
    ["data_dir", "limits.memory_bytes", "limits.registry_bytes", "head.", "cache."];

/// Letters of a default that help has room for.
const DEFAULT_LETTERS_MAX: usize = 60;

/// Adds a flag for every setting of the store.
pub(crate) fn with_store_settings(command: Clap) -> Clap {
    with_flags(command, |key| store_keys().any(|own| own.name == key.name))
}

/// Adds a flag for every setting that matters to who only reads a store.
pub(crate) fn with_reader_settings(command: Clap) -> Clap {
    with_flags(command, |key| READER_KEYS.iter().any(|name| key.name.starts_with(name)))
}

/// Adds a flag for every setting.
fn with_settings(command: Clap) -> Clap {
    with_flags(command, |_| true)
}

fn with_flags(command: Clap, is_wanted: impl Fn(&Key) -> bool) -> Clap {
    let set = Arg::new("set")
        .long("set")
        .value_name("KEY=VALUE")
        .action(ArgAction::Append)
        .help("Sets any key by its name");
    let usual = Config::default();
    let flags = KEYS.iter().filter(|key| is_wanted(key)).map(|key| {
        let help = key.help.split(". ").next().unwrap_or_default().trim().trim_end_matches('.');
        let default = (key.show)(&usual);
        let help = match default.len() {
            0 => help.to_owned(),
            1..=DEFAULT_LETTERS_MAX => format!("{help} [default: {default}]"),
            _ => format!("{help} [default: see `foliot config show`]"),
        };
        let arg = Arg::new(key.name).long(key.flag).help(help);
        match key.kind.contains("true") {
            // `--agent-host` alone means yes; `--agent-host=false` is possible too.
            true => arg
                .value_name("BOOL")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true"),
            false => arg.value_name("VALUE"),
        }
    });
    command.arg(config_file()).arg(set).args(flags)
}

/// All layers, from the weakest to the strongest.
pub(crate) fn layers(matches: &ArgMatches) -> Result<Layers, String> {
    let (mut layers, mut faults) = (Layers::default(), Vec::new());
    let file = matches.get_one::<String>("config").map(PathBuf::from);
    let file = file.or_else(|| std::env::var_os("FOLIOT_CONFIG").map(PathBuf::from));
    faults.extend(file.and_then(|path| add_file(&mut layers, &path).err()));
    // A variable that is not Unicode cannot be one of ours.
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    faults.extend(layers.add_environment(variables).err());
    // Commands have only those flags that matter to them.
    let pairs = matches.try_get_many::<String>("set").unwrap_or_default();
    faults.extend(pairs.into_iter().flatten().filter_map(|pair| layers.add_pair(pair).err()));
    for key in KEYS {
        if let Ok(Some(value)) = matches.try_get_one::<String>(key.name) {
            faults.extend(layers.add_flag(key, value).err());
        }
    }
    together(faults).map(|()| layers)
}

/// Adds a file of settings. What is another's is told to be that, in place of each key in it.
fn add_file(layers: &mut Layers, path: &Path) -> Result<(), String> {
    let text = read_file(path)?;
    layers.add_file(path, &text).map_err(|faults| match settings::foreign(&text) {
        Some(whose) => format!("{}: {whose}", path.display()),
        None => faults,
    })
}

fn read_file(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| {
        let file = path.display();
        match error.kind() {
            ErrorKind::NotFound => format!(
                "there is no file {file} of settings; `foliot config init {file}` writes one to \
                 begin with"
            ),
            _ => format!("cannot read the settings in {file}: {error}"),
        }
    })
}
