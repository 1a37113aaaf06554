//! `foliot query`: asks a running server in InfluxQL, in SQL or in OpenTSDB's words, and prints
//! what it answers.

mod answer;
mod parquet;
mod print;
mod shell;
mod sql;

use crate::output::Output;
use crate::remote;
use clap::{Arg, ArgMatches, Command as Clap};
use foliot_migrate::client::Reading;
use foliot_migrate::{Client, push_percent};
use foliot_proto_opentsdb::check_time;
use print::{Format, Printer};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::process::ExitCode;

/// Most bytes of one piece of an answer, which is held in memory. A server sends InfluxQL's rows
/// ten thousand to a piece, and OpenTSDB's answer as one.
const PIECE_BYTES_MAX: u64 = 256 << 20;

/// Where a question in OpenTSDB's words begins, if nothing else is said.
const START: &str = "1h-ago";

/// What a question in OpenTSDB's words begins with; all others are in the language that was chosen.
const OPENTSDB: &str = "m=";

/// Where questions in another language go, for whoever put one here.
const PROMQL_HINT: &str = "; this takes InfluxQL and m=..., PromQL is asked at \
                           /prometheus/api/v1/query";

const TOO_LONG: &str =
    "the answer is too long to be held: ask for less time, for wider windows, or with LIMIT";

const NOTHING: &str =
    "nothing was found: is the name right, is it in --db, and in the time asked for?";

/// Whom to ask, and how answers are printed.
#[derive(Debug)]
pub(crate) struct Ask {
    client: Client,
    statement: Option<String>,
    database: String,
    /// Whether statements are SQL.
    is_sql: bool,
    format: Format,
    start: Option<String>,
    end: Option<String>,
}

const FLUX: &str = "this looks like Flux, which Foliot does not speak: ask in InfluxQL, for example \
                    SELECT mean(usage) FROM cpu WHERE time > now() - 1h GROUP BY time(5m), *";

pub(crate) fn command() -> Clap {
    let option =
        |name: &'static str, value, help| Arg::new(name).long(name).value_name(value).help(help);
    Clap::new("query")
        .about("Asks a running server, in InfluxQL, in SQL or in OpenTSDB's words")
        .after_help(
            "Without a statement it asks for them at a terminal, and reads one a line from a pipe.\n\n\
             Examples:\n  \
             foliot query 'SELECT mean(usage) FROM cpu WHERE time > now() - 1h GROUP BY time(5m)'\n  \
             foliot query 'm=sum:5m-avg:cpu.usage{host=*}' --start 6h-ago --format csv\n  \
             foliot query 'SELECT * FROM cpu' --format parquet > cpu.parquet\n  \
             foliot query --language sql 'SELECT host, avg(usage) FROM cpu GROUP BY host'\n  \
             foliot query --url http://db:4242 --db climate",
        )
        .arg(
            Arg::new("statement")
                .value_name("STATEMENT")
                .help("What to ask: a statement, or m=... as OpenTSDB's /api/query takes it"),
        )
        .arg(
            option("language", "LANGUAGE", "The language of statements")
                .value_parser(["influxql", "sql"])
                .default_value("influxql"),
        )
        .arg(option("db", "NAME", "The database").default_value("default"))
        .arg(
            option("format", "FORMAT", "How the answer is printed")
                .value_parser(["table", "csv", "json", "markdown", "parquet"])
                .default_value("table"),
        )
        .arg(
            option("start", "TIME", "Where a question that begins with m= begins [1h-ago]")
                .value_parser(time),
        )
        .arg(
            option("end", "TIME", "Where a question that begins with m= ends [now]")
                .value_parser(time),
        )
        .args(remote::arguments())
}

/// A time as questions in OpenTSDB's words have it.
fn time(text: &str) -> Result<String, String> {
    match check_time(text) {
        Ok(()) => Ok(text.to_owned()),
        Err(error) if error.details.is_empty() => Err(error.message),
        Err(error) => Err(format!("{}. {}", error.message.trim_end_matches('.'), error.details)),
    }
}

pub(crate) fn read(matches: &ArgMatches) -> Result<Ask, String> {
    let text = |name| matches.get_one::<String>(name).cloned();
    let ask = Ask {
        client: remote::client(matches)?,
        statement: text("statement"),
        database: text("db").unwrap_or_default(),
        is_sql: text("language").as_deref() == Some("sql"),
        format: text("format").map_or(Format::Table, |name| Format::named(&name)),
        start: text("start"),
        end: text("end"),
    };
    let is_statement = ask.statement.as_ref().is_some_and(|text| !text.starts_with(OPENTSDB));
    if is_statement && (ask.start.is_some() || ask.end.is_some()) {
        let example = match ask.is_sql {
            true => "SQL says it itself: WHERE time >= now() - INTERVAL '1 hour'",
            false => "InfluxQL says it itself: WHERE time >= now() - 1h",
        };
        return Err(format!("--start and --end belong to questions that begin with m=; {example}"));
    }
    if ask.format == Format::Parquet && ask.is_sql {
        return Err("--format parquet takes InfluxQL: leave --language out, or take csv".to_owned());
    }
    if ask.format == Format::Parquet && ask.statement.is_none() {
        return Err("--format parquet makes a file of one answer: give the statement".to_owned());
    }
    Ok(ask)
}

/// Asks, and prints the answers. The code says failure when the server refused a statement.
///
/// # Errors
/// One sentence.
pub(crate) fn perform(mut ask: Ask) -> Result<ExitCode, String> {
    let mut out = Output::default();
    if let Some(statement) = &ask.statement {
        if ask.format == Format::Parquet {
            return parquet::put(&ask, statement).map(|()| ExitCode::SUCCESS);
        }
        return ask.put(statement, &mut out).map(|()| ExitCode::SUCCESS);
    }
    if io::stdin().is_terminal() {
        return shell::run(ask);
    }
    let mut code = ExitCode::SUCCESS;
    for (index, line) in io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|error| format!("cannot read standard input: {error}"))?;
        if line.trim().is_empty() {
            continue;
        }
        match shell::obey(&mut ask, line.trim(), &mut out) {
            Ok(true) => {}
            Ok(false) => break,
            Err(sentence) => {
                code = ExitCode::FAILURE;
                complain(&format!("line {}: {sentence}", index + 1));
            }
        }
    }
    Ok(code)
}

impl Ask {
    /// Asks one question and prints its answer.
    ///
    /// # Errors
    /// What the server says, or why it cannot be asked.
    fn put(&self, statement: &str, out: &mut dyn Write) -> Result<(), String> {
        let is_opentsdb = statement.starts_with(OPENTSDB);
        if !is_opentsdb && (statement.starts_with("from(") || statement.starts_with("import \"")) {
            return Err(FLUX.to_owned());
        }
        if self.is_sql && !is_opentsdb {
            return self.put_sql(statement, out);
        }
        let mut printer = Printer::new(self.format);
        let (mut refusals, mut tables_count) = (Vec::new(), 0);
        let mut answer = BufReader::new(self.asked(statement)?);
        let mut piece = String::new();
        loop {
            piece.clear();
            let mut one = (&mut answer).take(PIECE_BYTES_MAX);
            let read = one.read_line(&mut piece);
            let read = read.map_err(|error| format!("the answer was cut off: {error}"))?;
            if read as u64 == PIECE_BYTES_MAX {
                return Err(TOO_LONG.to_owned());
            }
            if read == 0 {
                break;
            }
            if !piece.trim().is_empty() {
                let tables = match is_opentsdb {
                    true => answer::of_opentsdb(&piece)?,
                    false => answer::of_influx(&piece, &mut refusals)?,
                };
                tables_count += tables.len();
                printer.print(piece.trim(), &tables, out).map_err(unprinted)?;
            }
        }
        printer.finish(out).and_then(|()| out.flush()).map_err(unprinted)?;
        if !refusals.is_empty() {
            return Err(refusals.join("; "));
        }
        if tables_count == 0 && wants_rows(statement) {
            complain(NOTHING);
        }
        Ok(())
    }

    /// Asks a statement of SQL and prints its answer.
    fn put_sql(&self, statement: &str, out: &mut dyn Write) -> Result<(), String> {
        let mut answer = BufReader::new(self.asked(statement)?);
        if self.format == Format::Json {
            io::copy(&mut answer, out).and_then(|_| out.flush()).map_err(unprinted)?;
            return Ok(());
        }
        let cut = |error: io::Error| format!("the answer was cut off: {error}");
        let mut printer = Printer::new(self.format);
        let Some(mut answer) = sql::Answer::begin(answer, PIECE_BYTES_MAX).map_err(cut)? else {
            return Ok(());
        };
        let mut next = answer.next().map_err(cut)?;
        let has_rows = next.is_some();
        printer
            .print("", &[next.take().unwrap_or_else(|| answer.heading())], out)
            .map_err(unprinted)?;
        while let Some(table) = answer.next().map_err(cut)? {
            printer.print("", &[table], out).map_err(unprinted)?;
        }
        printer.finish(out).and_then(|()| out.flush()).map_err(unprinted)?;
        if !has_rows {
            complain(NOTHING);
        }
        Ok(())
    }

    /// Asks one question, whose answer is read as it comes.
    fn asked(&self, statement: &str) -> Result<Reading<'_>, String> {
        let asked = match statement.starts_with(OPENTSDB) {
            true => self.client.get(&self.opentsdb_target(statement)),
            false if self.is_sql => {
                let format = if self.format == Format::Json { "jsonl" } else { "csv" };
                let body = serde_json::json!({
                    "db": self.database, "q": statement, "format": format,
                });
                let body = body.to_string();
                self.client.post_as("/api/v3/query_sql", "application/json", body.as_bytes())
            }
            false => {
                // In pieces an answer is several documents.
                let chunked = (self.format != Format::Json).then_some("true");
                let pairs =
                    [("q", Some(statement)), ("db", Some(&*self.database)), ("chunked", chunked)];
                self.client.post_form("/query", &parameters(&pairs))
            }
        };
        let answer = asked.map_err(|error| error.to_string())?;
        if answer.status() == 200 {
            return Ok(answer);
        }
        let status = answer.status();
        let answer = answer.whole().map_err(|error| error.to_string())?;
        Err(refused(status, &answer.body))
    }

    fn opentsdb_target(&self, statement: &str) -> String {
        let question = statement.strip_prefix(OPENTSDB);
        let pairs = [
            ("m", question),
            ("start", Some(self.start.as_deref().unwrap_or(START))),
            ("end", self.end.as_deref()),
            ("db", Some(&*self.database)),
        ];
        format!("/api/query?ms=true&arrays=true&{}", parameters(&pairs))
    }
}

/// What the server says of a question that it refuses.
fn refused(status: u16, body: &[u8]) -> String {
    let said = remote::refusal(status, body);
    let hint = if said.contains("expected SELECT") { PROMQL_HINT } else { "" };
    said + hint
}

/// Whether a statement asks for something, rather than changes something.
fn wants_rows(statement: &str) -> bool {
    let verb = statement.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    statement.starts_with(OPENTSDB) || matches!(verb.as_str(), "SELECT" | "SHOW")
}

/// `name=value` for each value that is there.
fn parameters(pairs: &[(&str, Option<&str>)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        let Some(value) = value else { continue };
        if !text.is_empty() {
            text.push('&');
        }
        text.push_str(name);
        text.push('=');
        push_percent(value, &mut text);
    }
    text
}

fn unprinted(error: io::Error) -> String {
    format!("cannot write to standard output: {error}")
}

fn complain(sentence: &str) {
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(io::stderr(), "foliot: {sentence}");
}
