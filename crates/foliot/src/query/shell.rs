//! Asks at a terminal: a line is a statement. What was typed is kept for the next time, and names
//! are completed from the server's catalogue.

use super::print::Format;
use super::{Ask, OPENTSDB, complain, parameters, time};
use foliot_migrate::Client;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Most statements that are kept.
const HISTORY_LINES_MAX: usize = 1000;

/// Most names that are offered for one word.
const NAMES_MAX: usize = 50;

const HELP: &str = "\
a line is a statement: InfluxQL, or m=sum:5m-avg:cpu.usage{host=*} as OpenTSDB has it
use NAME         ask another database
language NAME    what statements are: influxql or sql
start TIME       where questions that begin with m= begin, such as 6h-ago
end TIME         where they end
format FORMAT    print as table, csv, json or markdown
quit             or Ctrl-D
";

/// Words of InfluxQL that a statement has often.
const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY time DESC",
    "LIMIT",
    "fill(none)",
    "SHOW",
    "DATABASES",
    "MEASUREMENTS",
    "FIELD KEYS",
    "TAG KEYS",
    "TAG VALUES",
    "SERIES",
    "QUERIES",
    "RETENTION POLICIES",
    "mean(",
    "sum(",
    "min(",
    "max(",
    "count(",
    "last(",
    "first(",
    "percentile(",
    "derivative(",
    "time(",
    "now()",
    "use",
    "language",
    "start",
    "end",
    "format",
    "help",
    "quit",
];

/// What statements begin with: one of them alone is a statement that lacks its end, and any other
/// word alone is none.
const BEGINNINGS: &[&str] = &[
    "select", "show", "explain", "create", "drop", "delete", "alter", "grant", "revoke", "kill",
    "set", "with", "values",
];

/// What ends a word that is being typed.
const WORD_ENDS: &[char] = &[' ', ',', '(', ')', '=', '"', '{', '}', ':', '<', '>', '+', '*', '/'];

/// Reads statements until there are no more.
///
/// # Errors
/// When the terminal cannot be used.
pub(super) fn run(ask: Ask) -> Result<ExitCode, String> {
    let failed = |error: ReadlineError| format!("cannot read from the terminal: {error}");
    let config = Config::builder().completion_type(CompletionType::List);
    let config = config.max_history_size(HISTORY_LINES_MAX).map_err(failed)?.build();
    let mut editor: Editor<Names, FileHistory> = Editor::with_config(config).map_err(failed)?;
    let history = history();
    if let Some(file) = &history {
        // There is none the first time.
        let _ = editor.load_history(file);
    }
    say(&format!("{}; help lists what can be said\n", ask.client.host()));
    editor.set_helper(Some(Names { ask }));
    loop {
        let line = match editor.readline("foliot> ") {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        };
        let line = line.trim().trim_end_matches(';').trim_end();
        if line.is_empty() {
            continue;
        }
        // A password is not for a file.
        if !line.to_ascii_lowercase().contains("password") {
            editor.add_history_entry(line).map_err(failed)?;
        }
        let Some(Names { ask }) = editor.helper_mut() else { break };
        match obey(ask, line, &mut io::stdout().lock()) {
            Ok(true) => {}
            Ok(false) => break,
            Err(sentence) => complain(&sentence),
        }
    }
    if let Some(file) = &history {
        let kept = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        if let Err(error) = kept.map_err(ReadlineError::from).and(editor.save_history(file)) {
            complain(&format!("what was typed is not kept in {}: {error}", file.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Does what a line says; no when that is to end.
///
/// # Errors
/// What the server says, why it cannot be asked, or what may be said instead.
pub(super) fn obey(ask: &mut Ask, line: &str, out: &mut dyn Write) -> Result<bool, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim().trim_end_matches(';').trim_end().trim_matches('"');
    match (&*word.to_ascii_lowercase(), rest) {
        ("quit" | "exit" | "\\q", "") => return Ok(false),
        ("help" | "\\h" | "\\?" | "?", _) => say(HELP),
        ("quit" | "exit", _) => return Err(format!("{word} stands alone, nothing behind it")),
        ("use", name) if !name.is_empty() => {
            check_database(&ask.client, name)?;
            name.clone_into(&mut ask.database);
        }
        ("start", text) if !text.is_empty() => ask.start = Some(time(text)?),
        ("end", text) if !text.is_empty() => ask.end = Some(time(text)?),
        ("format", name @ ("table" | "csv" | "json" | "markdown")) => {
            ask.format = Format::named(name);
        }
        ("language", name @ ("influxql" | "sql")) => ask.is_sql = name == "sql",
        ("language", _) => return Err("language is influxql or sql".to_owned()),
        ("format", "parquet") => {
            return Err(
                "parquet makes a file of one answer: ask by `foliot query --format parquet \
                        STATEMENT >FILE`"
                    .to_owned(),
            );
        }
        ("format", _) => return Err("format is one of table, csv, json, markdown".to_owned()),
        (first, "") if !BEGINNINGS.contains(&first) && !line.starts_with(OPENTSDB) => {
            return Err(format!("{word} is no statement; help lists what can be said"));
        }
        _ => ask.put(line, out)?,
    }
    Ok(true)
}

/// Refuses a database, or `database/policy`, that is not among those that the server lists.
fn check_database(client: &Client, name: &str) -> Result<(), String> {
    let database = name.split('/').next().unwrap_or(name);
    let listed = |search| {
        let pairs = [("of", Some("databases")), ("search", search)];
        catalogue(client, &format!("/api/foliot/v1/catalogue?{}", parameters(&pairs)))
    };
    if listed(Some(database)).iter().any(|known| known == database) {
        return Ok(());
    }
    match listed(None) {
        // A server that cannot be asked says so when a statement is sent.
        all if all.is_empty() => Ok(()),
        all => Err(format!("there is no database {database}, but {}", all.join(", "))),
    }
}

/// `foliot/history` where the user's programs keep what they remember; none without a home.
fn history() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    Some(state.or_else(home)?.join("foliot/history"))
}

fn say(text: &str) {
    // A terminal that is gone is found by the next reading.
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Completes the word before the cursor.
struct Names {
    ask: Ask,
}

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..at).unwrap_or(line);
        let begin = before.rfind(WORD_ENDS).map_or(0, |end| end + 1);
        let (before, word) = before.split_at(begin.min(before.len()));
        let mut names = Vec::new();
        for target in targets(before, line, word, &self.ask.database) {
            names.extend(catalogue(&self.ask.client, &target));
        }
        if !line.starts_with(OPENTSDB) && names.is_empty() {
            names.extend(WORDS.iter().map(|word| (*word).to_owned()));
        }
        names.retain(|name| {
            name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        });
        names.sort();
        names.dedup();
        Ok((begin, names))
    }
}

/// What of the catalogue may stand after `before`.
fn targets(before: &str, line: &str, word: &str, database: &str) -> Vec<String> {
    let limit = NAMES_MAX.to_string();
    let list = |of: &str, measurement: Option<&str>| {
        let pairs = [
            ("of", Some(of)),
            ("search", Some(word)),
            ("limit", Some(&*limit)),
            ("measurement", measurement),
            ("db", Some(database)),
        ];
        format!("/api/foliot/v1/catalogue?{}", parameters(&pairs))
    };
    if line.starts_with(OPENTSDB) {
        let of = if before.contains('{') { "labels" } else { "metrics" };
        return vec![list(of, None)];
    }
    // A name may be quoted.
    let last = before.trim_end_matches('"').split_whitespace().last().unwrap_or_default();
    match &*last.to_ascii_lowercase() {
        "use" => return vec![list("databases", None)],
        "from" => return vec![list("measurements", None)],
        _ => {}
    }
    match measurement(line) {
        Some(name) => vec![list("fields", Some(name)), list("labels", Some(name))],
        None => Vec::new(),
    }
}

/// What stands after FROM, wherever the cursor is.
fn measurement(line: &str) -> Option<&str> {
    let from = line.to_ascii_lowercase().find(" from ")?;
    let name = line.get(from + " from ".len()..)?.trim_start();
    let name = match name.strip_prefix('"') {
        Some(name) => name.split('"').next()?,
        None => name.split([' ', ',', ';']).next()?,
    };
    (!name.is_empty()).then_some(name)
}

/// The names that the server lists. One that cannot be asked lists none: its error is said when the
/// statement is sent.
fn catalogue(client: &Client, target: &str) -> Vec<String> {
    let answer = client.get(target).and_then(|answer| answer.whole());
    let Some(answer) = answer.ok().filter(|answer| answer.status == 200) else {
        return Vec::new();
    };
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let name = |entry: &serde_json::Value| {
        let name = entry.get("name").unwrap_or(entry).as_str()?;
        // A line that is edited has no room for these.
        (!name.contains(char::is_control)).then(|| name.to_owned())
    };
    let lists = ["names", "fields", "databases"].into_iter().filter_map(|list| json.get(list));
    lists.filter_map(serde_json::Value::as_array).flatten().filter_map(name).collect()
}

impl Hinter for Names {
    type Hint = String;
}
impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}
