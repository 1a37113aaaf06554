//! Sites: running servers that an experiment is pointed at, as `KIND://HOST:PORT?key=value`.

use std::io;
use std::path::PathBuf;

use crate::caps::{bind_to_all_cores, bind_to_cores};
use crate::http;
use crate::server::Watched;
use crate::target::Target;

mod version;

/// A server kind with all its doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiteKind {
    Foliot,
    Victoriametrics,
    Prometheus,
    Influx,
    InfluxV2,
    Opentsdb,
    Ticktock,
    Questdb,
    Postgres,
    Timescaledb,
    Iotdb,
    Druid,
}

/// How data go in, whatever the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Whole rows, answered: Influx lines over HTTP, or what the server has in their place (COPY,
    /// records, tasks, remote write)
    Rows,
    /// Influx lines at InfluxDB 2's path, beside those at InfluxDB 1's
    RowsV2,
    /// Influx lines over a plain stream
    Stream,
    /// Telnet puts
    Put,
    /// OpenTSDB's JSON
    Json,
    /// Prometheus text
    Text,
    /// Prometheus remote write, beside another way
    Remote,
    /// SQL that overwrites, beside COPY
    Sql,
}

impl Style {
    /// Every style with its name.
    pub(crate) const ALL: [(Style, &'static str); 8] = [
        (Style::Rows, "rows"),
        (Style::RowsV2, "lines at /api/v2/write"),
        (Style::Stream, "lines over TCP"),
        (Style::Put, "telnet put"),
        (Style::Json, "OpenTSDB JSON"),
        (Style::Text, "Prometheus text"),
        (Style::Remote, "remote write"),
        (Style::Sql, "SQL INSERT"),
    ];
}

/// What an answered write is safe from. Servers of different kinds of it do different work, so it
/// is part of every row's name and no ratio mixes two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ack {
    /// Nothing: it is in the memory of the process.
    Memory,
    /// The end of the process: the operating system has it.
    Os,
    /// Power loss: it was synced.
    Durable,
    /// What this server gives is not known here.
    Unknown,
}

impl Ack {
    const ALL: [(&'static str, Ack); 4] = [
        ("memory", Ack::Memory),
        ("os", Ack::Os),
        ("durable", Ack::Durable),
        ("ack unknown", Ack::Unknown),
    ];

    pub(crate) fn name(self) -> &'static str {
        Ack::ALL.iter().find(|(_, ack)| *ack == self).map_or("", |(name, _)| name)
    }

    fn parse(text: &str) -> Result<Ack, String> {
        let known = Ack::ALL.iter().find(|(name, ack)| *name == text && *ack != Ack::Unknown);
        known.map(|(_, ack)| *ack).ok_or_else(|| format!("ack={text}: write memory, os or durable"))
    }
}

/// A running server.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) kind: SiteKind,
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

impl SiteKind {
    const ALL: [(&'static str, SiteKind); 12] = [
        ("foliot", SiteKind::Foliot),
        ("victoriametrics", SiteKind::Victoriametrics),
        ("prometheus", SiteKind::Prometheus),
        ("influx", SiteKind::Influx),
        ("influx-v2", SiteKind::InfluxV2),
        ("opentsdb", SiteKind::Opentsdb),
        ("ticktock", SiteKind::Ticktock),
        ("questdb", SiteKind::Questdb),
        ("postgres", SiteKind::Postgres),
        ("timescaledb", SiteKind::Timescaledb),
        ("iotdb", SiteKind::Iotdb),
        ("druid", SiteKind::Druid),
    ];

    /// The target behind a style; none where the server has no such door.
    pub(crate) fn target(self, style: Style) -> Option<Target> {
        match (self, style) {
            (SiteKind::Foliot, Style::Rows) => Some(Target::FoliotInflux),
            (SiteKind::Foliot, Style::RowsV2) => Some(Target::FoliotV2),
            (SiteKind::Foliot, Style::Stream) => Some(Target::FoliotTcp),
            (SiteKind::Foliot, Style::Put) => Some(Target::FoliotPut),
            (SiteKind::Foliot, Style::Json) => Some(Target::FoliotJson),
            (SiteKind::Victoriametrics, Style::Rows) => Some(Target::Victoriametrics),
            (SiteKind::Victoriametrics, Style::Put) => Some(Target::VictoriametricsPut),
            (SiteKind::Victoriametrics, Style::Text) => Some(Target::VictoriametricsText),
            (SiteKind::Victoriametrics, Style::Remote) => Some(Target::VictoriametricsRemote),
            (SiteKind::Prometheus, Style::Rows) => Some(Target::Prometheus),
            (SiteKind::InfluxV2, Style::Rows) => Some(Target::InfluxV2),
            (SiteKind::Postgres, Style::Rows) => Some(Target::Postgres),
            (SiteKind::Postgres, Style::Sql) => Some(Target::PostgresSql),
            (SiteKind::Timescaledb, Style::Rows) => Some(Target::Timescaledb),
            (SiteKind::Timescaledb, Style::Sql) => Some(Target::TimescaledbSql),
            (SiteKind::Iotdb, Style::Rows) => Some(Target::Iotdb),
            (SiteKind::Druid, Style::Rows) => Some(Target::Druid),
            (SiteKind::Influx, Style::Rows) => Some(Target::Influx),
            (SiteKind::Opentsdb, Style::Json) => Some(Target::Opentsdb),
            (SiteKind::Opentsdb, Style::Put) => Some(Target::OpentsdbPut),
            (SiteKind::Ticktock, Style::Rows) => Some(Target::Ticktock),
            (SiteKind::Ticktock, Style::Stream) => Some(Target::TicktockTcp),
            (SiteKind::Ticktock, Style::Put) => Some(Target::TicktockPut),
            (SiteKind::Questdb, Style::Rows) => Some(Target::Questdb),
            _ => None,
        }
    }

    /// The style that replaces what was written before; none where nothing does.
    pub(crate) fn overwriting_style(self) -> Option<Style> {
        let replaces = |style: &Style| self.target(*style).is_some_and(Target::overwrites);
        [Style::Rows, Style::Sql].into_iter().find(replaces)
    }

    /// What an answered write is safe from where nobody configured anything else.
    fn ack(self) -> Ack {
        match self {
            SiteKind::Foliot | SiteKind::Postgres | SiteKind::Timescaledb => Ack::Durable,
            SiteKind::Influx | SiteKind::InfluxV2 => Ack::Durable,
            SiteKind::Victoriametrics => Ack::Memory,
            SiteKind::Prometheus | SiteKind::Questdb => Ack::Os,
            SiteKind::Opentsdb | SiteKind::Ticktock | SiteKind::Iotdb | SiteKind::Druid => {
                Ack::Unknown
            }
        }
    }

    /// The real server that the adapter has met; none when it never met any.
    pub(crate) fn has_met(self) -> Option<&'static str> {
        match self {
            SiteKind::Foliot => Some("this release"),
            SiteKind::Victoriametrics => Some("1.79.5 (Debian)"),
            SiteKind::Prometheus => Some("2.42.0 (Debian)"),
            SiteKind::Influx => Some("1.6.7 (Debian)"),
            SiteKind::Ticktock => Some("1.1.1 (built from its source)"),
            SiteKind::Questdb => Some("9.0.1"),
            SiteKind::Postgres => Some("15 (Debian)"),
            SiteKind::Opentsdb => Some("2.4.1 over HBase 1.4.14 (Maven Central)"),
            SiteKind::InfluxV2 => Some("2.7.12 (built from its source)"),
            SiteKind::Timescaledb => Some("2.22.1, Apache edition (built from its source)"),
            SiteKind::Iotdb => Some("2.0.1-beta"),
            SiteKind::Druid => Some("33.0.0"),
        }
    }
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
        let known = SiteKind::ALL.iter().find(|(name, _)| *name == kind);
        let (_, known) = known.ok_or_else(|| {
            let names: Vec<&str> = SiteKind::ALL.iter().map(|(name, _)| *name).collect();
            format!("{kind} is no known server; known are {}", names.join(", "))
        })?;
        let (address, options) = rest.split_once('?').unwrap_or((rest, ""));
        let address = address.trim_end_matches('/').to_owned();
        let mut site = Site {
            kind: *known,
            name: kind.to_owned(),
            ack: known.ack(),
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
        let target = self.kind.target(style)?;
        (self.ack_asked.is_none() || target.takes_ack()).then_some(target)
    }

    /// What is to be disclosed of the server: its version as it tells it, what its answers are safe
    /// from, its command line, and which server its adapter has met.
    pub(crate) fn disclosure(&self) -> [String; 4] {
        let unknown = || "not told".to_owned();
        [
            version::ask(self.kind, &self.query_address).unwrap_or_else(unknown),
            self.ack.name().to_owned(),
            self.watched.pid.and_then(version::command_line).unwrap_or_else(unknown),
            self.kind.has_met().unwrap_or("untested: it has never met its real server").to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_read_with_their_options() {
        let site = Site::parse("victoriametrics://127.0.0.1:8428?pid=7&put=127.0.0.1:4242&data=/x");
        let site = site.unwrap();
        assert_eq!(site.kind, SiteKind::Victoriametrics);
        assert_eq!(site.address(Style::Put), "127.0.0.1:4242");
        assert_eq!(site.address(Style::Rows), "127.0.0.1:8428");
        assert_eq!(site.watched.pid, Some(7));
        assert_eq!((site.name.as_str(), site.ack_asked), ("victoriametrics (memory)", None));
        let asked = Site::parse("foliot://a:1?ack-asked=os&name=mine").unwrap();
        assert_eq!((asked.name.as_str(), asked.ack_asked), ("mine (os)", Some(Ack::Os)));
        assert_eq!(asked.target(Style::Rows), Some(Target::FoliotInflux));
        assert_eq!(asked.target(Style::Stream), None, "a stream cannot ask");
        assert_eq!(Site::parse("druid://a:1").unwrap().name, "druid (ack unknown)");
        assert!(Site::parse("foliot://a:1?ack=always").is_err());
        assert!(Site::parse("mysql://127.0.0.1:1").unwrap_err().contains("known are foliot"));
        assert!(Site::parse("127.0.0.1:1").is_err());
        assert!(Site::parse("foliot://a:1?colour=red").is_err());
    }
}
