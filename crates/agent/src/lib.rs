//! Collects measurements of the host that Foliot runs on.
//!
//! [`Host::collect`] reads `/proc` once and hands every [`Sample`] to a sink; names and tags are
//! those of TCollector's standard collectors (<https://github.com/OpenTSDB/tcollector>), so that
//! dashboards made for them work. Each file has a module with a pure parser from text to samples.
//!
//! What the room does not know: the store, sockets and clocks. Whoever calls decides how often, and
//! where samples go; [`put_line`] spells one as OpenTSDB does, the way in that the server uses.
//!
//! ```
//! let mut host = foliot_agent::Host::new();
//! let mut lines = Vec::new();
//! let name = host.name().to_owned();
//! host.collect(&mut |sample| foliot_agent::put_line(&mut lines, sample, 1_700_000_000, &name));
//! ```

mod disks;
mod kernel;
mod memory;
mod network;
mod processes;
mod put;

pub use put::put_line;

use std::fs;
use std::path::{Path, PathBuf};

/// What one measurement says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A count.
    Integer(i64),
    /// A ratio or a time.
    Float(f64),
}

/// One measurement of the host, now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// Metric name.
    pub metric: &'a str,
    /// Tags without the host's.
    pub tags: &'a [(&'a str, &'a str)],
    /// The value.
    pub value: Number,
}

/// Receives samples.
pub type Sink<'a> = dyn FnMut(&Sample<'_>) + 'a;

/// The host, seen through `/proc`.
#[derive(Debug)]
pub struct Host {
    proc: PathBuf,
    name: String,
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// The host this process runs on. On systems without `/proc` it reports nothing.
    pub fn new() -> Self {
        Self::at(Path::new("/proc"))
    }

    fn at(proc: &Path) -> Self {
        let name = fs::read_to_string(proc.join("sys/kernel/hostname")).unwrap_or_default();
        let name = match name.trim() {
            "" => "localhost".to_owned(),
            name => name.to_owned(),
        };
        Self { proc: proc.to_owned(), name }
    }

    /// The host's name, for the tag `host`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads everything once. Files that are missing or unreadable are passed over: a container or
    /// an old kernel shows less.
    pub fn collect(&mut self, sink: &mut Sink<'_>) {
        type Parse = fn(&str, &mut Sink<'_>);
        let files: [(&str, Parse); 11] = [
            ("stat", kernel::stat),
            ("loadavg", kernel::loadavg),
            ("uptime", kernel::uptime),
            ("sys/kernel/random/entropy_avail", kernel::entropy),
            ("meminfo", memory::meminfo),
            ("vmstat", memory::vmstat),
            ("diskstats", disks::diskstats),
            ("mounts", disks::filesystems),
            ("net/dev", network::interfaces),
            ("net/sockstat", network::sockets),
            ("sys/fs/file-nr", kernel::open_files),
        ];
        for (file, parse) in files {
            if let Ok(text) = fs::read_to_string(self.proc.join(file)) {
                parse(&text, sink);
            }
        }
        processes::collect(&self.proc, sink);
    }
}

/// Sends a count, if it is one.
fn count(sink: &mut Sink<'_>, metric: &str, tags: &[(&str, &str)], text: Option<&str>) {
    if let Some(value) = text.and_then(|text| text.parse().ok()) {
        sink(&Sample { metric, tags, value: Number::Integer(value) });
    }
}

/// Sends a decimal number, if it is one.
fn decimal(sink: &mut Sink<'_>, metric: &str, tags: &[(&str, &str)], text: Option<&str>) {
    if let Some(value) = text.and_then(|text| text.parse().ok()) {
        sink(&Sample { metric, tags, value: Number::Float(value) });
    }
}

#[cfg(test)]
mod tests;
