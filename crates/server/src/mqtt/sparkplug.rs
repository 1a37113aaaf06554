//! Sparkplug B: what the metrics of edge nodes become, and what their births said.
//!
//! A metric is a field of the measurement `sparkplug`, of the group, the node and the device that
//! its topic names. Numbers that stand for names, and types, are those of the last birth; after a
//! death, and on another connection, they could be others', so they are forgotten then and births
//! are asked for. (Eclipse Sparkplug 3.0, chapters 4 to 6.)

use foliot_model::{NANOS_PER_MILLI, Value};
use foliot_proto_influx::LineWriter;
use foliot_proto_prometheus::{SparkplugMetric, SparkplugPayload, SparkplugType};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What all topics begin with.
const NAMESPACE: &str = "spBv1.0";

const MEASUREMENT: &str = "sparkplug";

/// Metrics that nodes and devices are steered by, and by which births and deaths find each other:
/// they measure nothing.
const CONTROLS: [&str; 2] = ["Node Control/", "Device Control/"];
const BIRTH_COUNT: &str = "bdSeq";

/// Most bytes of a topic and of a metric's name: each line has them, and a metric of six bytes
/// becomes one.
const TOPIC_BYTES_MAX: usize = 512;
const NAME_BYTES_MAX: usize = 512;

/// Where times begin that are some: a clock that was not set yet counts from 1970.
const TIME_MS_MIN: u64 = 5_000_000_000;

/// What a name, and what a node or a device, takes beside its bytes.
const NAME_OWN_BYTES: usize = 160;
const SOURCE_OWN_BYTES: usize = 400;

/// How long a node is not asked again for its births, and how many nodes are remembered as asked.
const ASKED_PAUSE: Duration = Duration::from_secs(60);
const ASKED_MAX: usize = 4096;

/// Who says something, and what kind of thing, by the topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Topic<'t> {
    group: &'t str,
    node: &'t str,
    /// Empty where the node speaks for itself.
    device: &'t str,
    pub(crate) news: News,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Birth,
    Data,
    Death,
    /// Commands, and what other hosts say of themselves.
    Other,
}

impl<'t> Topic<'t> {
    /// Reads a topic; nothing when it is not one of Sparkplug's.
    pub(crate) fn read(topic: &'t str) -> Option<Result<Self, &'static str>> {
        let rest = topic.strip_prefix(NAMESPACE)?.strip_prefix('/')?;
        if topic.len() > TOPIC_BYTES_MAX {
            return Some(Err("its topic has more than 512 bytes"));
        }
        if is_odd(topic) {
            return Some(Err("its topic has a backslash or a control character"));
        }
        let mut levels = rest.split('/');
        let mut level = || levels.next().unwrap_or_default();
        let (group, verb, node, device) = (level(), level(), level(), level());
        if group == "STATE" {
            return Some(Ok(Self { group, node: verb, device: "", news: News::Other }));
        }
        let news = match verb.get(1..) {
            Some("BIRTH") => News::Birth,
            Some("DATA") => News::Data,
            Some("DEATH") => News::Death,
            Some("CMD") => News::Other,
            _ => return Some(Err("its topic has no verb of Sparkplug's at the third level")),
        };
        let is_whole = match verb.get(..1) {
            Some("N") => device.is_empty(),
            Some("D") => !device.is_empty(),
            _ => false,
        };
        if !is_whole || group.is_empty() || node.is_empty() || levels.next().is_some() {
            return Some(Err("its topic is not spBv1.0/GROUP/VERB/NODE[/DEVICE]"));
        }
        Some(Ok(Self { group, node, device, news }))
    }

    fn node_key(&self) -> String {
        format!("{}/{}", self.group, self.node)
    }
}

/// What the births of one node and its devices said.
#[derive(Debug, Default)]
struct Node {
    /// By device; the node's own under the empty name.
    births: HashMap<String, Birth>,
    /// Tells the death of this life from that of one before.
    birth_count: Option<Value<'static>>,
    bytes: usize,
    last_used: u64,
}

/// What one birth said.
#[derive(Debug, Default)]
pub(crate) struct Birth {
    types: HashMap<Arc<str>, Option<SparkplugType>>,
    names: HashMap<u64, Arc<str>>,
    bytes: usize,
}

/// What births said, within bounds.
#[derive(Debug)]
pub(crate) struct Births {
    nodes: HashMap<String, Node>,
    /// Nodes by when they were used, those that were silent longest first.
    by_use: BTreeMap<u64, String>,
    bytes: usize,
    bytes_max: usize,
    uses: u64,
    asked: HashMap<String, Instant>,
}

/// Why a metric is not stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// No birth has said what it is.
    Unborn(String),
    Name(String),
    Time(String),
    Value(String),
}

impl Refused {
    /// The class and the words, for counters and the log.
    pub(crate) fn told(self) -> (&'static str, String) {
        match self {
            Self::Unborn(why) | Self::Name(why) => ("metric", why),
            Self::Time(why) => ("timestamp", why),
            Self::Value(why) => ("value", why),
        }
    }
}

impl Births {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let (nodes, by_use, asked) = (HashMap::new(), BTreeMap::new(), HashMap::new());
        Self { nodes, by_use, bytes: 0, bytes_max, uses: 0, asked }
    }

    /// Forgets all of them, and who was asked.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.bytes_max);
    }

    /// Learns from a birth or a death. Returns how many nodes had to be forgotten for want of room.
    pub(crate) fn learn(&mut self, topic: &Topic<'_>, payload: &SparkplugPayload<'_>) -> u64 {
        match topic.news {
            News::Birth => self.bear(topic, payload),
            News::Death => {
                self.bury(topic, payload);
                0
            }
            News::Data | News::Other => 0,
        }
    }

    fn bear(&mut self, topic: &Topic<'_>, payload: &SparkplugPayload<'_>) -> u64 {
        let (key, mut birth) = (topic.node_key(), Birth::default());
        birth.bytes = SOURCE_OWN_BYTES + topic.device.len();
        let mut birth_count = None;
        for metric in payload.metrics() {
            let Some(name) = metric.name else { continue };
            if name == BIRTH_COUNT {
                birth_count = count_of(&metric);
            }
            birth.bytes += NAME_OWN_BYTES + name.len();
            if name.len() > NAME_BYTES_MAX || birth.bytes > self.bytes_max {
                continue;
            }
            let name: Arc<str> = name.into();
            birth.types.insert(name.clone(), metric.value_type);
            if let Some(alias) = metric.alias {
                birth.names.insert(alias, name);
            }
        }
        // A node that is born anew says what its devices are afterwards.
        match topic.device {
            "" => self.forget(&key),
            device => self.forget_device(&key, device),
        }
        let mut forgotten = 0;
        let room = loop {
            let own = if self.nodes.contains_key(&key) { 0 } else { SOURCE_OWN_BYTES + key.len() };
            let room = birth.bytes + own;
            if room > self.bytes_max {
                return forgotten + 1;
            }
            if self.bytes + room <= self.bytes_max {
                break room;
            }
            let oldest = self.by_use.values().find(|other| **other != key).cloned();
            // One that alone takes all that there is begins anew.
            self.forget(&oldest.unwrap_or_else(|| key.clone()));
            forgotten += 1;
        };
        self.bytes += room;
        self.nodes.entry(key.clone()).or_default();
        let Some(node) = self.used(&key) else { return forgotten };
        node.bytes += room;
        if topic.device.is_empty() {
            node.birth_count = birth_count;
        }
        node.births.insert(topic.device.to_owned(), birth);
        forgotten
    }

    /// Forgets who died, unless that was another life than the present one: a broker may tell of a
    /// connection's end after the next one began.
    fn bury(&mut self, topic: &Topic<'_>, payload: &SparkplugPayload<'_>) {
        let key = topic.node_key();
        if !topic.device.is_empty() {
            return self.forget_device(&key, topic.device);
        }
        let said = payload.metrics().find(|metric| metric.name == Some(BIRTH_COUNT));
        let said = said.and_then(|metric| count_of(&metric));
        let lives = self.nodes.get(&key).and_then(|node| node.birth_count);
        if said.is_none() || lives.is_none() || said == lives {
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &str) {
        if let Some(node) = self.nodes.remove(key) {
            self.by_use.remove(&node.last_used);
            self.bytes -= node.bytes;
        }
    }

    /// A node, which is used now.
    fn used(&mut self, key: &str) -> Option<&mut Node> {
        let node = self.nodes.get_mut(key)?;
        self.uses += 1;
        self.by_use.remove(&node.last_used);
        self.by_use.insert(self.uses, key.to_owned());
        node.last_used = self.uses;
        Some(node)
    }

    fn forget_device(&mut self, key: &str, device: &str) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        if let Some(birth) = node.births.remove(device) {
            node.bytes -= birth.bytes;
            self.bytes -= birth.bytes;
        }
    }

    /// What the last birth of a topic's node or device said.
    pub(crate) fn of(&mut self, topic: &Topic<'_>) -> Option<&Birth> {
        self.used(&topic.node_key())?.births.get(topic.device)
    }

    /// Whether a node is to be asked now for its births, and under which topic.
    pub(crate) fn ask(&mut self, topic: &Topic<'_>, now: Instant) -> Option<String> {
        let key = topic.node_key();
        if self.asked.len() >= ASKED_MAX {
            self.asked.retain(|_, asked| now.duration_since(*asked) < ASKED_PAUSE);
        }
        let is_early = |asked: &Instant| now.duration_since(*asked) < ASKED_PAUSE;
        if self.asked.get(&key).is_some_and(is_early) || self.asked.len() >= ASKED_MAX {
            return None;
        }
        self.asked.insert(key, now);
        Some(format!("{NAMESPACE}/{}/NCMD/{}", topic.group, topic.node))
    }

    /// A node that could not be asked may be asked at once.
    pub(crate) fn unask(&mut self, topic: &Topic<'_>) {
        self.asked.remove(&topic.node_key());
    }
}

/// Appends the line that a metric comes to, if it is one that is kept.
pub(crate) fn push_line(
    topic: &Topic<'_>,
    birth: Option<&Birth>,
    metric: &SparkplugMetric<'_>,
    sent_ms: u64,
    lines: &mut Vec<u8>,
) -> Result<(), Refused> {
    let known = metric.alias.and_then(|alias| birth?.names.get(&alias)).map(|name| &**name);
    let Some(name) = metric.name.or(known) else {
        return Err(Refused::Unborn(match metric.alias {
            Some(alias) => format!("no birth has said what metric {alias} is"),
            None => "a metric has neither name nor alias".to_owned(),
        }));
    };
    let is_control = name == BIRTH_COUNT || CONTROLS.iter().any(|begin| name.starts_with(begin));
    if metric.is_transient || is_control {
        return Ok(());
    }
    check_name(name)?;
    let born = birth.and_then(|birth| birth.types.get(name).copied().flatten());
    if metric.needs_type() && born.is_none() {
        return Err(Refused::Unborn(format!("no birth has said of what type '{name}' is")));
    }
    let value = metric.value(born).map_err(|why| Refused::Value(format!("'{name}': {why}")))?;
    let Some(value) = value else { return Ok(()) };
    let time_ms = metric.timestamp_ms.unwrap_or(sent_ms);
    let time_ns = i64::try_from(time_ms).ok().and_then(|time| time.checked_mul(NANOS_PER_MILLI));
    let time_ns = time_ns.filter(|_| time_ms >= TIME_MS_MIN).ok_or_else(|| {
        Refused::Time(format!("'{name}': no clock that is set says {time_ms} ms since 1970"))
    })?;
    write(topic, (name, value), time_ns, lines)
}

/// Which life of a node a birth or a death speaks of.
fn count_of(metric: &SparkplugMetric<'_>) -> Option<Value<'static>> {
    match metric.value(None) {
        Ok(Some(Value::Integer(count))) => Some(Value::Integer(count)),
        _ => None,
    }
}

/// What no line can hold without being read otherwise.
fn is_odd(name: &str) -> bool {
    name.contains(|char: char| char.is_control() || char == '\\')
}

fn check_name(name: &str) -> Result<(), Refused> {
    let why = match name {
        name if name.len() > NAME_BYTES_MAX => "a metric's name has more than 512 bytes",
        name if is_odd(name) => "a metric's name has a backslash or a control character",
        _ => return Ok(()),
    };
    Err(Refused::Name(why.to_owned()))
}

/// Appends one line for one metric, so that what is wrong with it is its own matter.
fn write(
    topic: &Topic<'_>,
    (name, value): (&str, Value<'_>),
    time_ns: i64,
    lines: &mut Vec<u8>,
) -> Result<(), Refused> {
    // A line ends at its first newline.
    let text;
    let value = match value {
        Value::String(said) if said.contains('\n') => {
            text = said.replace('\n', " ");
            Value::String(&text)
        }
        value => value,
    };
    let labels = [("device", topic.device), ("group", topic.group), ("node", topic.node)];
    let mut line = LineWriter::begin(MEASUREMENT, labels.into_iter(), lines);
    let is_number = line.field(name, value);
    line.end(time_ns);
    match is_number {
        true => Ok(()),
        false => Err(Refused::Value(format!("'{name}': a number that is none is not stored"))),
    }
}

#[cfg(test)]
mod tests;
