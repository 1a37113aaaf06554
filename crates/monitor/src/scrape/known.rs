//! The series of a target, in few bytes each: it is scraped again and again, and has up to a
//! million.
//!
//! A line is known by 128 bits of hashes, under keys that are drawn when the target is first
//! scraped. What the line became is a *slot*: where its packed labels lie in one run of bytes, in
//! which labels that the target gives to all its series are left out.

use crate::relabel::LabelSet;
use foliot_proto_prometheus::pack_labels;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

/// About what a line takes with its place in the table.
const LINE_BYTES: usize = 48;

/// The series of a target.
#[derive(Debug, Default)]
pub(super) struct Known {
    lines: HashMap<Digest, Line, BuildHasherDefault<First>>,
    slots: Vec<Slot>,
    /// Packed labels of all slots.
    labels: Vec<u8>,
    /// What is left out of each series: the labels of the target, packed, in their order.
    given: Vec<Vec<u8>>,
    /// Slots by their labels, while new lines come.
    by_labels: Option<HashMap<Digest, u32, BuildHasherDefault<First>>>,
    seeds: (RandomState, RandomState),
    /// Where a series is put together.
    whole: Vec<u8>,
}

/// A hash of 128 bits. That two texts of a target share one is not to be expected in the lifetime
/// of the universe, and nobody who writes them knows the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest(u64, u64);

impl Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// Takes what is a hash already.
#[derive(Clone, Copy, Debug, Default)]
struct First(u64);

impl Hasher for First {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// Nothing: rules drop it.
    slot: Option<u32>,
    /// The scrape that showed it last.
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Where its bytes lie. Where given labels are left out, two bytes for each say first at which
    /// byte of the others it stands.
    start: u32,
    length: u32,
    /// The scrape that showed it last.
    last: u32,
    leaves_out: bool,
    /// Whether it gets a mark when it vanishes.
    is_live: bool,
}

/// What a line is.
pub(super) enum Seen {
    /// It was not there before.
    Never,
    /// Rules drop it.
    Dropped,
    /// A series, by its number.
    Series(u32),
}

/// How a series is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It was there at the scrape before.
    Again,
    /// It was not.
    New,
    /// It was shown in this scrape already.
    Twice,
}

/// A table has more series than numbers for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Full;

impl Known {
    /// A scrape begins of a target with these labels.
    pub(super) fn begin(&mut self, target: &LabelSet) {
        self.by_labels = None;
        if self.slots.is_empty() {
            let labels = target.iter().map(|(name, value)| pack_one(name, value));
            self.given = labels.collect();
        }
    }

    /// Finds a line, and notes that this scrape shows it.
    pub(super) fn line(&mut self, text: &[u8], scrape: u32) -> Seen {
        let digest = self.digest(text);
        match self.lines.get_mut(&digest) {
            None => Seen::Never,
            Some(line) => {
                line.last = scrape;
                line.slot.map_or(Seen::Dropped, Seen::Series)
            }
        }
    }

    /// Learns what a line becomes: a series of these labels, or nothing.
    ///
    /// # Errors
    /// When there is no number for it.
    pub(super) fn learn(
        &mut self,
        text: &[u8],
        labels: Option<&LabelSet>,
        scrape: u32,
    ) -> Result<Seen, Full> {
        let slot = labels.map(|labels| self.slot_of(labels)).transpose()?;
        self.lines.insert(self.digest(text), Line { slot, last: scrape });
        Ok(slot.map_or(Seen::Dropped, Seen::Series))
    }

    /// Notes that this scrape shows a series.
    pub(super) fn show(&mut self, slot: u32, scrape: u32) -> Shown {
        let Some(slot) = self.slots.get_mut(slot as usize) else { return Shown::New };
        let shown = match slot.last == scrape {
            true => Shown::Twice,
            false if slot.is_live => Shown::Again,
            false => Shown::New,
        };
        slot.last = scrape;
        shown
    }

    /// The packed labels of a series.
    pub(super) fn labels(&mut self, slot: u32) -> &[u8] {
        let (slot, mut whole) = (slot as usize, std::mem::take(&mut self.whole));
        whole.clear();
        self.slots.get(slot).into_iter().for_each(|slot| self.push(slot, &mut whole));
        self.whole = whole;
        &self.whole
    }

    /// The scrape was good: hands out the series that it did not show and the one before did, and
    /// forgets the lines that it did not show.
    pub(super) fn finish(&mut self, scrape: u32, over: &mut dyn FnMut(&[u8])) {
        self.by_labels = None;
        self.each_live(|slot| slot.last != scrape, over);
        self.slots.iter_mut().for_each(|slot| slot.is_live = slot.last == scrape);
        let before = self.lines.len();
        self.lines.retain(|_, line| line.last == scrape);
        if self.lines.len() < before || self.lines.len() < self.slots.len() {
            self.sweep();
        }
        self.labels.shrink_to_fit();
        self.slots.shrink_to_fit();
    }

    /// Hands out all series that are live: they are over.
    pub(super) fn end(&mut self, over: &mut dyn FnMut(&[u8])) {
        self.by_labels = None;
        self.each_live(|_| true, over);
        self.slots.iter_mut().for_each(|slot| slot.is_live = false);
        if self.lines.is_empty() {
            (self.slots, self.labels) = (Vec::new(), Vec::new());
        }
    }

    /// Forgets what lines become.
    pub(super) fn forget_lines(&mut self) {
        self.lines = HashMap::default();
    }

    /// About how many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        let slots = self.slots.len() * size_of::<Slot>() + self.labels.len();
        self.lines.len() * LINE_BYTES + slots
    }

    fn digest(&self, text: &[u8]) -> Digest {
        let hash = |seed: &RandomState| {
            let mut hasher = seed.build_hasher();
            hasher.write(text);
            hasher.finish()
        };
        Digest(hash(&self.seeds.0), hash(&self.seeds.1))
    }

    /// The slot of a series, a new one if it has none: several lines may become one series.
    fn slot_of(&mut self, labels: &LabelSet) -> Result<u32, Full> {
        let mut by_labels = match self.by_labels.take() {
            Some(by_labels) => by_labels,
            None => self.index(),
        };
        let whole = pack(labels);
        let digest = self.digest(&whole);
        let slot = match by_labels.get(&digest) {
            Some(slot) => *slot,
            None => self.add(labels, &whole)?,
        };
        by_labels.insert(digest, slot);
        self.by_labels = Some(by_labels);
        Ok(slot)
    }

    fn index(&self) -> HashMap<Digest, u32, BuildHasherDefault<First>> {
        let mut whole = Vec::new();
        let slots = self.slots.iter().zip(0..);
        let digests = slots.map(|(slot, number)| {
            whole.clear();
            self.push(slot, &mut whole);
            (self.digest(&whole), number)
        });
        digests.collect()
    }

    fn add(&mut self, labels: &LabelSet, whole: &[u8]) -> Result<u32, Full> {
        let (mut own, mut places, mut given) = (Vec::new(), Vec::new(), self.given.iter());
        let mut next = given.next();
        for (name, value) in labels {
            let one = pack_one(name, value);
            if next == Some(&one) {
                places.push(own.len());
                next = given.next();
                continue;
            }
            own.extend_from_slice(&one);
        }
        let places: Option<Vec<u16>> =
            places.into_iter().map(|place| u16::try_from(place).ok()).collect();
        let places = places.filter(|_| next.is_none());
        let number = u32::try_from(self.slots.len()).map_err(|_| Full)?;
        let start = u32::try_from(self.labels.len()).map_err(|_| Full)?;
        match &places {
            Some(places) => {
                places.iter().for_each(|place| self.labels.extend(place.to_le_bytes()));
                self.labels.extend_from_slice(&own);
            }
            None => self.labels.extend_from_slice(whole),
        }
        let length = u32::try_from(self.labels.len() - start as usize).map_err(|_| Full)?;
        let leaves_out = places.is_some();
        self.slots.push(Slot { start, length, last: 0, leaves_out, is_live: false });
        Ok(number)
    }

    /// Appends the packed labels of a slot.
    fn push(&self, slot: &Slot, out: &mut Vec<u8>) {
        let start = slot.start as usize;
        let bytes = self.labels.get(start..start + slot.length as usize).unwrap_or_default();
        if !slot.leaves_out {
            return out.extend_from_slice(bytes);
        }
        let (places, own) = bytes.split_at(bytes.len().min(self.given.len() * 2));
        let mut at = 0;
        for (place, given) in places.as_chunks::<2>().0.iter().zip(&self.given) {
            let place = usize::from(u16::from_le_bytes(*place));
            out.extend_from_slice(own.get(at..place).unwrap_or_default());
            out.extend_from_slice(given);
            at = place;
        }
        out.extend_from_slice(own.get(at..).unwrap_or_default());
    }

    fn each_live(&self, wanted: impl Fn(&Slot) -> bool, each: &mut dyn FnMut(&[u8])) {
        let mut whole = Vec::new();
        for slot in self.slots.iter().filter(|slot| slot.is_live && wanted(slot)) {
            whole.clear();
            self.push(slot, &mut whole);
            each(&whole);
        }
    }

    /// Forgets slots of which there is no line.
    fn sweep(&mut self) {
        let mut moved: Vec<Option<u32>> = vec![None; self.slots.len()];
        let (slots, labels) = (std::mem::take(&mut self.slots), std::mem::take(&mut self.labels));
        for line in self.lines.values_mut() {
            let Some(slot) = &mut line.slot else { continue };
            let place = moved.get_mut(*slot as usize);
            let (Some(place), Some(old)) = (place, slots.get(*slot as usize)) else { continue };
            *slot = *place.get_or_insert_with(|| {
                // They were fewer before.
                let (number, start) = (self.slots.len() as u32, self.labels.len() as u32);
                let from = old.start as usize;
                let bytes = labels.get(from..from + old.length as usize).unwrap_or_default();
                self.labels.extend_from_slice(bytes);
                self.slots.push(Slot { start, ..*old });
                number
            });
        }
        if self.lines.capacity() > self.lines.len() * 4 {
            self.lines.shrink_to_fit();
        }
    }
}

/// The labels of a series, packed.
pub(super) fn pack(labels: &LabelSet) -> Vec<u8> {
    pack_labels(labels.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

fn pack_one(name: &str, value: &str) -> Vec<u8> {
    pack_labels(std::iter::once((name, value)))
}
