//! The series of a target, in few bytes each: it is scraped again and again, and has up to a
//! million.
//!
//! 1. Lines stand in the order of the last scrape, so that the next one is known by comparing its
//!    hash with that of the one expected. One that stands elsewhere is looked for among its
//!    neighbours, and then in a table that is made when it is needed. Comments that stand together
//!    count as one line.
//! 2. What a line became is a *slot*: a series, which is the places of its labels in a table where
//!    each label, a name with a value, is spelled out once for all series that have it.
//! 3. Hashes are those by which the store knows its keys, so that it finds a series without its
//!    labels. They have 128 bits and are keyed by the store's secret.

use crate::relabel::LabelSet;
use foliot_model::{Cell, KeyHasher, KeySecret, Span};
use foliot_proto_prometheus::{
    KEY_SYNTAX, LabelTable, PlacedSeries, Scraped, pack_labels, places, push_place,
};
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

/// Lines behind the expected one among which one is looked for: so many may have vanished.
const NEIGHBOURS: usize = 8;

/// The series of a target.
#[derive(Debug)]
pub(super) struct Known {
    hasher: KeyHasher,
    /// In the order of the last scrape; those that are new to this one stand behind.
    lines: Vec<Line>,
    /// The line that is expected.
    next: usize,
    /// How many lines this scrape showed.
    shown: u32,
    /// While lines stand elsewhere, or are new.
    numbers: Option<Numbers>,
    slots: Vec<Slot>,
    /// The places of the labels of all slots.
    places: Vec<u8>,
    labels: LabelTable,
    /// While new lines come.
    index: Option<Index>,
}

/// Numbers by hashes.
type Numbers = HashMap<Digest, u32, BuildHasherDefault<First>>;

/// What is known, by what it says: slots by all their labels, and labels.
#[derive(Debug, Default)]
struct Index {
    slots: Numbers,
    labels: Numbers,
}

/// A hash, in bytes: a number of 128 bits would take more room in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest([u8; 16]);

impl Digest {
    fn of(hasher: KeyHasher, text: &[u8]) -> Self {
        Self(hasher.key(b"", text).to_le_bytes())
    }

    fn hash(self) -> u128 {
        u128::from_le_bytes(self.0)
    }
}

impl Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(Digest::hash(*self) as u64);
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
    digest: Digest,
    /// Of its name and labels, in bytes.
    length: u32,
    /// Its series, [`DROPPED`] or [`COMMENTS`].
    slot: u32,
    /// As which one this scrape showed it; 0: it did not.
    rank: u32,
}

/// Rules drop the line.
const DROPPED: u32 = u32::MAX;

/// It is comments.
const COMMENTS: u32 = u32::MAX - 1;

#[derive(Clone, Copy, Debug)]
struct Slot {
    digest: Digest,
    /// Where its places begin; they end where those of the next one do.
    start: u32,
    state: State,
}

/// Whether a series is there. One that is gets a mark when it vanishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It was not there at the last scrape.
    Over,
    /// It was there, and this scrape has not shown it yet.
    Live,
    /// It was there and is.
    Again,
    /// It was not there and is.
    New,
}

/// What stands where it stood.
#[derive(Clone, Copy, Debug)]
pub(super) enum Followed {
    /// A line, with its number.
    Line(Seen, Cell),
    /// Comments, by their hash.
    Comments(u128),
}

/// What a line is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    /// It was not there before.
    Never,
    /// Rules drop it.
    Dropped,
    /// A series, by its number.
    Series(u32),
}

impl Seen {
    fn of(slot: u32) -> Self {
        if slot == DROPPED { Self::Dropped } else { Self::Series(slot) }
    }
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

impl Default for Known {
    fn default() -> Self {
        let secret = KeySecret(RandomState::new().build_hasher().finish());
        Self::new(KeyHasher::new(secret, 0, &KEY_SYNTAX))
    }
}

impl Known {
    fn new(hasher: KeyHasher) -> Self {
        Self {
            hasher,
            lines: Vec::new(),
            next: 0,
            shown: 0,
            numbers: None,
            slots: Vec::new(),
            places: Vec::new(),
            labels: LabelTable::default(),
            index: None,
        }
    }

    /// Hashes as the store does from now on. If it is another way, lines have to be read anew.
    pub(super) fn hash_by(&mut self, hasher: KeyHasher) {
        if hasher == self.hasher {
            return;
        }
        self.forget_lines();
        self.hasher = hasher;
        let mut packed = Vec::new();
        for number in 0..self.slots.len() {
            packed.clear();
            self.spell(number, &mut packed);
            if let Some(slot) = self.slots.get_mut(number) {
                slot.digest = Digest::of(hasher, &packed);
            }
        }
    }

    /// What hashes lines and labels.
    pub(super) fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// The labels that places are of, and the places of all series.
    pub(super) fn labels(&self) -> (&LabelTable, &[u8]) {
        (&self.labels, &self.places)
    }

    /// Steps over the next line of a text, if it is the expected one with another plain number, or
    /// over the comments that are expected. Notes that this scrape shows it.
    #[inline]
    pub(super) fn follow(&mut self, scraped: &mut Scraped<'_>) -> Option<Followed> {
        let hasher = self.hasher;
        let line = self.lines.get(self.next).filter(|line| line.rank == 0)?;
        let (length, digest) = (line.length as usize, line.digest);
        let is_known = |text: &[u8]| Digest::of(hasher, text) == digest;
        let found = match line.slot {
            COMMENTS if scraped.step_known_comments(length, is_known) => {
                Followed::Comments(digest.hash())
            }
            COMMENTS => return None,
            slot => Followed::Line(Seen::of(slot), scraped.step_known(length, is_known)?),
        };
        self.note(self.next);
        Some(found)
    }

    /// Finds comments near where they stood, or learns them, and notes that this scrape shows them.
    /// Returns their hash.
    ///
    /// # Errors
    /// When there is no number for them.
    pub(super) fn comments(&mut self, text: &[u8]) -> Result<u128, Full> {
        let digest = Digest::of(self.hasher, text);
        match self.near(digest) {
            Some(number) => {
                self.note(number);
            }
            // Those that stand elsewhere are learned once more. They differ at each scrape of some
            // targets, which is no reason to make a table of all lines.
            None => {
                self.add_line(digest, text.len(), COMMENTS)?;
            }
        }
        Ok(digest.hash())
    }

    /// Finds a line, and notes that this scrape shows it.
    pub(super) fn line(&mut self, text: &[u8]) -> Seen {
        let digest = Digest::of(self.hasher, text);
        let number = match self.near(digest) {
            Some(number) => Some(number),
            None => self.numbers().get(&digest).map(|number| *number as usize),
        };
        number.map_or(Seen::Never, |number| self.note(number))
    }

    /// Looks for a line at the place that is expected, and behind it.
    fn near(&self, digest: Digest) -> Option<usize> {
        let expected = self.lines.iter().skip(self.next).take(NEIGHBOURS);
        let near = expected.zip(self.next..).find(|(line, _)| line.digest == digest);
        near.map(|(_, number)| number)
    }

    /// Learns what a line becomes: a series of these labels, or nothing.
    ///
    /// # Errors
    /// When there is no number for it.
    pub(super) fn learn(&mut self, text: &[u8], labels: Option<&LabelSet>) -> Result<Seen, Full> {
        let slot = labels.map_or(Ok(DROPPED), |labels| self.slot_of(labels))?;
        let digest = Digest::of(self.hasher, text);
        let number = self.add_line(digest, text.len(), slot)?;
        self.numbers().insert(digest, number);
        Ok(Seen::of(slot))
    }

    /// Adds a line that this scrape shows; returns its number.
    fn add_line(&mut self, digest: Digest, length: usize, slot: u32) -> Result<u32, Full> {
        let number = u32::try_from(self.lines.len()).map_err(|_| Full)?;
        let length = u32::try_from(length).map_err(|_| Full)?;
        self.shown += 1;
        self.lines.push(Line { digest, length, slot, rank: self.shown });
        Ok(number)
    }

    /// Notes that this scrape shows a series.
    pub(super) fn show(&mut self, slot: u32) -> Shown {
        let Some(slot) = self.slots.get_mut(slot as usize) else { return Shown::New };
        let (state, shown) = match slot.state {
            State::Over => (State::New, Shown::New),
            State::Live => (State::Again, Shown::Again),
            state => (state, Shown::Twice),
        };
        slot.state = state;
        shown
    }

    /// A series, by its places.
    #[inline]
    pub(super) fn placed(&self, slot: u32) -> PlacedSeries {
        let hash = self.slots.get(slot as usize).map_or(0, |slot| slot.digest.hash());
        PlacedSeries { places: self.lie(slot as usize), hash }
    }

    /// The packed labels of a series.
    pub(super) fn packed(&self, slot: u32) -> Vec<u8> {
        let mut packed = Vec::new();
        self.spell(slot as usize, &mut packed);
        packed
    }

    /// The scrape was good: the series that it did not show and the one before did are over, and
    /// handed out. [`Known::forget_unseen`] must follow.
    pub(super) fn finish(&mut self, over: &mut dyn FnMut(PlacedSeries)) {
        (self.index, self.numbers) = (None, None);
        self.each(State::Live, over);
        for slot in &mut self.slots {
            slot.state = match slot.state {
                State::Over | State::Live => State::Over,
                State::Again | State::New => State::Live,
            };
        }
    }

    /// Forgets the lines that a good scrape did not show, with what they became. Places are others
    /// from then on.
    pub(super) fn forget_unseen(&mut self) {
        let before = self.lines.len();
        // Mostly all of them are shown, in their order.
        if !self.lines.iter().zip(1..).all(|(line, rank)| line.rank == rank) {
            self.lines.retain(|line| line.rank > 0);
            self.lines.sort_unstable_by_key(|line| line.rank);
        }
        self.begin_anew();
        let of_series = self.lines.iter().filter(|line| line.slot < COMMENTS).count();
        if self.lines.len() < before || of_series < self.slots.len() {
            self.sweep();
        }
        self.lines.shrink_to_fit();
        self.slots.shrink_to_fit();
        self.places.shrink_to_fit();
        self.labels.shrink();
    }

    /// The scrape was no good: it showed nothing.
    pub(super) fn give_up(&mut self) {
        (self.index, self.numbers) = (None, None);
        self.begin_anew();
        for slot in &mut self.slots {
            slot.state = match slot.state {
                State::Over | State::New => State::Over,
                State::Live | State::Again => State::Live,
            };
        }
    }

    /// Hands out all series that are live: they are over. [`Known::forget_all_over`] must follow.
    pub(super) fn end(&mut self, over: &mut dyn FnMut(PlacedSeries)) {
        self.each(State::Live, over);
        self.slots.iter_mut().for_each(|slot| slot.state = State::Over);
    }

    /// Forgets series that are over, where no lines are known that would become some again.
    pub(super) fn forget_all_over(&mut self) {
        if self.lines.is_empty() {
            *self = Self::new(self.hasher);
        }
    }

    /// Forgets what lines become.
    pub(super) fn forget_lines(&mut self) {
        (self.lines, self.numbers) = (Vec::new(), None);
        self.begin_anew();
    }

    /// About how many bytes it holds.
    pub(super) fn bytes(&self) -> usize {
        let lines = self.lines.len() * size_of::<Line>();
        let slots = self.slots.len() * size_of::<Slot>();
        lines + slots + self.places.len() + self.labels.bytes().len()
    }

    /// The next line is expected to be the first one.
    fn begin_anew(&mut self) {
        (self.next, self.shown) = (0, 0);
        self.lines.iter_mut().for_each(|line| line.rank = 0);
    }

    /// Notes that this scrape shows a line, and expects the one behind it.
    fn note(&mut self, number: usize) -> Seen {
        self.next = number + 1;
        let Some(line) = self.lines.get_mut(number) else { return Seen::Never };
        if line.rank == 0 {
            self.shown += 1;
            line.rank = self.shown;
        }
        Seen::of(line.slot)
    }

    fn numbers(&mut self) -> &mut Numbers {
        let lines = &self.lines;
        self.numbers.get_or_insert_with(|| {
            lines.iter().zip(0..).map(|(line, number)| (line.digest, number)).collect()
        })
    }

    /// The slot of a series, a new one if it has none: several lines may become one series.
    fn slot_of(&mut self, labels: &LabelSet) -> Result<u32, Full> {
        let mut index = self.index.take().unwrap_or_else(|| self.index());
        let digest = Digest::of(self.hasher, &pack(labels));
        let slot = match index.slots.get(&digest) {
            Some(slot) => *slot,
            None => self.add(digest, labels, &mut index)?,
        };
        self.index = Some(index);
        Ok(slot)
    }

    fn index(&self) -> Index {
        let slots = self.slots.iter().zip(0..).map(|(slot, number)| (slot.digest, number));
        let labels = self.labels.labels();
        let labels = labels.map(|(place, label)| (Digest::of(self.hasher, label), place));
        Index { slots: slots.collect(), labels: labels.collect() }
    }

    fn add(&mut self, digest: Digest, labels: &LabelSet, index: &mut Index) -> Result<u32, Full> {
        let number = u32::try_from(self.slots.len()).ok().filter(|number| *number < COMMENTS);
        let number = number.ok_or(Full)?;
        let start = u32::try_from(self.places.len()).map_err(|_| Full)?;
        for (name, value) in labels {
            let label = pack_labels(std::iter::once((name.as_str(), value.as_str())));
            let of_label = Digest::of(self.hasher, &label);
            let place = match index.labels.get(&of_label) {
                Some(place) => *place,
                None => self.labels.add(&label).ok_or(Full)?,
            };
            index.labels.insert(of_label, place);
            push_place(place, &mut self.places);
        }
        self.slots.push(Slot { digest, start, state: State::Over });
        index.slots.insert(digest, number);
        Ok(number)
    }

    fn places_of(&self, slot: usize) -> &[u8] {
        let Span { offset, length } = self.lie(slot);
        self.places.get(offset as usize..(offset + length) as usize).unwrap_or_default()
    }

    /// Where the places of a slot lie.
    #[inline]
    fn lie(&self, slot: usize) -> Span {
        let start_of = |slot: usize| self.slots.get(slot).map(|slot| slot.start as usize);
        let start = start_of(slot).unwrap_or(self.places.len());
        let end = start_of(slot + 1).unwrap_or(self.places.len());
        Span::new(start, end)
    }

    /// Appends the packed labels of a slot.
    fn spell(&self, slot: usize, out: &mut Vec<u8>) {
        places(self.places_of(slot)).for_each(|place| out.extend_from_slice(self.labels.at(place)));
    }

    fn each(&self, state: State, each: &mut dyn FnMut(PlacedSeries)) {
        for (slot, number) in self.slots.iter().zip(0..) {
            if slot.state == state {
                each(self.placed(number));
            }
        }
    }

    /// Forgets slots of which there is no line, and labels of which there is no slot.
    fn sweep(&mut self) {
        let mut kept = Self::new(self.hasher);
        let mut slots = vec![DROPPED; self.slots.len()];
        let mut moved = HashMap::new();
        let mut lines = std::mem::take(&mut self.lines);
        for line in &mut lines {
            let Some(number) = slots.get_mut(line.slot as usize) else { continue };
            if *number == DROPPED {
                // There are no more than before, so that there are numbers for all.
                *number = self.copy(line.slot as usize, &mut moved, &mut kept);
            }
            line.slot = *number;
        }
        *self = Self { lines, ..kept };
    }

    /// Adds a slot to those that are kept, whose labels have other places there.
    fn copy(&self, slot: usize, moved: &mut HashMap<u32, u32>, kept: &mut Self) -> u32 {
        let (number, start) = (kept.slots.len() as u32, kept.places.len() as u32);
        for place in places(self.places_of(slot)) {
            let place = *moved
                .entry(place)
                .or_insert_with(|| kept.labels.add(self.labels.at(place)).unwrap_or_default());
            push_place(place, &mut kept.places);
        }
        kept.slots.extend(self.slots.get(slot).map(|slot| Slot { start, ..*slot }));
        number
    }
}

/// The labels of a series, packed.
pub(super) fn pack(labels: &LabelSet) -> Vec<u8> {
    pack_labels(labels.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}
