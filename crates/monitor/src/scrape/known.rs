//! The series of a target, in few bytes each: it is scraped again and again, and has up to a
//! million.
//!
//! A line is known by a hash of 128 bits, keyed by a secret that is drawn when the target is first
//! scraped, as the keys of the store's series are. What the line became is a *slot*: where the
//! numbers of its labels lie in one run of bytes. Each label, a name with a value, is spelled out
//! once for all series that have it.

use crate::relabel::LabelSet;
use foliot_model::{KeyHasher, KeySecret};
use foliot_proto_prometheus::{KEY_SYNTAX, pack_labels};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

/// About what a line takes with its place in the table.
const LINE_BYTES: usize = 48;

/// The series of a target.
#[derive(Debug, Default)]
pub(super) struct Known {
    lines: HashMap<Digest, Line, BuildHasherDefault<First>>,
    slots: Vec<Slot>,
    /// The numbers of the labels of all slots, as varints.
    numbers: Vec<u8>,
    /// All labels, packed, and where each ends.
    labels: Vec<u8>,
    ends: Vec<u32>,
    /// While new lines come.
    index: Option<Index>,
    digests: Digests,
    /// Where a series is put together.
    whole: Vec<u8>,
}

/// Numbers by hashes.
type Numbers = HashMap<Digest, u32, BuildHasherDefault<First>>;

/// What is known, by what it says: slots by all their labels, and labels.
#[derive(Debug, Default)]
struct Index {
    slots: Numbers,
    labels: Numbers,
}

/// Hashes the texts of one target. Nobody who writes them knows its secret.
#[derive(Clone, Copy, Debug)]
struct Digests(KeyHasher);

impl Default for Digests {
    fn default() -> Self {
        let secret = KeySecret(RandomState::new().build_hasher().finish());
        Self(KeyHasher::new(secret, 0, &KEY_SYNTAX))
    }
}

impl Digests {
    fn of(self, text: &[u8]) -> Digest {
        let hash = self.0.key(b"", text);
        Digest(hash as u64, (hash >> 64) as u64)
    }
}

/// A hash, in halves: a number of 128 bits would take more room in a table.
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
    /// Where the numbers of its labels lie.
    start: u32,
    length: u32,
    /// The scrape that showed it last.
    last: u32,
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
    /// Finds a line, and notes that this scrape shows it.
    pub(super) fn line(&mut self, text: &[u8], scrape: u32) -> Seen {
        let digest = self.digests.of(text);
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
        self.lines.insert(self.digests.of(text), Line { slot, last: scrape });
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
    pub(super) fn whole(&mut self, slot: u32) -> &[u8] {
        let (slot, mut whole) = (slot as usize, std::mem::take(&mut self.whole));
        whole.clear();
        self.slots.get(slot).into_iter().for_each(|slot| self.push(slot, &mut whole));
        self.whole = whole;
        &self.whole
    }

    /// The scrape was good: hands out the series that it did not show and the one before did, and
    /// forgets the lines that it did not show.
    pub(super) fn finish(&mut self, scrape: u32, over: &mut dyn FnMut(&[u8])) {
        self.index = None;
        self.each_live(|slot| slot.last != scrape, over);
        self.slots.iter_mut().for_each(|slot| slot.is_live = slot.last == scrape);
        let before = self.lines.len();
        self.lines.retain(|_, line| line.last == scrape);
        if self.lines.len() < before || self.lines.len() < self.slots.len() {
            self.sweep();
        }
        self.slots.shrink_to_fit();
        self.numbers.shrink_to_fit();
        self.labels.shrink_to_fit();
    }

    /// Hands out all series that are live: they are over.
    pub(super) fn end(&mut self, over: &mut dyn FnMut(&[u8])) {
        self.index = None;
        self.each_live(|_| true, over);
        self.slots.iter_mut().for_each(|slot| slot.is_live = false);
        if self.lines.is_empty() {
            (self.slots, self.ends) = (Vec::new(), Vec::new());
            (self.numbers, self.labels) = (Vec::new(), Vec::new());
        }
    }

    /// Forgets what lines become.
    pub(super) fn forget_lines(&mut self) {
        self.lines = HashMap::default();
    }

    /// About how many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        let slots = self.slots.len() * size_of::<Slot>() + self.numbers.len();
        let labels = self.ends.len() * size_of::<u32>() + self.labels.len();
        self.lines.len() * LINE_BYTES + slots + labels
    }

    /// The slot of a series, a new one if it has none: several lines may become one series.
    fn slot_of(&mut self, labels: &LabelSet) -> Result<u32, Full> {
        let mut index = match self.index.take() {
            Some(index) => index,
            None => self.index(),
        };
        let digest = self.digests.of(&pack(labels));
        let slot = match index.slots.get(&digest) {
            Some(slot) => *slot,
            None => self.add(labels, &mut index)?,
        };
        index.slots.insert(digest, slot);
        self.index = Some(index);
        Ok(slot)
    }

    fn index(&self) -> Index {
        let mut whole = Vec::new();
        let slots = self.slots.iter().zip(0..).map(|(slot, number)| {
            whole.clear();
            self.push(slot, &mut whole);
            (self.digests.of(&whole), number)
        });
        let slots = slots.collect();
        let labels =
            (0..self.ends.len() as u32).map(|label| (self.digests.of(self.label(label)), label));
        Index { slots, labels: labels.collect() }
    }

    fn add(&mut self, labels: &LabelSet, index: &mut Index) -> Result<u32, Full> {
        let number = u32::try_from(self.slots.len()).map_err(|_| Full)?;
        let start = u32::try_from(self.numbers.len()).map_err(|_| Full)?;
        for (name, value) in labels {
            let one = pack_labels(std::iter::once((name.as_str(), value.as_str())));
            let digest = self.digests.of(&one);
            let label = match index.labels.get(&digest) {
                Some(label) => *label,
                None => self.add_label(&one)?,
            };
            index.labels.insert(digest, label);
            push_varint(label, &mut self.numbers);
        }
        let length = u32::try_from(self.numbers.len()).map_err(|_| Full)?.saturating_sub(start);
        self.slots.push(Slot { start, length, last: 0, is_live: false });
        Ok(number)
    }

    fn add_label(&mut self, packed: &[u8]) -> Result<u32, Full> {
        let number = u32::try_from(self.ends.len()).map_err(|_| Full)?;
        let end = u32::try_from(self.labels.len() + packed.len()).map_err(|_| Full)?;
        self.labels.extend_from_slice(packed);
        self.ends.push(end);
        Ok(number)
    }

    /// A label, packed.
    fn label(&self, number: u32) -> &[u8] {
        let end_of = |number: usize| self.ends.get(number).map_or(0, |end| *end as usize);
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, end_of);
        self.labels.get(start..end_of(number)).unwrap_or_default()
    }

    fn numbers_of(&self, slot: &Slot) -> &[u8] {
        let start = slot.start as usize;
        self.numbers.get(start..start + slot.length as usize).unwrap_or_default()
    }

    /// Appends the packed labels of a slot.
    fn push(&self, slot: &Slot, out: &mut Vec<u8>) {
        let mut numbers = self.numbers_of(slot);
        while let Some(label) = take_varint(&mut numbers) {
            out.extend_from_slice(self.label(label));
        }
    }

    fn each_live(&self, wanted: impl Fn(&Slot) -> bool, each: &mut dyn FnMut(&[u8])) {
        let mut whole = Vec::new();
        for slot in self.slots.iter().filter(|slot| slot.is_live && wanted(slot)) {
            whole.clear();
            self.push(slot, &mut whole);
            each(&whole);
        }
    }

    /// Forgets slots of which there is no line, and labels of which there is no slot.
    fn sweep(&mut self) {
        let mut kept = Self { digests: self.digests, ..Self::default() };
        let mut slots = vec![None; self.slots.len()];
        let mut labels = vec![None; self.ends.len()];
        let mut lines = std::mem::take(&mut self.lines);
        for line in lines.values_mut() {
            let Some(slot) = line.slot else { continue };
            let (Some(place), Some(old)) =
                (slots.get_mut(slot as usize), self.slots.get(slot as usize))
            else {
                continue;
            };
            // There are no more than before, so that there are numbers for all.
            line.slot = Some(*place.get_or_insert_with(|| self.copy(old, &mut labels, &mut kept)));
        }
        if lines.capacity() > lines.len() * 4 {
            lines.shrink_to_fit();
        }
        *self = Self { lines, ..kept };
    }

    /// Adds a slot to those that are kept, whose labels have new numbers there.
    fn copy(&self, slot: &Slot, labels: &mut [Option<u32>], kept: &mut Self) -> u32 {
        let (number, start) = (kept.slots.len() as u32, kept.numbers.len() as u32);
        let mut numbers = self.numbers_of(slot);
        while let Some(label) = take_varint(&mut numbers) {
            let Some(place) = labels.get_mut(label as usize) else { continue };
            let label =
                *place.get_or_insert_with(|| kept.add_label(self.label(label)).unwrap_or_default());
            push_varint(label, &mut kept.numbers);
        }
        kept.slots.push(Slot { start, length: kept.numbers.len() as u32 - start, ..*slot });
        number
    }
}

fn push_varint(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number in front; nothing at the end.
fn take_varint(bytes: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if *byte < 0x80 || shift > 28 {
            return Some(number);
        }
    }
}

/// The labels of a series, packed.
pub(super) fn pack(labels: &LabelSet) -> Vec<u8> {
    pack_labels(labels.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}
