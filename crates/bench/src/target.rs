//! Targets: which door of which server a stream goes through. One line per target says how it is
//! written to, how it is asked, and what must be done before and after. No socket is opened here.

use clap::ValueEnum;
use serde::Serialize;

use crate::dialect::Dialect;
use crate::encode::{Format, Precision};
use crate::http::Client;

/// A server kind and one of its doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Target {
    /// Foliot, line protocol over HTTP
    FoliotInflux,
    /// Foliot, line protocol over a plain TCP stream
    FoliotTcp,
    /// Foliot, telnet put
    FoliotPut,
    /// Foliot, OpenTSDB JSON over HTTP
    FoliotJson,
    /// InfluxDB 1.x, line protocol over HTTP
    Influx,
    /// VictoriaMetrics, line protocol over HTTP
    Victoriametrics,
    /// VictoriaMetrics, Prometheus text over HTTP
    VictoriametricsText,
    /// VictoriaMetrics, telnet put (needs -opentsdbListenAddr)
    VictoriametricsPut,
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
    /// Path of the POST; none = a plain stream without replies.
    pub(crate) path: Option<&'static str>,
}

impl Target {
    /// How this target is written to.
    pub(crate) fn door(self) -> Door {
        use Precision::{Ms, Ns, S};
        let http = |format, precision, path| Door { format, precision, path: Some(path) };
        let stream = |format, precision| Door { format, precision, path: None };
        match self {
            Target::FoliotInflux | Target::Influx => http(Format::Lines, Ns, "/write?db=default"),
            Target::Victoriametrics | Target::Questdb => http(Format::Lines, Ns, "/write"),
            Target::Null => http(Format::Lines, Ns, "/write"),
            Target::Ticktock => http(Format::Lines, Ns, "/api/write"),
            Target::FoliotTcp | Target::TicktockTcp => stream(Format::Lines, Ns),
            Target::FoliotJson | Target::Opentsdb => http(Format::Json, Ms, "/api/put"),
            Target::VictoriametricsText => {
                http(Format::Prometheus, Ms, "/api/v1/import/prometheus")
            }
            Target::FoliotPut | Target::OpentsdbPut | Target::NullPut => stream(Format::Puts, S),
            Target::VictoriametricsPut | Target::TicktockPut => stream(Format::Puts, S),
        }
    }

    /// How this target is asked; none for the sinks. A Foliot that does not speak InfluxQL is
    /// asked in OpenTSDB's language, which reads the same data.
    pub(crate) fn dialect_at(self, address: &str) -> Option<Dialect> {
        let dialect = self.dialect()?;
        let foliot = matches!(self, Target::FoliotInflux | Target::FoliotTcp);
        let absent = || {
            let reply = Client::new(address).get("/query?q=SHOW%20DATABASES");
            reply.is_ok_and(|reply| reply.status == 404)
        };
        Some(if foliot && absent() { Dialect::OpenTsdb } else { dialect })
    }

    fn dialect(self) -> Option<Dialect> {
        match self {
            Target::FoliotInflux | Target::Influx | Target::FoliotTcp => Some(Dialect::InfluxQl),
            Target::FoliotPut | Target::FoliotJson => Some(Dialect::OpenTsdb),
            Target::Opentsdb | Target::OpentsdbPut => Some(Dialect::OpenTsdb),
            Target::Ticktock | Target::TicktockTcp => Some(Dialect::TickTock),
            Target::TicktockPut => Some(Dialect::OpenTsdb),
            Target::Victoriametrics | Target::VictoriametricsText => Some(Dialect::PromQl),
            Target::VictoriametricsPut => Some(Dialect::PromQlDotted),
            Target::Questdb => Some(Dialect::QuestSql),
            Target::Null | Target::NullPut => None,
        }
    }

    /// Whether the target is the sink inside this process.
    pub(crate) fn is_null(self) -> bool {
        matches!(self, Target::Null | Target::NullPut)
    }

    /// Whether `X-Foliot-Ack` means anything to the target.
    pub(crate) fn takes_ack(self) -> bool {
        matches!(self, Target::FoliotInflux | Target::FoliotJson)
    }

    /// (method, path) of requests to make before the first write.
    pub(crate) fn preparation(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Target::Influx => &[("POST", "/query?q=CREATE%20DATABASE%20%22default%22")],
            _ => &[],
        }
    }

    /// (method, path) of requests that make written data searchable or compact.
    pub(crate) fn conclusion(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Target::Victoriametrics | Target::VictoriametricsText | Target::VictoriametricsPut => {
                &[("GET", "/internal/force_flush")]
            }
            _ => &[],
        }
    }
}
