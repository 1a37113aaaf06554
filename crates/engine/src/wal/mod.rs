//! The wal: one stream of frames for the whole store.
//!
//! Request threads encode frames and append them to a queue under a short lock; one writer moves
//! the queue to the file and syncs it, so that all requests of one moment share a sync (group
//! commit). An lsn is a position in the stream. What is durable is the stream up to
//! [`Progress::durable_lsn`].
//!
//! This file is the face: `writer.rs` writes, over `spares.rs` where there are some, `reader.rs`
//! reads back, `segment.rs`, `frame.rs`, `copies.rs` and `rows.rs` say how it lies on the disk.

pub(crate) mod copies;
pub(crate) mod frame;
mod queue;
pub(crate) mod reader;
mod room;
pub(crate) mod rows;
pub(crate) mod segment;
mod spares;
mod writer;

use crate::config::{Ack, Commit, Config, Progress};
use crate::error::Error;
use crate::limits::WAL_FRAME_BYTES_MAX;
use copies::Single;
use foliot_disk::{Disk, Thread};
use foliot_lock::{Mutex, Rank};
use frame::FrameKind;
use queue::Refusal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use writer::{Notify, Step, Writer};

/// How often those who wait look by themselves.
const WAIT_LOOK: Duration = Duration::from_millis(100);

/// The wal. Cheap to call from any thread.
pub(crate) struct Wal {
    writer: Arc<Writer>,
    thread: Mutex<Option<Box<dyn Thread>>>,
    has_thread: bool,
}

impl Wal {
    /// Opens the wal for appending at `end_lsn`, which recovery found, with `singles` to be
    /// repeated.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        store_id: u64,
        end_lsn: u64,
        singles: Vec<Single>,
        config: &Config,
    ) -> Result<Self, Error> {
        let writer = Writer::new(disk, dir, store_id, end_lsn, config);
        writer.repeat(singles);
        let writer = Arc::new(writer);
        let thread = match config.background {
            false => None,
            true => {
                let runner = writer.clone();
                let spawned = writer.disk.spawn("wal", Box::new(move || runner.run()));
                Some(spawned.map_err(Error::io("start the wal writer of", &writer.dir))?)
            }
        };
        let has_thread = thread.is_some();
        Ok(Self { writer, has_thread, thread: Mutex::new(Rank::WalWriter, thread) })
    }

    /// Keeps the reserve from now on: the store is open, and whoever writes may be refused.
    pub(crate) fn keep_reserve(&self) {
        self.writer.keep_reserve();
    }

    /// Appends a frame and returns the lsn after it. Does not wait for the disk. What is appended
    /// is written sooner or later, unless the wal fails.
    ///
    /// # Errors
    /// When nothing is accepted at present: then nothing of it is ever written.
    pub(crate) fn append(&self, kind: FrameKind, body: &[u8]) -> Result<Commit, Error> {
        let commit = self.enqueue(kind, body)?;
        self.writer.wake();
        Ok(commit)
    }

    /// The same for one of several frames: they are written once [`Wal::push`] is called.
    ///
    /// # Errors
    /// When nothing is accepted at present: then nothing of it is ever written.
    pub(crate) fn enqueue(&self, kind: FrameKind, body: &[u8]) -> Result<Commit, Error> {
        if !Refusal::Short.admits(kind) {
            self.look_ahead(body.len());
        }
        self.enqueue_looked(kind, body)
    }

    /// Looks at the disk where so many bytes more may leave too little of it.
    pub(crate) fn look_ahead(&self, more_bytes: usize) {
        self.writer.look_before(more_bytes);
    }

    /// The same as [`Wal::enqueue`] for whoever holds locks that readers take: it called
    /// [`Wal::look_ahead`] before, for a disk may take its time.
    ///
    /// # Errors
    /// As [`Wal::enqueue`].
    pub(crate) fn enqueue_looked(&self, kind: FrameKind, body: &[u8]) -> Result<Commit, Error> {
        let len = match u32::try_from(body.len()) {
            Ok(len) if len <= WAL_FRAME_BYTES_MAX => len,
            _ => return Err(Error::Invalid("request too large for one wal frame".to_owned())),
        };
        self.writer.take(kind, body, len).map(Commit::at)
    }

    /// Gives what was enqueued to the system on this thread if that is easily done, else wakes the
    /// wal's own.
    pub(crate) fn push(&self) {
        // Without a thread of the wal whoever waits writes.
        if self.has_thread && !self.writer.write_out() {
            self.writer.wake();
        }
    }

    /// Asks for `commit` to reach `ack` and tells whether it has. While the disk is full it has
    /// not, and may still.
    ///
    /// # Errors
    /// When it never will: the wal is poisoned or closed.
    pub(crate) fn request(&self, commit: Commit, ack: Ack) -> Result<bool, Error> {
        let writer = &*self.writer;
        if writer.has(commit, ack)? {
            return Ok(true);
        }
        let is_closed = match ack {
            Ack::Durable => writer.want(commit.lsn),
            _ => matches!(writer.queue.lock().refusal, Some(Refusal::Closed)),
        };
        match writer.has(commit, ack)? {
            false if is_closed => Err(Error::Closed),
            has => Ok(has),
        }
    }

    /// Waits until `commit` has reached `ack`, also through a full disk.
    ///
    /// # Errors
    /// When it never will: the wal is poisoned or closed. Without a thread of its own the wal gives
    /// up on a full disk too: then `commit` may still reach `ack` later.
    pub(crate) fn wait(&self, commit: Commit, ack: Ack) -> Result<(), Error> {
        while !self.request(commit, ack)? {
            self.wait_once(commit, ack)?;
        }
        Ok(())
    }

    /// Waits until `commit` is durable, but not for a full disk: whoever calls this holds what
    /// would make room, or ends.
    ///
    /// # Errors
    /// When it never will be, or cannot be at present: then it may still be later.
    pub(crate) fn settle(&self, commit: Commit) -> Result<(), Error> {
        while !self.request(commit, Ack::Durable)? {
            if let Some(error) = self.stall() {
                return Err(error);
            }
            self.wait_once(commit, Ack::Durable)?;
        }
        Ok(())
    }

    fn wait_once(&self, commit: Commit, ack: Ack) -> Result<(), Error> {
        let writer = &*self.writer;
        if !self.has_thread {
            let is_stalled = writer.step() == Step::Stalled && !writer.has_reached(commit, ack);
            return is_stalled.then(|| self.stall()).flatten().map_or(Ok(()), Err);
        }
        let mut queue = writer.queue.lock();
        let is_over = matches!(queue.refusal, Some(Refusal::Poison(_) | Refusal::Closed));
        if !is_over && !writer.has_reached(commit, ack) {
            writer.progressed.wait_for(&mut queue, WAIT_LOOK);
        }
        Ok(())
    }

    /// Why what was appended cannot be written at present.
    pub(crate) fn stall(&self) -> Option<Error> {
        let queue = self.writer.queue.lock();
        let refusal = queue.refusal.as_ref().filter(|refusal| refusal.is_stall());
        refusal.map(|refusal| self.writer.error(refusal))
    }

    pub(crate) fn progress(&self) -> Progress {
        self.writer.progress()
    }

    pub(crate) fn on_progress(&self, notify: Notify) {
        *self.writer.notify.write() = Some(notify);
    }

    /// The lsn after the last frame appended so far.
    pub(crate) fn end_lsn(&self) -> u64 {
        self.writer.queue.lock().end_lsn
    }

    /// The commit of everything appended so far.
    pub(crate) fn written(&self) -> Commit {
        Commit::at(self.writer.queue.lock().changed_lsn)
    }

    /// How many syncs there were, how long they took together and how long the longest of them, in
    /// nanoseconds.
    pub(crate) fn syncs(&self) -> [u64; 3] {
        self.writer.syncs()
    }

    /// Bytes free on the disk when last looked; none before the first look.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        self.writer.room.free_bytes()
    }

    /// Tells how many bytes must stay free: with fewer nothing is accepted.
    pub(crate) fn reserve(&self, bytes: u64) {
        self.writer.room.reserve(bytes);
    }

    /// Whether nothing is accepted because the disk is full or all but full.
    pub(crate) fn lacks_space(&self) -> bool {
        self.writer.lacks_space.load(Ordering::Relaxed)
    }

    /// Looks at the disk at once, and tries again what it had no room for.
    pub(crate) fn look_again(&self) {
        self.writer.look_again();
    }

    /// Fails if the disk, looked at now, has no room but for what makes more, or nothing is
    /// accepted at all. Waits for no sync.
    pub(crate) fn check_space(&self) -> Result<(), Error> {
        let has_room = match self.has_thread {
            true => self.writer.look_now(),
            false => {
                self.writer.look_again();
                false
            }
        };
        let refusal = self.writer.queue.lock().refusal.clone();
        match refusal {
            // The writer, who may be at a sync, has not looked since there is room.
            Some(Refusal::Short) if has_room => Ok(()),
            refusal => refusal.map_or(Ok(()), |refusal| Err(self.writer.error(&refusal))),
        }
    }

    /// Fails if nothing is accepted at present.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let writer = &*self.writer;
        let refused = || writer.queue.lock().refusal.as_ref().map(|r| writer.error(r));
        if refused().is_some() && !self.has_thread {
            writer.step();
        }
        refused().map_or(Ok(()), Err)
    }

    /// Forgets everything before `lsn`, which parts hold now: begins a new segment and lets go
    /// those that end at or before `lsn`.
    pub(crate) fn forget(&self, lsn: u64) -> Result<(), Error> {
        let writer = &*self.writer;
        writer.queue.lock().forget(lsn);
        writer.begin_segment();
        let bases = segment::list(&*writer.disk, &writer.dir)?;
        let Some(first) = bases.iter().rev().find(|base| **base <= lsn) else { return Ok(()) };
        if segment::forget_begun(&*writer.disk, &writer.dir, *first).is_err() {
            // Where their notes stay the segments do, until the next flush: what this one wrote is
            // safe all the same.
            return Ok(());
        }
        bases.iter().take_while(|base| *base < first).try_for_each(|base| writer.let_go(*base))
    }

    /// Writes and syncs everything, then stops. On a full disk it stops without.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let written = self.settle(self.written());
        {
            let mut queue = self.writer.queue.lock();
            queue.is_closing = true;
            if queue.refusal.as_ref().is_none_or(|refusal| !matches!(refusal, Refusal::Poison(_))) {
                queue.refusal = Some(Refusal::Closed);
            }
        }
        self.writer.work.notify_all();
        self.writer.progressed.notify_all();
        if let Some(thread) = self.thread.lock().take()
            && !thread.join()
        {
            return Err(Error::Poisoned("the wal writer panicked".to_owned()));
        }
        self.writer.end();
        written
    }
}
