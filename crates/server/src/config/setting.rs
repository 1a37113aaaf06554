//! Kinds of settings: how text becomes a value and back.

use crate::Ack;
use crate::logging::LogFormat;
use crate::mqtt::Template;
use foliot_access::{Network, Networks};
use foliot_proto_opentsdb::Rollups;
use foliot_schema::{DatabaseName, check_name};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A value that a setting can have.
pub trait Setting: Sized {
    /// What kind of text it takes, for the reference.
    const KIND: &'static str;
    /// Reads it. The error says what would have been right.
    fn read(text: &str) -> Result<Self, String>;
    /// Spells it so that [`Setting::read`] gives the same value.
    fn show(&self) -> String;
}

/// A number of bytes, written as `64MiB`, `20GB` or plainly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// Most bytes of one request: batches address a request's bytes with 31 bits.
    pub const REQUEST_MAX: u64 = 1 << 30;

    /// For a person: in the largest unit of which there is one, rounded down.
    pub fn rounded(self) -> String {
        let (name, unit) = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
            .into_iter()
            .find(|(_, shift)| self.0 >> shift > 0)
            .unwrap_or(("bytes", 0));
        format!("{} {name}", self.0 >> unit)
    }
}

/// An optional listener: an address, or `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen(pub Option<SocketAddr>);

/// Any number of listeners: addresses separated by commas, or `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listens(pub Vec<SocketAddr>);

/// A server to connect to, `host:port`, or `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPort(pub Option<(String, u16)>);

/// Words separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

/// Addresses and blocks of addresses, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses(pub Networks);

/// Templates of topics, separated by commas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Templates(pub Vec<Template>);

/// Text as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plain(pub String);

/// The rollups that are kept, as JSON, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RollupTables {
    text: String,
    /// Nothing when none are kept.
    pub rollups: Option<Arc<Rollups>>,
}

/// Text that is not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "Secret()" } else { "Secret(..)" })
    }
}

/// A number of bytes, or whatever there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(pub Option<u64>);

impl Setting for Memory {
    const KIND: &'static str = "bytes, or `auto`";
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "auto" => Ok(Self(None)),
            text => ByteSize::read(text).map(|size| Self(Some(size.0))),
        }
    }
    fn show(&self) -> String {
        self.0.map_or_else(|| "auto".to_owned(), |bytes| ByteSize(bytes).show())
    }
}

const BYTE_UNITS: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
];

impl Setting for Addresses {
    const KIND: &'static str = "addresses (`10.0.0.0/8, ::1`)";
    fn read(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let blocks: Result<Vec<Network>, String> = words.map(str::parse).collect();
        Ok(Self(Networks(blocks?)))
    }
    fn show(&self) -> String {
        let blocks: Vec<String> = self.0.0.iter().map(Network::to_string).collect();
        blocks.join(",")
    }
}

impl Setting for ByteSize {
    const KIND: &'static str = "bytes (`64MiB`, `2GB`)";
    fn read(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let lower = lower.trim();
        let (digits, unit) = BYTE_UNITS
            .iter()
            .find_map(|(name, unit)| Some((lower.strip_suffix(&name.to_ascii_lowercase())?, *unit)))
            .unwrap_or((lower.strip_suffix('b').unwrap_or(lower), 1));
        let number = digits.trim_end().parse::<u64>().ok();
        number
            .and_then(|number| number.checked_mul(unit))
            .map(Self)
            .ok_or_else(|| format!("'{text}' is not a number of bytes such as 64MiB or 2GB"))
    }
    fn show(&self) -> String {
        let fits = |unit: &u64| self.0 != 0 && self.0.is_multiple_of(*unit);
        let best = BYTE_UNITS.iter().filter(|(_, unit)| fits(unit)).max_by_key(|(_, unit)| *unit);
        match best {
            Some((name, unit)) => format!("{}{name}", self.0 / unit),
            None => self.0.to_string(),
        }
    }
}

const TIME_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Setting for Duration {
    const KIND: &'static str = "time (`500ms`, `10s`, `5m`, `2h`)";
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = text.strip_suffix(unit).unwrap_or(text);
        let millis = match unit {
            // A plain number is in seconds, as in `limits.query_seconds = 60`.
            "" => Some(1_000),
            _ => TIME_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, millis)| *millis),
        };
        let number = digits.parse::<u64>().ok();
        number
            .zip(millis)
            .and_then(|(number, millis)| number.checked_mul(millis))
            .map(Self::from_millis)
            .ok_or_else(|| format!("'{text}' is not a time such as 500ms, 10s, 5m or 2h"))
    }
    fn show(&self) -> String {
        let millis = self.as_millis() as u64;
        let fits = |unit: &u64| millis != 0 && millis.is_multiple_of(*unit);
        match TIME_UNITS.iter().rev().find(|(_, unit)| fits(unit)) {
            Some((name, unit)) => format!("{}{name}", millis / unit),
            None => format!("{millis}ms"),
        }
    }
}

impl Setting for u64 {
    const KIND: &'static str = "number";
    fn read(text: &str) -> Result<Self, String> {
        let digits = text.trim().replace('_', "");
        digits.parse().map_err(|_| format!("'{text}' is not a whole number"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for bool {
    const KIND: &'static str = "`true` or `false`";
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "true" | "on" | "yes" | "1" => Ok(true),
            "false" | "off" | "no" | "0" => Ok(false),
            _ => Err(format!("'{text}' is neither true nor false")),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for PathBuf {
    const KIND: &'static str = "path";
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("a path cannot be empty".to_owned()),
            _ => Ok(Self::from(text)),
        }
    }
    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Setting for SocketAddr {
    const KIND: &'static str = "address and port";
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        // A bare port, or one after a colon, means the loopback address.
        let port = text.strip_prefix(':').unwrap_or(text);
        if let Ok(port) = port.parse::<u16>() {
            return Ok(Self::from((std::net::Ipv4Addr::LOCALHOST, port)));
        }
        let text = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let text = text.as_deref().unwrap_or(port);
        text.parse().map_err(|_| format!("'{text}' is not an address such as 127.0.0.1:4242"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for Listen {
    const KIND: &'static str = "address and port, or `off`";
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" | "" => Ok(Self(None)),
            text => SocketAddr::read(text).map(|address| Self(Some(address))),
        }
    }
    fn show(&self) -> String {
        self.0.map_or_else(|| "off".to_owned(), |address| address.to_string())
    }
}

impl Setting for DatabaseName {
    const KIND: &'static str = "`database` or `database/policy`";
    fn read(text: &str) -> Result<Self, String> {
        let name = Self::parse(text.trim()).ok_or_else(|| {
            format!("'{text}' names no database: use database or database/policy")
        })?;
        for part in std::iter::once(&name.database).chain(&name.policy) {
            check_name(part).map_err(|error| error.to_string())?;
        }
        Ok(name)
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for Listens {
    const KIND: &'static str = "addresses and ports, or `off`";
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" | "" => Ok(Self::default()),
            text => text.split(',').map(SocketAddr::read).collect::<Result<_, _>>().map(Self),
        }
    }
    fn show(&self) -> String {
        match self.0.is_empty() {
            true => "off".to_owned(),
            false => self.0.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(","),
        }
    }
}

impl Setting for HostPort {
    const KIND: &'static str = "host and port, or `off`";
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if matches!(text, "off" | "") {
            return Ok(Self(None));
        }
        if text.starts_with("mqtts://") || text.starts_with("ssl://") {
            return Err(format!("'{text}': give the host and the port, and set mqtt.tls"));
        }
        let bare = ["mqtt://", "tcp://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let bare = bare.unwrap_or(text).trim_end_matches('/');
        // What is shown of this setting is shown to all who may see settings.
        if bare.contains('@') {
            return Err(
                "a host and a port have no user and no password: set mqtt.user and mqtt.password"
                    .to_owned(),
            );
        }
        let parts = bare.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
        match parts {
            Some((host, port)) if !host.is_empty() => Ok(Self(Some((host.to_owned(), port)))),
            _ => Err(format!("'{text}' is not a host and a port such as localhost:1883")),
        }
    }
    fn show(&self) -> String {
        self.0.as_ref().map_or_else(|| "off".to_owned(), |(host, port)| format!("{host}:{port}"))
    }
}

impl Setting for Words {
    const KIND: &'static str = "words";
    fn read(text: &str) -> Result<Self, String> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        Ok(Self(words.map(str::to_owned).collect()))
    }
    fn show(&self) -> String {
        self.0.join(",")
    }
}

impl Setting for Templates {
    const KIND: &'static str = "templates";
    fn read(text: &str) -> Result<Self, String> {
        let templates = text.split(',').map(str::trim).filter(|text| !text.is_empty());
        templates.map(Template::parse).collect::<Result<_, _>>().map(Self)
    }
    fn show(&self) -> String {
        let templates: Vec<String> = self.0.iter().map(Template::to_string).collect();
        templates.join(",")
    }
}

impl Setting for Plain {
    const KIND: &'static str = "text";
    fn read(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
    fn show(&self) -> String {
        self.0.clone()
    }
}

impl Setting for RollupTables {
    const KIND: &'static str = "JSON";
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let rollups = match text {
            "" => None,
            text => Some(Arc::new(Rollups::parse(text)?)),
        };
        Ok(Self { text: text.to_owned(), rollups })
    }
    fn show(&self) -> String {
        self.text.clone()
    }
}

impl Setting for Secret {
    const KIND: &'static str = "text, not shown";
    fn read(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }
    fn show(&self) -> String {
        if self.0.is_empty() { String::new() } else { "********".to_owned() }
    }
}

impl Setting for Ack {
    const KIND: &'static str = "`durable`, `os` or `memory`";
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        text.parse().map_err(|_| format!("'{text}' is none of durable, os and memory"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for log::LevelFilter {
    const KIND: &'static str = "level";
    fn read(text: &str) -> Result<Self, String> {
        text.trim()
            .parse()
            .map_err(|_| format!("'{text}' is none of off, error, warn, info, debug and trace"))
    }
    fn show(&self) -> String {
        self.to_string().to_ascii_lowercase()
    }
}

impl Setting for LogFormat {
    const KIND: &'static str = "`text` or `json`";
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("'{text}' is neither text nor json")),
        }
    }
    fn show(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Json => "json".to_owned(),
        }
    }
}
