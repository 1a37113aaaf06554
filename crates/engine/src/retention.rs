//! Retention: how long samples are kept.
//!
//! A namespace keeps its samples as long as it was told, else as [`Config::retention`] says. Rules
//! keep series by measurement and labels for other times: a series gets its *class* when it is
//! created, and the number of a class is its time in seconds, so that a part of a class needs
//! nobody to say when it expires. A cap on the bytes of all parts takes the oldest samples first.
//!
//! Each of these comes to a *floor*, an instant before which samples of a series are not there:
//! readers are shown none of them and writers are refused, at once, whatever the files still hold.
//! Files follow in `upkeep/expire.rs`. What they lose stays lost: the floors that were made
//! physical are facts of the catalog, and when a longer retention would lower one, what is left
//! below it is deleted first.
//!
//! [`Config::retention`]: crate::Config::retention

use crate::audit::{Act, Caller};
use crate::catalog::{Catalog, put_bytes, take_text};
use crate::chain::Chain;
use crate::clock::Stayed;
use crate::config::{Commit, Config};
use crate::error::Error;
use crate::floors::FloorKey;
use crate::ingest::Ingest;
use crate::manifest::PartEntry;
use crate::store::Engine;
use crate::view::Beyond;
use foliot_codec::varint::{get_u64, put_u64};
use foliot_index::{Identity, SidSet};
use foliot_model::{DEFAULT_NAMESPACE, KeyParts, NamespaceId, Selector, Test, TimeRange};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Facts: how long a namespace keeps its samples, in nanoseconds (u64), 0 for ever; by its number.
const KEEP_KIND: &str = "retention";
/// The key of the time that samples are kept where a namespace was told nothing, as it was when the
/// store was last opened.
const DEFAULT_KEY: &str = "default";
/// The key of the rules by which series are kept for other times, as they were when the store was
/// last opened: for each its measurement, its time in nanoseconds (u64), 0 for ever, and how many
/// labels it names, with their names and values; texts have their length in front.
const RULES_KEY: &str = "rules";
/// Facts: floors that were made physical, in nanoseconds (i64); by namespace and class, `3/0`.
const EXPIRED_KIND: &str = "expired";
/// A fact: numbers that divide files written before series changed their class from those after
/// (u64 each), ascending.
const RECLASSIFIED_KIND: &str = "reclassified";
/// A fact: a time of day that is known to have come, in nanoseconds (i64).
const KNOWN_KIND: &str = "clock";
/// The key of how long the clock has been ahead of that: what it showed last (i64), and for how
/// long in all (i64), in nanoseconds.
const KNOWN_STAYED: &str = "ahead";
/// How much of that a restart may take away.
const STAYED_INTERVAL_NS: i64 = 60 * 1_000_000_000;
/// The key of the floor that the cap on bytes made, followed by that cap (u64).
const EXPIRED_BY_SIZE: &str = "size";

/// The class of series that are kept for ever.
const CLASS_FOREVER: u32 = u32::MAX;

/// How long series of some measurements and labels are kept. The first rule that fits decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionRule {
    /// The measurement; `*` stands for any text.
    pub measurement: String,
    /// Labels that a series must have, with their values; `*` stands for any text.
    pub labels: Vec<(String, String)>,
    /// How long; nothing is for ever.
    pub keep: Option<Duration>,
}

impl RetentionRule {
    /// The number of the class that it puts series in: seconds.
    fn class(&self) -> u32 {
        let seconds = |keep: Duration| keep.as_secs().clamp(1, u64::from(CLASS_FOREVER) - 1);
        self.keep.map_or(CLASS_FOREVER, |keep| seconds(keep) as u32)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(self.measurement.as_bytes(), out);
        put_u64(out, self.keep.map_or(0, |keep| keep_ns(keep).max(1) as u64));
        put_u64(out, self.labels.len() as u64);
        for (name, value) in &self.labels {
            put_bytes(name.as_bytes(), out);
            put_bytes(value.as_bytes(), out);
        }
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let measurement = take_text(bytes)?;
        let nanos = get_u64(bytes).ok()?;
        let keep = (nanos > 0).then(|| Duration::from_nanos(nanos));
        let count = get_u64(bytes).ok()?;
        let labels = (0..count).map(|_| Some((take_text(bytes)?, take_text(bytes)?)));
        Some(Self { labels: labels.collect::<Option<_>>()?, measurement, keep })
    }

    /// Whether it is for series of this measurement, with labels as `label` tells them.
    pub fn fits<'a>(&self, measurement: &str, label: &dyn Fn(&str) -> Option<&'a str>) -> bool {
        test(&self.measurement).passes(measurement)
            && self
                .labels
                .iter()
                .all(|(name, pattern)| label(name).is_some_and(|value| test(pattern).passes(value)))
    }
}

/// A test from a text with asterisks.
fn test(pattern: &str) -> Test {
    Test::wildcard(pattern, false).unwrap_or_else(|_| Test::equal(pattern))
}

fn keep_ns(keep: Duration) -> i64 {
    i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX)
}

/// What is kept for how long.
pub(crate) struct Retention {
    /// Of namespaces that were told nothing; nothing is for ever.
    default: Option<Duration>,
    namespaces: BTreeMap<NamespaceId, Option<Duration>>,
    rules: Vec<RetentionRule>,
    /// Floors made physical, by namespace and class.
    expired: BTreeMap<(NamespaceId, u32), i64>,
    /// The floor that the cap on bytes made.
    size_floor_ns: i64,
    size_floor_cap: u64,
    /// Where series changed their class, see [`Retention::was_reclassified`].
    reclassified: Vec<u64>,
    /// Floors that sank since this was so.
    sunk: Arc<Chain<Floor>>,
}

impl Retention {
    pub(crate) fn load(config: &Config, rules: Vec<RetentionRule>, catalog: &Catalog) -> Self {
        let mut namespaces = BTreeMap::new();
        for (key, bytes) in catalog.list(KEEP_KIND) {
            if let (Ok(id), Some(keep_ns)) = (key.parse(), bytes.first_chunk()) {
                let keep = Duration::from_nanos(u64::from_le_bytes(*keep_ns));
                namespaces.insert(id, Some(keep).filter(|keep| !keep.is_zero()));
            }
        }
        let mut expired = BTreeMap::new();
        let (mut size_floor_ns, mut size_floor_cap) = (i64::MIN, 0);
        for (key, bytes) in catalog.list(EXPIRED_KIND) {
            let Some((floor_ns, rest)) = bytes.split_first_chunk() else { continue };
            let floor_ns = i64::from_le_bytes(*floor_ns);
            if let Some((namespace, class)) = key.split_once('/') {
                if let (Ok(namespace), Ok(class)) = (namespace.parse(), class.parse()) {
                    expired.insert((namespace, class), floor_ns);
                }
            } else if key == EXPIRED_BY_SIZE {
                size_floor_ns = floor_ns;
                size_floor_cap = rest.first_chunk().map_or(0, |cap| u64::from_le_bytes(*cap));
            }
        }
        Self {
            default: config.retention,
            namespaces,
            rules,
            expired,
            size_floor_ns,
            size_floor_cap,
            reclassified: reclassified(catalog),
            sunk: Arc::default(),
        }
    }

    /// What is so after this, with other rules and facts.
    pub(crate) fn reloaded(
        &self,
        config: &Config,
        rules: Vec<RetentionRule>,
        catalog: &Catalog,
    ) -> Self {
        Self { sunk: Chain::behind(&self.sunk), ..Self::load(config, rules, catalog) }
    }

    /// Keeps everything for ever.
    pub(crate) fn forever() -> Self {
        Self {
            default: None,
            namespaces: BTreeMap::new(),
            rules: Vec::new(),
            expired: BTreeMap::new(),
            size_floor_ns: i64::MIN,
            size_floor_cap: 0,
            reclassified: Vec::new(),
            sunk: Arc::default(),
        }
    }

    /// Whether nothing is ever too old.
    pub(crate) fn is_forever(&self) -> bool {
        self.default.is_none()
            && self.namespaces.values().all(Option::is_none)
            && self.rules.iter().all(|rule| rule.keep.is_none())
            && self.expired.is_empty()
            && self.size_floor_ns == i64::MIN
    }

    fn keep(&self, namespace: NamespaceId, class: u32) -> Option<Duration> {
        match class {
            0 => self.namespaces.get(&namespace).copied().unwrap_or(self.default),
            CLASS_FOREVER => None,
            seconds => Some(Duration::from_secs(seconds.into())),
        }
    }

    /// The instant before which samples of a namespace and class are not there.
    pub(crate) fn floor(&self, now_ns: i64, namespace: NamespaceId, class: u32) -> i64 {
        let kept = self.keep(namespace, class).map(|keep| now_ns.saturating_sub(keep_ns(keep)));
        let expired = self.expired.get(&(namespace, class)).copied();
        let floor = kept.unwrap_or(i64::MIN).max(expired.unwrap_or(i64::MIN));
        floor.max(self.size_floor_ns)
    }

    /// Whether a floor sank since this was so.
    pub(crate) fn has_sunk(&self) -> bool {
        !self.sunk.is_end()
    }

    /// The highest floor of a namespace and class that sank since this was so. What was below it
    /// was deleted from memory, and parts of back then may show what it had overwritten: whoever
    /// reads memory first asks this afterwards.
    pub(crate) fn sunk(&self, namespace: NamespaceId, class: u32) -> i64 {
        let is_of = |floor: &&Floor| floor.of.is_none_or(|of| of == (namespace, class));
        let floors = self.sunk.until(self.sunk.end()).filter(is_of).map(|floor| floor.floor_ns);
        floors.max().unwrap_or(i64::MIN)
    }

    /// Tells those who read by this, or by what was so before, that a floor is about to sink.
    fn sink(&self, floor: &Floor) {
        Chain::behind(&self.sunk).add(floor.clone());
    }

    /// The lowest and the highest floor that a series of a namespace can have.
    pub(crate) fn floors(&self, now_ns: i64, namespace: NamespaceId) -> (i64, i64) {
        let classes = self.rules.iter().map(RetentionRule::class);
        let expired = self.expired.range((namespace, 0)..=(namespace, u32::MAX));
        let classes = classes.chain(expired.map(|((_, class), _)| *class)).chain([0]);
        let floors = classes.map(|class| self.floor(now_ns, namespace, class));
        floors.fold((i64::MAX, i64::MIN), |(low, high), floor| (low.min(floor), high.max(floor)))
    }

    /// The class that the rules put a series in.
    pub(crate) fn class(&self, identity: &Identity) -> u32 {
        self.class_by(&identity.measurement, &|name| {
            let label = identity.labels.iter().find(|label| *label.name == *name);
            label.map(|label| &*label.value)
        })
    }

    /// The class that the rules put all series of a key in.
    pub(crate) fn class_of_key(&self, key: &KeyParts) -> u32 {
        // A canonical key is UTF-8.
        let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
        self.class_by(text(key.measurement()), &|name| {
            let label = key.labels().find(|(known, _)| *known == name.as_bytes());
            label.map(|(_, value)| text(value))
        })
    }

    fn class_by<'a>(&self, measurement: &str, label: &dyn Fn(&str) -> Option<&'a str>) -> u32 {
        let rule = self.rules.iter().find(|rule| rule.fits(measurement, label));
        rule.map_or(0, RetentionRule::class)
    }

    /// Whether series changed their class between a part of rank `older` and one of rank `newer`.
    /// Then a part of another class may hold newer samples of what the older one holds.
    pub(crate) fn was_reclassified(&self, older: u64, newer: u64) -> bool {
        self.reclassified.iter().any(|&number| older < number && number <= newer)
    }

    pub(crate) fn rules(&self) -> &[RetentionRule] {
        &self.rules
    }

    pub(crate) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// A checksum of the rules: what tells whether series were given their classes by them.
    pub(crate) fn rules_checksum(&self) -> u32 {
        let mut bytes = Vec::new();
        let mut put = |text: &str| {
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        for rule in &self.rules {
            put(&rule.measurement);
            put(&rule.class().to_string());
            put(&rule.labels.len().to_string());
            for (name, value) in &rule.labels {
                put(name);
                put(value);
            }
        }
        foliot_codec::checksum(&bytes)
    }

    /// The floor of a class that was made physical, if one was.
    pub(crate) fn expired(&self, namespace: NamespaceId, class: u32) -> Option<i64> {
        self.expired.get(&(namespace, class)).copied()
    }

    /// Whether that floor was made physical already.
    pub(crate) fn has_expired(&self, key: (NamespaceId, u32), floor_ns: i64) -> bool {
        self.expired.get(&key).is_some_and(|expired| *expired >= floor_ns)
    }

    pub(crate) fn size_floor_ns(&self) -> i64 {
        self.size_floor_ns
    }

    /// Floors made physical that are higher than what is asked for now.
    fn too_high(&self, now_ns: i64, cap: u64) -> Vec<Floor> {
        let mut all = Vec::new();
        for (&of, &floor_ns) in &self.expired {
            let keep = self.keep(of.0, of.1).map(keep_ns);
            if keep.is_none_or(|keep| now_ns.saturating_sub(keep) < floor_ns) {
                all.push(Floor { key: expired_key(of), of: Some(of), floor_ns });
            }
        }
        if self.size_floor_ns != i64::MIN && self.size_floor_cap != cap {
            let (key, floor_ns) = (EXPIRED_BY_SIZE.to_owned(), self.size_floor_ns);
            all.push(Floor { key, of: None, floor_ns });
        }
        all
    }
}

/// A floor that was made physical.
#[derive(Clone, Debug)]
struct Floor {
    /// Its key in the catalog.
    key: String,
    /// The namespace and class that it is of; nothing for all.
    of: Option<(NamespaceId, u32)>,
    floor_ns: i64,
}

fn expired_key((namespace, class): (NamespaceId, u32)) -> String {
    format!("{namespace}/{class}")
}

/// The latest time of day that the catalog says has come.
pub(crate) fn known_ns(catalog: &Catalog) -> Option<i64> {
    catalog.get(KNOWN_KIND, "")?.first_chunk().map(|bytes| i64::from_le_bytes(*bytes))
}

/// How long the clock had been ahead of that when the store was last open.
pub(crate) fn stayed(catalog: &Catalog) -> Option<Stayed> {
    let bytes = catalog.get(KNOWN_KIND, KNOWN_STAYED)?;
    let ([now, stayed], []) = bytes.as_chunks() else { return None };
    Some(Stayed { now_ns: i64::from_le_bytes(*now), for_ns: i64::from_le_bytes(*stayed) })
}

/// The settings of a store: with the retention that it was told last, where that is kept.
pub(crate) fn settled(config: &Config, catalog: &Catalog) -> Config {
    if !config.keeps_retention {
        return config.clone();
    }
    let cap = catalog.get(EXPIRED_KIND, EXPIRED_BY_SIZE);
    let cap = cap.and_then(|bytes| bytes.get(8..)?.first_chunk().copied());
    Config {
        retention: kept_default(catalog),
        retention_rules: kept_rules(catalog),
        retention_bytes_max: cap.map_or(u64::MAX, u64::from_le_bytes),
        ..config.clone()
    }
}

/// How long samples were kept where a namespace was told nothing; nothing is for ever.
fn kept_default(catalog: &Catalog) -> Option<Duration> {
    let bytes = catalog.get(KEEP_KIND, DEFAULT_KEY)?;
    let nanos = u64::from_le_bytes(*bytes.first_chunk()?);
    (nanos > 0).then(|| Duration::from_nanos(nanos))
}

fn kept_rules(catalog: &Catalog) -> Vec<RetentionRule> {
    let bytes = catalog.get(KEEP_KIND, RULES_KEY).unwrap_or_default();
    let mut rest = &*bytes;
    std::iter::from_fn(|| RetentionRule::decode(&mut rest)).collect()
}

/// Numbers that divide files written before series changed their class from those after.
pub(crate) fn reclassified(catalog: &Catalog) -> Vec<u64> {
    let bytes = catalog.get(RECLASSIFIED_KIND, "").unwrap_or_default();
    bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect()
}

impl Engine {
    /// How long a namespace keeps its samples; nothing is for ever.
    pub fn retention(&self, namespace: NamespaceId) -> Option<Duration> {
        self.store().ingest.retention().keep(namespace, 0)
    }

    /// Tells how long a namespace keeps its samples; nothing is for ever. Older samples are gone
    /// for readers when this returns, and writes of such are refused; files follow. A change is
    /// told to the audit log first.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn set_retention(
        &self,
        namespace: NamespaceId,
        keep: Option<Duration>,
        caller: &Caller,
    ) -> Result<Commit, Error> {
        let store = self.store();
        let mut told = None;
        let _one_at_a_time = loop {
            let settings = store.ingest.settings();
            let kept = self.retention(namespace);
            if kept == keep || told == Some(kept) {
                break settings;
            }
            // Who changes other settings does not wait for the disk that this line goes to. What
            // was kept may be another time by then, and is told again.
            drop(settings);
            store.audit(caller, namespace, &Act::Keep(kept, keep), None)?;
            told = Some(kept);
        };
        let nanos = keep.map_or(0, |keep| keep_ns(keep).max(1) as u64);
        let commit = self.catalog_put(KEEP_KIND, &namespace.to_string(), &nanos.to_le_bytes())?;
        store.ingest.reload_retention();
        Ok(self.lower_floors()?.max(commit))
    }

    /// Replaces the rules by which series are kept for other times than their namespaces say; known
    /// series get their new classes. Tells how many series changed theirs.
    ///
    /// Rules are settings, not facts: a store that is opened again begins with those of its
    /// [`Config::retention_rules`].
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn set_retention_rules(&self, rules: Vec<RetentionRule>) -> Result<u64, Error> {
        let store = self.store();
        let _one_at_a_time = store.ingest.settings();
        store.ingest.set_rules(rules);
        // Who registers series by the rules before is done when nobody is behind the gate.
        drop(store.ingest.hold());
        let mut changed = 0;
        for (namespace, ..) in self.namespaces() {
            changed += store.classify_all(namespace)?;
        }
        changed += store.classify_closed()?;
        self.lower_floors()?;
        Ok(changed)
    }

    /// Takes the clock for right, though most of a namespace may expire by it. Told to the audit
    /// log first.
    ///
    /// # Errors
    /// When the audit log cannot be written, or the wal refuses.
    pub fn accept_clock(&self, caller: &Caller) -> Result<(), Error> {
        let store = self.store();
        let clock = store.ingest.clock();
        let act = Act::Clock { from_ns: clock.known_ns(), to_ns: store.ingest.disk().now_ns() };
        store.audit(caller, DEFAULT_NAMESPACE, &act, None)?;
        clock.accept();
        store.ingest.keep_known(0)
    }

    /// What opening does: classes by the rules given, floors by the retention given. A retention
    /// that is not what it was is told to the audit log first; one that is shorter is a sentence.
    pub(crate) fn begin_retention(&self) -> Result<Option<String>, Error> {
        let store = self.store();
        let ingest = &store.ingest;
        let keep = ingest.config().retention;
        let kept = kept_default(ingest.catalog());
        let mut note = None;
        if kept != keep {
            let caller = Caller { door: "settings", ..Caller::default() };
            store.audit(&caller, DEFAULT_NAMESPACE, &Act::Keep(kept, keep), None)?;
            let nanos = keep.map_or(0, |keep| keep_ns(keep).max(1) as u64);
            ingest.change_catalog(KEEP_KIND, DEFAULT_KEY, Some(&nanos.to_le_bytes()))?;
            let is_shorter = keep.is_some_and(|keep| kept.is_none_or(|kept| keep < kept));
            note = is_shorter.then(|| self.tell_shorter(kept, keep)).flatten();
        }
        let rules = ingest.config().retention_rules.clone();
        if kept_rules(ingest.catalog()) != rules {
            let mut bytes = Vec::new();
            rules.iter().for_each(|rule| rule.encode(&mut bytes));
            let bytes = (!bytes.is_empty()).then_some(&*bytes);
            ingest.change_catalog(KEEP_KIND, RULES_KEY, bytes)?;
        }
        self.set_retention_rules(rules)?;
        Ok(note)
    }

    /// What expires since samples are kept for less time than they were; nothing if nothing does.
    fn tell_shorter(&self, kept: Option<Duration>, keep: Option<Duration>) -> Option<String> {
        let ingest = &self.store().ingest;
        let (retention, now_ns) = (ingest.retention(), ingest.clock().shown_ns());
        let is_old = |entry: &PartEntry| {
            entry.range.end_ns < retention.floor(now_ns, entry.namespace, entry.class)
        };
        let view = self.store().files.view();
        let gone = view.parts.iter().map(|part| part.entry).filter(is_old);
        let samples: u64 = gone.map(|entry| entry.samples).sum();
        let spell = |keep: Option<Duration>| match keep {
            None => "for ever".to_owned(),
            Some(keep) => format!("for {} s", keep.as_secs()),
        };
        (samples > 0).then(|| {
            let (kept, keep) = (spell(kept), spell(keep));
            format!("samples are kept {keep}, no longer {kept}: {samples} and more expire now")
        })
    }

    /// What opening does when parts take more bytes than they may: a sentence that says how much
    /// goes, and a line of the audit log. The maintainer takes it away.
    pub(crate) fn tell_cap(&self) -> Option<String> {
        let store = self.store();
        let bytes_max = store.ingest.config().retention_bytes_max;
        let Beyond { floor_ns, samples, bytes } = store.files.view().beyond(bytes_max)?;
        if floor_ns <= store.ingest.retention().size_floor_ns() {
            return None;
        }
        let caller = Caller { door: "settings", ..Caller::default() };
        let act = Act::Cap { bytes_max, samples, bytes };
        let note = format!(
            "parts may take {bytes_max} bytes and take more: the oldest go now, {samples} samples \
             in {bytes} bytes"
        );
        // A disk without room for the line may be why there is a cap.
        Some(match store.audit(&caller, DEFAULT_NAMESPACE, &act, None) {
            Ok(()) => note,
            Err(error) => format!("{note}; the audit log does not say so: {error}"),
        })
    }

    /// Floors that were made physical and would sink: deletes what is left below them, so that
    /// nothing half lost comes back, and lets them sink.
    fn lower_floors(&self) -> Result<Commit, Error> {
        let store = self.store();
        let retention = store.ingest.retention();
        let cap = store.ingest.config().retention_bytes_max;
        let mut commit = Commit::at(0);
        for floor in retention.too_high(store.ingest.clock().known_ns(), cap) {
            retention.sink(&floor);
            let Floor { key, of, floor_ns } = floor;
            let range = TimeRange::new(i64::MIN, floor_ns.saturating_sub(1));
            let namespaces: Vec<NamespaceId> = match of {
                Some((namespace, _)) => vec![namespace],
                None => self.namespaces().into_iter().map(|(id, ..)| id).collect(),
            };
            for namespace in namespaces {
                let snapshot = self.snapshot();
                let found = snapshot.select(&all_of(namespace), range)?;
                let mut sids = Vec::new();
                for sid in found {
                    let mut ids = snapshot.ids(sid);
                    // What an older id has was overwritten by what a newer one loses.
                    while let (Some(newest), Some((_, wanted))) = (ids.last(), of) {
                        let series = store.ingest.epochs().describe(*newest)?;
                        if series.is_some_and(|series| series.class == wanted) {
                            break;
                        }
                        ids.pop();
                    }
                    sids.append(&mut ids);
                }
                sids.sort_unstable();
                let sids: SidSet = sids.into_iter().collect();
                commit = store.delete(namespace, sids, range, false)?.max(commit);
            }
            commit = self.catalog_delete(EXPIRED_KIND, &key)?.max(commit);
        }
        store.ingest.reload_retention();
        Ok(commit)
    }
}

/// Everything in a namespace.
pub(crate) fn all_of(namespace: NamespaceId) -> Selector {
    let (names, matchers) = (Vec::new(), Vec::new());
    Selector { namespace, names, matchers, exact_labels: None, only: None }
}

impl Ingest {
    /// Keeps the time of day that is known to have come as a fact, unless what is kept is younger
    /// than `age_ns`: by it samples stay hidden after a restart, whatever the clock says then.
    pub(crate) fn keep_known(&self, age_ns: i64) -> Result<(), Error> {
        let now_ns = self.clock().gone_ns();
        let kept_ns = known_ns(self.catalog()).unwrap_or(i64::MIN);
        if now_ns.saturating_sub(kept_ns) > age_ns {
            self.change_catalog(KNOWN_KIND, "", Some(&now_ns.to_le_bytes()))?;
        }
        Ok(())
    }

    /// Keeps as a fact how long the clock has been ahead, or that it is no longer.
    pub(crate) fn keep_stayed(&self) -> Result<(), Error> {
        let (kept, now) = (stayed(self.catalog()), self.clock().stayed());
        let is_old = |kept: &Stayed, now: &Stayed| {
            now.for_ns < kept.for_ns || now.for_ns - kept.for_ns >= STAYED_INTERVAL_NS
        };
        let bytes = match (&kept, &now) {
            (None, None) => return Ok(()),
            (Some(kept), Some(now)) if !is_old(kept, now) => return Ok(()),
            (_, now) => {
                now.map(|now| [now.now_ns.to_le_bytes(), now.for_ns.to_le_bytes()].concat())
            }
        };
        self.change_catalog(KNOWN_KIND, KNOWN_STAYED, bytes.as_deref()).map(|_| ())
    }

    /// Keeps a floor of a namespace and class as a fact, before files lose what is below it.
    pub(crate) fn keep_floor(&self, key: FloorKey, floor_ns: i64) -> Result<Commit, Error> {
        self.change_catalog(EXPIRED_KIND, &expired_key(key), Some(&floor_ns.to_le_bytes()))
    }

    /// Likewise the floor that the cap on bytes makes.
    pub(crate) fn keep_size_floor(&self, floor_ns: i64) -> Result<Commit, Error> {
        let cap = self.config().retention_bytes_max;
        let bytes = [floor_ns.to_le_bytes(), cap.to_le_bytes()].concat();
        self.change_catalog(EXPIRED_KIND, EXPIRED_BY_SIZE, Some(&bytes))
    }

    /// Keeps, as a fact, numbers that divide files written before series changed their class from
    /// those after.
    pub(crate) fn keep_reclassified(
        &self,
        divides: impl Iterator<Item = u64>,
    ) -> Result<Commit, Error> {
        let bytes: Vec<u8> = divides.flat_map(u64::to_le_bytes).collect();
        let commit = self.change_catalog(RECLASSIFIED_KIND, "", Some(&bytes))?;
        self.reload_retention();
        Ok(commit)
    }

    /// Forgets what was said of a namespace.
    pub(crate) fn forget_retention(&self, namespace: NamespaceId) -> Result<Commit, Error> {
        let mut commit = self.change_catalog(KEEP_KIND, &namespace.to_string(), None)?;
        let prefix = format!("{namespace}/");
        for (key, _) in self.catalog().list(EXPIRED_KIND) {
            if key.starts_with(&prefix) {
                commit = self.change_catalog(EXPIRED_KIND, &key, None)?;
            }
        }
        self.reload_retention();
        Ok(commit)
    }
}
