//! `foliot user`: users and tokens of a store that no server has open.

use crate::offline::need_store;
use crate::output::{note, print};
use crate::password;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command as Clap};
use foliot_access::{Access, Gate, Grant, NewToken, Rights};
use foliot_disk::{Disk, RealDisk};
use foliot_engine::{Ack, Caller, Engine, is_store};
use foliot_server::Config;
use std::sync::Arc;
use std::time::Duration;

/// What is to be done with users and tokens.
#[derive(Debug)]
pub(crate) enum Act {
    /// Make a user, whose password is asked for.
    Add { name: String, rights: Rights },
    /// Give a user another password.
    Password { name: String },
    /// List users and tokens.
    List,
    /// Make a token.
    Token { name: String, rights: Rights, lasts: Option<Duration> },
    /// Remove a user, or end a token by its id.
    Revoke { what: String },
}

/// The subcommands; `on_data_dir` adds what says where the store is.
pub(crate) fn command(on_data_dir: impl Fn(&'static str, &'static str) -> Clap) -> Clap {
    let name = |about| Arg::new("name").value_name("NAME").required(true).help(about);
    let lasts = Arg::new("expires").long("expires").value_name("TIME");
    Clap::new("user")
        .about("Makes and removes users and tokens of a store that no server has open")
        .subcommand_required(true)
        .subcommand(
            on_data_dir(
                "add",
                "Makes a user, whose password is asked for, or the first line piped in",
            )
            .arg(name("The user's name"))
            .args(rights_arguments()),
        )
        .subcommand(
            on_data_dir("password", "Gives a user another password, asked for or piped in")
                .arg(name("The user's name")),
        )
        .subcommand(on_data_dir("list", "Lists users and tokens with their rights"))
        .subcommand(
            on_data_dir("token", "Makes a token and prints it, for the only time")
                .arg(name("A name for people"))
                .args(rights_arguments())
                .arg(lasts.help("How long it is valid, such as 90d; for ever without this")),
        )
        .subcommand(
            on_data_dir("revoke", "Removes a user, or ends the token with this id")
                .arg(name("The user's name, or the token's id as `list` shows it")),
        )
}

fn rights_arguments() -> [Arg; 3] {
    [
        Arg::new("role")
            .long("role")
            .value_name("ROLE")
            .action(ArgAction::Append)
            .required(true)
            .value_parser(["read", "write", "admin", "operator"])
            .help("What is allowed; may be given several times"),
        Arg::new("db")
            .long("db")
            .value_name("NAME")
            .default_value("*")
            .help("The database for read and write; * means all"),
        Arg::new("measurements")
            .long("measurements")
            .value_name("PATTERN")
            .default_value("*")
            .help("The measurements there; * stands for any text"),
    ]
}

/// What the command line says.
///
/// # Errors
/// One sentence.
pub(crate) fn read(matches: &ArgMatches) -> Result<Act, String> {
    let Some((act, matches)) = matches.subcommand() else { return Ok(Act::List) };
    let text = |name| matches.try_get_one::<String>(name).ok().flatten().cloned();
    let name = text("name").unwrap_or_default();
    if name.trim().is_empty() && act != "list" {
        return Err(format!("<NAME> cannot be empty; `foliot help user {act}` shows how"));
    }
    Ok(match act {
        "add" => Act::Add { name, rights: rights(matches)? },
        "password" => Act::Password { name },
        "token" => {
            let lasts = text("expires").map(|text| lasts(&text)).transpose()?;
            Act::Token { name, rights: rights(matches)?, lasts }
        }
        "revoke" => Act::Revoke { what: name },
        _ => Act::List,
    })
}

/// How long a token is valid. A number alone is refused: its writer meant days more often than
/// seconds.
fn lasts(text: &str) -> Result<Duration, String> {
    let read = <Duration as foliot_server::config::Setting>::read(text).ok();
    read.filter(|lasts| !lasts.is_zero() && text.contains(|c: char| c.is_ascii_alphabetic()))
        .ok_or_else(|| format!("--expires: '{text}' is not a time such as 30m, 12h or 365d"))
}

fn rights(matches: &ArgMatches) -> Result<Rights, String> {
    let text = |name| matches.get_one::<String>(name).cloned().unwrap_or_default();
    let roles: Vec<&String> = matches.get_many("role").unwrap_or_default().collect();
    let has = |role: &str| roles.iter().any(|found| *found == role);
    let access = match (has("read"), has("write")) {
        (true, true) => Access::All,
        (true, false) => Access::Read,
        (false, true) => Access::Write,
        (false, false) => Access::Nothing,
    };
    let database = text("db");
    if database.is_empty() || database.contains('/') {
        return Err(format!(
            "--db: no database can be called '{database}': give its name without a policy, or * \
             for all"
        ));
    }
    let is_everywhere = access != Access::Nothing && database == "*";
    if is_everywhere
        && !has("admin")
        && matches.value_source("db") != Some(ValueSource::CommandLine)
    {
        note("the right holds in all databases; --db NAME keeps it to one");
    }
    let grant = Grant { database, measurements: text("measurements"), access };
    let grants = if access == Access::Nothing { Vec::new() } else { vec![grant] };
    Ok(Rights { is_admin: has("admin"), is_operator: has("operator"), grants })
}

/// Opens the store and does it.
///
/// # Errors
/// One sentence.
pub(crate) fn perform(config: &Config, act: Act) -> Result<(), String> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new());
    // The first users and tokens may be there before the store is.
    let is_new = !is_store(&*disk, &config.data_dir);
    if !matches!(act, Act::Add { .. } | Act::Token { .. }) {
        need_store(&*disk, &config.data_dir)?;
    }
    // How long samples are kept is the server's to say.
    let settings = foliot_engine::Config { keeps_retention: true, ..crate::store(config) };
    let opened = Engine::open(disk.clone(), &config.data_dir, settings);
    let engine = opened.map_err(|error| match error {
        foliot_engine::Error::Locked(_) => format!(
            "{error}. While its server runs, ask that: `foliot query 'SHOW USERS'`, CREATE USER, \
             SET PASSWORD and DROP USER likewise; tokens are at /api/v2/authorizations"
        ),
        error => crate::unopened(&error, &config.data_dir),
    })?;
    if is_new {
        // Who meant another directory sees it here.
        note(&format!("there was no store in {}: a new one was made", config.data_dir.display()));
    }
    let gate = Gate::new(false)
        .with_passwords_from(config.access_password_length_min as usize)
        .with_most(config.limits_users, config.limits_tokens);
    let done = perform_on(&engine, &gate, act, disk.now_ns());
    let safe = engine.wait(engine.written(), Ack::Durable).map(drop);
    let closed = engine.close();
    let text = done?;
    safe.and(closed).map_err(|error| error.to_string())?;
    print(&text)
}

fn perform_on(engine: &Engine, gate: &Gate, act: Act, now_ns: i64) -> Result<String, String> {
    let caller = Caller { door: "foliot user", ..Caller::default() };
    let sentence = |error: foliot_access::Refused| error.to_string();
    match act {
        Act::Add { name, rights } => {
            if gate.user(engine, &name).is_ok() {
                return Err(format!(
                    "user {name} is there already: `foliot user password {name}` gives it another \
                     password, `foliot user revoke {name}` removes it"
                ));
            }
            let password = password::read(&name)?;
            let made = gate.create_user(engine, &name, &password, rights, &caller);
            made.map(|()| format!("user {name} can log in\n")).map_err(sentence)
        }
        Act::Password { name } if gate.user(engine, &name).is_err() => {
            Err(format!("there is no user {name}; `foliot user list` shows all"))
        }
        Act::Password { name } => {
            let set = gate.set_password(engine, &name, &password::read(&name)?, &caller);
            set.map(|()| format!("user {name} has another password\n")).map_err(sentence)
        }
        Act::Token { name, rights, lasts } => {
            let lasts_ns = lasts.map(|lasts| i64::try_from(lasts.as_nanos()).unwrap_or(i64::MAX));
            let expires_ns = lasts_ns.map(|lasts_ns| now_ns.saturating_add(lasts_ns));
            let new = NewToken { name, expires_ns, rights };
            let text = gate.create_token(engine, new, now_ns, &caller);
            text.map(|text| text + "\n").map_err(sentence)
        }
        Act::List => Ok(list(gate, engine)),
        Act::Revoke { what } => {
            if gate.revoke_token(engine, &what, &caller).map_err(sentence)? {
                return Ok(format!("token {what} is no longer valid\n"));
            }
            let removed = gate.remove_user(engine, &what, &caller);
            removed.map(|()| format!("user {what} is removed\n")).map_err(|error| match error {
                foliot_access::Refused::NotFound => {
                    format!("there is no user and no token {what}; `foliot user list` shows all")
                }
                error => error.to_string(),
            })
        }
    }
}

fn list(gate: &Gate, engine: &Engine) -> String {
    let mut out = String::new();
    for user in gate.users(engine) {
        out += &format!("user   {:16} {}\n", user.name, describe(&user.rights));
    }
    for token in gate.tokens(engine) {
        let expires = match jiff::Timestamp::from_nanosecond(token.expires_ns.into()) {
            Ok(at) if token.expires_ns != i64::MAX => {
                at.strftime(", until %Y-%m-%dT%H:%M:%SZ").to_string()
            }
            _ => String::new(),
        };
        let rights = describe(&token.rights);
        out += &format!("token  {} {}: {rights}{expires}\n", token.id, token.name);
    }
    out
}

fn describe(rights: &Rights) -> String {
    let mut parts = Vec::new();
    if rights.is_admin {
        parts.push("admin".to_owned());
    }
    if rights.is_operator {
        parts.push("operator".to_owned());
    }
    for grant in &rights.grants {
        let access = match grant.access {
            Access::Nothing => continue,
            Access::Read => "read",
            Access::Write => "write",
            Access::All => "read and write",
        };
        parts.push(format!("{access} {} of {}", grant.measurements, grant.database));
    }
    parts.join(", ")
}
