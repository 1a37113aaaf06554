//! What a server can do, as a closed description: its doors, what they take, how it is asked, what
//! its acknowledgements are worth. An adapter fills it in and the rest of the tool reads it, so
//! nothing else knows a server by its name.

use std::io;

use serde::{Serialize, Serializer};

use crate::dialect::Language;
use crate::disorder::{Disorder, Shuffle};
use crate::encode::{Format, Precision};
use crate::fleet::Fleet;

/// A server with all its doors.
pub(crate) struct Adapter {
    /// As `--peers` writes it before `://`.
    pub(crate) name: &'static str,
    /// The real server that this file has met.
    pub(crate) met: &'static str,
    /// What an answered write is safe from where nobody configured anything else.
    pub(crate) ack: Ack,
    /// When it really syncs to disk, as its makers say.
    pub(crate) syncs: &'static str,
    /// Asks the server at this address for its version; none where it does not tell.
    pub(crate) version: fn(&str) -> Option<String>,
    /// Makes the server at this address ready for rows of a fleet: databases and tables. Whatever
    /// exists already stays.
    pub(crate) prepare: fn(&Fleet, &str) -> io::Result<()>,
    /// (method, path) of requests that make written data searchable or compact.
    pub(crate) flush: &'static [(&'static str, &'static str)],
    pub(crate) doors: &'static [Door],
}

/// One way to write to a server, and how what was written so is asked for.
pub(crate) struct Door {
    /// As `--target` writes it.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) style: Style,
    pub(crate) format: Format,
    pub(crate) precision: Precision,
    pub(crate) way: Way,
    /// None for sinks, which answer nothing.
    pub(crate) language: Option<&'static Language>,
    pub(crate) can: &'static [Can],
    /// Lines that a request should hold at least where its size is not what is measured.
    pub(crate) batch_min: u64,
}

/// What not every door can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Can {
    /// Be asked for an acknowledgement level by `X-Foliot-Ack`.
    Acks,
    /// Unpack gzip.
    Gzip,
    /// Take rows that are older than those it has.
    Late,
    /// Take the fields of a row one by one.
    Fields,
    /// Take the same row again and count it once.
    Again,
    /// Replace a value by one that is written later for the same time.
    Replace,
    /// Show rows as soon as they are acknowledged.
    ShowAtOnce,
    /// End a stream once the client has ended its side of it.
    Close,
}

/// How bodies travel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// POST to a path
    Post(Post),
    /// A plain stream without replies
    Stream,
    /// What the adapter brings for a connection to an address
    Own(fn(&str) -> Box<dyn Carrier>),
}

/// How a body is posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Post {
    pub(crate) path: &'static str,
    pub(crate) coding: Coding,
    /// What the body of a good reply holds besides its status.
    pub(crate) good_reply: &'static str,
}

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Gzip,
    /// Snappy's block format
    Snappy,
}

/// A connection of an adapter's own kind.
pub(crate) trait Carrier: Send {
    /// Opens it, which would else happen with the first body.
    fn open(&mut self) -> io::Result<()>;

    /// Sends a body and waits until the server says that it is taken.
    fn send(&mut self, body: &[u8]) -> Result<(), String>;
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

impl std::fmt::Debug for Adapter {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl Adapter {
    /// How far off numbers may come back: see [`Language::rounding`].
    pub(crate) fn rounding(&self) -> f64 {
        let languages = self.doors.iter().filter_map(|door| door.language);
        languages.map(|language| language.rounding).fold(0.0, f64::max)
    }

    /// The door of a style; none where the server has none.
    pub(crate) fn target(&'static self, style: Style) -> Option<Target> {
        let door = self.doors.iter().find(|door| door.style == style)?;
        Some(Target { adapter: self, door })
    }

    /// The style that replaces what was written before; none where nothing does.
    pub(crate) fn overwriting_style(&self) -> Option<Style> {
        let replaces = |style: &Style| {
            self.doors.iter().any(|door| door.style == *style && door.can.contains(&Can::Replace))
        };
        [Style::Rows, Style::Sql].into_iter().find(replaces)
    }
}

/// A door of a server: what a stream of rows goes through.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) adapter: &'static Adapter,
    pub(crate) door: &'static Door,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.door.name)
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Target) -> bool {
        self.door.name == other.door.name
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.door.name)
    }
}

impl Target {
    pub(crate) fn can(self, what: Can) -> bool {
        self.door.can.contains(&what)
    }

    /// Whether the target is a sink, which answers no questions.
    pub(crate) fn is_sink(self) -> bool {
        self.door.language.is_none()
    }

    /// Whether the door can take rows in such an order.
    pub(crate) fn takes(self, disorder: &Disorder) -> bool {
        (disorder.repeated == 0.0 || self.can(Can::Again))
            && (disorder.shuffle != Shuffle::Series || self.can(Can::Fields))
            && (disorder.late == 0.0 || self.can(Can::Late))
    }

    /// The door's unit of time, unless times would lose digits in it.
    pub(crate) fn precision(self, fleet: &Fleet) -> Precision {
        let shape = &fleet.shape;
        let whole = shape.start_ms % 1000 == 0 && shape.interval_ms % 1000 == 0;
        match self.door.precision {
            Precision::S if !whole => Precision::Ms,
            precision => precision,
        }
    }
}

impl Post {
    /// Unpacked, and good where its status is.
    pub(crate) const fn to(path: &'static str) -> Way {
        Way::Post(Post { path, coding: Coding::Plain, good_reply: "" })
    }
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

    pub(crate) fn parse(text: &str) -> Result<Ack, String> {
        let known = Ack::ALL.iter().find(|(name, ack)| *name == text && *ack != Ack::Unknown);
        known.map(|(_, ack)| *ack).ok_or_else(|| format!("ack={text}: write memory, os or durable"))
    }
}
