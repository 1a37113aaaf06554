//! What `import` and `export` are told on the command line.

use crate::arguments::{layers, store_keys, with_reader_settings, with_store_settings};
use clap::{Arg, ArgAction, ArgMatches, Command as Clap};
use foliot_migrate::Told;
use foliot_migrate::csv::{Precision, Spelled, is_mark};
use foliot_server::config::Layers;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::path::PathBuf;

/// What InfluxDB's own command takes a token from: on a command line everybody would see it.
const TOKEN_VARIABLE: &str = "INFLUX_TOKEN";

/// What an import or an export was told.
#[derive(Debug)]
pub(crate) struct Move {
    /// The settings, for the store.
    pub(crate) layers: Layers,
    /// The foreign format.
    pub(crate) format: String,
    /// The file; `-` is standard input or output.
    pub(crate) file: PathBuf,
    /// A running server to go through.
    pub(crate) url: Option<String>,
    /// Whether nothing is stored.
    pub(crate) is_dry: bool,
    /// A running foreign server to ask, instead of the file.
    pub(crate) from: Option<String>,
    /// The token and the organisation of whom the foreign server is asked for.
    pub(crate) token: Option<String>,
    pub(crate) organisation: Option<String>,
    /// What the columns of a file of columns mean.
    pub(crate) columns: Told,
    /// How a file of commas is written.
    pub(crate) spelled: Spelled,
    /// Database and retention policy, when they are given.
    pub(crate) database: Option<String>,
    pub(crate) policy: Option<String>,
    /// Wanted times, in nanoseconds, both ends included.
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}

/// One subcommand for each format that can be brought in.
pub(crate) fn import_command() -> Clap {
    Clap::new("import")
        .about("Brings another database's dump in")
        .subcommand_required(true)
        .subcommand(
            format("opentsdb", "Reads what `tsdb scan --import` prints, zipped or not").arg(url()),
        )
        .subcommand(
            format("ticktock", "Reads what TickTock's `inspect -r` prints, zipped or not")
                .arg(url()),
        )
        .subcommand(
            format(
                "influx",
                "Reads what `influx_inspect export` writes, zipped or not, or InfluxDB 1's files",
            )
            .mut_arg("db", |db| {
                db.help("The database, in place of the one that a dump names, or of all with --from")
            })
            .arg(url())
            .arg(from("InfluxDB 1")),
        )
        .subcommand(
            format("influx2", "Reads annotated CSV, zipped or not, or InfluxDB 2's files")
                .after_help(
                    "FILE may be the directory of a server that does not run, or one bucket's in \
                     its engine/data.\n\n\
                     Examples:\n  \
                     INFLUX_TOKEN=... foliot import influx2 --from http://127.0.0.1:8086 --org plant\n  \
                     foliot import influx2 ~/.influxdbv2/engine/data/12ab34cd56ef78ab --db garden",
                )
                .arg(url())
                .arg(from("InfluxDB 2"))
                .args(["token", "org"].map(of_version_2)),
        )
        .subcommand(with_store_settings(
            Clap::new("prometheus")
                .about("Reads a data directory of Prometheus: its blocks and its wal")
                .arg(directory())
                .args(place())
                .arg(url())
                .arg(dry_run()),
        ))
        .subcommand(parquet())
        .subcommand(csv())
}

fn parquet() -> Clap {
    with_store_settings(
        Clap::new("parquet")
            .about("Reads a Parquet file: one that Foliot wrote, or another with a column of times")
            .after_help(
                "Columns of texts become labels, columns of numbers fields.\n\n\
                 Examples:\n  \
                 foliot import parquet samples.parquet\n  \
                 foliot import parquet weather.parquet --measurement weather --time at --text note",
            )
            .arg(Arg::new("file").value_name("FILE").required(true).help("The file"))
            .args(columns())
            .args(place())
            .arg(url())
            .arg(dry_run()),
    )
}

fn csv() -> Clap {
    format("csv", "Reads rows of commas below a header, zipped or not, as Foliot writes them")
        .after_help(
            "Columns of texts become labels, columns of numbers fields. A file that Foliot wrote \
             says itself what they are.\n\n\
             Examples:\n  \
             foliot import csv samples.csv\n  \
             foliot import csv weather.csv --measurement weather --time at --text note\n  \
             foliot import csv rooms.csv --measurement rooms --label room --separator ';' --dry-run",
        )
        .args(columns())
        .args(spelling())
        .arg(url())
}

/// What is brought in from a file or a pipe.
fn format(name: &'static str, about: &'static str) -> Clap {
    with_store_settings(Clap::new(name).about(about).arg(file()).args(place()).arg(dry_run()))
}

fn url() -> Arg {
    let help = "Goes through the running server at this address instead of opening the store [env \
                for who asks: FOLIOT_TOKEN]";
    let url = Arg::new("url").long("url").value_name("URL").help(help);
    // The server has a store and settings of its own.
    url.conflicts_with_all(store_keys().map(|key| key.name))
}

/// What is said of the columns of a file.
fn columns() -> [Arg; 5] {
    let option =
        |name: &'static str, value, help| Arg::new(name).long(name).value_name(value).help(help);
    [
        option("measurement", "NAME", "The measurement of all rows [the column measurement]"),
        option("time", "COLUMN", "The column of times [time, or the only one with timestamps]"),
        option("text", "COLUMN", "A column of texts that is a field and no label; several times")
            .action(ArgAction::Append),
        option(
            "label",
            "COLUMN",
            "A column of numbers that is a label and no field; several times",
        )
        .action(ArgAction::Append),
        option("without", "COLUMN", "Leaves a column out; several times").action(ArgAction::Append),
    ]
}

/// How a file of commas is written.
fn spelling() -> [Arg; 2] {
    [
        Arg::new("separator")
            .long("separator")
            .value_name("MARK")
            .value_parser(mark)
            .help("What divides cells: one sign, or tab [,]"),
        Arg::new("precision")
            .long("precision")
            .value_name("UNIT")
            .value_parser(["s", "ms", "us", "ns"])
            .help("What numbers in the column of times count [as their size says]"),
    ]
}

fn mark(text: &str) -> Result<u8, &'static str> {
    let mark = match text.as_bytes() {
        b"tab" | b"\\t" => b'\t',
        [mark] => *mark,
        _ => 0,
    };
    is_mark(mark).then_some(mark).ok_or("give one sign, such as ';', or tab")
}

fn spelled(matches: &ArgMatches) -> Spelled {
    let precision = matches.try_get_one::<String>("precision").ok().flatten();
    Spelled {
        separator: matches.try_get_one::<u8>("separator").ok().flatten().copied(),
        precision: precision.and_then(|name| Precision::named(name)),
    }
}

fn told(matches: &ArgMatches) -> Told {
    let given = |name| matches.try_get_one::<String>(name).ok().flatten().cloned();
    let all = |name| {
        let all = matches.try_get_many::<String>(name).ok().flatten();
        all.unwrap_or_default().cloned().collect()
    };
    Told {
        measurement: given("measurement"),
        time: given("time"),
        texts: all("text"),
        labels: all("label"),
        without: all("without"),
    }
}

fn directory() -> Arg {
    Arg::new("file").value_name("DIR").required(true).help("The directory, which nobody writes to")
}

fn dry_run() -> Arg {
    let help = "Reads all, and tells what would be brought in and which lines are bad; nothing is \
                stored";
    Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue).help(help)
}

/// Who asks a running InfluxDB 2.
fn of_version_2(name: &'static str) -> Arg {
    let (value, help) = match name {
        "token" => ("TOKEN", format!("A token that may read the buckets [env: {TOKEN_VARIABLE}]")),
        _ => ("NAME", "The organisation, if the token sees several".to_owned()),
    };
    Arg::new(name).long(name).value_name(value).help(help)
}

fn from(server: &str) -> Arg {
    let help = format!(
        "Asks this running {server} for everything instead of reading a dump; \
         http://[USER:PASSWORD@]HOST:PORT"
    );
    Arg::new("from").long("from").value_name("URL").conflicts_with("file").help(help)
}

pub(crate) fn export_command() -> Clap {
    let format = Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .required(true)
        .value_parser(["line", "opentsdb", "ticktock", "parquet", "csv"])
        .help("The format to write");
    let bound = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("TIME")
            .allow_hyphen_values(true)
            .value_parser(seconds)
            .help(help)
    };
    // `import` has it, so it is tried here too.
    let url = Arg::new("url").long("url").hide(true).value_parser(|_: &str| {
        Err::<String, _>(
            "export opens the store itself; of a running server, `foliot backup` its store and \
             export the backup with --data-dir",
        )
    });
    let command = Clap::new("export")
        .about("Writes samples out in another database's format")
        .arg(url)
        .arg(format)
        .arg(file())
        .args(place())
        .arg(bound("start", "Leaves out what is before this date or second since 1970, in UTC"))
        .arg(bound("end", "Leaves out what is after this date or second since 1970, in UTC"));
    with_reader_settings(command)
}

/// Seconds since 1970, by number or as a date in UTC.
fn seconds(text: &str) -> Result<i64, &'static str> {
    let utc = |at: DateTime| at.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp());
    let date = || text.parse::<Timestamp>().ok().or_else(|| utc(text.parse().ok()?));
    text.parse().ok().or_else(|| date().map(Timestamp::as_second)).ok_or(
        "give a date in UTC, such as 2026-01-31 or 2026-01-31T12:00:00Z, or seconds since 1970",
    )
}

fn file() -> Arg {
    Arg::new("file").value_name("FILE").default_value("-").help("The dump; - is a pipe")
}

fn place() -> [Arg; 2] {
    [
        Arg::new("db").long("db").value_name("NAME").help("The database, if not the default one"),
        Arg::new("rp").long("rp").value_name("NAME").help("Its retention policy"),
    ]
}

/// Reads what one of both was told.
///
/// # Errors
/// One sentence.
pub(crate) fn read(format: &str, matches: &ArgMatches) -> Result<Move, String> {
    let given = |name| matches.try_get_one::<String>(name).ok().flatten().cloned();
    // Clap asks for no flag that another argument forbids, and FILE forbids --from.
    let lonely = ["token", "org"].into_iter().find(|name| given(name).is_some());
    if let (Some(name), None) = (lonely, given("from")) {
        return Err(format!(
            "--{name} says who asks a running server: name that with --from http://HOST:PORT; a \
             file is read without it"
        ));
    }
    if let (Some(from), Some(url)) = (given("from"), given("url"))
        && from == url
    {
        return Err(format!("--from and --url both name {url}, which has all of it already"));
    }
    let seconds = |name| matches.try_get_one::<i64>(name).ok().flatten().copied();
    if let (Some(start), Some(end)) = (seconds("start"), seconds("end"))
        && start > end
    {
        return Err("--start is after --end: nothing lies between them".to_owned());
    }
    const SECOND: i64 = 1_000_000_000;
    Ok(Move {
        layers: layers(matches)?,
        format: format.to_owned(),
        file: PathBuf::from(given("file").unwrap_or_default()),
        url: given("url"),
        is_dry: matches!(matches.try_get_one::<bool>("dry-run"), Ok(Some(true))),
        from: given("from"),
        token: given("token").or_else(|| std::env::var(TOKEN_VARIABLE).ok()),
        organisation: given("org"),
        columns: told(matches),
        spelled: spelled(matches),
        database: given("db"),
        policy: given("rp"),
        start_ns: seconds("start").map_or(i64::MIN, |at| at.saturating_mul(SECOND)),
        end_ns: seconds("end")
            .map_or(i64::MAX, |at| at.saturating_mul(SECOND).saturating_add(SECOND - 1)),
    })
}
