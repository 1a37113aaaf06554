//! The wal: one stream of frames for the whole store.
//!
//! Request threads encode frames and append them to a queue under a short lock; one writer moves
//! the queue to the file and syncs it, so that all requests of one moment share a sync (group
//! commit). An lsn is a position in the stream. What is durable is the stream up to
//! [`Progress::durable_lsn`].
//!
//! Lock contract: `queue` is held for a copy of one frame, never during IO. `io` belongs to whoever
//! writes and may be held for as long as a disk takes.

pub(crate) mod frame;
pub(crate) mod rows;
pub(crate) mod segment;

use crate::config::{Ack, Commit, Config, Progress};
use crate::error::Error;
use crate::filenames;
use crate::limits::{WAL_FRAME_BYTES_MAX, WAL_SEGMENT_BYTES};
use foliot_disk::{AppendFile, Disk};
use frame::FrameKind;
use parking_lot::{Condvar, Mutex, RwLock};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the writer waits before it tries a full disk again.
const NO_SPACE_PAUSE: Duration = Duration::from_millis(200);

type Notify = Box<dyn Fn() + Send + Sync>;

/// The wal. Cheap to call from any thread.
pub(crate) struct Wal {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    has_writer: bool,
}

struct Shared {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    store_id: u64,
    sync_interval: Duration,
    queue: Mutex<Queue>,
    /// Wakes the writer: there is something in the queue, or someone wants a sync.
    work: Condvar,
    /// Wakes those who wait for progress.
    progressed: Condvar,
    io: Mutex<Io>,
    written_lsn: AtomicU64,
    durable_lsn: AtomicU64,
    /// The highest lsn that somebody wants durable.
    wanted_lsn: AtomicU64,
    notify: RwLock<Option<Notify>>,
}

/// Why nothing is accepted.
#[derive(Clone, Debug)]
enum Failure {
    NoSpace,
    Poison(String),
    Closed,
}

struct Queue {
    bytes: Vec<u8>,
    end_lsn: u64,
    failure: Option<Failure>,
    is_closing: bool,
}

impl Queue {
    /// Whether there is something to write; while the disk is full what was taken before is.
    fn has_work(&self) -> bool {
        !self.bytes.is_empty() || matches!(self.failure, Some(Failure::NoSpace))
    }
}

/// The writer's own things.
struct Io {
    file: Option<Box<dyn AppendFile>>,
    /// Bytes taken from the queue and not yet written: kept when the disk is full.
    taken: Vec<u8>,
    rotate: bool,
    /// A segment was created and its name is not yet durable.
    is_name_new: bool,
    last_sync_ns: u64,
}

impl Wal {
    /// Opens the wal for appending at `end_lsn`, which recovery found.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        store_id: u64,
        end_lsn: u64,
        config: &Config,
    ) -> Result<Self, Error> {
        let queue = Queue { bytes: Vec::new(), end_lsn, failure: None, is_closing: false };
        let io = Io {
            file: None,
            taken: Vec::new(),
            rotate: false,
            is_name_new: false,
            last_sync_ns: disk.monotonic_ns(),
        };
        let shared = Arc::new(Shared {
            disk,
            dir,
            store_id,
            sync_interval: config.wal_sync_interval,
            queue: Mutex::new(queue),
            work: Condvar::new(),
            progressed: Condvar::new(),
            io: Mutex::new(io),
            written_lsn: AtomicU64::new(end_lsn),
            durable_lsn: AtomicU64::new(end_lsn),
            wanted_lsn: AtomicU64::new(0),
            notify: RwLock::new(None),
        });
        let writer = match config.background {
            false => None,
            true => {
                let shared = shared.clone();
                let dir = shared.dir.clone();
                let thread = std::thread::Builder::new().name("wal".to_owned());
                Some(
                    thread
                        .spawn(move || shared.run())
                        .map_err(Error::io("start the wal writer of", &dir))?,
                )
            }
        };
        Ok(Self { shared, has_writer: writer.is_some(), writer: Mutex::new(writer) })
    }

    /// Appends a frame and returns the lsn after it. Does not wait for the disk.
    pub(crate) fn append(&self, kind: FrameKind, body: &[u8]) -> Result<Commit, Error> {
        let shared = &*self.shared;
        let body_crc = frame::body_checksum(body);
        let len = match u32::try_from(body.len()) {
            Ok(len) if len <= WAL_FRAME_BYTES_MAX => len,
            _ => return Err(Error::Invalid("request too large for one wal frame".to_owned())),
        };
        let mut queue = shared.queue.lock();
        if let Some(failure) = &queue.failure {
            return Err(shared.error(failure));
        }
        let was_empty = queue.bytes.is_empty();
        let header = frame::header(queue.end_lsn, kind, len, body_crc);
        queue.bytes.extend_from_slice(&header);
        queue.bytes.extend_from_slice(body);
        queue.end_lsn += frame::HEADER_LEN as u64 + u64::from(len);
        let lsn = queue.end_lsn;
        drop(queue);
        if was_empty {
            shared.work.notify_one();
        }
        Ok(Commit { lsn })
    }

    /// Asks for `commit` to reach `ack` and tells whether it has.
    pub(crate) fn request(&self, commit: Commit, ack: Ack) -> Result<bool, Error> {
        let shared = &*self.shared;
        if shared.has(commit, ack) {
            return Ok(true);
        }
        // Under the lock, so that the writer cannot look just before and sleep just after.
        let queue = shared.queue.lock();
        if ack == Ack::Durable {
            shared.wanted_lsn.fetch_max(commit.lsn, Ordering::AcqRel);
            shared.work.notify_one();
        }
        match &queue.failure {
            Some(failure) if !shared.has(commit, ack) => Err(shared.error(failure)),
            _ => Ok(shared.has(commit, ack)),
        }
    }

    /// Waits until `commit` has reached `ack`.
    pub(crate) fn wait(&self, commit: Commit, ack: Ack) -> Result<(), Error> {
        let shared = &*self.shared;
        while !self.request(commit, ack)? {
            if self.has_writer {
                let mut queue = shared.queue.lock();
                if !shared.has(commit, ack) && queue.failure.is_none() {
                    shared.progressed.wait_for(&mut queue, Duration::from_millis(100));
                }
            } else {
                shared.step();
            }
        }
        Ok(())
    }

    pub(crate) fn progress(&self) -> Progress {
        let shared = &*self.shared;
        let is_poisoned = matches!(shared.queue.lock().failure, Some(Failure::Poison(_)));
        Progress {
            written_lsn: shared.written_lsn.load(Ordering::Acquire),
            durable_lsn: shared.durable_lsn.load(Ordering::Acquire),
            poisoned: is_poisoned,
        }
    }

    pub(crate) fn on_progress(&self, notify: Notify) {
        *self.shared.notify.write() = Some(notify);
    }

    /// The lsn after the last frame appended so far.
    pub(crate) fn end_lsn(&self) -> u64 {
        self.shared.queue.lock().end_lsn
    }

    /// Fails if nothing is accepted at present.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let is_full = matches!(self.shared.queue.lock().failure, Some(Failure::NoSpace));
        if is_full && !self.has_writer {
            self.shared.step();
        }
        match &self.shared.queue.lock().failure {
            Some(failure) => Err(self.shared.error(failure)),
            None => Ok(()),
        }
    }

    /// Forgets everything before `lsn`, which parts hold now: deletes whole segments below it and
    /// begins a new one, so that the current one can go next time.
    pub(crate) fn forget(&self, lsn: u64) -> Result<(), Error> {
        let shared = &*self.shared;
        shared.io.lock().rotate = true;
        let bases = segment::list(&*shared.disk, &shared.dir)?;
        for pair in bases.windows(2) {
            if let [base, next] = *pair
                && next <= lsn
            {
                let path = filenames::wal(&shared.dir, base);
                shared.disk.remove(&path).map_err(Error::io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Writes and syncs everything, then stops.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let lsn = self.end_lsn();
        let waited = match self.check() {
            Ok(()) => self.wait(Commit { lsn }, Ack::Durable),
            Err(error) => Err(error),
        };
        {
            let mut queue = self.shared.queue.lock();
            queue.is_closing = true;
            queue.failure.get_or_insert(Failure::Closed);
        }
        self.shared.work.notify_all();
        if let Some(writer) = self.writer.lock().take()
            && writer.join().is_err()
        {
            return Err(Error::Poisoned("the wal writer panicked".to_owned()));
        }
        waited
    }
}

impl Shared {
    fn has(&self, commit: Commit, ack: Ack) -> bool {
        match ack {
            Ack::Memory => true,
            Ack::Os => self.written_lsn.load(Ordering::Acquire) >= commit.lsn,
            Ack::Durable => self.durable_lsn.load(Ordering::Acquire) >= commit.lsn,
        }
    }

    fn error(&self, failure: &Failure) -> Error {
        match failure {
            Failure::NoSpace => Error::NoSpace(self.dir.clone()),
            Failure::Poison(reason) => Error::Poisoned(reason.clone()),
            Failure::Closed => Error::Closed,
        }
    }

    /// The writer thread.
    fn run(&self) {
        loop {
            {
                let mut queue = self.queue.lock();
                while !queue.is_closing && !queue.has_work() && !self.is_sync_due() {
                    let is_clean = self.durable_lsn.load(Ordering::Acquire)
                        == self.written_lsn.load(Ordering::Acquire);
                    match is_clean {
                        true => self.work.wait(&mut queue),
                        false => {
                            self.work.wait_for(&mut queue, self.sync_interval);
                        }
                    }
                }
                if queue.is_closing {
                    return;
                }
            }
            if !self.step() {
                std::thread::sleep(NO_SPACE_PAUSE);
            }
        }
    }

    fn is_sync_due(&self) -> bool {
        let durable = self.durable_lsn.load(Ordering::Acquire);
        let written = self.written_lsn.load(Ordering::Acquire);
        let wanted = self.wanted_lsn.load(Ordering::Acquire);
        let age_ns = || {
            let last = self.io.try_lock().map_or(u64::MAX, |io| io.last_sync_ns);
            self.disk.monotonic_ns().saturating_sub(last)
        };
        durable < written && (durable < wanted || age_ns() >= self.sync_interval.as_nanos() as u64)
    }

    /// Writes the queue and syncs if that is due. False if the disk was full.
    fn step(&self) -> bool {
        let result = {
            let mut io = self.io.lock();
            self.write(&mut io).and_then(|()| match self.is_sync_due_with(&io) {
                true => self.sync(&mut io),
                false => Ok(()),
            })
        };
        let is_full = match result {
            Ok(()) => self.settle(None),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                self.settle(Some(Failure::NoSpace))
            }
            Err(error) => self.settle(Some(Failure::Poison(error.to_string()))),
        };
        self.progressed.notify_all();
        if let Some(notify) = &*self.notify.read() {
            notify();
        }
        !is_full
    }

    fn is_sync_due_with(&self, io: &Io) -> bool {
        let durable = self.durable_lsn.load(Ordering::Acquire);
        let written = self.written_lsn.load(Ordering::Acquire);
        let wanted = self.wanted_lsn.load(Ordering::Acquire);
        let age_ns = self.disk.monotonic_ns().saturating_sub(io.last_sync_ns);
        durable < written && (durable < wanted || age_ns >= self.sync_interval.as_nanos() as u64)
    }

    /// Records how a step ended. A poisoned wal stays so; a full disk is forgotten once a write
    /// succeeds.
    fn settle(&self, failure: Option<Failure>) -> bool {
        let mut queue = self.queue.lock();
        let is_full = matches!(failure, Some(Failure::NoSpace));
        match (&queue.failure, failure) {
            (Some(Failure::Poison(_) | Failure::Closed), _) => {}
            (_, failure) => queue.failure = failure,
        }
        is_full
    }

    fn write(&self, io: &mut Io) -> io::Result<()> {
        if io.taken.is_empty() {
            let mut queue = self.queue.lock();
            if matches!(queue.failure, Some(Failure::Poison(_))) {
                return Ok(());
            }
            std::mem::swap(&mut queue.bytes, &mut io.taken);
        }
        if io.taken.is_empty() {
            return Ok(());
        }
        let start = self.written_lsn.load(Ordering::Acquire);
        let is_full = io.file.as_ref().is_some_and(|file| file.len() >= WAL_SEGMENT_BYTES);
        if io.file.is_none() || io.rotate || is_full {
            self.rotate(io, start)?;
        }
        let Some(file) = &mut io.file else { return Ok(()) };
        if let Err(error) = file.append(&io.taken) {
            // The file may end in half a frame: the bytes go to a new segment, at the same lsn.
            io.rotate = true;
            return Err(error);
        }
        self.written_lsn.store(start + io.taken.len() as u64, Ordering::Release);
        io.taken.clear();
        io.taken.shrink_to(1 << 20);
        Ok(())
    }

    fn rotate(&self, io: &mut Io, base_lsn: u64) -> io::Result<()> {
        // A sync of the new file must never vouch for bytes of the old one.
        self.sync(io)?;
        io.file = None;
        let mut file = self.disk.create(&filenames::wal(&self.dir, base_lsn))?;
        file.append(&segment::segment_header(self.store_id, base_lsn))?;
        io.file = Some(file);
        io.is_name_new = true;
        io.rotate = false;
        Ok(())
    }

    /// Any failure here is final: what the system did with the unsynced bytes cannot be known.
    fn sync(&self, io: &mut Io) -> io::Result<()> {
        let written = self.written_lsn.load(Ordering::Acquire);
        if let Some(file) = &mut io.file {
            let result = file.sync().and_then(|()| match io.is_name_new {
                true => self.disk.sync_dir(&self.dir),
                false => Ok(()),
            });
            result.map_err(|error| io::Error::other(format!("sync of the wal failed: {error}")))?;
            io.is_name_new = false;
        }
        io.last_sync_ns = self.disk.monotonic_ns();
        self.durable_lsn.store(written, Ordering::Release);
        Ok(())
    }
}
