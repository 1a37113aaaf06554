//! What a person sees when the server has started.

use foliot_server::config::Setting;
use foliot_server::{Config, Server};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;

/// What the machine has for the server, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct There {
    /// Free on the disk of the store.
    pub(crate) disk_bytes: Option<u64>,
    /// All memory of the machine or its container.
    pub(crate) memory_bytes: Option<u64>,
}

/// Prints it to standard output; the log goes to standard error.
pub(crate) fn print(config: &Config, server: &Server, there: &There, first: Option<&str>) {
    let listeners: Vec<_> =
        server.listeners().iter().map(|listener| (listener.address, listener.speaks)).collect();
    let text = text(config, &listeners, there, first);
    let mut out = std::io::stdout();
    // A server whose standard output is closed serves all the same.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn text(
    config: &Config,
    listeners: &[(SocketAddr, &str)],
    there: &There,
    first: Option<&str>,
) -> String {
    let mut out = format!("Foliot {} is ready.\n\n", env!("CARGO_PKG_VERSION"));
    let free =
        there.disk_bytes.map_or_else(String::new, |bytes| format!(" ({} free)", size(bytes)));
    // Writing to memory cannot fail.
    let _ = writeln!(out, "  data       {}{free}", config.data_dir.display());
    let _ = writeln!(out, "  keeps      {}", keeps(config));
    if let Some(most) = memory(config, there) {
        let _ = writeln!(out, "  memory     up to {most}");
    }
    for (address, speaks) in listeners {
        let _ = writeln!(out, "  listening  {address:21} {speaks}");
    }
    let Some((main, _)) = listeners.first() else { return out };
    let host = reachable(*main);
    let is_secret = !config.tls_certificate.0.is_empty();
    let (scheme, trust) = match is_secret {
        true => ("https", format!("--cacert {} ", config.tls_certificate.show())),
        false => ("http", String::new()),
    };
    let _ = writeln!(out, "  open       {scheme}://{host}/");
    let is_exposed = listeners.iter().any(|(address, _)| !address.ip().is_loopback());
    let _ = writeln!(out, "  access     {}", access(config, is_exposed));
    if config.access_enabled && is_exposed && !is_secret {
        let _ = writeln!(
            out,
            "             passwords cross the network in the clear: see tls.certificate"
        );
    }
    if config.access_enabled && !config.access_write_from.0.0.is_empty() {
        let from = config.access_write_from.show();
        let _ =
            writeln!(out, "             {from} write without one to {}", config.listen_database);
    }
    if config.http_cors_domains.0.iter().any(|domain| domain == "*") {
        let _ = writeln!(
            out,
            "             pages of every site may ask and write here: http.cors_domains is *"
        );
    }
    if let Some(first) = first {
        let _ = writeln!(
            out,
            "\n  There is no administrator yet. Until there is one, this token may do everything:\n    \
             {first}\n  Make one with it:\n    curl {trust}-H 'Authorization: Token {first}' \
             {scheme}://{host}/query \\\n      --data-urlencode \"q=CREATE USER root WITH PASSWORD \
             '…' WITH ALL PRIVILEGES\""
        );
    }
    let metric = if config.agent_host { "proc.loadavg.1min" } else { "demo.temperature" };
    let who = if config.access_enabled { "-u NAME:PASSWORD " } else { "" };
    let _ = write!(
        out,
        "\nWrite:  curl {trust}{who}-d 'demo,room=kitchen temperature=21.5' \
         '{scheme}://{host}/write?db={}'\n\
         Query:  curl {trust}{who}-g '{scheme}://{host}/api/query?start=1h-ago&m=avg:{metric}'\n\n",
        config.listen_database.database
    );
    out
}

/// Who may come in.
fn access(config: &Config, is_exposed: bool) -> &'static str {
    match (config.access_enabled, is_exposed) {
        (true, _) => "by user and password, or by token",
        (false, true) => "anyone who reaches a listener reads and writes everything",
        (false, false) => "this machine only, without a password",
    }
}

/// How much memory the server may take.
fn memory(config: &Config, there: &There) -> Option<String> {
    match (config.limits_memory_bytes.0, there.memory_bytes) {
        (Some(most), _) => Some(size(most)),
        (None, all) => Some(format!("{}, all that is here (limits.memory_bytes)", size(all?))),
    }
}

/// How long samples are kept.
fn keeps(config: &Config) -> String {
    let mut text = match config.retention_time.0 {
        None => "samples for ever".to_owned(),
        Some(_) => format!("samples for {}, older ones expire", config.retention_time.show()),
    };
    match config.retention_rules.0.len() {
        0 => {}
        1 => text.push_str("; one rule says otherwise"),
        rules => {
            let _ = write!(text, "; {rules} rules say otherwise");
        }
    }
    if let Some(bytes) = config.retention_size.0 {
        let _ = write!(text, "; at most {}", size(bytes));
    }
    text
}

/// An address that a client on this machine can use.
fn reachable(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => format!("127.0.0.1:{}", v4.port()),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => format!("[::1]:{}", v6.port()),
        address => address.to_string(),
    }
}

pub(crate) fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", units.get(unit).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_holds_what_a_newcomer_needs() {
        let address: SocketAddr = "0.0.0.0:4242".parse().unwrap();
        let listeners = [(address, "HTTP, telnet, Influx lines")];
        let there = There { disk_bytes: Some(3 << 30), memory_bytes: Some(512 << 20) };
        let text = text(&Config::default(), &listeners, &there, None);
        for needed in [
            "./foliot-data (3.0 GiB free)",
            "keeps      samples for ever\n",
            "memory     up to 512.0 MiB, all that is here (limits.memory_bytes)\n",
            "0.0.0.0:4242",
            "http://127.0.0.1:4242/\n",
            "curl -d 'demo,room=kitchen temperature=21.5' 'http://127.0.0.1:4242/write?db=default'",
            "m=avg:demo.temperature",
        ] {
            assert!(text.contains(needed), "{needed} is missing in\n{text}");
        }
    }

    #[test]
    fn under_tls_the_commands_say_whom_to_trust() {
        let address: SocketAddr = "127.0.0.1:4242".parse().unwrap();
        let mut config = Config { access_enabled: true, ..Config::default() };
        config.tls_certificate.0 = "tls/cert.pem".into();
        let text = text(&config, &[(address, "HTTP")], &There::default(), Some("secret"));
        for needed in [
            "open       https://127.0.0.1:4242/\n",
            "curl --cacert tls/cert.pem -H 'Authorization: Token secret' https://127.0.0.1:4242/query",
            "curl --cacert tls/cert.pem -u NAME:PASSWORD -g 'https://127.0.0.1:4242/api/query",
        ] {
            assert!(text.contains(needed), "{needed} is missing in\n{text}");
        }
        assert!(!text.contains("http://"), "{text}");
    }
}
