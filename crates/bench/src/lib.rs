//! `foliot bench`: load generator, query driver, oracle and reports, for Foliot and for the servers
//! it is compared with. It links no other room of Foliot: it is a stranger with a socket, so a
//! misreading of a protocol cannot be mirrored.
//!
//! Data are a function of (seed, source, step): see `fleet`, `law` and `profile`. `cursor` and
//! `feed` put them in the order of delivery, `encode` renders them, `load` sends them and
//! `verify` asks them back.
//!
//! ```text
//! foliot bench load --target influx --url 127.0.0.1:4242 --hosts 4000 --points 20M --pid 4711
//! ```

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

mod adapter;
mod args;
mod caps;
mod catalogue;
mod cursor;
mod dialect;
mod disk;
mod disorder;
mod drive;
mod encode;
mod entropy;
mod exp;
mod feed;
mod fleet;
mod http;
mod latency;
mod law;
mod ledger;
mod load;
mod measure;
mod mix;
mod oracle;
mod pace;
mod postgres;
mod profile;
mod query;
mod question;
mod random;
mod report;
mod result;
mod roundup;
mod run;
mod runs;
mod search;
mod sender;
mod server;
mod sink;
mod site;
mod spread;
mod suite;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod track;
mod verify;
mod wanted;

/// Runs the tool with the given command line, whose first word is the program's name.
///
/// The exit code is 0 when everything was written and every checked answer was right, 1 when a
/// write failed or an answer was wrong, 2 when the command could not be carried out.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args = match args::Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Help and version are answers, not errors; a closed stdout is nobody's loss.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match run::run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            say(&format!("foliot bench: {error}"));
            ExitCode::from(2)
        }
    }
}

/// Writes a line for the person at the terminal.
pub(crate) fn say(line: &str) {
    use std::io::Write as _;
    // A terminal that is gone is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{line}");
}
