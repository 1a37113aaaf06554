//! Sites: running servers that an experiment is pointed at, as `KIND://HOST:PORT?key=value`.

use std::io;
use std::path::PathBuf;

use crate::adapter::{ADAPTERS, Ack, Adapter, Can, Style, Target};
use crate::caps::{bind_to_all_cores, bind_to_cores};
use crate::http;
use crate::server::Watched;

/// What a report tells of each server.
pub(crate) const DISCLOSED: [&str; 6] = [
    "version",
    "acknowledges what is safe as",
    "syncs, as its makers say",
    "numbers come back",
    "command line",
    "adapter has met",
];

/// A running server.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) adapter: &'static Adapter,
    /// Names the rows of this server, its ack included.
    pub(crate) name: String,
    pub(crate) ack: Ack,
    /// Asked for with every request, where the server would give another one by itself.
    pub(crate) ack_asked: Option<Ack>,
    address: String,
    stream_address: String,
    put_address: String,
    pub(crate) query_address: String,
    pub(crate) watched: Watched,
}

impl Site {
    /// Reads
    /// `KIND://HOST:PORT?pid=N&data=DIR&query=HOST:PORT&put=HOST:PORT&stream=HOST:PORT&ack=os`.
    /// `ack` says what the server was configured to give; `ack-asked` asks Foliot for another one
    /// with each request, so only doors that can ask are used.
    pub(crate) fn parse(text: &str) -> Result<Site, String> {
        let (kind, rest) = text.split_once("://").ok_or_else(|| {
            format!("{text}: a server is written foliot://127.0.0.1:4242 or victoriametrics://…")
        })?;
        let adapter = ADAPTERS.iter().find(|adapter| adapter.name == kind);
        let adapter = *adapter.ok_or_else(|| {
            let names: Vec<&str> = ADAPTERS.iter().map(|adapter| adapter.name).collect();
            format!("{kind} is no known server; known are {}", names.join(", "))
        })?;
        let (address, options) = rest.split_once('?').unwrap_or((rest, ""));
        let address = address.trim_end_matches('/').to_owned();
        let mut site = Site {
            adapter,
            name: kind.to_owned(),
            ack: adapter.ack,
            ack_asked: None,
            stream_address: address.clone(),
            put_address: address.clone(),
            query_address: address.clone(),
            address,
            watched: Watched::default(),
        };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "pid" => {
                    let pid = value.parse().map_err(|_| format!("{value} is no process id"))?;
                    site.watched.pid = Some(pid);
                }
                "data" => site.watched.data_dir = Some(PathBuf::from(value)),
                "query" => site.query_address = value.to_owned(),
                "put" => site.put_address = value.to_owned(),
                "stream" => site.stream_address = value.to_owned(),
                "name" => site.name = value.to_owned(),
                "ack" => site.ack = Ack::parse(value)?,
                "ack-asked" => {
                    site.ack = Ack::parse(value)?;
                    site.ack_asked = Some(site.ack);
                }
                _ => {
                    let known = "pid, data, query, put, stream, name, ack or ack-asked";
                    return Err(format!("{key}: unknown; use {known}"));
                }
            }
        }
        site.name = format!("{} ({})", site.name, site.ack.name());
        Ok(site)
    }

    /// Whether somebody listens where the site is asked; the error names it.
    pub(crate) fn reach(&self) -> io::Result<()> {
        let named = |error: io::Error| io::Error::other(format!("{}: {error}", self.name));
        http::reach(&self.query_address).map_err(named)
    }

    /// HOST:PORT of the door of a style.
    pub(crate) fn address(&self, style: Style) -> String {
        match style {
            Style::Stream => self.stream_address.clone(),
            Style::Put => self.put_address.clone(),
            _ => self.address.clone(),
        }
    }

    /// The door of a style; none where the server has none, or it cannot ask for the ack.
    pub(crate) fn target(&self, style: Style) -> Option<Target> {
        let target = self.adapter.target(style)?;
        (self.ack_asked.is_none() || target.can(Can::Acks)).then_some(target)
    }

    /// What is to be disclosed of the server, as [`DISCLOSED`] heads it.
    pub(crate) fn disclosure(&self) -> [String; 6] {
        let unknown = || "not told".to_owned();
        [
            (self.adapter.version)(&self.query_address).unwrap_or_else(unknown),
            self.ack.name().to_owned(),
            self.adapter.syncs.to_owned(),
            match self.adapter.rounding() {
                rounding if rounding > 0.0 => format!("within {rounding:e} of themselves, or of 1"),
                _ => "as they went in".to_owned(),
            },
            self.watched.pid.and_then(command_line).unwrap_or_else(unknown),
            self.adapter.met.to_owned(),
        ]
    }

    /// Binds the server to the first `count` cores; the error says why not.
    pub(crate) fn bind_to_cores(&self, count: usize) -> Result<(), String> {
        bind_to_cores(&self.watched.pids(), count)
    }

    /// Gives the server its cores back.
    pub(crate) fn bind_to_all_cores(&self) -> Result<(), String> {
        bind_to_all_cores(&self.watched.pids())
    }
}

/// The command line of a process, where this user may see it.
fn command_line(pid: u32) -> Option<String> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<String> = words
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_that_of_the_process() {
        let own = command_line(std::process::id()).unwrap();
        assert!(own.contains("foliot_bench"), "{own}");
    }

    #[test]
    fn sites_are_read_with_their_options() {
        let site = Site::parse("victoriametrics://127.0.0.1:8428?pid=7&put=127.0.0.1:4242&data=/x");
        let site = site.unwrap();
        assert_eq!(site.adapter.name, "victoriametrics");
        assert_eq!(site.address(Style::Put), "127.0.0.1:4242");
        assert_eq!(site.address(Style::Rows), "127.0.0.1:8428");
        assert_eq!(site.watched.pid, Some(7));
        assert_eq!((site.name.as_str(), site.ack_asked), ("victoriametrics (memory)", None));
        let asked = Site::parse("foliot://a:1?ack-asked=os&name=mine").unwrap();
        assert_eq!((asked.name.as_str(), asked.ack_asked), ("mine (os)", Some(Ack::Os)));
        assert_eq!(asked.target(Style::Rows).unwrap().door.name, "foliot-influx");
        assert!(asked.target(Style::Stream).is_none(), "a stream cannot ask");
        assert_eq!(Site::parse("druid://a:1").unwrap().name, "druid (ack unknown)");
        assert!(Site::parse("foliot://a:1?ack=always").is_err());
        assert!(Site::parse("mysql://127.0.0.1:1").unwrap_err().contains("known are foliot"));
        assert!(Site::parse("127.0.0.1:1").is_err());
        assert!(Site::parse("foliot://a:1?colour=red").is_err());
    }
}
