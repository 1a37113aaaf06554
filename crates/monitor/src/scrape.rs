//! What is remembered of a target from scrape to scrape: which series it had, so that one that
//! vanishes is marked as over, and what each line's name and labels became ([`known`]).
//!
//! 1. A line that stands where it stood at the last scrape costs a hash of its name and labels, one
//!    that stands elsewhere a look-up; comments that stand together cost a hash, and are not read
//!    while all of a scrape are the same.
//! 2. A new line is read, gets the target's labels, and goes through the rules.
//! 3. At the end what was there at the last scrape and is not there now is marked as stale.
//!
//! Memory is bounded by what two answers of the target hold: what the last scrape did not show is
//! forgotten.

mod known;

use crate::config::{Job, Limits};
use crate::relabel::LabelSet;
use crate::target::{Target, of_series, with_target};
use foliot_model::Cell;
use foliot_proto_prometheus::{
    Exemplar, Exposed, Families, Format, Measured, STALE, Samples, Scraped, SeriesName, shown_key,
};
use known::{Followed, Known, Seen, Shown, pack};
use std::collections::BTreeMap;

/// Scrapes for which it is remembered what a metric is that is not exposed any more.
const METADATA_SCRAPES: u32 = 10;

/// Metrics whose kind and help are remembered of a target.
const METADATA_MAX: usize = 10_000;
/// How far ahead of a scrape a target may date its samples, as in Prometheus.
pub const AHEAD_MS_MAX: i64 = 10 * 60 * 1000;

/// Bytes of a help that are remembered.
pub const HELP_BYTES_MAX: usize = 4096;

const NAME: &str = "__name__";

/// What marks a series as over.
const OVER: Measured<'static> = Measured::Number(Cell::float(STALE));

/// What is said of a scrape that has more samples than any may have.
pub const SAMPLES_MAX: &str = "limits.scrape_samples";
/// What of the settings bounds the memory for what targets answer and what is remembered of it.
pub const MEMORY_MAX: &str = "limits.scrape_bytes";

/// What is known of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metadata {
    /// What kind it is of: `counter`.
    pub kind: String,
    /// What it is for.
    pub help: String,
    /// Its unit.
    pub unit: String,
}

/// What a scrape came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples that were exposed.
    pub scraped: u64,
    /// Those of them that rules kept.
    pub kept: u64,
    /// Series that were not there at the scrape before.
    pub added: u64,
    /// Exemplars of those that rules kept.
    pub exemplars: u64,
    /// Samples that a series had beside another one of the same time.
    pub duplicates: u64,
    /// Samples that the target dates too far ahead.
    pub ahead: u64,
}

/// What a target's lines became.
#[derive(Debug, Default)]
pub struct Cache {
    known: Known,
    /// For how many bytes of what is known room was found.
    room_bytes: usize,
    scrapes: u32,
    metadata: BTreeMap<String, (Metadata, u32)>,
    /// What the hashes of all comments come to that were read last, and the last scrape that had
    /// them.
    described: Option<(u128, u32)>,
}

/// Bytes for which room is looked for at a time.
const ROOM_STEP_BYTES: usize = 64 << 10;

/// What a scrape may have, whatever its job says.
pub struct Most<'a> {
    /// Samples.
    pub samples: u64,
    /// Whether there is room for so many bytes of what is remembered of the target.
    pub may_hold: &'a mut dyn FnMut(usize) -> bool,
}

/// What a scrape has so far.
struct Scrape<'a, 'm> {
    job: &'a Job,
    target: &'a Target,
    most: Most<'m>,
    at_ms: i64,
    counts: Counts,
    out: &'a mut Samples,
}

impl Cache {
    /// Takes a text that a target exposed at a time, and adds its samples to `out`, marks of
    /// staleness among them.
    ///
    /// # Errors
    /// What was counted, and why the scrape is no good: nothing of it counts then, and what is in
    /// `out` is to be forgotten.
    pub fn take(
        &mut self,
        (job, target): (&Job, &Target),
        (text, format): (&[u8], Format),
        most: Most<'_>,
        at_ms: i64,
        out: &mut Samples,
    ) -> Result<Counts, (Counts, String)> {
        self.scrapes = self.scrapes.wrapping_add(1).max(1);
        let scrapes = self.scrapes;
        if let Some(hasher) = out.hasher() {
            self.known.hash_by(hasher);
        }
        let mut scrape = Scrape { job, target, most, at_ms, counts: Counts::default(), out };
        let read = match format {
            Format::Protobuf => self.read_messages(&mut scrape, text),
            format => self.read_text(&mut scrape, text, format),
        };
        let counts = scrape.counts;
        let limit = job.limits.samples.filter(|limit| counts.kept > *limit);
        let limited = limit.map_or(Ok(()), |limit| {
            let kept = counts.kept;
            Err(format!("{kept} samples are more than sample_limit allows: {limit}"))
        });
        if let Err(reason) = read.and(limited) {
            self.known.give_up();
            // Nothing is stored, so that the same series would be new again at every such scrape.
            return Err((Counts { added: 0, ..counts }, reason));
        }
        self.known.finish(&mut |series| out.push_placed(series, OVER, at_ms));
        self.refer(out);
        self.known.forget_unseen();
        self.room_bytes = self.known.bytes();
        self.metadata.retain(|_, (_, last)| last.saturating_add(METADATA_SCRAPES) >= scrapes);
        Ok(counts)
    }

    /// The target failed, or is not scraped any more: marks all that it had as over.
    pub fn end(&mut self, at_ms: i64, out: &mut Samples) {
        self.known.end(&mut |series| out.push_placed(series, OVER, at_ms));
        self.refer(out);
        self.known.forget_all_over();
    }

    /// Tells samples what their series are.
    fn refer(&self, out: &mut Samples) {
        let (labels, places) = self.known.labels();
        out.refer_to(labels, places, self.known.hasher());
    }

    /// The rules have changed: lines are read anew.
    pub fn forget_lines(&mut self) {
        self.known.forget_lines();
        self.room_bytes = 0;
    }

    /// About what is remembered of the target takes.
    pub fn bytes(&self) -> usize {
        self.known.bytes()
    }

    /// What the target says of its metrics, by name.
    pub fn metadata(&self) -> impl Iterator<Item = (&str, &Metadata)> {
        self.metadata.iter().map(|(name, (metadata, _))| (name.as_str(), metadata))
    }

    fn read_text(
        &mut self,
        scrape: &mut Scrape<'_, '_>,
        text: &[u8],
        format: Format,
    ) -> Result<(), String> {
        let mut scraped = Scraped::new(text, format);
        let (described, mut comments) = (scraped.clone(), 0);
        loop {
            match self.known.follow(&mut scraped) {
                Some(Followed::Line(seen, value)) => {
                    scrape.counts.scraped += 1;
                    self.show(scrape, seen, (Measured::Number(value), &[]), None)?;
                }
                Some(Followed::Comments(hash)) => comments = together(comments, hash),
                None => match scraped.step_comments() {
                    Some(text) => {
                        let hash = self.known.comments(text);
                        comments = together(comments, self.with_room(scrape, hash)?);
                    }
                    None => match scraped.step().map_err(|bad| bad.to_string())? {
                        Some(exposed) => self.take_exposed(scrape, exposed)?,
                        None => break,
                    },
                },
            }
        }
        self.describe(scrape, described, comments)
    }

    /// Reads the comments of a text, unless they are what they were.
    fn describe(
        &mut self,
        scrape: &mut Scrape<'_, '_>,
        mut text: Scraped<'_>,
        comments: u128,
    ) -> Result<(), String> {
        match self.described.take() {
            Some((before, last)) if before == comments => {
                let same = self.metadata.values_mut().filter(|(_, shown)| *shown == last);
                same.for_each(|(_, shown)| *shown = self.scrapes);
            }
            _ => {
                while let Some(said) = text.describe().map_err(|bad| bad.to_string())? {
                    self.take_exposed(scrape, said)?;
                }
            }
        }
        self.described = Some((comments, self.scrapes));
        Ok(())
    }

    fn read_messages(
        &mut self,
        scrape: &mut Scrape<'_, '_>,
        messages: &[u8],
    ) -> Result<(), String> {
        let mut families = Families::new(messages, scrape.job.histograms);
        while families.step(&mut |exposed| self.take_exposed(scrape, exposed))? {}
        Ok(())
    }

    fn take_exposed(
        &mut self,
        scrape: &mut Scrape<'_, '_>,
        exposed: Exposed<'_>,
    ) -> Result<(), String> {
        match exposed {
            Exposed::Sample { series, value, time_ms, exemplars } => {
                return self.sample(scrape, series, (value, &exemplars), time_ms);
            }
            Exposed::Kind(name, kind) => self.note(name, |it| kind.clone_into(&mut it.kind)),
            Exposed::Unit(name, unit) => self.note(name, |it| unit.clone_into(&mut it.unit)),
            Exposed::Help(name, help) => self.note(name, |it| {
                let end = help.floor_char_boundary(HELP_BYTES_MAX);
                help.get(..end).unwrap_or_default().clone_into(&mut it.help);
            }),
        }
        Ok(())
    }

    fn sample(
        &mut self,
        scrape: &mut Scrape<'_, '_>,
        series: SeriesName<'_>,
        (value, exemplars): (Measured<'_>, &[Exemplar]),
        time_ms: Option<i64>,
    ) -> Result<(), String> {
        scrape.counts.scraped += 1;
        let seen = match self.known.line(series.bytes()) {
            Seen::Never => self.learn(scrape, series)?,
            seen => seen,
        };
        self.show(scrape, seen, (value, exemplars), time_ms)
    }

    /// Adds the sample of a line that is known, unless it is dropped.
    fn show(
        &mut self,
        scrape: &mut Scrape<'_, '_>,
        seen: Seen,
        (value, exemplars): (Measured<'_>, &[Exemplar]),
        time_ms: Option<i64>,
    ) -> Result<(), String> {
        let Seen::Series(slot) = seen else { return Ok(()) };
        scrape.counts.kept += 1;
        if scrape.counts.kept > scrape.most.samples {
            return Err(format!("more than {} samples ({SAMPLES_MAX})", scrape.most.samples));
        }
        let time_ms = time_ms.filter(|_| scrape.job.honor_timestamps);
        if time_ms.is_some_and(|ms| ms > scrape.at_ms.saturating_add(AHEAD_MS_MAX)) {
            scrape.counts.ahead += 1;
            return Ok(());
        }
        if time_ms.is_none() || scrape.job.tracks_timestamps {
            match self.known.show(slot) {
                Shown::New => scrape.counts.added += 1,
                // The first one counts, as in Prometheus.
                Shown::Twice if time_ms.is_none() => {
                    scrape.counts.duplicates += 1;
                    return Ok(());
                }
                Shown::Again | Shown::Twice => {}
            }
        }
        let time_ms = time_ms.unwrap_or(scrape.at_ms);
        scrape.out.push_placed(self.known.placed(slot), value, time_ms);
        for exemplar in exemplars {
            scrape.counts.exemplars += 1;
            let series = self.known.packed(slot);
            scrape.out.exemplars_mut().push(&[&series], exemplar, scrape.at_ms);
        }
        Ok(())
    }

    /// Reads a line that was not there before.
    fn learn(
        &mut self,
        scrape: &mut Scrape<'_, '_>,
        series: SeriesName<'_>,
    ) -> Result<Seen, String> {
        let labels = scrape.labels_of(series)?;
        let learned = self.known.learn(series.bytes(), labels.as_ref());
        self.with_room(scrape, learned)
    }

    /// What was learned, if there is room for all that is remembered.
    fn with_room<T>(
        &mut self,
        scrape: &mut Scrape<'_, '_>,
        learned: Result<T, known::Full>,
    ) -> Result<T, String> {
        let no_room = || format!("its series take too much memory ({MEMORY_MAX})");
        let bytes = self.known.bytes();
        if bytes > self.room_bytes {
            self.room_bytes = bytes + ROOM_STEP_BYTES;
            if !(scrape.most.may_hold)(self.room_bytes) {
                return Err(no_room());
            }
        }
        learned.map_err(|_| no_room())
    }

    fn note(&mut self, name: &str, change: impl FnOnce(&mut Metadata)) {
        if self.metadata.len() >= METADATA_MAX && !self.metadata.contains_key(name) {
            return;
        }
        let (metadata, last) = self.metadata.entry(name.to_owned()).or_default();
        change(metadata);
        *last = self.scrapes;
    }
}

impl Scrape<'_, '_> {
    /// What a line's name and labels become; nothing when they are dropped.
    fn labels_of(&self, series: SeriesName<'_>) -> Result<Option<LabelSet>, String> {
        let (mut labels, mut twice) = (LabelSet::new(), None);
        series.labels(&mut |name, value| {
            if labels.insert(name.to_owned(), value.to_owned()).is_some() {
                twice = Some(name.to_owned());
            }
        })?;
        if let Some(name) = twice {
            return Err(format!("label {name:?} is given twice: {:.80}", shown(&labels)));
        }
        with_target(&mut labels, &self.target.labels, self.job.honor_labels);
        if !of_series(&self.job.metric_relabel, &mut labels) {
            return Ok(None);
        }
        if !labels.contains_key(NAME) {
            return Err(format!("a series has no name: {:.80}", shown(&labels)));
        }
        check_limits(&self.job.limits, &labels)?;
        Ok(Some(labels))
    }
}

/// The hash of comments, and of those before them: of hashes that nobody knows a product and a sum
/// will do.
fn together(before: u128, hash: u128) -> u128 {
    /// Odd, so that nothing is lost, and without a pattern.
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    before.wrapping_mul(FACTOR).wrapping_add(hash)
}

/// Labels for a person.
fn shown(labels: &LabelSet) -> String {
    shown_key(&pack(labels))
}

fn check_limits(limits: &Limits, labels: &LabelSet) -> Result<(), String> {
    let name = labels.get(NAME).map_or("", String::as_str);
    let above = |limit: Option<u64>, count: usize| limit.is_some_and(|limit| count as u64 > limit);
    if above(limits.labels, labels.len()) {
        let count = labels.len();
        return Err(format!("{name} has {count} labels, more than label_limit allows"));
    }
    for (label, value) in labels {
        if above(limits.label_name_bytes, label.len()) {
            return Err(format!("label {label} of {name}: label_name_length_limit is exceeded"));
        }
        if above(limits.label_value_bytes, value.len()) {
            return Err(format!("label {label} of {name}: label_value_length_limit is exceeded"));
        }
    }
    Ok(())
}

/// Series that say how scraping a target goes.
#[derive(Debug)]
pub struct Report([Vec<u8>; 5]);

const REPORTED: [&str; 5] = [
    "up",
    "scrape_duration_seconds",
    "scrape_samples_scraped",
    "scrape_samples_post_metric_relabeling",
    "scrape_series_added",
];

impl Report {
    /// Those of a target.
    pub fn new(target: &Target) -> Self {
        Self(REPORTED.map(|name| {
            let mut labels = target.labels.clone();
            labels.insert(NAME.to_owned(), name.to_owned());
            pack(&labels)
        }))
    }

    /// Adds what a scrape came to.
    pub fn push(&self, is_up: bool, seconds: f64, counts: &Counts, at_ms: i64, out: &mut Samples) {
        let counts = [counts.scraped, counts.kept, counts.added].map(|count| count as f64);
        let values = [f64::from(u8::from(is_up)), seconds].into_iter().chain(counts);
        self.0.iter().zip(values).for_each(|(key, value)| out.push(key, value, at_ms));
    }

    /// The target is not scraped any more.
    pub fn end(&self, at_ms: i64, out: &mut Samples) {
        self.0.iter().for_each(|key| out.push(key, STALE, at_ms));
    }
}

#[cfg(test)]
mod tests;
