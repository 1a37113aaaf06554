//! What a person sees when the server has started.

use foliot_server::{Config, Server};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;

/// Prints it to standard output; the log goes to standard error.
pub(crate) fn print(config: &Config, server: &Server, free_bytes: Option<u64>) {
    let listeners: Vec<_> =
        server.listeners().iter().map(|listener| (listener.address, listener.speaks)).collect();
    let text = text(config, &listeners, free_bytes);
    let mut out = std::io::stdout();
    // A server whose standard output is closed serves all the same.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn text(config: &Config, listeners: &[(SocketAddr, &str)], free_bytes: Option<u64>) -> String {
    let mut out = format!("Foliot {} is ready.\n\n", env!("CARGO_PKG_VERSION"));
    let free = free_bytes.map_or_else(String::new, |bytes| format!(" ({} free)", size(bytes)));
    // Writing to memory cannot fail.
    let _ = writeln!(out, "  data       {}{free}", config.data_dir.display());
    for (address, speaks) in listeners {
        let _ = writeln!(out, "  listening  {address:21} {speaks}");
    }
    let Some((main, _)) = listeners.first() else { return out };
    let host = reachable(*main);
    let _ = writeln!(out, "  open       http://{host}/");
    let access = match config.listen_insecure {
        true => "anyone who reaches a listener reads and writes everything",
        false => "this machine only, without a password",
    };
    let _ = writeln!(out, "  access     {access}");
    let metric = if config.agent_host { "proc.loadavg.1min" } else { "demo.temperature" };
    let _ = write!(
        out,
        "\nWrite:  curl -d 'demo,room=kitchen temperature=21.5' 'http://{host}/write?db=default'\n\
         Query:  curl -g 'http://{host}/api/query?start=1h-ago&m=avg:{metric}'\n\n"
    );
    out
}

/// An address that a client on this machine can use.
fn reachable(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => format!("127.0.0.1:{}", v4.port()),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => format!("[::1]:{}", v6.port()),
        address => address.to_string(),
    }
}

fn size(bytes: u64) -> String {
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
        let text = text(&Config::default(), &listeners, Some(3 << 30));
        for needed in [
            "./foliot-data (3.0 GiB free)",
            "0.0.0.0:4242",
            "http://127.0.0.1:4242/\n",
            "curl -d 'demo,room=kitchen temperature=21.5' 'http://127.0.0.1:4242/write?db=default'",
            "m=avg:demo.temperature",
        ] {
            assert!(text.contains(needed), "{needed} is missing in\n{text}");
        }
    }
}
