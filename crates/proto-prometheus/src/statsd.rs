//! Statsd's metrics, with DogStatsD's tags: lines into figures that are stored now and then.
//!
//! A line is `name:value|kind|@rate|#tag:value,tag`. What comes between two flushes is one sample
//! of each series, or of a timer a few. Names keep their dots, as Graphite's do.
//!
//! Source: statsd's `docs/metric_types.md`, DataDog's "DogStatsD datagram format", and Telegraf's
//! plugin `statsd`.

use crate::Samples;
use crate::samples::pack_labels;
use foliot_model::Reject;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a tag without a value has, as at [`crate::datadog_samples`].
const NO_VALUE: &str = "no_label_value";

/// Tags of a line that are read: more than any series may have, so that the store refuses it.
const TAGS_MAX: usize = 2000;

/// Values of a timer of which median and percentile are calculated: the last so many.
const VALUES_MAX: usize = 10_000;

/// Flushes for which a gauge is remembered that nobody sends: `+1` goes on from it.
const GAUGE_FLUSHES: u32 = 360;

/// What a series takes beside its labels, and a value of a set beside its text.
const SERIES_BYTES: usize = 200;
const MEMBER_BYTES: usize = 64;

/// What a line is a figure of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Counter,
    Gauge,
    Timer,
    Set,
}

/// What came of a series since the last flush.
#[derive(Debug)]
enum Figure {
    Counter(f64),
    /// Its value, and how many flushes nobody has sent it.
    Gauge(f64, u32),
    Timer(Timer),
    Set(HashSet<Box<str>>),
}

#[derive(Debug, Default)]
struct Timer {
    count: f64,
    sum: f64,
    /// How many came, whatever their rates.
    came: usize,
    min: f64,
    max: f64,
    values: Vec<f64>,
}

/// A series: its kind, its name, and its tags in order.
type Key = (Kind, String, BTreeMap<String, String>);

/// What is at fault, and why.
type Fault = (&'static str, String);

/// What came since the last flush, and gauges of before.
#[derive(Debug)]
pub struct Statsd {
    figures: HashMap<Key, Figure>,
    bytes: usize,
    bytes_max: usize,
}

impl Statsd {
    /// Nothing yet, and memory for so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { figures: HashMap::new(), bytes: 0, bytes_max }
    }

    /// Memory that it takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the lines of a datagram, numbered from one. What cannot be taken becomes a reject.
    pub fn take(&mut self, datagram: &[u8], rejects: &mut Vec<Reject>) {
        for (index, line) in datagram.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let read = std::str::from_utf8(line);
            let read = read.map_err(|_| ("line", "the line is not valid UTF-8".to_owned()));
            if let Err((field, reason)) = read.and_then(|line| self.take_line(line)) {
                let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
                rejects.push(Reject { line, field: field.into(), reason });
            }
        }
    }

    fn take_line(&mut self, line: &str) -> Result<(), Fault> {
        let bad = |reason: &str| ("line", reason.to_owned());
        if line.starts_with("_e{") || line.starts_with("_sc|") {
            return Err(bad("events and checks of DogStatsD are not kept"));
        }
        let mut parts = line.split('|');
        let head = parts.next().unwrap_or_default();
        let (series, values) =
            head.split_once(':').ok_or_else(|| bad("a line is name:value|kind"))?;
        let kind = match parts.next() {
            Some("c") => Kind::Counter,
            Some("g") => Kind::Gauge,
            Some("ms" | "h" | "d") => Kind::Timer,
            Some("s") => Kind::Set,
            Some(other) => {
                return Err(("line", format!("{other:?} is none of c, g, ms, h, d and s")));
            }
            None => return Err(bad("the kind is missing: a line is name:value|kind")),
        };
        let (mut rate, mut tags) = (1.0, BTreeMap::new());
        // Telegraf's way to say tags.
        let mut names = series.split(',');
        let name = names.next().unwrap_or_default();
        if name.is_empty() {
            return Err(("metric", "the name is empty".to_owned()));
        }
        names.take(TAGS_MAX).for_each(|tag| add_tag(tag, '=', &mut tags));
        for part in parts {
            if let Some(text) = part.strip_prefix('@') {
                let read = text.parse().ok().filter(|rate: &f64| *rate > 0.0 && *rate <= 1.0);
                rate = read.ok_or_else(|| ("value", format!("{text:?} is no rate from 0 to 1")))?;
            } else if let Some(text) = part.strip_prefix('#') {
                text.split(',').take(TAGS_MAX).for_each(|tag| add_tag(tag, ':', &mut tags));
            }
            // What else a line says, such as its container, is not kept.
        }
        let key = (kind, name.to_owned(), tags);
        values.split(':').try_for_each(|value| self.take_value(&key, value, rate))
    }

    fn take_value(&mut self, key: &Key, text: &str, rate: f64) -> Result<(), Fault> {
        let read = text.parse().ok().filter(|value: &f64| value.is_finite());
        let number = read.ok_or_else(|| ("value", format!("{text:?} is no number")));
        let value = if key.0 == Kind::Set { 0.0 } else { number? };
        let full = || ("limit", "there is no memory for more (limits.statsd_bytes)".to_owned());
        if !self.figures.contains_key(key) {
            let bytes = bytes_of(key);
            if self.bytes + bytes > self.bytes_max {
                return Err(full());
            }
            self.bytes += bytes;
            let figure = match key.0 {
                Kind::Counter => Figure::Counter(0.0),
                Kind::Gauge => Figure::Gauge(0.0, 0),
                Kind::Timer => Figure::Timer(Timer::default()),
                Kind::Set => Figure::Set(HashSet::new()),
            };
            self.figures.insert(key.clone(), figure);
        }
        let room = self.bytes_max.saturating_sub(self.bytes);
        match self.figures.get_mut(key) {
            Some(Figure::Counter(sum)) => *sum += value / rate,
            Some(Figure::Gauge(before, silent)) => {
                let is_step = text.starts_with(['+', '-']);
                (*before, *silent) = (if is_step { *before + value } else { value }, 0);
            }
            Some(Figure::Timer(timer)) => {
                if timer.values.len() < VALUES_MAX {
                    if size_of::<f64>() > room {
                        return Err(full());
                    }
                    self.bytes += size_of::<f64>();
                }
                timer.take(value, rate);
            }
            Some(Figure::Set(members)) if !members.contains(text) => {
                if MEMBER_BYTES + text.len() > room {
                    return Err(full());
                }
                self.bytes += MEMBER_BYTES + text.len();
                members.insert(text.into());
            }
            Some(Figure::Set(_)) | None => {}
        }
        Ok(())
    }

    /// Appends the samples of what came, as of a time in milliseconds, and begins anew.
    pub fn flush(&mut self, at_ms: i64, out: &mut Samples) {
        let mut figures = std::mem::take(&mut self.figures);
        for (key, figure) in &figures {
            let mut put = |suffix: &str, value: f64| out.push(&packed(key, suffix), value, at_ms);
            match figure {
                Figure::Counter(sum) => put("", *sum),
                Figure::Gauge(value, 0) => put("", *value),
                Figure::Gauge(..) => {}
                Figure::Timer(timer) => timer.figures(&mut put),
                Figure::Set(members) => put("", members.len() as f64),
            }
        }
        figures.retain(|_, figure| match figure {
            Figure::Gauge(_, silent) => {
                *silent += 1;
                *silent < GAUGE_FLUSHES
            }
            _ => false,
        });
        self.bytes = figures.keys().map(bytes_of).sum();
        self.figures = figures;
    }
}

impl Timer {
    fn take(&mut self, value: f64, rate: f64) {
        let is_first = self.came == 0;
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = if is_first { value } else { self.max.max(value) };
        self.count += 1.0 / rate;
        self.sum += value / rate;
        match self.values.get_mut(self.came % VALUES_MAX) {
            Some(place) => *place = value,
            None => self.values.push(value),
        }
        self.came = self.came.saturating_add(1);
    }

    /// Its figures, under the names that DataDog's agent gives them.
    fn figures(&self, put: &mut dyn FnMut(&str, f64)) {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        // The least value that so much of all are not above, as there.
        let at = |share: f64| {
            let rank = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        put(".count", self.count);
        put(".sum", self.sum);
        put(".min", self.min);
        put(".max", self.max);
        put(".avg", self.sum / self.count);
        put(".median", at(0.5));
        put(".95percentile", at(0.95));
    }
}

fn add_tag(tag: &str, sign: char, tags: &mut BTreeMap<String, String>) {
    let (name, value) = tag.split_once(sign).unwrap_or((tag, NO_VALUE));
    if !name.is_empty() && !value.is_empty() {
        tags.insert(name.to_owned(), value.to_owned());
    }
}

fn bytes_of((_, name, tags): &Key) -> usize {
    let tag = |(name, value): (&String, &String)| MEMBER_BYTES + name.len() + value.len();
    SERIES_BYTES + name.len() + tags.iter().map(tag).sum::<usize>()
}

fn packed((_, name, tags): &Key, suffix: &str) -> Vec<u8> {
    let name = format!("{name}{suffix}");
    let tags = tags.iter().map(|(name, value)| (&**name, &**value));
    pack_labels([("__name__", &*name)].into_iter().chain(tags))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown_key;

    fn flush(statsd: &mut Statsd) -> Vec<String> {
        let mut samples = Samples::default();
        statsd.flush(7, &mut samples);
        let shown = samples.iter().map(|(key, value, _)| format!("{} {value}", shown_key(&key)));
        let mut shown: Vec<_> = shown.collect();
        shown.sort();
        shown
    }

    fn take(statsd: &mut Statsd, text: &str) -> Vec<String> {
        let mut rejects = Vec::new();
        statsd.take(text.as_bytes(), &mut rejects);
        rejects.into_iter().map(|it| format!("{} {}: {}", it.line, it.field, it.reason)).collect()
    }

    #[test]
    fn counters_add_up_and_gauges_stay() {
        let mut statsd = Statsd::new(1 << 20);
        let lines = "hits:1|c\nhits:2|c|@0.5\n\nhits:1|c|#env:a,solo|c:container|T1700000000\r\n\
            free:10|g\nfree:-4|g\nfree:+1.5|g|#env:a\nhits,env=a,solo=no_label_value:1:2|c";
        assert_eq!(take(&mut statsd, lines), [""; 0]);
        let tags = r#"{env="a",solo="no_label_value"}"#;
        let wanted = [
            "free{env=\"a\"} 1.5".to_owned(),
            "free{} 6".to_owned(),
            format!("hits{tags} 4"),
            "hits{} 5".to_owned(),
        ];
        assert_eq!(flush(&mut statsd), wanted);
        assert_eq!(flush(&mut statsd), [""; 0], "what nobody sends is not said");
        take(&mut statsd, "free:+1|g\nhits:1|c");
        assert_eq!(flush(&mut statsd), ["free{} 7", "hits{} 1"]);
        (0..=GAUGE_FLUSHES).for_each(|_| drop(flush(&mut statsd)));
        assert_eq!(statsd.bytes(), 0);
        take(&mut statsd, "free:+1|g");
        assert_eq!(flush(&mut statsd), ["free{} 1"]);
    }

    #[test]
    fn timers_and_sets_are_counted() {
        let mut statsd = Statsd::new(1 << 20);
        let lines: String = (1..=100).map(|n| format!("t:{n}|ms\n")).collect();
        take(&mut statsd, &lines);
        take(&mut statsd, "u:a|s\nu:b|s\nu:a:c|s\nd:4|d|@0.25\nh:-1.5|h");
        let wanted = [
            "d.95percentile{} 4",
            "d.avg{} 4",
            "d.count{} 4",
            "d.max{} 4",
            "d.median{} 4",
            "d.min{} 4",
            "d.sum{} 16",
            "h.95percentile{} -1.5",
            "h.avg{} -1.5",
            "h.count{} 1",
            "h.max{} -1.5",
            "h.median{} -1.5",
            "h.min{} -1.5",
            "h.sum{} -1.5",
            "t.95percentile{} 95",
            "t.avg{} 50.5",
            "t.count{} 100",
            "t.max{} 100",
            "t.median{} 50",
            "t.min{} 1",
            "t.sum{} 5050",
            "u{} 3",
        ];
        assert_eq!(flush(&mut statsd), wanted);
        assert_eq!(statsd.bytes(), 0);
    }

    #[test]
    fn bad_lines_cost_no_others() {
        let mut statsd = Statsd::new(1 << 20);
        for (line, word) in [
            ("m", "name:value|kind"),
            ("m:1", "the kind is missing"),
            ("m:1|x", "none of c, g"),
            (":1|c", "the name is empty"),
            ("m:x|c", "\"x\" is no number"),
            ("m:inf|c", "\"inf\" is no number"),
            ("m:1|c|@0", "no rate"),
            ("m:1|c|@2", "no rate"),
            ("_e{1,1}:a|b", "events and checks"),
            ("_sc|a|0", "events and checks"),
        ] {
            let told = take(&mut statsd, &format!("good:1|c\n{line}\ngood:1|c"));
            assert_eq!(told.len(), 1, "{line}");
            assert!(told[0].starts_with("2 ") && told[0].contains(word), "{line}: {told:?}");
            assert_eq!(flush(&mut statsd), ["good{} 2"]);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut statsd = Statsd::new(10_000);
        let (mut refused, mut known) = (0, 0);
        for index in 0..1000 {
            let lines = format!("c{index}:1|c\ns:{index}|s\nt:{index}|ms");
            let told = take(&mut statsd, &lines);
            assert!(told.iter().all(|reason| reason.contains("limits.statsd_bytes")), "{told:?}");
            refused += told.len();
            known += take(&mut statsd, "c0:1|c").len();
            assert!(statsd.bytes() <= 10_000, "{}", statsd.bytes());
        }
        assert!(refused > 2000 && known == 0, "{refused} {known}");
        flush(&mut statsd);
        assert_eq!(statsd.bytes(), 0);
    }
}
