//! Scans: the samples of one series, from everywhere, in time order, each time once.
//!
//! What holds samples of the series is cut into *pieces*: blocks of parts, sealed blocks, streams,
//! late samples. Each piece has a rank: pieces written later have higher ones. As long as a piece
//! is alone it is read as it lies; where it overlaps others, up to the first end of those that
//! begin together, their samples are put in order one by one, and at equal times the highest rank
//! wins.

use crate::block::{Block, Decoder};
use crate::columns::Columns;
use crate::error::Error;
use crate::head::page::SeriesCopy;
use crate::head::stream::{Outline, Reader, Steady};
use crate::limits::BLOCK_SAMPLES_MAX;
use crate::part::{BlockPlace, Part, Seat, Sought};
use crate::reads::{AllReads, OwnReads};
use crate::run::Run;
use crate::tombstones::Mask;
use foliot_codec::Summary;
use foliot_model::{Kind, Samples, TimeRange, Value};
use std::sync::Arc;

/// Memory of a sample while it is merged: time, value, kind, its place in the order, and the same
/// again while they are put in order.
const MERGED_SAMPLE_BYTES: usize = 48;

/// Pieces that are merged up to the first end among them. Each is decoded once more for its rest,
/// which for many costs more than putting all of their samples in order.
const MERGED_BY_STRETCHES_MAX: usize = 8;

/// How often a piece is read in part, for the same reason: then what overlaps it is merged whole.
const PARTS_READ_MAX: u8 = 4;

enum Source {
    /// A block of the part at a seat.
    Part(usize, BlockPlace),
    /// A block some of whose samples were deleted: those in these ranges.
    Masked(usize, BlockPlace, Box<[TimeRange]>),
    Sealed(Arc<Block>),
    /// An open stream that was not read.
    Steady(Steady),
    /// Decoded already; times ascend.
    Columns(Columns),
}

struct Piece {
    /// The first and the last time of what was not read yet.
    range: TimeRange,
    rank: u32,
    /// How often a part of it was read.
    parts_read: u8,
    source: Source,
}

/// A part, and where the scan stands in it.
struct Seated {
    part: Arc<Part>,
    seat: Seat,
}

/// A block that was not read.
pub(crate) struct Passed(Piece);

/// A block that need not be read.
#[derive(Clone, Copy, Debug)]
pub struct Peek<'s> {
    /// Its first and last time.
    pub range: TimeRange,
    /// Number of its samples.
    pub count: u16,
    /// What its values come to.
    pub summary: &'s Summary,
}

/// The samples of one series in a range of time, block by block.
pub struct Scan {
    /// What was asked for.
    asked: TimeRange,
    /// What of it may be seen of the series.
    range: TimeRange,
    /// Pieces by start time, from the last to the first, so that the next one is popped.
    pieces: Vec<Piece>,
    ranks: u32,
    /// Merged samples not yet handed out, and how many of them were.
    merged: Columns,
    merged_at: usize,
    decoder: Decoder,
    buffer: Vec<u8>,
    places: Vec<BlockPlace>,
    /// Parts in the order in which they were added for the series before, which most often has the
    /// same, and how many were added for this one. Pieces name them by their numbers: threads that
    /// counted each other's references block by block would wait for one another.
    seats: Vec<Seated>,
    seated: usize,
    samples: Samples,
    reads: OwnReads,
}

impl Scan {
    /// A scan of no series yet: see [`crate::Snapshot::scan_into`].
    pub fn over(range: TimeRange) -> Self {
        Self {
            asked: range,
            range,
            pieces: Vec::new(),
            ranks: 0,
            merged: Columns::default(),
            merged_at: 0,
            decoder: Decoder::default(),
            buffer: Vec::new(),
            places: Vec::new(),
            seats: Vec::new(),
            seated: 0,
            samples: Samples::default(),
            reads: OwnReads::default(),
        }
    }

    /// Counts what is read from now on among `all`.
    pub(crate) fn tell(&mut self, all: &Arc<AllReads>) {
        self.reads.tell(all);
    }

    /// Asks for another range of the series that it is turned to from now on.
    pub fn ask_for(&mut self, range: TimeRange) {
        self.asked = range;
    }

    /// Turns to a series that shows nothing before `floor_ns`.
    pub(crate) fn clear(&mut self, floor_ns: i64) {
        self.range = self.asked.intersect(&TimeRange::new(floor_ns, i64::MAX));
        self.pieces.clear();
        self.ranks = 0;
        self.seated = 0;
        self.merged.clear();
        self.merged_at = 0;
    }

    pub(crate) fn range(&self) -> TimeRange {
        self.range
    }

    fn push(&mut self, range: TimeRange, source: Source) {
        let rank = self.ranks;
        self.ranks += 1;
        self.pieces.push(Piece { range, rank, parts_read: 0, source });
    }

    /// Adds the blocks of a part. Parts are added oldest first, then copies of pages.
    ///
    /// `masks` is what was deleted from the series.
    pub(crate) fn add_part(
        &mut self,
        sid: u32,
        part: &Arc<Part>,
        masks: &[Mask],
    ) -> Result<(), Error> {
        let masks = masks.iter().filter(|(before, _)| part.entry.number < *before);
        let mut places = std::mem::take(&mut self.places);
        let sought = Sought { sid, range: self.range, is_last: false };
        let at = self.seated;
        let found = self.find(part, sought, &mut places);
        for place in places.drain(..) {
            let hidden = masks.clone().map(|(_, range)| *range);
            let hidden = hidden.filter(|range| range.overlaps(&place.range));
            let hidden: Box<[TimeRange]> = hidden.collect();
            if hidden.is_empty() {
                self.push(place.range, Source::Part(at, place));
            } else if !hidden.iter().any(|range| range.covers(&place.range)) {
                self.push(place.range, Source::Masked(at, place, hidden));
            }
        }
        self.places = places;
        found
    }

    /// Takes a part's seat and looks blocks up in it, from where the series before lay.
    fn find(
        &mut self,
        part: &Arc<Part>,
        sought: Sought,
        places: &mut Vec<BlockPlace>,
    ) -> Result<(), Error> {
        let is_seated = |seated: &Seated| Arc::ptr_eq(&seated.part, part);
        if !self.seats.get(self.seated).is_some_and(is_seated) {
            self.seats.truncate(self.seated);
            self.seats.push(Seated { part: part.clone(), seat: Seat::default() });
        }
        let seated = self.seats.get_mut(self.seated);
        self.seated += 1;
        let Some(Seated { seat, .. }) = seated else { return Ok(()) };
        let found = part.find(sought, seat, &mut self.buffer, places);
        self.reads.now.blocks_skipped += seat.take_passed();
        found
    }

    /// Puts the last sample of the parts of a series in `range` in place of what `out` holds, if
    /// there is one. Nothing of the series may be hidden in them.
    pub(crate) fn last_in_parts(
        &mut self,
        sid: u32,
        parts: &[Arc<Part>],
        mut range: TimeRange,
        out: &mut Samples,
    ) -> Result<(), Error> {
        self.seated = 0;
        let mut places = std::mem::take(&mut self.places);
        let mut last = None;
        // What was written later wins at equal times.
        for part in parts.iter().rev() {
            places.clear();
            self.find(part, Sought { sid, range, is_last: true }, &mut places)?;
            let Some(place) = places.pop() else { continue };
            let after_ns = place.range.end_ns.checked_add(1);
            last = Some((part, place));
            let Some(after_ns) = after_ns else { break };
            range.start_ns = after_ns;
        }
        places.clear();
        self.places = places;
        let Some((part, place)) = last else { return Ok(()) };
        out.clear();
        let end_ns = place.range.end_ns;
        if let Some(value) = last_value(&place.summary) {
            self.reads.now.blocks_summed += 1;
            out.push(end_ns, value);
            return Ok(());
        }
        let end = TimeRange::new(end_ns, end_ns);
        part.read(&place, end, &mut self.decoder, &mut self.buffer, out)
    }

    /// Adds what a page held, in the order in which it was written.
    pub(crate) fn add_copy(&mut self, copy: SeriesCopy) {
        for block in copy.sealed {
            self.push(block.range, Source::Sealed(block));
        }
        match Steady::of(copy.stream, copy.outline) {
            Ok(steady) => {
                let range = steady.range();
                if range.overlaps(&self.range) {
                    self.push(range, Source::Steady(steady));
                }
            }
            Err(stream) => self.add_stream(&stream, copy.outline),
        }
        let mut late = copy.late;
        late.sort_newest_wins();
        self.add_columns(late);
    }

    /// Adds the samples of a stream in any order. A question about a minute passes over most of
    /// what it has of an hour.
    fn add_stream(&mut self, stream: &[u8], outline: Outline) {
        let mut columns = Columns::default();
        let mut reader = Reader::of(stream, outline);
        while let Some(sample) = reader.next() {
            if reader.is_past(self.range) && sample.time_ns > self.range.end_ns {
                break;
            }
            if self.range.contains(sample.time_ns) {
                // Most samples that are not steady take two bytes.
                columns.reserve(reader.left() / 2 + 1);
                columns.push(sample, stream);
            }
            reader.run(self.range, &mut columns);
        }
        if !outline.ascends {
            columns.sort_newest_wins();
        }
        let wanted = columns.indices(self.range);
        if wanted.len() < columns.len() {
            let all = std::mem::take(&mut columns);
            columns.append(&all, wanted);
        }
        self.add_columns(columns);
    }

    fn add_columns(&mut self, columns: Columns) {
        if let (Some(&start_ns), Some(&end_ns)) =
            (columns.times_ns.first(), columns.times_ns.last())
        {
            let range = TimeRange::new(start_ns, end_ns);
            if range.overlaps(&self.range) {
                self.push(range, Source::Columns(columns));
            }
        }
    }

    pub(crate) fn arrange(&mut self) {
        // Most often they came in the order of time, which is the opposite of what is wanted and
        // what sorting takes longest for.
        self.pieces.reverse();
        self.pieces.sort_by_key(|piece| std::cmp::Reverse(piece.range.start_ns));
    }

    /// The last time in the range or after it, if nothing was read yet.
    pub(crate) fn end_ns(&self) -> Option<i64> {
        self.pieces.iter().map(|piece| piece.range.end_ns).max()
    }

    /// Leaves only what is not before `start_ns`. What was found when the scan began stays found,
    /// whatever was deleted since.
    pub(crate) fn narrow(&mut self, start_ns: i64) {
        self.range.start_ns = self.range.start_ns.max(start_ns);
        self.pieces.retain(|piece| piece.range.end_ns >= start_ns);
    }

    /// Whether a block in the range has lost samples.
    pub(crate) fn is_masked(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece.source, Source::Masked(..)))
    }

    /// What the next block comes to, when it lies whole in the range and nothing overlaps it: a
    /// plan that needs no more than that can [`Scan::skip`] it unread.
    pub fn peek(&self) -> Option<Peek<'_>> {
        let [rest @ .., piece] = &self.pieces[..] else { return None };
        let is_alone = rest.last().is_none_or(|next| next.range.start_ns > piece.range.end_ns);
        let is_next = self.merged_at >= self.merged.len();
        if !is_alone || !is_next || !self.range.covers(&piece.range) {
            return None;
        }
        let (range, count, summary) = match &piece.source {
            Source::Part(_, place) => (place.range, place.count, &place.summary),
            Source::Sealed(block) => (block.range, block.count, &block.summary),
            Source::Masked(..) | Source::Steady(_) | Source::Columns(_) => return None,
        };
        let is_whole = range == piece.range;
        is_whole.then_some(Peek { range, count, summary })
    }

    /// Passes over the block that [`Scan::peek`] showed.
    pub fn skip(&mut self) {
        self.reads.now.blocks_summed += 1;
        self.pieces.pop();
    }

    /// The same for one that may be wanted after all: see [`Scan::go_back`].
    pub(crate) fn pass(&mut self) -> Option<Passed> {
        self.reads.now.blocks_summed += 1;
        self.pieces.pop().map(Passed)
    }

    /// Reads the last sample of a block that was passed, at the end of the scan.
    pub(crate) fn go_back(
        &mut self,
        Passed(piece): Passed,
        out: &mut Samples,
    ) -> Result<(), Error> {
        self.range.start_ns = piece.range.end_ns;
        self.read(piece, i64::MAX, out)
    }

    /// Bytes that [`Scan::next`] takes, or has taken, to merge blocks that overlap, by estimate;
    /// 0 where none do.
    pub fn merge_bytes(&self) -> usize {
        if self.merged_at < self.merged.len() {
            return self.merged.len() * MERGED_SAMPLE_BYTES + self.merged.bytes.len();
        }
        let mut pieces = self.pieces.iter().rev();
        let Some(first) = pieces.next() else { return 0 };
        let mut end_ns = first.range.end_ns;
        let together = pieces.take_while(|piece| {
            let overlaps = piece.range.start_ns <= end_ns;
            end_ns = end_ns.max(piece.range.end_ns);
            overlaps
        });
        let decoded = |piece: &Piece| {
            let (samples, bytes) = piece.source.size();
            samples as usize * MERGED_SAMPLE_BYTES + bytes as usize
        };
        match together.map(decoded).sum::<usize>() {
            0 => 0,
            others => others + decoded(first),
        }
    }

    /// Appends the next samples, at most 1024, to `out`; false, and nothing appended, at the end.
    ///
    /// # Errors
    /// When a part cannot be read; the error names the file and the place.
    pub fn next(&mut self, out: &mut Samples) -> Result<bool, Error> {
        loop {
            if self.merged_at < self.merged.len() {
                let end = (self.merged_at + BLOCK_SAMPLES_MAX).min(self.merged.len());
                self.merged.copy_to(self.merged_at..end, out);
                self.merged_at = end;
                return Ok(true);
            }
            let Some(piece) = self.pieces.pop() else { return Ok(false) };
            match self.alone_until(&piece) {
                Some(until_ns) => {
                    let before = out.len();
                    self.read(piece, until_ns, out)?;
                    if out.len() > before {
                        return Ok(true);
                    }
                }
                None => self.merge(piece)?,
            }
        }
    }

    /// Up to which time a piece that was taken off is read alone: until another overlaps it. None
    /// if that is at once, or if parts of the piece were read often.
    fn alone_until(&self, piece: &Piece) -> Option<i64> {
        let Some(next) = self.pieces.last() else { return Some(i64::MAX) };
        let is_apart = next.range.start_ns > piece.range.end_ns;
        let begins_alone = next.range.start_ns > piece.range.start_ns && !piece.is_worn();
        (is_apart || begins_alone).then(|| next.range.start_ns - 1)
    }

    /// What is read of a piece up to `until_ns`.
    fn up_to(&self, piece: &Piece, until_ns: i64) -> TimeRange {
        self.range.intersect(&TimeRange::new(piece.range.start_ns, until_ns))
    }

    /// Puts a piece back that was read up to `until_ns`, if something is left of it.
    fn put_back(&mut self, mut piece: Piece, until_ns: i64) {
        if piece.range.end_ns <= until_ns {
            if !matches!(piece.source, Source::Columns(_) | Source::Steady(_)) {
                self.reads.now.blocks_read += 1;
                self.reads.now.bytes_read += piece.source.size().1;
            }
            return;
        }
        piece.range.start_ns = until_ns + 1;
        piece.parts_read += 1;
        let is_after = |other: &Piece| other.range.start_ns > piece.range.start_ns;
        let place = self.pieces.partition_point(is_after);
        self.pieces.insert(place, piece);
    }

    /// Puts the next samples in place of what `run` holds; false at the end. Runs are those of
    /// [`Scan::next`], in a form that is cheaper to fold.
    ///
    /// # Errors
    /// As [`Scan::next`].
    pub fn next_run(&mut self, run: &mut Run) -> Result<bool, Error> {
        loop {
            run.clear();
            if self.merged_at < self.merged.len() {
                let end = (self.merged_at + BLOCK_SAMPLES_MAX).min(self.merged.len());
                run.take_columns(&self.merged, self.merged_at..end);
                self.merged_at = end;
                return Ok(true);
            }
            let Some(piece) = self.pieces.pop() else { return Ok(false) };
            let Some(until_ns) = self.alone_until(&piece) else {
                self.merge(piece)?;
                continue;
            };
            let range = self.up_to(&piece, until_ns);
            match &piece.source {
                Source::Part(at, place) => {
                    let Self { seats, buffer, reads, .. } = self;
                    let part = part_at(seats, *at)?;
                    reads.paged(|| part.read_run(place, range, buffer, run))?;
                    self.put_back(piece, until_ns);
                }
                Source::Sealed(block) => {
                    let (times, values, count) = (block.times(), block.values(), block.count);
                    run.decode(times, values, count as usize, range)
                        .map_err(|reason| Error::Invalid(format!("sealed block: {reason}")))?;
                    self.put_back(piece, until_ns);
                }
                Source::Steady(steady) => {
                    run.take_steady(steady, range);
                    self.put_back(piece, until_ns);
                }
                Source::Masked(..) | Source::Columns(_) => {
                    self.read(piece, until_ns, run.samples())?;
                }
            }
            if !run.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Appends what a piece has up to `until_ns` to `out`, or leaves it in `merged` to be handed
    /// out in turn; puts the rest back.
    fn read(&mut self, piece: Piece, until_ns: i64, out: &mut Samples) -> Result<(), Error> {
        let range = self.up_to(&piece, until_ns);
        match &piece.source {
            Source::Columns(columns) => {
                let mut merged = std::mem::take(&mut self.merged);
                merged.clear();
                merged.append(columns, columns.indices(range));
                self.merged = merged;
                self.merged_at = 0;
            }
            Source::Steady(steady) => {
                self.merged = steady.columns(range);
                self.merged_at = 0;
            }
            _ => self.read_block(&piece.source, range, out)?,
        }
        self.put_back(piece, until_ns);
        Ok(())
    }

    /// Appends what a block has in `range` to `out`.
    fn read_block(
        &mut self,
        source: &Source,
        range: TimeRange,
        out: &mut Samples,
    ) -> Result<(), Error> {
        let Self { seats, decoder, buffer, reads, .. } = self;
        let mut of_part = |at: usize, place: &BlockPlace, out: &mut Samples| {
            let part = part_at(seats, at)?;
            reads.paged(|| part.read(place, range, decoder, buffer, out))
        };
        match source {
            Source::Part(at, place) => of_part(*at, place, out),
            Source::Masked(at, place, hidden) => {
                let mut all = Samples::default();
                of_part(*at, place, &mut all)?;
                append_visible(&all, hidden, out);
                Ok(())
            }
            Source::Sealed(block) => decoder
                .decode(block.times(), block.values(), block.count as usize, range, out)
                .map_err(|reason| Error::Invalid(format!("sealed block: {reason}"))),
            Source::Steady(_) | Source::Columns(_) => Ok(()),
        }
    }

    /// Whether there is a sample: reads until one is found.
    pub(crate) fn finds_any(&mut self) -> Result<bool, Error> {
        let mut chunk = Samples::default();
        while self.peek().is_none() {
            chunk.clear();
            if !self.next(&mut chunk)? {
                return Ok(false);
            }
            if !chunk.is_empty() {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Reads everything: the number of samples, and the bytes that they take, by their shares of
    /// blocks.
    pub(crate) fn tally(&mut self) -> Result<(u64, u64), Error> {
        let pieces = self.pieces.iter();
        let (held, bytes) = pieces.fold((0, 0), |(held, bytes), piece| {
            let (count, len) = piece.source.size();
            (held + count, bytes + len)
        });
        let mut samples = 0;
        let mut chunk = Samples::default();
        loop {
            while let Some(count) = self.peek().map(|block| block.count) {
                samples += u64::from(count);
                self.skip();
            }
            chunk.clear();
            if !self.next(&mut chunk)? {
                // Samples that others hide count where they lie.
                let share = |bytes: u64| u128::from(bytes) * u128::from(samples.min(held));
                return Ok((samples, share(bytes).div_ceil(u128::from(held.max(1))) as u64));
            }
            samples += chunk.len() as u64;
        }
    }

    /// Merges `piece` and others that begin with it into `merged`, up to the first of their ends,
    /// and what overlaps them until then; where many do, or parts of one were read often, all that
    /// overlap one another.
    fn merge(&mut self, piece: Piece) -> Result<(), Error> {
        let (start_ns, mut until_ns) = (piece.range.start_ns, piece.range.end_ns);
        let mut is_whole = piece.is_worn();
        let begin_with_it =
            self.pieces.iter().rev().take_while(|next| next.range.start_ns == start_ns);
        if !is_whole {
            until_ns = begin_with_it.map(|next| next.range.end_ns).fold(until_ns, i64::min);
        }
        let mut together = vec![piece];
        while let Some(next) = self.pieces.pop_if(|next| next.range.start_ns <= until_ns) {
            is_whole |= next.is_worn();
            together.push(next);
            if is_whole || together.len() > MERGED_BY_STRETCHES_MAX {
                let ends = together.iter().map(|piece| piece.range.end_ns);
                until_ns = ends.fold(until_ns, i64::max);
            }
        }
        together.sort_by_key(|piece| piece.rank);
        let mut merged = std::mem::take(&mut self.merged);
        merged.clear();
        let mut samples = std::mem::take(&mut self.samples);
        for piece in together {
            let range = self.up_to(&piece, until_ns);
            match &piece.source {
                Source::Columns(columns) => merged.append(columns, columns.indices(range)),
                Source::Steady(steady) => {
                    let columns = steady.columns(range);
                    merged.append(&columns, 0..columns.len());
                }
                block => {
                    samples.clear();
                    self.read_block(block, range, &mut samples)?;
                    merged.extend(&samples);
                }
            }
            self.put_back(piece, until_ns);
        }
        merged.sort_newest_wins();
        self.samples = samples;
        self.merged = merged;
        self.merged_at = 0;
        Ok(())
    }
}

fn part_at(seats: &[Seated], at: usize) -> Result<&Part, Error> {
    let seated = seats.get(at).map(|seated| &*seated.part);
    seated.ok_or_else(|| Error::Invalid("a block of a part that was not asked".to_owned()))
}

impl Piece {
    fn is_worn(&self) -> bool {
        self.parts_read >= PARTS_READ_MAX
    }
}

impl Source {
    /// Samples and encoded bytes of all it holds.
    fn size(&self) -> (u64, u64) {
        match self {
            Self::Part(_, place) | Self::Masked(_, place, _) => {
                (u64::from(place.count), place.bytes_len())
            }
            Self::Sealed(block) => {
                let len = block.times().len() + block.values().len();
                (u64::from(block.count), len as u64)
            }
            Self::Steady(steady) => (steady.len() as u64, steady.len() as u64 * 16),
            Self::Columns(columns) => {
                (columns.len() as u64, (columns.len() * 16 + columns.bytes.len()) as u64)
            }
        }
    }
}

/// The value of a block's last sample, if its summary tells it to the bit: see [`Summary`].
pub fn last_value(summary: &Summary) -> Option<Value<'static>> {
    const EXACT_MAX: f64 = (1_u64 << 53) as f64;
    if !summary.numeric || summary.has_nan || summary.kinds.count_ones() != 1 {
        return None;
    }
    let last = summary.last();
    let whole = || Some(last).filter(|last| last.abs() < EXACT_MAX);
    match Kind::from_code(summary.kinds.trailing_zeros() as u8)? {
        Kind::Float => Some(Value::Float(last)),
        Kind::Integer => whole().map(|last| Value::Integer(last as i64)),
        Kind::Unsigned => whole().map(|last| Value::Unsigned(last as u64)),
        Kind::Boolean => Some(Value::Boolean(last != 0.0)),
        Kind::String | Kind::Histogram => None,
    }
}

/// Appends the samples that lie in none of the `hidden` ranges.
fn append_visible(samples: &Samples, hidden: &[TimeRange], out: &mut Samples) {
    let is_hidden = |time_ns: &i64| hidden.iter().any(|range| range.contains(*time_ns));
    let mut start = 0;
    for run in samples.times_ns.chunk_by(|a, b| is_hidden(a) == is_hidden(b)) {
        let end = start + run.len();
        if run.first().is_some_and(|time_ns| !is_hidden(time_ns)) {
            out.append(samples, start..end);
        }
        start = end;
    }
}
