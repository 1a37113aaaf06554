//! Asks servers for their versions. What one does not tell is not guessed.

use super::SiteKind;
use crate::http::Client;
use crate::postgres::Session;

/// Letters between the word before a version and the version itself, at the most.
const GAP_MAX: usize = 40;

/// The version that a server says it has.
pub(super) fn ask(kind: SiteKind, address: &str) -> Option<String> {
    let version = "\"version\"";
    match kind {
        SiteKind::Foliot | SiteKind::Opentsdb | SiteKind::Ticktock => {
            told(&get(address, "/api/version")?, version)
        }
        SiteKind::Victoriametrics => told(&get(address, "/metrics")?, "short_version="),
        SiteKind::Prometheus => told(&get(address, "/api/v1/status/buildinfo")?, version),
        SiteKind::Influx => Client::new(address).get("/ping").ok()?.server_version,
        SiteKind::InfluxV2 => told(&get(address, "/health")?, version),
        SiteKind::Questdb => told(&get(address, "/exec?query=select%20build()")?, "QuestDB"),
        SiteKind::Druid => told(&get(address, "/status")?, version),
        SiteKind::Postgres => told(&select(address, "SELECT version()")?, "PostgreSQL"),
        SiteKind::Timescaledb => {
            let extension = "SELECT 'is ' || extversion FROM pg_extension \
                             WHERE extname = 'timescaledb'";
            let server = told(&select(address, "SELECT version()")?, "PostgreSQL")?;
            let extension = select(address, extension).and_then(|text| told(&text, "is"));
            Some(format!("{} in PostgreSQL {server}", extension.unwrap_or_default()))
        }
        SiteKind::Iotdb => {
            let headers = "Content-Type: application/json\r\n";
            let body = br#"{"sql":"SHOW VERSION"}"#;
            let reply = Client::new(address).send("POST", "/rest/v2/query", headers, body).ok()?;
            told(&String::from_utf8_lossy(&reply.body), "values")
        }
    }
}

/// The command line of a process, where this user may see it.
pub(super) fn command_line(pid: u32) -> Option<String> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<String> = words
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn get(address: &str, path: &str) -> Option<String> {
    let reply = Client::new(address).get(path).ok().filter(|reply| reply.is_success())?;
    Some(String::from_utf8_lossy(&reply.body).into_owned())
}

fn select(address: &str, statement: &str) -> Option<String> {
    let rows = Session::open(address).ok()?.run(statement).ok()?;
    Some(String::from_utf8_lossy(&rows).into_owned())
}

/// The first number with points that follows a word.
fn told(text: &str, word: &str) -> Option<String> {
    let rest = text.get(text.find(word)? + word.len()..)?;
    let begin = rest.find(|letter: char| letter.is_ascii_digit()).filter(|at| *at <= GAP_MAX)?;
    let rest = rest.get(begin..)?;
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || ".-+".contains(letter);
    let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    rest.get(..end).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_servers_say() {
        let json = r#"{"short_revision":"","version":"2.4.1","host":"x"}"#;
        assert_eq!(told(json, "\"version\"").unwrap(), "2.4.1");
        let metrics =
            "vm_app_version{version=\"victoria-metrics-20220711\", short_version=\"v1.79.5\"} 1";
        assert_eq!(told(metrics, "short_version=").unwrap(), "1.79.5");
        let row = "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64";
        assert_eq!(told(row, "PostgreSQL").unwrap(), "15.18");
        assert_eq!(told("Build Information: QuestDB 9.0.1, JDK 17", "QuestDB").unwrap(), "9.0.1");
        assert_eq!(told("{}", "version"), None);
    }

    #[test]
    fn the_command_line_is_that_of_the_process() {
        let own = command_line(std::process::id()).unwrap();
        assert!(own.contains("foliot_bench"), "{own}");
    }
}
