//! Targets: which door of which server a stream goes through. One line per target says how it is
//! written to, how it is asked, and what it cannot express; `prepare` makes a server ready for it.

use std::io;

use clap::ValueEnum;
use serde::Serialize;

use crate::dialect::{DATABASE, Dialect};
use crate::disorder::{Disorder, Shuffle};
use crate::encode::{Format, Precision};
use crate::fleet::Fleet;
use crate::http::Client;

mod prepare;

/// A server kind and one of its doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Target {
    /// Foliot, line protocol over HTTP
    FoliotInflux,
    /// Foliot, line protocol over HTTP at InfluxDB 2's path
    FoliotV2,
    /// Foliot, line protocol over a plain TCP stream
    FoliotTcp,
    /// Foliot, telnet put
    FoliotPut,
    /// Foliot, OpenTSDB JSON over HTTP
    FoliotJson,
    /// InfluxDB 1.x, line protocol over HTTP
    Influx,
    /// InfluxDB 2.x, line protocol over HTTP; organisation and bucket are called default, and the
    /// address carries the token, as :TOKEN@HOST:PORT
    InfluxV2,
    /// VictoriaMetrics, line protocol over HTTP
    Victoriametrics,
    /// VictoriaMetrics, Prometheus text over HTTP
    VictoriametricsText,
    /// VictoriaMetrics, Prometheus remote write
    VictoriametricsRemote,
    /// VictoriaMetrics, telnet put (needs -opentsdbListenAddr)
    VictoriametricsPut,
    /// Prometheus, remote write (needs --web.enable-remote-write-receiver)
    Prometheus,
    /// OpenTSDB, JSON over HTTP
    Opentsdb,
    /// OpenTSDB, telnet put
    OpentsdbPut,
    /// TickTockDB, line protocol over HTTP (port 6182)
    Ticktock,
    /// TickTockDB, line protocol over a plain TCP stream (port 6180)
    TicktockTcp,
    /// TickTockDB, telnet put (port 6181)
    TicktockPut,
    /// QuestDB, line protocol over HTTP (port 9000)
    Questdb,
    /// PostgreSQL, COPY; the address may carry a login, as USER:PASSWORD@HOST:PORT
    Postgres,
    /// PostgreSQL, INSERT that overwrites
    PostgresSql,
    /// TimescaleDB, COPY into a hypertable
    Timescaledb,
    /// TimescaleDB, INSERT that overwrites
    TimescaledbSql,
    /// IoTDB, insertRecords of its REST service, as root:root@HOST:PORT
    Iotdb,
    /// Druid, batch ingestion tasks with their rows inline
    Druid,
    /// Nothing: a sink inside this process that answers 204 to line protocol
    Null,
    /// The same sink for plain TCP streams of puts
    NullPut,
}

/// How a target is written to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Door {
    pub(crate) format: Format,
    pub(crate) precision: Precision,
    pub(crate) way: Way,
}

/// How bodies travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// POST to a path
    Post(&'static str, Coding),
    /// A plain stream without replies
    Stream,
    /// Statements and COPY over PostgreSQL's wire protocol
    Script,
    /// Tasks that Druid works off
    Tasks,
}

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Plain,
    Gzip,
    /// Snappy's block format
    Snappy,
}

impl Target {
    /// How this target is written to.
    pub(crate) fn door(self) -> Door {
        use Precision::{Ms, Ns, S};
        let post = |format, precision, path| {
            let coding = if format == Format::Remote { Coding::Snappy } else { Coding::Plain };
            Door { format, precision, way: Way::Post(path, coding) }
        };
        let stream = |format, precision| Door { format, precision, way: Way::Stream };
        let script = |format| Door { format, precision: Ms, way: Way::Script };
        match self {
            Target::FoliotInflux | Target::Influx => post(Format::Lines, Ns, "/write?db=default"),
            Target::FoliotV2 | Target::InfluxV2 => {
                post(Format::Lines, Ns, "/api/v2/write?org=default&bucket=default&precision=ns")
            }
            Target::Victoriametrics | Target::Questdb => post(Format::Lines, Ns, "/write"),
            Target::Null => post(Format::Lines, Ns, "/write"),
            Target::Ticktock => post(Format::Lines, Ns, "/api/write"),
            Target::FoliotTcp | Target::TicktockTcp => stream(Format::Lines, Ns),
            Target::FoliotJson | Target::Opentsdb => post(Format::Json, Ms, "/api/put"),
            Target::VictoriametricsText => {
                post(Format::Prometheus, Ms, "/api/v1/import/prometheus")
            }
            Target::VictoriametricsRemote | Target::Prometheus => {
                post(Format::Remote, Ms, "/api/v1/write")
            }
            Target::FoliotPut | Target::OpentsdbPut | Target::NullPut => stream(Format::Puts, S),
            Target::VictoriametricsPut | Target::TicktockPut => stream(Format::Puts, S),
            Target::Postgres | Target::Timescaledb => script(Format::Copy),
            Target::PostgresSql | Target::TimescaledbSql => script(Format::Inserts),
            Target::Iotdb => post(Format::IotdbRecords, Ms, "/rest/v2/insertRecords"),
            Target::Druid => Door { format: Format::DruidTasks, precision: Ms, way: Way::Tasks },
        }
    }

    /// How this target is asked; none for the sinks. A Foliot that does not speak InfluxQL is
    /// asked in OpenTSDB's language, which reads the same data.
    pub(crate) fn dialect_at(self, address: &str) -> Option<Dialect> {
        let dialect = self.dialect()?;
        let foliot = matches!(self, Target::FoliotInflux | Target::FoliotV2 | Target::FoliotTcp);
        let absent = || {
            let reply = Client::new(address).get("/query?q=SHOW%20DATABASES");
            reply.is_ok_and(|reply| reply.status == 404)
        };
        Some(if foliot && absent() { Dialect::OpenTsdb } else { dialect })
    }

    fn dialect(self) -> Option<Dialect> {
        match self {
            Target::FoliotInflux | Target::FoliotV2 | Target::FoliotTcp => Some(Dialect::InfluxQl),
            Target::Influx | Target::InfluxV2 => Some(Dialect::InfluxQl),
            Target::FoliotPut | Target::FoliotJson => Some(Dialect::OpenTsdb),
            Target::Opentsdb | Target::OpentsdbPut => Some(Dialect::OpenTsdb),
            Target::Ticktock | Target::TicktockTcp => Some(Dialect::TickTock),
            Target::TicktockPut => Some(Dialect::TickTockPuts),
            Target::Victoriametrics | Target::VictoriametricsText => Some(Dialect::PromQl),
            Target::VictoriametricsRemote | Target::Prometheus => Some(Dialect::PromQl),
            Target::VictoriametricsPut => Some(Dialect::PromQlDotted),
            Target::Questdb => Some(Dialect::QuestSql),
            Target::Postgres | Target::PostgresSql => Some(Dialect::Postgres),
            Target::Timescaledb | Target::TimescaledbSql => Some(Dialect::Postgres),
            Target::Iotdb => Some(Dialect::Iotdb),
            Target::Druid => Some(Dialect::Druid),
            Target::Null | Target::NullPut => None,
        }
    }

    /// Whether the target is the sink inside this process.
    pub(crate) fn is_null(self) -> bool {
        matches!(self, Target::Null | Target::NullPut)
    }

    /// Whether `X-Foliot-Ack` means anything to the target.
    pub(crate) fn takes_ack(self) -> bool {
        matches!(self, Target::FoliotInflux | Target::FoliotV2 | Target::FoliotJson)
    }

    /// Whether a value that is written again replaces the first.
    pub(crate) fn overwrites(self) -> bool {
        // Of two values at one time Prometheus keeps the first, VictoriaMetrics either.
        let never = [
            Target::Prometheus,
            Target::Victoriametrics,
            Target::VictoriametricsText,
            Target::VictoriametricsRemote,
            Target::VictoriametricsPut,
        ];
        self.takes_again() && !never.contains(&self)
    }

    /// Lines that a request should hold at least where its size is not what is measured: each of
    /// Druid's tasks takes a second, whatever it holds.
    pub(crate) fn batch_min(self) -> u64 {
        if self.door().way == Way::Tasks { 5000 } else { 1 }
    }

    /// Whether the same row may be written again and counts once.
    pub(crate) fn takes_again(self) -> bool {
        // COPY refuses a row that is there; Druid and TickTockDB count it twice.
        let never = [
            Target::Postgres,
            Target::Timescaledb,
            Target::Druid,
            Target::Ticktock,
            Target::TicktockTcp,
            Target::TicktockPut,
        ];
        !never.contains(&self)
    }

    /// Whether rows are acknowledged before they can be asked for.
    pub(crate) fn shows_late(self) -> bool {
        use Target::{Druid, Opentsdb, OpentsdbPut, Questdb};
        let text = matches!(self, Target::Victoriametrics | Target::VictoriametricsText);
        let others = matches!(self, Target::VictoriametricsRemote | Target::VictoriametricsPut);
        // Nothing is acknowledged on a stream, so what was sent may still be on its way.
        text || others
            || self.door().way == Way::Stream
            || matches!(self, Questdb | Opentsdb | OpentsdbPut | Druid)
    }

    /// Whether the server ends a stream once we have ended our side of it.
    pub(crate) fn closes_streams(self) -> bool {
        !matches!(self, Target::TicktockTcp | Target::TicktockPut)
    }

    /// Whether the door can take rows in such an order.
    pub(crate) fn takes(self, disorder: &Disorder) -> bool {
        // QuestDB replaces whole rows, so fields that come one by one would wipe each other out; a
        // statement of SQL may touch a row only once.
        let whole = [Target::Questdb, Target::Druid];
        let by_row = self.door().way == Way::Script || whole.contains(&self);
        let in_order = self == Target::Prometheus;
        (disorder.repeated == 0.0 || self.takes_again())
            && (disorder.shuffle != Shuffle::Series || !by_row)
            && (disorder.late == 0.0 || !in_order)
    }

    /// Whether the door unpacks gzip.
    pub(crate) fn unpacks(self) -> bool {
        use Target::{FoliotInflux, FoliotJson, FoliotV2, Influx, InfluxV2, Opentsdb};
        let foliot = matches!(self, FoliotInflux | FoliotV2 | FoliotJson);
        let others = matches!(self, Influx | InfluxV2 | Opentsdb);
        foliot || others || matches!(self, Target::Victoriametrics | Target::VictoriametricsText)
    }

    /// What the body of a good reply holds besides its status.
    pub(crate) fn good_reply(self) -> &'static str {
        if self == Target::Iotdb { "\"code\":200" } else { "" }
    }

    /// Makes the server at `address` ready for rows of a fleet.
    pub(crate) fn prepare(self, fleet: &Fleet, address: &str) -> io::Result<()> {
        match self {
            Target::Influx => {
                prepare::ask(address, &format!("/query?q=CREATE%20DATABASE%20%22{DATABASE}%22"))
            }
            Target::Questdb => prepare::questdb(fleet, address),
            Target::Postgres | Target::PostgresSql => prepare::postgres(fleet, address, false),
            Target::Timescaledb | Target::TimescaledbSql => prepare::postgres(fleet, address, true),
            _ => Ok(()),
        }
    }

    /// (method, path) of requests that make written data searchable or compact.
    pub(crate) fn conclusion(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Target::Victoriametrics
            | Target::VictoriametricsText
            | Target::VictoriametricsRemote
            | Target::VictoriametricsPut => &[("GET", "/internal/force_flush")],
            _ => &[],
        }
    }
}
