//! The writer's half of the wal: the queue, and moving it to the disk.
//!
//! Lock contract: `queue` is held for a copy of one frame, never during IO. `io` belongs to whoever
//! writes and may be held for as long as a disk takes; `queue` may be taken under it.
//!
//! How a disk can fail, and what becomes of it:
//! - *no space*, or a new segment cannot be made: nothing was lost. New frames are refused; those
//!   that were taken before are kept and written as soon as it goes, so that nobody whose frame was
//!   taken is told that it was not.
//! - *an append or a sync fails*: what is on the medium cannot be known any more. The wal is
//!   poisoned: the file is let go, nothing is tried again, nothing is acknowledged.

use super::copies::Single;
use super::frame::{self, Author, FrameKind, Purpose};
use super::queue::{Queue, Refusal};
use super::room::Room;
use super::segment::{self, SegmentHeader};
use super::spares::Spares;
use crate::config::{Ack, Commit, Config, Progress};
use crate::error::Error;
use crate::filenames;
use crate::limits::SPACE_LOOK_INTERVAL;
use foliot_disk::{AppendFile, Disk};
use foliot_lock::{Condvar, Mutex, Rank, RwLock};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How long the writer waits before it tries a full disk again.
const STALL_PAUSE: Duration = Duration::from_millis(200);

/// An append that took so long was held up by the system: dirty pages are throttled, or a journal
/// is full. Long enough that a thread which only waited for a processor is rarely taken for that.
const HELD_UP: Duration = Duration::from_millis(50);

/// How long only the wal's own thread appends after that: more of the same may come, and whoever
/// wrote would be held up with all that its thread does.
const HELD_UP_FOR: Duration = Duration::from_secs(10);

pub(super) type Notify = Arc<dyn Fn(Progress) + Send + Sync>;

pub(super) struct Writer {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) dir: PathBuf,
    store_id: u64,
    author: Author,
    sync_interval: Duration,
    segment_bytes: u64,
    pub(super) queue: Mutex<Queue>,
    /// Wakes the writer: there is something in the queue, or someone wants a sync.
    pub(super) work: Condvar,
    /// Wakes those who wait for progress.
    pub(super) progressed: Condvar,
    io: Mutex<Io>,
    pub(super) written_lsn: AtomicU64,
    pub(super) durable_lsn: AtomicU64,
    /// Behind the mark that the stream ended with when it was last quiet. While it does nothing
    /// needs a sync, for a mark may be lost.
    marked_lsn: AtomicU64,
    /// The highest lsn that somebody wants durable.
    pub(super) wanted_lsn: AtomicU64,
    last_sync_ns: AtomicU64,
    /// Syncs, how long they took together, and how long the longest of them.
    syncs: AtomicU64,
    sync_ns: AtomicU64,
    sync_max_ns: AtomicU64,
    /// Until when only the wal's own thread appends; 0 while others do too.
    held_up_until_ns: AtomicU64,
    /// Whether the wal is poisoned, for a look without the lock.
    pub(super) is_poisoned: AtomicBool,
    /// Whether nothing is accepted for want of space, for a look without the lock.
    pub(super) lacks_space: AtomicBool,
    pub(super) room: Room,
    pub(super) notify: RwLock<Option<Notify>>,
}

/// The writer's own things.
struct Io {
    file: Option<Box<dyn AppendFile>>,
    /// Where the file begins.
    base_lsn: u64,
    /// Bytes of the older segment that the file is written over.
    over_bytes: u64,
    spares: Spares,
    /// Bytes taken from the queue and not yet written: kept when the disk is full.
    taken: Vec<u8>,
    rotate: bool,
    /// A segment was created and its name is not yet durable.
    is_name_new: bool,
    /// The segment is not yet noted as begun.
    is_unnoted: bool,
    /// The wal is poisoned: no file is touched any more.
    is_dead: bool,
    /// When free space was last looked at.
    looked_ns: Option<u64>,
    is_short: bool,
    /// Why the directory is no longer the one that was opened, if it is not.
    moved: Option<String>,
    /// Whether the reserve is kept: what opening a store needs may be taken from it, or a store on
    /// a full disk could not be opened to make room.
    keeps_reserve: bool,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Done,
    /// What was taken could not be written; or there is too little space to take more.
    Stalled,
    Dead,
}

impl Writer {
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        store_id: u64,
        end_lsn: u64,
        config: &Config,
    ) -> Self {
        let io = Io {
            file: None,
            base_lsn: 0,
            over_bytes: 0,
            spares: Spares::new(disk.clone(), dir.clone(), config.wal_spare_bytes),
            taken: Vec::new(),
            rotate: false,
            is_name_new: false,
            is_unnoted: false,
            is_dead: false,
            looked_ns: None,
            is_short: false,
            moved: None,
            keeps_reserve: false,
        };
        Self {
            store_id,
            author: Author::new(store_id, disk.random()),
            sync_interval: config.wal_sync_interval,
            segment_bytes: config.wal_segment_bytes,
            queue: Mutex::new(Rank::WalQueue, Queue::new(end_lsn)),
            work: Condvar::new(),
            progressed: Condvar::new(),
            io: Mutex::new(Rank::WalFile, io),
            written_lsn: AtomicU64::new(end_lsn),
            durable_lsn: AtomicU64::new(end_lsn),
            marked_lsn: AtomicU64::new(end_lsn),
            wanted_lsn: AtomicU64::new(0),
            last_sync_ns: AtomicU64::new(disk.monotonic_ns()),
            syncs: AtomicU64::new(0),
            sync_ns: AtomicU64::new(0),
            sync_max_ns: AtomicU64::new(0),
            held_up_until_ns: AtomicU64::new(0),
            is_poisoned: AtomicBool::new(false),
            lacks_space: AtomicBool::new(false),
            room: Room::new(config.wal_reserve_bytes),
            notify: RwLock::new(Rank::WalNotify, None),
            disk,
            dir,
        }
    }

    /// Adds a frame to the queue and returns the lsn after it. Who wants a look at the disk first
    /// calls [`Writer::look_before`].
    pub(super) fn take(&self, kind: FrameKind, body: &[u8], len: u32) -> Result<u64, Error> {
        let body_crc = frame::body_checksum(body);
        let mut queue = self.queue.lock();
        // What waits to be written takes room as well, however long the disk lets it wait.
        if !Refusal::Short.admits(kind) && self.room.is_near(queue.bytes.len() + body.len()) {
            return Err(self.error(&Refusal::Short));
        }
        if let Some(refusal) = &queue.refusal
            && !refusal.admits(kind)
        {
            return Err(self.error(refusal));
        }
        let durable_lsn = self.durable_lsn.load(Ordering::Acquire);
        let (lsn, purpose) = (queue.end_lsn, Purpose::Change(kind));
        queue.push(self.author.header(purpose, lsn, durable_lsn, len, body_crc), body);
        let end_lsn = queue.end_lsn;
        queue.changed_lsn = end_lsn;
        if Single::is_kind(kind) {
            queue.singles.push_back(Single { lsn, kind, body: body.to_vec(), body_crc });
        }
        queue.repeat_distant(&self.author, durable_lsn);
        Ok(end_lsn)
    }

    /// Repeats changes of an earlier process, which wrote them to another segment.
    pub(super) fn repeat(&self, singles: Vec<Single>) {
        let durable_lsn = self.durable_lsn.load(Ordering::Acquire);
        let mut queue = self.queue.lock();
        queue.singles.extend(singles);
        while !queue.singles.is_empty() {
            queue.repeat(&self.author, durable_lsn);
        }
    }

    /// Repeats, before a sync, what was not yet.
    fn repeat_all(&self, io: &mut Io) -> Result<(), Refusal> {
        {
            let mut queue = self.queue.lock();
            if queue.singles.is_empty() {
                return Ok(());
            }
            queue.repeat_all(&self.author, self.durable_lsn.load(Ordering::Acquire));
        }
        self.write(io)
    }

    /// Wakes the thread. Under the lock, so that it cannot look just before and sleep just after.
    pub(super) fn wake(&self) {
        let _queue = self.queue.lock();
        self.work.notify_one();
    }

    /// Asks for everything before `lsn` to become durable, and tells whether the wal is closed. The
    /// thread is woken without the lock, which it takes first of all.
    pub(super) fn want(&self, lsn: u64) -> bool {
        let queue = self.queue.lock();
        let is_closed = matches!(queue.refusal, Some(Refusal::Closed));
        let is_new = self.wanted_lsn.fetch_max(lsn, Ordering::AcqRel) < lsn;
        drop(queue);
        if is_new {
            self.work.notify_one();
        }
        is_closed
    }

    /// Whether `commit` has reached `ack`.
    ///
    /// # Errors
    /// When the wal is poisoned: then nothing is acknowledged, whatever it has reached.
    pub(super) fn has(&self, commit: Commit, ack: Ack) -> Result<bool, Error> {
        if self.is_poisoned.load(Ordering::Acquire) {
            let queue = self.queue.lock();
            let refusal = queue.refusal.clone().unwrap_or(Refusal::Closed);
            return Err(self.error(&refusal));
        }
        Ok(self.has_reached(commit, ack))
    }

    pub(super) fn has_reached(&self, commit: Commit, ack: Ack) -> bool {
        match ack {
            Ack::Memory => true,
            Ack::Os => self.written_lsn.load(Ordering::Acquire) >= commit.lsn,
            Ack::Durable => self.durable_lsn.load(Ordering::Acquire) >= commit.lsn,
        }
    }

    /// How many syncs there were, how long they took together and how long the longest of them, in
    /// nanoseconds.
    pub(super) fn syncs(&self) -> [u64; 3] {
        [&self.syncs, &self.sync_ns, &self.sync_max_ns].map(|number| number.load(Ordering::Relaxed))
    }

    pub(super) fn error(&self, refusal: &Refusal) -> Error {
        match refusal {
            // That the disk is full it said itself, whatever the last look found.
            Refusal::Short | Refusal::NoSpace => Error::NoSpace {
                free_bytes: self.room.free_bytes().filter(|_| matches!(refusal, Refusal::Short)),
                kept_bytes: self.room.reserve_bytes(),
            },
            Refusal::Stalled(reason) => Error::Stalled(reason.clone()),
            Refusal::Poison(reason) => Error::Poisoned(reason.clone()),
            Refusal::Closed => Error::Closed,
        }
    }

    /// Keeps the reserve from now on, and looks at the disk at once: a store which opens where less
    /// is free takes nothing into it.
    pub(super) fn keep_reserve(&self) {
        let mut io = self.io.lock();
        io.keeps_reserve = true;
        self.look(&mut io, 0);
    }

    /// Looks at the disk whenever it was last looked at, and tries again what it had no room for.
    pub(super) fn look_again(&self) {
        self.io.lock().looked_ns = None;
        self.step();
    }

    /// The writer thread.
    pub(super) fn run(&self) {
        loop {
            {
                let mut queue = self.queue.lock();
                let mut is_idle = false;
                while !queue.is_closing && !queue.has_work() && !self.is_sync_due() {
                    queue.is_asleep = is_idle && self.is_clean();
                    match queue.is_asleep {
                        true => self.work.wait(&mut queue),
                        // Whoever writes meanwhile need not wake it.
                        false => self.work.wait_for(&mut queue, self.sync_interval),
                    }
                    is_idle = true;
                }
                queue.is_asleep = false;
                if queue.is_closing {
                    return;
                }
            }
            match self.step() {
                Step::Done => {}
                Step::Stalled => self.disk.sleep(STALL_PAUSE),
                Step::Dead => return,
            }
        }
    }

    /// Whether nothing that was written waits for a sync by the clock.
    fn is_clean(&self) -> bool {
        let written = self.written_lsn.load(Ordering::Acquire);
        written == self.durable_lsn.load(Ordering::Acquire)
            || written == self.marked_lsn.load(Ordering::Acquire)
    }

    fn is_sync_due(&self) -> bool {
        let durable = self.durable_lsn.load(Ordering::Acquire);
        let is_wanted = durable < self.wanted_lsn.load(Ordering::Acquire);
        let age_ns = || {
            let last_ns = self.last_sync_ns.load(Ordering::Acquire);
            u128::from(self.disk.monotonic_ns().saturating_sub(last_ns))
        };
        durable < self.written_lsn.load(Ordering::Acquire)
            && (is_wanted || (!self.is_clean() && age_ns() >= self.sync_interval.as_nanos()))
    }

    /// Writes the queue and syncs if that is due.
    pub(super) fn step(&self) -> Step {
        let step = {
            let mut io = self.io.lock();
            if io.is_dead {
                return Step::Dead;
            }
            let done = self.write(&mut io).and_then(|()| match self.is_sync_due() {
                true => self.make_durable(&mut io),
                false => Ok(()),
            });
            self.look_at_space(&mut io, 0);
            self.settle(&mut io, done)
        };
        self.tell();
        step
    }

    /// Writes the queue on a thread that is not the writer's, which saves two changes of threads.
    /// False when the writer has to: it is at it, or more is to be done than an append, which takes
    /// as long as a disk does, or an append did of late.
    pub(super) fn write_out(&self) -> bool {
        if self.is_held_up() {
            return false;
        }
        let step = {
            let Some(mut io) = self.io.try_lock() else { return false };
            let is_full = |file: &dyn AppendFile| file.len() >= self.segment_bytes;
            let needs_file = io.rotate || io.file.as_deref().is_none_or(is_full);
            if io.is_dead || needs_file || !io.taken.is_empty() {
                return false;
            }
            let done = self.write(&mut io);
            self.look_at_space(&mut io, 0);
            self.settle(&mut io, done)
        };
        self.tell();
        // A sync is due at some time.
        if self.queue.lock().is_asleep {
            self.work.notify_one();
        }
        step == Step::Done
    }

    /// Whether an append took long of late.
    fn is_held_up(&self) -> bool {
        let until_ns = self.held_up_until_ns.load(Ordering::Relaxed);
        until_ns > 0 && self.disk.monotonic_ns() < until_ns
    }

    /// Syncs what was written, changes with their copies. Copies that find no room can wait, what
    /// they repeat cannot.
    fn make_durable(&self, io: &mut Io) -> Result<(), Refusal> {
        let repeated = self.repeat_all(io);
        if let Err(Refusal::Poison(_)) = &repeated {
            return repeated;
        }
        self.sync(io)?;
        repeated?;
        self.mark(io)
    }

    /// Tells those who wait that there is progress.
    fn tell(&self) {
        self.progressed.notify_all();
        // Called without a lock: what it does is the caller's.
        let notify = self.notify.read().clone();
        if let Some(notify) = notify {
            notify(self.progress());
        }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            written_lsn: self.written_lsn.load(Ordering::Acquire),
            durable_lsn: self.durable_lsn.load(Ordering::Acquire),
            poisoned: self.is_poisoned.load(Ordering::Acquire),
        }
    }

    /// Records how work on the disk ended. A poisoned wal stays so; other refusals are forgotten
    /// once a write succeeds.
    fn settle(&self, io: &mut Io, done: Result<(), Refusal>) -> Step {
        let refusal = match (done, io.moved.take()) {
            (Ok(()), Some(moved)) => Some(Refusal::Poison(moved)),
            (Ok(()), None) if io.is_short => Some(Refusal::Short),
            (Ok(()), None) => None,
            (Err(refusal), _) => Some(refusal),
        };
        let lacks_space = matches!(refusal, Some(Refusal::Short | Refusal::NoSpace));
        self.lacks_space.store(lacks_space, Ordering::Relaxed);
        let mut queue = self.queue.lock();
        let step = match &refusal {
            None => Step::Done,
            Some(Refusal::Poison(_)) => {
                self.is_poisoned.store(true, Ordering::Release);
                io.is_dead = true;
                io.file = None;
                io.taken = Vec::new();
                queue.bytes = Vec::new();
                Step::Dead
            }
            Some(_) => Step::Stalled,
        };
        match (&queue.refusal, &refusal) {
            (Some(Refusal::Poison(_)), _) => {}
            (Some(Refusal::Closed), Some(Refusal::Poison(_))) => queue.refusal = refusal,
            (Some(Refusal::Closed), _) => {}
            _ => queue.refusal = refusal,
        }
        // A refusal ends when the writer looks again, and refused writes do not wake it.
        if queue.refusal.as_ref().is_some_and(Refusal::is_passing) {
            self.work.notify_one();
        }
        step
    }

    fn write(&self, io: &mut Io) -> Result<(), Refusal> {
        if io.taken.is_empty() {
            std::mem::swap(&mut self.queue.lock().bytes, &mut io.taken);
        }
        if io.taken.is_empty() {
            return Ok(());
        }
        let start = self.written_lsn.load(Ordering::Acquire);
        let is_full = io.file.as_ref().is_some_and(|file| file.len() >= self.segment_bytes);
        if io.file.is_none() || io.rotate || is_full {
            self.rotate(io, start)?;
        }
        let Some(file) = &mut io.file else { return Ok(()) };
        let began_ns = self.disk.monotonic_ns();
        let appended = file.append(&io.taken);
        let now_ns = self.disk.monotonic_ns();
        if now_ns.saturating_sub(began_ns) >= HELD_UP.as_nanos() as u64 {
            let until_ns = now_ns.saturating_add(HELD_UP_FOR.as_nanos() as u64);
            self.held_up_until_ns.store(until_ns, Ordering::Relaxed);
        }
        if let Err(error) = appended {
            // The file may end in half a frame: the bytes go to a new segment, at the same lsn.
            io.rotate = true;
            return Err(match is_out_of_space(&error) {
                true => Refusal::NoSpace,
                false => Refusal::Poison(format!("an append to the wal failed: {error}")),
            });
        }
        self.written_lsn.store(start + io.taken.len() as u64, Ordering::Release);
        self.room.wrote(io.taken.len());
        io.taken.clear();
        io.taken.shrink_to(1 << 20);
        Ok(())
    }

    /// Begins a segment at `base_lsn`.
    fn rotate(&self, io: &mut Io, base_lsn: u64) -> Result<(), Refusal> {
        // A sync of the new file must never vouch for bytes of the old one.
        self.sync(io)?;
        self.end_segment(io);
        let (file, over_bytes) = self.make_segment(io, base_lsn).map_err(|error| {
            match is_out_of_space(&error) {
                true => Refusal::NoSpace,
                // No byte of the stream is in doubt: another try may do.
                false => {
                    Refusal::Stalled(format!("a new segment of the wal cannot be made: {error}"))
                }
            }
        })?;
        (io.file, io.over_bytes, io.base_lsn) = (Some(file), over_bytes, base_lsn);
        (io.is_name_new, io.is_unnoted) = (true, true);
        io.rotate = false;
        Ok(())
    }

    /// A new file with a header, which may be written over a spare, and the bytes of that.
    fn make_segment(&self, io: &mut Io, base_lsn: u64) -> io::Result<(Box<dyn AppendFile>, u64)> {
        let path = filenames::wal(&self.dir, base_lsn);
        let spare = io.spares.take(&path)?;
        let (store_id, incarnation) = (self.store_id, self.author.incarnation);
        let is_over = spare.is_some();
        let (mut file, over_bytes) = match spare {
            Some(spare) => spare,
            None => (self.disk.create(&path)?, 0),
        };
        file.append(&SegmentHeader { store_id, base_lsn, incarnation, is_over }.encode())?;
        Ok((file, over_bytes))
    }

    /// Lets the segment's file go, without what is left of the one that it was written over.
    fn end_segment(&self, io: &mut Io) {
        let Some(file) = io.file.take() else { return };
        let len = file.len();
        drop(file);
        if len < io.over_bytes {
            // Frames end where the next segment begins, whether or not bytes follow: where this
            // cannot be done they only take room, and tell less of a segment that is missing.
            let _ = self.disk.truncate(&filenames::wal(&self.dir, io.base_lsn), len);
        }
    }

    /// Lets the last segment and the spares go, once everything was written.
    pub(super) fn end(&self) {
        let mut io = self.io.lock();
        if !io.is_dead {
            self.end_segment(&mut io);
        }
        io.spares.clear();
    }

    /// Takes the segment at `base` out of the wal: nobody needs it any more.
    pub(super) fn let_go(&self, base: u64) -> Result<(), Error> {
        self.io.lock().spares.keep(base)
    }

    /// The only place that syncs the wal. Any failure here is final: what the system did with the
    /// unsynced bytes cannot be known.
    fn sync(&self, io: &mut Io) -> Result<(), Refusal> {
        let written = self.written_lsn.load(Ordering::Acquire);
        let began_ns = self.disk.monotonic_ns();
        if let Some(file) = &mut io.file {
            let result = file.sync().and_then(|()| match io.is_name_new {
                true => self.disk.sync_dir(&self.dir),
                false => Ok(()),
            });
            result
                .map_err(|error| Refusal::Poison(format!("a sync of the wal failed: {error}")))?;
            io.is_name_new = false;
            // One without frames is made anew by the next process, and may be lost with that.
            if io.is_unnoted && written > io.base_lsn {
                // No sample depends on the note: where it cannot be made the next sync tries again.
                let noted = segment::note_begun(&*self.disk, &self.dir, io.base_lsn);
                io.is_unnoted = noted.is_err();
            }
        }
        let now_ns = self.disk.monotonic_ns();
        let took_ns = now_ns.saturating_sub(began_ns);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.sync_ns.fetch_add(took_ns, Ordering::Relaxed);
        self.sync_max_ns.fetch_max(took_ns, Ordering::Relaxed);
        self.last_sync_ns.store(now_ns, Ordering::Release);
        self.durable_lsn.store(written, Ordering::Release);
        Ok(())
    }

    /// After a sync, if nothing came meanwhile: writes a frame that vouches for all before it, so
    /// that damage to what was synced last can be told from a torn write. It needs no sync itself.
    fn mark(&self, io: &mut Io) -> Result<(), Refusal> {
        {
            let mut queue = self.queue.lock();
            let durable_lsn = self.durable_lsn.load(Ordering::Acquire);
            if queue.changed_lsn < queue.end_lsn || queue.end_lsn != durable_lsn {
                return Ok(());
            }
            let crc = frame::body_checksum(&[]);
            queue.push(self.author.header(Purpose::Mark, durable_lsn, durable_lsn, 0, crc), &[]);
            self.marked_lsn.store(queue.end_lsn, Ordering::Release);
        }
        self.write(io)
    }

    /// Looks whether enough space is free for a flush: once in a while, and whenever what was
    /// written since, or so many bytes more, may leave too little.
    fn look_at_space(&self, io: &mut Io, more_bytes: usize) {
        if !io.keeps_reserve {
            return;
        }
        let now_ns = self.disk.monotonic_ns();
        let interval_ns = SPACE_LOOK_INTERVAL.as_nanos() as u64;
        let is_old = io.looked_ns.is_none_or(|at| now_ns.saturating_sub(at) >= interval_ns);
        if !is_old && !io.is_short && !self.room.is_unsure(more_bytes) {
            return;
        }
        io.looked_ns = Some(now_ns);
        io.moved = self.disk.stays(&self.dir).err().map(|error| error.to_string());
        // A file system that cannot say is taken for one with room: a full one says so on append.
        let look = || self.disk.free_bytes(&self.dir).unwrap_or(u64::MAX);
        let mut free = look();
        if free < self.room.reserve_bytes() && !io.spares.is_empty() {
            io.spares.clear();
            free = look();
        }
        io.is_short = self.room.looked(free, now_ns);
    }

    /// Looks at the disk, if it is time to, and records what it found.
    fn look(&self, io: &mut Io, more_bytes: usize) {
        self.look_at_space(io, more_bytes);
        // What could not be written keeps the writer at it, who looks as well.
        if io.taken.is_empty() {
            self.settle(io, Ok(()));
        }
    }

    /// Looks whether so many bytes more, behind what waits, leave enough where that is in doubt, or
    /// where the last look is old: what is once taken on a disk that others have filled can only
    /// wait. Not when the writer is at work, who looks as well.
    pub(super) fn look_before(&self, more_bytes: usize) {
        let more_bytes = self.queue.lock().bytes.len() + more_bytes;
        if (self.room.is_near(more_bytes) || self.room.is_old(self.disk.monotonic_ns()))
            && let Some(mut io) = self.io.try_lock()
        {
            self.look(&mut io, more_bytes);
        }
    }

    /// Whether enough is free now. Where it is not, spares make room, unless the writer is at work.
    pub(super) fn look_now(&self) -> bool {
        // As above.
        let free = self.disk.free_bytes(&self.dir).unwrap_or(u64::MAX);
        if free < self.room.reserve_bytes()
            && let Some(mut io) = self.io.try_lock()
        {
            io.looked_ns = None;
            self.look(&mut io, 0);
        }
        free >= self.room.reserve_bytes()
    }

    /// Begins a durable new segment where the written stream ends, so that what lies before can be
    /// removed. Where that fails the one that is there does for now.
    pub(super) fn begin_segment(&self) {
        let mut io = self.io.lock();
        let written = self.written_lsn.load(Ordering::Acquire);
        let is_there = io.file.is_some() && io.base_lsn == written && !io.rotate;
        let is_durable = is_there && !io.is_name_new;
        if !io.is_dead && !is_durable {
            let done = self.rotate(&mut io, written).and_then(|()| self.sync(&mut io));
            // What a full disk refused still waits for the writer, who stops trying once it is told
            // that all is well.
            if done.is_err() || io.taken.is_empty() {
                self.settle(&mut io, done);
            }
        }
        drop(io);
        // It synced, for whoever wanted that just then: the thread finds nothing left to do.
        self.tell();
    }
}

fn is_out_of_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_disk::SimDisk;
    use std::path::Path;

    #[test]
    fn a_segment_that_begins_tells_whom_it_synced_for() {
        let disk = SimDisk::new(1);
        let dir = Path::new("store");
        disk.create_dir_all(dir).unwrap();
        let writer = Writer::new(Arc::new(disk), dir.to_owned(), 1, 0, &Config::default());
        let told = Arc::new(AtomicU64::new(0));
        let hears = told.clone();
        let hear = move |now: Progress| hears.store(now.durable_lsn, Ordering::Relaxed);
        *writer.notify.write() = Some(Arc::new(hear));
        let lsn = writer.take(FrameKind::Catalog, b"fact", 4).unwrap();
        assert_eq!(writer.step(), Step::Done);
        assert!(writer.durable_lsn.load(Ordering::Relaxed) < lsn, "nobody wanted a sync");
        writer.want(lsn);
        writer.begin_segment();
        assert!(told.load(Ordering::Relaxed) >= lsn);
    }
}
