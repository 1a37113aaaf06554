//! Expire: parts whose samples are all too old go, and so do the oldest when there is no room.
//!
//! Readers see nothing below the floors of `retention.rs` already. A floor is a durable fact before
//! a file goes because of it. Parts that hold both older and newer samples lose the older ones when
//! they are merged next.

use crate::config::{Ack, Commit};
use crate::error::Error;
use crate::part::Part;
use crate::retention::Retention;
use crate::store::Store;
use foliot_model::NamespaceId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Floors that files rely on, by namespace and class.
type Floors = BTreeMap<(NamespaceId, u32), i64>;

impl Store {
    /// Removes what has expired; tells whether there was anything.
    pub(crate) fn expire(&self) -> Result<bool, Error> {
        self.raise_size_floor()?;
        let retention = self.retention.read().clone();
        if retention.is_forever() {
            return Ok(false);
        }
        let now_ns = self.disk.now_ns();
        let view = self.view.read().clone();
        let mut floors = Floors::new();
        let mut gone = Vec::new();
        for part in &view.parts {
            if self.is_expired(part, &retention, now_ns, &mut floors)? {
                gone.push(part.entry.number);
                self.counters.samples_expired.fetch_add(part.entry.samples, Ordering::Relaxed);
            }
        }
        if gone.is_empty() {
            return Ok(false);
        }
        self.keep_floors(&floors)?;
        self.drop_parts(&mut self.files.lock(), &gone)?;
        Ok(true)
    }

    /// Makes floors durable facts.
    pub(crate) fn keep_floors(&self, floors: &Floors) -> Result<(), Error> {
        let retention = self.retention.read().clone();
        let mut is_new = false;
        for (&key, &floor_ns) in floors {
            if !retention.has_expired(key, floor_ns) {
                self.keep_floor(key, floor_ns)?;
                is_new = true;
            }
        }
        if is_new {
            self.reload_retention();
        }
        // A floor that is known, and the retention that it follows from, may still be on their way
        // to the disk, or never get there: an earlier wait may have failed.
        self.wal.wait(Commit { lsn: self.wal.end_lsn() }, Ack::Durable)
    }

    /// Whether every sample of a part is too old; then `floors` is told which floors say so.
    fn is_expired(
        &self,
        part: &Arc<Part>,
        retention: &Retention,
        now_ns: i64,
        floors: &mut Floors,
    ) -> Result<bool, Error> {
        let end_ns = part.footer.range.end_ns;
        let namespace = part.entry.namespace;
        if end_ns >= retention.floors(now_ns, namespace).1 {
            return Ok(false);
        }
        let mut of_part = Floors::new();
        let mut is_expired = true;
        let mut class_of = |class: u32| {
            let floor_ns = retention.floor(now_ns, namespace, class);
            of_part.insert((namespace, class), floor_ns);
            is_expired &= end_ns < floor_ns;
            is_expired
        };
        if part.entry.class == 0 && !self.epochs().has_classes() {
            class_of(0);
        } else {
            // Series may have changed their class since.
            let epochs = self.epochs();
            let mut failed = Ok(());
            part.for_each_series(&mut |sid| match epochs.describe(sid) {
                Ok(series) => class_of(series.map_or(part.entry.class, |series| series.class)),
                Err(error) => {
                    failed = Err(error);
                    false
                }
            })?;
            failed?;
        }
        if is_expired {
            floors.extend(of_part);
        }
        Ok(is_expired)
    }

    /// When parts take more bytes than they may, raises the floor until enough of them lie below
    /// it. The newest part stays.
    fn raise_size_floor(&self) -> Result<(), Error> {
        let cap = self.config.retention_bytes_max;
        let mut parts: Vec<(i64, u64)> = {
            let view = self.view.read();
            let parts = view.parts.iter();
            parts.map(|part| (part.footer.range.end_ns, part.entry.bytes)).collect()
        };
        let mut bytes: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
        if bytes <= cap {
            return Ok(());
        }
        parts.sort_unstable();
        parts.pop();
        let mut floor_ns = self.retention.read().size_floor_ns();
        for (end_ns, of_part) in parts {
            if bytes <= cap {
                break;
            }
            bytes -= of_part;
            floor_ns = floor_ns.max(end_ns.saturating_add(1));
        }
        if floor_ns > self.retention.read().size_floor_ns() {
            let commit = self.keep_size_floor(floor_ns)?;
            self.reload_retention();
            self.wal.wait(commit, Ack::Durable)?;
        }
        Ok(())
    }
}
