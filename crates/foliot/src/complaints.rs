//! What is wrong with a command line, in one sentence that says what is right.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use foliot_model::edits;

/// What is wrong with it.
pub(crate) fn sentence(error: &clap::Error) -> String {
    let list = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(list)) => list.clone(),
        _ => Vec::new(),
    };
    // The best guess is the last one.
    let text = |kind| list(kind).pop();
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let usage = usage.trim().trim_start_matches("Usage: ");
    let flag = text(ContextKind::SuggestedArg).filter(|flag| is_near(&argument, flag));
    let guess = flag.or_else(|| text(ContextKind::SuggestedSubcommand));
    let guess = guess.map_or_else(
        || format!("; `{}` lists all flags", help_of(usage)),
        |guess| format!("; did you mean {guess}?"),
    );
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(&argument, usage, &guess),
        ErrorKind::InvalidSubcommand => {
            let command = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            unknown_command(&command, usage, &guess)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            match (help_of(usage), list(ContextKind::ValidSubcommand).join(", ")) {
                (help, _) if help == "foliot help serve" => {
                    "say what to do, for example `foliot serve`; `foliot help` lists all commands"
                        .to_owned()
                }
                (help, known) if known.is_empty() => {
                    format!("{} needs another word; `{help}` shows which", named(usage))
                }
                (help, known) => {
                    format!("{} needs one of {known}; `{help}` shows how", named(usage))
                }
            }
        }
        ErrorKind::ValueValidation => {
            let value = text(ContextKind::InvalidValue).unwrap_or_default();
            let why = std::error::Error::source(error).map(ToString::to_string);
            let why = why.unwrap_or_else(|| format!("`{}` shows how", help_of(usage)));
            let value = if value.is_empty() { "empty" } else { &value };
            format!("{argument} cannot be {value}: {why}")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = list(ContextKind::InvalidArg).join(" and ");
            format!("{missing} must be given; `{}` shows how", help_of(usage))
        }
        ErrorKind::InvalidValue => {
            let known = list(ContextKind::ValidValue).join(", ");
            match text(ContextKind::InvalidValue).filter(|value| !value.is_empty()) {
                Some(value) => format!("{argument} cannot be {value}: it is one of {known}"),
                None if known.is_empty() => format!("{argument} needs a value"),
                None => format!("{argument} needs a value: one of {known}"),
            }
        }
        ErrorKind::ArgumentConflict => conflict(&argument, &list(ContextKind::PriorArg), usage),
        _ => {
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            line.trim_start_matches("error: ").to_owned()
        }
    }
}

/// Whether somebody may have meant a flag: a third of its letters may be wrong, beyond that a guess
/// would mislead.
fn is_near(argument: &str, flag: &str) -> bool {
    let bare = |flag: &str| flag.trim_start_matches('-').to_owned();
    let (argument, flag) = (bare(argument), bare(flag));
    edits(&argument, &flag) * 3 <= flag.len()
}

fn conflict(argument: &str, others: &[String], usage: &str) -> String {
    match others.iter().all(|other| other == argument) {
        true => format!("{argument} is given twice"),
        false => format!(
            "{argument} and {} say different things: give one of them; `{}` shows how",
            others.join(", "),
            help_of(usage)
        ),
    }
}

/// The command whose usage this is, as it is written.
fn named(usage: &str) -> String {
    format!("`{}`", help_of(usage).replacen("foliot help ", "foliot ", 1))
}

fn unknown_command(command: &str, usage: &str, guess: &str) -> String {
    let within = help_of(usage);
    match (within.as_str(), meant(command)) {
        ("foliot help serve", Some(meant)) => format!("unknown command {command}: {meant}"),
        ("foliot help user", _) if ["delete", "drop", "remove", "rm"].contains(&command) => {
            format!(
                "unknown command {command}: `foliot user revoke NAME` removes a user, or ends a \
                 token"
            )
        }
        _ if guess.contains("did you") => format!("unknown command {command}{guess}"),
        ("foliot help serve", None) => {
            format!("unknown command {command}; `foliot help` lists all commands")
        }
        (within, _) => format!("unknown command {command}; `{within}` lists what stands there"),
    }
}

/// What somebody wants who gives a command that other programs have.
fn meant(command: &str) -> Option<&'static str> {
    Some(match command {
        "start" | "run" | "server" | "daemon" | "up" => "`foliot serve` runs the server",
        "stop" | "quit" | "shutdown" | "down" | "kill" => {
            "a server ends by Ctrl-C where it runs, by `kill PID`, or by `systemctl stop foliot`"
        }
        "restart" | "reload" => {
            "a server reads its settings again by `kill -HUP PID` or `systemctl reload foliot`, \
             which says what needs a restart; `systemctl restart foliot` does that"
        }
        "compact" | "merge" | "vacuum" | "optimize" => {
            "a server merges by itself; `kill -USR2 PID` asks for it now, and SIGUSR1 for a flush"
        }
        "status" | "health" | "ping" | "info" => {
            "`foliot top` shows what a server does, and /-/ready whether it is ready"
        }
        "repair" | "fsck" | "verify" => {
            "`foliot check` reads a store, `foliot check --repair` says what can be saved of it"
        }
        "dump" => "`foliot export` writes samples out, `foliot backup` copies a store",
        "load" => "`foliot import` brings a dump in",
        "init" => "`foliot config init` writes a file of settings; a store makes itself",
        "shell" | "sql" | "cli" => "`foliot query` asks a running server",
        "passwd" | "password" => "`foliot user password NAME` gives a user another password",
        _ => return None,
    })
}

/// What a flag of another server is called here, for the command whose usage this is.
fn ours(argument: &str, usage: &str) -> Option<&'static str> {
    let asks = ["query", "top"].iter().any(|command| is_of(usage, command));
    Some(match argument {
        "--port" | "--host" | "--bind" | "--addr" | "--address" | "--web.listen-address" => {
            match asks {
                true => "--url http://HOST:PORT",
                false if is_of(usage, "serve") => "--listen HOST:PORT",
                false => return None,
            }
        }
        "--dir" | "--path" | "--datadir" | "--data" | "--storage.tsdb.path" if !asks => {
            "--data-dir DIR"
        }
        "--storage.tsdb.retention.time" | "--keep" if is_of(usage, "serve") => "--retention TIME",
        "--config.file" | "--conf" => "--config FILE",
        "--password" if asks => "--user NAME:PASSWORD",
        _ => return None,
    })
}

fn unknown(argument: &str, usage: &str, guess: &str) -> String {
    let takes_store = ["backup", "check", "retention", "serve"];
    let takes_store = takes_store.iter().any(|command| is_of(usage, command));
    let single = std::env::args().find(|word| is_single(word));
    match (argument, ours(argument, usage), single) {
        ("true" | "false", ..) => format!(
            "unknown argument {argument}: flags that are true or false take no value; \
             `--set KEY={argument}` does"
        ),
        (_, _, Some(word)) if argument.len() == 2 && word.starts_with(argument) => {
            format!("unknown argument {word}: flags begin with two dashes, as in -{word}")
        }
        (_, Some(ours), _) => format!("unknown argument {argument}: here it is {ours}"),
        _ if is_of(usage, "query") && !argument.starts_with('-') => format!(
            "unknown argument {argument}: a question is one word to the shell, so put it between \
             quotes, as in `foliot query 'SHOW DATABASES'`"
        ),
        _ if takes_store && !argument.starts_with('-') => {
            format!("unknown argument {argument}: a store is named by --data-dir {argument}")
        }
        _ => format!("unknown argument {argument}{guess}"),
    }
}

/// Whether a word is a long flag with one dash too few.
fn is_single(word: &str) -> bool {
    let name = word.strip_prefix('-').unwrap_or_default();
    name.len() > 1 && name.starts_with(|c: char| c.is_ascii_lowercase())
}

/// Whether this is the usage of a command, whatever the program's file is called.
fn is_of(usage: &str, command: &str) -> bool {
    usage.split_whitespace().nth(1) == Some(command)
}

/// The command that explains the one whose usage this is: the words before the arguments, such as
/// `foliot help user add`.
fn help_of(usage: &str) -> String {
    let words = usage.split_whitespace().skip(1);
    let command: Vec<&str> = words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    match command.as_slice() {
        [] => "foliot help serve".to_owned(),
        command => format!("foliot help {}", command.join(" ")),
    }
}
