//! Imports: lines go in, pieces of a megabyte go to the store or to the server.

use crate::client::Client;
use crate::columns::Shape;
use crate::error::Error;
use crate::places::{self, Policy};
use crate::post::{self, Refused};
use foliot_engine::{Ack, Commit, Engine};
use foliot_model::{Batch, BatchBuffers, KeyError, KeyParts, KeySecret, NamespaceId, Reject};
use foliot_proto_influx::{Decoder, EXACT_LINE_SYNTAX, LINE_SYNTAX, Precision, Settings};
use foliot_proto_opentsdb::{KEY_SYNTAX, Options, decode_lines};
use foliot_proto_prometheus::{
    Exemplars, KEY_SYNTAX as SERIES_KEY_SYNTAX, Version, WriteRequest, push_series, shown_series,
};
use foliot_schema::{DEFAULT_POLICY, Databases, JudgedKinds, Kinds, Manner, check_name};
use std::collections::HashMap;
use std::fmt;
use std::thread::sleep;
use std::time::Duration;

/// Lines are stored in pieces of about this size.
const PIECE_BYTES: usize = 1 << 20;

/// Refused lines that are kept with their reasons; the others are counted.
const FAULTS_MAX: usize = 100;

/// How often an overloaded store or server is asked again, and how long in all.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(200);
pub(crate) const RETRIES_MAX: u32 = 1500;

/// Where samples go.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// Into a store of this process.
    Store(&'a Engine),
    /// Over HTTP to a running server.
    Server(&'a Client),
    /// Nowhere: the source is only read, and its lines are judged.
    Nowhere,
}

impl fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Store(_) => "Store",
            Self::Server(_) => "Server",
            Self::Nowhere => "Nowhere",
        })
    }
}

/// Database and retention policy that lines go to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The database; created when there is none.
    pub database: String,
    /// Its retention policy; none means the database's default one.
    pub policy: Option<String>,
}

impl Default for Place {
    /// Where protocols without databases write.
    fn default() -> Self {
        Self { database: "default".to_owned(), policy: None }
    }
}

/// A line that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number in the source, counted from 1; 0 where there are no lines.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// How far an import has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the source read, as they lie in the file.
    pub bytes_read: u64,
    /// Bytes of the source, when they are known.
    pub bytes_total: Option<u64>,
    /// Lines, or samples where there are no lines, that were stored, or posted and not refused.
    pub stored: u64,
    /// Lines that were refused.
    pub refused: u64,
    /// Exemplars, which are not kept.
    pub exemplars: u64,
    /// Lines that are none of the format's and may be what the other program said about itself.
    pub passed_over: u64,
}

/// The languages that foreign lines are turned into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Influx line protocol with nanoseconds.
    #[default]
    Lines,
    /// Exact lines with nanoseconds, which hold all that a store does.
    Exact,
    /// Put lines.
    Puts,
    /// Series of a request of remote write 1.0.
    Series,
}

impl Spelling {
    /// How fields take their kinds, where they have any.
    fn manner(self) -> Option<Manner> {
        match self {
            Self::Lines => Some(Manner::Strict),
            Self::Exact => Some(Manner::Kept),
            Self::Puts | Self::Series => None,
        }
    }
}

/// An import under way. Lines are told one after the other; [`Import::finish`] makes them safe.
pub struct Import<'a> {
    target: Target<'a>,
    place: Place,
    report: &'a mut dyn FnMut(&Progress),
    progress: Progress,
    faults: Vec<Fault>,
    piece: Piece,
    buffers: BatchBuffers,
    decoder: Decoder,
    kinds: Kinds,
    /// What lines that are only read came to.
    judged: HashMap<Place, JudgedKinds>,
    last: Option<Commit>,
}

impl fmt::Debug for Import<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import").field("place", &self.place).finish_non_exhaustive()
    }
}

/// Lines not yet stored, and where in the source they stood.
#[derive(Debug, Default)]
struct Piece {
    spelling: Spelling,
    text: Vec<u8>,
    /// For each record, the number of its first line in the piece and its line in the source.
    records: Vec<(u32, u64)>,
    lines: u32,
    /// Lines, or samples of series.
    count: u64,
}

impl Piece {
    /// The source's line of a line of the piece, both counted from 1.
    fn source_line(&self, line: u32) -> u64 {
        let behind = self.records.partition_point(|(first, _)| *first <= line);
        self.records.get(behind.saturating_sub(1)).map_or(0, |(_, source)| *source)
    }

    fn clear(&mut self) {
        self.text.clear();
        self.records.clear();
        (self.lines, self.count) = (0, 0);
    }
}

impl<'a> Import<'a> {
    /// An import to `target`; `report` is called after every piece.
    pub fn new(target: Target<'a>, place: Place, report: &'a mut dyn FnMut(&Progress)) -> Self {
        Self {
            target,
            place,
            report,
            progress: Progress::default(),
            faults: Vec::new(),
            piece: Piece::default(),
            buffers: BatchBuffers::default(),
            decoder: Decoder::default(),
            kinds: Kinds::default(),
            judged: HashMap::new(),
            last: None,
        }
    }

    /// Says how far the source was read, for the next report.
    pub fn read(&mut self, bytes_read: u64, bytes_total: Option<u64>) {
        self.progress.bytes_read = bytes_read;
        self.progress.bytes_total = bytes_total;
    }

    /// Where lines go.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Later lines go to `place`.
    ///
    /// # Errors
    /// When the lines before cannot be stored.
    pub fn set_place(&mut self, place: Place) -> Result<(), Error> {
        if place != self.place {
            self.flush()?;
            self.place = place;
        }
        Ok(())
    }

    /// Makes what the target lacks of a database and its policies.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn make(&self, database: &str, policies: &[Policy]) -> Result<(), Error> {
        match self.target {
            Target::Store(engine) => places::make_in(engine, database, policies),
            Target::Server(client) => places::make_at(client, database, policies),
            Target::Nowhere => Ok(()),
        }
    }

    /// Takes a record: `write` appends a line of line protocol with its time in nanoseconds and
    /// without its end. `source_line` is where it stood in the source. A record may span lines when
    /// a string value does.
    ///
    /// # Errors
    /// When storing fails as a whole; a line that is refused is counted and kept as a [`Fault`].
    pub fn line(
        &mut self,
        source_line: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Error> {
        self.record(Spelling::Lines, source_line, write)
    }

    /// Takes a row of a file of columns, as its line without its end: an exact one where the rows
    /// say the kinds of their values.
    ///
    /// # Errors
    /// As [`Import::line`].
    pub(crate) fn line_of(
        &mut self,
        shape: &Shape,
        source_line: u64,
        line: &[u8],
    ) -> Result<(), Error> {
        match shape.is_exact {
            true => self.exact(source_line, line),
            false => self.line(source_line, |out| out.extend_from_slice(line)),
        }
    }

    /// Takes an exact line with its time in nanoseconds and without its end.
    ///
    /// # Errors
    /// As [`Import::line`].
    pub(crate) fn exact(&mut self, source_line: u64, line: &[u8]) -> Result<(), Error> {
        self.record(Spelling::Exact, source_line, |out| out.extend_from_slice(line))
    }

    /// Takes so many samples of a series of Prometheus, spelled as remote write 1.0 does it: its
    /// labels, and its samples.
    ///
    /// # Errors
    /// As [`Import::line`].
    pub fn series(&mut self, key: &[u8], samples: &[u8], count: u64) -> Result<(), Error> {
        self.begin(Spelling::Series)?;
        let piece = &mut self.piece;
        push_series(key, samples, &mut piece.text);
        piece.lines += 1;
        piece.records.push((piece.lines, 0));
        piece.count += count;
        self.flush_full()
    }

    /// Takes a put line: `words` are `metric timestamp value tags…`. Put lines keep OpenTSDB's
    /// freedom to mix integers and floats in one series.
    ///
    /// # Errors
    /// As [`Import::line`].
    pub fn put(&mut self, source_line: u64, words: &[u8]) -> Result<(), Error> {
        self.record(Spelling::Puts, source_line, |out| {
            out.extend_from_slice(b"put ");
            out.extend_from_slice(words);
        })
    }

    fn record(
        &mut self,
        spelling: Spelling,
        source_line: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Error> {
        self.begin(spelling)?;
        let piece = &mut self.piece;
        let before = piece.text.len();
        write(&mut piece.text);
        piece.text.push(b'\n');
        piece.records.push((piece.lines + 1, source_line));
        let written = piece.text.get(before..).unwrap_or_default();
        piece.lines += memchr::memchr_iter(b'\n', written).count() as u32;
        piece.count += 1;
        self.flush_full()
    }

    fn begin(&mut self, spelling: Spelling) -> Result<(), Error> {
        if self.piece.spelling != spelling {
            self.flush()?;
            self.piece.spelling = spelling;
        }
        Ok(())
    }

    fn flush_full(&mut self) -> Result<(), Error> {
        match self.piece.text.len() >= PIECE_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Counts exemplars, which are not kept.
    pub(crate) fn left_out(&mut self, exemplars: u64) {
        self.progress.exemplars += exemplars;
    }

    /// Counts a line that is none of the format's.
    pub(crate) fn pass_over(&mut self) {
        self.progress.passed_over += 1;
    }

    /// Counts a line that cannot be turned into line protocol.
    pub fn refuse(&mut self, source_line: u64, reason: impl Into<String>) {
        self.refuse_many(1, Fault { line: source_line, reason: reason.into() });
    }

    /// Makes everything safe and tells how it went: the counts, and the first hundred faults.
    ///
    /// # Errors
    /// When the last lines cannot be stored.
    pub fn finish(mut self) -> Result<(Progress, Vec<Fault>), Error> {
        self.flush()?;
        if let (Target::Store(engine), Some(commit)) = (self.target, self.last) {
            engine.wait(commit, Ack::Durable)?;
        }
        self.faults.sort_by_key(|fault| fault.line);
        Ok((self.progress, self.faults))
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.piece.records.is_empty() {
            return Ok(());
        }
        let piece = std::mem::take(&mut self.piece);
        let refused_before = self.progress.refused;
        match self.target {
            Target::Store(engine) if piece.spelling == Spelling::Series => {
                self.write_series(engine, &piece)?;
            }
            Target::Store(engine) => self.write(engine, &piece)?,
            Target::Server(client) => self.post(client, &piece)?,
            Target::Nowhere => self.judge(&piece),
        }
        let refused = self.progress.refused - refused_before;
        self.progress.stored += piece.count.saturating_sub(refused);
        (self.report)(&self.progress);
        self.piece = piece;
        self.piece.clear();
        Ok(())
    }

    fn write(&mut self, engine: &Engine, piece: &Piece) -> Result<(), Error> {
        if let Some(commit) = self.last {
            // A slow disk slows the reading down instead of filling memory.
            engine.wait(commit, Ack::Os)?;
        }
        let namespace = self.namespace(engine)?;
        let (mut batch, mut rejects) = self.decode(namespace, engine.key_secret(), piece);
        if let Some(manner) = piece.spelling.manner() {
            let (kinds, batch, rejects) = (&self.kinds, &mut batch, &mut rejects);
            patiently(|| kinds.check(engine, batch, manner, rejects))?;
        }
        if !batch.rows().is_empty() {
            self.last = Some(patiently(|| engine.write(&batch, &mut rejects))?);
        }
        self.buffers = batch.into_buffers();
        self.refuse_all(piece, rejects);
        Ok(())
    }

    /// Reads a piece as an empty store would, and stores nothing.
    fn judge(&mut self, piece: &Piece) {
        let (mut batch, mut rejects) = self.decode(NamespaceId::default(), KeySecret(0), piece);
        // Of samples that were read from a store each keeps its own kind.
        if piece.spelling == Spelling::Lines {
            let judged = self.judged.entry(self.place.clone()).or_default();
            judged.check(&mut batch, &mut rejects);
        }
        let mut parts = KeyParts::default();
        for row in batch.rows() {
            // A store reads measurement and labels when the series is new.
            parts.clear();
            let [head, tail] = [row.key_head, row.key_tail].map(|span| batch.slice(span));
            let read = (batch.syntax().parse)(head, tail, &mut parts);
            if let Err(KeyError { field, reason }) = read.and_then(|()| parts.canonicalize()) {
                rejects.push(Reject { line: row.line, field: field.into(), reason });
            }
        }
        self.buffers = batch.into_buffers();
        self.refuse_all(piece, rejects);
    }

    fn decode<'p>(
        &mut self,
        namespace: NamespaceId,
        secret: KeySecret,
        piece: &'p Piece,
    ) -> (Batch<'p>, Vec<Reject>) {
        let (buffers, mut rejects) = (std::mem::take(&mut self.buffers), Vec::new());
        let syntax = match piece.spelling {
            Spelling::Puts => &KEY_SYNTAX,
            Spelling::Exact => &EXACT_LINE_SYNTAX,
            _ => &LINE_SYNTAX,
        };
        let mut batch = Batch::new(&piece.text, namespace, syntax, secret, buffers);
        match piece.spelling {
            Spelling::Lines | Spelling::Exact => {
                let settings = Settings { precision: Precision::Nanosecond, ..Settings::default() };
                let decoded = self.decoder.decode(&mut batch, settings, &mut rejects);
                self.progress.refused += decoded.refused.saturating_sub(rejects.len()) as u64;
            }
            Spelling::Puts => {
                decode_lines(&mut batch, &Options::default(), &mut rejects);
            }
            // Decoded elsewhere, batch by batch.
            Spelling::Series => {}
        }
        (batch, rejects)
    }

    fn refuse_all(&mut self, piece: &Piece, rejects: Vec<Reject>) {
        for reject in rejects {
            let line = piece.source_line(reject.line);
            let reason = format!("{}: {}", reject.field, reject.reason);
            self.refuse_many(1, Fault { line, reason });
        }
    }

    /// The namespace of the place that lines go to; made when there is none.
    fn namespace(&self, engine: &Engine) -> Result<NamespaceId, Error> {
        let Place { database, policy } = &self.place;
        let of_database = || Some(Databases::new(engine).get(database)?.default_policy);
        let default = || of_database().filter(|name| !name.is_empty());
        let policy = policy.clone().or_else(default).unwrap_or_else(|| DEFAULT_POLICY.to_owned());
        if engine.namespace(database, &policy).is_none() {
            [database, &policy].into_iter().try_for_each(|name| check_name(name))?;
        }
        Ok(engine.create_namespace(database, &policy)?)
    }

    /// Series take many times their bytes in a batch, so that they become several.
    fn write_series(&mut self, engine: &Engine, piece: &Piece) -> Result<(), Error> {
        let namespace = self.namespace(engine)?;
        let request = WriteRequest::parse(Version::V1, &piece.text);
        let mut request = request.map_err(|error| Error::Format(error.to_string()))?;
        let mut has_more = true;
        while has_more {
            if let Some(commit) = self.last {
                engine.wait(commit, Ack::Os)?;
            }
            let (buffers, mut rejects) = (std::mem::take(&mut self.buffers), Vec::new());
            let secret = engine.key_secret();
            let mut batch = Batch::new(&piece.text, namespace, &SERIES_KEY_SYNTAX, secret, buffers);
            has_more = request.decode(&mut batch, (&mut rejects, &mut Exemplars::default()));
            if !batch.rows().is_empty() {
                self.last = Some(patiently(|| engine.write(&batch, &mut rejects))?);
            }
            self.buffers = batch.into_buffers();
            for reject in rejects {
                let series = shown_series(&piece.text, reject.line);
                let reason = format!("{series}: {}: {}", reject.field, reject.reason);
                self.refuse_many(1, Fault { line: 0, reason });
            }
        }
        Ok(())
    }

    fn post(&mut self, client: &Client, piece: &Piece) -> Result<(), Error> {
        let first = piece.records.first().map_or(0, |(_, source)| *source);
        let refused = match piece.spelling {
            Spelling::Lines => post::lines(client, &self.place, &piece.text)?,
            Spelling::Exact => post::exact(client, &self.place, &piece.text)?,
            Spelling::Puts => post::puts(client, &self.place, &piece.text)?,
            Spelling::Series => post::series(client, &self.place, &piece.text)?,
        };
        for Refused { count, line, reason } in refused {
            let fault = match line {
                Some(line) => Fault { line: piece.source_line(line), reason },
                None if first == 0 => Fault { line: 0, reason },
                None => {
                    let reason = format!("in this line or behind it, {count} in all: {reason}");
                    Fault { line: first, reason }
                }
            };
            self.refuse_many(count, fault);
        }
        Ok(())
    }

    /// Counts what cannot be stored.
    pub(crate) fn refuse_many(&mut self, count: u64, fault: Fault) {
        self.progress.refused += count;
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }
}

/// Asks a store again for as long as its head is full.
fn patiently<T>(
    mut write: impl FnMut() -> Result<T, foliot_engine::Error>,
) -> Result<T, foliot_engine::Error> {
    let mut tries = 0;
    loop {
        match write() {
            Err(foliot_engine::Error::Overloaded) if tries < RETRIES_MAX => {
                tries += 1;
                sleep(RETRY_PAUSE);
            }
            outcome => return outcome,
        }
    }
}
